"""Live mode: the start notebook runs, every explorer has a panel, and a change of an input computes its explorer again."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import pytest
import traitlets
from scripts import script
from test_notebook_sources import _cells

from scirep_core.book import lab
from scirep_core.book.runcache import Places, find_notebooks
from scirep_core.kit.errors import ConfigError, nearest

ROOT = Path(__file__).resolve().parents[1]
START = ROOT / "notebooks" / "start.ipynb"
BINDER = ROOT / ".binder"


class Toy(anywidget.AnyWidget):
    """An explorer of numbers below n, one of them chosen."""

    selection = traitlets.Dict().tag(sync=True)

    def __init__(self, n: int) -> None:
        self.n = n
        super().__init__(selection={"at": 0, "colour": "red"})

    @traitlets.validate("selection")
    def _check(self, proposal: Any) -> dict[str, Any]:
        new = {**self.selection, **proposal["value"]}
        if new.get("at", 0) >= self.n:
            raise ConfigError(f"selection: at {new['at']}; {nearest(str(new['at']), map(str, range(self.n)))}")
        return new


def toy(n: int) -> Toy:
    print(f"counting: {n} of {n}", file=sys.stderr)
    if n == 13:
        raise ConfigError("n = 13: an unlucky number")
    if n == 14:
        raise ZeroDivisionError("not thought of")
    return Toy(n)


@pytest.fixture
def panel() -> lab.Panel:
    return lab.Panel(toy, n=ipywidgets.IntText(value=5))


def test_a_change_of_an_input_computes_again_and_keeps_what_was_chosen(panel):
    first = panel.explorer
    first.selection = {"at": 3, "colour": "blue"}
    panel.inputs["n"].value = 9
    assert (panel.explorer.n, panel.explorer.selection) == (9, {"at": 3, "colour": "blue"})
    assert panel.explorer is not first
    assert panel.box.children[2].children == (panel.explorer,)
    panel.inputs["n"].value = 2  # has no 3: the colour stays, the place does not
    assert panel.explorer.selection == {"at": 0, "colour": "blue"}
    assert "computed in" in panel.said
    opening = lab.Panel(toy, ("n",), n=ipywidgets.IntText(value=5))  # an input that says what to look at is followed
    opening.explorer.selection = {"at": 3}
    opening.inputs["n"].value = 9
    assert opening.explorer.selection["at"] == 0


def test_what_goes_wrong_is_said_and_the_explorer_stays(panel):
    before = panel.explorer
    panel.inputs["n"].value = 13
    assert panel.said == "n = 13: an unlucky number"
    assert panel.explorer is before
    with pytest.raises(ZeroDivisionError):
        panel.inputs["n"].value = 14
    assert "ZeroDivisionError: not thought of" in panel.said
    panel.inputs["n"].value = 6
    assert panel.explorer.n == 6


def test_progress_is_told_in_the_panel_and_not_below_it_and_compute_again_is_a_button(capsys, panel):
    told: list[str] = []
    panel._line.observe(lambda change: told.append(change["new"]), "value")
    panel.inputs["n"].value = 7
    assert any("computing: counting: 7 of 7" in line for line in told)
    assert capsys.readouterr().err == ""
    before = panel.explorer
    (button,) = [one for one in panel.box.children[0].children if isinstance(one, ipywidgets.Button)]
    button.click()
    assert panel.explorer is not before and panel.explorer.n == before.n


@pytest.mark.parametrize(
    ("name", "given", "value", "kind"),
    [
        ("tasks", "collection", "csfcube", "TaskExplorer"),
        ("facets", "systems", ("fabs_bm25", "fabs_tfidf", "fabs_cbow200"), "FacetExplorer"),
        ("own_paper", "papers", 200, "OwnPaperExplorer"),
        ("scores", "tasks", ("scirepeval/scidocs_cite",), "ScoreExplorer"),
    ],
)
def test_an_input_of_an_explorer_changes_its_data(name, given, value, kind):
    made = lab.PANELS[name]()
    before, data = made.explorer, made.explorer.data
    made.inputs[given].value = value
    assert made.explorer is not before, made.said
    assert type(before).__name__ == type(made.explorer).__name__ == kind
    assert made.explorer.data != data


def test_formats_and_perturbations_answer_live():
    formats = lab.formats()
    data = json.loads(formats.explorer.data)
    assert len(data["papers"]) == 120
    formats.inputs["shown"].value = 40
    assert len(json.loads(formats.explorer.data)["papers"]) == 40
    formats.inputs["encoder"].value = "minilm"
    assert "has one vector for all formats" in formats.said
    altered = lab.perturbations().explorer
    altered.asked = {"n": 1, "by": "me", "title": "Parsing with stacks", "abstract": "We parse. It works. It is fast."}
    said = json.loads(altered.answer)
    assert (said["n"], said["paper"]["title"]) == (1, "Parsing with stacks")
    assert len(said["paper"]["codes"]) == 32


def test_scores_take_a_function_of_ones_own_and_say_what_is_wrong():
    made = lab.scores({"lengths": lambda texts: [[float(len(text)), 1.0] for text in texts]})
    assert made.explorer.selection["first"] == "lengths"
    made.inputs["more"].value = "bm25"
    assert made.explorer.selection["first"] == "bm25"
    made.inputs["more"].value = "tfdif"
    assert "did you mean 'tfidf'" in made.said
    made.inputs["more"].value = ""
    made.inputs["systems"].value = ("random",)
    assert made.said == "systems, tasks: a comparison needs two systems and a task"


def test_a_task_folder_of_ones_own_is_opened_first(tmp_path):
    from scirep_core.data import write_embedded

    write_embedded(tmp_path / "tasks", 300, 0, lambda line: None)
    folder = next(tmp_path.glob("tasks/scirepeval/relish"), None) or next(tmp_path.glob("tasks/*/"))
    made = lab.tasks()
    made.inputs["folder"].value = str(folder)
    assert "computed in" in made.said, made.said
    chosen = made.explorer.selection["task"]
    row = next(row for row in json.loads(made.explorer.data)["tasks"] if row["key"] == chosen)
    assert row["source"][1] == "Own folder"
    made.inputs["folder"].value = str(tmp_path / "nowhere")
    assert "nowhere" in made.said


def test_the_start_notebook_is_no_chapter_and_is_clean():
    assert START not in find_notebooks(Places())
    notebook = json.loads(START.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert list(_cells(notebook["cells"])) == []
    assert "jupyter lab notebooks/start.ipynb" in (ROOT / "Makefile").read_text()


def test_the_start_notebook_runs_and_shows_every_explorer():
    """Executed as papermill executes chapters; a widget without its front end is a view with an id."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    notebook = nbformat.read(START, as_version=4)
    quiet = Config({"KernelManager": {"transport": "ipc"}})
    NotebookClient(notebook, kernel_name="python3", timeout=240, config=quiet).execute()
    view = "application/vnd.jupyter.widget-view+json"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [cell["id"] for cell in code if any(view in out.get("data", {}) for out in cell.outputs)]
    panels = [cell["id"] for cell in code if "lab." in cell.source]
    assert shown == panels
    assert set(re.findall(r"lab\.(\w+)\(", "\n".join(cell.source for cell in notebook.cells))) == set(lab.PANELS)
    # progress goes to the panels
    assert [out for cell in code for out in cell.outputs if out.output_type in ("error", "stream")] == []
    state = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    said = [model["state"]["value"] for model in state.values() if model["model_name"] == "HTMLModel"]
    assert len(said) == len(panels) and all("computed in" in line for line in said)


