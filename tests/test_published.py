"""The papers' tables as data: what was read from the papers stays, ids are unique, and Table 1 of the neighbours is our codes.

What the cells say of one another (averages, changes, places, misprints) is decided by the checks of slips.toml (test_slips.py).
"""

from __future__ import annotations

import hashlib

import pytest

from scirep_core.data.perturbations import KEPT, PERTURBATIONS
from scirep_core.kit.errors import ConfigError
from scirep_core.results.published import FOLDER, everything, lookup, table

LOCK = {"csfcube": "e9a00d831adc", "neighbours": "4891ecee9826", "scimult": "5da10660a1c7"}
"""The lines as they were when each was held against the paper: most cells have no second print, so a change must be meant."""


@pytest.mark.parametrize("paper", LOCK)
def test_cells_and_their_notes_are_those_read_from_the_paper(paper):
    printed = [one for path in sorted((FOLDER / paper).glob("*.csv")) for one in table(path.stem)]
    text = "\n".join("\t".join((p.exhibit, p.row, p.column, p.value, p.std, p.note)) for p in printed)
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == LOCK[paper]


def test_ids_are_unique_and_an_unknown_exhibit_names_the_nearest():
    ids = [printed.id for printed in everything()]
    assert len(ids) == len(set(ids))
    with pytest.raises(ConfigError, match="did you mean 'CS-T3'"):
        table("CST3")


def test_table_1_of_the_neighbours_has_our_32_codes_in_order_with_their_categories_and_fields():
    printed = lookup("TN-T1")
    assert list(dict.fromkeys(row for row, _ in printed)) == list(PERTURBATIONS)
    assert len(printed) == 3 * 32
    for code, ours in PERTURBATIONS.items():
        assert printed[code, "category"].value == ours.category, code
        for field, what in (("title", ours.title), ("abstract", ours.abstract)):
            assert (printed[code, field].value == "Preserve") == (what == KEPT), (code, field)
            assert (printed[code, field].value == "Delete") == (what == "deleted"), (code, field)
