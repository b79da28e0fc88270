"""The loop: what a step computes, what it moves, what it refuses, and that it goes on where it was."""

from __future__ import annotations

import json
import math
import random
import tomllib
from dataclasses import replace

import numpy as np
import pytest
import scripts
import small_training as small
import torch
import yaml
from small_training import same, weights
from torch.nn import functional as F

from scirep_core.encoders.conditioning.base import CONDITIONINGS, Conditioned, conditioning
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.kit.errors import CacheError, ConfigError, NumericError
from scirep_core.training import loop, objective
from scirep_core.training.checkpoint import BEST, CHECKPOINT, LOG, read_checkpoint, read_log
from scirep_core.training.config import EXAMPLE, TrainConfig, TrainFile, from_params, read_config
from scirep_core.training.loop import train
from scirep_core.training.objective import balanced, drawn, key_of, make_heads, make_optimizer

SHORT = replace(small.CONFIG, steps=12, warmup=3, checkpoint_every=5)
DRY = replace(SHORT, dropout=0.0)


# ---- what a step computes --------------------------------------------------------------------------------------------


def alone(model: Conditioned, task, document: int, format: str) -> torch.Tensor:
    """A document's vector in a batch of its own."""
    vector = model(model.pack(task.documents.of([document]), [format]))[0]
    return vector[model.conditioning.route(format)] if model.conditioning.shared_pass else vector


def by_hand(model: Conditioned, tasks, config: TrainConfig) -> dict[str, torch.Tensor]:
    """The same training written without batches: every example encoded alone, losses and AdamW as torch has them."""
    torch.manual_seed(drawn(config.seed, "heads"))
    heads = make_heads(tasks, small.SHAPE.hidden_size, 0.0)
    told, inner = model.conditioning.trained(model.trunk), {id(p) for p in model.trunk.parameters()}
    own = [p for p in told if id(p) not in inner]
    groups = [
        ([p for p in told if id(p) in inner], config.learning_rate), (own, config.conditioning_lr if own else 0.0),
        (list(heads.parameters()), config.head_lr),
    ]  # fmt: skip
    settings = [{"params": found, "lr": rate, "peak": rate} for found, rate in groups if found]
    optimizer = torch.optim.AdamW(settings, eps=config.epsilon, weight_decay=0.0)
    moved = [p for group in optimizer.param_groups for p in group["params"]]
    by_kind = {"classification": F.cross_entropy, "multi_label": F.binary_cross_entropy_with_logits}
    first: list[float] = []
    for step in range(config.steps):
        losses = []
        rows = loop.plan({t.name: len(t) for t in tasks}, config.batch, config.mixing, config.seed, step)
        for task in tasks:
            mine = rows[task.name]
            if task.kind == "triplet":
                sides = zip(task.rows[mine].T, ("QRY", "PRX", "PRX"), strict=True)
                three = [torch.stack([alone(model, task, d, format) for d in some]) for some, format in sides]
                losses.append(F.triplet_margin_loss(*three, margin=1.0))
                continue
            x = torch.stack([alone(model, task, d, task.format) for d in task.rows[mine]])
            z, y = heads[key_of(task.name)](x), torch.from_numpy(task.targets[mine])
            losses.append(by_kind[task.kind](z, y) if task.kind in by_kind else F.mse_loss(z[:, 0], y))
        if config.loss_balance:
            values = [float(loss.detach()) for loss in losses]
            first = first if step % math.ceil(sum(map(len, tasks)) / config.batch) else values
            losses = [loss * (v / w) ** config.loss_balance for loss, v, w in zip(losses, values, first, strict=True)]
        optimizer.zero_grad()
        sum(losses).backward()
        torch.nn.utils.clip_grad_norm_(moved, config.clip)
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * config.share(step, config.steps)
        optimizer.step()
    return weights(model)


