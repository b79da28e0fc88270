"""The parameters of a chapter: one shared vocabulary, read without running anything, checked before a kernel starts.

A chapter declares its parameters in one cell tagged `parameters`, as typed and commented literals:

    ndcg_percent: int = 20  # NDCG cut as a percentage of the pool

Papermill injects values but checks neither names nor types, so the runner (and, inside the kernel, `start`) does it
here: unknown names are refused with the nearest valid one, text from the command line is coerced by the declared type,
and `PARAMETERS` gives the range or the choices a name has in every chapter. Values stay JSON literals throughout, so a
string that looks like code is still only a string. Vocabularies that live further up the library (encoders, tasks) are
passed in by the caller: `check("encoders", value, encoders=ENCODERS)`.
"""

from __future__ import annotations

import ast
import io
import math
import re
import shlex
import tokenize
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.formats import FACETS, FORMATS, PROTOCOLS, SIMILARITIES
from scirep_core.kit.records import WHOLE, from_text, read_json

Kind = Literal["int", "float", "bool", "choice", "name", "names", "text", "data", "query"]
TYPES = ("int", "float", "bool", "str", "list[str]")
INT_MAX = 2**31 - 1
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Spec(NamedTuple):
    """What a parameter name means everywhere: its kind, inclusive range or fixed choices, or the vocabulary it uses.

    `empty` says whether names may be none: the chapter's choice, or all.
    """

    kind: Kind
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    vocabulary: str = ""
    empty: bool = False


class Parameter(NamedTuple):
    """One declared parameter of one notebook. `type` is one of `TYPES`; `help` is the comment behind the value."""

    name: str
    type: str
    default: Any
    help: str


PARAMETERS: dict[str, Spec] = {
    "data": Spec("data", "where the data comes from: embedded, real, or a folder"),
    "papers": Spec("int", "size of the embedded literature", 300, 1_000_000),
    "paper": Spec("int", "a paper of the embedded literature, in order of time", 0, 999_999),
    "encoder": Spec("name", "name of one system", vocabulary="encoders"),
    "encoders": Spec("names", "comma-separated names of systems", vocabulary="encoders"),
    "task": Spec("name", "name of one task", vocabulary="tasks"),
    "tasks": Spec("names", "comma-separated names of tasks", vocabulary="tasks"),
    "vectors": Spec("text", "a file of vectors, or a folder of them; empty for none"),
    "codes": Spec("names", "comma-separated codes of textual neighbours", vocabulary="codes"),
    "metric": Spec("name", "name of one metric", vocabulary="metrics"),
    "format": Spec("choice", "task format", choices=FORMATS),
    "protocol": Spec("choice", "paper: as published; sound: as one would do today", choices=PROTOCOLS),
    "similarity": Spec("choice", "how two vectors are compared", choices=SIMILARITIES),
    "folds": Spec("choice", "queries that are scored", choices=("test", "dev")),
    "facet": Spec("choice", "facet of CSFCube, or all", choices=(*FACETS, "all")),
    "query": Spec("query", "one query, <paper id>_<facet>; empty for the chapter's choice"),
    "cutoff": Spec("int", "rank at which a list is cut", 1, 1_000_000),
    "ndcg_percent": Spec("int", "NDCG cut as a percentage of the pool", 1, 100),
    "shown": Spec("int", "ranks of each system that carry text", 1, 1000),
    "neighbours": Spec("int", "nearest neighbours looked at", 1, 1_000_000),
    "queries": Spec("int", "papers that are altered or asked for, drawn; 0: all", 0, 1_000_000),
    "collections": Spec(
        "names", "comma-separated collections of papers; empty for all", vocabulary="collections", empty=True
    ),
    "tools": Spec("choice", "who finds sentences, tags, phrases, antonyms", choices=("auto", "nltk", "fallback")),
    "exclude_self": Spec("bool", "take each query's own vector out of its nearest neighbours"),
    "shots": Spec("int", "labelled examples in total", 1, 1_000_000),
    "repeats": Spec("int", "seeded repetitions", 1, 1000),
    "resamples": Spec("int", "resamples of intervals and tests", 100, 100_000),
    "confidence": Spec("float", "level of the intervals", 0.5, 0.999),
    "seed": Spec("int", "seed of everything random", 0, INT_MAX),
    "variants": Spec("names", "comma-separated ways of training", vocabulary="variants"),
    "seeds": Spec("int", "training runs of each variant, which differ by their seed alone; 0: none", 0, 100),
    "base": Spec("name", "what training starts from", vocabulary="bases"),
    "steps": Spec("int", "training steps", 0, 10_000_000),
    "batch": Spec("int", "batch size", 1, 1_000_000),
    "learning_rate": Spec("float", "learning rate", 0.0, 10.0),
    "margin": Spec("float", "margin of the triplet loss", 0.0, 100.0),
    "temperature": Spec("float", "temperature of the contrastive loss", 1e-6, 1e6),
    "quick": Spec("bool", "a smaller run of the same chapter"),
}


