"""S2AND's pipeline: features by hand, B-cubed by brute force, splits, leaks, order of random, metadata and oracle."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from nltk import edit_distance
from sklearn.cluster import AgglomerativeClustering
from small_tasks import values

from scirep_core.bench.scoring import evaluate
from scirep_core.data.folder import read_folder, write_folder
from scirep_core.data.task import Byline, Signature, Signatures, Task
from scirep_core.evaluators import authors
from scirep_core.evaluators.authors import author_blocks, author_features, author_model
from scirep_core.evaluators.authors.author_features import FEATURES
from scirep_core.evaluators.rows import Asked
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import Paper, grouped

NAMES = [feature.name for feature in FEATURES]

PEOPLE = ("Ada", "Ana", "Alba")


def world(blocks: int = 24, seed: int = 0, sets: int = 2) -> tuple[Task, dict[str, np.ndarray]]:
    """Return a task of invented mentions, three persons a block, and vectors that know who is who."""
    rng = np.random.default_rng(seed)
    rows, papers, bylines, truth = [], [], {}, {}
    for b in range(blocks):
        family = f"Pebble{chr(97 + b)}"
        for c, first in enumerate(PEOPLE):
            centre = np.eye(8)[c]
            for i in range(int(rng.integers(2, 5))):
                key = f"{b}-{c}-{i}"
                short = rng.random() < 0.5
                rows.append(Signature(
                    f"s{key}", f"p{key}", f"set{b % sets}/a {family}", f"{b}:{c}", "", f"Quarry {c}" if rng.random() < 0.5 else "",
                    first[0] if short else first, "", family, position=0))  # fmt: skip
                team = (f"{first} {family}", f"Friend{c} Of{b}") if rng.random() < 0.5 else (f"{first} {family}",)
                papers.append(Paper(f"p{key}", f"On stones {i}", "Text.", 2000 + i, venue="J. Stones"))
                bylines[f"p{key}"] = Byline(f"p{key}", team, "J. Stones", (f"r{rng.integers(40)}",))
                truth[f"p{key}"] = centre
    task = Task("small/authors", "author_disambiguation", "PRX", ("b3_f1", "b3_p", "b3_r"), Signatures(tuple(rows), bylines),
                "folder", "", texts=lambda: papers)  # fmt: skip
    return task, truth


@pytest.fixture()
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller forests, where a test is not of how well they do."""
    monkeypatch.setitem(author_model.SETTINGS, "max_iter", 20)


def nobody(task, unknown) -> Task:
    """The task, with mentions of nobody known."""
    rows = tuple(row._replace(cluster="") if unknown(k) else row for k, row in enumerate(task.payload.rows))
    return replace(task, payload=replace(task.payload, rows=rows))


TASK, TRUTH = world()
NOISE = {key: np.random.default_rng(i).standard_normal(8) for i, key in enumerate(TRUTH)}


def pair(one: Signature, other: Signature, papers=(), bylines=()) -> dict[str, float]:
    known = author_features.table([one, other], {p.paper_id: p for p in papers}, {b.paper_id: b for b in bylines})
    found = author_features.metadata(known, [np.array([0, 1])])
    assert found.shape == (1, len(FEATURES) - 1)
    return dict(zip(NAMES, found[0].tolist(), strict=False))


BY_HAND = {
    "first_names_equal": 0, "single_char_first": 0, "levenshtein": 1 / 4, "prefix": 0,  # ada, adam
    "middle_initials_overlap": 1, "middle_names_equal": 1, "middle_one_missing": 0, "single_char_middle": 1,  # b, bea
    "affiliation_overlap": 1 / 3,  # quarry of dept, stones, quarry
    "email_prefix_equal": 1, "email_suffix_equal": 0,
    "coauthor_overlap": 2 / 4,  # c sand, e grain of c sand, e grain, x y, z z
    "coauthor_match": 1 / 2,  # eve grain; carl sand is named once, initials are no names
    "venue_overlap": np.nan, "journal_overlap": 1, "year_diff": 2, "position_diff": 3, "abstract_count": 1,
    "title_overlap_words": 1 / 3,  # sand of stones, sand, castles
    "references_self_citation": 1, "references_overlap": 1 / 3,
    "last_name_count_min": 2, "last_first_initial_count_min": 2, "first_name_count_min": 1, "first_name_count_max": 1,
}  # fmt: skip


