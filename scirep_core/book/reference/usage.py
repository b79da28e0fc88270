"""What a user types, as pages: the command line, environment variables, the file of a training, the parameters of the chapters.

Of a command: its help, arguments, options and examples, as the command itself gives them. The commands are looked up in the
installed `scirep`, which stands above this module.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from scirep_core.book.reference.prose import cell, code, entries, escape, fence, table
from scirep_core.kit.records import read_object
from scirep_core.page.parameters import PARAMETERS, Parameter, Spec, read_parameters
from scirep_core.training.config import DATA_RANGES, MANY, RANGES, TRIPLET_LOSSES, DataConfig, ModelConfig, TrainConfig

APP = "scirep_core.cli:app"
ROW = "one result row each"
"""What the schema page calls a result row."""


class Printed(NamedTuple):
    """What a command prints with --json.

    Attributes:
        shape: array or object.
        of: what it is, or each of it.
        record: `module:class` whose fields are keys.
        more: keys beside these.
    """

    shape: str
    of: str
    record: str = ""
    more: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys; none where they are those of a result row."""
        return (*(inspect.signature(pkgutil.resolve_name(self.record)).parameters if self.record else ()), *self.more)


JSON: dict[str, Printed] = {
    "data list": Printed("array", "a collection each", more=(
        "name", "title", "paper", "licence", "files", "bytes", "unseen", "verified", "gated", "state")),
    "data verify": Printed("array", "a file or check each", more=("collection", "path", "state")),
    "data overlap": Printed("array", "a task each; shares are {seen, of, percent, first}", "scirep_core.data.overlap:Overlap"),
    "data pairs": Printed("object", "what became of the papers", "scirep_core.data.readers.maple:Report"),
    "score": Printed("array", ROW),
    "list": Printed("array", "a name each; keys beside are those of the table", more=("name",)),
    "encode": Printed("object", "what was written; `shards` of folders",
                      more=("papers", "dim", "shards", "out", "encoder", "fingerprint", "format", "seconds")),
    "perturb": Printed("array", "with --list, a code each; neighbours are JSON lines always",
                       more=("code", "category", "title", "abstract", "random", "literal_variant")),
    "train": Printed("object", "the training", "scirep_core.training.loop:Trained", ("out",)),
    "export": Printed("object", "the folder", "scirep_core.encoders.models.export:Exported"),
    "bench": Printed("array", ROW),
    "study": Printed("array", f"{ROW}; of `study list` a study each, with the keys", more=(
        "study", "exhibits", "text", "variants", "bases")),
    "submit": Printed("object", "what was found", more=("files", "rows", "faults", "unchecked", "added")),
    "diff": Printed("object", "the comparison", more=("a", "b", "equal", "rows", "files")),
    "pdf": Printed("object", "the PDF", "scirep_core.book.pdf:Made"),
    "check": Printed("array", "a line of text for each fault"),
    "edition": Printed("object", "the edition", more=("edition", "files")),
    "explain": Printed("array", "a number each: its row, and", more=("file", "recompute")),
}  # fmt: skip
"""Command -> what --json prints; tests run the commands, or compare the keys with the records they print."""


def commands() -> dict[str, Any]:
    """Return every command by its words after `scirep`, in the order of the help."""
    from typer.main import get_command

    return dict(_walk(get_command(pkgutil.resolve_name(APP)), ()))


