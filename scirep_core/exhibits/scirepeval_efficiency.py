"""Chapter `scirepeval/efficiency`: Table 4 of SciRepEval v2 (v1 Table 5): what several vectors a paper cost.

    published    five ways, three numbers each
    counted      the same from the models' shapes alone: parameters, operations, bytes (bench/speed/costs.py), in this build
    measured     the ways in turn on one machine (bench/speed/efficiency.py): recorded, and a small run in this build

A printed time is held against what operations say before it is held against other machines' times: where the two agree,
matrix products explain the number, and where they do not, something else does.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from scirep_core.bench import studied, study
from scirep_core.bench.speed import efficiency
from scirep_core.bench.speed.costs import Cost, cost, fusion_as_published
from scirep_core.bench.speed.efficiency import REFERENCE, TASK
from scirep_core.encoders.trunk.shapes import SHAPES
from scirep_core.exhibits.counting import number
from scirep_core.kit.store import stable_hash
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import ROOT, Result, arithmetic, provenance
from scirep_core.results.published import Printed, lookup
from scirep_core.training.variants import budget

CHAPTER = "scirepeval/efficiency"
PARAMETERS, TRAIN, INFER = "Parameters per Task Form", "Training Time", "Inference Time"
PRINTED = {"Fusion": "Adapter Fusion"}
"""Ways -> their names in v1, where they differ."""
AS_PUBLISHED = "Fusion, as published"
WAYS = ("MTL CLS", REFERENCE, "PALs", "Adapters", "Fusion", "Adapters + MTL CTRL", "one pass")
LABELS = {
    "Fusion": "Fusion (ours)", AS_PUBLISHED: "Fusion (as the adapters library computes it)", "one pass": "one pass (ours)",
    "MTL CLS": "MTL CLS (one vector)", "one pass dense": "one pass, dense labels (ours)",
    "MTL CLS dense": "MTL CLS, dense labels (ours)", "mean of two MTL CLS": "mean of two MTL CLS (control)",
}  # fmt: skip
SHAPE, TOKENS = "bert-base", 512
LIVE, LIVE_TOKENS = "bert-mini", 64
"""The live measurement: two layers of 128, random weights, papers of 64 tokens: seconds on one core."""
TIMED = ROOT / "results" / "timed"
"""Timings of machines, a file each."""


# ---- rows ------------------------------------------------------------------------------------------------------------


def timed(task: str) -> list[Result]:
    """Return the rows of one task in the recorded timings; [] where there are none."""
    rows = [row for path in sorted(TIMED.glob("*.jsonl")) for row in studied.read(path)]
    return [row for row in rows if row.task == task]


def kept() -> list[Result]:
    """Return the recorded measurements: the study on the embedded base, and those of single machines."""
    return [*studied.read(study.results_file("efficiency")), *timed(TASK)]


def measure(chapter: Chapter) -> list[Result]:
    """Measure a small model in this build; return its rows, recorded as the chapter's."""
    given = chapter.parameters
    tell = progress("ways timed in turn", "rounds")

    def say(line: str) -> None:
        done, _, total = line.rpartition("round ")[2].partition(" of ")
        tell(int(done), int(total))

    small = budget("small", train={"batch": given["batch"]}, options={})
    rows = efficiency.measure(small, LIVE, WAYS, papers=given["batch"], steps=given["steps"], rounds=given["repeats"],
                              tokens=LIVE_TOKENS, say=say)  # fmt: skip
    made = chapter.record(replace(row, kind="live") for row in rows)
    return [replace(new, parameters={**new.parameters, **old.parameters}) for new, old in zip(made, rows, strict=True)]


def count(chapter: Chapter) -> dict[str, Cost]:
    """Return what every way costs on BERT-base by arithmetic, with Fusion as it was published beside ours."""
    of = SHAPES[SHAPE]
    return {**{name: cost(name, of, TOKENS) for name in WAYS}, AS_PUBLISHED: fusion_as_published(of, TOKENS)}


