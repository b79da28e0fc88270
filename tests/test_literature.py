"""The embedded literature: what is planted is there, and the files are the published ones."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import math
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from counted import calls, peak
from emitted import spellings
from scipy.stats import spearmanr
from small_files import refused

from scirep_core.data.literature import VERSION, Dials, Ratings, facets, generate, lexicon, plans, text, write_csfcube
from scirep_core.data.literature.facets import METHODS
from scirep_core.data.literature.latents import KINDS, LEVELS, NONE
from scirep_core.data.literature.lexicon import count, parse, spell
from scirep_core.data.literature.ratings import grade, relevance
from scirep_core.data.readers.csfcube import read
from scirep_core.evaluators.facets import oracle_rankings, per_query, random_rankings, rank_by_vectors
from scirep_core.evaluators.facets.facet_systems import rank
from scirep_core.kit.errors import CacheError, ConfigError
from scirep_core.kit.formats import FACET_OF_LABEL, FACETS, SENTENCE_LABELS
from scirep_core.kit.records import read_json

COMPUTING = Dials(fields=("Computer science",))
QUIET = Ratings(noise=0, lapse=0, bias=(0, 0, 0), adjudicator_noise=0, overrule=1, missing=0)
WORDS = lexicon.lexicon()


@pytest.fixture(scope="session")
def literature():
    return generate(1200, 0, COMPUTING)


@pytest.fixture(scope="session")
def wide():
    return generate(6000, 0)


def lines(path):
    return {row["paper_id"]: row for row in map(json.loads, path.read_bytes().splitlines())}


@pytest.fixture(scope="session")
def cube(tmp_path_factory):
    """An embedded CSFCube: its folder, its papers, ratings by facet, pools."""
    folder = tmp_path_factory.mktemp("csfcube")
    write_csfcube(folder, 1200, 0)
    papers = lines(folder / "abstracts-csfcube-preds.jsonl")
    pools, *golds = (read_json(folder / f"test-{name}.json") for name in
                     ("pid2pool-csfcube", *(f"pid2anns-csfcube-{facet}" for facet in FACETS)))  # fmt: skip
    return SimpleNamespace(folder=folder, papers=papers, pools=pools, golds=dict(zip(FACETS, golds, strict=True)))


# --- language ---------------------------------------------------------------------------------------------------------


def test_the_lexicon_is_large_enough_and_every_concept_has_eight_forms():
    assert [f.name for f in WORDS.fields] == list(lexicon.FIELDS) and len(lexicon.MAG) == 19
    assert len(WORDS.topics) >= 170 and len(WORDS.problems) >= 500
    assert len(WORDS.methods) >= 100 and len(WORDS.aspects) >= 70
    families = [m.family for m in WORDS.methods]
    assert min(families.count(f) for f in set(families)) >= 2
    concepts = [*(m.np for m in WORDS.methods), *(a.np for a in WORDS.aspects), *WORDS.modes, *WORDS.conditions]
    concepts += [nouns + clauses for nouns, clauses in WORDS.obstacles]
    assert min(sum(count(t) for t in forms) for forms in concepts) >= 8
    for p in WORDS.problems:
        assert len(p.acts) * sum(map(count, p.what)) * sum(map(count, p.where)) >= 8
    for forms in (*concepts, *(m.step for m in WORDS.methods)):  # no form is written twice
        spelled = [s for tree in forms for s in spellings(tree)]
        assert len(spelled) == len(set(spelled))


def test_every_choice_can_be_written_and_a_malformed_template_is_refused():
    tree = parse("[a|b[c|d]|{e}]f")
    draws = itertools.product(range(3), range(2))
    written = {spell(tree, iter(pair).__next__, {"e": lambda: "g"}) for pair in draws}
    assert written == {"af", "bcf", "bdf", "gf"} and count(parse("[a|b[c|d]]")) == 3
    for malformed in ("[a|b", "a]b", "a|b", "{x", "x}"):
        refused(lambda malformed=malformed: parse(malformed), error=ValueError)


def test_no_two_abstracts_share_a_skeleton_and_every_sentence_template_is_written(wide, monkeypatch):
    assert len({wide.writer.skeleton(i) for i in range(6000)}) == 6000 == len({p.abstract for p in wide.papers})
    aside = ("opener", "tail", "title", "title_resource", "title_theory")
    groups = {name: ts for name, ts in text._all_templates().items() if name not in aside}
    assert len(groups) > 30
    monkeypatch.setattr(plans, "RATES", dict.fromkeys(plans.RATES, 100))  # else some are too rare for 6,000 papers
    talkative = [wide.writer.skeleton(i) for i in range(6000)]
    assert set(itertools.chain(*talkative)) == {t.number for ts in groups.values() for t in ts}


def test_quality_tone_standing_and_era_are_told_as_often_as_stated_and_once(wide):
    kind_of = {t.number: name.partition("_")[0] for name, ts in text._all_templates().items() for t in ts}
    told = [Counter(kind_of[number] for number in wide.writer.skeleton(i)) for i in range(6000)]
    for kind, rate in plans.RATES.items():
        assert max(found[kind] for found in told) == 1
        assert abs(100 * np.mean([found[kind] for found in told]) - rate) < 1.5, kind


def test_a_plan_that_runs_short_of_skeletons_grows_instead_of_repeating(monkeypatch):
    real = plans.core

    def small(code):
        return real(code)._replace(sizes=(2, 2) + (2,) * (code // plans.EXTRA))

    monkeypatch.setattr(plans, "core", small)
    drawn = plans.draw_plans(generate(600, 0).latents, 0)
    pairs = list(zip(drawn.code.tolist(), drawn.rank.tolist(), strict=True))
    assert len(set(pairs)) == 600 and all(rank < math.prod(small(code).sizes) for code, rank in pairs)
    assert max(code // plans.EXTRA for code, _ in pairs) >= 1


UNGRAMMATICAL = re.compile(
    r"[\[\]{}|]|  | [,.]|,,|\.\.|\b[Aa] (?!one)[aeio]|\b[Aa]n (?!RCT|n-of)[^aeiouh]|\b(the|of|in|for|a) (the|of|a) \1\b"
    r"|\bthe the\b|\bof of\b|\bthe an?\b|\ban? the\b"
)


def test_abstracts_are_four_to_twenty_labelled_grammatical_sentences(wide):
    for paper in (*wide.papers, *generate(2500, 1).papers):
        assert 4 <= len(paper.sentences) == len(paper.labels) <= 20
        assert set(paper.labels) <= set(SENTENCE_LABELS)
        assert {FACET_OF_LABEL.get(label) for label in paper.labels} >= set(FACETS)
        assert paper.abstract == " ".join(paper.sentences)
        assert all(re.fullmatch(r"[A-Z].*[.]", sentence) for sentence in paper.sentences), paper
        assert not any(UNGRAMMATICAL.search(line) for line in (paper.title, *paper.sentences)), paper


def test_what_the_ratings_depend_on_can_be_read_in_the_abstract(literature):
    latents = literature.latents
    for i in range(0, 1200, 7):
        said = dict.fromkeys(FACETS, "")
        for sentence, label in zip(literature.papers[i].sentences, literature.papers[i].labels, strict=True):
            if label in FACET_OF_LABEL:
                said[FACET_OF_LABEL[label]] += sentence.lower()
        method, aspect = WORDS.methods[latents.method[i]], WORDS.aspects[latents.aspect[i]]
        wanted = [
            ("background", WORDS.problems[latents.problem[i]].what),
            ("background", sum(WORDS.obstacles[latents.obstacle[i]], ())),
            ("method", method.np), ("method", WORDS.modes[latents.mode[i]]), ("result", aspect.np),
            ("result", sum(WORDS.polarity[latents.polarity[i]][aspect.rising_is_good], ())),
            ("result", WORDS.conditions[latents.condition[i]]),
        ]  # fmt: skip
        if latents.second_method[i] != NONE:
            second = WORDS.methods[latents.second_method[i]]
            wanted.append(("method", second.np + second.step))
        for facet, forms in wanted:
            assert any(s.lower() in said[facet] for tree in forms for s in spellings(tree)), (i, facet)


def vocabulary(papers):
    return {word for p in papers for word in re.findall(r"\w+", p.abstract.lower())}


def made(papers, **dials):
    return generate(papers, 2, Dials(**{"fields": ("Computer science",), **dials}))


def test_dials_of_words_do_what_they_say():
    poor, rich = (vocabulary(made(900, synonymy=s).papers) for s in (0.0, 1.0))
    assert len(poor) < 0.6 * len(rich)

    def eras(drift):
        papers = made(900, drift=drift).papers
        old, new = vocabulary(papers[:300]), vocabulary(papers[-300:])
        return len(old & new) / len(old | new)

    assert eras(1.0) < eras(0.0) - 0.05
    plain, chatty = (sum("For practical purposes" in p.abstract for p in made(300, filler=f, style=0.0, fields=()).papers)
                     for f in (0.0, 1.0))  # fmt: skip
    assert plain == 0 and chatty > 10

    def wording(style):
        """How often two abstracts of one first author share an opener, against two of different authors."""
        some = made(2500, style=style, filler=1.0, fields=("Law",))
        first = some.people.teams.items[some.people.teams.starts[:-1]]
        said = [frozenset(re.findall(r"(?:^|[.] )([A-Z][^.,]{3,30}), ", p.abstract)) for p in some.papers]
        pairs = [(i, j) for i in range(0, 1200) for j in range(i + 1, i + 60)]
        same, other = (
            [len(said[i] & said[j]) for i, j in pairs if (first[i] == first[j]) == alike] for alike in (True, False)
        )
        return np.mean(same) / np.mean(other)

    assert wording(1.0) > 1.5 > 1.25 > wording(0.0)


def test_the_first_forms_in_use_are_the_usual_ones():
    for share in (1.0, 0.5):
        papers = generate(1, 0, Dials(synonymy=share, drift=0.0))
        forms = [spellings(tree) for tree in WORDS.methods[papers.latents.method[0]].np]
        draw = text.draws(np.random.default_rng(0))
        written = Counter(papers.writer.fill(0, draw)["method"]() for _ in range(4000))
        times = [sum(written[s] for s in spelled) for spelled in forms]
        used = math.ceil(share * len(forms))
        assert sum(times) == 4000 == sum(times[:used]) and times[:used] == sorted(times, reverse=True)[:used]
        assert times[0] > 2 * times[used - 1] > 0


def test_dials_of_latents_do_what_they_say():
    def same_family_share(topicality):
        latents = made(1500, method_topicality=topicality, fields=("Law",)).latents
        families = [latents.family[latents.topic == t] for t in np.unique(latents.topic)]
        return np.mean([np.bincount(found).max() / len(found) for found in families])

    assert same_family_share(1.0) > same_family_share(0.0) + 0.15

    def spread(what, **dials):
        """Standard deviation within areas."""
        latents = generate(4000, 0, Dials(**dials)).latents
        values = getattr(latents, what)
        return math.sqrt(np.mean([values[latents.area == area].var() for area in np.unique(latents.area)]))

    assert spread("year", timeliness=1.0) < 0.8 * spread("year", timeliness=0.0)
    for what in ("quality", "hype"):
        alone, some, all_ = (spread(what, reputation=share) for share in (0.0, 0.4, 1.0))
        assert all_ < LEVELS / 10 < some < 0.97 * alone
    assert len(np.unique(generate(500, 0, Dials(interdisciplinary=0.0)).latents.second_field)) == 1


# --- latents and citations --------------------------------------------------------------------------------------------


def test_facets_are_drawn_separately_and_methods_are_shared_by_fields(wide):
    for family in range(len(WORDS.families)):
        assert len(np.unique(wide.latents.field[wide.latents.family == family])) >= 5
    computing = generate(4000, 0, COMPUTING).latents
    areas = np.unique(computing.area, return_inverse=True)[1]
    for other in ("mode", "polarity"):  # nothing ties these to the area
        table = np.zeros((int(areas.max()) + 1, int(getattr(computing, other).max()) + 2))
        np.add.at(table, (areas, getattr(computing, other) + 1), 1)
        expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
        kept = expected > 0
        chi = (((table - expected) ** 2)[kept] / expected[kept]).sum()
        freedom = areas.max() * ((table.sum(0) > 0).sum() - 1)
        assert chi < freedom + 5 * math.sqrt(2 * freedom), other


def test_all_fields_appear_years_grow_and_numbers_of_papers_tell_nothing_about_time(wide):
    latents = wide.latents
    assert np.bincount(latents.field, minlength=23).min() > 100 and (np.diff(latents.year) >= 0).all()
    assert [p.paper_id for p in wide.papers] == [str(number) for number in latents.paper_number]
    assert len(set(latents.paper_number)) == 6000
    assert abs(np.corrcoef(latents.paper_number, np.arange(6000))[0, 1]) < 0.1


def test_citations_go_to_strictly_earlier_years_and_prefer_the_similar_the_recent_the_famous(literature):
    latents, cites, back = literature.latents, literature.cites, literature.cited_by
    pairs = np.array([(i, j) for i in range(1200) for j in cites.of(i).tolist()])
    citing, cited = pairs.T
    assert (latents.year[cited] < latents.year[citing]).all()
    assert all((np.diff(cites.of(i)) > 0).all() for i in range(1200))
    assert all(i in cites.of(j) for i in range(0, 1200, 50) for j in back.of(i).tolist())
    assert cites.values.min() == 1 and 0.02 < (cites.values >= 4).mean() < 0.25
    late = citing[latents.year[citing] >= 2015]
    possible = np.array([(i, j) for i in set(late.tolist()) for j in np.flatnonzero(latents.year < latents.year[i])])
    chosen = pairs[np.isin(citing, late)]
    for same, times in (("problem", 8), ("method", 2)):
        values = getattr(latents, same)
        picked, anyone = ((values[rows[:, 0]] == values[rows[:, 1]]).mean() for rows in (chosen, possible))
        assert picked > times * anyone, same
    ages = [(latents.year[rows[:, 0]] - latents.year[rows[:, 1]]).mean() for rows in (chosen, possible)]
    assert ages[0] < ages[1] - 1.5
    times = np.bincount(cited, minlength=1200)[:600]
    famous = latents.fame[:600] > np.median(latents.fame[:600])
    assert times[famous].mean() > 2 * times[~famous].mean()


def test_work_and_memory_are_linear():
    """Eight times the papers; a quadratic part would ask for up to 64 times the calls, or the bytes."""
    generate(50, 0)  # word lists are read once
    for cost in (calls, peak):
        small, large = (cost(lambda papers=papers: generate(papers, 0)) for papers in (250, 2000))
        assert large < 1.5 * 8 * small, cost.__name__


# --- the collection ---------------------------------------------------------------------------------------------------


def test_files_have_the_published_schema(cube):
    assert len(cube.papers) == 1200
    for row in cube.papers.values():
        assert set(row) == {"paper_id", "title", "abstract", "pred_labels", "metadata"}
        assert row["paper_id"].isdigit() and set(row["metadata"]) == {"year"} and type(row["metadata"]["year"]) is int
    pairs_of_annotators = set()
    for query, row in itertools.chain(*(gold.items() for gold in cube.golds.values())):
        raw = tuple(sorted(k for k in row if k.startswith("relevance_ann")))
        pairs_of_annotators.add(raw)
        assert set(row) == {"cands", "relevance_adju", "relevance_max", "relevance_min", *raw}
        assert row["relevance_max"] == [*map(max, row[raw[0]], row[raw[1]])]
        assert row["relevance_min"] == [*map(min, row[raw[0]], row[raw[1]])]
        assert query not in row["cands"] and max(row["relevance_adju"]) >= 2
        assert row["cands"] == cube.pools[query]["cands"]  # the facets of a paper share one candidate set
        assert any(FACET_OF_LABEL.get(x) in FACETS for x in cube.papers[query]["pred_labels"])
    assert pairs_of_annotators == set(itertools.combinations([f"relevance_ann{k}" for k in (1, 2, 3)], 2))
    for row in cube.pools.values():
        assert set(row) == {"cands", "cand_source"}
        assert all(s and set(s) <= {"cited", *METHODS} for s in row["cand_source"])
    task = read_json(cube.folder / "task.json")
    made = ("csfcube", VERSION, "facets", "embedded", 1200)
    assert tuple(task[key] for key in ("name", "version", "type", "source", "papers")) == made


def test_counts_are_those_of_the_real_collection(cube):
    assert {f: len(g) for f, g in cube.golds.items()} == {"background": 16, "method": 17, "result": 17}
    b, m, r = map(set, cube.golds.values())
    assert (len(b & m), len(b & r), len(m & r), len(b & m & r), len(b | m | r)) == (5, 5, 6, 0, 34)
    sizes = sorted(len(row["cands"]) for g in cube.golds.values() for row in g.values())
    assert len(sizes) == 50 and all(91 <= n < 140 for n in sizes[:42]) and all(231 <= n < 290 for n in sizes[42:])
    raw = (cube.folder / "queries-release.csv").read_bytes()
    rows = list(csv.DictReader(raw.decode().splitlines()))
    assert raw.count(b"\r\n") == 51 and list(rows[0]) == ["pid", "facet", "year", "title", "paper type"]
    types, years = [row["paper type"] for row in rows], [int(row["year"]) for row in rows]
    assert [types.count(kind) for kind in KINDS] == [33, 12, 5] and max(years) - min(years) >= 15
    splits = read_json(cube.folder / "evaluation_splits.json")
    for facet, first, second in (("background", 8, 8), ("method", 9, 8), ("result", 9, 8), ("all", 26, 24)):
        one, other = splits[facet]["fold1_test"], splits[facet]["fold2_test"]
        assert (len(one), len(other)) == (first, second)
        assert splits[facet] == {"fold1_dev": other, "fold2_dev": one, "fold1_test": one, "fold2_test": other}
        assert {*one, *other} == {f"{q}_{f}" for f, gold in cube.golds.items() for q in gold if facet in (f, "all")}


def test_pools_are_drawn_as_published(cube):
    cites = {key: row["cites"] for key, row in lines(cube.folder / "citations.jsonl").items()}
    year = {key: row["metadata"]["year"] for key, row in cube.papers.items()}
    assert set(cites) == set(year) and all(year[c] < year[p] for p in cites for c in cites[p])
    for query, row in cube.pools.items():
        cited = {c for c, s in zip(row["cands"], row["cand_source"], strict=True) if "cited" in s}
        depth = 33 if len(row["cands"]) > 200 else 13
        assert cited == set(cites[query])
        assert len(row["cands"]) == len(cited) + depth * len(METHODS)  # each method adds `depth` new papers
        assert all(sum(method in s for s in row["cand_source"]) >= depth for method in METHODS)
    assert [facets.pool_depth(n, False) for n in (300, 500, 1200, 5000)] == [6, 8, 13, 13]
    assert [facets.pool_depth(n, True) for n in (300, 1200, 5000)] == [16, 33, 33]


def test_ratings_depend_on_the_latents_of_their_own_facet_only(literature):
    owners = {
        "background": ("area", "topic", "problem", "obstacle"),
        "method": ("method", "family", "mode", "second_method", "second_family"),
        "result": ("aspect", "group", "polarity", "condition", "second_aspect", "second_group"),
    }
    everyone, order = np.arange(1, 1200), np.random.default_rng(0).permutation(1200)
    for facet, other in itertools.product(FACETS, FACETS):
        shuffled = {name: getattr(literature.latents, name)[order] for name in owners[other]}
        changed = relevance(dataclasses.replace(literature.latents, **shuffled), facet, 0, everyone)
        same = (changed == relevance(literature.latents, facet, 0, everyone)).all()
        assert same == (facet != other)


@pytest.mark.parametrize("facet", FACETS)
def test_relevance_is_symmetric_and_a_paper_is_near_identical_to_itself(literature, facet):
    some = np.arange(0, 1200, 8)
    table = np.stack([relevance(literature.latents, facet, int(i), some) for i in some])
    assert (table == table.T).all() and table.min() >= 0 and table.max() <= 300
    assert (grade(np.diag(table)) == 3).all() and set(np.unique(grade(table))) == {0, 1, 2, 3}


def agreement(x, y):
    return spearmanr(np.maximum(x, 0), np.maximum(y, 0)).statistic


def test_annotators_are_noisy_and_the_adjudicator_settles_disagreement_only(cube):
    neither, missing, total = 0, 0, 0
    for facet, gold in cube.golds.items():
        before, after = [], []
        for row in gold.values():
            first, second = (np.array(v) for k, v in row.items() if k.startswith("relevance_ann"))
            final, agreed = np.array(row["relevance_adju"]), (first == second) & (first >= 0)
            assert (final[agreed] == first[agreed]).all()
            neither += int(((final != first) & (final != second)).sum())
            missing += int((first < 0).sum() + (second < 0).sum())
            total += len(final)
            before.append(agreement(first, second))
            after.append((agreement(first, final) + agreement(second, final)) / 2)
        assert 0.25 < np.median(before) < 0.5, facet  # table 2: 0.45, 0.31, 0.42
        assert 0.58 < np.median(after) < 0.76, facet  # table 2: 0.73, 0.63, 0.70
    assert 0.01 < neither / total < 0.035 and 0 < missing < 0.01 * 2 * total


def test_rating_shares_are_near_the_real_ones(cube):
    share = {}
    published = {"background": (0.43, 0.117, 0.020), "method": (0.226, 0.053, 0.007), "result": (0.25, 0.073, 0.014)}
    for facet, gold in cube.golds.items():
        ratings = np.concatenate([row["relevance_adju"] for row in gold.values()])
        share[facet] = (ratings >= 1).mean()
        for least, real, low, high in zip((1, 2, 3), published[facet], (0.75, 0.5, 0.3), (1.33, 1.8, 2.5), strict=True):
            assert low * real < (ratings >= least).mean() < high * real, facet
    assert share["background"] > share["result"] > 0.9 * share["method"]
    cited = [rating for gold in cube.golds.values() for query, row in gold.items()
             for rating, sources in zip(row["relevance_adju"], cube.pools[query]["cand_source"], strict=True)
             if "cited" in sources]  # fmt: skip
    assert np.mean(np.array(cited) <= 1) > 0.78  # appendix D: 79 to 88 %


# --- floor, lexical baseline, ceiling ---------------------------------------------------------------------------------


def means(collection, rankings):
    values = per_query(collection, rankings, ["ndcg%20"])[0]
    facet_of = np.array([query.facet for query in collection.queries])
    return {facet: 100 * float(values[facet_of == facet].mean()) for facet in FACETS}


def test_chance_is_below_tfidf_below_the_oracle_and_facets_matter(cube):
    from sklearn.feature_extraction.text import TfidfVectorizer

    collection = read(cube.folder)
    floor = means(collection, random_rankings(collection, 0))
    table = TfidfVectorizer(stop_words="english").fit_transform([p.abstract for p in collection.papers.values()])
    vectors = dict(zip(collection.papers, table.toarray(), strict=True))
    whole = means(collection, rank_by_vectors(collection, vectors, "cosine"))
    sentences = means(collection, rank(collection, "tfidf").system.rankings)
    oracle = means(collection, oracle_rankings(collection))
    for facet in FACETS:
        assert floor[facet] + 5 < min(whole[facet], sentences[facet]), facet
        assert max(whole[facet], sentences[facet], 88 - 15) < oracle[facet] - 15, facet  # rating noise: it is below 100
    for facet in ("method", "result"):  # the topic swamps them in a whole abstract; the background is mostly topic
        assert whole[facet] + 5 < sentences[facet], facet
    assert whole["background"] > whole["result"] > whole["method"]  # background easiest, method hardest


def test_without_rating_noise_the_oracle_is_perfect(tmp_path):
    write_csfcube(tmp_path, 400, 5, people=QUIET)
    collection = read(tmp_path)
    assert means(collection, oracle_rankings(collection)) == pytest.approx(dict.fromkeys(FACETS, 100.0), abs=1e-9)


# --- errors and interruption ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "words"), [
    (lambda: write_csfcube(Path("nowhere"), 299), "papers >= 300"),
    (lambda: generate(0), "between 1 and"),
    (lambda: generate(10, -1), "seed must be a whole number, 0 or more"),
    (lambda: generate(10.0), "whole number"),
    (lambda: generate(10, True), "whole number"),
    (lambda: Dials(drift=1.5), "'drift' must be a number in"),
    (lambda: Dials(drift=float("nan")), "'drift' must be a number in"),
    (lambda: Dials(first_year=2020), "first_year < last_year"),
    (lambda: Dials(fields=("Medcine",)), "did you mean 'Medicine'"),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused(call, words):
    refused(call, words, error=ConfigError)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    refused(lambda: write_csfcube(tmp_path / "file", 300), "cannot write", error=CacheError)


def test_an_interrupted_run_leaves_no_done_marker(tmp_path, monkeypatch):
    (tmp_path / "task.json").write_text("{}")  # of an earlier, complete run

    def killed(path, value):
        raise KeyboardInterrupt

    monkeypatch.setattr(facets, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        write_csfcube(tmp_path, 300, 1)
    assert (tmp_path / "citations.jsonl").exists() and not (tmp_path / "task.json").exists()
