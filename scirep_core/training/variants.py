"""The rows of SciRepEval's tables as data: how a model is told the task, on what it is trained, how much is spent on it.

    MTL CLS, MTL CTRL, Adapters, PALs, Fusion, Adapters + MTL CTRL      v2 Table 2 (v1 Tables 2 and 3)
    MTL CTRL on CLF, ... on CLF+RGN, ...                                v2 Table 11 (v1 Table 9): one or two formats alone
    random partition 1 to 5                                             v2 section 7: a code for a random group of tasks
    MTL CTRL without citations                                          v2 appendix F (v1 appendix E)
    one pass, MTL CLS dense, one pass dense, mean of two ...            ours
    SciMult Vanilla, MHAExpert, FFNExpert, Prefix, Instruction          SciMult 3, 4: contrastive, in two stages

Training them is `models.py`; whole tables over seeds `bench/studies/study.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.kit.errors import ConfigError, check_name, look_up, nearest
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.training.batching import Mixing
from scirep_core.training.config import DataConfig, TrainConfig, from_params
from scirep_core.training.data import TrainTask
from scirep_core.training.data.pairs import SOURCES

# ------------------------------------------------------------------------------------------------------------ variants


@dataclass(frozen=True)
class Variant:
    """One row of a table.

    Attributes:
        kind: of CONDITIONINGS; "" is the base as it is.
        tasks: training sets.
        codes: training set -> the code its documents are read under, where that is not its format.
        dense: every document takes every loss it has a label for.
        after: the variant whose trained model this one goes on from.
        members: variants whose vectors are joined; "NAME/1" is a second training, with a seed of its own.
        how: they are joined: mean or concatenation.
        mixing: of batches.
        options: of the conditioning.
        longer: steps, as a multiple of those a budget names.
        documents: of a budget of documents, as a multiple: a control for what goes on from a training of its own.
        rate: of what the conditioning adds, as a multiple of the trunk's.
        settings: of TrainConfig, over the budget's.
        hard: whether pairs of papers and labels have hard negatives.
    """

    text: str
    kind: str = ""
    tasks: tuple[str, ...] = TRAINING
    codes: Mapping[str, Format] = field(default_factory=dict)
    dense: bool = False
    after: str = ""
    members: tuple[str, ...] = ()
    how: Literal["mean", "concatenation"] = "mean"
    mixing: Mixing = "equal"
    options: Mapping[str, Any] = field(default_factory=dict)
    longer: float = 1.0
    documents: int = 1
    rate: float = 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    hard: bool = True

    @property
    def pairs(self) -> bool:
        """Whether it trains on SciMult's pairs."""
        return self.tasks[0] in SOURCES

    @property
    def many(self) -> bool:
        """Whether a document has a vector a format."""
        return any(VARIANTS[plain(name)[0]].many for name in self.members) or self.kind not in ("", "plain")


def of_formats(chosen: Sequence[Format]) -> tuple[str, ...]:
    """Return the training sets of some task formats."""
    return tuple(name for name in TRAINING if TASKS[name].format in chosen)


def random_partition(number: int) -> dict[str, Format]:
    """Return training set -> code of one random grouping, groups as large as the formats' and at least one task moved.

    The paper does not say how its five were drawn. Codes carry the formats' names and mean nothing else here.
    """
    sizes = [TASKS[name].format for name in TRAINING]
    drawn = np.random.default_rng(number)
    while True:
        codes = dict(zip(drawn.permutation(list(TRAINING)).tolist(), sizes, strict=True))
        if any(codes[name] != TASKS[name].format for name in TRAINING):
            return {name: codes[name] for name in TRAINING}


