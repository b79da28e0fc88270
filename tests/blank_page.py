"""A chapter without a notebook, for tests of exhibits: it collects what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scirep_core.page.chapter import Chapter


class Shown(Chapter):
    """A chapter that stores rows and draws figures as any other does, and collects what it shows in `page`."""

    def __init__(self, name: str, given: Mapping[str, Any], folder: Path) -> None:
        super().__init__(name, dict(given), folder)
        self.page: list[str] = []

    def show(self, *parts: str) -> None:
        self.page.append("\n".join(parts))
