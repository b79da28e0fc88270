"""The format explorer: one paper under each task format's vectors, its neighbours side by side (SciRepEval v2, section 4).

Figure 1 of the paper draws why a paper should have several vectors: a space good for one format of task need not be good
for another. Here that is looked at on real vectors. A reader chooses a paper and sees its ten nearest papers under each
format, which of them two formats share, what they have in common with the paper, and a map of each space:

    shared(F, G)      papers among the first ten under both F and G
    field, linked     neighbours of the same field; neighbours that cite the paper or are cited by it
    years, citations  mean |difference| of years; of citations 10^(mean |difference of log10(1 + citations)|), a factor

each beside its mean over all papers and what ten papers drawn at random give. All is computed before and lies in the
widget's state; nothing here reads files. The browser half is `formats.js`, the plain twin `fallback`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import ConfigError
from scirep_core.page.widgets.common import Explorer, View, check_names, clip, complete, table, within

CAP = 900_000
TEXT, HEADING = 340, 200
"""Characters kept of an abstract and of a title."""
LEVELS = 6
"""Steps of the colours of years and citations, each with about as many papers."""
SIDE = 1000
"""Places on a map are whole numbers from 0 to this."""
NAMES = {
    "CLF": ("Classification", "trained to tell fields and topics apart by a linear classifier"),
    "RGN": ("Regression", "trained to tell citations and year by a linear fit"),
    "PRX": ("Proximity", "trained so that papers that belong together are near"),
    "QRY": ("Ad-hoc search", "trained so that a typed query is near what it asks for"),
}
FACTS = {"field": "in the same field", "linked": "linked by a citation", "years": "years apart",
         "citations": "citations apart, as a factor"}  # fmt: skip
ASKED = {"field": "CLF", "years": "RGN", "citations": "RGN", "linked": "PRX"}
"""The format whose training tasks ask for a fact: fields of study; year and citations; citation triplets."""
COLOURS = ("field", "year", "citations")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Links = Sequence[Sequence[int]]


class PaperView(NamedTuple):
    """One paper; `number` is what the chapter's parameter `paper` takes for it."""

    paper_id: str
    number: int
    title: str
    text: str
    year: int
    field: str
    citations: int


class Space(NamedTuple):
    """One format's vectors, looked at: places count papers from 0."""

    format: str
    near: Ints
    """(papers, k) the nearest papers of each, nearest first, never itself."""
    places: Floats
    """(papers, 2) the map."""
    share: float
    """Mean share of a paper's k nearest that are among its k nearest on the map, 0 to 1."""


class Model(NamedTuple):
    """One encoder with a vector a format."""

    key: str
    about: str
    spaces: Sequence[Space]


