"""The rooms of the house as CONTRIBUTING.md draws them: the import contract, and of each module the first line of its docstring.

.venv/bin/python tests/rooms.py        write them into CONTRIBUTING.md anew
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
OPENS, CLOSES = "<!-- rooms: written by tests/rooms.py -->\n", "<!-- end of rooms -->\n"


def layers(root: Path = ROOT) -> list[list[str]]:
    """Return the modules of the import contract, the lowest first; those of one layer do not import each other."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (contract,) = [one for one in contracts if one["type"] == "layers"]
    return [[name.strip() for name in layer.split("|")] for layer in reversed(contract["layers"])]


def first_line(module: str, root: Path = ROOT) -> str:
    """Return the first line of a module's docstring."""
    path = root / module.replace(".", "/")
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def rooms(root: Path = ROOT) -> str:
    """Return the table: a row a module, the lowest first."""
    rows = [(name, first_line(name, root)) for layer in layers(root) for name in layer]
    lines = [f"| `{name.removeprefix('scirep_core.')}` | {said.replace('|', chr(92) + '|')} |" for name, said in rows]
    return "\n".join(["| module | what it is for |", "|---|---|", *lines, ""])


def drawn(text: str, root: Path = ROOT) -> str:
    """Return the page with its rooms as they are."""
    before, _, rest = text.partition(OPENS)
    return f"{before}{OPENS}{rooms(root)}{CLOSES}{rest.partition(CLOSES)[2]}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
