"""Names that users rely on stay: a move in the library changes none of them."""

from __future__ import annotations

import json

import pytest
from contract import FILE, contract

KEPT, NOW = json.loads(FILE.read_text(encoding="utf-8")), contract()


@pytest.mark.parametrize("part", NOW)
def test_names_that_users_rely_on_are_those_that_are_written_down(part):
    assert NOW[part] == KEPT[part], f"{part}: say it in CHANGELOG, then python tests/contract.py"


def test_every_public_object_comes_from_where_users_import_it():
    for name in NOW["python"]:
        *rooms, last = f"scirep_core.{name}".split(".")
        assert callable(getattr(__import__(".".join(rooms), fromlist=[last]), last))
