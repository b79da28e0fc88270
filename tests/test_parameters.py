"""Chapter parameters: read without running, refused with one clear line, never taken for code."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_notebooks import write

from scirep_core.kit.errors import ConfigError
from scirep_core.page.parameters import (
    PARAMETERS,
    TYPES,
    Parameter,
    check,
    declarations,
    flags,
    read_parameters,
    resolve,
)

CELL = """data: str = "embedded"        # embedded, real, or a folder
encoders: str = "fabs_tfidf,fabs_bm25"   # comma-separated names of systems
ndcg_percent: int = 20        # NDCG cut
folds: str = "test"           # test or dev
seed: int = 0                 # of resampling
confidence: float = 0.95      # level
quick: bool = False           # smaller
query: str = ""               # one query
tags: list[str] = ["a#b", "c"]  # a hash inside a string is no comment
"""


def declared() -> dict[str, Parameter]:
    return declarations(CELL, "csfcube/baselines")


def told(given_values: dict[str, object], **known: list[str]) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve(declared(), given_values, "csfcube/baselines", **known)
    line = str(caught.value)
    assert "\n" not in line and line.startswith("csfcube/baselines: ")
    return line


def test_declarations_are_read_with_type_default_and_help(tmp_path: Path) -> None:
    found = read_parameters(write(tmp_path / "csfcube" / "x.ipynb", "1/0", parameters=CELL))
    assert found == declared()
    assert list(found) == [line.split(":")[0] for line in CELL.splitlines()]
    assert found["ndcg_percent"] == Parameter("ndcg_percent", "int", 20, "NDCG cut")
    assert found["tags"] == Parameter("tags", "list[str]", ["a#b", "c"], "a hash inside a string is no comment")
    broken = declarations('tasks: str = (\n    "a,b"  # names\n)\nseed: int = 0  # of all')
    assert broken["tasks"] == Parameter("tasks", "str", "a,b", "names") and broken["seed"].help == "of all"
    assert found["query"].default == "" and found["quick"].default is False


def test_papermill_reads_the_same_declarations(tmp_path: Path) -> None:
    papermill = pytest.importorskip("papermill")
    path = write(tmp_path / "csfcube" / "x.ipynb", parameters=CELL)
    theirs = papermill.inspect_notebook(str(path))
    mine = {name: (p.name, p.type, p.help) for name, p in read_parameters(path).items() if p.type != "list[str]"}
    assert {n: (p["name"], p["inferred_type_name"], p["help"]) for n, p in theirs.items() if n != "tags"} == mine


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("seed = 0", "line 1: only typed values"),
        ("# fine\nimport os", "line 2: only typed values"),
        ("seed: int = 1 + f()", "must be a literal"),
        ("tags: list[str] = {[]: 1}", "must be a literal"),
        ("seed: int = " + "-" * 3000 + "1", "not Python"),
        ("seed: int = True", "expected int, found bool"),
        ("seed: int = '3'", "expected int, found str"),
        ("seed: complex = 3", "type complex of seed"),
        ("seed: int = 1\nseed: int = 2", "line 2: seed is declared twice"),
        ("seed: int", "only typed values"),
        ("confidence: float = 1e999", "finite"),
        ("seed: int = (", "not Python"),
        ("data: str = None", "expected str, found NoneType"),
    ],
)
def test_bad_declarations_name_notebook_and_line(source: str, says: str) -> None:
    with pytest.raises(ConfigError, match=r"^csfcube/x: ") as caught:
        declarations(source, "csfcube/x")
    assert says in str(caught.value)


def test_two_parameter_cells_and_files_that_are_no_notebook_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "p" / "two.ipynb")
    path.write_text(path.read_text().replace('"metadata": {}', '"metadata": {"tags": ["parameters"]}'))
    assert list(read_parameters(path)) == ["data", "seed", "ndcg_percent"]
    both = write(tmp_path / "p" / "two.ipynb", "1")
    both.write_text(both.read_text().replace('"metadata": {}', '"metadata": {"tags": ["parameters"]}'))
    with pytest.raises(ConfigError, match="2 cells are tagged"):
        read_parameters(both)
    for text in ("[]", '{"cells": [1]}', "{}"):
        both.write_text(text)
        with pytest.raises(ConfigError, match="not a notebook"):
            read_parameters(both)


def test_text_is_coerced_by_the_declared_type_and_the_set_is_complete() -> None:
    given_text = {"ndcg_percent": " 50 ", "seed": "+7", "confidence": "0.9", "quick": "TRUE", "tags": "x, y"}
    resolved = resolve(declared(), {**given_text, "encoders": " a , org/model "})
    assert resolved == {
        "data": "embedded",
        "encoders": "a,org/model",
        "ndcg_percent": 50,
        "folds": "test",
        "seed": 7,
        "confidence": 0.9,
        "quick": True,
        "query": "",
        "tags": ["x", "y"],
    }
    assert type(resolved["seed"]) is int and list(resolved) == list(declared())
    assert resolve(declared(), {"tags": '["p", "q,r"]'})["tags"] == ["p", "q,r"]
    assert resolve(declared(), {"confidence": 0.9})["confidence"] == 0.9


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("ndcg_percnt", "5", "unknown parameter 'ndcg_percnt': did you mean 'ndcg_percent'? Valid: confidence"),
        ("ndcg_percent", "0", "parameter ndcg_percent = 0: valid are 1 to 100"),
        ("ndcg_percent", "20.0", "parameter ndcg_percent = '20.0': expected a whole number"),
        ("ndcg_percent", "1_0", "expected a whole number"),
        ("ndcg_percent", "٣", "expected a whole number"),
        ("ndcg_percent", "", "expected a whole number"),
        ("ndcg_percent", True, "parameter ndcg_percent = True: expected int, found bool"),
        ("ndcg_percent", 20.0, "expected int, found float"),
        ("ndcg_percent", None, "expected int, found NoneType"),
        ("seed", "-1", "valid are 0 to 2147483647"),
        ("seed", "9" * 5000, "expected a whole number"),
        ("confidence", "nan", "expected a finite number"),
        ("confidence", float("nan"), "expected a finite number"),
        ("confidence", "inf", "expected a finite number"),
        ("confidence", "0.4", "valid are 0.5 to 0.999"),
        ("confidence", False, "expected float, found bool"),
        ("quick", "maybe", "expected true or false"),
        ("quick", 1, "expected bool, found int"),
        ("folds", "tset", "parameter folds = 'tset': did you mean 'test'? Valid: dev, test"),
        ("folds", 3, "expected str, found int"),
        ("data", "rael", "Valid: embedded, real, or the path of an existing folder"),
        ("data", "", "existing folder"),
        ("query", "123", "facet of background, method, result"),
        ("query", "12 3_method", "<paper id>_<facet>"),
        ("query", "_method", "<paper id>_<facet>"),
        ("encoders", "a,,b", "a name is not empty"),
        ("encoders", "a,a", "parameter encoders = 'a': named twice"),
        ("encoders", "a\nb", "control characters"),
        ("tags", 3, "expected names separated by commas"),
        ("tags", "[1]", "expected names separated by commas"),
        ("data", "\udcff", "not valid Unicode"),
    ],
)
def test_bad_values_are_told_with_name_value_and_valid_ones(name: str, value: object, says: str) -> None:
    line = told({name: value})
    assert says in line
    assert len(line) < 400


def test_a_vocabulary_is_checked_where_it_is_known() -> None:
    known = ["fabs_bm25", "fabs_tfidf"]
    assert check("encoders", "fabs_bm25,org/model", encoders=known) == "fabs_bm25,org/model"
    assert check("encoders", ["fabs_bm25"], encoders=known) == ["fabs_bm25"]
    line = told({"encoders": "fabs_tfidf,fabs_bm52"}, encoders=known)
    assert "parameter encoders = 'fabs_bm52': did you mean 'fabs_bm25'? Valid: fabs_bm25, fabs_tfidf" in line
    with pytest.raises(ConfigError, match="hub name"):
        check("encoder", "nope", encoders=known)
    with pytest.raises(ConfigError, match="csfcube/method"):
        check("task", "csfcube/methd", tasks=["csfcube/method"])  # a slash makes an address of encoders only
    with pytest.raises(ConfigError, match="did you mean 'encoders'"):
        check("encodres", "x")


def test_a_folder_is_data(tmp_path: Path) -> None:
    assert resolve(declared(), {"data": str(tmp_path)})["data"] == str(tmp_path)


def test_a_readers_own_parameter_is_checked_for_its_type_only() -> None:
    own = declarations("threshold: int = 3  # mine")
    assert resolve(own, {"threshold": "-99"}) == {"threshold": -99}
    with pytest.raises(ConfigError, match="declares no parameters"):
        resolve({}, {"seed": 1})


def test_the_words_of_a_command_give_the_same_values_again() -> None:
    """Also an empty one: of collections it means all, and the default is one of them."""
    own = declarations(
        'collections: str = "acl_anth"  # x\ntags: list[str] = ["z"]  # x\nquick: bool = True  # x\nnote: str = "n"'
    )
    values = {"collections": "", "tags": ["x", "y"], "quick": False, "note": "it's $HOME; {x}"}
    words = shlex.split(flags(values))
    assert words[::3] == ["-p"] * 4
    assert resolve(own, dict(zip(words[1::3], words[2::3], strict=True))) == values


@given(st.text(st.characters(exclude_categories=("Cs",))), st.sampled_from(sorted(PARAMETERS)))
def test_any_text_either_passes_its_own_check_again_or_is_one_line(text: str, name: str) -> None:
    kind = {"int": "int", "float": "float", "bool": "bool"}.get(PARAMETERS[name].kind, "str")
    try:
        value = resolve({name: Parameter(name, kind, text, "")}, {}, "p/n")[name]
    except ConfigError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert check(name, value) == value and type(value).__name__ == kind


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_every_specification_is_complete(name: str) -> None:
    spec = PARAMETERS[name]
    assert spec.help and name.isidentifier()
    assert (spec.kind in ("int", "float")) == (spec.low is not None and spec.high is not None)
    assert (spec.kind == "choice") == bool(spec.choices)
    assert (spec.kind in ("name", "names")) == bool(spec.vocabulary)
    if spec.low is not None and spec.high is not None:
        number = int if spec.kind == "int" else float
        assert check(name, number(spec.low)) == spec.low and check(name, number(spec.high)) == spec.high
        for outside in (spec.low - 1, spec.high + 1):
            with pytest.raises(ConfigError, match="valid are"):
                check(name, number(outside))
    assert TYPES == ("int", "float", "bool", "str", "list[str]")


def test_importing_it_loads_nothing_heavy() -> None:
    code = "import sys, scirep_core.page.parameters; print({'numpy', 'papermill', 'IPython', 'yaml', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