CONTRASTIVE: dict[str, Any] = {
    "triplet_loss": "contrastive", "mixing": "homogeneous", "weight_decay": 0.01, "clip": 2.0, "schedule": "linear",
    "warmup_share": 0.05, "final": 0.0,
}  # fmt: skip
"""SciMult's training (3.4, Appendix C): in-batch negatives of one source, linear warm-up of 5 % and down to 0; clipping is its
code's. Two of its choices are options here: its code shrinks rates from layer to layer (`layer_decay` 0.8) and counts equal
positives of other queries as negatives (`mask_duplicates` false)."""
BY_TASK = ("search", "link", "classification")
"""SciMult's tasks, in the order its checkpoints number their experts."""


def scimult(text: str, kind: str = "plain", after: str = "SciMult Vanilla", **more: Any) -> Variant:
    """Return a variant of SciMult: all sources, the second stage on top of Vanilla unless it is the first itself."""
    options = {} if kind == "plain" else {"routes": BY_TASK}
    given = {"tasks": tuple(SOURCES), "mixing": "homogeneous", "options": options, "settings": CONTRASTIVE}
    return Variant(text, kind, after="" if kind == "plain" else after, **(given | more))


def sources_of(format: Format) -> tuple[str, ...]:
    """Return SciMult's training sources of one task.

    >>> sources_of("PRX")
    ('scimult/pretrain_citation',)
    """
    return tuple(name for name, own in SOURCES.items() if own == format)


ALONE: dict[str, Format] = {"classification": "CLF", "link prediction": "PRX", "search": "QRY"}
"""SciMult's tasks by name."""


def _name(chosen: Sequence[str]) -> str:
    return f"MTL CTRL on {'+'.join('SRCH' if one == 'QRY' else one for one in chosen)}"


SUBSETS: dict[str, tuple[Format, ...]] = {_name(of): of for size in (1, 2) for of in combinations(FORMATS, size)}
"""Table 11: each format alone, then every two. Search's own training reads queries as QRY and papers as PRX."""
PARTITIONS = tuple(f"random partition {number}" for number in range(1, 6))
VARIANTS: dict[str, Variant] = {
    "Base": Variant("the base, trained by citations alone"),
    "MTL CLS": Variant("one vector for all tasks", "plain"),
    "MTL CTRL": Variant("a control code a format", "control_codes"),
    "Adapters": Variant("an adapter a format, the base frozen", "bottleneck", longer=3, rate=3),
    "PALs": Variant("a projected attention layer a format beside every layer", "pals"),
    "Fusion": Variant("attention over all formats' adapters", "fusion", after="Adapters", longer=2, rate=3),
    "Adapters + MTL CTRL": Variant("mean of two vectors", members=("Adapters", "MTL CTRL")),
    "one pass": Variant("ours: four vectors for one forward pass", "one_pass"),
    "MTL CLS dense": Variant("ours: every label of a document is used", "plain", dense=True),
    "one pass dense": Variant("ours: four vectors, every label used", "one_pass", dense=True),
    "Adapters ++ MTL CTRL": Variant("both vectors side by side", members=("Adapters", "MTL CTRL"), how="concatenation"),
    "mean of two MTL CLS": Variant("control: two trainings of one kind", members=("MTL CLS", "MTL CLS/1")),
    "mean of two MTL CTRL": Variant("control: two trainings of one kind", members=("MTL CTRL", "MTL CTRL/1")),
    **{name: Variant("fewer training tasks", "control_codes", of_formats(of)) for name, of in SUBSETS.items()},
    **{name: Variant("a code for each group of tasks drawn at random", "control_codes", codes=random_partition(i))
       for i, name in enumerate(PARTITIONS, start=1)},
    "MTL CTRL, proportional batches": Variant("tasks by their size", "control_codes", mixing="proportional"),
    "MTL CTRL, one task after another": Variant("a batch is of one task", "control_codes", mixing="sequential"),
    "MTL CTRL, codes as [CLS]": Variant("codes begin as [CLS]", "control_codes", options={"start": "cls"}),
    "MTL CTRL, codes as [CLS] with noise":
        Variant("codes begin as [CLS] with noise", "control_codes", options={"start": "cls_and_noise"}),
    "MTL CTRL, losses balanced":
        Variant("a task weighs less the more of its loss is gone", "control_codes", settings={"loss_balance": 0.5}),
    "MTL CTRL without citations": Variant(
        "no citation triplets", "control_codes", tuple(name for name in TRAINING if name != "scirepeval/cite_prediction")),
    "SciMult Vanilla": scimult("one encoder for all tasks, contrastive"),
    "SciMult MHAExpert": scimult("attention by task in every other block", "mha_experts"),
    "SciMult FFNExpert": scimult("feed-forward part by task in every other block", "ffn_experts"),
    "SciMult Prefix": scimult("an instruction before a frozen trunk, its encoder trained", "prefix"),
    "SciMult Instruction": scimult("an instruction before the document, all trained", "instruction"),
    "SciMult Vanilla, as long": scimult("control: Vanilla as long as two stages", longer=2, documents=2),
    "SciMult Vanilla without label negatives": scimult("Table A4: papers and labels without hard negatives", hard=False),
    "SciMult MHAExpert from the start": scimult("Table A5: experts without Vanilla before", "mha_experts", after=""),
    "SciMult Vanilla, duplicates as negatives": scimult(
        "as published: a label that another query shares is pushed away", settings=CONTRASTIVE | {"mask_duplicates": False}),
    "SciMult Vanilla, lower layers slower":
        scimult("as its code has it: rates shrink by 0.8 a layer", settings=CONTRASTIVE | {"layer_decay": 0.8}),
    **{f"SciMult Vanilla on {what} alone":
       scimult("one task alone: what the others cost or give it", tasks=sources_of(of)) for what, of in ALONE.items()},
}  # fmt: skip
"""Every variant by name; a second training of it is `NAME/1`. Lengths are the paper's: 2 epochs, of adapters 6, of fusion 4
(appendix B). New modules on a frozen trunk want a higher rate than the trunk itself: SPECTER2 has 1e-4 to its 5e-5."""
FROZEN = ("bottleneck", "fusion", "prefix")
"""Conditionings beside a trunk that does not move."""