class FormatExplorer(Explorer, prefix="sfx", scripts=("command.js", "formats.js")):
    """The widget. `selection` = {paper, colour, model}: observe it, or set all or part of it; `paper` is a paper's id."""

    def _resolve(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """By default a paper is the one in the middle, from those on which a model's formats agree least to those on which most."""
        view = self._view
        papers, models = [row[0] for row in view["papers"]], {model["key"]: model for model in view["models"]}
        start = {"paper": "", "colour": view["colours"][0], "model": view["models"][0]["key"]}
        new = complete(start, before, wanted, {"colour": view["colours"], "model": models})
        if new["paper"] == "":
            order = models[new["model"]]["order"]
            new["paper"] = view["papers"][order[len(order) // 2]][0]
        if new["paper"] not in papers:
            raise ConfigError(f"selection: no paper {new['paper']!r} among the {len(papers):,} shown")
        return new

    def static_fallback(self) -> str:
        """Return the current selection as HTML tables that need no script."""
        view, selection = self._view, self.selection
        model = next(model for model in view["models"] if model["key"] == selection["model"])
        at = next(i for i, row in enumerate(view["papers"]) if row[0] == selection["paper"])
        formats, near = model["formats"], [rows[at] for rows in model["near"]]

        def entry(i: int) -> str:
            _, _, title, _, year, field, cited = view["papers"][i]
            return escape(f"{title} ({view['fields'][field]}, {year}, cited {cited} times)")

        k, n = view["k"], len(view["papers"])
        lists = [[str(r + 1), *(entry(places[r]) for places in near)] for r in range(k)]
        common = [
            [escape(FACTS[name]), *(shown(name, value) for value in (*means, view["chance"][name]))]
            for name, means in model["facts"].items()
        ]
        agree = []
        for pair, mean in model["shared"].items():
            a, b = (int(part) for part in pair.split("|"))
            both = len(set(near[a]) & set(near[b]))
            agree.append([escape(f"{formats[a]} and {formats[b]}"), str(both), f"{mean:.1f}"])
        summary = f"One paper under each format, as plain tables: {model['key']}"
        return self.folded(summary, [
            f"<p><strong>{entry(at)}</strong></p>",
            table(f"Its {k} nearest of {n:,} papers under each format", ("rank", *formats), lists),
            table(f"Neighbours that two formats share, of {k}", ("formats", "this paper", f"mean of {n:,} papers"), agree),
            table(f"What the {k} nearest have in common with a paper, means over {n:,} papers",
                  ("", *formats, f"any {k} papers"), common),
        ])  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ measures


def shared(first: Ints, second: Ints) -> Ints:
    """Return (papers,) how many of a paper's neighbours are the same in two (papers, k) lists."""
    found: Ints = np.sum(first[:, :, None] == second[:, None, :], axis=(1, 2))
    return found


def facts(papers: Sequence[PaperView], links: Links, near: Ints) -> dict[str, Floats]:
    """Return what neighbours have in common with their paper: name -> (papers,), citations as mean |log10| apart."""
    field = np.unique([paper.field for paper in papers], return_inverse=True)[1]
    years = np.array([paper.year for paper in papers], float)
    cited = np.log10(1 + np.array([paper.citations for paper in papers], float))
    return {
        "field": np.sum(field[near] == field[:, None], axis=1).astype(float),
        "linked": np.array([len(set(row) & set(of)) for row, of in zip(near.tolist(), links, strict=True)], float),
        "years": np.mean(np.abs(years[near] - years[:, None]), axis=1),
        "citations": np.mean(np.abs(cited[near] - cited[:, None]), axis=1),
    }


def by_chance(papers: Sequence[PaperView], links: Links, k: int) -> dict[str, float]:
    """Return the means of `facts` that k other papers drawn at random have: exact, all others being as likely."""
    n = len(papers)
    everyone = np.array([[j for j in range(n) if j != i] for i in range(n)])
    share = {"field": k / (n - 1), "linked": k / (n - 1)}
    return {name: float(each.mean()) * share.get(name, 1.0) for name, each in facts(papers, links, everyone).items()}


# ---------------------------------------------------------------------------------------------------------------- data


def format_data(
    papers: Sequence[PaperView], models: Sequence[Model], links: Links, about: str, notebook: str, parameters: Mapping[str, str]
) -> View:  # fmt: skip
    """Return the explorer's data as plain JSON values.

    Args:
        papers: all that a neighbour can be.
        models: each with two or more formats, all with the same number of neighbours.
        links: of each paper the places of those it cites or is cited by.
        about: what the papers are, in a sentence.
        notebook, parameters: for the papermill command; values "{paper}" and "{colour}" follow the selection.

    Raises ConfigError for a model's name that cannot stand in an address, and when the data are over the cap.
    """
    check_names("models", [model.key for model in models])
    fields = sorted({p.field for p in papers}, key=lambda f: (-sum(p.field == f for p in papers), f))
    k = models[0].spaces[0].near.shape[1]
    numbers = {"year": [p.year for p in papers], "citations": [p.citations for p in papers]}
    levels = {name: edges(values) for name, values in numbers.items()}
    view: View = {
        "k": k,
        "about": about,
        "papers": [
            [p.paper_id, p.number, clip(p.title, HEADING), clip(p.text, TEXT), p.year,
             fields.index(p.field), p.citations] for p in papers
        ],
        "fields": fields,
        "levels": {name: found for name, found in levels.items() if found},
        "colours": [name for name in COLOURS if name == "field" or levels[name]],
        "links": [sorted(int(j) for j in of) for of in links],
        "formats": {s.format: NAMES.get(s.format, (s.format, "")) for model in models for s in model.spaces},
        "facts": FACTS,
        "asked": ASKED,
        "chance": {"shared": k * k / (len(papers) - 1), **by_chance(papers, links, k)},
        "models": [_model(model, papers, links) for model in models],
        "notebook": notebook,
        "parameters": dict(parameters),
    }  # fmt: skip
    remedy = f"show fewer papers (now {len(papers):,}) or fewer models (now {len(models)})"
    return within(CAP, view, "format explorer", remedy)


def _model(model: Model, papers: Sequence[PaperView], links: Links) -> View:
    spaces = model.spaces
    pairs = {f"{a}|{b}": shared(spaces[a].near, spaces[b].near) for a, b in combinations(range(len(spaces)), 2)}
    each = [facts(papers, links, space.near) for space in spaces]
    agreement = np.sum(list(pairs.values()), axis=0)
    return {
        "key": model.key, "about": model.about, "formats": [space.format for space in spaces],
        "near": [space.near.tolist() for space in spaces], "places": [_on_map(space.places).tolist() for space in spaces],
        "shares": [round(space.share, 3) for space in spaces],
        "facts": {name: [round(float(found[name].mean()), 4) for found in each] for name in each[0]},
        "shared": {pair: round(float(found.mean()), 4) for pair, found in pairs.items()},
        "order": np.argsort(agreement, kind="stable").tolist(),
    }  # fmt: skip


def _on_map(places: Floats) -> Ints:
    """Return places as whole numbers from 0 to SIDE, the longer side filled, the shorter one centred."""
    low, high = places.min(axis=0), places.max(axis=0)
    scaled = (places - (low + high) / 2) / max(float((high - low).max()), 1e-12)
    found: Ints = np.round((scaled + 0.5) * SIDE).astype(np.int64)
    return found


def edges(values: Sequence[int]) -> list[int]:
    """Return where the levels of a colour begin, but the lowest: at most LEVELS - 1 numbers, ascending.

    >>> edges([0, 0, 0, 0, 1, 2, 3, 4, 5, 9])
    [2, 3, 5]
    """
    cuts = np.quantile(values, np.arange(1, LEVELS) / LEVELS, method="higher")
    return sorted({int(cut) for cut in cuts if cut > min(values)})


# ---------------------------------------------------------------------------------------------------------------- plain


def shown(name: str, value: float) -> str:
    """Return a fact's mean as it is printed: citations, kept as log10, as a factor."""
    return f"\u00d7{10**value:.1f}" if name == "citations" else f"{value:.1f}"