def counted(name: str, what: str, value: float) -> Result:
    """Return a number that follows from a model's shape alone as a row."""
    shape = SHAPES[SHAPE]
    return Result(
        task=TASK, split=f"{SHAPE}, {TOKENS} tokens", metric=f"{what}, counted", protocol="sound", value=float(value), n=1,
        encoder=name, source="arithmetic", data_hash=stable_hash([repr(shape), TOKENS]), provenance=provenance(),
        note="counted on a model without data",
    )  # fmt: skip


def label(name: str) -> str:
    """Return how a way is called in tables."""
    return LABELS.get(name, html.escape(name))


def setting(row: Result) -> str:
    """Return what a measurement was made on, in words."""
    told = row.parameters
    base = html.escape(str(told.get("base", "")))
    base = f"{base} (random weights)" if told.get("base") in SHAPES else f"base {base}"
    machine = html.escape(str(told.get("machine") or row.provenance.get("device", "")))
    tokens, threads = float(told.get("mean_tokens", 0)), told.get("threads", "?")
    return (
        f"{base}, {told.get('layers')} layers of {told.get('width')}, papers of {tokens:.0f} tokens, "
        f"{told.get('precision', 'float32')}, {machine}, {threads} thread{'' if threads == 1 else 's'}"
    )


class Measured(NamedTuple):
    """One measurement: the letter it has on the page, what it was made on, its kind and its rows."""

    letter: str
    name: str
    kind: str
    rows: list[Result]


def measurements(rows: Iterable[Result]) -> list[Measured]:
    """Return the recorded measurements and this build's, each under its letter."""
    found: dict[tuple[str, str], list[Result]] = {}
    for row in (*kept(), *rows):
        found.setdefault((row.kind, setting(row)), []).append(row)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return [Measured(a, name, kind, of) for a, ((kind, name), of) in zip(letters, found.items(), strict=False)]


def by(rows: Iterable[Result], what: str) -> dict[str, Result]:
    """Return rows of one metric by way."""
    return {row.encoder: row for row in rows if row.metric == what}


# ---- reading print ---------------------------------------------------------------------------------------------------


def amount(printed: Printed) -> float:
    """Return a printed count or ratio as a number.

    >>> amount(Printed("", "", "", "", "22M", "", "")), amount(Printed("", "", "", "", "1.42x", "", ""))
    (22000000.0, 1.42)
    """
    words = {"half": 0.5, "1k": 1e3, "10k": 1e4}
    text = printed.value
    return words[text] if text in words else float(text.rstrip("xM")) * (1e6 if text.endswith("M") else 1)


def as_printed(value: float, printed: Printed) -> bool:
    """Return whether a count is the printed one once it is rounded as that is."""
    return f"{value / 1e6:.0f}M" == printed.value if printed.value.endswith("M") else f"{value:.0f}" == printed.value


def ways_in_print() -> list[str]:
    """Return the ways of Table 4, in print order."""
    return list(dict.fromkeys(row for row, column in lookup("V2-T4") if column == PARAMETERS))


# ---- parameters ------------------------------------------------------------------------------------------------------


def parameters_table(chapter: Chapter, costs: Mapping[str, Cost]) -> None:
    """Show the parameters a format of each way, printed in both versions and counted, and say which agree."""
    four, five = lookup("V2-T4"), lookup("V1-T5")
    own = {
        name: chapter.record([counted(name, "parameters a format", costs[name].parameters)])[0]
        for name in ways_in_print()
    }
    whole = chapter.record([counted("Fusion", "parameters a format with its adapter",
                                    costs["Fusion"].parameters + costs["Adapters"].parameters)])[0]  # fmt: skip
    moved = {
        name: chapter.record([counted(name, "parameters trained", costs[name].trained)])[0] for name in ways_in_print()
    }
    cells = []
    for name in ways_in_print():
        older = five.get((PRINTED.get(name, name), PARAMETERS))
        cells.append([html.escape(name), chapter.number(older) if older else "", chapter.number(four[name, PARAMETERS]),
                      number(chapter, own[name]), number(chapter, moved[name])])  # fmt: skip
        if name == "Fusion":
            cells.append(["Fusion and its adapter", "", "", number(chapter, whole), ""])
    header = ["Way", "v1, Table 5", "v2, Table 4", "counted", "trained"]
    chapter.show(report.table(header, cells, "Parameters that one task format adds, on BERT-base (12 layers of 768); "
                              "trained: of all four formats, and the trunk where it moves",
                              [["", "published", "published", "live", "live"]] * len(cells)))  # fmt: skip
    fit = [name for name in ways_in_print() if as_printed(own[name].value, four[name, PARAMETERS])]
    off = [name for name in ways_in_print() if name not in fit]
    said = f"{len(fit)} of {len(own)} printed counts follow from the models’ shapes"
    if off == ["Fusion"] and as_printed(whole.value, four["Fusion", PARAMETERS]):
        alone, printed = own["Fusion"].value / 1e6, chapter.number(four["Fusion", PARAMETERS])
        said += (
            f". Fusion’s attention over the adapters alone has {alone:.1f}M a format; the printed {printed} comes out with the "
            f"format’s own adapter, {whole.value / 1e6:.1f}M. (It needs the three other adapters, too.)"
        )
    elif off:
        said += f"; not {', '.join(map(html.escape, off))}"
    chapter.say(said if said.endswith(")") else f"{said}.")


