"""Classification tasks of SciRepEval (section 3, appendix A.3), written from the latents.

FoS: 23 fields, one or two a paper. MeSH descriptors: 15 subjects, improved or not. Biomimicry: a design copies an organism.
DRSM: 6 purposes of papers on diseases. SciDocs: 19 fields of MAG; 11 groups of diseases, by topic or second problem.

The oracle has a place of its own for each class. What is noisy is silver training data, as in the originals: FoS takes the
fields of the VENUE, where half of the second fields do not show, and mixes up some papers (oracle 98 to 99); DRSM takes the
majority of three annotators who err with `dials.noise`.

Why words do not suffice. FoS: a sentence or two of the second field stand in a quarter of the papers, and silver labels
hardly know them. MeSH: whether a finding is an improvement is told by a verb AND by what it is said of (errors fall,
accuracy rises), beside a second finding that points anywhere; and a second field brings in another subject's words.
Biomimicry: most of its negatives are about other things, but half as many as the positives speak of the same
organisms and designs. DRSM: the six purposes share their words. SciDocs: the papers of the test part are about problems
that no paper of the training part is about (MAG: the last of each topic's three, MeSH: the last two).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scirep_core.data.literature.emit import split
from scirep_core.data.literature.emit.files import Column, Columns, Floats, scaled
from scirep_core.data.literature.emit.split import EVALUATION, Parts, Target, divide, flat, held_out, shuffled
from scirep_core.data.literature.latents import NONE, Ints, Mask, chance, stream
from scirep_core.data.literature.lexicon import FIELDS, MAG, lexicon
from scirep_core.data.literature.model import Literature

LIFE = ("Agricultural and Food sciences", "Biology", "Chemistry", "Environmental science", "Medicine", "Psychology")
"""Fields MeSH describes; their 15 areas are the subjects of the descriptors."""
PARENTS = {"Agricultural and Food sciences": "Biology", "Education": "Psychology", "Law": "Political science",
           "Linguistics": "Philosophy"}  # fmt: skip
DESIGNS = ("Biology", "Engineering", "Materials science")  # fields of the papers that mention no organism as a model
PURPOSES = ("clinical characteristics", "disease pathology", "therapeutics in the clinic", "patient-based therapeutics",
            "epidemiology", "other")  # fmt: skip
DISEASES = 11  # the first topics of medicine; the last one, delivery of health care, is no disease
POSITIVE = 13  # per cent of Biomimicry
ANNOTATORS = 3
SECTIONS = 2  # every second venue has sections for other fields
MIXED_UP = 0.2  # times dials.noise: share of papers that get the label of another one
LEAST_GOLD = 24  # papers of the FoS gold part
SHOTS = 12  # papers a field has in FoS's training part, for ten shots and a fold more


def write(root: Path, literature: Literature) -> None:
    """Write texts, labels and oracle of the six tasks. A task for which there is no paper is left out."""
    targets = (_fos(literature), _mesh(literature), _biomimicry(literature), _drsm(literature), *_scidocs(literature))
    split.write_targets(root, literature, targets)


def gold_fields(literature: Literature) -> npt.NDArray[np.int32]:
    """Return (papers, 23) the fields a paper is really about: one or two ones a row."""
    return _multi_hot(literature.latents.field, literature.latents.second_field)


def silver_fields(literature: Literature) -> npt.NDArray[np.int32]:
    """Return (papers, 23) what the venue tells: its field, the section's if it has sections; some papers are mixed up."""
    latents, papers = literature.latents, len(literature)
    labels = _multi_hot(latents.field, np.where(latents.venue % SECTIONS == 0, latents.second_field, NONE))
    rng = stream(literature.seed, "fos silver")
    mixed_up = chance(rng, MIXED_UP * literature.dials.noise, papers)
    return labels[np.where(mixed_up, rng.integers(0, papers, size=papers), np.arange(papers))]


