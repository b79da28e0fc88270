"""SciMult's published checkpoints, read (Zhang et al. 2023, section 3.2): scimult_vanilla.ckpt, scimult_moe.ckpt and kin.

A checkpoint is a pickle of {model_dict, encoder_params}. It is read weights-only, which runs nothing that is in it, or not
at all; whoever names such a file has asked for that, so no further permission is needed. Its weights are BERT's, stored
twice (one encoder serves queries and candidates under two names), and in some blocks experts' in place of BERT's own:

    encoder.layer.N.attention.self.moe_{query,key,value}.E, attention.output.moe_dense.E        MHAExpert
    encoder.layer.N.moe_layer.interm_layers.E.dense, output_layers.E.{dense,LayerNorm}          FFNExpert

E is 0 for search, 1 for link prediction, 2 for classification (experts.py); the blocks are read off the names. `Report`
lists what is used and what is not. A name inside the encoder that nobody knows is refused, as a learned gate is, or a
projection after the encoder: left out it would give other vectors without a word.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.conditioning.experts import TASKS, FFNExperts, MHAExperts
from scirep_core.encoders.trunk import bert
from scirep_core.kit.errors import ConfigError, some_of

COPIES = ("question_model.encoder.", "ctx_model.encoder.")
"""The two names of the one encoder; the first that is there is kept."""
PARTS = {
    "attention.self.moe_query.E": "query", "attention.self.moe_key.E": "key", "attention.self.moe_value.E": "value",
    "attention.output.moe_dense.E": "dense", "moe_layer.interm_layers.E.dense": "intermediate",
    "moe_layer.output_layers.E.dense": "output", "moe_layer.output_layers.E.LayerNorm": "norm2",
}  # fmt: skip
"""A checkpoint's name of an expert's module -> the trunk's module that it stands in for."""
OWN: dict[str, tuple[str, ...]] = {"plain": (), MHAExperts.kind: MHAExperts.parts, FFNExperts.kind: FFNExperts.parts}
"""Kind -> the modules of an expert block that are the experts' own."""
USELESS = {
    "embeddings.position_ids": "a buffer that older libraries saved",
    "embeddings.token_type_ids": "a buffer that older libraries saved",
    "pooler.": "the vector is read before it",
    "linear.": "for entities of question answering (q_rep_method)",
}
"""Beginnings of names that are left out, and why."""
REFUSED = ("use_infer_expert", "factor_rep", "projection_dim")
"""Settings of the published code under which it computes something else."""
AGAIN = "Fetch the file again, whole"
PLAIN = "link"
"""The expert that stands in the trunk's own place, for who reads the trunk alone."""


class Report(NamedTuple):
    """What a checkpoint holds; `str` is for people.

    Attributes:
        copies: prefixes under which the encoder is stored, all with the same numbers.
        kind: plain, mha_experts or ffn_experts.
        blocks: numbers of the expert blocks.
        used: names inside the encoder that are used.
        dropped: name in the file -> why it is left out.
        unexpected: names outside the encoder that nobody knows.
        settings: encoder_params, as they are.
    """

    file: str
    copies: tuple[str, ...]
    kind: str
    blocks: tuple[int, ...]
    used: tuple[str, ...]
    dropped: Mapping[str, str]
    unexpected: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def pooling(self) -> str:
        """How tokens become one vector: `mean` where the settings say mean_pool, else `cls`."""
        return "mean" if self.settings.get("mean_pool") else "cls"

    def __str__(self) -> str:
        """Return lines of text."""
        experts = f", {', '.join(f'{i} {task}' for i, task in enumerate(TASKS))} in blocks {listed(self.blocks, 99)}"
        stored = " and ".join(f"{copy}*" for copy in self.copies)
        reasons = dict.fromkeys(self.dropped.values())
        return "\n".join([
            f"{self.file}: {self.kind}{experts if self.blocks else ''}; pooling {self.pooling}",
            f"  settings    {listed([f'{key}={value}' for key, value in self.settings.items()], 99)}",
            f"  kept        {len(self.used)} weights of {stored}" + (", which are equal" if len(self.copies) > 1 else ""),
            *(f"  dropped     {listed(n for n, why in self.dropped.items() if why == one)}: {one}" for one in reasons),
            "  missing     none",
            f"  unexpected  {listed(self.unexpected)}",
        ])  # fmt: skip


class Checkpoint(NamedTuple):
    """The weights that are used, under their names inside the encoder, and the report."""

    tensors: dict[str, Tensor]
    report: Report


