"""What users rely on, by name: Python names, commands and options, chapters and parameters, tasks, encoders, fields of a row.

`python tests/contract.py` writes `tests/contract.json`. A name that goes from there is a break, said in CHANGELOG.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import scirep_core
from scirep_core import losses
from scirep_core.bench.studies.tables import STUDIES
from scirep_core.bench.suites import SUITES
from scirep_core.book.reference.usage import commands
from scirep_core.data.inventory import TASKS
from scirep_core.data.open.tasks import OPEN
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.encoders import ENCODERS
from scirep_core.encoders.conditioning.base import CONDITIONINGS
from scirep_core.kit.formats import FORMATS, PROTOCOLS
from scirep_core.page.parameters import read_parameters
from scirep_core.results import ROOT, Result
from scirep_core.results.metrics import ACCEPTED, FACET_METRICS

FILE = Path(__file__).with_name("contract.json")
OBJECTS = {name: getattr(scirep_core, name) for name in scirep_core.__all__ if name != "__version__"}
OBJECTS |= {f"losses.{name}": getattr(losses, name) for name in ("triplet_margin", "contrastive")}


def contract() -> dict[str, Any]:
    """Return the names, as `contract.json` has them."""
    notebooks = sorted((ROOT / "notebooks").rglob("*.ipynb"))
    return {
        "python": {name: list(inspect.signature(thing).parameters) for name, thing in OBJECTS.items()},
        "commands": {
            words: [" ".join([*one.opts, *one.secondary_opts]) for one in command.params]
            for words, command in commands().items()
        },
        "notebooks": {path.relative_to(ROOT).as_posix(): list(read_parameters(path)) for path in notebooks},
        "row": [field.name for field in fields(Result)],
        "metrics": sorted({name for names in (*ACCEPTED.values(), FACET_METRICS) for name in names}),
        "registered": {
            "tasks": [*TASKS, *SAMPLES, *OPEN], "encoders": list(ENCODERS),
            "conditionings": list(CONDITIONINGS), "suites": list(SUITES),
            "studies": list(STUDIES), "formats": list(FORMATS), "protocols": list(PROTOCOLS),
        },
    }  # fmt: skip


if __name__ == "__main__":
    FILE.write_text(json.dumps(contract(), indent=1) + "\n", encoding="utf-8")
