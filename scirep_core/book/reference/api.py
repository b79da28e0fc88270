"""The library's pages: a room a page, a module a section, everything public with its signature and docstring.

The rooms follow the road of the data: files, texts, vectors, training, scores, chapters, the book. What is written
here about a function is its own docstring; types of the library's own are links; the index, and so the search, knows
every name.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple

from scirep_core.book.reference.prose import as_html, escape, first_paragraph, inline, raw
from scirep_core.book.reference.source import Item, Module
from scirep_core.kit.errors import DataError, nearest

PACKAGE = "scirep_core"
MANY = 60
"""Names of a registry that are listed."""
FOLDED = "api-exhibits"
"""The page whose modules are folded: a thousand functions that a notebook calls by name."""
_FULL = re.compile(rf"{PACKAGE}(?:\.\w+)+")


class Room(NamedTuple):
    """One page: its title, what is in it, and the modules (with all below them) in reading order."""

    title: str
    text: str
    modules: tuple[str, ...]


ROOMS: dict[str, Room] = {
    "api-data": Room(
        "Data",
        "From a manifest to a task: records and their errors, files fetched and checked, one reader for each collection.",
        ("kit", "data"),
    ),
    "api-literature": Room(
        "The embedded literature",
        "The simulated science that stands in where no real data are: its latents, its texts, and the tasks it emits.",
        ("data.literature",),
    ),
    "api-texts": Room(
        "Texts and perturbations",
        "How a paper becomes the text an encoder reads, and the 32 textual neighbours.",
        ("data.text", "data.perturbations"),
    ),
    "api-encoders": Room(
        "Encoders",
        "Texts in, vectors out: one packed BERT trunk, a file for each conditioning, and the store that keeps vectors.",
        ("encoders",),
    ),
    "api-training": Room(
        "Training",
        "Losses, mixed batches, one visible loop, and the trained model of each variant.",
        ("losses", "training"),
    ),
    "api-evaluation": Room(
        "Evaluation",
        "One evaluator for each type of task, the benchmark that runs them all, studies over seeds, the leaderboard.",
        ("evaluators", "bench"),
    ),
    "api-results": Room(
        "Results and chapters",
        "Rows with their origin, metrics and intervals, the papers' printed tables, and what a chapter calls to show them.",
        ("results", "page"),
    ),
    "api-exhibits": Room(
        "The chapters' own parts",
        "What each chapter draws and says, table by table: the functions its notebook calls.",
        ("exhibits",),
    ),
    "api-book": Room(
        "The book",
        "The runner that executes chapters, the builder of these pages, and the command line.",
        ("book", "cli"),
    ),
}  # fmt: skip


def rooms(found: dict[str, Module]) -> dict[str, list[Module]]:
    """Return each page's modules in reading order, every module on the page that names it, or the nearest folder above it."""
    places = {f"{PACKAGE}.{top}": (slug, at) for slug, room in ROOMS.items() for at, top in enumerate(room.modules)}
    placed: dict[str, list[tuple[int, Module]]] = {slug: [] for slug in ROOMS}
    for name, module in found.items():
        above = [top for top in places if f"{name}.".startswith(f"{top}.")]
        if name != PACKAGE:
            slug, at = places[max(above, key=len)]
            placed[slug].append((at, module))
    return {slug: [module for _, module in sorted(modules, key=lambda one: one[0])] for slug, modules in placed.items()}


Homes = dict[str, str]
"""Dotted name of a module, or of something in it -> the page that describes it."""


def homes(placed: dict[str, list[Module]]) -> Homes:
    """Return where each name of the library is described."""
    found: Homes = {}
    for slug, modules in placed.items():
        for module in modules:
            found[module.name] = slug
            for item in module.items:
                found[f"{module.name}.{item.name}"] = slug
                found |= {f"{module.name}.{item.name}.{member.name}": slug for member in item.members}
    return found


def link(name: str, known: Homes, text: str = "", folder: str = "") -> str:
    """Return a link (HTML) to a name's description. Raises DataError for a name that is not described."""
    if name not in known:
        raise DataError("book", None, f"{{api}}`{name}`: the library has no such public name", nearest(name, known))
    return f'<a href="{folder}{known[name]}.html#{name}"><code>{text or _short(name)}</code></a>'


