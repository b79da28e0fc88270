"""A trained model told another sentence for one of its tasks, at inference alone (SciMult, appendix E.3).

    x(0) = embedded tokens of the other sentence        q(n), x(n) as Eq. 4 has them (prefix.py)

The weights are the same ones, in memory and on disk. Instruction alone can be told something new: what encodes its
instructions is the trunk, which embeds any text. Prefix keeps vectors for the tokens and the places of its own sentences.

This is no part of prefix.py, since a trained model's key holds a hash of the code that trains it.
"""

from __future__ import annotations

from scirep_core.encoders.conditioning.base import Conditioned
from scirep_core.encoders.conditioning.prefix import Instruction, Prefix, instructions
from scirep_core.encoders.trunk.tokens import Tokens
from scirep_core.encoders.trunk_encoder import Loaded, TrunkEncoder
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.store import stable_hash


def with_instruction(model: Conditioned, tokens: Tokens, task: str, sentence: str) -> Conditioned:
    """Return a model that is told a task by another sentence; its trunk is the given one's, not a copy.

    Args:
        task: search, link or classification, or a task format that stands for one.
        sentence: in place of the one it was trained with; the other tasks keep theirs.

    Raises ConfigError for a model that is told by something else than a sentence, for Prefix, and for an unknown task.
    """
    told = model.conditioning
    if isinstance(told, Prefix):
        raise ConfigError(
            "prefix cannot be told another sentence: it keeps vectors for the tokens of its own alone. "
            "Take a model of kind instruction"
        )
    if not isinstance(told, Instruction):
        raise ConfigError(f"{told.kind} is not told its task by a sentence. Take a model of kind instruction")
    route = told.routes[told.route(task)]
    own = instructions(lambda text: tokens.ids([text])[0], [route], {route: sentence})
    made = Instruction(model.trunk, told.routes, {**told.options["instructions"], **own})
    return Conditioned(model.trunk, made, model.pooling).train(model.training)


def instructed(encoder: TrunkEncoder, task: str, sentence: str) -> TrunkEncoder:
    """Return an encoder told a task by another sentence; it shares the given one's weights, and has a fingerprint of its own.

    Arguments and errors are those of `with_instruction`, at the first text.
    """

    def load() -> Loaded:
        model, tokens = encoder.loaded
        return with_instruction(model, tokens, task, sentence), tokens

    own = stable_hash([encoder.fingerprint, "told", task, sentence])[:16]
    # what is compiled is the trunk, and that once
    return TrunkEncoder(
        encoder.name, load, encoder.about._replace(fingerprint=own), encoder.settings._replace(compiled=False)
    )
