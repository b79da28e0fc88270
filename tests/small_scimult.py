"""What tests of SciMult's chapters share: rows of its studies and small tasks made by hand, tiny models, a page's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from blank_page import Page

from scirep_core.bench.studied import over_seeds
from scirep_core.bench.study_tables import STUDIES, cells
from scirep_core.data.task import Pooled, Task
from scirep_core.encoders.trunk_encoder import TrunkEncoder
from scirep_core.page.scimult import TABLES
from scirep_core.results import Result
from scirep_core.training.variants import budget, variant

COLUMNS = {key: name for table in TABLES.values() for key, name in table.items()}
"""(task, metric) -> the column, of all tables."""
Value = Callable[[str, str, int], float]
"""Line, column, training's seed -> its value."""


def made(
    name: str, value: Value, seeds: Sequence[int] = range(3), kind: str = "recorded", **changes: object
) -> list[Result]:
    """Return a study's rows as it would record them: every column of every table, and means over trainings."""
    of, given = replace(STUDIES[name], **changes), budget("small")  # type: ignore[arg-type]
    rows = [_row(name, one, key, value(one, COLUMNS[key], 0), {"variant": one}, kind)
            for one in of.references for key in COLUMNS]  # fmt: skip
    for seed in seeds:
        for cell in cells(of, seed, given):
            known = variant(cell.variant)
            told = {
                "variant": cell.variant,
                "training_seed": seed,
                "base": cell.base,
                "width": 64,
                "layers": 2,
                "papers": 3000,
            }
            told |= {"steps": int(300 * known.longer)} if known.kind else {}
            rows += [
                _row(name, cell.label(of), key, value(cell.variant, COLUMNS[key], seed), told, kind) for key in COLUMNS
            ]
    return [*rows, *over_seeds(rows)]


def _row(name: str, label: str, key: tuple[str, str], value: float, told: dict[str, object], kind: str) -> Result:
    return Result(
        key[0], "test", key[1], "paper", value, 40, encoder=label, kind=kind, chapter=f"study/{name}", source="embedded",
        data_hash="0" * 16, parameters=told, seed=0,
    )  # fmt: skip


# ---- pages -----------------------------------------------------------------------------------------------------------


def words(text: str) -> str:
    """Return what a reader sees of some HTML, on one line."""
    return re.sub(r"\s+", " ", re.sub(r"<svg.*?</svg>|<[^>]+>", " ", text, flags=re.DOTALL))


def small_page(**parameters: Any) -> Page:
    """Return a page with the parameters of a SciMult chapter that measures."""
    return Page(**{"papers": 1000, "steps": 60, "encoders": "tfidf,bm25"} | parameters)


# ---- tasks and models ------------------------------------------------------------------------------------------------


def searched(
    relevant: Mapping[str, Mapping[str, int]], pool: Sequence[str], keep_self: bool = True, **more: Any
) -> Task:
    """Return a small whole-pool task: query -> grades of papers; `more` are fields of Task."""
    told = {"name": "scimult/cite", "type": "retrieval", "format": "PRX", "metrics": ("recall@20",), "source": "embedded",
            "data_hash": "0" * 16} | more  # fmt: skip
    payload = Pooled({query: dict(grades) for query, grades in relevant.items()}, tuple(pool), keep_self=keep_self)
    return Task(payload=payload, **told)


def told_by(sentences: Mapping[str, str], texts: Sequence[str], more: Sequence[str] = ()) -> TrunkEncoder:
    """Return a tiny random model of kind instruction, told its tasks by sentences, which knows all words it is to read.

    Args:
        sentences: task (search, link, classification) -> its instruction.
        texts: those it will read.
        more: further instructions whose words it is to know.
    """
    import torch

    from scirep_core.data.text import Recipe
    from scirep_core.encoders.conditioning.base import Conditioned, conditioning
    from scirep_core.encoders.conditioning.prefix import instructions
    from scirep_core.encoders.settings import Settings
    from scirep_core.encoders.trunk.bert import Shape, Trunk
    from scirep_core.encoders.trunk.tokens import of_words
    from scirep_core.encoders.trunk_encoder import About
    from scirep_core.kit.store import stable_hash

    known = sorted(
        {word.lower() for text in (*texts, *sentences.values(), *more) for word in re.findall(r"\w+|[^\w\s]", text)}
    )
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known])}
    tokens = of_words(vocabulary, lowercase=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        trunk = Trunk(Shape(len(vocabulary), 16, 3, 2, 32, 64))
        for weight in trunk.parameters():
            if weight.dim() > 1:
                torch.nn.init.normal_(weight, std=0.5)
    told = instructions(lambda text: tokens.ids([text])[0], tuple(sentences), sentences)
    model = Conditioned(trunk, conditioning("instruction", trunk, tuple(sentences), instructions=told)).eval()
    about = About(stable_hash(told)[:16], 16, Recipe(" [SEP] "), 64, ("CLF", "PRX", "QRY"), by_task=True)
    return TrunkEncoder("small", lambda: (model, tokens), about, Settings(device="cpu"))