def test_features_by_hand():
    one = Signature("1", "a", "x/a o", "k", "", "Dept of Stones, Quarry", "Dr Adá", "B.", "O'Pebble", "ada@q.org", 1)
    other = Signature("2", "b", "x/a o", "m", "", "Quarry University", "Adam", "Bea", "OPebble", "ada@sand.org", 4)
    papers = (Paper("a", "Stones in sand", "Text.", 2001, venue="Stone Conf."), Paper("b", "Sand castles", "", 2003))
    bylines = (
        Byline("a", ("C Sand", "Adá O'Pebble", "Eve Grain"), "J. Stones", ("b", "r1", "r2")),
        Byline("b", ("Carl Sand", "Eve Grain", "X Y", "Z Z", "Adam OPebble"), "J. Stones", ("r1",)),
    )
    got = pair(one, other, papers, bylines)
    assert {name: got[name] for name in BY_HAND} == pytest.approx(BY_HAND, nan_ok=True)
    np.testing.assert_array_equal([*got.values()], [*pair(other, one, papers, bylines).values()])


def test_what_is_unknown_is_missing():
    got = pair(Signature("1", "a", "x/a o", "k", "A Ode"), Signature("2", "b", "x/a o", "k", "Anna Ode"))
    assert (got["first_names_equal"], got["prefix"], got["single_char_first"]) == (0, 0, 1)
    known = {"first_names_equal", "middle_one_missing", "single_char_first", "levenshtein", "prefix",
             "last_name_count_min", "last_first_initial_count_min"}  # fmt: skip
    bare = pair(Signature("1", "a", "x", "k"), Signature("2", "b", "x", "k"))
    for found, names in ((got, known), (bare, {"middle_one_missing"})):
        assert {name for name, value in found.items() if not np.isnan(value)} == names


def test_edit_distances_are_nltks_and_overlaps_those_of_sets():
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abc"), int(rng.integers(1, 9)))) for _ in range(30)]
    rows = [Signature(str(k), str(k), "x", "k", "", " ".join(rng.choice(list("pqrstu") , 3)) if k % 4 else "", name)
            for k, name in enumerate(names)]  # fmt: skip
    found = author_features.metadata(author_features.table(rows, {}, {}), [np.arange(30)])
    for (i, j), line in zip(combinations(range(30), 2), found, strict=True):
        got = dict(zip(NAMES, line, strict=False))
        a, b = names[i], names[j]
        assert got["levenshtein"] == pytest.approx(edit_distance(a, b) / max(len(a), len(b)))
        common = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        assert got["prefix"] == pytest.approx(1 - common / min(len(a), len(b)))
        s, t = (set(rows[k].affiliation.split()) for k in (i, j))
        assert got["affiliation_overlap"] == pytest.approx(len(s & t) / len(s | t) if s and t else np.nan, nan_ok=True)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_likeness_of_vectors_misses_zeros_and_gaps(similarity):
    x = np.array([[1.0, 2], [3, 1], [0, 0], [np.nan, np.nan], [-1, 0.5]])
    got = author_features.likeness(x, [np.array([0, 1, 2]), np.array([4, 0, 3])], similarity)
    wanted = {"cosine": lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b), "dot": lambda a, b: a @ b,
              "l2": lambda a, b: -np.linalg.norm(a - b)}[similarity]  # fmt: skip
    assert got == pytest.approx([wanted(x[0], x[1]), np.nan, np.nan, wanted(x[4], x[0]), np.nan, np.nan], nan_ok=True)


def test_clusters_are_not_among_the_inputs_and_blocks_may_come_together():
    data = TASK.payload
    order = np.random.default_rng(1).permutation(len(data.rows))
    mixed = [row._replace(cluster=data.rows[k].cluster) for row, k in zip(data.rows, order, strict=True)]
    papers = TASK.papers
    known, other = (author_features.table(rows, papers, data.bylines) for rows in (data.rows, mixed))
    blocks = [*authors.mentions_of(TASK, data.rows).blocks.values()]
    together = author_features.metadata(known, blocks)
    np.testing.assert_array_equal(together, author_features.metadata(other, blocks))
    apart = np.concatenate([author_features.metadata(known, [block]) for block in blocks])
    np.testing.assert_array_equal(together, apart)


