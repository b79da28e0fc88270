"""The command line as a page: every command's help, arguments, options and examples, as the command itself gives them.

The commands are looked up in the installed `scirep`, which stands above this module. Not `typer utils docs`: it has no place
for what --json prints, no examples that are code, no table, and does not escape what Markdown would take for its own.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any, NamedTuple

from scirep_core.book.reference.prose import cell, code, escape, fence, table

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
    "data pairs": Printed("object", "what became of the papers", "scirep_core.data.readers.maple_pairs:Report"),
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
