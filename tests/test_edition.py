"""Versioned results: the manifest says what is recorded, and a file that changed without it is told with the remedy."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from pathlib import Path

import pytest

import scirep_core
from scirep_core.book import edition
from scirep_core.book.reference import cite
from scirep_core.results import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1.0.0"\n')
    folder = tmp_path / "results" / "real" / "csfcube"
    folder.mkdir(parents=True)
    row = {"task": "t", "provenance": {"code_version": "abc"}}
    (folder / "errors.jsonl").write_text(f"{json.dumps(row)}\n{json.dumps(row)}\n")
    (folder / "model.json.gz").write_bytes(gzip.compress(b"{}"))
    edition.write(tmp_path)
    return tmp_path


def test_the_committed_manifest_is_right() -> None:
    """A recorded file that changed fails here: run `scirep edition --write`, and look at what it changed."""
    assert edition.faults() == []


def test_one_version_and_one_author_for_project_citation_and_changelog() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    about = cite.citation(ROOT)
    assert version == scirep_core.__version__ == about["version"]
    editions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert next(name for name in editions if name != "Unreleased") == version
    page = (ROOT / "book" / "cite.md").read_text(encoding="utf-8")
    assert f"Version {version}." in page and f"{{{{{about['authors'][0]['name']}}}}}" in page
    title = page.partition("title  = {")[2].partition("},")[0]
    assert title.replace("{", "").replace("}", "") == about["title"]
    entries = cite.bib_entries(ROOT / "book" / "references.bib")
    assert all(entries[key] in page for key in cite.KEYS.values())  # the page shows the same entries
    assert edition.manifest().version == version
    assert {one["edition"] for one in edition.manifest().files.values()} <= {name.lower() for name in editions}


def test_the_manifest_holds_checksum_rows_code_and_edition(checkout) -> None:
    files = edition.manifest(checkout).files
    assert list(files) == ["real/csfcube/errors.jsonl", "real/csfcube/model.json.gz"]
    one, model = files.values()
    assert (one["rows"], one["code"], one["edition"]) == (2, ["abc"], "1.0.0")
    assert (model["rows"], model["code"]) == (None, [])
    assert re.fullmatch("[0-9a-f]{64}", one["sha256"])
    assert edition.faults(checkout) == []


def test_a_changed_a_new_and_a_lost_file_are_told_with_what_to_run(checkout) -> None:
    folder = checkout / "results" / "real" / "csfcube"
    (folder / "errors.jsonl").write_text('{"task": "t"}\n')
    (folder / "new.jsonl").write_text("")
    (folder / "model.json.gz").unlink()
    told = edition.faults(checkout)
    assert len(told) == 3
    assert "errors.jsonl is another file than the one listed (sha256 " in told[0]
    assert "model.json.gz is listed and not there" in told[1]
    assert "new.jsonl is not listed" in told[2]
    assert all(line.endswith("Run `scirep edition --write`") for line in told)


def test_what_is_recorded_anew_belongs_to_the_new_edition_and_the_rest_to_its_own(checkout) -> None:
    (checkout / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1.1.0"\n')
    assert edition.faults(checkout) == [
        "results/MANIFEST.json: edition 1.0.0 in the manifest, 1.1.0 in pyproject.toml. Run `scirep edition --write`"
    ]
    (checkout / "results" / "real" / "csfcube" / "errors.jsonl").write_text('{"task": "t"}\n')
    edition.write(checkout)
    assert [one["edition"] for one in edition.manifest(checkout).files.values()] == ["1.1.0", "1.0.0"]
    assert edition.faults(checkout) == []


def test_what_is_recorded_between_editions_becomes_the_next_ones(checkout) -> None:
    errors, changes = checkout / "results" / "real" / "csfcube" / "errors.jsonl", checkout / "CHANGELOG.md"
    changes.write_text("# Changelog\n\n## Unreleased\n\n## 1.0.0 (2026-11-21)\n")
    assert edition.faults(checkout) == []  # nothing changed yet
    errors.write_text('{"task": "t"}\n')
    edition.write(checkout)
    assert [one["edition"] for one in edition.manifest(checkout).files.values()] == ["unreleased", "1.0.0"]
    changes.write_text("# Changelog\n\n## 1.1.0 (2026-12-01)\n\n## 1.0.0 (2026-11-21)\n")
    (checkout / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1.1.0"\n')
    assert len(edition.faults(checkout)) == 2
    edition.write(checkout)
    assert [one["edition"] for one in edition.manifest(checkout).files.values()] == ["1.1.0", "1.0.0"]


def test_the_command_lists_and_refuses(scirep, monkeypatch, checkout) -> None:
    for function in (edition.manifest, edition.faults, edition.write):
        monkeypatch.setattr(edition, function.__name__, lambda root=checkout, function=function: function(root))

    code, out, _ = scirep("edition")
    assert code == 0
    assert "Edition 1.0.0" in out and "errors.jsonl" in out and "abc" in out
    (checkout / "results" / "real" / "csfcube" / "errors.jsonl").write_text("")
    code, _, err = scirep("edition")
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "Run `scirep edition --write`" in err
    code, out, err = scirep("edition", "--write")
    assert (code, out.strip(), err) == (0, str(checkout / "results" / "MANIFEST.json"), "")
    assert json.loads(scirep("edition", "--json")[1])["edition"] == "1.0.0"
