"""The chapters as readers meet them: rows with floor and ceiling, the explorer on the page, plain papermill, real numbers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scirep_core.book import runner
from scirep_core.book.runcache import Places
from scirep_core.results import PRINT, ROOT, recorded
from scirep_core.results.published import lookup

RUNS = Places().runs / "embedded"
PRINTED = ("r_precision_published", "p@20", "r@20", "ndcg%100", "ndcg%20")


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_system_lies_between_floor_and_ceiling(built_book):
    """On the embedded literature by whole-pool metrics; single facets may dip below chance, the aggregate may not."""
    found = [r for r in rows(RUNS / "csfcube" / "baselines.data" / "rows.jsonl") if r["source"] != PRINT]
    live = {(r["task"], r["encoder"], r["metric"]): r["value"] for r in found if r["protocol"] == "paper"}
    names = {encoder for _, encoder, _ in live} - {"random", "oracle"}
    assert len(names) == 6
    for metric in ("ndcg%20", "ndcg%100", "map"):
        floor, ceiling = live["csfcube/all", "random", metric], live["csfcube/all", "oracle", metric]
        for name in names:
            assert floor < live["csfcube/all", name, metric] < ceiling, (name, metric)


def test_the_book_runs_again_in_no_time_when_nothing_changed(built_book):
    results = runner.run_all("embedded")
    assert [result.status for result in results] == ["cached"] * len(list((ROOT / "notebooks").glob("*/*.ipynb")))


def papermill(folder, notebook, *words, **changes):
    """Run a notebook by plain papermill, in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "papermill", str(notebook), "out.ipynb", *words, "--no-progress-bar"],
        capture_output=True, text=True, check=False, cwd=folder, **changes,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


def code_of(path: Path) -> list[str]:
    return ["".join(c["source"]) for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]


def test_what_a_reader_downloads_is_what_ran_parameters_first(built_book):
    """The chapters' cells ran when the book was made; a download that holds the same cells runs as well."""
    sources = sorted((ROOT / "notebooks").glob("*/*.ipynb"))
    assert len(sources) > 30
    for path in sources:
        saved = built_book / "_sources" / path.parent.name / path.name
        assert code_of(saved) == code_of(path), path.name
        first = json.loads(saved.read_text())["cells"][0]
        assert first["cell_type"] == "markdown" and f"papermill {path.name}" in first["source"]
        page = saved.relative_to(built_book / "_sources").with_suffix(".html")
        assert "To run this notebook" not in (built_book / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "words"), [
    ("csfcube/agreement", ["-p", "papers", "300", "-p", "resamples", "200"]), ("intro", []),
])  # fmt: skip
def test_a_download_runs_under_plain_papermill_in_an_empty_folder(name, words, built_book, tmp_path):
    source = Path(shutil.copy(built_book / "_sources" / f"{name}.ipynb", tmp_path))
    clean = {key: value for key, value in os.environ.items() if key == "SCIREP_HOME" or not key.startswith("SCIREP_")}
    papermill(tmp_path, source.name, *words, env=clean)
    assert {path.name for path in tmp_path.iterdir()} == {source.name, "out.ipynb"}


def test_a_wrong_parameter_is_one_line_naming_the_valid_ones(scirep, tmp_path):
    out = tmp_path / "out.ipynb"
    code, _, err = scirep("run", "csfcube/baselines", "-p", "encoders=bm25,fabs_tfdif", "--out", out)
    assert code == 2 and "did you mean 'fabs_tfidf'" in err and "Traceback" not in err and not out.exists()


def test_recorded_runs_are_of_the_real_collection_and_match_what_they_must(real):
    found = {(r.task, r.encoder, r.metric): r for r in recorded("csfcube/baselines") if r.protocol == "paper"}
    assert {r.data_hash for r in found.values()} == {real.data_hash}
    for metric in PRINTED:
        assert lookup("CS-T4")["fabs_bm25", f"all/{metric}"].equals(found["csfcube/all", "fabs_bm25", metric].value)
    systems = {encoder for _, encoder, _ in found}
    ours = "fabs_tfidf fabs_cbow200 fabs_tfidfcbow200 minilm_sentences minilm_facet minilm_abstract"
    assert set(ours.split()) <= systems
    for chapter in ("collection", "agreement", "errors"):
        assert {r.data_hash for r in recorded(f"csfcube/{chapter}")} == {real.data_hash}


def test_a_folder_without_pools_or_annotators_gets_a_note_or_one_line(tiny_folder, tmp_path):
    (tiny_folder / "test-pid2pool-csfcube.json").unlink()
    for path in tiny_folder.glob("test-pid2anns-csfcube-*.json"):
        content = json.loads(path.read_text())
        for entry in content.values():
            del entry["relevance_ann1"], entry["relevance_ann2"]
        path.write_text(json.dumps(content))

    def run(chapter, **given):
        return runner.run(Path(chapter), given, tmp_path / "out.ipynb", progress=lambda line: None)

    result = run("csfcube/collection", data=str(tiny_folder))
    assert result.ok, result.error
    assert "do not say which methods" in (tmp_path / "out.ipynb").read_text()
    result = run("csfcube/agreement", data=str(tiny_folder))
    assert not result.ok and re.fullmatch(".*hold no annotators' ratings.*", result.error)
    result = run("csfcube/baselines", encoders="specter_pools", papers=300)
    assert not result.ok and "none of these systems can rank embedded data" in result.error
