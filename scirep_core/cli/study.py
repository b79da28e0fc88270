"""`scirep study`: train and score a whole table over seeds; stop it at any time, run it again, and it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scirep_core.cli.shared import argument, of_scoring, one_of, option, showing, words_of
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.formats import PROTOCOLS
from scirep_core.kit.records import WHOLE, from_text
from scirep_core.kit.terminal import Json, print_json, say, table
from scirep_core.results import Result

if TYPE_CHECKING:
    from scirep_core.training.loop import Status

EXAMPLES = (
    "Examples: scirep study list;  scirep study main --seeds 1;  scirep study affinity --seeds 5 --workers 2;  "
    "scirep study main --budget large --only train;  scirep study cross --variants 'MTL CTRL' --show;  "
    "scirep study main --source open --base minilm --seed 0"
)
STAGES = ("all", "train", "score")
SPLITS = ("in-train", "out-of-train", "all", "CLF", "RGN", "PRX", "QRY")


def study(
    name: Annotated[str, argument("main, bases, cross, partitions, affinity ...; `list` names them all.")],
    seeds: Annotated[int, option("How many training runs of each variant: seeds 0, 1, 2 ...", min=1)] = 5,
    seed: Annotated[int | None, option("Only the training with this seed.", min=0)] = None,
    budget: Annotated[
        str | None,
        option("tiny, small (two cores), large (one GPU), samples, open, published, real; default: the study's."),
    ] = None,
    set_: Annotated[
        list[str] | None, option("A setting of the budget, as name=value: papers=1000, steps=100.", "--set")
    ] = None,
    variants: Annotated[str | None, option("Only these, comma-separated; names as in the table.")] = None,
    source: Annotated[
        str, option("embedded (invented papers), open (real ones under open terms), real (the published collections).")
    ] = "embedded",
    base: Annotated[str | None, option("What every training starts from: minilm, specter2_base, a folder ...")] = None,
    bases: Annotated[str | None, option("Instead of the study's: embedded, minilm, specter ...")] = None,
    widths: Annotated[str | None, option("Of the embedded base, instead of the study's: 32,64.")] = None,
    tasks: Annotated[str | None, option("A suite, or tasks, instead of the study's.")] = None,
    only: Annotated[str, option("train (no scoring), score, or all.")] = "all",
    protocol: Annotated[str, option("paper or sound.")] = "paper",
    workers: Annotated[int, option("Processes, a seed each at a time.", min=1)] = 1,
    keep_vectors: Annotated[bool, option("Of trained models, once they are scored.", "--keep-vectors")] = False,
    again: Annotated[bool, option("Make anew what is recorded already.", "--again")] = False,
    out: Annotated[
        Path | None,
        option("File of the rows; default the study's of this source below results/, joined with what it holds."),
    ] = None,
    show: Annotated[bool, option("Train and score nothing: print what is recorded.", "--show")] = False,
    as_json: Json = False,
) -> None:
    """Train every variant of a table with several seeds, score it on every task, record the rows.

    What is there is not made again: models are under SCIREP_HOME/models, scores are kept, a killed training goes on from its
    last checkpoint.
    """
    from scirep_core.bench.studies import outcome, tables
    from scirep_core.bench.studies import study as study_

    if name == "list":
        _list(as_json)
        return
    one_of("only", only, STAGES)
    one_of("protocol", protocol, PROTOCOLS)
    of = tables.on_source(tables.study(name), source)
    chosen = range(seeds) if seed is None else (seed,)
    changes = _changes(variants, bases or base, widths, tasks)
    if show:
        file = out or study_.results_file(name, "" if source == "embedded" else source)
        if not file.is_file():
            raise ConfigError(f"{file}: no rows of study {name} are recorded there. Run scirep study {name}")
        rows = [row for row in outcome.read(file) if _shown(row, changes)]
        if not rows:
            raise ConfigError(f"{file}: none of its rows is of what you ask for")
    else:
        given = _budget(budget or of.budget, set_ or [])
        given = given if source == "embedded" else replace(given, source=source)
        with showing() as bar:

            def watch(state: Status) -> None:
                bar(f"training, {state.documents_per_second:.0f} documents/s", state.step, state.steps, "steps")

            rows = study_.run(name, given, chosen, changes=changes, only=only,  # type: ignore[arg-type]
                              protocol=protocol, workers=workers, keep_vectors=keep_vectors, again=again, out=out,
                              say=say, watch=watch, progress=of_scoring(bar))  # fmt: skip
    if as_json:
        print_json([row.to_json() for row in rows])
    elif rows:
        for one in dict.fromkeys(row.protocol for row in rows):
            _print(name, [row for row in rows if row.protocol == one])
        if show:
            _judge(name, source, rows, outcome.read(study_.curves_file(file)))
    elif only == "train":
        print(f"every model of study {name} is trained; scirep study {name} scores them")


def _list(as_json: bool) -> None:
    from scirep_core.bench.studies.tables import STUDIES

    if as_json:
        print_json([{"study": name, "exhibits": list(one.exhibits), "text": one.text, "variants": list(one.variants),
                     "bases": list(one.bases)} for name, one in STUDIES.items()])  # fmt: skip
        return
    lines = [[name, ", ".join(one.exhibits), str(len(one.variants)), one.text] for name, one in STUDIES.items()]
    table("studies", ["study", "exhibits", "variants", "what it asks"], lines)


def _changes(variants: str | None, bases: str | None, widths: str | None, tasks: str | None) -> dict[str, Any]:
    """Return the study's fields that are asked for otherwise. A comma may be part of a variant's name: longest names first."""
    from scirep_core.bench.suites import SUITES
    from scirep_core.training.variants import VARIANTS

    found: dict[str, Any] = {
        "variants": variants and _names(variants, VARIANTS),
        "bases": bases and words_of(bases),
        "widths": widths and tuple(_whole("--widths", one) for one in words_of(widths)),
        "tasks": tasks if tasks in SUITES else tasks and words_of(tasks),
    }
    found = {key: value for key, value in found.items() if value is not None}
    for key, value in found.items():
        if not value:
            raise ConfigError(f"--{key} names nothing")
    return found


def _shown(row: Result, changes: dict[str, Any]) -> bool:
    for change, key in (("variants", "variant"), ("bases", "base"), ("widths", "width")):
        if change in changes and row.parameters.get(key) not in changes[change]:
            return False
    return isinstance(changes.get("tasks", ""), str) or row.task in changes["tasks"]


def _whole(option: str, text: str) -> int:
    if not WHOLE.fullmatch(text.strip()):
        raise ConfigError(f"{option} {text!r}: expected whole numbers")
    return int(text)


def _names(text: str, known: Any) -> tuple[str, ...]:
    parts, found = [part.strip() for part in text.split(",")], []
    while parts:
        size = next((n for n in range(len(parts), 0, -1) if ", ".join(parts[:n]) in known), 1)
        found.append(", ".join(parts[:size]))
        parts = parts[size:]
    return tuple(one for one in found if one)


def _budget(name: str, settings: Sequence[str]) -> Any:
    from scirep_core.training.config import TrainConfig
    from scirep_core.training.variants import Budget
    from scirep_core.training.variants import budget as named

    own = {field.name for field in fields(Budget)} - {"train", "options", "source", "rates", "dtype"}
    training = {field.name for field in fields(TrainConfig)} - {"seed", "dense", "mixing", "conditioning_lr"}
    changes: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or key not in own | training:
            raise ConfigError(f"--set {text!r}: write name=value; {nearest(key, sorted(own | training))}")
        try:
            read = from_text(value)
        except (ValueError, RecursionError):
            read = value
        if key in training and key not in own:
            changes.setdefault("train", {})[key] = read
        elif isinstance(read, int) and not isinstance(read, bool) and read >= 0:
            changes[key] = read
        else:
            raise ConfigError(f"--set {text!r}: expected a whole number")
    return named(name, **changes)


def _print(name: str, rows: Sequence[Result]) -> None:
    """Print the averages by variant, what Tukey's test does not tell from the best marked; else values by task."""
    from scirep_core.bench.studies import outcome

    if name == "efficiency":
        whats = list(dict.fromkeys(row.metric for row in rows))
        lines = outcome.table(rows, whats, lambda row: row.metric)
        _table("efficiency: times are multiples of MTL CTRL's, medians over rounds", lines, whats, {})
        return
    lines = outcome.table(rows, SPLITS)
    if not lines:
        tasks = list(dict.fromkeys(row.task.rpartition("/")[2] for row in rows))
        lines = outcome.table(rows, tasks, outcome.main_metric)
        _table(f"study {name}: mean over seeds (sd)", lines, tasks, {})
        return
    tests = {split: test for split in SPLITS if (test := outcome.tukey(lines, split)) is not None}
    tied = {split: {test.best, *test.tied_with_best} for split, test in tests.items()}
    _table(f"study {name}: mean over seeds (sd); * is not told from the best by Tukey's test", lines, SPLITS, tied)
    if "all" in tests:
        test = tests["all"]
        print(f"all: ANOVA F({test.df[0]}, {test.df[1]}) = {test.f:.2f}, p = {test.p:.3g}")


def _judge(name: str, source: str, rows: Sequence[Result], curves: Sequence[Result]) -> None:
    """Print what each line does against its base; of open papers what results were taken to mean before there were any."""
    from scirep_core.bench.studies import outcome
    from scirep_core.bench.studies.tables import MEANT

    lines = [[one.label, f"{one.difference:+.2f}", f"{one.low:+.2f} to {one.high:+.2f}", one.verdict]
             for one in outcome.verdicts(rows, curves)]  # fmt: skip
    if lines:
        table("against the base, in-train", ["variant", "difference", "interval over training runs", "verdict"], lines)
    for sentence in MEANT.get(name, ()) if source == "open" else ():
        print(sentence)


def _table(title: str, lines: Sequence[Any], columns: Sequence[str], tied: dict[str, set[str]]) -> None:
    def cell(line: Any, column: str) -> str:
        if column not in line.values:
            return ""
        spread = f" ({line.sd(column):.2f})" if line.sd(column) is not None else ""
        return f"{line.mean(column):.2f}{spread}{'*' if line.label in tied.get(column, ()) else ''}"

    table(title, ["variant", *columns], [[line.label, *(cell(line, column) for column in columns)] for line in lines])
