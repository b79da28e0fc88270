"""The embedded collections of SciMult and of the textual neighbours: read by the readers.

What must hold: every file passes its reader; sizes; lexical match leaves room; no paper asked for in an evaluation is a
query of pre-training. Floors and ceilings of every task are in test_inventory.py.
"""

from __future__ import annotations

import string
from collections import Counter

import numpy as np
import pytest
from emitted import Emitted

from scirep_core.bench.scoring import evaluate
from scirep_core.data.inventory import TASKS
from scirep_core.data.literature import Dials, generate
from scirep_core.data.literature.emit.scimult import labels, pretraining, scimult_links
from scirep_core.data.literature.emit.split import EVALUATION
from scirep_core.data.literature.lexicon import FIELDS, lexicon
from scirep_core.data.readers import maple
from scirep_core.data.rows import json_lines
from scirep_core.data.tables import split_lines
from scirep_core.evaluators.inputs import tfidf_vectors
from scirep_core.kit.records import Paper

COLLECTIONS = ("scimult", "maple", "beir", "recommendation", "neighbours")
OURS = {name: spec.type for name, spec in TASKS.items() if spec.reader in COLLECTIONS}
LABELS, PLAIN, PRETRAINING = ([name for name, type_ in OURS.items() if type_ == wanted]
                              for wanted in ("label_ranking", "alternative_self", "triplets"))  # fmt: skip
OF_CHANCE = ("scimult/cite", "scimult/cocite")  # which of the suitable papers is cited is chance
PAPERS = 3_000


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return Emitted(tmp_path_factory.mktemp("scimult"), generate(PAPERS, 0), *COLLECTIONS)


def rows_of(world, *place):
    return [*json_lines(world.root.joinpath(*place))]


def text_of(world, i):
    paper = world.literature.paper(i)
    return paper.title + pretraining.SEP + paper.abstract


def asked(world, split, names=PRETRAINING):
    return {row.query for name in names for row in world.task(name).payload.rows(split)}


def test_label_spaces_hold_the_whole_tree_and_definitions_where_published(world):
    sizes, defined, words = {}, {}, lexicon()
    for which in labels.FINE:
        space = world.task(labels.task_of(which.name)).payload.labels.values()
        sizes[which.name], definitions = len(space), {bool(label.definition) for label in space}
        assert len({label.name for label in space}) == len(space) and definitions == {which.defined}
        defined[which.name] = which.defined
    shared = sum(map(len, (words.families, words.methods, words.groups, words.aspects)))
    assert sizes["Geography"] == shared + 2 + 6 + 18
    assert min(sizes.values()) > 200 and sizes["CS-Conference"] > sizes["Geography"]
    assert defined == {"CS-Conference": True, "Chemistry-MeSH": True, "Geography": False, "Psychology": False}
    mag, mesh = (world.task(f"scimult/{name}").payload for name in ("mag", "mesh"))
    assert (len(mag.labels), len(mesh.labels)) == (19, 11)
    assert {label for (label,) in mesh.gold.values()} == set(mesh.labels)


def test_gold_labels_are_the_papers_latents(world):
    words, latents, conference = lexicon(), world.latents, labels.is_conference(world.literature)
    space = world.task(labels.task_of(labels.FINE[0].name)).payload
    for paper_id, gold in space.gold.items():
        i = world.place[paper_id]
        found = {space.labels[label].name for label in gold}
        assert {words.problems[latents.problem[i]].name, words.methods[latents.method[i]].name} <= found
        second = latents.second_aspect[i]
        assert second < 0 or words.aspects[second].name in found
        assert conference[i]


def test_name_matching_follows_the_rule(world):
    names = [labels.normalised(name) for name in ("neural networks", "Networks", "work", "end-to-end")]
    assert labels.matched(names, Paper("1", "Neural  networks: how they", "An END to end network.")) == [0, 1, 3]
    assert labels.matched(names, Paper("1", "neural", "networks, of work")) == [1, 2]  # not across fields
    task = world.task("scimult/psychology")
    space, texts = task.payload, task.papers
    for paper_id, found in space.matched.items():
        whole = [f" {labels.normalised(part)} " for part in (texts[paper_id].title, texts[paper_id].abstract)]
        named = {k: f" {labels.normalised(label.name)} " for k, label in space.labels.items()}
        assert set(found) == {k for k, name in named.items() if any(name in text for text in whole)}
    assert sum(map(len, space.matched.values())) > len(texts) / 2


