"""The book's reference: pages made from the code, so that they cannot drift from it.

Hand-written pages in `book/reference/` (and the glossary) hold the prose; a line `% reference: NAME` in them is replaced
by what NAME of `PARTS` makes, {api}`scirep_core.NAME` by a link to its description. The library's own pages are made
whole (`api.py`). Nothing here depends on the run, the machine or the clock.

    source.py        the library read as text        api.py            its pages
    prose.py         docstrings as HTML              commands.py       the command line
    schema.py        folders, rows, metrics, tasks   collections.py    data and licences
    settings.py      variables, files, parameters    cite.py           how to cite a page
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from scirep_core.book.reference import api, cite, collections, commands, schema, settings, source
from scirep_core.kit.errors import DataError, nearest
from scirep_core.results import ROOT

PAGES = (
    "reference/python", "reference/command-line", "reference/data-schema", "reference/tasks", "reference/collections",
    "reference/configuration", "reference/parameters",
)  # fmt: skip
"""The hand-written pages, in the order of the table of contents; the library's rooms and the glossary follow."""
PARTS: dict[str, Callable[[], str]] = {
    "commands": commands.listing,
    "result-row": schema.result_row,
    "task-file": schema.task_file,
    "task-types": schema.task_types,
    "task-files": schema.task_files,
    "metrics": schema.metrics,
    "tasks": schema.tasks,
    "samples": schema.samples,
    "suites": schema.suites,
    "collections": collections.listing,
    "variables": settings.variables,
    "training": settings.training,
    "parameters": lambda: settings.parameters(ROOT / "notebooks"),
}
"""Name in a hand-written page -> what stands in its place."""
_PART = re.compile(r"^% reference: ([\w-]+)$", re.MULTILINE)
_API = re.compile(r"\{api\}`([\w.]+)(?: <([\w.]+)>)?`")


def contents() -> dict[str, Any]:
    """Return the part of the table of contents; the library's rooms stand under its stable names."""
    python, *others = ({"file": page} for page in (*PAGES, "glossary"))
    rooms = [{"file": f"reference/{slug}"} for slug in api.ROOMS]
    return {"caption": "Reference", "chapters": [{**python, "sections": rooms}, *others]}


def cited(notebook: dict[str, Any], page: str, title: str, section: str, papers: Iterable[str]) -> dict[str, Any]:
    """Return a chapter's notebook with "Cite this page" at its foot; `papers` are those of its exhibits."""
    return {**notebook, "cells": [*notebook["cells"], cite.cell(page, title, section, papers, ROOT)]}


@functools.lru_cache(maxsize=2)
def _library(files: source.Texts) -> tuple[api.Homes, dict[str, str]]:
    """Return where each public name is described, and the pages that do so."""
    placed = api.rooms(dict(source.read(files)))
    known = api.homes(placed)
    return known, {slug: api.page(slug, modules, known) for slug, modules in placed.items()}


def write(workdir: Path) -> None:
    """Fill the hand-written pages of an assembled source folder, and write the library's.

    Raises DataError for a part or a name of the library that is not there.
    """
    known, pages = _library(source.texts())
    for slug, page in pages.items():
        (workdir / "reference" / f"{slug}.md").write_text(page, encoding="utf-8")
    for path in (*(workdir / f"{page}.md" for page in PAGES), workdir / "glossary.md"):
        text = path.read_text(encoding="utf-8")
        folder = "" if path.parent.name == "reference" else "reference/"

        def part(match: re.Match[str], path: Path = path) -> str:
            if match[1] not in PARTS:
                raise DataError(path, None, f"unknown part {match[1]!r}", nearest(match[1], PARTS))
            return PARTS[match[1]]()

        def linked(match: re.Match[str], folder: str = folder) -> str:
            return api.link(match[2] or match[1], known, match[1] if match[2] else "", folder)

        path.write_text(_API.sub(linked, _PART.sub(part, text)), encoding="utf-8")
