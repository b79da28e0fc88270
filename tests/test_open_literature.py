"""The open literature: invented raw files in the published layouts become compact files; a wrong or missing one becomes an error.

What the real files become is pinned in the manifests, and compared with a mirror's copies where there is one.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from small_collection import SITE, Answer, Source, description, settle, sha256
from small_files import MIRROR, lay, refused

from scirep_core.data import open as literature
from scirep_core.data.manifests import download, fetch_raw, load_manifest, running_numbers, verify
from scirep_core.data.manifests.files import raw_manifest
from scirep_core.data.open import acl, compact, converters
from scirep_core.data.open.compact import bucket, opaque, packed, title_key
from scirep_core.kit.errors import ConfigError, UnknownName
from scirep_core.kit.records import read_jsonl

ENGLISH = "This is the abstract of a paper on the growth of moss, and it is as long as is wanted of it by the rules. "
LONG = (ENGLISH * 2).strip()


def archive(files: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as container:
        for name, content in files.items():
            container.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return stream.getvalue()


def test_what_the_converters_share():
    assert compact.clean(" two\n\twords  ") == "two words" and compact.clean(None) == ""
    assert compact.clean("ask moss@green.example.org now") == "ask [email] now"
    assert compact.is_english(LONG) and not compact.is_english("")
    assert not compact.is_english("Das Moos wächst auf dem Stein und bleibt grün.")
    assert title_key("Die  Mö́osflora: II") == title_key("die moosflora - ii") == "die moosflora ii"
    rows = [{"paper_id": "a", "title": "é"}]  # bytes that are always the same
    assert packed("p.jsonl.gz", rows) == packed("p.jsonl.gz", rows)
    assert packed("p.jsonl.gz", rows)[:10] == bytes.fromhex("1f8b08000000000002ff")
    assert gzip.decompress(packed("p.jsonl.gz", rows)).decode() == '{"paper_id":"a","title":"é"}\n'
    assert gzip.decompress(packed("p.tsv.gz", [("a", "b"), ("x", 1)])) == b"a\tb\nx\t1\n"
    assert opaque(["b", "a", "b"], "p", [1, 0]) == {"a": "p1", "b": "p0"}  # the numbers of names in sorted order
    assert opaque(["b", "a"], "p", []) == {"a": "p0", "b": "p1"}
    refused(lambda: opaque(["b", "a"], "p", [2, 1, 0]), "2 authors for 3 running numbers", error=ValueError)


def test_pubmedqa(tmp_path):
    row = {"QUESTION": "Does moss  grow?", "CONTEXTS": ["We looked."], "LONG_ANSWER": "It does.", "LABELS": ["METHODS"],
           "MESHES": ["Moss", "Growth", "Moss"], "YEAR": None, "final_decision": "yes"}  # fmt: skip
    lay(tmp_path, {"pubmedqa/pubmedqa/data/ori_pqal.json": {"20": row, "3": row | {"YEAR": "1999"}}})
    first, second = converters.pubmedqa(tmp_path, [])["papers.jsonl.gz"]
    assert (first["paper_id"], first["year"], second["paper_id"], second["year"]) == ("pmid:3", 1999, "pmid:20", None)
    assert first["question"] == "Does moss grow?" and first["abstract"] == "We looked. It does."
    assert first["sections"] == [["METHODS", "We looked."], ["CONCLUSION", "It does."]]
    assert first["mesh"] == ["Growth", "Moss"]


def test_biomimicry_reads_a_list_with_a_comma_too_many(tmp_path):
    row = {"paper": "W9", "title": "Moss", "abstract": LONG, "isBiomimicry": "N", "level1": ["b", "a"], "level2": [],
           "mesh_terms": [], "mag_terms": ["z", "y"]}  # fmt: skip
    rows = [row, row | {"paper": "W10"}, row | {"paper": "W8", "abstract": "short"}]
    text = "[\n" + "".join(f"\t{json.dumps(row)},\n" for row in rows) + "]\n"
    lay(tmp_path, {"nasa-petal/biomimicry-binary-classifier/svm-blumin/squished_golden.json": text})
    papers = converters.biomimicry(tmp_path, [])["papers.jsonl.gz"]
    assert [p["paper_id"] for p in papers] == ["mag:9", "mag:10"]
    found = {key: papers[0][key] for key in ("level1", "mag_terms", "is_biomimicry")}
    assert found == {"level1": ["a", "b"], "mag_terms": ["z", "y"], "is_biomimicry": False}


def test_scifact_corpus_reads_what_numpy_prints(tmp_path):
    table = """doc_id,title,abstract,structured\n20,Moss,"['It\\'s green.'\n ""It's old.""]",0\n3,Fern,['One.' 'Two.'],0\n"""
    lay(tmp_path, {"sumithra-p-v/claimverifier/data/scifact.zip": archive({"corpus_train.csv": table})})
    fern, moss = converters.scifact_corpus(tmp_path, [])["corpus.jsonl.gz"]
    assert (fern["doc_id"], fern["abstract"]) == ("3", ["One.", "Two."])
    assert moss["abstract"] == ["It's green.", "It's old."]


def test_reviewer_match(tmp_path):
    base = "niharshah/goldstandard-reviewer-paper-match/data"
    header = ["ParticipantID", *(f"{kind}{n}" for kind in ("Paper", "Expertise") for n in range(1, 11))]
    row = ["7", "aa", *[""] * 9, "2.25", *[""] * 9]
    lay(tmp_path, {
        f"{base}/evaluations.csv": "\t".join(header) + "\n" + "\t".join(row) + "\n",
        f"{base}/papers/aa.json": {"title": "A", "abstract": None, "year": 2000},
        f"{base}/participants/7.json": {"papers": [{"paperId": "bb"}, {"paperId": "aa"}]},
        f"{base}/participants/61.json": {"papers": []},
    })  # fmt: skip
    made = converters.reviewer_match(tmp_path, [1, 0])
    assert made["papers.jsonl.gz"] == [{"paper_id": "s2:aa", "title": "A", "abstract": "", "year": 2000}]
    profiles = {row["participant"]: row["papers"] for row in made["profiles.jsonl.gz"]}
    assert profiles == {"p0": ["s2:aa"], "p1": []} and len(made["profiles.jsonl.gz"]) == 2
    assert list(made["ratings.tsv.gz"]) == [("participant", "paper", "expertise"), ("p0", "s2:aa", 2.25)]


def test_arxiv_takes_the_first_announcement_and_samples_by_hash(tmp_path, monkeypatch):
    def row(number, **other):
        known = {"id": number, "title": f"T {number}", "summary": LONG, "authors": ["A"]}
        return json.dumps(known | {"categories": ["cs.LG", "cs.CV"]} | other) + "\n"

    base = "dw-dengwei/daily-arXiv-ai-enhanced/data"
    lay(tmp_path, {
        f"{base}/2025-03-18.jsonl": row("2503.00002") + row("2503.00001v2") + row("2503.00003", summary="short"),
        f"{base}/2025-03-19.jsonl": row("2503.00002", title="Later") + row("2503.00004", title="t 2503.00001V2"),
    })  # fmt: skip
    papers = converters.arxiv_cs(tmp_path, [])["papers.jsonl.gz"]
    assert [p["paper_id"] for p in papers] == ["arxiv:2503.00001", "arxiv:2503.00002"]
    told = {"title": "T 2503.00002", "year": 2025, "month": 3, "primary": "cs.LG", "n_authors": 1}
    assert papers[1].items() >= told.items()
    monkeypatch.setattr(converters, "_SAMPLE", {"cs.LG": 1})
    (sample,) = converters.arxiv_cs(tmp_path, [])["papers.jsonl.gz"]
    assert sample["paper_id"] == min((p["paper_id"] for p in papers), key=lambda key: sha256(key.encode()))


def test_classic_collections(tmp_path):
    cacm = (".I 1\r\n.T\r\nMoss\r\n.B\r\nCACM May, 1958\r\n.A\r\nGreen, A. B.\r\n.X\r\n2\t5\t1\r\n1\t5\t1\r\n2\t4\t1\r\n"
            ".I 2\r\n.T\r\nFern\r\n.W\r\nOn ferns.\r\n.B\r\nCACM May, 1959\r\n.A\r\nGREEN,A.B.\r\n"
            ".K\r\nfern\r\n.C\r\n3.1 3.2\r\n")  # fmt: skip
    cran = ".I 1\n.T\nmoss .\n.W\nmoss .\n it grows .\n"
    base = {"m": "charlesdlrsa/moteur_recherche_fri/cacm", "c": "stevinjs/CS7IS3-CA1/resources",
            "s": "Shakiba-Alipour/Information-Retrieval-on-CISI"}  # fmt: skip
    lay(tmp_path, {
        f"{base['m']}/cacm.all": cacm, f"{base['m']}/query.text": ".I 1\n.W\n moss\n", f"{base['m']}/qrels.text": "01 2  0 0\n",
        f"{base['s']}/CISI.ALL": ".I 1\n.T \nMoss\n.W\nMoss grows.\n", f"{base['s']}/CISI.QRY": ".I 7\n.W\nWhat?\n",
        f"{base['s']}/CISI.REL": "  7   1\t0\t0.0\n", f"{base['c']}/cran.all.1400": cran,
        f"{base['c']}/cran.qry": ".I 004\n.W\nq\n", f"{base['c']}/cranqrel": "1 1 2\n1 3 -1\n",
    })  # fmt: skip
    made = converters.classic_ir(tmp_path, [])
    moss, fern = made["cacm_docs.jsonl.gz"]
    assert moss["author_ids"] == fern["author_ids"] == ["cacma0"] and fern["categories"] == ["3.1", "3.2"]
    assert list(made["cacm_links.tsv.gz"]) == [("a", "b"), ("cacm:1", "cacm:2")]
    assert made["cisi_docs.jsonl.gz"] == [{"doc_id": "cisi:1", "title": "Moss", "abstract": "Moss grows."}]
    assert made["cran_docs.jsonl.gz"][0]["abstract"] == "it grows ."
    assert made["cran_queries.jsonl.gz"] == [{"query_id": "cran:q1", "text": "q"}]
    assert list(made["cran_qrels.tsv.gz"])[1:] == [("cran:q1", "cran:1", 3)]


def test_synergy(tmp_path):
    def work(number, abstract, **other):
        words: dict[str, list[int]] = {}
        for place, word in enumerate(abstract.split()):
            words.setdefault(word, []).append(place)
        known = {"id": f"https://openalex.org/W{number}", "title": f"<i>Moss</i> {number}", "publication_year": 2000,
                 "abstract_inverted_index": words, "host_venue": None, "type": "article", "cited_by_count": 3,
                 "authorships": [{"author": {"id": "https://openalex.org/A1"}}, {"author": {"id": None}}],
                 "concepts": [{"display_name": "Biology", "level": 0, "score": "0.3"},
                              {"display_name": "Moss", "level": 2, "score": 0.2}],
                 "mesh": [{"descriptor_name": "Moss", "is_major_topic": True}],
                 "referenced_works": [], "related_works": []}  # fmt: skip
        return known | other

    w = "https://openalex.org/W"
    works = [work(10, f"Abstract: {LONG}", referenced_works=[f"{w}9", f"{w}77"]),
             work(9, LONG, referenced_works=[f"{w}77", f"{w}9"], related_works=[f"{w}10"]),
             work(11, LONG, title="moss 9"), work(12, "Das Moos auf dem Stein " * 20), work(13, "Too short.")]  # fmt: skip
    base = "asreview/synergy-dataset/Moss_2000"
    lay(tmp_path, {
        f"{base}/works_1.zip": archive({"works_0_25.json": works[:3], "works_25_50.json": works[3:]}),
        f"{base}/labels.csv": f"openalex_id,label_included\n{w}9,1\n{w}10,0\n{w}13,1\n",
        f"{base}/metadata_publication.json": work(5, LONG, title="A review"),
    })  # fmt: skip
    made = converters.synergy_openalex(tmp_path, [])
    ten, nine = made["papers.jsonl.gz"]
    assert nine["paper_id"] == "oa:W9"
    told = {"paper_id": "oa:W10", "abstract": LONG, "title": "Moss 10", "author_ids": ["oaa0"], "fields": ["Biology"]}
    assert ten.items() >= (told | {"topics": [], "reviews": ["Moss_2000"]}).items()
    assert list(made["citations.tsv.gz"])[1:] == [("oa:W10", "oa:W9")]
    assert list(made["related_works.tsv.gz"])[1:] == [("oa:W9", "oa:W10")]
    assert list(made["review_labels.tsv.gz"])[1:] == [("Moss_2000", "oa:W10", "0"), ("Moss_2000", "oa:W9", "1")]
    assert made["reviews.jsonl.gz"][0]["openalex"] == "oa:W5"
    shared = list(made["shared_references.tsv.gz"])[1:]  # one to itself too, as published
    assert shared == [("r00000", "oa:W9", "oa:W10 oa:W9"), ("r00001", "-", "oa:W10 oa:W9")]


def test_vis(tmp_path):
    def article(doi, title, **other):
        terms = {"author_terms": {"terms": ["b", "a "]}, "ieee_terms": {"terms": ["Moss"]}}
        known = {"doi": doi, "title": title, "abstract": LONG, "publication_year": 2022, "download_count": 5}
        return known | {"index_terms": terms} | other

    update = "pisenberg/vispubdata/vispubdata-update"
    head = "DOI,CitationCount_CrossRef,citedPapers\n"
    vispubs = "Conference,Year,Title,DOI,Abstract,AuthorNames-Deduped\n"
    lay(tmp_path, {
        f"{update}/2021/original_data/articles-SI.json":
            {"articles": [article("10.1/B", "Moss Maps"), article("10.1/X", "Preface")]},
        f"{update}/2021/VisTitles.txt": "Moss maps\n",
        f"{update}/1999/original_data/articles-infovis.json": {"articles": [article("10.1/A", "Ferns", index_terms={})]},
        f"{update}/journal-data/original-data/j.json": {"articles": [article("10.1/J", "Lichen"), article("10.1/K", "Moss-Maps")]},
        f"{update}/results/citations_references_vispubdata.csv": f"{head}10.1/b,7,10.1/a;10.9/z;2-b;10.1/b\n10.1/a,1,\n",
        f"{update}/results/citations_references_journals_vispubdata.csv": f"{head}10.1/j,2,10.9/z;10.2/e\n10.1/k,2,\n",
        f"{update}/results/DedupedAuthors-Papers.csv": "Paper DOI,Author Names\n10.1/b,Zoe\n10.1/b,Ann\n",
        f"{update}/results/DedupedAuthors-Papers-journals.csv": "Paper DOI,Author Names\n10.1/j,Ann\n",
        "Dev-Lan/vispubs/src/dataProcess/intermediate/eurovis.csv": f'{vispubs}EuroVis,2005,Algae,10.2/E,"{LONG}",Ann;Bob\n',
        "Dev-Lan/vispubs/src/dataProcess/intermediate/chi-filtered.csv": f"{vispubs}CHI,2006,Short,10.3/F,Short.,Bob\n",
    })  # fmt: skip
    made = converters.vis(tmp_path, [])
    papers = {p["paper_id"]: p for p in made["papers.jsonl.gz"]}
    assert list(papers) == ["vis:10.1/a", "vis:10.1/b", "vis:10.1/j", "vis:10.2/e"]  # no preface, no title twice
    assert papers["vis:10.1/a"]["conference"] == "InfoVis" and papers["vis:10.1/b"]["conference"] == "Vis"
    assert (papers["vis:10.1/b"]["year"], papers["vis:10.1/j"]["year"]) == (2021, 2022)
    authors = {key: paper["author_ids"] for key, paper in papers.items()}
    assert (authors["vis:10.1/b"], authors["vis:10.2/e"]) == (["visa2", "visa0"], ["visa0", "visa1"])
    assert papers["vis:10.1/b"]["author_keywords"] == ["a", "b"] and papers["vis:10.2/e"]["downloads"] is None
    assert list(made["citations.tsv.gz"])[1:] == [("vis:10.1/b", "vis:10.1/a"), ("vis:10.1/j", "vis:10.2/e")]
    assert list(made["shared_references.tsv.gz"])[1:] == [("r00000", "-", "vis:10.1/b vis:10.1/j")]


@pytest.fixture
def anthology(tmp_path):
    """Four papers of one volume, a later one of an equal title, one by the same author, and lists of references to the first."""

    def paper(number: int, title: str, first: str = "Zoë") -> str:
        author = f"<author><first>{first}</first><last>Green</last></author>"
        return f'<paper id="{number}"><title>{title}</title>{author}<abstract>{LONG}</abstract></paper>'

    caps = "<fixed-case>M</fixed-case>"
    old = "".join(paper(n, f"The {caps}oss of Region {n}") for n in (1, 2, 11, 14))  # the last two are held out
    new = paper(1, "the moss of region 2") + paper(2, "Another Moss Altogether", "Z.")
    cites = "id\tnum_cited\tyear\tauthors\ttitle\tciting_papers\n"
    return lay(tmp_path, {
        "rstojnic/acl-anthology/data/xml/P01.xml": f'<collection id="P01"><volume id="1"><meta/>{old}</volume></collection>',
        "rstojnic/acl-anthology/data/xml/2020.moss.xml":
            f'<collection id="2020.moss"><volume id="main">{new}</volume></collection>',
        "rstojnic/acl-anthology/data/yaml/name_variants.yaml":
            "- canonical: {first: Zoë, last: Green}\n  variants:\n  - {first: Z., last: Green}\n",
        "mmarius/interpretability-impact/data/parsed_data.csv":
            ",id,title,area,interpretability,doi,source\n0,1,x,Moss  Studies,,10.18653/v1/2020.moss-main.2,MOSS2020\n",
        "coastalcph/acl-citations/data/a.matched.tsv":
            f"{cites}1\t2\t2001/2002\tGreen Zoe\tThe moss of region 1. In Proceedings.\t2020.moss-main.2,P01-1001,P99-1\n",
        "coastalcph/acl-citations/data/b.matched.tsv":
            f"{cites}1\t2\t1950\tGreen Zoe\tThe moss of region 1.\tP01-1002,2020.moss-main.2\n",
    })  # fmt: skip


def test_acl_graph(anthology):
    every = {f"acl:P01-{n}" for n in (1001, 1002, 1011, 1014)} | {"acl:2020.moss-main.2"}
    made = acl.acl_graph(anthology, held_out=True)
    papers = {p["paper_id"]: p for p in made["papers.jsonl.gz"]}
    assert set(papers) == every  # the oldest of equal titles stays
    assert {a for p in papers.values() for a in p["author_ids"]} == {"acla0"}
    first, last = papers["acl:P01-1001"], papers["acl:2020.moss-main.2"]
    told = {"title": "The Moss of Region 1", "year": 2001, "venue": "ACL", "volume": "P01-1"}
    assert first.items() >= told.items() and "area" not in first
    told = {"year": 2020, "venue": "MOSS", "volume": "2020.moss-main", "area": "Moss Studies"}
    assert last.items() >= (told | {"area_source": "MOSS2020"}).items()
    assert list(made["citations.tsv.gz"])[1:] == [("acl:2020.moss-main.2", "acl:P01-1001")]
    rows = {(n, citing) for _, n, citing in list(made["shared_references.tsv.gz"])[1:]}
    assert rows == {(3, "acl:2020.moss-main.2 acl:P01-1001"), (2, "acl:2020.moss-main.2 acl:P01-1002")}
    some = {p["paper_id"] for p in acl.acl_graph(anthology)["papers.jsonl.gz"]}
    assert every - some == {paper for paper in every if bucket(paper, 5) == 0} != set()


RAW = {"owner/moss/data/moss.json": b'{"moss": [3, 1, 2]}', "owner/moss/README.md": b"moss\n"}
MADE = packed("papers.jsonl.gz", [{"paper_id": f"moss:{n}"} for n in (1, 2, 3)])
ADDRESS = f"https://raw.githubusercontent.com/owner/moss/{'0' * 40}/"


def moss(raw, _=()):
    numbers = json.loads((raw / next(iter(RAW))).read_bytes())["moss"]
    return {"papers.jsonl.gz": [{"paper_id": f"moss:{n}"} for n in sorted(numbers)]}


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def brought(answer, say=lambda line: None):
    """Have the source brought from a network that answers so."""
    return literature.folder("moss", say, session=Source(answer).session())


def honest(request):
    data = RAW.get(request.url.replace(ADDRESS, "owner/moss/"))
    return Answer(404) if data is None else Answer(200, data)


def closed(request):
    return Answer(500)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A source `moss` with one compact file, made from two raw ones; no mirror."""
    described = description({"papers.jsonl.gz": MADE}, name="open_moss") | {
        "url": SITE, "gated": "It is made here.", "mirror": "open/moss", "raw": "raw/open_moss.tsv.gz"}  # fmt: skip
    del described["commit"]
    folder = settle(tmp_path, monkeypatch, described)
    rows = [
        ("owner/moss", "0" * 40, path.removeprefix("owner/moss/"), len(data), sha256(data))
        for path, data in RAW.items()
    ]
    table = packed("x.tsv.gz", [("repository", "commit", "path", "bytes", "sha256"), *rows])
    lay(tmp_path / "manifests", {"raw/open_moss.tsv.gz": table})
    monkeypatch.setitem(literature.SOURCES, "moss", moss)
    monkeypatch.setattr(download, "PAUSE", 0)
    return folder


