"""The embedded collections of SciMult and of the textual neighbours: read by the readers.

What must hold: every file passes its reader; sizes; lexical match leaves room; no paper asked for in an evaluation is a
query of pre-training. Floors and ceilings of every task are in test_inventory.py.
"""

from __future__ import annotations

import csv
import json
import string
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from scirep_core.bench.scoring import evaluate
from scirep_core.data.inventory import TASKS
from scirep_core.data.literature import Dials, Literature, generate
from scirep_core.data.literature.emit import neighbours as emit_neighbours
from scirep_core.data.literature.emit.scimult import beir as emit_beir
from scirep_core.data.literature.emit.scimult import labels, scimult_links
from scirep_core.data.literature.emit.scimult import maple as emit_maple
from scirep_core.data.literature.emit.scimult import patients as emit_patients
from scirep_core.data.literature.emit.scimult import pretraining as emit_pretraining
from scirep_core.data.literature.emit.scirepeval import recommendation as emit_recommendation
from scirep_core.data.literature.emit.split import EVALUATION, held_out
from scirep_core.data.literature.lexicon import FIELDS, lexicon
from scirep_core.data.readers import beir, maple, neighbours, recommendation, scimult
from scirep_core.data.tables import json_lines, split_lines
from scirep_core.data.task import LabelSpace, Pooled, Task, Triples
from scirep_core.evaluators.reference import tfidf_vectors
from scirep_core.kit.records import Paper

WRITERS = (
    labels, emit_maple, scimult_links, emit_patients, emit_beir, emit_recommendation, emit_neighbours, emit_pretraining,
)  # fmt: skip
READERS = {"scimult": scimult, "beir": beir, "recommendation": recommendation, "neighbours": neighbours}
OURS = [name for name, spec in TASKS.items() if spec.reader in READERS]
LABELS = [name for name in OURS if TASKS[name].type == "label_ranking"]
SEARCHED = [name for name in OURS if TASKS[name].type == "retrieval"]
OF_CHANCE = ("scimult/cite", "scimult/cocite")  # which of the suitable papers is cited is chance
PLAIN = [name for name in OURS if TASKS[name].type == "alternative_self"]
PRETRAINING = [name for name in OURS if TASKS[name].type == "triplets"]
PAPERS = 3_000


class Written(NamedTuple):
    """A literature, the folder its collections were written to, and where each paper stands in it."""

    root: Path
    literature: Literature
    place: dict[str, int]

    def task(self, name: str) -> Task:
        """Read a task."""
        spec = TASKS[name]
        return READERS[spec.reader].read(spec, name, self.root, "embedded")