@pytest.mark.parametrize("kind", ["plain", "control_codes", "bottleneck", "one_pass"])
def test_a_training_is_that_of_examples_encoded_one_by_one(kind, tmp_path):
    # a large epsilon, or Adam makes a whole step of the last digit of a gradient that is nearly 0
    config = replace(DRY, steps=4, warmup=1)
    model, other = small.model(kind, dropout=0.0), small.model(kind, dropout=0.0)
    before = weights(model)
    train(model, small.tasks(), config, tmp_path)
    expected = by_hand(other.train(), small.tasks(), config)
    assert max(float((expected[n] - before[n]).abs().max()) for n in before) > 1e-3
    # a coordinate that got no gradient but rounding may go either way: nearly all of them agree
    far = torch.cat([(weights(model)[n] - expected[n]).abs().ravel() for n in expected])
    assert float((far > 1e-4).float().mean()) < 0.01


def test_balanced_losses_weigh_by_what_is_left_of_them_since_the_epoch_began(tmp_path):
    # 250 rows, 100 a batch: epochs of three steps
    config = replace(DRY, steps=8, warmup=1, batch=100, loss_balance=2.0, epsilon=1.0, learning_rate=0.1, head_lr=0.5)
    model, other = small.model(dropout=0.0), small.model(dropout=0.0)
    train(model, small.tasks(), config, tmp_path / "balanced")
    expected = by_hand(other.train(), small.tasks(), config)
    torch.testing.assert_close(weights(model), expected, rtol=0, atol=2e-5)
    train(plain := small.model(dropout=0.0), small.tasks(), replace(config, loss_balance=0.0), tmp_path / "plain")
    assert max(float((weights(plain)[name] - expected[name]).abs().max()) for name in expected) > 5e-4
    first = read_checkpoint(tmp_path / "balanced" / CHECKPOINT).meta["at"]["first"]
    logged = {row["step"]: row["losses"] for row in read_log(tmp_path / "balanced")}
    assert first == pytest.approx(logged[7])  # the epoch that began last

    losses = {"a": torch.tensor(3.0), "b": torch.tensor(4.0)}
    given = (losses, np.ones(3), ["a", "b", "c"], {"a", "b"}, {"a": 0.0}, 0.5, 1)
    found, first = balanced(*given)  # a loss that begins at zero weighs one
    assert found.tolist() == [1, 1, 1] and first == {"a": 0.0, "b": 4.0}
    found, _ = balanced(*given[:4], {"a": 12.0, "b": 1.0, "c": 5.0}, *given[5:])
    assert found.tolist() == [0.5, 2, 1]


def test_accumulation_is_a_larger_batch(tmp_path):
    found = []
    for batch, accumulation in ((16, 1), (4, 4)):
        model, more = small.model(dropout=0.0), {"epsilon": 1.0, "learning_rate": 0.05, "head_lr": 0.1}
        # without clipping, which would hide that a sum was not a mean
        config = replace(DRY, batch=batch, accumulation=accumulation, clip=0.0, **more)
        train(model, small.tasks(), config, tmp_path / str(batch))
        found.append(weights(model))
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-5)
    assert not same(found[0], weights(small.model(dropout=0.0)))


def test_dense_labels_take_every_label_in_the_batch(tmp_path):
    tasks, model = small.tasks(), small.model("one_pass").eval()
    config = replace(DRY, dense=True)
    known = objective.known_of(tasks, config)
    rows = loop.plan({t.name: len(t) for t in tasks}, 12, "equal", 0, 0)
    batch = objective.gather(model, tasks, rows, known)
    there = np.unique(np.concatenate([task.rows[rows[task.name]].ravel() for task in tasks]))
    assert batch.packed.docs == len(there)
    for task in tasks[:3]:
        labelled = np.intersect1d(there, task.rows)
        np.testing.assert_array_equal(np.sort(task.rows[batch.rows[task.name]]), labelled)
    losses = objective.losses_of(model, tasks, make_heads(tasks, 16, 0.0).eval(), batch, known, config)
    assert set(losses) == {task.name for task in tasks}
    with pytest.raises(ConfigError, match="dense"):
        train(small.model("control_codes"), tasks, config, tmp_path)


