"""The house: import order, file sizes, style, types, one lock for pip and conda, nothing of this or any machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scripts import alone, script

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scirep_core"
LOCK = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line and not line.startswith("#")]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def test_data_flows_one_way():
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_style_and_types_are_clean():
    for words in (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",)):
        done = run(*words)
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


def test_a_file_is_a_chapter():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 450, path
        assert ast.get_docstring(ast.parse(text)), path


def test_no_test_asks_how_long_anything_took():
    """Seconds are the machine's and its neighbours': tests count operations and bytes (counted.py)."""
    clocks = re.compile(r"\b(perf_counter|process_time|thread_time|monotonic|performance\.now|time\.time)\b")
    moments = {"test_kill_data.py", "test_kill_runner.py", Path(__file__).name}  # kills are spread over a work's length
    found = {path.name for path in (ROOT / "tests").glob("*.py") if clocks.search(path.read_text(encoding="utf-8"))}
    assert found <= moments


def test_no_pickle_eval_exec_or_foreign_code():
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
                assert not {"pickle", "dill", "shelve", "marshal"} & set(names), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec"), path
            if isinstance(node, ast.keyword) and node.arg == "trust_remote_code":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path


def test_one_lock_serves_pip_and_conda():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip,) = [d["pip"] for d in conda["dependencies"] if isinstance(d, dict)]
    assert pip == ["-r requirements.lock"]
    assert "python=3.11" in conda["dependencies"]


def test_lock_has_exact_public_pins_every_requirement_and_nothing_of_cuda():
    pins = {}
    for line in LOCK:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line  # no local versions, no addresses, no hashes
        name, _, version = line.partition("==")
        pins[canonicalize_name(name)] = version
    assert not [name for name in pins if name.startswith(("nvidia", "triton", "cuda"))]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [
        r for name, extra in project["optional-dependencies"].items() if name != "scale" for r in extra
    ]  # scale: for clusters, whoever has one installs Ray there
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), requirement


def test_locked_packages_need_nothing_outside_the_lock():
    import importlib.metadata as metadata

    pins = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in LOCK}
    for name in pins:
        for text in metadata.requires(name) or []:
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            needed = canonicalize_name(requirement.name)
            assert needed in pins, f"{name} needs {requirement}"
            assert requirement.specifier.contains(pins[needed], prereleases=True), f"{name} needs {requirement}"


def test_torch_is_a_cpu_build():
    import torch

    assert torch.version.cuda is None


# assembled from parts, so that this file does not hold what it forbids
REGISTRIES = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "deb." + "debian.org"]


def test_no_registry_address_and_no_machine_path_is_tracked():
    machine = re.compile(r"(?<![A-Za-z0-9_.])/(?:work|farm|root|opt/wheels)/")
    for path in tracked():
        if path.suffix in {".woff", ".woff2", ".ttf", ".png", ".svg"} or "_vendor" in path.parts:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for address in REGISTRIES:
            assert address not in text, f"{path}: {address}"
        if path != Path(__file__):
            assert not machine.search(text), f"{path}: {machine.search(text)}"


def test_environment_step_uses_the_standard_library_alone():
    tree = ast.parse((ROOT / ".ci" / "environment.py").read_text())
    modules = {a.name.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    modules |= {(n.module or "").partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert modules <= set(sys.stdlib_module_names)


def test_environment_step_refuses_what_it_did_not_make(tmp_path, monkeypatch, capsys):
    environment = script(".ci/environment.py")

    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(environment, "MARKER", tmp_path / ".venv" / ".scirep-complete")
    monkeypatch.setattr(environment, "UNFINISHED", tmp_path / ".venv" / ".scirep-unfinished")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "mine.txt").touch()
    with pytest.raises(SystemExit) as left:
        environment.make()
    assert left.value.code == 2
    assert "was not made by this project" in capsys.readouterr().err
    assert (tmp_path / ".venv" / "mine.txt").exists()


def test_a_chromium_that_is_named_is_found_and_none_is_installed(tmp_path, monkeypatch, capsys):
    environment = script(".ci/environment.py")

    (tmp_path / "mine").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(environment.os, "geteuid", lambda: 1000)
    environment.browser()
    assert "the site tests will be skipped" in capsys.readouterr().err
    monkeypatch.setenv("SCIREP_CHROMIUM", str(tmp_path / "mine"))
    environment.browser()
    assert capsys.readouterr().err == ""
