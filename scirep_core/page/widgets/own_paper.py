"""The own-paper explorer: type a title and an abstract, and see at each keystroke where four formats' vectors put them.

The page runs the encoder itself (own_encoder.py): no kernel, no network. A reader sees the nearest papers of the embedded
literature under each format at once, the field and the year that linear heads read off the vectors, and what the changes of
the textual neighbours that need no tagger do to all of it. The encoder knows the invented literature's words; others it cuts
into pieces, and the page says how many. The address bar keeps the text.

    papers      vectors as whole numbers from -127 to 127, compared by cosine
    field       softmax(W v + b) of the vector under CLF          year   w v + b of the vector under RGN

The browser half is `own_paper.js`, the plain twin `fallback`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import traitlets
from numpy.typing import NDArray

from scirep_core.data.perturbations import PERTURBATIONS
from scirep_core.kit.formats import Format
from scirep_core.page.widgets.common import Explorer, View, check_names, clip, complete, table, within
from scirep_core.page.widgets.formats import NAMES
from scirep_core.page.widgets.own_encoder import STEPS

CAP = 1_400_000
"""Bytes of the data in the page, the packed encoder included."""
NEAR, HEADING = 8, 160
AS_TYPED = "none"
CODES = ("T_ARot", "T_AShuff", "T_ASortAsc", "T_ASortDesc", "T_ADelRand", "T_ADelQ1", "T_ADelQ2", "T_ADelQ3", "T_A_WS")
"""Of the 32 textual neighbours those that need no tagger, chunker or dictionary."""

Floats = NDArray[np.floating]


class Known(NamedTuple):
    """A paper that can be a neighbour."""

    paper_id: str
    title: str
    year: int
    field: str


class Example(NamedTuple):
    """A text to begin with; not among the papers that can be neighbours. `field` and `year` are its own, where it has them."""

    key: str
    title: str
    abstract: str
    field: str = ""
    year: int = 0


class Heads(NamedTuple):
    """Linear readings of the vectors, and how good they are on papers they were not fitted to, in a sentence each.

    Attributes:
        field: (fields, dim) and (fields,), of the vector under CLF, in the order of the sorted names of fields.
        year: (dim,) and a number, of the vector under RGN.
    """

    field: tuple[Floats, Floats]
    year: tuple[Floats, float]
    about_field: str
    about_year: str


class OwnPaperExplorer(Explorer, prefix="opx", scripts=("own_encoder.js", "own_paper.js")):
    """The widget. `selection` = {example, code}: observe it, or set all or part of it; what is typed stays in the browser
    and in the address that a reader copies.

    With `brief` it has one box, the papers nearest by the vector for proximity and no change of the text, as on the first page.
    """

    brief = traitlets.Bool(False).tag(sync=True)

    def _resolve(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        known = {"example": [example[0] for example in self._view["examples"]], "code": [AS_TYPED, *CODES]}
        return complete({"example": known["example"][0], "code": AS_TYPED}, before, wanted, known)

    def static_fallback(self) -> str:
        """Return how the examples are read as HTML tables that need no script."""
        view = self._view
        parts = []
        for key, title, *_ in view["examples"]:
            heads = ["rank", *(view["formats"][form][0] for form in view["read"][key])]
            ranks = zip(*view["read"][key].values(), strict=True)
            rows = [[str(rank), *(_entry(view, at) for at in places)] for rank, places in enumerate(ranks, start=1)]
            parts.append(table(title, heads, rows))
        return self.folded(f"{len(view['examples'])} texts and their nearest papers, as plain tables", parts)


ESM = OwnPaperExplorer._esm


def whole_vectors(vectors: Floats) -> NDArray[np.int8]:
    """Return (n, dim) whole numbers from -127 to 127 in the directions of the rows."""
    unit = _units(vectors)
    found: NDArray[np.int8] = np.rint(unit * (STEPS / max(float(np.abs(unit).max()), 1e-12))).astype(np.int8)
    return found


def nearest_places(vectors: Floats, among: Floats, k: int) -> NDArray[np.int64]:
    """Return (n, k) places of the rows of highest cosine, highest first; of equals the earlier."""
    cosines = _units(vectors.astype(float)) @ _units(among.astype(float)).T
    found: NDArray[np.int64] = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return found


def _units(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit


def own_paper_data(
    encoder: View, papers: Sequence[Known], vectors: Mapping[Format, Floats], heads: Heads, examples: Sequence[Example],
    read: Mapping[str, Mapping[Format, Sequence[int]]], about: str,
) -> View:  # fmt: skip
    """Return the explorer's data as plain JSON values.

    Args:
        encoder: what `own_encoder.pack` returned.
        vectors: format -> (papers, dim), of the packed encoder's formats.
        read: example -> format -> places of its nearest papers, for who reads without script.
        about: what the papers are, in a sentence.

    Raises ConfigError without papers, and when the data are over the cap.
    """
    check_names("papers", [paper.paper_id for paper in papers])
    formats, fields = encoder["shape"]["formats"], sorted({paper.field for paper in papers})
    packed = {form: base64.b64encode(whole_vectors(vectors[form]).tobytes()).decode() for form in formats}
    years = [paper.year for paper in papers]
    view: View = {
        "encoder": encoder, "k": NEAR, "about": about, "fields": fields, "years": [min(years), max(years)],
        "formats": {form: NAMES.get(form, (form, "")) for form in formats},
        "papers": [[p.paper_id, clip(p.title, HEADING), p.year, fields.index(p.field)] for p in papers],
        "vectors": packed,
        "heads": {
            "field": {"weight": np.round(heads.field[0], 5).tolist(), "bias": np.round(heads.field[1], 5).tolist(),
                      "about": heads.about_field},
            "year": {"weight": np.round(heads.year[0], 5).tolist(), "bias": round(heads.year[1], 5), "about": heads.about_year},
        },
        "codes": [
            [code, own.abstract if own.title == "kept" else f"{own.title}, in both fields", own.random]
            for code in CODES for own in [PERTURBATIONS[code]]
        ],
        "examples": [list(example) for example in examples],
        "read": {key: {form: list(places) for form, places in of.items()} for key, of in read.items()},
    }  # fmt: skip
    return within(CAP, view, "own-paper explorer", f"show fewer papers (now {len(papers):,})")


def _entry(view: View, place: int) -> str:
    _, title, year, field = view["papers"][place]
    return escape(f"{title} ({view['fields'][field]}, {year})")
