"""The command line: its contract for JSON, exit codes and one-line errors; the names there are, completion, and silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scirep_core
from scirep_core.bench.suites import SUITES
from scirep_core.bench.systems import load_system
from scirep_core.book import runner
from scirep_core.book.explain import recompute
from scirep_core.cli import listing
from scirep_core.data import load_task
from scirep_core.encoders import ENCODERS
from scirep_core.encoders.conditioning.base import CONDITIONINGS
from scirep_core.kit import terminal
from scirep_core.results import Result
from scirep_core.results.metrics import ACCEPTED, METRICS


@pytest.fixture
def vectors(tmp_path, tiny) -> Path:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "mine.npz", ids=np.array(list(tiny.papers)), vectors=rng.random((len(tiny.papers), 3)))
    return tmp_path / "mine.npz"


def test_score_prints_the_rows_of_what_is_asked_for(scirep, tiny_folder, vectors):
    def scored(name: object, *words: object) -> list[dict[str, object]]:
        code, out, _ = scirep("score", name, "--vectors", vectors, "--json", *words)
        assert code == 0
        return json.loads(out)

    rows = scored(tiny_folder)
    assert {r["task"] for r in rows} == {f"csfcube/{t}" for t in ("background", "method", "result", "all")}
    standard = {"r_precision", "r_precision_published", "p@20", "r@20", "ndcg%20", "map", "mrr"}
    assert {r["metric"] for r in rows} >= standard
    splits = [r["split"] for r in rows]
    assert splits == sorted(splits) and set(splits) == {"dev", "test"}
    assert {r["split"] for r in scored(tiny_folder, "--split", "dev")} == {"dev"}
    words = ("--source", tiny_folder, "--metrics", "ndcg%7,p@3", "--protocol", "sound")
    assert {(r["task"], r["metric"], r["protocol"]) for r in scored("csfcube/method", *words)} == {
        ("csfcube/method", "ndcg%7", "sound"), ("csfcube/method", "p@3", "sound"),
    }  # fmt: skip


WRONG = {
    "score csfcub --vectors random": "did you mean 'csfcube'",
    "score csfcube": "give either --vectors",
    "score csfcube --vectors no.npz": "no.npz: file not found",
    "score csfcube --rankings /nowhere": "/nowhere: no such folder",
    "score csfcube --vectors random --protocol papre": "did you mean 'paper'",
    "score csfcube --vectors random --metrics ndgc%20": "unknown metric 'ndgc%20'",
    "score csfcube --vectors random --seed x": "'--seed'",
    "score --frobnicate": "No such option",
    "score csfcube --encoder tfidf --papers 300": "csfcube/baselines",
    "score scirepval --vectors random": "did you mean 'scirepeval'",
    "score scirepeval/foss --vectors random": "did you mean 'scirepeval/fos'",
    "score scirepeval/search --vectors random --papers 3": "300 to",
    "score scirepeval --encoder minilmm": "did you mean 'minilm'",
    "score scirepeval --vectors random --encoder minilm": "give either --vectors",
    "score scirepeval --vectors random --metrics map": "--metrics goes with one task",
    "score scirepeval --vectors random --split test": "--split goes with one task",
    "score scirepeval --vectors random --papers 3": "300 to",
    "score scirepeval --vectors random --source nowhere": "23 of 23 tasks failed: ",
    "score scirepeval/search --vectors random --papers 300 --protocol sound --no-intercept": "with protocol paper alone",
    "score scirepeval --vectors no.npz": "no.npz: file not found",
    "data get csfcub": "did you mean 'csfcube'",
    "data get embedded csfcube --out here": "--out is of `embedded` alone: csfcube has its place",
    "data verify csfcub": "csfcub",
    "run csfcube/baslines": "baselines",
    "run csfcube/baselines -p data": "needs a value",
    "run csfcube/baselines -p ndcg_percent=101": "ndcg_percent = 101",
    "run csfcube/baselines --rows .": "is a folder",
    "run csfcube/baselines --out .": "is a folder",
    "explain no-such-number": "no number 'no-such-number'",
    "book --profile reel": "did you mean 'real'",
    "list encoder": "did you mean 'encoders'",
    "study mian": "did you mean 'main'",
    "study main --budget smal": "did you mean 'small'",
    "study main --set papres=3": "did you mean 'papers'",
    "study main --set papers=many": "expected a whole number",
    "study main --only trian": "did you mean 'train'",
    "study main --variants CTRL": "did you mean 'MTL CTRL'",
    "study main --variants ,": "names nothing",
    "frob": "No such command",
}


@pytest.mark.parametrize("words", WRONG)
def test_bad_input_is_one_line_and_exit_code_2(scirep, words):
    code, out, err = scirep(*words.split())
    assert (code, out) == (2, ""), err
    assert WRONG[words] in err
    assert len(err.strip().splitlines()) == 1, err
    assert "Traceback" not in err


def test_the_first_help_page_has_an_example(scirep):
    """Those of the commands: test_reference.py."""
    code, out, _ = scirep("--help")
    assert code == 0 and "scirep " in " ".join(out.split()).rpartition("Example")[2]


def test_published_number_is_explained(scirep):
    code, out, _ = scirep("explain", "published:csfcube:CS-T4:fabs_bm25:all/ndcg%20")
    assert code == 0 and "46.06" in out


@pytest.mark.parametrize(("place", "given", "command"), [
    (("main", "scirepeval/average-v2", "average", "MTL CTRL, seed 2"),
     {"variant": "MTL CTRL", "training_seed": 2, "base": "embedded", "width": 64,
      "budget": "small", "settings": {"papers": 1000, "precision": "bfloat16", "clip": 0.5}},
     "scirep study main --variants 'MTL CTRL' --seed 2 --set papers=1000 --set precision=bfloat16 --set clip=0.5"),
    (("main", "scirepeval/average-v1", "average", "MTL CTRL"),
     {"variant": "MTL CTRL", "trainings": 3, "base": "minilm", "budget": "large", "settings": {}},
     "scirep study main --variants 'MTL CTRL' --bases minilm --seeds 3 --tasks scirepeval-v1 --budget large"),
    (("bases", "scirepeval/average-v2", "average", "Base on embedded, seed 0"),
     {"variant": "Base", "training_seed": 0, "base": "embedded"},
     "scirep study bases --variants Base --bases embedded --seed 0"),
    (("cross", "scirepeval/fos", "f1_macro", "MTL CTRL as RGN, seed 1"),
     {"variant": "MTL CTRL", "training_seed": 1, "base": "embedded", "code": "RGN", "budget": "small", "settings": {}},
     "scirep study cross --variants 'MTL CTRL' --seed 1 --tasks scirepeval/fos"),
    (("widths", "scirepeval/average-v2", "average", "MTL CLS, width 32, seed 0"),
     {"variant": "MTL CLS", "training_seed": 0, "base": "embedded", "width": 32},
     "scirep study widths --variants 'MTL CLS' --widths 32 --seed 0"),
    (("main", "scirepeval/average-v2", "average", "oracle"), {"variant": "oracle", "papers": 600, "data_seed": 1},
     "scirep score scirepeval --vectors oracle --protocol paper --papers 600 --data-seed 1 --partial --json"),
])  # fmt: skip
def test_a_number_of_a_study_is_recomputed_by_its_study(place, given, command):
    study, task, metric, encoder = place
    row = Result(task, "all", metric, "paper", 50.0, 27, encoder=encoder, chapter=f"study/{study}", parameters=given)
    assert recompute(row).removesuffix(" --out rows.jsonl") == command


def test_official_pools_score_from_the_command_line(scirep, real_folder):
    code, out, err = scirep("score", "csfcube", "--rankings", real_folder / "sample_ranked_pools", "--json")
    assert code == 0
    assert err.count("leaves out 1 of 101") == 2
    values = {(r["task"], r["metric"]): f"{r['value']:.2f}" for r in json.loads(out)}
    assert values["csfcube/all", "ndcg%20"] == "53.28"
    assert values["csfcube/method", "r_precision_published"] == "11.72"


def test_embedded_task_folders_are_whole_or_absent_and_score(scirep, tmp_path):
    out = tmp_path / "a" / "b"
    embedded = ("data", "get", "embedded", "--out", out, "--papers")
    code, _, err = scirep(*embedded, 100)
    assert code == 2 and "300" in err
    assert not list(tmp_path.iterdir())
    for _ in range(2):  # the same command again
        assert scirep(*embedded, 300, "--seed", 4)[:2] == (0, f"{out}\n")
    code, printed, _ = scirep("score", out / "csfcube", "--vectors", "oracle", "--metrics", "ndcg%20", "--json")
    assert {r["source"] for r in json.loads(printed)} == {"folder"}
    assert min(r["value"] for r in json.loads(printed)) > 80
    code, _, err = scirep(*embedded, 300)
    assert code == 2 and "not empty" in err


def test_ctrl_c_exits_with_130(scirep, monkeypatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scirep_core.data.manifests.catalogue", interrupted)
    assert scirep("data", "list") == (130, "", "scirep: stopped\n")


def listed(scirep, kind: str) -> dict[str, dict[str, object]]:
    code, out, err = scirep("list", kind, "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: row for row in rows}


@pytest.mark.parametrize("kind", listing.KINDS)
def test_a_table_names_all_and_json_says_all(scirep, kind: str):
    rows = listed(scirep, kind)
    code, out, _ = scirep("list", kind)
    first, _, *lines = out.rstrip().splitlines()
    assert code == 0 and first.split() == [str(len(rows)), kind]
    assert [line.split()[0] for line in lines] == list(rows)
    assert len({tuple(row) for row in rows.values()}) == 1


def test_what_is_listed_is_what_commands_take(scirep):
    encoders, tasks = listed(scirep, "encoders"), listed(scirep, "tasks")
    besides = set(encoders) - set(ENCODERS)
    assert besides == {"tfidf", "bm25", "random", "oracle"} and set(ENCODERS) < set(encoders)
    assert all(load_system(name).name == name for name in (*besides, "minilm"))
    assert list(listed(scirep, "suites")) == list(SUITES)
    assert list(listed(scirep, "conditionings")) == list(CONDITIONINGS)
    assert {task for held in SUITES.values() for task in held} <= set(tasks)
    name = "scirepeval/same_author"
    assert load_task(name, papers=300).format == tasks[name]["format"]
    asked = {name.removesuffix("_name_match") for accepted in ACCEPTED.values() for name in accepted}
    known = set(listed(scirep, "metrics"))
    assert {f"{name}{'@k' * one.at}" for name, one in METRICS.items()} <= known
    assert {name for name in asked if f"{name}@k" not in known} <= known


def test_the_version_is_told_and_the_shell_completes_commands(scirep):
    assert scirep("--version") == (0, f"scirep {scirep_core.__version__}\n", "")
    asked = {"_SCIREP_COMPLETE": "complete_bash", "COMP_WORDS": "scirep en", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "scirep_core.cli"], env={**os.environ, **asked}, text=True,
                          capture_output=True, check=False)  # fmt: skip
    assert done.stdout.split() == ["encode"], done.stderr


@pytest.mark.parametrize("words", [("--quiet", "run", "a"), ("run", "a", "--quiet")], ids=" ".join)
def test_quiet_leaves_out_progress_and_keeps_results_and_errors(scirep, monkeypatch, words: tuple[str, ...]):
    ends = [("", 0, "done.ipynb\n"), ("a: no such paper", 2, "")]
    for error, code, printed in ends:

        def run(*given: Any, error: str = error, **more: object) -> object:
            for line in filter(None, ("a: running", error)):
                given[4](line)
            return SimpleNamespace(ok=not error, notebook="done.ipynb", error=error, exit_code=2)

        monkeypatch.setattr(runner, "run", run)
        said = f"{error}\n" * bool(error)
        assert scirep("run", "a") == (code, printed, f"a: running\n{said}")
        assert scirep(*words) == (code, printed, said)
    assert scirep("--quiet", "list", "encoder")[2].startswith("scirep: list 'encoder'")
    assert not terminal.is_hushed()


def test_quiet_hides_bars_and_no_warning(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.hushed():
        assert list(terminal.bar(range(3), "counting")) == [0, 1, 2]
        terminal.say("on the way")
        terminal.warn("warning: not all is there")
    assert capsys.readouterr().err == "warning: not all is there\n"
    assert list(terminal.bar(range(3), "counting")) == [0, 1, 2]
    assert "counting" in capsys.readouterr().err