def _walk(group: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    inside = getattr(group, "commands", None)
    if not inside:
        yield " ".join(words), group
        return
    for name, command in inside.items():
        yield from _walk(command, (*words, name))


def help_of(words: str, command: Any) -> str:
    """Return one command's section: what it does, its usage, arguments, options, examples."""
    import typer

    context = typer.Context(command, info_name=f"scirep {words}")
    usage = f"scirep {words} {' '.join(command.collect_usage_pieces(context))}"
    records = {parameter: parameter.get_help_record(context) for parameter in command.params}
    parts = [f"## scirep {words}", *(escape(" ".join(text.split())) for text in (command.help or "").split("\n\n"))]
    parts.append(fence(usage))
    for kind in ("argument", "option"):
        records_of = [record for one, record in records.items() if record and one.param_type_name == kind]
        if records_of:
            parts.append(table([kind, "meaning"], ([code(record[0]), cell(record[1])] for record in records_of)))
    told = (command.epilog or "").partition(":")[2].split(";  ")  # of `Examples: one;  two`
    if examples := [" ".join(one.split()) for one in told if one.strip()]:
        parts.append(fence("\n".join(examples), "bash"))
    if words in JSON:
        printed = JSON[words]
        keys = f": {', '.join(code(key) for key in printed.keys)}" if printed.keys else ""
        parts.append(f"`--json` prints one {printed.shape}, {escape(printed.of)}{keys}.")
    return "\n\n".join(parts)


def listing() -> str:
    """Return the table of commands and the section of each."""
    known = commands()
    rows = []
    for words, command in known.items():
        link = f'<a href="#scirep-{words.replace(" ", "-")}"><code>scirep {words}</code></a>'
        rows.append([link, cell((command.help or "").partition("\n\n")[0])])
    sections = (help_of(words, command) for words, command in known.items())
    return "\n\n".join([table(["command", "what it does"], rows), *sections])


class Variable(NamedTuple):
    """One environment variable.

    Attributes:
        names: as they are written; more than one where they belong together.
        whose: you; or who else sets it: the runner, torchrun, the library.
    """

    names: tuple[str, ...]
    meaning: str
    whose: str = "you"


VARIABLES: tuple[Variable, ...] = (
    Variable(("SCIREP_HOME",), "folder for downloaded data and computed vectors (default: the user's cache folder)"),
    Variable(("SCIREP_DATA_MIRROR",), "folder laid out like the collections, served before the network"),
    Variable(("NLTK_DATA",), "folder with NLTK's tagger, sentence model, WordNet and Brown corpus, for the textual neighbours"),
    Variable(("HF_HOME", "HF_HUB_OFFLINE"), "where hub models are cached, and whether to stay off the network"),
    Variable(("SCIREP_MANIFESTS",), "another folder of data manifests"),
    Variable(("SCIREP_ALLOW_CUDA",), "`1`: accept a CUDA build of torch in the environment"),
    Variable(("SCIREP_ALLOW_BIN",), "`1`: read hub models and adapters that only have pickled weights (SPECTER, SPECTER2's "
             "adapters, SimCSE), weights-only"),
    Variable(("SCIREP_DEVICE",), "where encoders run: `cpu`, `cuda`, `cuda:1` (default: a GPU where there is one)"),
    Variable(("SCIREP_ATTENTION",), "`exp2` or `fused`: attention on a CPU (default: the faster, measured once; chapters: `exp2`)"),
    Variable(("SCIREP_CHROMIUM",), "the Chromium that prints the book and tests its pages, where it is not on the PATH"),
    Variable(("SCIREP_CHAPTER",), "name of the chapter that runs", "the runner"),
    Variable(("SCIREP_RUNS",), "folder of executed chapters; without it `book/_run`", "the runner"),
    Variable(("SCIREP_CHAPTER_DIR",), "folder a chapter writes its rows and figures to; without it `SCIREP_HOME/live`",
             "the runner"),
    Variable(("SCIREP_PROGRESS",), "file a chapter writes its line of progress to; without it standard error", "the runner"),
    Variable(("SCIREP_PROFILE",), "embedded or real: which book a chapter is run for", "the runner"),
    Variable(("WORLD_SIZE", "LOCAL_RANK"), "how many processes train together, and which GPU is this one's", "torchrun"),
    Variable(("RAY_USAGE_STATS_ENABLED",), "`0` unless you say otherwise: Ray reports no usage", "the library"),
    Variable(("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"),
             "`256` unless you say otherwise: kernels torch keeps on a CPU; its own 1,024 cost a GB in bfloat16", "the library"),
)  # fmt: skip
"""All that the library reads or sets; a test compares it with the source and with the table of README.md."""

MEANINGS = {
    "epochs": "how often all rows are taken, where `steps` is 0",
    "schedule": "of the learning rate after the warm-up",
    "weight_decay": "of AdamW; none on biases and layer norms",
    "epsilon": "of AdamW",
    "beta1": "of AdamW: how much of the mean gradient is kept at each step",
    "beta2": "of AdamW: how much of the mean squared gradient is kept",
    "margin": "of the triplet losses",
    "temperature": "of the contrastive loss: inner products are divided by it",
    "mask_duplicates": "of the losses against the batch: a context that is also right for a query is no negative",
    "out": "folder the trained model goes to; `--out` instead",
    "papers": "of the embedded literature: how many",
}
"""Settings whose meaning the class that holds them leaves to their name."""
SECTIONS = {"model": ModelConfig, "data": DataConfig, "train": TrainConfig}
OUT = ("out", "text", '""', "", MEANINGS["out"])
ALSO: dict[str, Callable[[], tuple[str, ...]]] = {
    "triplet_loss": lambda: TRIPLET_LOSSES,
    "conditioning": lambda: tuple(pkgutil.resolve_name("scirep_core.encoders.conditioning.base:CONDITIONINGS")),
}
"""Settings whose valid values their type does not say; conditionings are read, since importing them takes torch."""


def variables() -> str:
    """Return the table of environment variables: yours first."""
    rows = ([", ".join(map(code, one.names)), cell(one.meaning), one.whose] for one in VARIABLES)
    return table(["variable", "meaning", "who sets it"], rows)


def settings(section: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (name, type, default, valid values, meaning) of each setting of one section of a training's file."""
    held = SECTIONS[section]
    meanings = MEANINGS | entries(held.__doc__ or "", "Attributes")
    ranges = {"train": RANGES, "data": DATA_RANGES}.get(section, {})
    hints, empty = get_type_hints(held), held()
    for one in fields(held):
        words = [word for word in get_args(hints[one.name]) if isinstance(word, str)]
        kind = "text" if words else str(one.type)
        valid = ", ".join(words or ALSO.get(one.name, tuple)())
        if one.name in ranges:
            low, high = ranges[one.name]
            valid = f"{low:,g} to {high:,g}" if high < MANY else f"from {low:,g}"
        yield one.name, kind, json.dumps(getattr(empty, one.name)), valid, meanings.get(one.name, "")


def training() -> str:
    """Return a table for each section of a training's file."""
    parts = [table(["key", "type", "default", "valid", "meaning"], [[*map(code, OUT[:3]), "", cell(OUT[4])]])]
    for section in SECTIONS:
        rows = ([code(name), code(kind), code(default), cell(valid), cell(meaning)]
                for name, kind, default, valid, meaning in settings(section))  # fmt: skip
        parts += [f"### [{section}]", table(["key", "type", "default", "valid", "meaning"], rows)]
    return "\n\n".join(parts)


def chapters(notebooks: Path) -> dict[str, tuple[str, dict[str, Parameter]]]:
    """Return the title and the declared parameters of every chapter, by its name; other notebooks are passed over."""
    found = {}
    for path in sorted(notebooks.glob("*/*.ipynb")):
        if about := read_object(path)["metadata"].get("scirep"):
            found[f"{path.parent.name}/{path.stem}"] = about["title"], read_parameters(path)
    return found


def parameters(notebooks: Path) -> str:
    """Return what each name means in every chapter, and each chapter's parameters with their defaults."""
    found = chapters(notebooks)
    used = {name: sum(name in known for _, known in found.values()) for name in PARAMETERS}
    named = ((name, spec) for name, spec in PARAMETERS.items() if used[name])
    shared = ([code(name), cell(spec.help), cell(valid(spec)), str(used[name])] for name, spec in named)
    parts = [table(["parameter", "meaning", "valid", "chapters"], shared)]
    for chapter, (title, known) in found.items():
        rows = ([code(one.name), code(one.type), code(repr(one.default)), cell(one.help)] for one in known.values())
        listed = table(["parameter", "type", "default", "what it does here"], rows) if known else "It has none."
        parts += [f"## {chapter}", f"{{doc}}`{escape(title)} </{chapter}>`", listed]
    return "\n\n".join(parts)


def valid(spec: Spec) -> str:
    """Return the values a parameter may have, in words."""
    if spec.choices:
        return ", ".join(spec.choices)
    if spec.low is not None and spec.high is not None:
        return f"{spec.low:,.12g} to {spec.high:,.12g}"
    if spec.vocabulary:
        return f"{spec.vocabulary}, by name"
    return {"bool": "true, false", "data": "embedded, real, a folder"}.get(spec.kind, "")