def pilot(chosen: Variant) -> str:
    """Return the variant whose trial decides a variant's learning rate: one each for a trunk that moves and one that does not."""
    if chosen.pairs:
        return "SciMult Vanilla"
    return "Adapters" if chosen.kind in FROZEN else "MTL CLS"


AGAIN = 1000
"""What is added to a seed for each further training of one variant."""


def variant(name: str) -> Variant:
    """Return a variant by name. Raises ConfigError naming the nearest."""
    return look_up("variant", name, VARIANTS)


def plain(member: str) -> tuple[str, int]:
    """Return (variant, further training) of a member's name.

    >>> plain("MTL CLS/1"), plain("MTL CLS")
    (('MTL CLS', 1), ('MTL CLS', 0))
    """
    name, _, again = member.partition("/")
    return name, int(again or 0)


# ------------------------------------------------------------------------------------------------------------- budgets


class DataSource(NamedTuple):
    """What trains: a source of training sets by name."""

    text: str
    base: str
    recorded: str
    """Folder below results/; invented papers lie apart from real ones."""
    scored: str
    """Source by which `load_task` reads what is scored."""
    collections: bool
    """Whether it has whole collections in the papers' layouts, SciMult's pairs among them."""
    cut: bool
    """Whether a base that is not trained reads no more of a text than what is trained from it."""
    plain: bool
    """Whether the base itself, as its authors use it, is scored beside."""


DATA_SOURCES: dict[str, DataSource] = {
    "embedded": DataSource("invented papers", "embedded", "embedded/study", "embedded", True, False, False),
    "samples": DataSource("real samples", "minilm", "real/study", "embedded", False, False, False),
    "open": DataSource("the open literature", "minilm", "real/study/open", "embedded", False, True, True),
    "real": DataSource("the published collections", "specter2_base", "real/study", "real", True, True, False),
}
"""Sources by name; `scirep train` takes a folder of training collections as well."""
TRIAL = 3
"""A learning rate is tried with one part in so many of a training's documents."""


