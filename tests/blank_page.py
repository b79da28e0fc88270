"""Chapters without a notebook, for tests of exhibits: they collect what is said, shown and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scirep_core.page.chapter import Chapter
from scirep_core.results.published import Printed


class Page:
    """Stands for a chapter. `said` are the parts shown in order, `figures` the data of each figure by name."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters: dict[str, Any] = {"data": "embedded", "seed": 0} | parameters
        self.said: list[str] = []
        self.figures: dict[str, Any] = {}
        self.folder = Path()

    def show(self, *parts: str) -> None:
        self.said += parts

    def say(self, *parts: str) -> None:
        self.said += parts

    def note(self, text: str) -> None:
        self.said.append(text)

    def record(self, rows):
        return list(rows)

    def command(self, **changes: Any) -> str:
        return f"scirep run {changes}"

    def number(self, number, decimals=None, sign=False) -> str:
        places = 2 if decimals is None else decimals
        return number.value if isinstance(number, Printed) else f"{number.value:{'+' if sign else ''}.{places}f}"

    def figure(self, name, figure, data, caption, alt) -> None:
        self.figures[name] = data

    @property
    def text(self) -> str:
        return "\n".join(self.said)


class Shown(Chapter):
    """A chapter that stores rows and draws figures as any other does, and collects what it shows in `page`."""

    def __init__(self, name: str, given: Mapping[str, Any], folder: Path) -> None:
        super().__init__(name, dict(given), folder)
        self.page: list[str] = []

    def show(self, *parts: str) -> None:
        self.page.append("\n".join(parts))