def test_a_source_is_made_from_its_raw_files(source):
    said: list[str] = []
    assert brought(honest, said.append) == source
    assert (source / "papers.jsonl.gz").read_bytes() == MADE and verify("open_moss") == [("papers.jsonl.gz", "ok")]
    assert sum("CC0: do as you like" in line for line in said) == 1  # the licence notice
    assert names(source) == ["papers.jsonl.gz", "raw"]
    brought(closed)  # all here: nothing is asked for
    (source / "papers.jsonl.gz").write_bytes(b"damaged")
    brought(closed)
    assert (source / "papers.jsonl.gz").read_bytes() == MADE


def test_a_mirror_with_the_compact_files_serves(source, tmp_path, monkeypatch):
    lay(tmp_path / "mirror/open/moss", {"papers.jsonl.gz": MADE})
    monkeypatch.setenv("SCIREP_DATA_MIRROR", str(tmp_path / "mirror"))
    brought(closed)
    assert (source / "papers.jsonl.gz").read_bytes() == MADE and not (source / "raw").exists()


def test_a_raw_file_that_cannot_be_had_leaves_nothing_made(source):
    def gone(request):
        return Answer(404) if "README" in request.url else honest(request)

    refused(lambda: brought(gone), "owner/moss/README.md", "HTTP 404")
    assert not (source / "papers.jsonl.gz").exists()


