"""Paper-reviewer matching (SciRepEval A.2): which reviewers are experts on a submission?

| task | judgements | what decides | exact? | relation |
|---|---|---|---|---|
| paper_reviewer_matching | expertise 3 (hard), 2 or 3 (soft) | topic, family, area, field of papers; doubt | no | related |

A reviewer is an author of at least three papers, known by up to `KNOWN` of them, never by the submission itself, and
never one of its authors. Expertise is planted in the evaluator's own form, the mean of the three papers nearest to the
submission,

    E(s, r) = sum of the three largest S(s, p) over the papers p of r            (judged.py, profile "reviewing")

and graded by `EDGES` after a doubt of the dial `noise` is added: the oracle ranks by E. P@10 cannot reach 100 even so,
as few submissions have ten experts among their reviewers.

The task shares `topic` and `family` with training tasks of proximity; what is new is the aggregation over a person.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scirep_core.data.literature.emit import split as hub
from scirep_core.data.literature.emit.files import scaled, write_oracle, write_parquet
from scirep_core.data.literature.emit.scirepeval import judged
from scirep_core.data.literature.emit.split import flat
from scirep_core.data.literature.latents import NONE, Ints, Mask, Random, bell, stream
from scirep_core.data.literature.lexicon import lexicon
from scirep_core.data.literature.links import Links, from_lists
from scirep_core.data.literature.model import Literature

KNOWN = 12
FEWEST = 3
"""Papers of a reviewer; the evaluator takes the three nearest."""
OF_TOPIC, OF_AREA, OF_FIELD = 7, 6, 1
PER_SUBMISSION = 16
EDGES = (5, 9, 13)
"""E from which on expertise is 1, 2, 3. Three papers of the same topic make 15, of the same area 6, each shared family 3."""
DOUBT = 8
"""Standard deviation of the judges' doubt about E, where `noise` is 1."""


def write(root: Path, literature: Literature) -> None:
    """Write texts, both judgements and the reviewers."""
    people, rng = literature.people, stream(literature.seed, "reviewers")
    written = people.teams.reverse(len(people))
    eligible = written.counts() >= FEWEST
    submissions = judged.askers(literature, "submissions", scaled(len(literature), 107, 1.5, 40))
    reviewers = _invited(rng, literature, submissions, eligible)
    invited = np.unique(reviewers[reviewers != NONE])
    known = _known(rng, written, invited)
    rows = {author: k for k, author in enumerate(invited.tolist())}
    theirs = np.full((*reviewers.shape, KNOWN), NONE)
    for place in zip(*np.nonzero(reviewers != NONE), strict=True):
        theirs[place] = known[rows[int(reviewers[place])]]
    theirs = np.where(theirs == submissions[:, None, None], NONE, theirs)
    expertise = _expertise(literature, submissions, theirs)
    doubt = bell(rng, expertise.shape, round(DOUBT * literature.dials.noise))
    grades = np.where(reviewers == NONE, 0, judged.graded(expertise + doubt, *EDGES))
    config = "paper_reviewer_matching"
    for split, least in (("test_hard", 3), ("test_soft", 2)):
        pools = judged.Pools(submissions, reviewers, (grades >= least).astype(np.int64))
        judged.write_judgements(root, literature, config, pools, split=split, candidate=reviewer_id)
    listed = ({"r_id": reviewer_id(author), "papers": literature.ids(row[row != NONE])}
              for author, row in zip(invited.tolist(), known, strict=True))  # fmt: skip
    path = hub.table(root, "scirepeval_test", "reviewers", "metadata")
    write_parquet(path, {"r_id": "string", "papers": ["string"]}, listed)
    positions = np.union1d(submissions, known[known != NONE])
    hub.write_texts(root, config, flat(literature), positions)
    papers = {name: judged.traits(literature)[name] for name in judged.PROFILES["reviewing"]}
    found = judged.vectors(judged.PROFILES["reviewing"], judged.at(papers, submissions), judged.at(papers, positions))
    write_oracle(root, f"scirepeval/{config}", literature.ids(positions), found)


def reviewer_id(author: int) -> str:
    """Return the id of a reviewer."""
    return f"r{author}"


def _invited(rng: Random, literature: Literature, submissions: Ints, eligible: Mask) -> Ints:
    """Return up to 16 reviewers of each submission: authors of its topic, area and field, and any others."""
    people, latents = literature.people, literature.latents
    area = np.array([t.area for t in lexicon().topics])[people.topic]
    field = np.array([t.field for t in lexicon().topics])[people.topic]
    near = ((people.topic, latents.topic, OF_TOPIC), (area, latents.area, OF_AREA), (field, latents.field, OF_FIELD))
    drawn = [judged.candidates([judged.partners(rng, of_author, of_paper[submissions], 3 * count, eligible)], count)
             for of_author, of_paper, count in near]  # fmt: skip
    drawn.append(judged.anyone(rng, np.flatnonzero(eligible), len(submissions), 20))
    authors, _ = judged.linked(people.teams, submissions, 5)
    invited = judged.distinct(np.concatenate(drawn, axis=1))
    own = (invited[:, :, None] == authors[:, None, :]).any(axis=2)
    return judged.first(np.where(own, NONE, invited), PER_SUBMISSION)


def _known(rng: Random, written: Links, invited: Ints) -> Ints:
    papers = [written.of(author) for author in invited.tolist()]
    known = [theirs[np.sort(rng.permutation(len(theirs))[:KNOWN])] for theirs in papers]
    return judged.linked(from_lists(known), np.arange(len(known)), KNOWN)[0]


def _expertise(literature: Literature, submissions: Ints, theirs: Ints) -> Ints:
    """Return E for each submission and reviewer from (submissions, reviewers, KNOWN) papers."""
    papers = judged.traits(literature)
    asked = judged.at(papers, submissions)
    likeness = judged.alike(judged.PROFILES["reviewing"], asked, papers, theirs.reshape(len(submissions), -1))
    best: Ints = np.sort(likeness.reshape(theirs.shape), axis=2)[:, :, -3:].sum(axis=2)
    return best