def write_all(root: Path, literature: Literature) -> Written:
    """Write everything."""
    for writer in WRITERS:
        writer.write(root, literature)
    return Written(root, literature, {literature.paper_id(i): i for i in range(len(literature))})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Return the collections of 3,000 papers."""
    return write_all(tmp_path_factory.mktemp("scimult"), generate(PAPERS, 0))


def positives(payload: Pooled) -> dict[str, set[str]]:
    """Return what is relevant at all."""
    return {q: {c for c, g in row.items() if g > 0} for q, row in payload.relevant.items()}


def test_label_spaces_hold_the_whole_tree_and_definitions_where_published(written: Written) -> None:
    sizes, defined = {}, {}
    for which in labels.FINE:
        space = written.task(labels.task_of(which.name)).payload
        assert isinstance(space, LabelSpace)
        names = [label.name for label in space.labels.values()]
        assert len(set(names)) == len(names), [n for n, c in Counter(names).items() if c > 1]
        sizes[which.name], defined[which.name] = len(names), all(label.definition for label in space.labels.values())
        assert which.defined or not any(label.definition for label in space.labels.values())
    words = lexicon()
    shared = sum(map(len, (words.families, words.methods, words.groups, words.aspects)))
    assert sizes["Geography"] == shared + 2 + 6 + 18
    assert min(sizes.values()) > 200 and sizes["CS-Conference"] > sizes["Geography"]
    assert defined == {"CS-Conference": True, "Chemistry-MeSH": True, "Geography": False, "Psychology": False}
    mag, mesh = (written.task(f"scimult/{name}").payload for name in ("mag", "mesh"))
    assert isinstance(mag, LabelSpace) and isinstance(mesh, LabelSpace)
    assert (len(mag.labels), len(mesh.labels)) == (19, 11)
    assert {label for (label,) in mesh.gold.values()} == set(mesh.labels)


def test_gold_labels_are_the_papers_latents(written: Written) -> None:
    which, words, latents = labels.FINE[0], lexicon(), written.literature.latents
    space = written.task(labels.task_of(which.name)).payload
    assert isinstance(space, LabelSpace)
    place = written.place
    for paper_id, gold in space.gold.items():
        i = place[paper_id]
        found = {space.labels[label].name for label in gold}
        assert {words.problems[latents.problem[i]].name, words.methods[latents.method[i]].name} <= found
        second = latents.second_aspect[i]
        assert second < 0 or words.aspects[second].name in found
        assert labels.is_conference(written.literature)[i]


def test_name_matching_follows_the_rule(written: Written) -> None:
    names = ("neural networks", "Networks", "work", "end-to-end")
    kinds = [labels.normalised(name) for name in names]
    assert labels.matched(kinds, Paper("1", "Neural  networks: how they", "An END to end network.")) == [0, 1, 3]
    assert labels.matched(kinds, Paper("1", "neural", "networks, of work")) == [1, 2]  # not across fields
    space, texts = (getattr(written.task("scimult/psychology"), part) for part in ("payload", "papers"))
    for paper_id, found in space.matched.items():
        whole = [f" {labels.normalised(part)} " for part in (texts[paper_id].title, texts[paper_id].abstract)]
        wanted = {
            k for k, label in space.labels.items() if any(f" {labels.normalised(label.name)} " in w for w in whole)
        }
        assert set(found) == wanted
    assert sum(map(len, space.matched.values())) > len(texts) / 2


@pytest.mark.parametrize("name", OF_CHANCE)
def test_links_are_asked_of_evaluation_papers_among_all_with_the_paper_itself(written: Written, name: str) -> None:
    payload = written.task(name).payload
    assert isinstance(payload, Pooled) and payload.keep_self and len(payload.pool) == PAPERS
    evaluated = {written.literature.paper_id(i) for i in np.flatnonzero(held_out(written.literature) == EVALUATION)}
    assert len(payload.relevant) >= 200 and payload.relevant.keys() <= evaluated


def test_cited_together_is_counted_over_all_citing_papers(written: Written) -> None:
    literature = written.literature
    queries, cited, together = scimult_links.draw_links(literature)
    counts = [Counter(k for citing in literature.cited_by.of(i).tolist() for k in literature.cites.of(citing).tolist() if k != i)
              for i in queries.tolist()]  # fmt: skip
    least = scimult_links.at_least([max(c.values(), default=0) for c in counts])
    assert least >= 2
    for row, i in enumerate(queries.tolist()):
        assert cited.of(row).tolist() == literature.cites.of(i).tolist()
        assert set(together.of(row).tolist()) == {k for k, n in counts[row].items() if n >= least}
    share = np.mean([max(c.values(), default=0) >= least for c in counts])
    assert share >= 54_543 / 142_009 or least == 2


def test_claims_are_about_the_papers_they_name(written: Written) -> None:
    folder = written.root / "beir" / "scifact"
    claims = [claim for part in ("train", "dev") for _, claim in json_lines(folder / f"claims_{part}.jsonl")]
    task = written.task("scimult/scifact")
    assert isinstance(task.payload, Pooled)
    assert {str(claim["id"]): claim["claim"] for claim in claims} == dict(task.queries)
    evidence = [(found, one) for claim in claims for found, items in claim["evidence"].items() for one in items]
    verdicts = Counter(one["label"] for _, one in evidence)
    assert verdicts.keys() == {"SUPPORT", "CONTRADICT"} and verdicts["SUPPORT"] > 40 and verdicts["CONTRADICT"] > 15
    assert sum(not claim["evidence"] for claim in claims) > 10
    place = written.place
    for claim in claims:
        assert set(task.payload.relevant[str(claim["id"])]) == {str(cited) for cited in claim["cited_doc_ids"]}
    for found, one in evidence:
        said = written.literature.paper(place[found]).labels
        assert one["sentences"] and all(said[k] == "result_label" for k in one["sentences"])


def test_study_has_the_columns_gaps_and_repetitions_of_the_real_one(written: Written) -> None:
    path = written.root / "recommendation" / "user_study_results.tsv"
    with path.open() as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert tuple(rows[0]) == (
        "PaperId", "RecommendedPaperId", "Method", "StudyScore", "StudyRankByMethod", "StudyRankGlobal",
        "CooccurrenceCnt", "Similarity", "EmbSimilarity", "TfIdfSimilarity", "ComputedRankByMethod", "ComputedRankGlobal",
    )  # fmt: skip
    scores = Counter(row["StudyScore"] for row in rows)
    assert 0.15 < scores[""] / len(rows) < 0.35
    assert all(scores[s] > len(rows) / 40 for s in "12345") and any(s.endswith(".5") for s in scores)
    assert len({(row["PaperId"], row["RecommendedPaperId"]) for row in rows}) < len(rows)
    assert {row["Method"] for row in rows} == {"Content", "Behavior", "Both"}
    assert any(row["Similarity"] == "" for row in rows)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.3, 90, 99), (0.0, 99.999, 100.001)])
def test_recommendation_oracle_errs_only_as_far_as_readers_do(
    tmp_path: Path, noise: float, low: float, high: float
) -> None:
    emit_recommendation.write(tmp_path, generate(PAPERS, 1, Dials(noise=noise)))
    task = recommendation.read(TASKS["scimult/recommendation"], "scimult/recommendation", tmp_path, "embedded")
    (oracle,), (random,) = (evaluate(task, kind, metrics=["ndcg@5"]) for kind in ("oracle", "random"))
    assert oracle.n > 100 and low < oracle.value < high
    assert random.value < oracle.value - 20


@pytest.mark.parametrize("name", PLAIN)
def test_each_plain_collection_has_240_papers_of_texts_of_their_own(written: Written, name: str) -> None:
    texts = [(p.title, p.abstract) for p in written.task(name).texts()]
    assert len(set(texts)) == len(texts) == 240
    assert len({title for title, _ in texts}) > 0.9 * len(texts)


def test_iclr_has_ratings_that_follow_quality(written: Written) -> None:
    rows = [row for _, row in json_lines(written.root / "iclr" / "iclr.jsonl.gz")]
    fields = {"paper_id", "title", "abstract", "year", "venue", "decision", "ratings", "rating_avg", "confidences",
              "keywords", "n_authors", "gs_citation"}  # fmt: skip
    assert all(set(row) == fields for row in rows)
    assert all(len(row["ratings"]) in (3, 4) and all(1 <= r <= 10 for r in row["ratings"]) for row in rows)
    assert 0.2 < np.mean([row["decision"] == "Accept" for row in rows]) < 0.8
    assert np.std([row["rating_avg"] for row in rows]) > 1


@pytest.mark.parametrize("name", PRETRAINING)
def test_pretraining_pairs_are_well_formed(written: Written, name: str) -> None:
    task = written.task(name)
    assert isinstance(task.payload, Triples) and task.payload.splits == ("train", "validation")
    rows = list(task.payload.rows("train"))
    assert len(rows) > 100 and any(row.negative for row in rows)
    assert not [row for row in rows if row.negative == row.positive or row.query == row.positive]


def test_pretraining_spares_the_evaluation(written: Written) -> None:
    literature = written.literature
    texts = ((p := literature.paper(i)).title + emit_pretraining.SEP + p.abstract for i in range(PAPERS))
    place = {emit_pretraining.text_id(text): i for i, text in enumerate(texts)}
    asked = {place[row.query] for name in PRETRAINING if "search" not in name
             for row in written.task(name).payload.rows("train")}  # fmt: skip
    part = held_out(literature)
    assert len(asked) > 800 and {int(part[i]) for i in asked} == {0}
    evaluated: set[str] = set()
    for name in [*LABELS, *OF_CHANCE]:
        payload = written.task(name).payload
        evaluated |= set(payload.gold if isinstance(payload, LabelSpace) else payload.relevant)
    assert not evaluated & {literature.paper_id(i) for i in asked}


def test_papers_lent_to_evaluation_are_no_training_queries(tmp_path: Path) -> None:
    literature = generate(500, 3)
    assert labels.lent(literature).sum() > 10
    small = write_all(tmp_path, literature)
    evaluated = {p for name in LABELS for p in small.task(name).payload.gold}
    texts = {literature.paper(i).title + emit_pretraining.SEP + literature.paper(i).abstract
             for i in range(500) if literature.paper_id(i) in evaluated}  # fmt: skip
    for name in PRETRAINING:
        payload = small.task(name).payload
        assert not texts & {row.query for split in payload.splits for row in payload.rows(split)}


def test_hard_labels_are_no_labels_of_the_paper_and_every_label_is_capped(tmp_path: Path) -> None:
    literature = generate(9_000, 0, Dials(fields=("Biology", "Medicine")))
    emit_pretraining.write(tmp_path, literature)
    used = Counter[str]()
    path = tmp_path / "scimult" / "pretraining" / "biomedicine_mesh_train.json"
    for line in path.read_text().splitlines():
        row = json.loads(line)
        own = [c["passage_id"] for c in row["positive_ctxs"]]
        used.update(own)
        assert not {c["passage_id"] for c in row["hard_negative_ctxs"]} & set(own)
    assert max(used.values()) == 100


def test_citation_negatives_are_cited_by_the_cited_only(written: Written) -> None:
    literature = written.literature
    place = written.place
    hard = rows = 0
    for line in (written.root / "scimult" / "pretraining" / "citation_train.json").read_text().splitlines():
        row = json.loads(line)
        rows += 1
        title = row["question"].partition(emit_pretraining.SEP)[0]
        positive = [place[c["passage_id"]] for c in row["positive_ctxs"]]
        source = set.intersection(*(set(literature.cited_by.of(k).tolist()) for k in positive))
        (i,) = [k for k in source if literature.paper(k).title == title][:1]
        for context in row["hard_negative_ctxs"]:
            k = place[context["passage_id"]]
            hard += 1
            assert k not in literature.cites.of(i)
            assert any(k in literature.cites.of(c) for c in literature.cites.of(i).tolist())
    assert 0.25 < hard / rows < 0.45


def test_maple_has_the_published_folders_and_they_read(written: Written) -> None:
    folders = sorted(path.name for path in (written.root / "maple").iterdir())
    assert len(folders) == 23
    count = 0
    for name in folders:
        folder = written.root / "maple" / name
        authors, venues = (
            {cells[0] for _, cells in split_lines(folder / f"{what}.txt")} for what in ("authors", "venues")
        )
        tree = maple.labels(folder / "labels.txt")
        for paper in maple.papers(folder):
            count += not name.endswith("_MeSH")
            assert set(paper.labels) <= tree.keys() and set(paper.authors) <= authors
            assert paper.raw.venue in venues
        depths = {cells[2] for _, cells in split_lines(folder / "labels.txt") if len(cells) > 2}
        assert depths == (set() if name.endswith("_MeSH") else set("123"))
        plain = [f"{row['title']} {row['abstract']}" for _, row in json_lines(folder / "papers.json")]
        assert all(set(text) <= {*string.ascii_lowercase, *string.digits, " "} for text in plain)
        assert (folder / "labels_mesh.txt").is_file() == name.endswith("_MeSH")
    fields = [FIELDS.index(name) for name in labels.MAG]
    assert count == np.isin(written.literature.latents.field, fields).sum()


def test_a_literature_without_medicine_leaves_its_collections_out(tmp_path: Path) -> None:
    write_all(tmp_path, generate(400, 0, Dials(fields=("Physics", "Art"))))
    assert not (tmp_path / "beir").exists() and not (tmp_path / "scimult" / "pmc_patients").exists()
    assert sorted(p.name for p in (tmp_path / "maple").iterdir()) == ["Art", "Physics"]
    assert (tmp_path / "scimult" / "pretraining" / "coarse_train.json").is_file()


@pytest.mark.parametrize(
    ("name", "metric", "low", "high"),
    [("scimult/cs_conference", "recall@20", 15, 60), ("scimult/psychology", "recall@20", 15, 70),
     ("scimult/ppr", "recall@20", 10, 70), ("scimult/cite", "recall@20", 10, 35), ("scimult/pmc_ppr", "recall@1000", 83, 99)],
)  # fmt: skip
def test_lexical_match_lies_between_floor_and_ceiling(
    written: Written, name: str, metric: str, low: float, high: float
) -> None:
    task = written.task(name)
    (row, *_) = evaluate(task, tfidf_vectors(task), metrics=[metric])
    assert low < row.value < high