@pytest.mark.parametrize("protocol", ["paper", "sound"])
def test_no_block_is_learnt_from_and_scored(protocol):
    names = [f"{s}/{k}" for s in ("big", "other") for k in range(40)] + [f"tiny/{k}" for k in range(5)]
    found = author_blocks.splits(names, protocol, 3)
    assert found == author_blocks.splits(names, protocol, 3) != author_blocks.splits(names, protocol, 4)
    for split in found:
        parts = [set(part) for part in split]
        assert not any(a & b for a, b in combinations(parts, 2)) and set.union(*parts) == set(names)
        if protocol == "paper":
            assert [len([b for b in part if b.startswith("big")]) for part in split] == [32, 4, 4]
            assert {b for b in names if b.startswith("tiny")} <= parts[2]
    tested = [b for split in found for b in split.test]
    assert protocol == "paper" or sorted(tested) == sorted(names)  # every block once
    assert protocol == "sound" or len({split.test for split in found}) == author_blocks.REPEATS


def test_b_cubed_by_brute_force_over_blocks_scored_together():
    rng = np.random.default_rng(0)
    blocks = []
    for k in range(6):
        gold = [f"person {c}" for c in rng.integers(0, 7, size=9)]  # persons are in several blocks
        blocks.append(author_blocks.linked(f"x/{k}", gold, rng.random(36)))
    found = author_model.scored(blocks, 0.4)
    mentions = [(person, (b.name, group)) for b in blocks for person, group in zip(b.gold, b.cut(0.4), strict=True)]
    p = r = 0.0
    for person, group in mentions:
        same_group = [one for one in mentions if one[1] == group]
        same_person = [one for one in mentions if one[0] == person]
        both = sum(one[0] == person for one in same_group)
        p, r = p + both / len(same_group), r + both / len(same_person)
    p, r = p / len(mentions), r / len(mentions)
    assert author_blocks.b3(np.array([*found.values()])).tolist() == pytest.approx([p, r, 2 * p * r / (p + r)])


