"""Representing scientific documents: five papers, reproduced section by section.

One line scores an encoder by name, any object with `.encode(list of str)`, any function from texts to an array, any vectors:

    rows = scirep_core.score("scirepeval/relish", my_model)

and where the task is wanted too, two do:

    task = scirep_core.load_task("csfcube", source="real")
    rows = scirep_core.evaluate(task, my_model)

The names below are the stable ones; each is imported at first use, so `import scirep_core` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "load_task": "scirep_core.data",
    "load_encoder": "scirep_core.encoders",
    "SentenceModel": "scirep_core.encoders.sentence_model",
    "encode": "scirep_core.encoders.vectors.embed",
    "evaluate": "scirep_core.bench.scoring",
    "score": "scirep_core.bench.scoring",
    "averages": "scirep_core.bench.suites",
    "start": "scirep_core.page.chapter",
}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'scirep_core' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
