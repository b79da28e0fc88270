"""What all explorers share: a widget with its data inside, a selection that is checked, one module and one style, plain twins.

data         a view (plain JSON values) as text, within a cap of bytes; nobody changes it
selection    what is shown of it: a dict that Python, the page and the address bar change and `complete` completes
module       common.js, other files, the explorer's own: one text, since anywidget takes no module that imports
style        common.css under the explorer's own class, and its own, so that two on one page do not meet
folded       the plain twin: HTML tables for readers without script, which the widget folds away when it starts
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.store import stable_hash

HERE = Path(__file__).parent
View = dict[str, Any]
FORMATS = {"CLF": "Classification", "RGN": "Regression", "PRX": "Proximity", "QRY": "Ad-hoc search"}


class Explorer(anywidget.AnyWidget):
    """A widget with its data inside. An explorer has a `prefix`, `scripts`, `_resolve`, and `static_fallback`, its plain twin."""

    prefix = ""
    _esm: str
    _css: str
    data = traitlets.Unicode().tag(sync=True)
    selection = traitlets.Dict().tag(sync=True)
    badge = traitlets.Unicode().tag(sync=True)
    """What its papers are, where a reader has to know before the first click: invented."""

    def __init_subclass__(cls, prefix: str = "", scripts: Sequence[str] = (), **more: Any) -> None:
        """Make module and style: `prefix` begins all class names, the style is called as the last script."""
        if prefix:
            cls.prefix, cls._css = prefix, style(prefix, f"{Path(scripts[-1]).stem}.css")
            cls._esm = module(prefix, *scripts)
        super().__init_subclass__(**more)

    def __init__(self, view: View, **given: Any) -> None:
        """Take the data. Keywords that are no traits are keys of the selection and choose what is shown; None chooses nothing."""
        self._view = view
        chosen = {key: given.pop(key) for key in [*given] if key not in self.class_trait_names()}
        chosen = {key: value for key, value in chosen.items() if value is not None}
        super().__init__(data=encode(view), selection=self._resolve({}, chosen), **given)

    def __repr__(self) -> str:
        """Name it without its address in memory: a page's source holds this text, and is the same in every build."""
        return f"{type(self).__name__}()"

    def _resolve(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return a complete, consistent selection: `wanted` over `before` over the default. Raises ConfigError."""
        raise NotImplementedError

    def folded(self, summary: str, parts: Iterable[str]) -> str:
        """Return HTML parts as the plain twin of these data."""
        return folded(self.prefix, self._view["key"], summary, parts)

    @traitlets.validate("selection")
    def _check_selection(self, proposal: Any) -> dict[str, Any]:
        return self._resolve(self.selection, proposal["value"])


def module(name: str, *files: str) -> str:
    """Return common.js and files of this folder as one ES module; `name` begins all class names of the explorer.

    Lines of comment stay behind: every page carries the module of each of its explorers.
    """
    texts = ((HERE / file).read_text(encoding="utf-8") for file in ("common.js", *files))
    return f'const NAME = "{name}";\n' + re.sub(r"^ *//.*\n", "", "".join(texts), flags=re.MULTILINE)


def style(name: str, file: str) -> str:
    """Return common.css under the class `name`, and the explorer's own file, without comments."""
    texts = [(HERE / one).read_text(encoding="utf-8") for one in ("common.css", file)]
    return re.sub(r"/\*.*?\*/\s*", "", texts[0].replace("NAME", name) + texts[1], flags=re.DOTALL)


# ---- the data -------------------------------------------------------------------------------------------------------


def encode(view: View) -> str:
    """Return the view as JSON text without any "<".

    The text travels inside a script element of the published page. A title that holds an end tag, in whatever
    spelling, must not close that element, and this does not rely on the page builder's own escaping.
    """
    return json.dumps(view, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def keyed(view: View) -> View:
    """Return the view with its `key`, by which a widget knows its plain twin."""
    return view | {"key": stable_hash(view)[:12]}


def size(view: View) -> int:
    """Return the bytes of a view as it stands in the page: a text within JSON."""
    return len(json.dumps(encode(view)))


def within(cap: int, view: View, what: str, remedy: str) -> View:
    """Return the view with its key. Raises ConfigError, with the remedy, where it is over the cap of bytes."""
    view = keyed(view)
    found = size(view)
    if found > cap:
        over = f"{found:,} bytes, over the cap of {cap:,} bytes for one page"
        raise ConfigError(f"the {what}'s data are {over}: {remedy}")
    return view


def check_names(what: str, names: Collection[str]) -> None:
    """Raise ConfigError unless there are names, each once, printable and without "<".

    They travel in the selection and the address too, where `encode` does not reach.
    """
    if not names:
        raise ConfigError(f"{what}: none given; the explorer needs at least one")
    check_distinct(what, names)
    bad = next((name for name in names if "<" in name or not name.isprintable() or not name), None)
    if bad is not None:
        raise ConfigError(f"{what}: the name {bad!r} must be printable text without '<'")


def check_distinct(what: str, names: Iterable[str]) -> None:
    """Raise ConfigError for a name that is given twice."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise ConfigError(f"{what}: {twice!r} is given twice; keep one")


class Places(dict[Any, int]):
    """The place of each thing, in the order in which things were first asked for: in a view every thing stands once."""

    def __missing__(self, thing: Any) -> int:
        """Return the place of a thing that was not asked for before."""
        self[thing] = len(self)
        return self[thing]


def clip(text: str, most: int) -> str:
    """Return a text of at most `most` characters, cut between words and marked where it was cut."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    cut = text[: max(most - 1, 0)]
    head = cut.rpartition(" ")[0]
    return (head if len(head) > most // 2 else cut) + "…"


# ---- the selection --------------------------------------------------------------------------------------------------


def complete(
    start: Mapping[str, Any], before: Mapping[str, Any], wanted: Mapping[str, Any],
    known: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return `wanted` over `before` over `start`.

    Raises ConfigError for a key that `start` does not have, and for a value that is not among those `known` of its key.
    """
    for key in wanted:
        if key not in start:
            raise ConfigError(f"selection: unknown key {key!r}; {nearest(str(key), start)}")
    new = {**start, **before, **wanted}
    for key, valid in (known or {}).items():
        check_choice(key, new[key], valid)
    return new


def check_choice(key: str, value: Any, valid: Collection[str]) -> None:
    """Raise ConfigError, with the nearest valid one, for a value that is not there to choose."""
    if not isinstance(value, str) or value not in valid:
        raise ConfigError(f"selection: {key} {value!r}; {nearest(str(value), valid)}")


# ---- the plain twin -------------------------------------------------------------------------------------------------


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table; cells are HTML, the first of a row its head, caption and heads plain text."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = ""
    for first, *cells in rows:
        body += f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
    # the class keeps the book's dark mode from putting a light plate behind the table
    begins = f'<table class="dataframe"><caption>{escape(caption)}</caption>'
    return f"{begins}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded(name: str, key: str, summary: str, parts: Iterable[str]) -> str:
    """Return HTML parts in a box that is open until the widget of that class and data has started."""
    opened = f'<details class="{name}-fallback" data-key="{key}" open><summary>{escape(summary)}</summary>'
    return "\n".join([opened, *parts, "</details>"])
