"""The rooms of the house as CONTRIBUTING.md draws them: the import contract, and of each folder the first line of its docstring.

.venv/bin/python tests/rooms.py        write them into CONTRIBUTING.md anew
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
OPENS, CLOSES = "<!-- rooms: written by tests/rooms.py -->\n", "<!-- end of rooms -->\n"


def layers(root: Path = ROOT) -> list[str]:
    """Return the rooms of the import contract, the lowest first."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (contract,) = [one for one in contracts if one["type"] == "layers"]
    return [name.removeprefix("scirep_core.") for name in reversed(contract["layers"])]


def folders(room: str, root: Path = ROOT) -> list[Path]:
    """Return a room's folder and the folders of modules in it, at any depth, in the order of their names."""
    return sorted(path.parent for path in (root / "scirep_core" / room).rglob("__init__.py"))


def first_line(folder: Path) -> str:
    """Return the first line of a folder's docstring."""
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def rooms(root: Path = ROOT) -> str:
    """Return the table: a row a folder, the lowest room first."""
    lines = ["| folder | what it is for |", "|---|---|"]
    for room in layers(root):
        for folder in folders(room, root):
            name = f"`{folder.relative_to(root / 'scirep_core').as_posix()}/`"
            lines.append(f"| {f'**{name}**' if folder.name == room else name} | {first_line(folder)} |")
    return "\n".join([*lines, ""])


def drawn(text: str, root: Path = ROOT) -> str:
    """Return the page with its rooms as they are."""
    before, _, rest = text.partition(OPENS)
    return f"{before}{OPENS}{rooms(root)}{CLOSES}{rest.partition(CLOSES)[2]}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