@dataclass(frozen=True)
class Budget:
    """How much is spent: data, model, training.

    Attributes:
        source: of what trains, of `DATA_SOURCES`; all but the embedded one are for a base by name.
        papers, data_seed: of the embedded literature.
        width, layers, base_steps, base_seed: of the embedded base.
        max_length: tokens kept of a document, with what a conditioning adds.
        cap: examples of each training set; 0: all.
        train: settings of TrainConfig.
        options: conditioning -> its options at this width.
        documents: encoded by each training, from which its steps follow; 0: `train` says how long. What goes on from another
            training, or joins several, has theirs beside: rows say the total.
        looks: at the dev part of every task, evenly over the training; the weights of the best one are kept, and
            with `patience` in `train` so many looks in a row without a better one end the training. 0: none.
        rates: learning rates, of which the least dev loss of a trial (`pilot`, seed 0) decides; none: `train` has it.
        dtype: in which trained models encode what is scored.
        probed: rows of each part of a labelled task that is scored; 0: all.
    """

    source: str = "embedded"
    papers: int = 3000
    data_seed: int = 0
    width: int = 64
    layers: int = 2
    base_steps: int = 250
    base_seed: int = 0
    max_length: int = 256
    cap: int = 0
    train: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    documents: int = 0
    looks: int = 0
    rates: tuple[float, ...] = ()
    dtype: str = "float32"
    probed: int = 0

    def __post_init__(self) -> None:
        """Raise ConfigError for data that `scirep train` would refuse."""
        check_name("source", self.source, DATA_SOURCES)
        DataConfig(papers=self.papers, seed=self.data_seed, cap=self.cap, max_length=self.max_length)


MINUTE: dict[str, Any] = {
    "batch": 32, "accumulation": 1, "learning_rate": 1e-3, "head_lr": 1e-2, "schedule": "linear", "warmup": 20,
    "final": 0.05, "clip": 1.0, "steps": 300,
}  # fmt: skip
"""A training of a minute: heads at ten times the encoder's rate, or cross entropy stays at chance."""
BUDGETS: dict[str, Budget] = {
    "tiny": Budget(
        papers=600, width=16, layers=2, base_steps=4, max_length=32, cap=40, train=MINUTE | {"steps": 4, "warmup": 1},
        options={"bottleneck": {"reduction": 4}},
    ),
    "small": Budget(train=MINUTE, options={"bottleneck": {"reduction": 4}, "fusion": {"reduction": 4}}),
    "large": Budget(
        papers=50_000, width=256, layers=4, base_steps=5000, max_length=320,
        train=MINUTE | {"steps": 4000, "warmup": 400, "batch": 256, "learning_rate": 5e-4, "head_lr": 5e-3,
                        "precision": "bfloat16"},
        options={"bottleneck": {"reduction": 4}},
    ),
    "samples": Budget(
        "samples", max_length=128,
        train=MINUTE | {"steps": 60, "batch": 20, "learning_rate": 5e-5, "head_lr": 5e-4, "warmup": 6},
    ),
    "open": Budget(
        "open", max_length=128, documents=24_000, probed=2_000, looks=6, rates=(2e-5, 5e-5, 1e-4), dtype="bfloat16",
        train={"batch": 64, "accumulation": 1, "learning_rate": 5e-5, "head_lr": 1e-3, "schedule": "linear",
               "warmup_share": 0.1, "final": 0.05, "clip": 1.0, "precision": "bfloat16", "validation_rows": 128,
               "patience": 2, "checkpoint_every": 25},
    ),
    "published": Budget(max_length=512, train={"batch": 256, "accumulation": 1, "precision": "bfloat16"}),
    "real": Budget("real", max_length=512, cap=600_000, looks=10,
                   train={"batch": 256, "accumulation": 1, "precision": "bfloat16"}),
}  # fmt: skip
"""tiny: seconds, for tests; small: two cores, about a minute a model; large: one GPU; samples: a base by name on a few hundred
real papers; open: a base by name on the open literature, ten minutes on two cores; published, real: the papers' settings, on the
embedded literature and on the papers' own collections."""


