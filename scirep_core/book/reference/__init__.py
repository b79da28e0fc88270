"""The book's reference: pages made from the code, so that they cannot drift from it.

Hand-written pages in `book/reference/` hold the prose; a line `% reference: NAME` in them is replaced by what NAME of
`PARTS` makes. The library's own pages are Sphinx autodoc's (`api.py` says of what); any page names what stands there by
`{py:obj}`, and one that is not there fails the build. Nothing here depends on the run, the machine or the clock.

    api.py        the library's pages                            commands.py   the command line
    schema.py     folders, rows, metrics, tasks, collections     settings.py   variables, files, parameters
    prose.py      Markdown, and docstrings for autodoc           cite.py       how to cite a page
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scirep_core.book.reference import api, commands, schema, settings
from scirep_core.kit.errors import DataError, nearest
from scirep_core.results import ROOT

PAGES = (
    "reference/python", "reference/command-line", "reference/data-schema", "reference/tasks", "reference/collections",
    "reference/configuration", "reference/parameters",
)  # fmt: skip
"""The hand-written pages, in the order of the table of contents; the library's rooms and the glossary follow."""
PARTS: dict[str, Callable[[], str]] = {
    "commands": commands.listing, "result-row": schema.result_row, "task-file": schema.task_file,
    "task-types": schema.task_types, "task-files": schema.task_files, "metrics": schema.metrics, "tasks": schema.tasks,
    "samples": schema.samples, "suites": schema.suites, "collections": schema.collections, "variables": settings.variables,
    "training": settings.training, "parameters": lambda: settings.parameters(ROOT / "notebooks"),
}  # fmt: skip
"""Name in a hand-written page -> what stands in its place."""
_PART = re.compile(r"^% reference: ([\w-]+)$", re.MULTILINE)


def contents() -> dict[str, Any]:
    """Return the part of the table of contents; the library's rooms stand under its stable names."""
    python, *others = ({"file": page} for page in (*PAGES, "glossary"))
    rooms = [{"file": f"reference/{slug}"} for slug in api.ROOMS]
    return {"caption": "Reference", "chapters": [{**python, "sections": rooms}, *others]}


def write(workdir: Path) -> None:
    """Fill the hand-written pages of an assembled source folder, and write the library's.

    Raises DataError for a part that is not there.
    """
    for slug, room in api.ROOMS.items():
        (workdir / "reference" / f"{slug}.md").write_text(api.page(room), encoding="utf-8")
    for path in (workdir / f"{page}.md" for page in PAGES):

        def part(match: re.Match[str], path: Path = path) -> str:
            if match[1] not in PARTS:
                raise DataError(path, None, f"unknown part {match[1]!r}", nearest(match[1], PARTS))
            return PARTS[match[1]]()

        path.write_text(_PART.sub(part, path.read_text(encoding="utf-8")), encoding="utf-8")
