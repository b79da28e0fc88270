"""Our docstrings for Sphinx autodoc, which reads reStructuredText: an extension that `_config.yml` names.

They are prose with `code` in backticks; what is indented (a formula, a table) is laid out already; `Args:` and its kin
are napoleon's, `>>>` lines examples. Nothing in them is meant as markup of another kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MANY = 60
"""Names of a registry that are listed."""
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_SECTION = re.compile(r"(Args|Attributes|Options|Raises|Returns|Yields):")
_ENTRY = re.compile(r"( +[\w.*, ]+: )(.*)")
_BULLET = re.compile(r"(?:[-*]|\d+\.) ")


def inline(text: str) -> str:
    r"""Return a line of plain text as reStructuredText: its signs are no markup, its `code` in backticks stays code.

    >>> inline("a*b of `x_y`s")
    'a\\*b of \\ ``x_y``\\ s'
    """
    parts = _CODE.split(text)  # text, ticks, code, text ...
    plain = [re.sub(r"([\\*`|_]|:(?=[^\s/]))", r"\\\1", part) for part in parts[::3]]  # `file:line` is no address
    return "".join(
        a + b for a, b in zip(plain, [*(rf"\ ``{code.strip()}``\ " for code in parts[2::3]), ""], strict=True)
    )


def as_rst(lines: list[str]) -> list[str]:
    """Return the lines of a docstring as reStructuredText, in napoleon's dialect."""
    found: list[str] = []
    block = ""  # what an indented line belongs to: section, literal, example, bullet; "" is a paragraph
    for line, before in zip(lines, ["", *lines], strict=False):
        indented = line.startswith(" ")
        if not line.strip():
            block = block if block in ("section", "literal") else ""
            found.append("")
        elif _SECTION.fullmatch(line):
            block = "section"
            found += ["", line]
        elif block == "section" and indented:
            name, text = entry.groups() if (entry := _ENTRY.fullmatch(line)) else ("", line)
            found.append(name + inline(text))
        elif indented and block != "bullet":
            found += [line] if block == "literal" else ["", "::", "", line]
            block = "literal"
        elif line.startswith(">>>") or block == "example":
            found += [line] if block == "example" else ["", line]
            block = "example"
        elif bullet := _BULLET.match(line):
            found += ["", bullet[0] + inline(line[bullet.end() :])]
            block = "bullet"
        elif block == "bullet":
            found.append("  " + inline(line.strip()))
        else:
            found += ([""] if block and before else []) + [inline(line)]
            block = ""
    return found


def _docstring(app: Any, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_rst(lines)
    if isinstance(thing, Mapping) and kind == "data":
        more = f" and {len(thing) - MANY} more" if len(thing) > MANY else ""
        lines += ["", f"Names: {', '.join(f'``{key}``' for key in list(thing)[:MANY])}{more}.", ""]


def _skipped(app: Any, kind: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    return True if type(thing).__name__ == "_tuplegetter" else None  # a field of a NamedTuple: the signature has it


def _signature(app: Any, kind: str, name: str, thing: Any, options: Any, given: str | None, returned: Any) -> Any:
    return given and re.sub(r"<[^<>]+>", "...", given), returned  # a default that is made at each call is no Python


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc, before napoleon does."""
    app.connect("autodoc-process-docstring", _docstring, priority=400)
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skipped)
    return {"parallel_read_safe": True}
