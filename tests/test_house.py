"""The house: import order, file sizes, style, types, one lock for pip and conda, nothing of this or any machine."""

from __future__ import annotations

import ast
import importlib.metadata as metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import torch
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scripts import alone, script

from scirep_core.book import pdf

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scirep_core"
RUFF = [sys.executable, "-m", "ruff"]
LOCK = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize(
    "words",
    [[str(Path(sys.executable).parent / "lint-imports")], [*RUFF, "check", "."], [*RUFF, "format", "--check", "."],
     [sys.executable, "-m", "mypy"]],
    ids=["rooms", "style", "format", "types"],
)  # fmt: skip
def test_data_flow_one_way_and_style_and_types_are_clean(words: list[str]):
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_importing_the_library_changes_nothing_of_the_process():
    code = (
        "import os, pkgutil, importlib\n"
        "import matplotlib, scirep_core, torch\n"
        "def state(): return dict(os.environ), dict(matplotlib.rcParams), torch.get_num_threads(), torch.get_default_dtype()\n"
        "before = state()\n"
        "for module in pkgutil.walk_packages(scirep_core.__path__, 'scirep_core.'):\n"
        "    importlib.import_module(module.name)\n"
        "assert state() == before, [a.items() - b.items() for a, b in zip(state()[:1], before)]\n"
    )
    alone(code)


def test_no_test_asks_how_long_anything_took():
    """Seconds are the machine's and its neighbours': tests count operations and bytes (counted.py)."""
    clocks = re.compile(r"\b(perf_counter|process_time|thread_time|monotonic|performance\.now|time\.time)\b")
    moments = {"test_kill_data.py", "test_kill_runner.py", Path(__file__).name}  # kills are spread over a work's length
    found = {path.name for path in (ROOT / "tests").glob("*.py") if clocks.search(path.read_text(encoding="utf-8"))}
    assert found <= moments


def test_a_file_is_a_chapter_without_pickle_eval_exec_or_foreign_code():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        assert len(text.splitlines()) <= 450 and ast.get_docstring(tree), path
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
                assert not {"pickle", "dill", "shelve", "marshal"} & set(names), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec"), path
            if isinstance(node, ast.keyword) and node.arg == "trust_remote_code":
                assert isinstance(node.value, ast.Constant) and node.value.value is False, path


def test_one_lock_serves_pip_and_conda_with_exact_public_pins_of_all_that_is_needed_and_nothing_of_cuda():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    assert [one["pip"] for one in conda if isinstance(one, dict)] == [["-r requirements.lock"]]
    assert "python=3.11" in conda
    assert [
        line for line in LOCK if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)
    ] == []  # no addresses, no hashes
    pins = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in LOCK)}
    assert not [name for name in pins if name.startswith(("nvidia", "triton", "cuda"))]
    assert torch.version.cuda is None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {"scirep-book": [*project["dependencies"], *(r for name in set(extras) - {"scale"} for r in extras[name])]}
    wanted |= {name: metadata.requires(name) or [] for name in pins}  # scale: whoever has a cluster installs Ray there
    for name, requirement in ((name, Requirement(text)) for name, texts in wanted.items() for text in texts):
        if name == "scirep-book" or not requirement.marker or requirement.marker.evaluate({"extra": ""}):
            pinned = pins.get(canonicalize_name(requirement.name))
            assert pinned and requirement.specifier.contains(pinned, name != "scirep-book" or None), (
                f"{name} needs {requirement}"
            )


# assembled from parts, so that this file does not hold what it forbids
REGISTRIES = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "deb." + "debian.org"]


def test_no_registry_address_and_no_machine_path_is_tracked():
    machine = re.compile(r"(?<![A-Za-z0-9_.])/(?:work|farm|root|opt/wheels)/")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for path in (ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()):
        if path.suffix in {".woff", ".woff2", ".ttf", ".png", ".svg"} or "_vendor" in path.parts:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for address in REGISTRIES:
            assert address not in text, f"{path}: {address}"
        if path != Path(__file__):
            assert not machine.search(text), f"{path}: {machine.search(text)}"


@pytest.fixture
def environment() -> ModuleType:
    return script(".ci/environment.py")


def test_environment_step_uses_the_standard_library_alone():
    tree = ast.parse((ROOT / ".ci" / "environment.py").read_text())
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    modules |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in modules} <= set(sys.stdlib_module_names)


def test_environment_step_refuses_what_it_did_not_make(tmp_path, monkeypatch, capsys, environment):
    for name, place in (("VENV", "."), ("MARKER", ".scirep-complete"), ("UNFINISHED", ".scirep-unfinished")):
        monkeypatch.setattr(environment, name, tmp_path / ".venv" / place)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "mine.txt").touch()
    with pytest.raises(SystemExit) as left:
        environment.make()
    assert left.value.code == 2
    assert "was not made by this project" in capsys.readouterr().err
    assert (tmp_path / ".venv" / "mine.txt").exists()


def test_a_chromium_that_is_named_is_found_and_none_is_installed(tmp_path, monkeypatch, capsys, environment):
    (tmp_path / "mine").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(environment.os, "geteuid", lambda: 1000)
    environment.browser()
    assert "the site tests will be skipped" in capsys.readouterr().err
    monkeypatch.setenv("SCIREP_CHROMIUM", str(tmp_path / "mine"))
    environment.browser()
    assert capsys.readouterr().err == ""
    assert environment.BROWSERS == pdf.BROWSERS
