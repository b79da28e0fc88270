"""Notebooks as committed: parameters, calls, tables, figures and prose, and nothing a machine left behind."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal
from unittest import mock

import pytest
from pydantic import BaseModel, Field, ValidationError
from toy_notebooks import write

from scirep_core import book
from scirep_core.book import coverage
from scirep_core.kit.errors import ScirepError
from scirep_core.page.chapter import Chapter
from scirep_core.page.parameters import PARAMETERS, check, read_parameters

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(p for p in (ROOT / "notebooks").glob("*/*.ipynb") if not p.parent.name.startswith("."))
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
METADATA = {"kernelspec", "language_info", "scirep"}
MAX_DEF = 25
ABSOLUTE = re.compile(r"(?<![\w:/.<)~])/[A-Za-z][\w.-]*/[\w.-]|\b[A-Z]:\\\\?\w|\bfile://")
CLIMBS = re.compile(r"(?<![\w.])(\.\./|~/)")
TYPE_OF_KIND = {"int": {"int"}, "float": {"float"}, "bool": {"bool"}, "names": {"str", "list[str]"}}


def faults(path: Path) -> Iterator[str]:
    """Yield what is wrong with one notebook's source, each in a few words."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = notebook["cells"]
    if (notebook["nbformat"], notebook["nbformat_minor"]) != (4, 5):
        yield "not notebook format 4.5"
    if extra := set(notebook["metadata"]) - METADATA:
        yield f"metadata left behind: {sorted(extra)}"
    if notebook["metadata"].get("kernelspec") != KERNEL:
        yield f"kernelspec is not {KERNEL}"
    if set(notebook["metadata"].get("language_info", {})) - {"name"}:
        yield "language_info names more than the language"
    yield from _about(path, notebook["metadata"].get("scirep"))
    yield from _cells(cells)
    yield from _parameters(path, cells)


Name = Annotated[str, Field(pattern=r"\S")]


class About(BaseModel, extra="forbid", strict=True):
    """`metadata.scirep` of a chapter."""

    paper: Literal[*book.PARTS]  # type: ignore[valid-type]
    section: Name
    title: Name
    order: float
    exhibits: list[Literal[*(row.id for row in coverage.exhibits())]]  # type: ignore[valid-type]
    needs: list[Name]
    produces: list[Name]
    after: Literal["chapters"] = "chapters"


def _about(path: Path, given: Any) -> Iterator[str]:
    try:
        about = About.model_validate(given)
    except ValidationError as error:
        yield from (f"metadata.scirep.{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        return
    if about.paper != path.parent.name:
        yield f"metadata.scirep.paper {about.paper!r} is not the folder"
    for need in about.needs:
        if need != "embedded" and "/" not in need and not (ROOT / "data_manifests" / f"{need}.yaml").is_file():
            yield f"needs {need!r}, which has no manifest"
        if "/" in need and not need.startswith("results/"):
            yield f"needs {need!r}: only recorded results are named by path"


def _cells(cells: list[dict[str, Any]]) -> Iterator[str]:
    for name, count in Counter(cell.get("id") for cell in cells).items():
        if count > 1 or not name:
            yield f"cell id {name!r} on {count} cells"
        elif re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){0,4}-?[0-9a-f]*", name):
            yield f"cell id {name} is random; give it a name that stays"
    for number, cell in enumerate(cells, start=1):
        source = "".join(cell["source"])
        text = re.sub(r"\{doc\}`[^`]*`", "", source)
        code = cell["cell_type"] == "code"
        if found := ABSOLUTE.search(text) or (code and CLIMBS.search(text)):
            yield f"cell {number} names a path of a machine: {found.group()!r}"
        if not source.strip():
            yield f"cell {number} is empty"
        if not code:
            continue
        if cell["outputs"] or cell["execution_count"] is not None:
            yield f"cell {number} has outputs or an execution count"
        if {"papermill", "execution"} & set(cell["metadata"]):
            yield f"cell {number} has traces of a run"
        try:
            tree = ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE))
        except SyntaxError as error:
            yield f"cell {number} is not Python: {error.msg}"
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MAX_DEF:
                    yield f"cell {number}: {node.name} has {lines} lines; code of more than {MAX_DEF} belongs in the library"


def _parameters(path: Path, cells: list[dict[str, Any]]) -> Iterator[str]:
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) != 1 or tagged[0]["cell_type"] != "code":
        yield f"{len(tagged)} cells are tagged 'parameters'; one is needed"
        return
    try:
        declared = read_parameters(path)
        for name, parameter in declared.items():
            if not parameter.help:
                yield f"parameter {name} has no comment"
            check(name, parameter.default)
            if parameter.type not in TYPE_OF_KIND.get(PARAMETERS[name].kind, {"str"}):
                yield f"parameter {name} is declared {parameter.type}, but is {PARAMETERS[name].kind} elsewhere"
    except ScirepError as error:
        yield str(error)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_notebook_is_clean(path: Path) -> None:
    assert list(faults(path)) == []