def test_a_document_is_encoded_once_for_all_who_ask():
    tasks = small.tasks()[::2]
    rows = {tasks[0].name: np.array([3, 5, 3]), tasks[1].name: np.array([5, 7])}
    for kind, docs in (("plain", 3), ("one_pass", 3), ("control_codes", 4)):  # 5 under CLF and RGN
        assert objective.gather(small.model(kind), tasks, rows, objective.Known({}, {})).packed.docs == docs


# ---- what it moves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "dense"), [*((kind, False) for kind in CONDITIONINGS), ("plain", True), ("one_pass", True)]
)
def test_every_conditioning_learns_and_moves_what_it_trains_alone(kind, dense, tmp_path):
    model = small.model(kind, dropout=0.0)
    model.trunk.words.weight.requires_grad_(False)
    before, moved = weights(model), {id(p) for p in model.conditioning.trained(model.trunk)}
    config = replace(small.CONFIG, steps=60, batch=32, learning_rate=1e-2, conditioning_lr=3e-2, warmup=6, dense=dense)
    done = train(model, small.tasks(), config, tmp_path, small.tasks())
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) == (id(parameter) not in moved), name
        assert parameter.requires_grad == (name != "trunk.words.weight") and parameter.grad is None
    # at first ln 3 + ln 2 + 1 + 1 = 3.8; a frozen trunk that was never trained has little to give its adapters
    frozen = not moved & {id(p) for p in model.trunk.parameters()}
    assert done.best["loss"] < (3.7 if frozen else 1.0)
    assert not model.training and done.steps == 60 and set(done.losses) == {task.name for task in small.tasks()}
    assert done.seconds > 0 and done.documents_per_second > 0 and done.mfu > 0


def test_rates_of_groups():
    trunk = Trunk(Shape(20, 8, 12, 2, 8))
    model = Conditioned(trunk, conditioning("control_codes", trunk))
    heads = make_heads(small.tasks(), 8, 0.0)
    config = TrainConfig(layer_decay=0.8, learning_rate=1.0, conditioning_lr=3.0, head_lr=10.0, weight_decay=0.01)
    optimizer = make_optimizer(model, list(model.parameters()), heads, config)
    of = {p: group for group in optimizer.param_groups for p in group["params"]}
    assert set(of) == {*model.parameters(), *heads.parameters()}
    layers = trunk.layers
    peaks = [of[p]["peak"] for p in (trunk.words.weight, layers[0].query.weight, layers[11].query.weight)]
    assert [round(peak, 3) for peak in peaks] == [0.044, 0.055, 0.64]  # those of SciMult's code
    assert of[model.conditioning.codes.weight]["peak"] == 3.0 and {of[p]["peak"] for p in heads.parameters()} == {10.0}
    decays = [of[p]["weight_decay"] for p in (layers[0].query.weight, layers[0].query.bias, trunk.norm.weight)]
    assert decays == [0.01, 0.0, 0.0]
    with pytest.raises(ConfigError, match="nothing to train"):
        make_optimizer(model, [], torch.nn.ModuleDict(), config)


def test_schedules():
    paper = TrainConfig()
    assert [paper.share(step - 1, 10_000) for step in (1, 350, 700, 2800)] == pytest.approx([1 / 700, 0.5, 1.0, 0.5])
    shipped = TrainConfig(warmup_from=2.0)  # comes down from 1e-4 to 5e-5
    assert 5e-5 * shipped.share(349, 10_000) == pytest.approx(7.5e-5)
    line = TrainConfig(schedule="linear", warmup=10, final=0.05)
    assert [line.share(step - 1, 110) for step in (5, 10, 60, 110)] == pytest.approx([0.5, 1.0, 0.525, 0.05])
    assert TrainConfig(schedule="constant", warmup=0).share(5, 10) == 1.0
    assert TrainConfig(epochs=2, batch=10, accumulation=4).total({"a": 100, "b": 30}) == 7