def check(name: str, value: Any, where: str = "", **known: Collection[str]) -> Any:
    """Return `value` (names stripped, folders kept) if `name` may have it, else raise ConfigError.

    `where` names the notebook in the error. Vocabularies are passed by name (`encoders=ENCODERS`); one that is not
    passed is checked for its form only. A hub name or folder with a slash is a valid encoder.
    """
    if name not in PARAMETERS:
        raise ConfigError(f"{_at(where)}unknown parameter {name!r}: {nearest(name, PARAMETERS)}")
    spec = PARAMETERS[name]
    if spec.kind in ("int", "float", "bool"):
        problem = _number_problem(spec, value)
    elif spec.kind == "names":
        return _names(name, spec, value, where, known.get(spec.vocabulary))
    elif not isinstance(value, str):
        problem = f"expected text, found {type(value).__name__}"
    else:
        problem = _text_problem(spec, value, known.get(spec.vocabulary))
    if problem:
        raise _refusal(where, name, value, problem)
    return value


def _number_problem(spec: Spec, value: Any) -> str:
    if spec.kind == "bool" and isinstance(value, bool):
        return ""
    number = isinstance(value, int) or (spec.kind == "float" and isinstance(value, float))
    if not number or isinstance(value, bool) or spec.kind == "bool":
        return f"expected {spec.kind}, found {type(value).__name__}"
    low, high = -math.inf if spec.low is None else spec.low, math.inf if spec.high is None else spec.high
    return "" if low <= value <= high else f"valid are {low:.15g} to {high:.15g}"  # NaN compares false: refused


def _is_folder(text: str) -> bool:
    try:
        return bool(text) and Path(text).is_dir()
    except OSError:  # a name too long for any
        return False


def _text_problem(spec: Spec, value: str, vocabulary: Collection[str] | None) -> str:
    if spec.kind == "choice":
        return "" if value in spec.choices else nearest(value, spec.choices)
    if spec.kind == "data":
        if value in ("embedded", "real") or _is_folder(value):
            return ""
        return "no such folder. Valid: embedded, real, or the path of an existing folder"
    if spec.kind == "query":
        paper, _, facet = value.rpartition("_")
        whole = bool(paper) and not re.search(r"\s", paper) and facet in FACETS
        return "" if whole or not value else f"valid are <paper id>_<facet> with a facet of {', '.join(FACETS)}, or ''"
    if spec.kind == "name":
        return _name_problem(spec, value, vocabulary)
    return ""


def _name_problem(spec: Spec, value: str, vocabulary: Collection[str] | None) -> str:
    if not value or value != value.strip() or any(not c.isprintable() for c in value):
        return "a name is not empty, has no space around it and no control characters"
    is_address = spec.vocabulary == "encoders" and "/" in value
    if vocabulary is None or value in vocabulary or is_address:
        return ""
    extra = "; or a hub name or folder with a slash" if spec.vocabulary == "encoders" else ""
    return nearest(value, vocabulary) + extra


def _names(name: str, spec: Spec, value: Any, where: str, vocabulary: Collection[str] | None) -> Any:
    """Check a list of names, given as a list or as text with commas; the answer has the shape of the question."""
    if not isinstance(value, str | list) or not all(isinstance(part, str) for part in value):
        raise _refusal(where, name, value, "expected names separated by commas")
    if not value and spec.empty:
        return value
    parts = [part.strip() for part in (value.split(",") if isinstance(value, str) else value)]
    for part in parts:
        if problem := _name_problem(spec, part, vocabulary):
            raise _refusal(where, name, part, problem)
        if parts.count(part) > 1:
            raise _refusal(where, name, part, "named twice")
    if not parts:
        raise _refusal(where, name, value, "name at least one")
    return ",".join(parts) if isinstance(value, str) else parts


def _at(where: str) -> str:
    return f"{where}: " if where else ""


def _refusal(where: str, name: str, value: Any, problem: str) -> ConfigError:
    shown = repr(value)  # repr keeps a newline inside the one line of the message
    return ConfigError(f"{_at(where)}parameter {name} = {shown if len(shown) <= 80 else shown[:77] + '...'}: {problem}")


def chapter_name(notebook: Path) -> str:
    """Return `<paper>/<name>`, the name of a chapter in messages and in the runs folder."""
    return f"{notebook.resolve().parent.name or 'notebook'}/{notebook.stem}"


def read_notebook(path: Path) -> dict[str, Any]:
    """Return a notebook of format 4, each cell with its type, source, metadata and tags. Raises ConfigError, DataError."""
    held = read_json(path)
    if _is_notebook(held):
        return dict(held)
    raise ConfigError(f"{path}: not a notebook (format 4). Open and save it with a current Jupyter")


def _is_notebook(held: Any) -> bool:
    if not isinstance(held, dict) or held.get("nbformat") != 4:
        return False
    cells, metadata = held.get("cells"), held.get("metadata")
    return isinstance(metadata, dict) and isinstance(cells, list) and all(map(_is_cell, cells))