def read(path: Path) -> Checkpoint:
    """Return a checkpoint whose encoder is whole.

    Raises ConfigError for a file that is damaged, holds what weights-only reading refuses or is no SciMult checkpoint, for
    copies that differ, experts of both kinds, weights that are missing, ones inside the encoder that nobody knows, and
    settings under which the published code computes something else.
    """
    model, settings = _content(path)
    copies = tuple(copy for copy in COPIES if any(name.startswith(copy) for name in model))
    if not copies:
        prefixes = " or ".join(f"{copy}*" for copy in COPIES)
        raise ConfigError(f"{path}: no SciMult checkpoint: no weight is named {prefixes}, but {listed(model)}")
    halves = [{name.removeprefix(copy): value for name, value in model.items() if name.startswith(copy) and not _useless(name)}
              for copy in copies]  # fmt: skip
    inside, other = halves[0], halves[-1]  # what shares its memory is the same
    differ = [name for name in inside | other
              if name not in inside or name not in other or not _same(inside[name], other[name])]  # fmt: skip
    if differ:
        raise ConfigError(
            f"{path}: {' and '.join(f'{copy}*' for copy in copies)} differ in {len(differ)} of {len(inside)} weights "
            f"({listed(differ)}): SciMult has one encoder for both sides. Fetch its own file, or save one copy alone"
        )
    if strange := next((name for name, value in inside.items() if not value.is_floating_point()), None):
        raise ConfigError(f"{path}: weight {strange} holds {inside[strange].dtype}, no fractions. {AGAIN}")
    kind, blocks = _experts(path, inside)
    expected = _expected(sizes(path, inside)["num_hidden_layers"], kind, blocks)
    if missing := [name for name in expected if name not in inside]:
        raise ConfigError(f"{path}: its encoder misses {listed(missing)}. {AGAIN}")
    if unknown := [copies[0] + name for name in inside if name not in expected]:
        raise ConfigError(f"{path}: its encoder has {listed(unknown)}, which SciMult has not. Fetch its own file")
    if refused := [f"{key}={settings[key]!r}" for key in REFUSED if settings.get(key)]:
        raise ConfigError(f"{path}: encoder_params has {listed(refused)}, not SciMult's: it is not computed here")
    dropped = {name: why for name in model if (why := _useless(name))}
    outside = tuple(name for name in model if not name.startswith(COPIES) and name not in dropped)
    report = Report(path.name, copies, kind, blocks, tuple(expected), dropped, outside, settings)
    return Checkpoint({name: inside[name] for name in expected}, report)


def _content(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        if zipped := zipfile.is_zipfile(path):  # its weights stay on the disk until they are used
            with zipfile.ZipFile(path) as archive:  # torch does not look at checksums
                if damaged := archive.testzip():
                    raise ConfigError(f"{path}: is damaged, its part {damaged} has another checksum. {AGAIN}")
        found = torch.load(path, map_location="cpu", weights_only=True, mmap=zipped)
    except ConfigError:
        raise
    except (OSError, MemoryError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}). {AGAIN}") from None
    except Exception as error:
        message = " ".join(str(error).split())
        if refused := re.search(r"GLOBAL (\S+)|but got (.{1,60})", message):
            raise ConfigError(
                f"{path}: holds {refused[1] or refused[2]}, which weights-only reading refuses, and it was not run. If you trust "
                "the file, load it elsewhere and save {model_dict, encoder_params} again, with tensors, texts and numbers alone"
            ) from None
        raise ConfigError(f"{path}: cannot be read ({message:.80}). {AGAIN}") from None
    held = found if isinstance(found, dict) else {}
    model, settings = held.get("model_dict"), held.get("encoder_params")
    if not isinstance(model, dict) or not all(
        isinstance(name, str) and isinstance(value, Tensor) and value.layout == torch.strided
        for name, value in model.items()
    ):
        shown = listed(found) if isinstance(found, dict) else f"a {type(found).__name__}"
        raise ConfigError(f"{path}: no SciMult checkpoint: no model_dict of weights, but {shown}")
    return dict(model), dict(settings) if isinstance(settings, dict) else {}


def _same(one: Tensor, two: Tensor) -> bool:
    if one.shape != two.shape or one.dtype != two.dtype:
        return False
    return one.data_ptr() == two.data_ptr() or torch.allclose(one, two, rtol=0, atol=0, equal_nan=True)


def _useless(name: str) -> str:
    for copy in COPIES:
        name = name.removeprefix(copy).removeprefix(copy.removesuffix("encoder."))
    return next((why for start, why in USELESS.items() if name.startswith(start)), "")