def test_bfloat16_computes_and_weights_stay_float32(tmp_path):
    made = {}
    for precision in ("bfloat16", "float32"):
        model = small.model()
        train(model, small.tasks(), replace(SHORT, precision=precision), tmp_path / precision)
        assert all(p.dtype == torch.float32 for p in model.parameters())
        made[precision] = weights(model)
    assert not same(*made.values())


# ---- going on, validation, what goes wrong ---------------------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.mark.parametrize("balance", [0.0, 0.5])
def test_what_was_stopped_goes_on_to_the_same_bits_and_what_is_done_is_read(balance, tmp_path):
    short = replace(SHORT, loss_balance=balance)
    whole, model = small.model(), small.model()
    state = torch.get_rng_state()
    done = train(whole, small.tasks(), short, tmp_path / "whole")

    def stop(told):
        if told.step >= 10:
            raise Stop

    with pytest.raises(Stop):
        train(model, small.tasks(), short, tmp_path / "two", progress=stop)
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's random numbers are touched
    assert read_checkpoint(tmp_path / "two" / CHECKPOINT).meta["at"]["step"] == 5
    model = small.model()
    again = train(model, small.tasks(), replace(short, checkpoint_every=4), tmp_path / "two")
    assert same(weights(whole), weights(model))
    assert (tmp_path / "whole" / CHECKPOINT).read_bytes() == (tmp_path / "two" / CHECKPOINT).read_bytes()
    assert [row["step"] for row in read_log(tmp_path / "two")] == list(range(1, 13))
    assert again.losses == done.losses

    third, log = small.model(), (tmp_path / "two" / LOG).read_bytes()
    assert train(third, small.tasks(), short, tmp_path / "two") == again
    assert same(weights(third), weights(whole)) and (tmp_path / "two" / LOG).read_bytes() == log


def test_two_threads_give_the_same_bits_twice(tmp_path):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = []
        for name in "ab":  # sizes at which torch splits sums between threads
            model = small.model("one_pass", shape=replace(small.SHAPE, hidden_size=256, intermediate_size=256))
            config = replace(SHORT, steps=3, warmup=1, batch=160, dense=True)
            train(model, small.tasks(docs=200), config, tmp_path / name)
            found.append((tmp_path / name / CHECKPOINT).read_bytes())
        assert found[0] == found[1]
    finally:
        torch.set_num_threads(threads)


def test_a_folder_of_another_training_is_refused(tmp_path):
    train(small.model(), small.tasks(), SHORT, tmp_path)
    first, *rest = small.tasks()
    for what, given in (
        ("settings", (small.model(), small.tasks(), replace(SHORT, seed=1))),
        ("tasks", (small.model(), [replace(first, targets=first.targets[::-1]), *rest], SHORT)),
        ("model", (small.model(seed=1), small.tasks(), SHORT)), ("model", (small.model("pals"), small.tasks(), SHORT)),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=f"other {what}"):
            train(*given, tmp_path)


def test_a_flipped_bit_of_a_checkpoint_is_noticed(tmp_path):
    train(small.model(), small.tasks(), replace(SHORT, steps=3), tmp_path)
    path, rng = tmp_path / CHECKPOINT, random.Random(0)
    whole = path.read_bytes()
    for _ in range(60):
        place = rng.randrange(len(whole))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :])
        with pytest.raises(CacheError, match=r"checkpoint\.shard.*Delete it"):
            read_checkpoint(path)
    path.write_bytes(whole)
    (tmp_path / LOG).write_text("")
    with pytest.raises(CacheError, match="ends before line 3"):
        train(small.model(), small.tasks(), replace(SHORT, steps=3), tmp_path)


