"""What must fit together before a model is trained: tasks, their documents, the model, the settings."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.training.config import TrainConfig
from scirep_core.training.contrast import check_negatives
from scirep_core.training.data import TrainTask


def check(model: Conditioned, tasks: Sequence[TrainTask], validation: Sequence[TrainTask], config: TrainConfig) -> None:
    """Raise ConfigError for tasks that do not fit together, or not the model."""
    names = [task.name for task in tasks]
    if not names or len(set(names)) < len(names):
        raise ConfigError(f"tasks to train on: {', '.join(names) or 'none'}. Name at least one, and none twice")
    if unknown := [task.name for task in validation if task.name not in names]:
        raise ConfigError(f"validation task {unknown[0]!r} is not trained; {nearest(unknown[0], names)}")
    if config.dense and model.apart:
        raise ConfigError(
            f"dense labels need one vector for all formats, or one pass: {model.conditioning.kind} encodes each apart"
        )
    shape, trained = model.trunk.shape, {task.name: task for task in tasks}
    for some in (tasks, validation):
        for task in some:
            if task.documents is not some[0].documents:
                raise ConfigError(f"{task.name}: tasks that are trained together share one collection of documents")
            if task.kind == "triplet":
                check_negatives(task.name, task.rows, config)
            if (task.kind, task.classes) != (trained[task.name].kind, trained[task.name].classes):
                raise ConfigError(f"{task.name}: validation has other classes than training")
            for format in (task.format, task.query_format) if model.apart or model.conditioning.shared_pass else ():
                model.conditioning.route(format)
    longest = max(int(task.documents.lengths.max()) for task in (*tasks, *validation)) + model.conditioning.added()
    if longest > shape.max_position_embeddings:
        raise ConfigError(
            f"a document of {longest} tokens, and the model has {shape.max_position_embeddings} places. Cut to max_length"
        )
    if max(int(task.documents.ids.max()) for task in (*tasks, *validation)) >= shape.vocab_size:
        raise ConfigError("a token id is outside the model's vocabulary: the documents are of another tokenizer")
    if config.precision == "tf32" and not model.trunk.words.weight.is_cuda:
        raise ConfigError("precision tf32 is a GPU's: set float32 or bfloat16")
    if any(parameter.dtype != torch.float32 for parameter in model.parameters()):
        raise ConfigError("weights are trained in float32; precision = bfloat16 computes in bf16 all the same")