def fos_columns(literature: Literature, labels: npt.NDArray[np.int32]) -> dict[str, Column]:
    """Return the columns of the configuration fos. `labels`: multi-hot rows by position."""
    return flat(literature) | {
        "labels": (["int32"], lambda i: np.flatnonzero(labels[i]).tolist()),
        "labels_text": (["string"], lambda i: [FIELDS[k] for k in np.flatnonzero(labels[i])]),
    }


def _fos(literature: Literature) -> Target:
    gold, silver, papers = gold_fields(literature), silver_fields(literature), len(literature)
    candidates = shuffled(literature, "fos", np.flatnonzero(held_out(literature) == EVALUATION))
    tested = scaled(papers, 472, 8, LEAST_GOLD)
    test, rest = candidates[:tested], candidates[tested:]
    # a few papers of each field first, so that few-shot learning has its examples in a small literature too
    first = np.unique(np.concatenate([np.flatnonzero(silver[rest][:, k])[:SHOTS] for k in range(len(FIELDS))]))
    others = np.setdiff1d(np.arange(len(rest)), first)[: max(0, scaled(papers, 54_131, 20, 0) - len(first))]
    train = rest[np.sort(np.concatenate([first, others]))]
    known = np.where(np.isin(np.arange(papers), test)[:, None], gold, silver)
    oracle = signs(gold[np.concatenate([train, test])])
    return Target("fos", Parts(train, test), known, oracle, fos_columns(literature, known), ["int32"])


def _multi_hot(*fields: Ints) -> npt.NDArray[np.int32]:
    rows: Mask = np.any([of[:, None] == np.arange(len(FIELDS)) for of in fields], axis=0)
    return rows.astype(np.int32)


@functools.cache
def descriptor_names() -> tuple[str, ...]:
    """Return the 30 descriptors: for each subject the one of improvement, then the one of its absence."""
    subjects = [lexicon().areas[k].name.capitalize() for k in _subjects()]
    return tuple(f"{name}, {outcome}" for name in subjects for outcome in ("improved", "not improved"))


def descriptors(literature: Literature) -> Ints:
    """Return (papers,) the descriptor of each paper, NONE outside the life sciences."""
    number = {area: k for k, area in enumerate(_subjects())}
    subject = np.array([number.get(area, NONE) for area in range(len(lexicon().areas))])[literature.latents.area]
    return np.where(subject == NONE, NONE, 2 * subject + (literature.latents.polarity != 0))


def mesh_columns(literature: Literature, descriptor: Ints) -> dict[str, Column]:
    """Return the columns of the configuration mesh_descriptors; the qualifier is what the finding is about."""
    columns, latents = flat(literature), literature.latents
    return {
        "doc_id": columns["doc_id"],
        "mag_id": ("int64", lambda i: 2_000_000_000 + latents.paper_number[i]),
        **columns,
        "descriptor": ("string", lambda i: descriptor_names()[descriptor[i]]),
        "qualifier": ("string", lambda i: lexicon().groups[latents.group[i]].name),
    }


def _subjects() -> list[int]:
    fields = [FIELDS.index(name) for name in LIFE]
    return [k for field in fields for k, area in enumerate(lexicon().areas) if area.field == field]


def _mesh(literature: Literature) -> Target:
    label = descriptors(literature)
    parts = divide(literature, "mesh_descriptors", label, 258_687, 30)
    return _single("mesh_descriptors", parts, label, mesh_columns(literature, label))