@pytest.mark.parametrize(("make", "says"), [
    (lambda raw, _: {"papers.jsonl.gz": []}, "papers.jsonl.gz as made from it is not the published file"),
    (lambda raw, _: {}["moss"], "cannot be read as moss"),
    (lambda raw, _: opaque(["a"], "p", [1, 0]), "1 authors for 2 running numbers"),
])  # fmt: skip
def test_what_is_made_wrong_gets_no_name(make, says, source, monkeypatch):
    monkeypatch.setitem(literature.SOURCES, "moss", make)
    refused(lambda: brought(honest), says)
    assert names(source) == ["raw"]


def test_unknown_sources():
    refused(lambda: literature.folder("acl_grahp"), "did you mean 'acl_graph'", error=UnknownName)
    refused(lambda: fetch_raw("csfcube"), "not made of other files", error=ConfigError)


@pytest.fixture
def committed(monkeypatch, tmp_path):
    monkeypatch.delenv("SCIREP_MANIFESTS", raising=False)
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "home"))


@pytest.mark.usefixtures("committed")
@pytest.mark.parametrize("name", literature.SOURCES)
def test_raw_files_are_pinned_and_the_mirrors_compact_files_are_those_made_of_them(name):
    manifest = load_manifest(literature.PREFIX + name)
    raw, numbers = raw_manifest(manifest), running_numbers(manifest)
    assert raw.files and all(raw.url_of(file).startswith("https://raw.githubusercontent.com/") for file in raw.files)
    assert len(set(numbers)) == len(numbers) and all(number >= 0 for number in numbers)
    if not (MIRROR / "open" / name).is_dir():
        pytest.skip(f"SCIREP_DATA_MIRROR has no folder open/{name}")
    folder = literature.folder(name)
    for file in manifest.files:
        stem, kind = file.path.split(".")[:2]
        lines = gzip.decompress((folder / file.path).read_bytes()).count(b"\n")
        assert lines - (kind == "tsv") == manifest.counts[stem], file.path
        if kind == "jsonl" and stem.rpartition("_")[2] in ("papers", "docs", "corpus"):
            ids = [row.get("paper_id") or row["doc_id"] for _, row in read_jsonl(folder / file.path)]
            of = f"{stem.partition('_')[0]}_" if "_" in stem else ""
            assert [ids[0], ids[-1]] == [manifest.expect[f"{of}{end}_id"] for end in ("first", "last")]


@pytest.mark.usefixtures("committed")
def test_open_stands_for_all_nine(monkeypatch, scirep):
    brought: list[str] = []
    monkeypatch.setattr(literature, "folder", lambda source, say: brought.append(source) or Path(source))
    assert scirep("data", "get", "open")[0] == 0 and brought == list(literature.SOURCES) and len(brought) == 9
