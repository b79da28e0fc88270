"""What is kept is kept under the code that made it: the lists of that code name files that exist, and all of them.

Rows (bench/score_cache.py), trained models (training/models.py) and textual neighbours (data/perturbations/altered.py)
each have such a list, CODE.
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from scirep_core import results
from scirep_core.bench import score_cache
from scirep_core.data.perturbations import altered
from scirep_core.kit.errors import ConfigError
from scirep_core.training import models, sets

LISTS = {
    "rows": (score_cache, score_cache.code.__wrapped__),
    "models": (models, models.code.__wrapped__),
    "neighbours": (altered, lambda: results.code_of(altered.CODE)),
}


@pytest.mark.parametrize("kept", LISTS)
def test_a_name_that_is_missing_raises(kept, monkeypatch):
    module, code = LISTS[kept]
    before = code()
    monkeypatch.setattr(module, "CODE", (*module.CODE, "moved_away.py"))
    with pytest.raises(ConfigError, match=r"'moved_away\.py' is no code of the library"):
        code()
    monkeypatch.setattr(module, "CODE", module.CODE[:-1])
    assert code() == before  # seen to count: the list was whole again
    with pytest.raises(ConfigError, match="no code of the library"):
        models.code("encoders/none_such.py")


def test_a_folder_stands_for_all_below_it_and_an_empty_one_for_nothing(tmp_path, monkeypatch):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "bare").mkdir()
    for name in ("deep/er/one.py", "deep/two.py", "three.py"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(results, "PACKAGE", tmp_path)
    assert list(results.code_of(["deep", "three.py"])) == ["deep/er/one.py", "deep/two.py", "three.py"]
    with pytest.raises(ConfigError, match="'bare' is no code"):
        results.code_of(["bare"])


# ---------------------------------------------------------------------------------------------------- the lists are whole

KEYS = {"rows": score_cache.CODE, "models": models.CODE, "neighbours": altered.CODE, "tokens": sets.CODE}
BYTES = {*(f"kit/{name}.py" for name in ("errors", "formats", "records", "store")),
         "__init__.py", "results/__init__.py", "data/text.py"}  # fmt: skip
"""What stores, says errors and names formats. For rows some of these count all the same, and are listed."""
DATASETS = {"data/__init__.py", "data/open/tasks.py", "data/hub.py", "data/inventory.py", "data/readers/scimult.py",
            "data/readers/scirepeval.py", "data/tables.py", "data/task.py"}  # fmt: skip
LEFT_OUT = {
    "rows": {*BYTES, "encoders/vectors/encoding.py", "data/literature/__init__.py", "data/literature/emit/__init__.py",
             *(f"data/perturbations/{name}.py" for name in ("__init__", "altered", "changes", "linguistics")),
             "results/published/__init__.py",  # of evaluators that chapters alone ask: their rows are not kept
             "data/open/__init__.py", "data/open/tasks.py",
             *(f"data/manifests/{name}.py" for name in ("__init__", "files", "download", "unpack")),
             "bench/__init__.py", "bench/score_cache.py", "bench/suites.py", "kit/__init__.py", "kit/terminal.py"},
    "models": {*BYTES, "training/__init__.py", "encoders/__init__.py", "training/checkpoint.py",
               "encoders/hub.py", "encoders/settings.py", "encoders/models/model_folder.py", "encoders/trunk/speed.py",
               "encoders/trunk/tokens.py", "encoders/trunk_encoder.py", *DATASETS},
    "neighbours": {*BYTES, *DATASETS},
    "tokens": {*BYTES, "data/literature/__init__.py", "data/literature/emit/__init__.py", "encoders/models/model_folder.py",
               *(f"data/manifests/{name}.py" for name in ("__init__", "download", "unpack")),
               "training/config.py", "training/variants.py"},
}  # fmt: skip
"""What brings files or refuses input, and what the key holds in another way: files by hash, rows and tokens of a training by
their own; what a file or a variant chooses stands in the key of tokens. Measures of textual neighbours are never kept as rows,
so their table of codes is in no key of rows."""


def imported(path):
    """Return the library's files that a file imports, at any depth of its code, without those for types alone."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    places = [name.split(".", 1)[1].replace(".", "/") for name in names if name.startswith(f"{results.PACKAGE.name}.")]
    files = [file for place in places for file in (f"{place}.py", f"{place}/__init__.py")]
    return {file for file in files if (results.PACKAGE / file).is_file()}


@pytest.mark.parametrize("kept", KEYS)
def test_every_file_that_listed_code_imports_is_listed_or_left_out_with_a_reason(kept):
    listed = set(results.code_of(KEYS[kept]))
    reached = {name: file for file in sorted(listed) for name in imported(results.PACKAGE / file)}
    assert {name: by for name, by in reached.items() if name not in listed and name not in LEFT_OUT[kept]} == {}
    assert results.code_of(LEFT_OUT[kept])  # what is left out exists as well


def test_the_libraries_of_rows_are_those_the_project_declares():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    texts = sum(project.get("optional-dependencies", {}).values(), project["dependencies"])
    declared = {re.match(r"[\w.-]+", text)[0].lower() for text in texts}
    assert {name.lower() for name in score_cache.LIBRARIES} <= declared