@pytest.fixture(scope="module")
def install() -> Any:
    return script(".binder/install.py")


LOCK = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line and not line.startswith("#")]


def test_binder_installs_the_lock_as_it_is(install):
    version = ".".join(map(str, script(".ci/environment.py").PYTHON))
    assert (BINDER / "runtime.txt").read_text().strip() == f"python-{version}"
    build = BINDER / "postBuild"
    assert build.stat().st_mode & 0o111
    lines = build.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("#!/bin/bash", "python .binder/install.py")
    assert install.pins(False) == LOCK
    assert not {"requirements.txt", "environment.yml"} & {path.name for path in BINDER.iterdir()}  # the lock alone


def test_colab_keeps_its_kernel_and_takes_the_rest_of_the_lock(install):
    names = {line.partition("==")[0] for line in LOCK}
    assert set(install.KERNEL) <= names
    kept = {line.partition("==")[0] for line in install.pins(True)}
    assert kept == names - set(install.KERNEL)
    assert {"anywidget", "ipywidgets", "numpy", "torch"} <= kept
    cell = next(cell for cell in json.loads(START.read_text())["cells"] if cell["id"] == "hosted")
    source = "".join(cell["source"])
    assert "book/.binder/install.py --keep-kernel" in source
    assert "enable_custom_widget_manager" in source


def test_what_is_installed_comes_by_no_address_and_with_no_dependency(install, tmp_path, capsys):
    lines = install.commands(tmp_path / "lock.txt")
    assert not [word for line in lines for word in line if re.search("://|^--index|extra-index", word)]
    assert all("--no-deps" in line for line in lines[1:])
    assert lines[1][-4:] == ["--torch-backend", "cpu", "-r", str(tmp_path / "lock.txt")]
    install.main(["--dry-run"])
    assert f"{len(LOCK)} packages of the lock" in capsys.readouterr().err