@pytest.mark.parametrize("name", OF_CHANCE)
def test_links_are_asked_of_evaluation_papers_among_all_with_the_paper_itself(world, name):
    payload = world.task(name).payload
    assert payload.keep_self and len(payload.pool) == PAPERS and len(payload.relevant) >= 200
    assert {world.part[world.place[query]] for query in payload.relevant} == {EVALUATION}


def test_cited_together_is_counted_over_all_citing_papers(world):
    cites, cited_by = world.literature.cites, world.literature.cited_by
    queries, cited, together = scimult_links.draw_links(world.literature)
    counts = [Counter(k for citing in cited_by.of(i).tolist() for k in cites.of(citing).tolist() if k != i)
              for i in queries.tolist()]  # fmt: skip
    most = [max(c.values(), default=0) for c in counts]
    least = scimult_links.at_least(most)
    assert least >= 2 and (np.mean(np.array(most) >= least) >= 54_543 / 142_009 or least == 2)
    for row, i in enumerate(queries.tolist()):
        assert cited.of(row).tolist() == cites.of(i).tolist()
        assert set(together.of(row).tolist()) == {k for k, n in counts[row].items() if n >= least}


def test_claims_are_about_the_papers_they_name(world):
    claims = [claim for part in ("train", "dev") for claim in rows_of(world, "beir", "scifact", f"claims_{part}.jsonl")]
    task = world.task("scimult/scifact")
    assert {str(claim["id"]): claim["claim"] for claim in claims} == dict(task.queries)
    evidence = [(found, one) for claim in claims for found, items in claim["evidence"].items() for one in items]
    verdicts = Counter(one["label"] for _, one in evidence)
    assert verdicts.keys() == {"SUPPORT", "CONTRADICT"} and verdicts["SUPPORT"] > 40 and verdicts["CONTRADICT"] > 15
    assert sum(not claim["evidence"] for claim in claims) > 10
    for claim in claims:
        assert set(task.payload.relevant[str(claim["id"])]) == {str(cited) for cited in claim["cited_doc_ids"]}
    for found, one in evidence:
        said = world.literature.paper(world.place[found]).labels
        assert one["sentences"] and all(said[k] == "result_label" for k in one["sentences"])


@pytest.mark.parametrize(("noise", "low", "high"), [(0.3, 90, 99), (0.0, 99.999, 100.001)])
def test_recommendation_oracle_errs_only_as_far_as_readers_do(tmp_path, noise, low, high):
    task = Emitted(tmp_path, generate(PAPERS, 1, Dials(noise=noise)), "recommendation").task("scimult/recommendation")
    (oracle,), (random,) = (evaluate(task, kind, metrics=["ndcg@5"]) for kind in ("oracle", "random"))
    assert oracle.n > 100 and low < oracle.value < high and random.value < oracle.value - 20


@pytest.mark.parametrize("name", PLAIN)
def test_each_plain_collection_has_240_papers_of_texts_of_their_own(world, name):
    texts = [(p.title, p.abstract) for p in world.task(name).texts()]
    assert len(set(texts)) == len(texts) == 240 and len({title for title, _ in texts}) > 0.9 * 240


@pytest.mark.parametrize("name", PRETRAINING)
def test_pretraining_pairs_are_well_formed(world, name):
    payload = world.task(name).payload
    rows = list(payload.rows("train"))
    assert payload.splits == ("train", "validation") and len(rows) > 100 and any(row.negative for row in rows)
    assert not [row for row in rows if row.positive in (row.negative, row.query)]


def test_pretraining_spares_the_evaluation(world):
    place = {pretraining.text_id(text_of(world, i)): i for i in range(PAPERS)}
    of_papers = [name for name in PRETRAINING if "search" not in name]
    train, validation = ({place[text] for text in asked(world, split, of_papers)} for split in ("train", "validation"))
    assert len(train) > 800
    for number, queries in enumerate((train, validation)):
        assert {int(world.part[i]) for i in queries} == {number}
    for name in [*LABELS, *OF_CHANCE]:
        payload = world.task(name).payload
        evaluated = payload.gold if name in LABELS else payload.relevant
        assert not {world.place[paper_id] for paper_id in evaluated} & (train | validation)


