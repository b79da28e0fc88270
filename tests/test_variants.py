"""Variants are the tables' rows; a model is trained once, under a key of all it depends on, and killed trainings go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.encoders.conditioning.base import CONDITIONINGS
from scirep_core.encoders.models.model_store import describe, load_model
from scirep_core.encoders.trunk.number_types import available
from scirep_core.kit.errors import ConfigError
from scirep_core.training import loop, sets, variants
from scirep_core.training import models as trained
from scirep_core.training.batching import plan
from scirep_core.training.data.pairs import SOURCES
from scirep_core.training.models import obtain
from scirep_core.training.variants import BUDGETS, PARTITIONS, VARIANTS, at_rate, budget, config, variant


def test_every_variant_is_complete():
    for name, one in VARIANTS.items():
        assert one.kind in (*CONDITIONINGS, ""), name
        assert set(one.tasks) <= set(TRAINING) or set(one.tasks) <= set(SOURCES), name
        assert (not one.kind) == (name == "Base" or bool(one.members)), name
        assert all(variants.plain(member)[0] in VARIANTS for member in one.members), name
        assert not one.after or VARIANTS[one.after].kind, name
    assert [VARIANTS[name].many for name in ("Base", "MTL CLS", "MTL CTRL", "Adapters + MTL CTRL")] == [0, 0, 1, 1]
    assert not VARIANTS["mean of two MTL CLS"].many
    sizes = [len(chosen) for chosen in variants.SUBSETS.values()]
    assert sizes == [1] * 4 + [2] * 6  # Table 11: each format alone and every two
    assert list(variants.SUBSETS)[:5] == [f"MTL CTRL on {rest}" for rest in ("CLF", "RGN", "PRX", "SRCH", "CLF+RGN")]
    both = VARIANTS["MTL CTRL on PRX+SRCH"].tasks
    assert {TASKS[name].format for name in both} == {"PRX", "QRY"} and len(both) == 4


def test_random_partitions_have_the_formats_sizes_and_differ():
    formats = {name: TASKS[name].format for name in TRAINING}
    # 41 draws the formats themselves, and draws again
    drawn = [variants.random_partition(number) for number in range(1, 45)]
    assert all(one != formats and Counter(one.values()) == Counter(formats.values()) for one in drawn)
    assert len({tuple(one.values()) for one in drawn[:5]}) == 5
    assert drawn[0] == variants.random_partition(1) == dict(VARIANTS[PARTITIONS[0]].codes)


def test_a_training_is_as_long_and_fast_as_its_variant_says():
    given = budget("small", train={"steps": 100, "learning_rate": 1e-3})
    assert [config(name, 0, given).steps for name in ("MTL CLS", "Adapters", "Fusion")] == [100, 300, 200]
    assert config("Adapters", 0, given).conditioning_lr == pytest.approx(3e-3)
    assert config("MTL CTRL", 0, given).conditioning_lr is None
    assert [config(name, 0, given).dense for name in ("MTL CLS", "MTL CLS dense", "one pass dense")] == [0, 1, 1]
    assert config("MTL CTRL, one task after another", 0, given).mixing == "sequential"
    assert config("MTL CLS", 7, given).seed == 7
    published = config("Adapters", 0, BUDGETS["published"])
    assert (published.epochs, published.batch * published.accumulation, published.warmup) == (6.0, 256, 700)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: variant("MTL CTL"), "did you mean 'MTL CTRL'"), (lambda: budget("smal"), "did you mean 'small'"),
    (lambda: budget("small", widht=3), "did you mean 'width'"),
    (lambda: budget("small", train={"stepz": 3}), "did you mean 'steps'"),
    (lambda: obtain("MTL CLS", 0, budget("tiny"), "scibertt"), "did you mean 'scibert'"),
    (lambda: trained.base("embedded", budget("samples")), "knows the words of the embedded literature alone"),
])  # fmt: skip
def test_unknown_names_are_refused_with_the_nearest(call, said):
    with pytest.raises(ConfigError, match=said):
        call()


TINY = budget("tiny", papers=500, train={"steps": 3, "warmup": 1, "batch": 16})


def test_a_model_is_trained_once(base: str, monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    (first,) = obtain("MTL CTRL", 0, TINY, base, said.append)
    assert said == [f"training MTL CTRL on {base}, seed 0: 3 steps in float32"]
    monkeypatch.setattr("scirep_core.training.models.train", None)  # a second training would fail
    assert obtain("MTL CTRL", 0, TINY, base, said.append) == [first] and len(said) == 1
    told = describe(first.folder)
    assert (told.kind, told.made["variant"], told.made["training"]["steps"]) == ("control_codes", "MTL CTRL", 3)
    assert not list(first.folder.parent.glob(f"{first.folder.name}.*"))  # neither checkpoints nor locks stay


def test_what_a_model_depends_on_makes_another_model(base: str):
    (one,) = obtain("MTL CLS", 0, TINY, base)
    for other in (
        obtain("MTL CLS", 1, TINY, base),
        obtain("MTL CLS", 0, budget("tiny", papers=500, train={"steps": 2, "warmup": 1, "batch": 16}), base),
        obtain("MTL CLS dense", 0, TINY, base),
    ):
        assert other[0].key != one.key
        assert describe(other[0].folder).fingerprint != describe(one.folder).fingerprint


def test_ensembles_are_made_of_trainings_of_their_own_and_fusion_goes_on_from_its_adapters(base: str):
    first, second = obtain("mean of two MTL CLS", 0, TINY, base)
    assert first == obtain("MTL CLS", 0, TINY, base)[0]
    assert describe(second.folder).made["train"]["seed"] == 1000
    assert describe(second.folder).files["model.safetensors"] != describe(first.folder).files["model.safetensors"]
    (adapters,), (fusion,) = (obtain(name, 0, TINY, base) for name in ("Adapters", "Fusion"))
    assert describe(fusion.folder).made["before"] == adapters.key
    before, after = (load_model(one.folder).model for one in (adapters, fusion))
    kept, found = before.conditioning.state_dict(), after.conditioning.state_dict()
    assert all(torch.equal(found[name], value) for name, value in kept.items())  # the second stage leaves them
    assert all(torch.equal(a, b) for a, b in zip(before.trunk.parameters(), after.trunk.parameters(), strict=True))
    own = [describe(one.folder).made["training"]["documents"] for one in (adapters, fusion)]
    assert min(own) >= 32 and own[0] > own[1]  # adapters are trained for longer
    both = [trained.documents_of(one) for one in (adapters, fusion)]
    assert both == [own[0], sum(own)]  # and of what it goes on from
    assert trained.documents_of(obtain("Base", 0, TINY, base)[0]) == 0


def test_a_partition_trains_every_task_under_its_own_code(base: str):
    codes, tasks = VARIANTS[PARTITIONS[0]].codes, sets.examples(trained.base(base, TINY), TINY)[1]
    found = sets.of_variant(VARIANTS[PARTITIONS[0]], tasks)
    assert {task.name: (task.format, task.query_format) for task in found} == {n: (c, c) for n, c in codes.items()}
    only = sets.of_variant(VARIANTS["MTL CTRL on RGN"], tasks)
    assert [task.name for task in only] == list(variants.of_formats(["RGN"]))


def test_the_base_is_scored_as_it_is_and_by_name_is_its_folder(base: str):
    (made,) = obtain("Base", 3, TINY, base)
    assert (Path(made.encoder), made.folder) == (Path(base), Path(base))
    assert (trained.base("minilm", budget("samples")).folder / "model.safetensors").is_file()
    assert obtain("Base", 0, budget("samples"), "minilm")[0].encoder == "minilm"  # pooled as its authors do


def test_every_variant_encodes_as_many_documents(base: str):
    given = replace(budget("tiny", papers=500), documents=2000, looks=4)
    start = trained.base(base, given)
    names = "MTL CLS", "Adapters", "Fusion", "MTL CTRL on RGN", "MTL CTRL on PRX", "MTL CTRL, proportional batches"
    for name in names:
        tasks = sets.examples(start, given, VARIANTS[name])[1]
        settings = config(name, 0, given, tasks)
        sizes = {task.name: len(task) for task in tasks}
        widths = {task.name: 3 if task.kind == "triplet" else 1 for task in tasks}
        plans = [plan(sizes, settings.batch, settings.mixing, 0, step) for step in range(settings.steps)]
        seen = sum(len(rows) * widths[task] for rows_of in plans for task, rows in rows_of.items())
        assert abs(seen - 2000) < 120, name  # a step more or less
        assert settings.validate_every == -(-settings.steps // 4)
    tasks = sets.examples(start, replace(given, documents=600), VARIANTS["SciMult Vanilla"])[1]
    names = "SciMult Vanilla", "SciMult MHAExpert", "SciMult Vanilla, as long"  # a control of what has two stages
    first, second, both = (config(name, 0, replace(given, documents=600), tasks).steps for name in names)
    assert first + second == pytest.approx(both, abs=1)


def test_two_looks_without_a_better_dev_loss_end_a_training_on_open_papers(base: str, monkeypatch: pytest.MonkeyPatch):
    patience = BUDGETS["open"].train["patience"]
    assert patience == 2
    real, number = loop.look_at, iter(range(99))

    def worse(*given: Any) -> Any:
        look = real(*given)
        # step 0 is looked at first; the second look of training is the best
        return look._replace(losses=dict.fromkeys(look.losses, abs(next(number) - 2.0)))

    monkeypatch.setattr(loop, "look_at", worse)
    train = {"batch": 16, "warmup": 1, "validation_rows": 20, "patience": patience}
    (made,) = obtain("MTL CLS", 3, replace(budget("tiny", papers=500, train=train), documents=600, looks=6), base)
    how = describe(made.folder).made
    done, asked = how["training"], how["train"]
    assert [look["step"] for look in done["curve"]] == [asked["validate_every"] * i for i in (0, 1, 2, 3, 4)]
    assert done["best"]["step"] == 2 * asked["validate_every"] < done["steps"] < asked["steps"]


@pytest.mark.parametrize(
    ("features", "precision"), [({"avx512_bf16": True}, "bfloat16"), ({"avx512_f": True}, "float32")]
)
def test_a_processor_without_bfloat16_trains_in_float32_and_says_so(base, monkeypatch, features, precision):
    monkeypatch.setenv("SCIREP_DEVICE", "cpu")
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: features)
    said: list[str] = []
    train = {"steps": 2, "warmup": 1, "batch": 16, "precision": "bfloat16"}
    (made,) = obtain("MTL CLS", 4, budget("tiny", papers=500, train=train), base, said.append)
    assert describe(made.folder).made["train"]["precision"] == precision
    assert said[-1].endswith(f"2 steps in {precision}")
    assert available("bfloat16", "cpu") == precision and available("float16", "cpu") == "float16"
    assert available("bfloat16", "mps") == "float32"


def test_the_learning_rate_is_the_one_whose_trial_is_lowest_on_the_dev_part(base: str):
    given = budget("tiny", papers=500, train={"batch": 16, "warmup": 1, "validation_rows": 20}, documents=240, looks=2)
    grid = replace(given, rates=(1e-5, 1e-2, 0.5))
    said: list[str] = []
    (made,) = obtain("MTL CTRL", 1, grid, base, said.append)
    losses = {}
    for rate in grid.rates:
        (trial,) = obtain("MTL CLS", 0, replace(at_rate(grid, rate), documents=80, looks=1), base, make=False)
        losses[rate] = describe(trial.folder).made["training"]["best"]["loss"]
    best = min(losses, key=losses.get)
    how = describe(made.folder).made
    assert how["train"]["learning_rate"] == best and how["train"]["head_lr"] == 10 * best
    assert len(set(losses.values())) == 3
    assert said[-2].startswith(f"MTL CLS on {base}: learning rate {best:g} of dev losses")
    curve = how["training"]["curve"]
    assert [look["step"] for look in curve][-1] == how["train"]["steps"] and len(curve) == 3
    assert set(curve[0]["validation"]) == set(curve[0]["measures"]) == set(how["dev"])
    assert obtain("MTL CTRL", 1, at_rate(grid, best), base, make=False) == [made]
    tried = {("MTL CLS", rate): loss for rate, loss in losses.items()}
    said.clear()
    assert obtain("MTL CTRL", 1, grid, base, said.append, tried=dict(tried)) == [made] and len(said) == 1
    with pytest.raises(ConfigError, match="is not trained"):  # what was tried elsewhere decides, and is not tried again
        obtain("MTL CTRL", 1, grid, base, make=False, tried=tried | {("MTL CLS", max(losses, key=losses.get)): -1.0})
    with pytest.raises(ConfigError, match="what decides is the dev part"):
        obtain("MTL CTRL", 1, replace(grid, looks=0), base)
    assert variants.pilot(VARIANTS["PALs"]) == "MTL CLS" and variants.pilot(VARIANTS["Fusion"]) == "Adapters"