def test_training_stops_where_validation_gets_worse_and_the_best_weights_stay(tmp_path, monkeypatch):
    given = iter([1.5, 3.0, 2.0, 2.5, 2.5, 1.0])
    monkeypatch.setattr(loop, "look_at", lambda *_: loop.Look({"t/fos": next(given)}, {}))
    model, config = small.model(), replace(SHORT, steps=12, validate_every=2, patience=2)
    done = train(model, small.tasks(), config, tmp_path, small.tasks(1)[:1])
    assert done.steps == 8 and done.best == {"step": 4, "loss": 2.0, "losses": {"t/fos": 2.0}}
    assert same(weights(model), read_checkpoint(tmp_path / BEST).tensors)
    last = read_checkpoint(tmp_path / CHECKPOINT).tensors
    assert not torch.equal(last["model.trunk.words.weight"], model.trunk.words.weight)
    again = small.model()
    assert train(again, small.tasks(), config, tmp_path, small.tasks(1)[:1]) == done  # and it stays stopped
    assert same(weights(again), weights(model))
    looks = {row["step"]: row["loss"] for row in read_log(tmp_path) if "validation" in row}
    assert looks == {0: 1.5, 2: 3.0, 4: 2.0, 6: 2.5, 8: 2.5}  # of the base as well, which is not what was trained


def test_a_look_has_the_mean_loss_without_dropout_and_measures_each_task_by_what_it_is_of(tmp_path):
    from scipy.stats import kendalltau
    from sklearn.metrics import f1_score

    tasks, model, config = small.tasks(), small.model(), replace(SHORT, steps=30, validation_rows=40)
    train(model, tasks, replace(config, validate_every=30), tmp_path, tasks)
    (_, told) = (row["measures"] for row in read_log(tmp_path) if "validation" in row)
    assert list(told) == [task.name for task in tasks] and all(0 < value <= 100 for value in told.values())
    heads = make_heads(tasks, 16, 0.5)
    look = loop.look_at(model.train(), tasks, heads.train(), config, 0, 1)
    model.eval(), heads.eval()
    with torch.no_grad():
        vectors = torch.stack([alone(model, tasks[0], d, "CLF") for d in range(80)])
        z = {task.name: heads[key_of(task.name)](vectors[task.rows[:40]]).numpy() for task in tasks[:3]}
    fos, mesh, year, search = tasks
    loss = F.cross_entropy(torch.from_numpy(z["t/fos"]), torch.from_numpy(fos.targets[:40])).item()
    assert look.losses["t/fos"] == pytest.approx(loss, abs=1e-5)
    query, near, far = (vectors[search.rows[:40, i]] for i in range(3))
    nearer = (query - near).norm(dim=1) < (query - far).norm(dim=1)
    assert look.measures == pytest.approx({
        "t/fos": 100 * f1_score(fos.targets[:40], z["t/fos"].argmax(1), average="macro"),
        "t/mesh": 100 * f1_score(mesh.targets[:40], z["t/mesh"] > 0, average="macro"),
        "t/year": 100 * kendalltau(year.targets[:40], z["t/year"][:, 0]).statistic,
        "t/search": 100 * nearer.double().mean().item(),
    })  # fmt: skip


def test_a_loss_that_is_no_number_ends_it_with_task_and_step_and_any_name_is_a_tasks_name(tmp_path):
    named = zip(small.tasks(), ("values", "a.b", "a_b", "items"), strict=True)
    tasks = [replace(task, name=name) for task, name in named]
    told = train(small.model(), tasks, replace(SHORT, steps=3), tmp_path / "named")
    assert set(told.losses) == {task.name for task in tasks}
    tasks[2] = replace(tasks[2], targets=np.full_like(tasks[2].targets, np.nan))
    with pytest.raises(NumericError, match=r"a_b: the loss is nan at step 1\b"):
        train(small.model(), tasks[:3], SHORT, tmp_path)
    assert not (tmp_path / CHECKPOINT).exists()