def budget(name: str, **changes: Any) -> Budget:
    """Return a budget by name, some settings changed; those of the training in `train` are laid over its own.

    Raises ConfigError naming the nearest known name or setting.
    """
    named = look_up("budget", name, BUDGETS)
    known = asdict(named)
    if unknown := [key for key in changes if key not in known]:
        raise ConfigError(f"unknown setting {unknown[0]!r} of a budget; {nearest(unknown[0], known)}")
    train = {**named.train, **changes.pop("train", {})}
    made = replace(named, **changes, train=train)
    from_params(TrainConfig, made.train, "train")
    return made


def asked(given: Budget) -> dict[str, Any]:
    """Return what rows say of a budget: its name and the settings laid over it, the fewest that give this one; {} if none do.

    >>> asked(budget("small", papers=1000, train={"steps": 100}))
    {'budget': 'small', 'settings': {'papers': 1000, 'steps': 100}}
    """

    def flat(one: Budget) -> dict[str, Any]:
        own = {key: value for key, value in asdict(one).items() if key not in ("train", "options")}
        return own | from_params(TrainConfig, one.train).to_json()

    wanted = flat(given)
    found = {name: {key: value for key, value in wanted.items() if flat(one)[key] != value} for name, one in BUDGETS.items()
             if (one.source, one.options) == (given.source, given.options)}  # fmt: skip
    name = min(found, key=lambda one: len(found[one]), default="")
    return {"budget": name, "settings": found[name]} if name else {}


def at_rate(given: Budget, rate: float) -> Budget:
    """Return a budget with one learning rate, heads in proportion."""
    heads = given.train.get("head_lr")
    own = {"head_lr": heads * rate / given.train["learning_rate"]} if heads else {}
    return replace(given, rates=(), train={**given.train, "learning_rate": rate, **own})


def config(name: str, seed: int, given: Budget, tasks: Sequence[TrainTask] = ()) -> TrainConfig:
    """Return the settings of one training: the budget's, longer and faster where the variant says so.

    Args:
        tasks: what is trained on, from which the steps of a budget of documents and its looks follow.
    """
    chosen, settings = variant(name), {**given.train, "seed": seed}
    rate = settings.get("learning_rate", TrainConfig.learning_rate)
    if given.documents and tasks:
        settings["steps"] = steps_of_documents(given.documents * chosen.documents, tasks, chosen.mixing, settings)
    else:
        longer = "steps" if settings.get("steps") else "epochs"
        settings[longer] = type(getattr(TrainConfig, longer))(settings.get(longer, TrainConfig.epochs) * chosen.longer)
    own: dict[str, Any] = {"dense": chosen.dense, "mixing": chosen.mixing, **chosen.settings}
    own |= {"conditioning_lr": rate * chosen.rate} if chosen.rate != 1 else {}
    made = from_params(TrainConfig, {**settings, **own}, name)
    if given.looks and tasks:
        made = replace(made, validate_every=-(-made.total({task.name: len(task) for task in tasks}) // given.looks))
    return made


def steps_of_documents(documents: int, tasks: Sequence[TrainTask], mixing: Mixing, settings: Mapping[str, Any]) -> int:
    """Return the steps in which about so many documents are encoded: three a triplet, one a labelled paper."""
    sizes = [1 if mixing in ("equal", "homogeneous") else len(task) for task in tasks]
    each = sum(size * (3 if task.kind == "triplet" else 1) for size, task in zip(sizes, tasks, strict=True))
    rows: int = settings.get("batch", TrainConfig.batch) * settings.get("accumulation", TrainConfig.accumulation)
    return max(1, round(documents / (rows * (each / sum(sizes)))))
