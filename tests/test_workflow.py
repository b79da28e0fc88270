"""The workflow, the checklist, recorded numbers: every command they name exists; only the job that publishes may write."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from scirep_core import cli
from scirep_core.book.explain import recompute
from scirep_core.book.reference.usage import chapters
from scirep_core.page.parameters import resolve
from scirep_core.results import stored

ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = ROOT / ".github" / "workflows" / "book.yml"
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
COMMANDS: Any = typer.main.get_command(cli.app)


def read() -> dict[str, Any]:
    found: dict[Any, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in found.items()}  # YAML 1.1 reads a bare `on` as true


def steps() -> list[dict[str, Any]]:
    return [step for job in read()["jobs"].values() for step in job["steps"]]


def fault(line: str) -> str:
    """Say what is wrong with a command line of ours; "" if nothing is."""
    words = shlex.split(line)
    name = words[0].removeprefix(".venv/bin/")
    if name == "make":
        unknown = [word for word in words[1:] if word not in TARGETS and word != "&&"]
        return f"no make target {unknown[0]}" if unknown else ""
    if name != "scirep":
        return f"not a command of ours: {name}"
    at, rest = COMMANDS, words[1:]
    while rest and hasattr(at, "commands") and not rest[0].startswith("-"):
        if rest[0] not in at.commands:
            return f"no command scirep {rest[0]}"
        at, rest = at.commands[rest[0]], rest[1:]
    known = {option for parameter in at.params for option in parameter.opts}
    unknown = [word for word in rest if word.startswith("-") and word not in known]
    return f"no option {unknown[0]} of scirep {words[1]}" if unknown else ""


def test_every_command_of_the_workflow_exists() -> None:
    lines = [line for step in steps() for line in step.get("run", "").splitlines() if line.strip()]
    assert {line: told for line in lines if (told := fault(line))} == {}
    assert {"make test", "make book"} <= set(lines)
    assert any(line.startswith(".venv/bin/scirep check build/html") for line in lines)


def test_every_file_that_the_checklist_names_exists() -> None:
    text = (ROOT / "RELEASING.md").read_text(encoding="utf-8")
    for named in re.findall(r"`([\w/.]+\.(?:py|md|toml|cff|json|csv|yml))`", text):
        assert (ROOT / named).is_file(), named
    assert "PIP_EXTRA_INDEX_URL" in text


PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "RELEASING.md",
    *sorted((ROOT / "book").glob("[!_]*/*.md")),
    *(ROOT / "book").glob("*.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_of_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    lines = [line.strip() for line in (*lines, *re.findall(r"`([^`\n]+)`", text))]
    ours = [
        re.split(r" [|>#] | && |\.\.\.", line)[0] for line in lines if re.match(r"(\.venv/bin/)?(scirep|make) ", line)
    ]
    assert {line: told for line in ours if (told := fault(line))} == {}
    assert page.name != "README.md" or {"make book", "make test"} <= {line.strip() for line in ours}


def test_the_command_of_every_recorded_number_is_one_that_can_be_given() -> None:
    commands = {recompute(row) for row, _ in stored() if row.kind == "recorded"}
    declared = chapters(ROOT / "notebooks")
    assert {line.split()[1] for line in commands if line.startswith("scirep ")} == {"bench", "run", "score", "study"}
    assert {line: told for line in commands if line.startswith("scirep ") and (told := fault(line))} == {}
    for words in (shlex.split(line) for line in commands if line.startswith("scirep run ")):
        name = words[2].removeprefix("notebooks/").removesuffix(".ipynb")
        resolve(declared[name][1], dict(zip(words[4:-2:3], words[5:-2:3], strict=True)), name)


def test_it_publishes_only_main_and_tags_and_only_that_job_may_write_and_there_is_no_secret() -> None:
    found, text = read(), WORKFLOW.read_text(encoding="utf-8")
    assert found["on"]["push"] == {"branches": ["main"], "tags": ["v*"]}
    assert "pull_request" in found["on"]
    jobs = found["jobs"]
    assert "if" not in jobs["test"]
    assert jobs["build"]["if"] == "github.event_name != 'pull_request'"
    assert jobs["publish"]["if"] == "github.ref == 'refs/heads/main' || startsWith(github.ref, 'refs/tags/v')"
    assert (jobs["build"]["needs"], jobs["publish"]["needs"]) == ("test", "build")
    assert all(isinstance(job["timeout-minutes"], int) for job in jobs.values())
    assert found["permissions"] == {"contents": "read"}
    may = {name: job["permissions"] for name, job in jobs.items() if "permissions" in job}
    assert may == {"publish": {"pages": "write", "id-token": "write"}}
    assert "secrets." not in text
    # actions are GitHub's own; Python and the index of packages are the project's
    used = [step["uses"] for step in steps() if "uses" in step]
    assert [name for name in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", name)] == []
    assert used.count("actions/checkout@v4") == 2  # what only publishes needs no checkout
    versions = [step["with"]["python-version"] for step in steps() if "setup-python" in step.get("uses", "")]
    assert versions == ["3.11", "3.11"]
    assert found["env"] == {"PIP_EXTRA_INDEX_URL": "${{ vars.PIP_EXTRA_INDEX_URL }}"}
    assert not re.search(r"https?://", text)