def page(slug: str, modules: list[Module], known: Homes) -> str:
    """Return the Markdown page of one room. Its HTML is told to be raw: Markdown would read each tag of it.

    The folded page is one block without sections, and not in the search, where it would hide the chapters themselves.
    """
    room = ROOMS[slug]
    folded = slug == FOLDED
    rows = "".join(
        f"<tr><td>{link(module.name, known)}</td><td>{inline(first_paragraph(module.doc))}</td></tr>"
        for module in modules
    )
    head = "<thead><tr><th>module</th><th>what it is for</th></tr></thead>"
    listed = (
        f'<div class="pst-scrollable-table-container"><table class="table">{head}<tbody>{rows}</tbody></table></div>'
    )
    sections = (_section(module, known, folded) for module in modules)
    if folded:
        start, body = "---\nnosearch: true\n---\n\n", [raw("\n".join([listed, *sections]))]
    else:
        start, body = "", [raw(listed), *sections]
    return start + "\n\n".join([f"# {room.title}", escape(room.text), *body]) + "\n"


def _short(name: str) -> str:
    return name.removeprefix(f"{PACKAGE}.")


def _section(module: Module, known: Homes, folded: bool) -> str:
    """Return a module's section, Markdown; of the folded page HTML. The index, and so the search, has its names."""
    shown = "\n".join(_item(item, module.name, known, marked=not folded) for item in module.items)
    listed = f'<dl class="scirep-api">\n{shown}\n</dl>' if shown else ""
    if folded:
        count = len(module.items)
        summary = f"{count} functions, classes and values" if count > 1 else "one function, class or value"
        if shown:
            listed = f'<details class="scirep-made"><summary>{summary}</summary>\n{listed}\n</details>'
        return f'<h2 id="{module.name}">{_short(module.name)}</h2>\n{as_html(module.doc)}\n{listed}'
    index = ", ".join(f"{item.name} ({module.name})" for item in module.items)
    parts = [
        f"```{{index}} {index}\n```" if index else "",  # before the heading: it is what the index leads to
        f"## {_short(module.name)}",
        raw(f'<div class="scirep-module" id="{module.name}">\n{as_html(module.doc)}\n{listed}\n</div>'),
    ]
    return "\n\n".join(part for part in parts if part)


def _item(item: Item, owner: str, known: Homes, marked: bool = True) -> str:
    name = f"{owner}.{item.name}"
    kind = {"function": "", "method": "", "data": "", "attribute": ""}.get(item.kind, f"<em>{item.kind}</em> ")
    typed = item.kind in ("data", "attribute", "property")
    signature = _signature(item.signature, known, owner)
    told = f"{kind}<strong>{item.name}</strong>" + (f": {signature}" if typed and signature else signature)
    mark = f'<a class="headerlink" href="#{name}" title="Link to {item.name}">#</a>' if marked else ""
    inside = "\n".join(_item(member, name, known, marked) for member in item.members)
    body = _text(item) + (f"\n<dl>\n{inside}\n</dl>" if inside else "")
    return f'<dt id="{name}"><code>{told}</code>{mark}</dt>\n<dd>{body}</dd>'


def _signature(text: str, known: Homes, owner: str) -> str:
    """Return a signature as HTML: the library's own types are links, each to where it is described."""

    def typed(match: re.Match[str]) -> str:
        full, short = match[0], match[0].rpartition(".")[2]
        if full not in known or full == owner:
            return short
        return f'<a href="{known[full]}.html#{full}">{short}</a>'

    return _FULL.sub(typed, html.escape(text, quote=False))


def _text(item: Item) -> str:
    words = as_html(item.doc) if item.doc else ""
    if item.keys:
        more = f" and {len(item.keys) - MANY} more" if len(item.keys) > MANY else ""
        names = ", ".join(f"<code>{html.escape(key)}</code>" for key in item.keys[:MANY])
        words += f"<p>Names: {names}{more}.</p>"
    return words
