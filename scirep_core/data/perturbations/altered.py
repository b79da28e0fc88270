"""The textual neighbours of a whole collection, made once and kept (textual neighbours, section 3).

    $SCIREP_HOME/neighbours/<key>/<first>.jsonl.gz     papers by PART, each with its changed texts and its noun phrases

The key is a hash of the collection, the papers asked for, seed, the tools' parts, and the code that makes them. A
part is renamed into place when it is whole, so that a killed run goes on at the part it was in. Parts are made by several
processes where there are several; each text is parsed once for all codes. T_ADelTopNNPH needs the noun phrases of all
abstracts of the collection first, so it is made from the kept phrases when all parts are there. Of a code that has two
readings both are kept.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.data.perturbations import (
    LITERAL,
    MORE,
    PERTURBATIONS,
    TOP,
    VARIANTS,
    Neighbour,
    perturb,
    perturbation,
    top_phrases,
    words_kept,
)
from scirep_core.data.perturbations.changes import Parsed, Text
from scirep_core.data.perturbations.linguistics import Tools, find_tools
from scirep_core.data.task import Collection, Task
from scirep_core.kit.errors import CacheError, ConfigError, check_name
from scirep_core.kit.records import Paper
from scirep_core.kit.store import REMEDY, atomic, home, stable_hash
from scirep_core.results import code_of

PART = 250
"""Papers in a file: some seconds of work."""
CODE = tuple(f"data/perturbations/{name}.py" for name in ("linguistics", "changes", "__init__", "altered"))
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Altered:
    """One type of neighbour of a collection.

    Attributes:
        ids: papers it applies to, in the collection's order; `texts` their changed title and abstract.
        shares: of each, the share of the words it still has.
        reasons: why it does not apply -> papers.
    """

    code: str
    ids: tuple[str, ...]
    texts: tuple[Text, ...]
    shares: tuple[float, ...]
    reasons: dict[str, int]


class Made(NamedTuple):
    """What was made of a collection, and by which tools."""

    by_code: dict[str, Altered]
    tools: Tools


@dataclass(frozen=True)
class _Job:
    papers: tuple[Paper, ...]
    kind: str
    seed: int
    path: Path


def alter(
    task: Task,
    papers: Sequence[str] | None = None,
    codes: Sequence[str] | None = None,
    seed: int = 0,
    variant: str = "default",
    tools: str = "auto",
    progress: Progress | None = None,
    workers: int | None = None,
) -> Made:
    """Return the neighbours of a collection's papers.

    Args:
        papers: ids; None is all. Noun phrases are ranked over these papers' abstracts.
        codes: None is the paper's 32.
        tools: `auto`, `nltk` or `fallback` (see data/perturbations/linguistics.py).
        progress: called with (papers done, papers in all).
        workers: processes; None is one a core, and one for few papers.

    Raises ConfigError for unknown codes, papers, or a task that is no plain collection, CacheError for a kept part that is
    damaged.
    """
    if not isinstance(task.payload, Collection):
        raise ConfigError(f"{task.name} is a {task.type} task: neighbours are made of plain collections")
    found = find_tools(tools)
    wanted = list(task.payload.paper_ids if papers is None else papers)
    missing = [one for one in wanted if one not in task.papers]
    if missing:
        raise ConfigError(f"{task.name} has no paper {missing[0]!r}")
    chosen = list(codes if codes is not None else PERTURBATIONS)
    for code in chosen:
        perturbation(code)
    check_name("variant", variant, VARIANTS)
    known = {
        "task": [task.name, task.source, task.data_hash], "papers": wanted, "seed": seed,
        "tools": dict(found.parts), "code": code_of(CODE),
    }  # fmt: skip
    folder = home() / "neighbours" / stable_hash(known)[:32]
    jobs = [
        _Job(tuple(task.papers[key] for key in wanted[at : at + PART]), tools, seed, folder / f"{at}.jsonl.gz")
        for at in range(0, len(wanted), PART)
    ]
    _run([job for job in jobs if not job.path.is_file()], len(wanted), progress, workers)
    rows = [row for job in jobs for row in _read(job.path)]
    top = top_phrases(row["phrases"] for row in rows) if TOP in chosen else None
    own = {code: variant if code in LITERAL else "default" for code in chosen}
    return Made({code: _of_code(code, own[code], rows, task, top, seed, found) for code in chosen}, found)


def _run(jobs: Sequence[_Job], papers: int, progress: Progress | None, workers: int | None) -> None:
    done = papers - sum(len(job.papers) for job in jobs)
    processes = min(workers or os.cpu_count() or 1, len(jobs))
    if processes <= 1:
        for job in jobs:
            done += _make(job)
            if progress:
                progress(done, papers)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for finished in as_completed([pool.submit(_make, job) for job in jobs]):
            done += finished.result()
            if progress:
                progress(done, papers)


def _make(job: _Job) -> int:
    """Write a part: of each paper its phrases, and by variant and code the changed fields (null where as it was) or why not."""
    tools = find_tools(job.kind)
    codes = {"default": [code for code in (*PERTURBATIONS, *MORE) if code != TOP], "literal": [*LITERAL]}
    with atomic(job.path) as stream, gzip.GzipFile(fileobj=stream, mode="wb", mtime=0, compresslevel=3) as packed:
        for paper in job.papers:
            title, abstract = Parsed(paper.title, tools), Parsed(paper.abstract, tools)
            row: dict[str, Any] = {"paper_id": paper.paper_id, "phrases": abstract.phrases}
            for variant, of in codes.items():
                made = {code: perturb(paper.paper_id, title, abstract, code, job.seed, None, variant) for code in of}
                row[variant] = {code: _line(paper, one) for code, one in made.items()}
            packed.write(json.dumps(row).encode() + b"\n")
    return len(job.papers)


def _line(paper: Paper, one: Neighbour) -> list[Any] | str:
    """Return title and abstract, null where they are as they were, and the share of words kept; or why the code does not apply."""
    if not one.applies:
        return one.reason
    before, after = Text(paper.title, paper.abstract), Text(one.title or "", one.abstract or "")
    changed = [None if new == old else new for new, old in zip(after, before, strict=True)]
    return [*changed, round(words_kept(before, after), 6)]


def _read(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(path) as stream:
            yield from map(json.loads, stream)
    except (EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        raise CacheError(f"{path}: is damaged ({error})", REMEDY) from None


def _of_code(
    code: str,
    variant: str,
    rows: Sequence[dict[str, Any]],
    task: Task,
    top: frozenset[str] | None,
    seed: int,
    tools: Tools,
) -> Altered:
    ids, texts, shares = [], [], []
    reasons: Counter[str] = Counter()
    for row in rows:
        paper = task.papers[row["paper_id"]]
        one = row[variant][code] if code != TOP else _top(paper, row["phrases"], top, seed, tools)
        if isinstance(one, str):
            reasons[one] += 1
            continue
        title, abstract, share = one
        ids.append(paper.paper_id)
        texts.append(Text(paper.title if title is None else title, paper.abstract if abstract is None else abstract))
        shares.append(share)
    return Altered(code, tuple(ids), tuple(texts), tuple(shares), dict(reasons))


def _top(paper: Paper, phrases: list[str], top: frozenset[str] | None, seed: int, tools: Tools) -> list[Any] | str:
    """Make T_ADelTopNNPH from phrases that were found before: whether there are tokens is all it asks of the text besides."""
    known = replace(tools, sentences=_whole, tokens=str.split, phrases=lambda _: phrases)
    title, abstract = Parsed(paper.title, known), Parsed(paper.abstract, known)
    return _line(paper, perturb(paper.paper_id, title, abstract, TOP, seed, top))


def _whole(text: str) -> list[str]:
    return [text] if text.strip() else []