def test_papers_lent_to_evaluation_are_no_training_queries(tmp_path):
    small = Emitted(tmp_path, generate(500, 3), "scimult")
    assert labels.lent(small.literature).sum() > 10
    evaluated = {text_of(small, small.place[p]) for name in LABELS for p in small.task(name).payload.gold}
    for name in PRETRAINING:  # so few papers may leave a source without validation
        for part in small.task(name).payload.splits:
            assert not set(map(pretraining.text_id, evaluated)) & asked(small, part, [name])


def test_hard_labels_are_no_labels_of_the_paper_and_every_label_is_capped(tmp_path):
    world = Emitted(tmp_path, generate(9_000, 0, Dials(fields=("Biology", "Medicine"))))
    pretraining.write(tmp_path, world.literature)
    used = Counter()
    for row in rows_of(world, "scimult", "pretraining", "biomedicine_mesh_train.json"):
        own, hard = ([c["passage_id"] for c in row[f"{kind}_ctxs"]] for kind in ("positive", "hard_negative"))
        used.update(own)
        assert not {*own} & {*hard}
    assert max(used.values()) == 100


def test_citation_negatives_are_cited_by_the_cited_only(world):
    cites, cited_by = world.literature.cites, world.literature.cited_by
    hard, rows = 0, rows_of(world, "scimult", "pretraining", "citation_train.json")
    for row in rows:
        title = row["question"].partition(pretraining.SEP)[0]
        positive, negative = ([world.place[c["passage_id"]] for c in row[f"{kind}_ctxs"]]
                              for kind in ("positive", "hard_negative"))  # fmt: skip
        sources = set.intersection(*(set(cited_by.of(k).tolist()) for k in positive))
        query = next(k for k in sources if world.literature.paper(k).title == title)
        hard += len(negative)
        for k in negative:
            assert k not in cites.of(query) and any(k in cites.of(c) for c in cites.of(query))
    assert 0.25 < hard / len(rows) < 0.45


def test_maple_has_the_published_folders_and_they_read(world):
    folders, count = sorted((world.root / "maple").iterdir()), 0
    assert len(folders) == 23
    for folder in folders:
        mesh, tree = folder.name.endswith("_MeSH"), maple.labels(folder / "labels.txt")
        authors, venues = (
            {cells[0] for _, cells in split_lines(folder / f"{what}.txt")} for what in ("authors", "venues")
        )
        for paper in maple.papers(folder):
            count += not mesh
            assert set(paper.labels) <= tree.keys() and set(paper.authors) <= authors and paper.raw.venue in venues
        depths = {cells[2] for _, cells in split_lines(folder / "labels.txt") if len(cells) > 2}
        assert depths == (set() if mesh else set("123")) and (folder / "labels_mesh.txt").is_file() == mesh
        plain = [f"{row['title']} {row['abstract']}" for row in json_lines(folder / "papers.json")]
        assert all(set(text) <= {*string.ascii_lowercase, *string.digits, " "} for text in plain)
    assert count == np.isin(world.latents.field, [FIELDS.index(name) for name in labels.MAG]).sum()


def test_a_literature_without_medicine_leaves_its_collections_out(tmp_path):
    Emitted(tmp_path, generate(400, 0, Dials(fields=("Physics", "Art"))), *COLLECTIONS)
    assert not (tmp_path / "beir").exists() and not (tmp_path / "scimult" / "pmc_patients").exists()
    assert sorted(p.name for p in (tmp_path / "maple").iterdir()) == ["Art", "Physics"]
    assert (tmp_path / "scimult" / "pretraining" / "coarse_train.json").is_file()


@pytest.mark.parametrize(("name", "metric", "low", "high"), [
    ("cs_conference", "recall@20", 15, 60), ("psychology", "recall@20", 15, 70), ("ppr", "recall@20", 10, 70),
    ("cite", "recall@20", 10, 35), ("pmc_ppr", "recall@1000", 83, 99),
])  # fmt: skip
def test_lexical_match_lies_between_floor_and_ceiling(world, name, metric, low, high):
    task = world.task(f"scimult/{name}")
    assert low < evaluate(task, tfidf_vectors(task), metrics=[metric])[0].value < high