def _is_cell(cell: Any) -> bool:
    if not isinstance(cell, dict) or not isinstance(cell.get("metadata"), dict):
        return False
    source = cell.get("source")
    texts = [cell.get("cell_type"), *(source if isinstance(source, list) else [source])]
    tags = cell["metadata"].get("tags", [])
    return isinstance(tags, list) and all(isinstance(text, str) for text in (*texts, *tags))


def read_parameters(notebook: Path) -> dict[str, Parameter]:
    """Return the declared parameters of a notebook in order, from the one cell tagged `parameters`; nothing is run.

    Raises ConfigError for a second such cell, and for anything in it but `name: type = literal` lines.
    """
    cells = [cell for cell in read_notebook(notebook)["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    if len(sources) > 1:
        raise ConfigError(f"{notebook}: {len(sources)} cells are tagged 'parameters'. Keep one")
    return declarations(sources[0], chapter_name(notebook)) if sources else {}


def declarations(source: str, where: str = "") -> dict[str, Parameter]:
    """Parse the text of a parameters cell: only `name: type = literal  # help` lines, `type` one of `TYPES`."""
    try:
        body = ast.parse(source).body
        comments = {
            token.start[0]: token.string.lstrip("#").strip()
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT
        }
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError) as error:
        raise ConfigError(f"{_at(where)}the parameters cell is not Python: {error}") from None
    found: dict[str, Parameter] = {}
    for node in body:
        line = f"{_at(where)}parameters cell, line {node.lineno}: "
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name) or node.value is None:
            raise ConfigError(f"{line}only typed values belong here, such as `seed: int = 0  # of resampling`")
        name, kind = node.target.id, ast.unparse(node.annotation)
        if kind not in TYPES:
            raise ConfigError(f"{line}type {kind} of {name}: {nearest(kind, TYPES)}")
        if name in found:
            raise ConfigError(f"{line}{name} is declared twice")
        try:
            default = ast.literal_eval(node.value)
        except (ValueError, TypeError):  # a list as a key is a TypeError
            raise ConfigError(f"{line}{name} must be a literal, not {ast.unparse(node.value)!r:.60}") from None
        if isinstance(default, str) and kind != "str":
            raise _refusal(line.removesuffix(": "), name, default, f"expected {kind}, found str")
        default = _coerce(kind, default, name, line.removesuffix(": "))
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)  # formatters break long values over lines
        found[name] = Parameter(name, kind, default, " ".join(comments[n] for n in lines if n in comments))
    return found


def _coerce(kind: str, value: Any, name: str, where: str) -> Any:
    """Return `value` as the declared type. Only text is converted; a bool is never a number, NaN never a float."""
    text = value.strip() if isinstance(value, str) else None
    problem = f"expected {kind}, found {type(value).__name__}"
    if kind == "str" and isinstance(value, str):
        if value.isascii() or not re.search("[\ud800-\udfff]", value):
            return value
        problem = "not valid Unicode text"
    elif kind == "int":
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if text is not None and WHOLE.fullmatch(text):
            return int(text)
        problem = "expected a whole number" if text is not None else problem
    elif kind == "float" and not isinstance(value, bool):
        number = _float(text) if text is not None else value
        if isinstance(number, int | float) and math.isfinite(number):
            return float(number)
        problem = "expected a finite number" if text is not None or isinstance(value, float) else problem
    elif kind == "bool":
        if isinstance(value, bool):
            return value
        if text is not None and text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        problem = "expected true or false" if text is not None else problem
    elif kind == "list[str]":
        parts = _list(text) if text is not None else value
        if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
            return [_coerce("str", part, name, where) for part in parts]
        problem = "expected names separated by commas"
    raise _refusal(where, name, value, problem)


def _float(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _list(text: str) -> Any:
    """Text from a command line: a JSON list, or names separated by commas."""
    if not text.startswith("["):
        return [part.strip() for part in text.split(",")] if text else []
    try:
        return from_text(text)
    except (ValueError, RecursionError):
        return None


def resolve(
    declared: Mapping[str, Parameter], given: Mapping[str, Any], where: str = "", **known: Collection[str]
) -> dict[str, Any]:
    """Return the complete set of values: defaults overlaid by `given`, coerced, checked against `PARAMETERS`.

    A declared name outside `PARAMETERS` (a reader's own notebook) is checked for its type only. Raises ConfigError
    naming the notebook (`where`), the parameter, the value and the valid ones.
    """
    for name in given:
        if name not in declared:
            hint = nearest(name, declared) if declared else "this notebook declares no parameters"
            raise ConfigError(f"{_at(where)}unknown parameter {name!r}: {hint}")
    resolved = {}
    for name, parameter in declared.items():
        value = _coerce(parameter.type, given.get(name, parameter.default), name, where)
        resolved[name] = check(name, value, where, **known) if name in PARAMETERS else value
    return resolved


def flags(values: Mapping[str, Any]) -> str:
    """Return values as the words of a command line that give them again, `-p NAME VALUE`; an empty one may mean all."""
    texts = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in values.items()}
    return " ".join(f"-p {name} {shlex.quote(text)}" for name, text in texts.items())
