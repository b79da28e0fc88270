"""Plain text in Markdown tables, and what docstrings say of names."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable

_MARKUP = re.compile(r"([\\*_{}\[\]<>&$#|~%^!])")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def escape(text: str) -> str:
    """Return plain text for Markdown: its signs are no markup, its `code` in backticks stays code.

    >>> escape("a_b of `x_y`")
    'a\\\\_b of `x_y`'
    """
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [_MARKUP.sub(r"\\\1", text[end : code.start()]), code.group()]
        end = code.end()
    return "".join(parts) + _MARKUP.sub(r"\\\1", text[end:]).replace("--", "-\\-")


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
