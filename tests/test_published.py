"""The papers' tables as data: what was read from the papers stays, ids are unique, and Table 1 of the neighbours is our codes.

What the cells say of one another (averages, changes, places, misprints) is decided by the checks of slips.toml (test_slips.py).
"""

from __future__ import annotations

import hashlib

import pytest

from scirep_core.data.perturbations import KEPT, PERTURBATIONS
from scirep_core.kit.errors import ConfigError
from scirep_core.results.published import everything, lookup, table

LOCK = {
    "CS-T1": "657d19c14f07", "CS-T2": "a4d9da3a65ab", "CS-T3": "dcb372a701b6", "CS-T4": "b3ddbb28debc", "CS-C1": "cd1ace9aa9b1",
    "CS-C2": "9aff2317013a", "CS-C3": "2c83e3f5a857", "CS-C4": "9d9baa067367", "CS-C5": "6afa1a1a8876",
    "CS-C12": "38a50edf1f16", "SM-T1": "1dc59be38fef", "SM-T2": "2418e0f414ab", "SM-T3": "f1b1db55a036",
    "SM-T4": "af9f874c5338", "SM-T5": "fc5d31b1d334", "SM-T6": "7295c05dfb70", "SM-T7": "5f4d42675266", "SM-T8": "81cb78f89b26",
    "SM-T9": "27782ce74a23", "SM-TA1": "d49f1e7d1a49", "SM-TA2": "e88b9d2bf6a3", "SM-TA3": "88138411aaaa",
    "SM-TA4": "cf2cf5e77001", "SM-TA5": "79340405f458", "SM-TA6": "2c99faf8d2b7", "SM-TA7": "7033e6ef46ac",
    "SM-TA8": "b97305f4d4ad", "SM-C1": "47065dd58db2", "SM-C2": "0ed55ee1e958", "SM-C4": "fb1c2614df29",
    "SM-C5": "05ffe44eb417", "SM-C7": "14a0a87368f8", "SM-C8": "6c389d63bf30", "TN-T1": "a49f7278c2d6", "TN-T2": "0e512ed45fcd",
    "TN-T3": "d3d7153ce739", "TN-T4": "a6621114b7ca", "TN-T5": "2f46030f02e5", "TN-T7": "030cfba95b9d", "TN-T8": "7b2e4078c746",
    "TN-T9": "3d69f6d23270", "TN-C2": "997f6c7fb9ad", "TN-C4": "ec643c14bbcc", "TN-C5": "16112eaed8d1", "TN-C6": "3ddd75d7e452",
    "TN-C7": "b0ff519904f8", "TN-C8": "659d9db50f85", "TN-C9": "46a244125067", "TN-C10": "30ff9df1b385",
}  # fmt: skip
"""The lines as they were when each was held against the paper: most cells have no second print, so a change must be meant."""


@pytest.mark.parametrize("exhibit", LOCK)
def test_cells_and_their_notes_are_those_read_from_the_paper(exhibit):
    text = "\n".join("\t".join((p.row, p.column, p.value, p.std, p.note)) for p in table(exhibit))
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == LOCK[exhibit]


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
