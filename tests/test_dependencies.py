"""What a notebook depends on is found by reading its imports: enough for truth, no more than needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import alone
from small_files import lay

from scirep_core.book import runcache
from scirep_core.book.dependencies import library_files

LIBRARY = {
    "__init__.py": """
from typing import TYPE_CHECKING
from scirep_core.base import VERSION
if TYPE_CHECKING:
    from scirep_core.heavy import x
_LAZY = {"load_task": "tasks", "evaluate": ("scirep_core.scores", "evaluate")}
def __getattr__(name):
    import importlib
    return getattr(importlib.import_module(f"scirep_core.{_LAZY[name]}"), name)
def encode(*a):
    from scirep_core.encoders import find
    return find(*a)
""",
    "base.py": "",
    "heavy.py": "",
    "tasks.py": "import numpy\ndef f():\n    from .scores import g\n",
    "scores.py": "",
    "figures.py": "TABLES = 'published'\n",
    "encoders/__init__.py": "REGISTRY = {'bm25': 'scirep_core.encoders.lexical:Bm25'}\n",
    "encoders/lexical.py": "from ..base import VERSION\n",
    "encoders/words.txt": "",
    "page/picker.py": "",
    "page/picker.js": "",
    "published/csfcube/t1.csv": "",
    "plugins/__init__.py": "import importlib\ndef load(n):\n    return importlib.import_module(f'scirep_core.plugins.{n}')\n",
    "plugins/one.py": "",
    "broken.py": "def (",
}
ROOT = {"__init__.py", "base.py"}
ENCODERS = ROOT | {"encoders/__init__.py", "encoders/lexical.py", "encoders/words.txt"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numpy, json", set()),
        ("from scirep_core.base import VERSION", ROOT),
        ("%matplotlib inline\nfrom scirep_core import load_task", ROOT | {"tasks.py", "scores.py"}),
        ("from scirep_core import evaluate", ROOT | {"scores.py"}),
        ("from scirep_core import encode", set(LIBRARY)),  # in no table: whatever is mentioned
        ("from scirep_core import encoders", ENCODERS),
        ("import scirep_core as s\n# next cell\ns.encode(1)", set(LIBRARY)),
        ("import scirep_core.scores\nscirep_core.encode(1)", set(LIBRARY)),
        ("import scirep_core.scores as s", ROOT | {"scores.py"}),
        ("from scirep_core import VERSION, scores", ROOT | {"scores.py"}),
        ("def f():\n    !ls\n    import scirep_core.page.picker as p", ROOT | {"page/picker.py", "page/picker.js"}),
        ("from scirep_core import figures", ROOT | {"figures.py", "published/csfcube/t1.csv"}),
        ("from scirep_core import plugins", ROOT | {"plugins/__init__.py", "plugins/one.py"}),
        ("from scirep_core import broken", ROOT | {"broken.py"}),
        ("from scirep_core import *", set(LIBRARY)),
        ("this is no Python", set(LIBRARY)),
    ],
)
def test_imports_are_followed_by_reading(tmp_path: Path, source: str, expected: set[str]) -> None:
    package = lay(tmp_path / "scirep_core", LIBRARY)
    assert set(library_files(source.split("\n# next cell\n"), package)) == expected


@pytest.mark.parametrize("module", ["scirep_core.results", "scirep_core.encoders", "scirep_core.book.runner"])
def test_reading_finds_at_least_what_importing_loads(module: str) -> None:
    files = "(m.__file__ for n, m in sys.modules.items() if n.startswith('scirep_core') and m.__file__)"
    loaded = alone(f"import sys, {module}; print(*{files})").split()
    found = library_files([f"import {module}"], runcache.PACKAGE)
    assert loaded and {Path(name).relative_to(runcache.PACKAGE).as_posix() for name in loaded} <= set(found)
