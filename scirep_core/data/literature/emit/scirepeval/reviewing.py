"""Paper-reviewer matching (SciRepEval A.2): which reviewers are experts on a submission?

A reviewer is an author of at least three papers, known by up to `KNOWN` of them, never by the submission itself, and
never one of its authors. Expertise is planted in the evaluator's own form, the mean of the three papers nearest to the
submission,

    E(s, r) = sum of the three largest S(s, p) over the papers p of r            (judged.py, profile "reviewing")

and graded by `EDGES` after a doubt of the dial `noise` is added: hard asks for grade 3, soft for 2. The oracle ranks by E.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scirep_core.data.literature.emit import split as hub
from scirep_core.data.literature.emit.files import scaled, write_parquet
from scirep_core.data.literature.emit.scirepeval import judged
from scirep_core.data.literature.emit.split import flat
from scirep_core.data.literature.latents import NONE, Ints, Mask, Random, bell, stream
from scirep_core.data.literature.lexicon import lexicon
from scirep_core.data.literature.links import from_lists
from scirep_core.data.literature.model import Literature

REVIEWER = "r{}".format  # id
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
    papers = [written.of(author) for author in invited.tolist()]
    some = from_lists([theirs[np.sort(rng.permutation(len(theirs))[:KNOWN])] for theirs in papers])
    known, _ = judged.linked(some, np.arange(len(invited)), KNOWN)
    nobody = np.full((1, KNOWN), NONE)
    theirs = np.append(known, nobody, axis=0)[np.where(reviewers == NONE, -1, np.searchsorted(invited, reviewers))]
    theirs = np.where(theirs == submissions[:, None, None], NONE, theirs)
    traits = judged.traits(literature)
    likeness = judged.alike("reviewing", judged.at(traits, submissions), traits, theirs.reshape(len(submissions), -1))
    expertise: Ints = np.sort(likeness.reshape(theirs.shape), axis=2)[:, :, -3:].sum(axis=2)
    doubt = bell(rng, expertise.shape, round(DOUBT * literature.dials.noise))
    grades = np.where(reviewers == NONE, 0, judged.graded(expertise + doubt, *EDGES))
    config = "paper_reviewer_matching"
    for split, least in (("test_hard", 3), ("test_soft", 2)):
        pools = judged.Pools(submissions, reviewers, (grades >= least).astype(np.int64))
        judged.write_judgements(root, literature, config, pools, split=split, candidate=REVIEWER)
    listed = ({"r_id": REVIEWER(author), "papers": literature.ids(row[row != NONE])}
              for author, row in zip(invited.tolist(), known, strict=True))  # fmt: skip
    path = hub.table(root, "scirepeval_test", "reviewers", "metadata")
    write_parquet(path, {"r_id": "string", "papers": ["string"]}, listed)
    read = judged.Pools(submissions, known, known)
    hub.write_texts(root, config, flat(literature), read.papers())
    judged.write_oracles(root, literature, [f"scirepeval/{config}"], "reviewing", read)


def _invited(rng: Random, literature: Literature, submissions: Ints, eligible: Mask) -> Ints:
    """Return up to 16 reviewers of each submission: authors of its topic, area and field, and any others."""
    people, latents = literature.people, literature.latents
    area = np.array([t.area for t in lexicon().topics])[people.topic]
    field = np.array([t.field for t in lexicon().topics])[people.topic]
    near = ((people.topic, latents.topic, OF_TOPIC), (area, latents.area, OF_AREA), (field, latents.field, OF_FIELD))
    drawn = [judged.candidates(judged.partners(rng, of_author, of_paper[submissions], 3 * count, eligible), count)
             for of_author, of_paper, count in near]  # fmt: skip
    drawn.append(judged.partners(rng, np.zeros_like(field), np.zeros_like(submissions), 20, eligible))
    authors, _ = judged.linked(people.teams, submissions, 5)
    invited = judged.distinct(np.concatenate(drawn, axis=1))
    own = (invited[:, :, None] == authors[:, None, :]).any(axis=2)
    return judged.first(np.where(own, NONE, invited), PER_SUBMISSION)
