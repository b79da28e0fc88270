"""A book of made-up chapters: its reference describes what hand-written pages name, and no more, which halves a build's time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scirep_core import book
from scirep_core.book.reference import api


@contextmanager
def few_names() -> Iterator[None]:
    """Build within it."""
    text = "".join(path.read_text() for path in (book.ROOT / "book").rglob("*.md") if "_run" not in path.parts)
    named = re.findall(r"\{py:obj}`(?:[^`<]*<)?scirep_core\.([\w.]+)>?`", text)

    def modules(room: api.Room) -> tuple[str, ...]:
        return tuple(name for name in room.modules if any(f"{one}.".startswith(f"{name}.") for one in named))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "ROOMS", {slug: room._replace(modules=modules(room)) for slug, room in api.ROOMS.items()})
        yield
