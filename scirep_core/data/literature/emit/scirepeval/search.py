"""Ad-hoc search with bare queries (SciRepEval A.1): clicks, lay questions about health, topics with a narrative.

    task        a candidate scores
    search      number of clicks
    nfcorpus    2: same disease; 1: same group of diseases; 0
    trec_covid  2: same problem, same family of methods; 1: either, in the topic; 0

Three queries in four name a problem and its topic in words that papers use; the fourth is worded otherwise. nfcorpus shares the
latents `problem` and `topic` with search, but not all of its words: the fourth there is a question that calls a disease what
laymen call it, which stands in no paper and in no training query.

A query is written for a paper, whose latents are what is meant (`KINDS`). The engine shows ten papers in an order that is
half likeness, half its own opinion. A user looks at the first, at lower places less and less often, clicks on what looks
right, and leaves; queries without a click are dropped, as from a log. Where the dials leave out medicine, the health
queries are about the fields there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scirep_core.data.literature.citations import INFLUENTIAL
from scirep_core.data.literature.emit.files import Column, scaled
from scirep_core.data.literature.emit.scirepeval import judged
from scirep_core.data.literature.emit.split import EVALUATION, held_out, venue
from scirep_core.data.literature.latents import NONE, Ints, Mask, Random, stream, weighted
from scirep_core.data.literature.lexicon import FIELDS, Draw, Fill, Tree, lexicon, spell
from scirep_core.data.literature.model import Literature
from scirep_core.data.literature.text import any_of, draws

KINDS = (("problem", 60), ("method", 18), ("venue", 11), ("author", 11))
"""What a query names, in per cent: the problem, a method with it; a topic with a venue, with an author."""
NAMED = {"problem": ("problem", "topic"), "method": ("problem", "topic", "method"), "venue": ("topic", "venue"),
         "author": ("topic", "author")}  # fmt: skip
SHOWN = ((("paper",), 1), (("problem",), 1), (("topic",), 4), (("topic", "method"), 2), (("topic", "author"), 2),
         (("venue",), 2), ((), 14))  # fmt: skip
SKIPPED = np.array([0, 120, 250, 360, 450, 530, 600, 660, 710, 750])
"""How often, of 1,000, a user does not look at the ten places (where `noise` is 0.5 or more)."""
OUTBREAK = ("infectious diseases", "respiratory diseases")
TREC_POOL = (("problem", "family"), 10), (("problem",), 25), (("topic", "family"), 15), (("topic",), 25)
"""What candidates share with the paper behind a topic, and in per cent of the pool how many are drawn for it."""


def write(root: Path, literature: Literature) -> None:
    """Write the three tasks, of `search` also the training sets."""
    _search(root, literature)
    _nfcorpus(root, literature)
    _trec_covid(root, literature)


def _bare(name: str, texts: list[str], wanted: judged.Traits) -> judged.Bare:
    return judged.Bare([f"{name}-{number}" for number in range(len(texts))], texts, wanted)


def _search(root: Path, literature: Literature) -> None:
    papers, facts = len(literature), _bibliography(literature)
    sizes = scaled(papers, 528_497, 15, 60), scaled(papers, 528_497, 1.5, 20), scaled(papers, 2_585, 4, 60)
    for number, (split, size, targets, allowed) in enumerate(judged.parts(literature, "search", 2, *sizes)):
        rng = stream(literature.seed, "clicks", number)
        kind = weighted(rng, [share for _, share in KINDS], len(targets))
        pools = _clicked(literature, rng, targets, _meant(literature, targets, kind), allowed)
        clicked = np.flatnonzero(pools.grades.any(axis=1))[:size]
        pools = pools.rows(clicked)
        draw = draws(stream(literature.seed, "search queries", number))
        queries = [_spelled(literature, i, KINDS[k][0], draw) for i, k in
                   zip(targets[clicked].tolist(), kind[clicked].tolist(), strict=True)]  # fmt: skip
        bare = _bare(f"search-{split}", queries, _meant(literature, targets[clicked], kind[clicked]))
        judged.write_task(root, literature, "search", pools, "search", bare, facts, ["scimult/search"], split)


def _meant(literature: Literature, targets: Ints, kind: Ints) -> dict[str, Ints]:
    """Return the traits the queries name, NONE for those they leave open."""
    found = judged.at(judged.traits(literature), targets)
    mentions = {name: np.isin(kind, [k for k, (n, _) in enumerate(KINDS) if name in NAMED[n]]) for name in found}
    return {name: np.where(mentions[name], values, NONE) for name, values in found.items()}


def _clicked(literature: Literature, rng: Random, targets: Ints, wanted: judged.Traits, allowed: Mask) -> judged.Pools:
    """Return the ten papers shown for each query, in the order shown, with the clicks of one to three users."""
    papers, noise = judged.traits(literature), literature.dials.noise
    table = judged.candidates(judged.sharing(rng, papers, targets, SHOWN, allowed), 10)
    likeness = judged.alike("search", wanted, papers, table)
    most = sum(weight * (wanted[name] != NONE) for name, weight in judged.PROFILES["search"].items())
    share = likeness * 100 // np.maximum(most, 1)[:, None]
    key = np.where(table == NONE, 1_000, -share - rng.integers(0, 100, size=table.shape))
    table, share = judged.ordered(table, key), judged.ordered(share, key)
    fit = judged.graded(share, 25, 76)
    # per thousand: what fits, half fits, does not fit
    willing = np.array([round(120 * noise), round(600 * noise), 1_000 - round(500 * noise)])[fit]
    skipped = (SKIPPED * min(1_000, round(2_000 * noise)) // 1_000)[: table.shape[1]]
    clicks = np.zeros(table.shape, dtype=np.int64)
    users = weighted(rng, (80, 15, 5), len(targets)) + 1
    for user in range(3):
        looks = rng.integers(0, 1_000, size=table.shape) >= skipped
        clicked = looks & (rng.integers(0, 1_000, size=table.shape) < willing) & (user < users)[:, None]
        clicks += clicked & (np.cumsum(clicked, axis=1) == 1)
    return judged.Pools(targets, table, np.where(table == NONE, 0, clicks))


def _spelled(literature: Literature, target: int, kind: str, draw: Draw) -> str:
    words, latents, people, own = lexicon(), literature.latents, literature.people, literature.writer.fill(target, draw)
    if kind in ("problem", "method"):
        what = _asked(own, draw, words.problems[latents.problem[target]].query)
        if kind == "problem":
            return what
        return f"{what} {own['method']()}" if draw() % 2 else f"{own['method']()} {what}"
    topic = own["topic"]()
    if kind == "venue":
        return f"{topic} {words.fields[latents.field[target]].venues[latents.venue[target]]}"
    given, _, family = people.parts(int(people.teams.of(target)[0]))
    return f"{family} {topic}" if draw() % 2 else f"{given} {family} {topic}"


def _asked(own: Fill, draw: Draw, otherwise: Sequence[Tree]) -> str:
    """Return a problem with its topic in the papers' own words, three times of four; else one of the other wordings."""
    return f"{own['problem']()} {own['topic']()}" if draw() % 4 else spell(any_of(otherwise, draw), draw, own)


