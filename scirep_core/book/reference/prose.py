"""Our plain text, in docstrings and tables, for Sphinx: as Markdown on pages, as reStructuredText in docstrings.

It is prose with `code` in backticks, and no sign of it is meant as markup. Of a docstring what is indented (a formula, a
table) is laid out already; `Args:` and its kin are napoleon's, `>>>` lines examples. For autodoc, which reads docstrings,
this file is an extension that `_config.yml` names.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scirep_core.kit.errors import some_of

_MARKUP = re.compile(r"([\\*_{}\[\]<>&$#|~%^!])")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
MANY = 60
"""Names of a registry that are listed."""
_SECTION = re.compile(r"(Args|Attributes|Options|Raises|Returns|Yields):")
_ENTRY = re.compile(r"( +[\w.*, ]+: )(.*)")
_BULLET = re.compile(r"(?:[-*]|\d+\.) ")


def _apart(text: str, plain: Callable[[str], str], code: str) -> str:
    """Return text with its plain parts changed, and its code, after the backticks around it, put into a pattern."""
    parts = _CODE.split(text)  # text, ticks, code, text ...
    coded = [code.format(ticks, held, held.strip()) for ticks, held in zip(parts[1::3], parts[2::3], strict=True)]
    return "".join(a + b for a, b in zip(map(plain, parts[::3]), [*coded, ""], strict=True))


# ---- Markdown -------------------------------------------------------------------------------------------------------


def escape(text: str) -> str:
    """Return plain text for Markdown: its signs are no markup, its `code` in backticks stays code.

    >>> escape("a_b of `x_y`")
    'a\\\\_b of `x_y`'
    """
    return _apart(text, lambda plain: _MARKUP.sub(r"\\\1", plain).replace("--", "-\\-"), "{0}{1}{0}")


def cell(text: object) -> str:
    """Return plain text for a table's cell: on one line, escaped, a bar inside code too."""
    return re.sub(r"\\?\|", r"\\|", escape(" ".join(str(text).split())))


def code(text: object) -> str:
    """Return text as inline code for a table's cell; nothing for nothing."""
    plain = " ".join(str(text).split()).replace("`", "'")
    return f"`{plain}`".replace("|", "\\|") if plain else ""


def table(header: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table of finished cells."""
    names = list(header)
    lines = [names, ["---"] * len(names), *(list(row) for row in body)]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"


def fence(text: str, language: str = "text") -> str:
    """Return a literal block."""
    return f"```{language}\n{text}\n```"


def entries(doc: str, section: str) -> dict[str, str]:
    """Return name -> text of a section (`Attributes`, say) of a docstring; `a, b: text` names both."""
    _, _, body = inspect.cleandoc(doc).partition(f"{section}:\n")
    body = re.split(r"^(?=\S)", body, maxsplit=1, flags=re.MULTILINE)[0]
    found: dict[str, str] = {}
    for item in re.split(r"^(?=\S)", textwrap.dedent(body), flags=re.MULTILINE):
        names, colon, text = " ".join(item.split()).partition(": ")
        found |= dict.fromkeys(names.split(", "), text) if colon else {}
    return found


# ---- reStructuredText, for autodoc ----------------------------------------------------------------------------------


def inline(text: str) -> str:
    r"""Return a line of plain text as reStructuredText: its signs are no markup, its `code` in backticks stays code.

    >>> inline("a*b of `x_y`s")
    'a\\*b of \\ ``x_y``\\ s'
    """
    # the colon of `file:line` is no address
    return _apart(text, lambda plain: re.sub(r"([\\*`|_]|:(?=[^\s/]))", r"\\\1", plain), r"\ ``{2}``\ ")


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
        lines += ["", f"Names: {some_of((f'``{key}``' for key in thing), MANY)}.", ""]


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