def parameters_claims(chapter: Chapter, costs: Mapping[str, Cost]) -> None:
    """Check section 7's sentences on sizes."""
    four = lookup("V2-T4")
    half, ten = (
        four["section 7", "parameters of Adapters over PALs"],
        four["section 7", "parameters of Fusion over PALs"],
    )
    added, trained, fused = chapter.record([
        counted("Adapters / PALs", "ratio of parameters a format", costs["Adapters"].parameters / costs["PALs"].parameters),
        counted("Adapters / PALs", "ratio of parameters trained, percent", 100 * costs["Adapters"].trained / costs["PALs"].trained),
        counted("Fusion / PALs", "ratio of parameters a format", costs["Fusion"].parameters / costs["PALs"].parameters),
    ])  # fmt: skip
    chapter.say(
        f"By section 7 adapters “add and only train {chapter.number(half)} as many parameters as PALs”. What they <em>add</em> is "
        f"{chapter.number(added)} of PALs’. What they <em>train</em> is less by far: PALs move the trunk with them, adapters do "
        f"not, and train {chapter.number(trained, 1)} % as many. Of Fusion it says “{chapter.number(ten)} as many parameters as "
        f"PALs”; counted, {chapter.number(fused, 1)}x."
    )


# ---- what print says of time ---------------------------------------------------------------------------------------


def say_print(chapter: Chapter) -> None:
    """Check the arithmetic of the printed times: sums, the text's 2x, and whether v2 repeats v1."""
    four, five = lookup("V2-T4"), lookup("V1-T5")
    sums = []
    for column in (TRAIN, INFER):
        parts = [four[name, column] for name in ("Adapters", REFERENCE)]
        made = chapter.record(
            [arithmetic("V2-T4", f"{column}, Adapters + MTL CTRL", sum(map(amount, parts)), 2, parts)]
        )[0]
        whole = four["Adapters + MTL CTRL", column]
        sign = "=" if f"{made.value:.2f}x" == whole.value else "≠"
        sums.append(f"{column.lower()} {chapter.number(whole)} {sign} {chapter.number(made)}x")
    shared = [
        (PRINTED.get(name, name), name, column) for name in ways_in_print() for column in (PARAMETERS, TRAIN, INFER)
    ]
    pairs = [(five[older, column], four[name, column]) for older, name, column in shared if (older, column) in five]
    repeated = sum(a.value == b.value for a, b in pairs)
    fused, pals, said = four["Fusion", INFER], four["PALs", INFER], four["section 7", "inference time of Fusion"]
    ratio = amount(fused) / amount(pals)
    over = chapter.record([arithmetic("V2-T4", "Inference Time, Fusion over PALs", ratio, 2, [fused, pals])])[0]
    carried = ", to the last digit: the measurement seems carried over" if repeated == len(pairs) else ""
    chapter.say(
        f"The ensemble’s times, against the sum of its members’: {'; '.join(sums)}. {repeated} of {len(pairs)} numbers of v1’s "
        f"table stand in v2’s, although the base model is another (SciNCL there, SPECTER2 here; one shape){carried}. "
        f"The text gives Fusion “{chapter.number(said)} more time on inference”; the table has {chapter.number(fused)} of MTL "
        f"CTRL’s, which is {chapter.number(over)}x of PALs’."
    )


