"""Chapter parameters: read without running, refused with one clear line, never taken for code."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import alone
from toy_notebooks import write

from scirep_core.kit.errors import ConfigError
from scirep_core.page.parameters import PARAMETERS, Parameter, check, declarations, flags, read_parameters, resolve

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
DECLARED = declarations(CELL, "csfcube/baselines")


def told(given_values, **known):
    with pytest.raises(ConfigError, match=r"\Acsfcube/baselines: .{1,380}\Z") as caught:
        resolve(DECLARED, given_values, "csfcube/baselines", **known)
    return str(caught.value)


def test_declarations_are_read_with_type_default_and_help_as_papermill_reads_them(tmp_path):
    papermill = pytest.importorskip("papermill")
    path = write(tmp_path / "csfcube" / "x.ipynb", "1/0", parameters=CELL)
    found = read_parameters(path)
    assert found == DECLARED and list(found) == [line.split(":")[0] for line in CELL.splitlines()]
    assert found["ndcg_percent"] == Parameter("ndcg_percent", "int", 20, "NDCG cut")
    assert found["tags"] == Parameter("tags", "list[str]", ["a#b", "c"], "a hash inside a string is no comment")
    broken = declarations('tasks: str = (\n    "a,b"  # names\n)\nseed: int = 0  # of all')
    assert broken["tasks"] == Parameter("tasks", "str", "a,b", "names") and broken["seed"].help == "of all"
    assert found["query"].default == "" and found["quick"].default is False
    theirs = papermill.inspect_notebook(str(path))
    mine = {name: (p.name, p.type, p.help) for name, p in found.items() if name != "tags"}
    assert {n: (p["name"], p["inferred_type_name"], p["help"]) for n, p in theirs.items() if n != "tags"} == mine


@pytest.mark.parametrize(("source", "says"), [
    ("seed = 0", "line 1: only typed values"), ("# fine\nimport os", "line 2: only typed values"),
    ("seed: int = 1 + f()", "must be a literal"), ("tags: list[str] = {[]: 1}", "must be a literal"),
    ("seed: int = " + "-" * 3000 + "1", "not Python"), ("seed: int = True", "expected int, found bool"),
    ("seed: int = '3'", "expected int, found str"), ("seed: complex = 3", "type complex of seed"),
    ("seed: int = 1\nseed: int = 2", "line 2: seed is declared twice"), ("seed: int", "only typed values"),
    ("confidence: float = 1e999", "finite"), ("seed: int = (", "not Python"),
    ("data: str = None", "expected str, found NoneType"),
])  # fmt: skip
def test_bad_declarations_name_notebook_and_line(source, says):
    with pytest.raises(ConfigError, match=r"^csfcube/x: ") as caught:
        declarations(source, "csfcube/x")
    assert says in str(caught.value)


def test_two_parameter_cells_and_files_that_are_no_notebook_are_refused(tmp_path):
    path, plain, tagged = tmp_path / "two.ipynb", '"metadata": {}', '"metadata": {"tags": ["parameters"]}'
    write(path).write_text(write(path).read_text().replace(plain, tagged))
    assert list(read_parameters(path)) == ["data", "seed", "ndcg_percent"]
    path.write_text(write(path, "1").read_text().replace(plain, tagged))
    with pytest.raises(ConfigError, match="2 cells are tagged"):
        read_parameters(path)
    cell = '{"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "metadata": %s, "source": %s}]}'
    bare = '{"nbformat": 4, "metadata": {}, "cells": 1}'
    for text in (cell % ("{}", "[1]"), cell % ('{"tags": [1]}', '""'), "[]", bare):
        path.write_text(text)
        with pytest.raises(ConfigError, match="not a notebook"):
            read_parameters(path)


def test_text_is_coerced_by_the_declared_type_and_the_set_is_complete(tmp_path):
    given_text = {"ndcg_percent": " 50 ", "seed": "+7", "confidence": "0.9", "quick": "TRUE", "tags": "x, y"}
    resolved = resolve(DECLARED, {**given_text, "encoders": " a , org/model "})
    assert list(resolved) == list(DECLARED) and type(resolved["seed"]) is int
    assert resolved == {"data": "embedded", "encoders": "a,org/model", "ndcg_percent": 50, "folds": "test", "seed": 7,
                        "confidence": 0.9, "quick": True, "query": "", "tags": ["x", "y"]}  # fmt: skip
    more = resolve(DECLARED, {"tags": '["p", "q,r"]', "confidence": 0.9, "data": str(tmp_path)})
    assert (more["tags"], more["confidence"], more["data"]) == (["p", "q,r"], 0.9, str(tmp_path))


@pytest.mark.parametrize(("name", "value", "says"), [
    ("ndcg_percnt", "5", "unknown parameter 'ndcg_percnt': did you mean 'ndcg_percent'? Valid: confidence"),
    ("ndcg_percent", "0", "parameter ndcg_percent = 0: valid are 1 to 100"),
    ("ndcg_percent", "20.0", "parameter ndcg_percent = '20.0': expected a whole number"),
    ("ndcg_percent", "1_0", "expected a whole number"), ("ndcg_percent", "٣", "expected a whole number"),
    ("ndcg_percent", "", "expected a whole number"),
    ("ndcg_percent", True, "parameter ndcg_percent = True: expected int, found bool"),
    ("ndcg_percent", 20.0, "expected int, found float"), ("ndcg_percent", None, "expected int, found NoneType"),
    ("seed", "-1", "valid are 0 to 2147483647"), ("seed", "9" * 5000, "expected a whole number"),
    ("confidence", "nan", "expected a finite number"), ("confidence", float("nan"), "expected a finite number"),
    ("confidence", "inf", "expected a finite number"), ("confidence", "0.4", "valid are 0.5 to 0.999"),
    ("confidence", False, "expected float, found bool"), ("quick", "maybe", "expected true or false"),
    ("quick", 1, "expected bool, found int"),
    ("folds", "tset", "parameter folds = 'tset': did you mean 'test'? Valid: dev, test"),
    ("folds", 3, "expected str, found int"),
    ("data", "rael", "Valid: embedded, real, or the path of an existing folder"), ("data", "", "existing folder"),
    ("query", "123", "facet of background, method, result"), ("query", "12 3_method", "<paper id>_<facet>"),
    ("query", "_method", "<paper id>_<facet>"), *(("encoders", text, "a name is not empty") for text in ("a,,b", "")),
    ("encoders", "a,a", "parameter encoders = 'a': named twice"), ("encoders", "a\nb", "control characters"),
    ("tags", 3, "expected names separated by commas"), ("tags", "[1]", "expected names separated by commas"),
    ("data", "\udcff", "not valid Unicode"),
])  # fmt: skip
def test_bad_values_are_told_with_name_value_and_valid_ones(name, value, says):
    assert says in told({name: value})


def test_a_vocabulary_is_checked_where_it_is_known():
    known = ["fabs_bm25", "fabs_tfidf"]
    assert check("encoders", "fabs_bm25,org/model", encoders=known) == "fabs_bm25,org/model"
    assert check("encoders", ["fabs_bm25"], encoders=known) == ["fabs_bm25"] and check("collections", "") == ""
    line = told({"encoders": "fabs_tfidf,fabs_bm52"}, encoders=known)
    assert "parameter encoders = 'fabs_bm52': did you mean 'fabs_bm25'? Valid: fabs_bm25, fabs_tfidf" in line
    for name, value, says in (("encoder", "nope", "hub name"), ("encodres", "x", "did you mean 'encoders'"),
                              ("task", "csfcube/methd", "csfcube/method")):  # fmt: skip
        with pytest.raises(ConfigError, match=says):  # a slash makes an address of encoders only
            check(name, value, encoders=known, tasks=["csfcube/method"])


def test_a_readers_own_parameter_is_checked_for_its_type_only():
    assert resolve(declarations("threshold: int = 3  # mine"), {"threshold": "-99"}) == {"threshold": -99}
    with pytest.raises(ConfigError, match="declares no parameters"):
        resolve({}, {"seed": 1})


def test_the_words_of_a_command_give_the_same_values_again():
    """Also an empty one: of collections it means all, and the default is one of them."""
    cell = 'collections: str = "acl_anth"\ntags: list[str] = ["z"]\nquick: bool = True\nnote: str = "n"'
    values = {"collections": "", "tags": ["x", "y"], "quick": False, "note": "it's $HOME; {x}"}
    words = shlex.split(flags(values))
    assert words[::3] == ["-p"] * 4
    assert resolve(declarations(cell), dict(zip(words[1::3], words[2::3], strict=True))) == values


@given(st.text(st.characters(exclude_categories=("Cs",))), st.sampled_from(sorted(PARAMETERS)))
def test_any_text_either_passes_its_own_check_again_or_is_one_line(text, name):
    kind = {"int": "int", "float": "float", "bool": "bool"}.get(PARAMETERS[name].kind, "str")
    try:
        value = resolve({name: Parameter(name, kind, text, "")}, {}, "p/n")[name]
    except ConfigError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert check(name, value) == value and type(value).__name__ == kind


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_every_specification_is_complete(name):
    spec = PARAMETERS[name]
    assert spec.help and name.isidentifier()
    assert (spec.kind in ("int", "float")) == (spec.low is not None and spec.high is not None)
    assert (spec.kind == "choice") == bool(spec.choices) and (spec.kind in ("name", "names")) == bool(spec.vocabulary)
    if spec.low is not None and spec.high is not None:
        for bound, step in ((spec.low, -1), (spec.high, 1)):
            assert check(name, (int if spec.kind == "int" else float)(bound)) == bound
            with pytest.raises(ConfigError, match="valid are"):
                check(name, bound + step)


def test_importing_it_loads_nothing_heavy():
    heavy = {"numpy", "papermill", "IPython", "yaml", "torch"}
    assert alone(f"import sys, scirep_core.page.parameters; print({heavy} & set(sys.modules))") == "set()\n"