def _bibliography(literature: Literature) -> dict[str, Column]:
    people, cited_by = literature.people, literature.cited_by
    sums = np.concatenate([[0], np.cumsum(cited_by.values >= INFLUENTIAL)])
    return {
        "venue": venue(literature),
        "year": ("double", literature.latents.year.item),
        "author_names": (["string"], lambda i: [people.name(a) for a in people.teams.of(i).tolist()]),
        "n_citations": ("int32", cited_by.counts().item),
        "n_key_citations": ("int32", np.diff(sums[cited_by.starts]).item),
    }


def _of_medicine(literature: Literature) -> Mask:
    found: Mask = literature.latents.field == FIELDS.index("Medicine")
    return found if found.sum() > 20 else np.ones(len(literature), dtype=np.bool_)


def _nfcorpus(root: Path, literature: Literature) -> None:
    papers, everybody = judged.traits(literature), len(literature)
    rng, medicine = stream(literature.seed, "nfcorpus"), _of_medicine(literature)
    asked = scaled(everybody, 323, 1.5, 40)
    targets = judged.askers(literature, "nfcorpus", asked, medicine & (held_out(literature) == EVALUATION))
    width = scaled(everybody, 138, 4, 60)
    sources = (("problem",), 1 + width // 3), (("topic",), 1 + width // 4), (("paper",), 1), ((), 2 * width)
    drawn = judged.sharing(rng, papers, targets, sources, medicine)
    table = judged.shuffled(rng, judged.candidates(drawn, width))
    wanted = judged.at(papers, targets)
    pools = judged.Pools(targets, table, judged.alike("nfcorpus", wanted, papers, table))
    draw = draws(stream(literature.seed, "health queries"))
    bare = _bare("nfcorpus", [_health_query(literature, i, draw) for i in targets.tolist()], wanted)
    judged.write_task(root, literature, "nfcorpus", pools, "nfcorpus", bare)


def _health_query(literature: Literature, target: int, draw: Draw) -> str:
    own, lay = literature.writer.fill(target, draw), lexicon().problems[literature.latents.problem[target]].lay
    own["lay"] = lambda: spell(any_of(lay, draw), draw, {}) if lay else own["problem"]()
    return _asked(own, draw, lexicon().phrases["health_query"])


def _trec_covid(root: Path, literature: Literature) -> None:
    words, papers, everybody = lexicon(), judged.traits(literature), len(literature)
    rng, medicine = stream(literature.seed, "trec_covid"), _of_medicine(literature)
    outbreak = np.isin(papers["topic"], [k for k, t in enumerate(words.topics) if t.name in OUTBREAK])
    targets = _topics(literature, outbreak, medicine)
    width = scaled(everybody, 1_386, 4, 60)
    sources = [(("paper",), 1), *((names, 1 + width * share // 100) for names, share in TREC_POOL)]
    drawn = [judged.sharing(rng, papers, targets, sources)]
    drawn.append(judged.sharing(rng, papers, targets, [((), 2 * width)], medicine))
    table = judged.shuffled(rng, judged.candidates(np.concatenate(drawn, axis=1), width))
    wanted = judged.at(papers, targets)
    # problem and topic 5, family 2: all 7; the problem alone 5, or topic and family 3
    planted = judged.graded(judged.alike("trec_covid", wanted, papers, table), 3, 7)
    grades = judged.rated(rng, planted, literature.dials.noise / 2, 1, 2)
    pools = judged.Pools(targets, table, np.where(table == NONE, 0, grades))
    draw = draws(stream(literature.seed, "topic queries"))
    bare = _bare("trec-covid", [_topic_query(literature, i, draw) for i in targets.tolist()], wanted)
    facts: dict[str, Column] = {
        "date": ("string", lambda i: f"{literature.latents.year[i]}-01-01"),
        "doi": ("string", lambda i: f"10.5555/{literature.paper_id(i)}"),
        "iscovid": ("bool", outbreak.item),
    }
    judged.write_task(root, literature, "trec_covid", pools, "trec_covid", bare, facts, ["scimult/trec_covid"])


def _topics(literature: Literature, outbreak: Mask, medicine: Mask) -> Ints:
    """Return the papers behind up to 50 topics: outbreaks first, then medicine, then any; each problem and family once."""
    candidates = judged.askers(literature, "trec_covid", len(literature))
    key = judged.key_of(judged.traits(literature), "problem", "family")
    once = candidates[np.sort(np.unique(key[candidates], return_index=True)[1])]
    order = np.argsort(2 - outbreak[once].astype(np.int64) - medicine[once], kind="stable")
    return once[order][:50]


def _topic_query(literature: Literature, target: int, draw: Draw) -> str:
    """Write query, question and narrative of a topic, joined as on the hub."""
    problem = lexicon().problems[literature.latents.problem[target]]
    paper: Fill = literature.writer.fill(target, draw)
    fill = {
        **paper,
        "query": lambda: _asked(paper, draw, problem.query),
        "lay_or_task": lambda: spell(any_of(problem.lay, draw), draw, {}) if problem.lay else paper["task"](),
    }
    forms = lexicon().phrases["topic_query"]
    return " [SEP] ".join(spell(any_of(forms[part], draw), draw, fill) for part in ("query", "question", "narrative"))
