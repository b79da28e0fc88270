"""Docstrings as HTML, and plain text in Markdown tables.

Our docstrings are prose with `code` in backticks. What is laid out in columns (a formula, a table) is indented and stays
as it is; `Args:` and its kin become a list of names, `>>>` lines an example. The library's pages are written as HTML at
once, not as Markdown or reStructuredText: two thousand docstrings take Sphinx half a minute to parse, and nothing in
them is meant as its markup.
"""

from __future__ import annotations

import html
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator

_MARKUP = re.compile(r"([\\*_{}\[\]<>&$#|~%^!])")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_SECTION = re.compile(r"(Args|Attributes|Options|Raises|Returns|Yields):")
_ENTRY = re.compile(r"(\*{0,2}[A-Za-z_][\w.]*(?:, \*{0,2}[A-Za-z_][\w.]*)*): (.*)")
_BULLET = re.compile(r"(?:[-*]|\d+\.) ")
_TITLES = {"Args": "Arguments"}


# ---- Markdown -------------------------------------------------------------------------------------------------------


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


def raw(text: str) -> str:
    """Return HTML that is to stay as it is."""
    longest = max((len(ticks) for ticks in re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{{raw}} html\n{text}\n{ticks}"


def first_paragraph(doc: str) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join(doc.strip().partition("\n\n")[0].split())


# ---- HTML -----------------------------------------------------------------------------------------------------------


def inline(text: str) -> str:
    """Return plain text as HTML, its `code` in backticks as code.

    >>> inline("x < `a`")
    'x &lt; <code>a</code>'
    """
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [
            html.escape(text[end : code.start()], quote=False),
            f"<code>{html.escape(code[2], quote=False)}</code>",
        ]
        end = code.end()
    return "".join(parts) + html.escape(text[end:], quote=False)


def as_html(doc: str) -> str:
    """Return a docstring as HTML."""
    return "\n".join(_blocks(doc.strip().splitlines()))


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif line.startswith(" "):
            block, at = _indented(lines, at)
            yield _literal(textwrap.dedent("\n".join(block)))
        elif (section := _SECTION.fullmatch(line)) and at + 1 < len(lines) and lines[at + 1].startswith(" "):
            block, at = _indented(lines, at + 1)
            items = "".join(f"<li>{item}</li>" for item in _entries(block))
            yield f"<p><strong>{_TITLES.get(section[1], section[1])}</strong></p><ul>{items}</ul>"
        elif line.startswith(">>>"):
            block, at = _taken(lines, at, lambda text: bool(text.strip()))
            yield _literal("\n".join(block))
        elif _BULLET.match(line):
            block, at = _taken(lines, at, lambda text: bool(text.strip()))
            yield f"<ul>{''.join(f'<li>{item}</li>' for item in _bullets(block))}</ul>"
        else:
            block, at = _taken(lines, at, _goes_on)
            yield f"<p>{inline(' '.join(one.strip() for one in block))}</p>"


def _literal(text: str) -> str:
    return f"<pre>{html.escape(text, quote=False)}</pre>"


def _goes_on(line: str) -> bool:
    opens = line.startswith((" ", ">>>", "- ")) or _SECTION.fullmatch(line)
    return bool(line.strip()) and not opens


def _indented(lines: list[str], at: int) -> tuple[list[str], int]:
    """Return the indented block that starts at a line, blank lines inside it, and the line after it."""
    end = at
    for number in range(at, len(lines)):
        if lines[number].startswith(" "):
            end = number + 1
        elif lines[number].strip():
            break
    return lines[at:end], end


def _taken(lines: list[str], at: int, goes_on: Callable[[str], bool]) -> tuple[list[str], int]:
    end = at + 1
    while end < len(lines) and goes_on(lines[end]):
        end += 1
    return lines[at:end], end


def entries(doc: str, section: str) -> dict[str, str]:
    """Return name -> text of a section (`Attributes`, say) of a docstring; `a, b: text` names both."""
    lines = inspect.cleandoc(doc).splitlines()
    found: dict[str, str] = {}
    if f"{section}:" in lines:
        for words in _split(_indented(lines, lines.index(f"{section}:") + 1)[0]):
            if named := _ENTRY.fullmatch(words):
                found |= dict.fromkeys(named[1].split(", "), named[2])
    return found


def _entries(lines: list[str]) -> Iterator[str]:
    """Turn `name: text`, whose text may go on deeper, into items of a list."""
    for words in _split(lines):
        named = _ENTRY.fullmatch(words)
        yield f"<code>{named[1]}</code>: {inline(named[2])}" if named else inline(words)


def _split(lines: list[str]) -> Iterator[str]:
    """Yield each entry of an indented section on one line."""
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    entries_: list[list[str]] = []
    for line in filter(str.strip, lines):
        if len(line) - len(line.lstrip()) == indent or not entries_:
            entries_.append([line.strip()])
        else:
            entries_[-1].append(line.strip())
    return (" ".join(words) for words in entries_)


def _bullets(lines: list[str]) -> Iterator[str]:
    items: list[list[str]] = []
    for line in lines:
        opened = _BULLET.match(line)
        if opened or not items:
            items.append([line[opened.end() :] if opened else line])
        else:
            items[-1].append(line.strip())
    return (inline(" ".join(words)) for words in items)