def misfits(source: str) -> Iterator[str]:
    """Yield the calls of the library that do not fit its signatures: a run finds them only when it comes to their cell."""
    tree = ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE))
    names: dict[str, Any] = {"chapter": mock.create_autospec(Chapter, instance=True)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("scirep_core"):
            exec(ast.unparse(node), names)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        root, *path = ast.unparse(call.func).split(".")
        starred = any(isinstance(part, ast.Starred) for part in call.args) or any(
            word.arg is None for word in call.keywords
        )
        if root in names and not starred and len(path) < 2 and all(map(str.isidentifier, path)):
            try:
                called = getattr(names[root], path[0]) if path else names[root]
                inspect.signature(called).bind(*call.args, **{str(word.arg): word for word in call.keywords})
            except ValueError:
                continue  # something of Python itself, as a dict's `items`
            except (AttributeError, TypeError) as error:
                yield f"{ast.unparse(call)}: {error}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_call_of_the_library_fits_its_signature(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert list(misfits("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))) == []


def test_every_chapter_has_its_own_place_in_the_book() -> None:
    about = [json.loads(path.read_text(encoding="utf-8"))["metadata"]["scirep"] for path in NOTEBOOKS]
    assert max(Counter((one["paper"], one["order"]) for one in about).values()) == 1


# ---- the lint itself ------------------------------------------------------------------------------------------------

NEEDS = ["embedded", "csfcube", "results/real/csfcube/*.jsonl"]
CLEAN = dict(zip(About.model_fields, ("csfcube", "5.1", "Baselines", 2, ["CS-T1"], NEEDS, ["rows"]), strict=False))
Change = Callable[[dict[str, Any]], object]


def broken(change: Change, tmp_path: Path) -> list[str]:
    path = write(tmp_path / "csfcube" / "x.ipynb", "print(seed)", **CLEAN)
    notebook = json.loads(path.read_text())
    text = "See {doc}`/csfcube/a` at 1/2/3."
    notebook["cells"].append({"cell_type": "markdown", "id": "end", "metadata": {}, "source": text})
    change(notebook)
    path.write_text(json.dumps(notebook))
    return list(faults(path))


def source(text: str, cell: int = 1) -> Change:
    return lambda notebook: notebook["cells"][cell].update(source=text)


def about(**change: Any) -> Change:
    return lambda notebook: notebook["metadata"]["scirep"].update(change)


HOME = "/".join(("", "home", "me", "x.csv"))  # in pieces: the tree must not hold a machine's path


@pytest.mark.parametrize(
    ("says", "change"),
    [
        ("outputs or an execution count", lambda n: n["cells"][1].update(execution_count=3)),
        ("outputs or an execution count", lambda n: n["cells"][1].update(outputs=[{"output_type": "stream"}])),
        ("traces of a run", lambda n: n["cells"][1]["metadata"].update(papermill={})),
        ("metadata left behind: ['widgets']", lambda n: n["metadata"].update(widgets={})),
        ("kernelspec is not", lambda n: n["metadata"]["kernelspec"].update(name="conda-env")),
        ("language_info", lambda n: n["metadata"].update(language_info={"name": "python", "version": "3.11"})),
        ("not notebook format 4.5", lambda n: n.update(nbformat_minor=4)),
        ("cell id 'cell-0' on 2 cells", lambda n: n["cells"][1].update(id="cell-0")),
        ("is random", lambda n: n["cells"][1].update(id="4fe1d1c6")),
        ("0 cells are tagged", lambda n: n["cells"][0]["metadata"].clear()),
        ("2 cells are tagged", lambda n: n["cells"][1]["metadata"].update(tags=["parameters"])),
        ("parameter seed has no comment", source("seed: int = 0", 0)),
        ("only typed values", source("seed = 0  # x", 0)),
        ("unknown parameter 'sedd'", source("sedd: int = 0  # x", 0)),
        ("declared int, but is float elsewhere", source("learning_rate: int = 1  # x", 0)),
        ("valid are 1 to 100", source("ndcg_percent: int = 0  # x", 0)),
        ("f has 26 lines", source("def f():\n" + "    a = 1\n" * 24 + "    return a")),
        ("is not Python", source("def")),
        ("is empty", source(" ")),
        ("path of a machine", source(f"open('{HOME}')")),
        ("path of a machine", source(f"Results in `{HOME}`.", 2)),
        ("path of a machine", source("open('../data/x')")),
        ("path of a machine", source(r"open('C:\\Users\\me')")),
        ("metadata.scirep.title: Field required", lambda n: n["metadata"]["scirep"].pop("title")),
        ("metadata.scirep.title: String should match", about(title="")),
        ("metadata.scirep.order: Input should be a valid number", about(order=True)),
        ("metadata.scirep.produces.0: Input should be a valid string", about(produces=[3])),
        ("is not the folder", about(paper="scimult")),
        ("metadata.scirep.exhibits.0: Input should be", about(exhibits=["CS-T99"])),
        ("'cfscube', which has no manifest", about(needs=["cfscube"])),
        ("only recorded results", about(needs=["data/x"])),
        ("metadata.scirep.after: Input should be", about(after="all")),
    ],
)
def test_each_fault_is_found(tmp_path: Path, says: str, change: Change) -> None:
    assert broken(lambda notebook: None, tmp_path) == []
    found = broken(change, tmp_path)
    assert any(says in fault for fault in found), found
