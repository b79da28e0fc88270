"""The shared vocabulary: task formats (SciRepEval section 3), CSFCube facets, protocol and similarity names."""

from __future__ import annotations

from typing import Literal

Format = Literal["CLF", "RGN", "PRX", "QRY"]
"""SciRepEval's four task formats: classification, regression, proximity (nearest neighbours), ad-hoc search."""
FORMATS: tuple[Format, ...] = ("CLF", "RGN", "PRX", "QRY")

Protocol = Literal["paper", "sound"]
"""`paper`: what the published code does, quirks included. `sound`: what one would do today."""
PROTOCOLS: tuple[Protocol, ...] = ("paper", "sound")

FACETS: tuple[str, ...] = ("background", "method", "result")
"""CSFCube section 3. `objective` sentences count as background; `other` is never a facet."""
FACET_OF_LABEL: dict[str, str] = {
    "background_label": "background",
    "objective_label": "background",
    "method_label": "method",
    "result_label": "result",
}
SENTENCE_LABELS: tuple[str, ...] = (*FACET_OF_LABEL, "other_label")

SIMILARITIES: tuple[str, ...] = ("l2", "cosine", "dot")