def test_threshold_is_the_middle_of_the_best_of_a_grid_by_brute_force():
    rng = np.random.default_rng(5)
    blocks = []
    for k in range(6):
        gold = [f"{k}:{c}" for c in rng.integers(0, 3, 6)]
        blocks.append(author_blocks.linked(f"{'ab'[k % 2]}/{k}", gold, rng.random(15)))
    grid, scores = np.linspace(0.01, 0.99, 99), []
    for t in grid:
        found = author_model.scored(blocks, t)
        sets = [np.array([v for b, v in found.items() if b[0] == s]) for s in "ab"]
        scores.append(np.mean([author_blocks.b3(one)[2] for one in sets]))
    best = np.flatnonzero(np.array(scores) >= max(scores) - 1e-12)
    assert author_blocks.tune(blocks, grid) == grid[best[len(best) // 2]]


def test_training_pairs_are_capped_seeded_and_those_of_the_blocks():
    mentions = authors.mentions_of(TASK, TASK.payload.rows)
    names = sorted(mentions.blocks)[:16]
    whole, same = author_model.training(mentions, names, 0)
    assert len(whole) == len(same) == sum(len(mentions.blocks[b]) * (len(mentions.blocks[b]) - 1) // 2 for b in names)
    some, of_some = author_model.training(mentions, names, 0, most=50)
    assert len(some) == len(of_some) == 100  # of each of two collections
    again, _ = author_model.training(mentions, names[::-1], 0, most=50)
    np.testing.assert_array_equal(some, again)
    assert not np.array_equal(some, author_model.training(mentions, names, 1, most=50)[0], equal_nan=True)
    table, drawn = ({(*map(float, np.nan_to_num(line, nan=-9)), bool(y)) for line, y in zip(lines, ys, strict=True)}
                    for lines, ys in ((whole, same), (some, of_some)))  # fmt: skip
    assert drawn <= table


def test_a_feature_moves_the_probability_its_way_only():
    rng = np.random.default_rng(0)
    pairs = rng.random((1500, len(FEATURES))).astype(np.float32)
    pairs[rng.random(pairs.shape) < 0.2] = np.nan
    year = NAMES.index("year_diff")
    same = np.nan_to_num(pairs[:, year], nan=0.5) + 0.3 * rng.standard_normal(1500) > 0.5  # against its direction
    model = author_model.fit(pairs, same, 0)
    line = np.repeat(pairs[:1], 50, axis=0)
    line[:, year] = np.linspace(0, 1, 50)
    assert (np.diff(model.distances(line)) >= -1e-9).all()  # farther apart in time, never more likely one person
    assert np.isfinite(model.distances(np.full((2, len(FEATURES)), np.nan, dtype=np.float32))).all()
    with pytest.raises(DataError, match="nothing to learn"):
        author_model.fit(pairs, np.ones(1500, dtype=bool), 0)


def test_the_threshold_is_tuned_on_validation_blocks_only(monkeypatch):
    seen = []

    def watch(blocks, candidates=None):
        seen.append({block.name for block in blocks})
        return author_blocks.tune(blocks, candidates)

    monkeypatch.setattr(author_model, "tune", watch)
    mentions = authors.mentions_of(TASK, TASK.payload.rows)
    split = author_blocks.splits(mentions.blocks, "paper", 0)[0]
    before = author_model.run(mentions, split, 0)
    assert seen == [set(split.validation)]
    gold = mentions.gold.copy()
    for name in split.test:  # other labels in the test blocks change no threshold and no cut
        gold[mentions.blocks[name]] = "one"
    after = author_model.run(replace(mentions, gold=gold), split, 0)
    assert after.threshold == before.threshold and after.sums != before.sums


@pytest.mark.parametrize("protocol", ["paper", "sound"])
def test_noise_scores_about_metadata_and_truth_scores_100(protocol):
    noise, truth = (values(evaluate(TASK, table, protocol)) for table in (NOISE, TRUTH))
    plain = noise["test", "b3_f1_metadata"]
    assert plain == truth["test", "b3_f1_metadata"] and 60 < plain < 99
    assert truth["test", "b3_f1"] == pytest.approx(100) and truth["test", "b3_f1_vectors"] == pytest.approx(100)
    assert abs(noise["test", "b3_f1"] - plain) < 6
    assert noise["test", "b3_f1_vectors"] < plain - 10
    keys = list(TRUTH)
    shuffled = dict(zip(keys, [TRUTH[k] for k in np.random.default_rng(3).permutation(keys)], strict=True))
    assert abs(values(evaluate(TASK, shuffled, protocol))["test", "b3_f1"] - plain) < 6


def test_rows_say_what_they_are_and_equal_seeds_give_equal_rows(quick: None):
    found = evaluate(TASK, NOISE, "sound", metrics=("b3_f1",))
    assert [(row.split, row.metric) for row in found if row.split == "test"] == [
        ("test", "b3_f1"), ("test", "b3_f1_metadata"), ("test", "b3_f1_vectors")]  # fmt: skip
    assert {row.split for row in found} == {"test", "test/set0", "test/set1"}
    by = values(found)
    for name in ("b3_f1", "b3_f1_metadata", "b3_f1_vectors"):
        assert by["test", name] == pytest.approx((by["test/set0", name] + by["test/set1", name]) / 2)
    for row in found:
        assert row.replicates is not None and row.replicates.shape == (1000,)
        assert row.low <= row.value <= row.high
    main = found[2]
    assert main.parameters["method"] == "pairwise model" and len(main.parameters["thresholds"]) == 5
    assert main.n == len(TASK.payload.rows)  # every block once
    again = evaluate(TASK, NOISE, "sound", metrics=("b3_f1",))
    assert [row.to_json() for row in again] == [row.to_json() for row in found]
    assert all(np.array_equal(a.replicates, b.replicates) for a, b in zip(found, again, strict=True))
    assert values(evaluate(TASK, NOISE, "sound", metrics=("b3_f1",), seed=1)) != by


def test_few_blocks_are_cut_as_scikit_learn_cuts_them_and_sets_are_averaged():
    task, truth = world(blocks=8)
    table = {key: vector + 0.6 * NOISE[key] for key, vector in truth.items()}
    found = evaluate(task, table)
    assert {row.parameters["method"] for row in found} == {"vectors alone"} and "fewer than 10 blocks" in found[-1].note
    got = values(found)
    assert {row.split for row in found} == {"test", "test/set0", "test/set1"}
    assert got["test", "b3_f1"] == pytest.approx((got["test/set0", "b3_f1"] + got["test/set1", "b3_f1"]) / 2)
    assert values(evaluate(task, truth))["test", "b3_f1"] == pytest.approx(100) != got["test", "b3_f1"]
    with pytest.raises(DataError, match="none is left to tune"):
        evaluate(*world(blocks=1))
    threshold = found[0].parameters["threshold"]
    one = Asked(task, table, metrics=("b3_f1",), similarity="cosine")
    for name, mine in grouped(task.payload.rows, authors.BLOCK).items():
        cut = authors._block(one, name, mine, False).cut(threshold)
        # fcluster keeps merges AT the threshold together, scikit-learn those below it
        model = AgglomerativeClustering(None, metric="cosine", linkage="average", distance_threshold=threshold + 1e-9)
        theirs = model.fit_predict(np.stack([table[row.paper_id] for row in mine]))
        assert all((cut[i] == cut[j]) == (theirs[i] == theirs[j]) for i, j in combinations(range(len(mine)), 2))


def test_a_mention_without_a_vector_is_a_missing_value_and_one_of_nobody_known_is_left_out(quick: None):
    some = {key: value for k, (key, value) in enumerate(TRUTH.items()) if k % 3}
    with pytest.raises(DataError, match="have no vector"):
        evaluate(TASK, some)
    found, whole = ({r.metric: r for r in evaluate(TASK, vectors, on_missing="drop", metrics=("b3_f1",)) if r.split == "test"}
                    for vectors in (some, TRUTH))  # fmt: skip
    assert found["b3_f1"].coverage == pytest.approx(len(some) / len(TRUTH))
    assert found["b3_f1"].n == whole["b3_f1"].n > found["b3_f1_vectors"].n
    assert whole["b3_f1_metadata"].value <= found["b3_f1"].value <= whole["b3_f1"].value
    fewer = nobody(TASK, lambda k: k % 7 == 0)
    row = evaluate(fewer, TRUTH, "sound", metrics=("b3_f1",))[-1]
    left = sum(not row.cluster for row in fewer.payload.rows)
    assert f"{left} mentions of nobody known left out" in row.note and row.n == len(TASK.payload.rows) - left


def test_what_is_kept_of_a_task_is_kept_of_the_same_mentions_only():
    """Same name, same data, as many mentions: other mentions, blocks or clusters are another table."""
    task = replace(TASK, name="t", data_hash="d")
    rows = task.payload.rows
    first = authors.mentions_of(task, rows)
    assert authors.mentions_of(task, rows).table is first.table
    turned = rows[::-1]
    moved = [row._replace(block=f"{row.block}x") for row in rows]
    other = [row._replace(cluster=f"{row.cluster}{k % 2}") for k, row in enumerate(rows)]
    for these in (turned, moved, other):
        assert authors.mentions_of(task, these).table is not first.table


@pytest.mark.parametrize("task", [TASK, world(blocks=6)[0]])
def test_vectors_of_nobody_known_are_refused_in_one_line(task):
    some = {row.paper_id: np.ones(3) for row in task.payload.rows[:3]}
    for unknown, message in ((lambda k: k < 3, "small/authors: no mention of a person known has a vector"),
                             (lambda k: True, "nobody is known")):  # fmt: skip
        with pytest.raises(DataError, match=message):
            evaluate(nobody(task, unknown), some, on_missing="drop")


def test_a_folder_keeps_what_the_pipeline_needs(tmp_path: Path):
    write_folder(TASK, tmp_path)
    back = read_folder(tmp_path)
    assert back.payload == TASK.payload and back.papers == TASK.papers