def test_tasks_that_do_not_fit_are_refused(tmp_path):
    tasks, model = small.tasks(), small.model()
    short, few = (replace(small.SHAPE, **one) for one in ({"max_position_embeddings": 10}, {"vocab_size": 30}))
    for made, given, validation, reason in (
        (model, [], [], "none"), (model, tasks[:1] * 2, [], "none twice"),
        (model, tasks, [replace(tasks[0], name="t/fox")], "did you mean 't/fos'"),
        (model, [tasks[0], small.tasks()[1]], [], "one collection"),
        (model, tasks, [replace(tasks[0], classes=("a", "b", "d"))], "other classes"),
        (small.model(shape=short), tasks, [], "14 tokens.*10 places"), (small.model(shape=few), tasks, [], "tokenizer"),
        (small.model().bfloat16(), tasks, [], "float32"),
        (small.model("control_codes", routes=("CLF",)), tasks[::2], [], "RGN"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=reason):
            train(made, given, SHORT, tmp_path, validation)
    assert not list(tmp_path.iterdir())


# ---- settings --------------------------------------------------------------------------------------------------------


def test_unknown_and_wrong_settings_are_refused_with_the_nearest():
    for given, reason in (
        ({"learning_rat": 1e-3}, "did you mean 'learning_rate'"), ({"steps": 2.5}, "expected int"),
        ({"steps": True}, "expected int"),
        ({"dense": 1}, "expected bool"), ({"learning_rate": "1e-3"}, "expected float"), ({"learning_rate": np.nan}, "0 to 10"),
        ({"mixing": "equals"}, "did you mean 'equal'"), ({"dropout": 1.0}, r"0 to 0\.99"), ({"steps": 50}, "never reach the peak"),
        ({"steps": 50, "schedule": "constant"}, "never reach the peak"),
        ({"head_lr": -1.0}, "head_lr"), ({"epochs": 0}, "steps, or epochs"), ({"precision": "float16"}, "Valid: bfloat16"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=reason):
            from_params(TrainConfig, given, "x.toml: train")
    assert from_params(TrainConfig, {"learning_rate": 1, "head_lr": None}).learning_rate == 1.0
    assert from_params(TrainConfig, TrainConfig().to_json()) == TrainConfig()
    with pytest.raises(ConfigError, match=r"x\.toml: train: steps = 'many'"):
        from_params(TrainFile, {"train": {"steps": "many"}}, "x.toml")


def test_a_file_says_the_same_in_toml_yaml_and_json(tmp_path):
    (tmp_path / "a.toml").write_text(EXAMPLE)
    first = read_config(tmp_path / "a.toml")
    assert first.model.conditioning == "control_codes" and first.train.steps == 300
    values = tomllib.loads(EXAMPLE)
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(values))
    (tmp_path / "a.json").write_text(json.dumps(values))
    assert read_config(tmp_path / "a.yaml") == read_config(tmp_path / "a.json") == first
    for name, text, reason in (
        ("b.toml", "[train", "b.toml: "), ("b.yaml", "a: [", r"b.yaml:\d: "), ("b.json", "{", "b.json"),
        ("b.txt", "", "toml, .yaml or .json"), ("c.toml", "[trian]\nsteps=1", "did you mean 'train'"),
        ("c.yaml", "- 1", "c.yaml:1: expected keys"), ("d.toml", "train = 1", "section"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
        with pytest.raises(Exception, match=reason) as caught:
            read_config(tmp_path / name)
        assert getattr(caught.value, "exit_code", 0) == 2
    with pytest.raises(ConfigError, match="no such file"):
        read_config(tmp_path / "none.toml")


def test_a_machine_that_trains_needs_neither_transformers_nor_a_reader_of_data():
    scripts.alone(
        "import sys; before = {m.split('.')[0] for m in sys.modules}\n"
        "import scirep_core.training.batching, scirep_core.training.losses\n"
        "def loaded(*heavy): return {*heavy} & {m.split('.')[0] for m in sys.modules} - before\n"
        "assert not loaded('pyarrow', 'filelock', 'platformdirs', 'yaml') and 'scirep_core.data' not in sys.modules\n"
        "import scirep_core.training.loop, scirep_core.encoders.conditioning.base as c\n"
        "from scirep_core.encoders.trunk.bert import Shape, Trunk\n"
        "for kind in set(c.CONDITIONINGS) - {'prefix', 'instruction'}: c.conditioning(kind, Trunk(Shape(9, 8, 2, 2, 8)))\n"
        "import scirep_core.encoders.conditioning.prefix\n"
        "assert not loaded('transformers', 'adapters', 'sentence_transformers')"
    )