def _biomimicry(literature: Literature) -> Target:
    copying, field = literature.latents.biomimetic, literature.latents.field
    design = np.isin(field, [FIELDS.index(name) for name in DESIGNS])
    yes, no, others = (
        shuffled(literature, "biomimicry", np.flatnonzero((held_out(literature) == EVALUATION) & mask))
        for mask in (copying == 1, copying == 0, (copying == NONE) & design)
    )
    # as many papers as the positives allow; half as many hard negatives as positives
    size = min(len(yes) * 100 // POSITIVE, scaled(len(literature), 10_991, 12, 0))
    yes, no = yes[: round(size * POSITIVE / 100)], no[: round(size * POSITIVE / 200)]
    label = np.full(len(literature), NONE)
    label[[*no, *others[: max(0, size - len(yes) - len(no))]]] = 0
    label[yes] = 1
    parts = divide(literature, "biomimicry parts", label, 10_991, 100)
    columns = {
        "doc_id": flat(literature)["doc_id"],
        "doi": ("string", lambda i: f"10.5555/{literature.paper_id(i)}"),
        **flat(literature),
        "label": ("uint32", label.item),
        "venue": split.venue(literature),
    }
    return _single("biomimicry", parts, label, columns)


def annotated(literature: Literature) -> Ints:
    """Return (papers,) the purpose most of three annotators name, the first one's where all differ; NONE outside medicine."""
    rng, truth = stream(literature.seed, "drsm"), literature.latents.purpose
    shape = (ANNOTATORS, len(literature))
    wrong = chance(rng, literature.dials.noise, shape)
    other = (truth + rng.integers(1, len(PURPOSES), size=shape)) % len(PURPOSES)
    first, second, third = np.where(wrong, other, truth)
    return np.where(truth == NONE, NONE, np.where(second == third, second, first))


def _drsm(literature: Literature) -> Target:
    gold, silver = literature.latents.purpose, annotated(literature)
    parts = divide(literature, "drsm", gold, 8_475, 12)
    tested = np.isin(np.arange(len(literature)), parts.test)
    known = np.where(tested, gold, silver)
    columns: dict[str, Column] = {
        "label_type": ("string", lambda i: "gold" if tested[i] else "silver"),
        "label": ("string", lambda i: PURPOSES[known[i]]),
        "class": ("int32", known.item),
    }
    return _single("drsm", parts, known, flat(literature) | columns, gold)


def disease_problem(literature: Literature) -> Ints:
    """Return (papers,) the problem by which a paper is about one of the diseases: its own or its second one; else NONE."""
    latents, group = literature.latents, _disease_of_problem()
    second = np.where(group[latents.second_problem] == NONE, NONE, latents.second_problem)
    return np.where(group[latents.problem] == NONE, second, latents.problem)


def disease_of_topic() -> Ints:
    """Return (topics,) which group of diseases a topic is, NONE where it is none."""
    medicine = np.array([topic.field == FIELDS.index("Medicine") for topic in lexicon().topics])
    number = np.cumsum(medicine) - 1
    return np.where(medicine & (number < DISEASES), number, NONE)


def _disease_of_problem() -> Ints:
    return np.append(
        disease_of_topic()[[p.topic for p in lexicon().problems]], NONE
    )  # a problem of NONE finds the last


def unseen(problem: Ints, seen: int) -> Mask:
    """Return for each problem (NONE: false) whether it comes after the first `seen` of its topic: those are for testing."""
    topic_of = np.array([p.topic for p in lexicon().problems])
    place = np.arange(len(topic_of)) - np.searchsorted(topic_of, topic_of)
    return np.append(place >= seen, False)[problem]


def _scidocs(literature: Literature) -> Iterator[Target]:
    field = np.array([MAG.index(PARENTS.get(name, name)) for name in FIELDS])[literature.latents.field]
    columns, diseased = flat(literature), disease_problem(literature)
    del columns["corpus_id"]
    for config, label, problem, published, percent, seen in (
        ("scidocs_mag", field, literature.latents.problem, 21_300, 20, 2),
        ("scidocs_mesh", _disease_of_problem()[diseased], diseased, 20_000, 12, 1),
    ):
        parts = divide(literature, config, label, published, percent, unseen(problem, seen))
        yield _single(config, parts, label, columns)


def _single(config: str, parts: Parts, label: Ints, columns: Columns, truth: Ints | None = None) -> Target:
    true = (label if truth is None else truth)[np.concatenate(parts)]
    return Target(config, parts, label, signs(true[:, None] == np.unique(true)), columns)


def signs(truth: npt.NDArray[Any]) -> Floats:
    """Return oracle vectors: 1 and -1 for each class, and a 1 for linear models that fit no intercept."""
    return np.hstack([2 * truth - 1, np.ones((len(truth), 1))]).astype(np.float32)