def epochs_table(chapter: Chapter) -> None:
    """Show what a whole training takes by print: time an example times the epochs of appendix B."""
    four = lookup("V2-T4")
    reference = amount(four[REFERENCE, TRAIN]) * amount(four["appendix B", f"epochs of {REFERENCE}"])
    whole: dict[str, tuple[float, list[Printed]]] = {}
    for name in (REFERENCE, "PALs", "Adapters", "Fusion"):
        time, epochs = four[name, TRAIN], four["appendix B", f"epochs of {name}"]
        before, used = whole["Adapters"] if name == "Fusion" else (0.0, [])
        whole[name] = before + amount(time) * amount(epochs) / reference, [*used, time, epochs]
    both = [whole[name] for name in ("Adapters", REFERENCE)]
    whole["Adapters + MTL CTRL"] = sum(value for value, _ in both), [p for _, used in both for p in used]
    cells: list[list[str]] = []
    values: dict[str, Result] = {}
    for name, (value, used) in whole.items():
        made = chapter.record([arithmetic("V2-T4", f"whole training, {name}", value, len(used), used)])[0]
        values[name] = made
        passes = " + ".join(chapter.number(p) for p in used if p.row == "appendix B")
        cells.append([html.escape(name), chapter.number(four[name, TRAIN]), passes, f"{chapter.number(made)}x"])
    caption = (
        f"What a training takes by print: time an example (Table 4) times epochs (appendix B), over {REFERENCE}’s. Epochs of "
        "Adapters and Fusion are the most allowed; Fusion begins where Adapters end"
    )
    chapter.show(report.table(["Way", "time an example", "epochs", "whole training"], cells, caption,
                              [["", "published", "published", "live"]] * len(cells)))  # fmt: skip
    longest = max(values, key=lambda name: values[name].value)
    chapter.say(
        "“Training Time” in Table 4 is of examples seen once. Over whole trainings, by the paper’s own epochs, adapters take up to "
        f"{chapter.number(values['Adapters'])}x {REFERENCE}’s time, where the table has {chapter.number(four['Adapters', TRAIN])}; "
        f"the longest is {html.escape(longest)}, up to {chapter.number(values[longest])}x."
    )


# ---- memory ----------------------------------------------------------------------------------------------------------


def memory_table(chapter: Chapter, costs: Mapping[str, Cost]) -> None:
    """Show what a paper takes to store, and while training."""
    cells = []
    for name in WAYS:
        stored, million, held = chapter.record([
            counted(name, "bytes of a paper’s vectors", costs[name].stored),
            counted(name, "gigabytes of the vectors of a million papers", costs[name].stored / 1e3),
            counted(name, "megabytes kept for the backward pass", costs[name].kept / 1e6),
        ])  # fmt: skip
        cells.append([label(name), number(chapter, stored), chapter.number(million, 1), number(chapter, held)])
    caption = (
        f"Memory of BERT-base in float32: vectors of all formats of a paper, and what a training step keeps of a paper of {TOKENS} "
        "tokens until its backward pass (without attention’s own weights)"
    )
    chapter.show(report.table(["Way", "bytes a paper", "GB a million papers", "MB a paper in training"], cells, caption,
                              [["", "live", "live", "live"]] * len(cells)))  # fmt: skip
    less = 1 - costs["Adapters"].kept / costs[REFERENCE].kept
    share = chapter.record([counted("Adapters", f"memory in training, percent less than {REFERENCE}’s", 100 * less)])[0]
    chapter.say(
        "Several vectors are paid for where they are kept: an index of four is four times as large, whatever made them. In "
        f"training adapters keep {chapter.number(share, 0)} % less of each paper than {REFERENCE}, since the trunk’s weights take "
        "no gradient. The mean of an ensemble is as large as one member’s vectors, its concatenation twice that."
    )
