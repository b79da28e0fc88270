"""Costs are multiples of one way's within a round, and the ensemble's are the sum of its members'."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from scripts import alone
from small_base import TINY

from scirep_core.bench.speed import efficiency
from scirep_core.bench.speed.efficiency import ALL, ONE, OVER_ONE, PER_FORMAT, SHARE, TABLE_4, TRAINING, main, measure
from scirep_core.bench.studies.study import run
from scirep_core.book.explain import recompute
from scirep_core.kit.errors import ConfigError
from scirep_core.results import read_results

LACKING = ("transformers", "sentence_transformers", "adapters", "pyarrow", "platformdirs", "pydantic", "yaml", "typer", "rich",
           "gensim", "matplotlib", "IPython", "pytrec_eval")  # fmt: skip


def test_ratios_are_taken_within_a_round_and_members_are_added(base: str, monkeypatch: pytest.MonkeyPatch):
    """The machine gets ten times slower with each round; no ratio may see it."""
    cost = {"MTL CTRL": 2.0, "Adapters": 3.0, "one pass": 1.0}
    calls = {"training": 0, "encoding": 0}

    def spent(what: str, name: str) -> float:
        calls[what] += 1
        return float(cost[name] * 10 ** ((calls[what] - 1) // len(cost)))

    names = list(cost)
    monkeypatch.setattr(efficiency, "_training", lambda name, *rest: (spent("training", name), 0.5))
    monkeypatch.setattr(efficiency, "_model", lambda name, *rest, **more: name)
    monkeypatch.setattr(efficiency, "_size", lambda model: {})
    monkeypatch.setattr(efficiency, "_encoding", lambda name, *rest: dict.fromkeys((ONE, ALL), spent("encoding", name)))
    monkeypatch.setattr(efficiency, "_count", lambda name, *rest: efficiency._row(name, PER_FORMAT, 1.0, 1, {}))
    rows = measure(TINY, base, [*names, "Adapters + MTL CTRL"], rounds=3)
    assert names == ["MTL CTRL", "Adapters", "one pass"]
    for what in (TRAINING, ONE, ALL):
        found = {row.encoder: (row.value, row.low, row.high) for row in rows if row.metric == what}
        assert found == {
            "MTL CTRL": (1.0,) * 3, "Adapters": (1.5,) * 3, "one pass": (0.5,) * 3, "Adapters + MTL CTRL": (2.5,) * 3,
        }  # fmt: skip
    assert not [row for row in rows if row.metric == OVER_ONE]  # MTL CLS is not among them
    assert {row.encoder: (row.value, row.n) for row in rows if row.metric == SHARE} == dict.fromkeys(names, (50.0, 3))


def test_the_table_is_measured_and_recorded(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    small = partial(measure, papers=12, steps=1, rounds=1)
    monkeypatch.setattr("scirep_core.bench.studies.study.measure", small)
    out = tmp_path / "efficiency.jsonl"
    rows = run("efficiency", TINY, changes={"bases": (base,)}, out=out)
    ensembles = ("Adapters + MTL CTRL", "mean of two MTL CLS")
    assert (
        len(out.read_text().splitlines()) == len(rows) == 6 * len(TABLE_4) - len(ensembles)
    )  # a share is of one training
    assert len({row.id for row in rows}) == len(rows)
    count = {row.encoder: row.value for row in rows if row.metric == PER_FORMAT}
    width = 16
    assert (count["MTL CLS"], count["MTL CTRL"], count["one pass"]) == (0, width, width)
    bottleneck = width // 4
    assert count["Adapters"] == 2 * width * bottleneck + width + bottleneck  # one layer
    assert count["Adapters + MTL CTRL"] == count["Adapters"] + count["MTL CTRL"]
    assert all(row.value > 0 for row in rows if row.metric != PER_FORMAT)
    over = {row.encoder: row.value for row in rows if row.metric == OVER_ONE}
    assert (over["MTL CLS"], over["mean of two MTL CLS"]) == (1, 2)


def test_a_shape_needs_no_data_and_little_else(tmp_path: Path):
    """A GPU machine has torch, numpy, tokenizers, safetensors, scikit-learn and pandas."""
    out = tmp_path / "rows.jsonl"
    words = ["--base", "bert-tiny", "--tokens", "32", "--papers", "4", "--steps", "1", "--rounds", "1", "--batch", "8",
             "--variants", "Adapters, MTL CLS, one pass"]  # fmt: skip
    code = (
        f"import sys\nfor name in {LACKING}: sys.modules[name] = None\n"
        f"from scirep_core.bench.speed.efficiency import main\nsys.exit(main({[*words, '--out', str(out)]}))"
    )
    alone(code, SCIREP_HOME=str(tmp_path / "home"))
    rows = read_results(out)
    assert {row.split for row in rows} == {"bert-tiny"}
    assert {row.encoder for row in rows} == {"Adapters", "MTL CLS", "one pass"}
    found = rows[0].parameters
    assert (found["mean_tokens"], found["width"], found["threads"]) == (32, 16, 1)
    assert found["command"].startswith("python -m scirep_core.bench.speed.efficiency --base bert-tiny")
    assert recompute(rows[0]) == found["command"]


@pytest.mark.parametrize(("words", "said"), [
    (["--base", "bert-tiny", "--tokens", "600"], "takes 3 to 512"), (["--base", "bert-tyni"], "unknown base"),
])  # fmt: skip
def test_bad_words_are_one_line(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*words, "--out", str(tmp_path / "rows.jsonl")]) == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize(("more", "said"), [({"rounds": 0}, "one or more"), ({"names": ["Base"]}, "is not trained")])
def test_bad_input_is_refused(base: str, more: dict, said: str):
    with pytest.raises(ConfigError, match=said):
        measure(TINY, base, **more)