def part_of(name: str) -> tuple[int, str, int] | None:
    """Return (block, module of the trunk, expert) of an expert's weight; None for another weight.

    >>> part_of("encoder.layer.3.attention.output.moe_dense.2.bias")
    (3, 'dense', 2)
    """
    found = re.fullmatch(r"encoder\.layer\.(\d+)\.(.*?)\.(\d+)(.*)\.(?:weight|bias)", name)
    part = PARTS.get(f"{found[2]}.E{found[4]}") if found else None
    return (int(found[1]), part, int(found[3])) if found and part else None


def _experts(path: Path, inside: Iterable[str]) -> tuple[str, tuple[int, ...]]:
    """Return (kind, blocks with experts). Raises ConfigError for experts of both kinds."""
    found = [of for name in inside if (of := part_of(name))]
    kinds = {kind for kind, parts in OWN.items() for _, part, _ in found if part in parts} or {"plain"}
    if len(kinds) > 1:
        raise ConfigError(f"{path}: has experts of attention and of the feed-forward part; SciMult has one of the two")
    return kinds.pop(), tuple(sorted({block for block, _, _ in found}))


def sizes(path: Path, inside: Mapping[str, Tensor]) -> dict[str, int]:
    """Return the shape that weights tell, under config.json's names. Raises ConfigError where one to tell it is missing."""
    tables = {
        "vocab_size": "embeddings.word_embeddings.weight", "type_vocab_size": "embeddings.token_type_embeddings.weight",
        "max_position_embeddings": "embeddings.position_embeddings.weight",
    }  # fmt: skip
    inner = r"encoder\.layer\.\d+\.(intermediate|moe_layer\.interm_layers\.\d+)\.dense\.weight"
    linear = next((name for name in inside if re.fullmatch(inner, name)), "encoder.layer.0.intermediate.dense.weight")
    if lacking := [name for name in (*tables.values(), linear) if name not in inside]:
        raise ConfigError(f"{path}: its encoder misses {listed(lacking)}. {AGAIN}")
    if flat := [name for name in (*tables.values(), linear) if inside[name].dim() != 2]:
        shape = tuple(inside[flat[0]].shape)
        raise ConfigError(f"{path}: weight {flat[0]} has shape {shape}, and should be a table. {AGAIN}")
    layers = {int(name.split(".")[2]) for name in inside if re.match(r"encoder\.layer\.\d+\.", name)}
    return {
        **{key: len(inside[name]) for key, name in tables.items()}, "num_hidden_layers": max(layers) + 1,
        "hidden_size": inside[linear].shape[1], "intermediate_size": inside[linear].shape[0],
    }  # fmt: skip


def _expected(layers: int, kind: str, blocks: tuple[int, ...]) -> dict[str, None]:
    names = {f"{name}.weight": None for name in bert.EMBEDDINGS.values()} | {"embeddings.LayerNorm.bias": None}
    for i in range(layers):
        own = OWN[kind] if i in blocks else ()
        modules = [name for part, name in bert.LAYER.items() if part not in own]
        experts = [name for name, part in PARTS.items() if part in own]
        modules += [name.replace(".E", f".{e}") for name in experts for e in range(len(TASKS))]
        names |= {f"encoder.layer.{i}.{name}.{leaf}": None for name in modules for leaf in ("weight", "bias")}
    return names


def build(found: Checkpoint, shape: bert.Shape) -> Conditioned:
    """Return the model: a plain trunk, or one with the experts as the routes search, link, classification.

    Where experts stand, the trunk's own module, which nobody uses, is that of `PLAIN`. Raises ConfigError for a weight of
    another shape.
    """
    report = found.report
    trunk, tensors = bert.Trunk(shape), dict(found.tensors)
    own = trunk.state_dict()
    experts: dict[str, Tensor] = {}
    for name, value in found.tensors.items():
        if of := part_of(name):
            block, part, expert = of
            leaf = name.rpartition(".")[2]
            place = f"layers.{block}.{part}.{leaf}"
            if value.shape != (right := own[place].shape):
                raise ConfigError(f"{report.file}: weight {name} has shape {tuple(value.shape)}, not {tuple(right)}")
            experts[f"experts.{block}.{part}.{expert}.{leaf}"] = value
            if TASKS[expert] == PLAIN:
                tensors[bert.published_name(place)] = value
    bert.load(trunk, tensors, report.file)
    if report.kind == "plain":
        return Conditioned(trunk, conditioning("plain", trunk), report.pooling).eval()
    made = conditioning(report.kind, trunk, TASKS, blocks=list(report.blocks))
    made.load_state_dict(experts)
    return Conditioned(trunk, made, report.pooling).eval()


def listed(names: Iterable[object], most: int = 4) -> str:
    """Return names, at most so many of them; `none` for none."""
    return some_of(names, most) or "none"
