"""The reference: nothing public is missing from it, nothing in it is made up, and its examples run."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import json
import pkgutil
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_tasks
import yaml
from pybtex.database import parse_file, parse_string

import scirep_core
from scirep_core.bench.suites import SUITES
from scirep_core.book import reference
from scirep_core.book.reference import cite, prose, schema, usage
from scirep_core.data import TASKS, load_task
from scirep_core.data.folder import write_folder
from scirep_core.data.manifests import list_manifests, load_manifest
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.kit.errors import DataError
from scirep_core.page import parameters
from scirep_core.results import Result
from scirep_core.results.metrics import ACCEPTED, METRICS
from scirep_core.training.config import DataConfig, ModelConfig, TrainConfig, TrainFile

Scirep = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parent.parent
BOOK, PACKAGE = ROOT / "book", ROOT / "scirep_core"
READ = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "notebooks").glob("*/*.ipynb"))}
CHAPTERS = {
    f"{path.parent.name}/{path.stem}": one["cells"] for path, one in READ.items() if "scirep" in one["metadata"]
}
"""Name -> cells."""


def sources() -> dict[str, str]:
    """Every hand-written page and the Markdown of every chapter, by path."""
    paths = [path for path in BOOK.rglob("*.md") if "_run" not in path.parts]
    pages = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    for name, cells in CHAPTERS.items():
        pages[name] = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return pages


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference's pages, as assembling a book writes them."""
    folder = tmp_path_factory.mktemp("pages") / "source"
    shutil.copytree(BOOK, folder, ignore=shutil.ignore_patterns("_*"))
    reference.write(folder)
    return folder


def page(written: Path, name: str) -> str:
    return (written / f"{name}.md").read_text(encoding="utf-8")


# ---- the library ----------------------------------------------------------------------------------------------------


MODULES = {f"scirep_core.{name}": slug for slug, room in reference.ROOMS.items() for name in room.modules}


def test_what_pages_name_and_chapters_import_is_described() -> None:
    named = {name for text in sources().values() for name in re.findall(r"\{py:obj}`(?:[^`<]*<)?([\w.]+)>?`", text)}
    assert len(named) > 30
    for name in named:
        pkgutil.resolve_name(name)
    code = ["".join(c["source"]) for cells in CHAPTERS.values() for c in cells if c["cell_type"] == "code"]
    nodes = [node for cell in code for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.ImportFrom)]
    called = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    called = {name for name in called if re.match(r"scirep_core\.\w+\.", name)}
    assert len(called) > 20
    assert {name for name in named | called if name not in MODULES and name.rpartition(".")[0] not in MODULES} == set()


def test_markup_of_docstrings_stays_text() -> None:
    doc = "a*b & `c < d` s_\n- one `x`s\n  two\n\n    x   *y\n\n    z\n\nArgs:\n    a, b: two *\n        lines.\n>>> 1 * 1\n1"
    assert prose.as_rst(doc.splitlines()) == [
        r"a\*b & \ ``c < d``\  s\_", "", r"- one \ ``x``\ s", "  two", "", "", "::", "", "    x   *y", "", "    z", "",
        "", "Args:", r"    a, b: two \*", "        lines.", "", ">>> 1 * 1", "1",
    ]  # fmt: skip
    assert prose.escape("[x](y) $z$ _a_ {term}`b_c`") == r"\[x\](y) \$z\$ \_a\_ \{term\}`b_c`"
    assert prose.cell("a | b `c|d`") == r"a \| b `c\|d`"
    doc = "A.\n\nArgs:\n    c: no\n\nAttributes:\n    a, b: two\n        lines.\n    d: one\n\nMore: x"
    assert prose.entries(doc, "Attributes") == {"a": "two lines.", "b": "two lines.", "d": "one"}  # fmt: skip


def test_examples_in_docstrings_give_what_they_say() -> None:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        if re.search(r"^ +>>> ", path.read_text("utf-8"), re.MULTILINE):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found[name] = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert sum(one.attempted for one in found.values()) > 60
    assert [name for name, one in found.items() if one.failed] == []


def test_stable_names_have_a_page_and_its_examples_run(written, tmp_path, monkeypatch):
    assert not [path for path in written.rglob("*.md") if str(ROOT) in path.read_text(encoding="utf-8")]
    text = page(written, "reference/python")
    for name in scirep_core.__all__:
        assert name == "__version__" or f"`scirep_core.{name} <" in text
    assert "## encoder.hidden" in text and "## losses" in text
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    space: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for block in blocks:
        exec(compile(block, "book/reference/python.md", "exec"), space)
    assert len(blocks) >= 8


def test_a_part_that_is_not_there_is_refused(tmp_path: Path) -> None:
    shutil.copytree(BOOK / "reference", tmp_path / "reference")
    (tmp_path / "reference" / "tasks.md").write_text("% reference: tasksx\n")
    with pytest.raises(DataError, match=r"tasks\.md: unknown part 'tasksx'. [Dd]id you mean 'tasks'"):
        reference.write(tmp_path)


def test_an_edit_of_what_is_described_is_an_edit_of_the_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = reference.sources()
    assert set(before) >= {"data/__init__.py", "training/losses.py"} and len(before) == len(MODULES)
    shutil.copytree(PACKAGE, tmp_path / "copy")
    monkeypatch.setattr(reference, "PACKAGE", tmp_path / "copy")
    assert reference.sources() == before
    (tmp_path / "copy" / "training" / "losses.py").write_text("edited")
    assert {file for file, hashed in reference.sources().items() if hashed != before[file]} == {"training/losses.py"}


# ---- the command line -----------------------------------------------------------------------------------------------


def test_every_command_has_its_help_on_the_page(written: Path, scirep: Scirep) -> None:
    text = page(written, "reference/command-line")
    sections = dict(re.findall(r"^## scirep (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))

    def listed(*words: str) -> list[str]:
        return re.findall(r"^  (\w+)  ", scirep(*words, "--help")[1].partition("Commands:")[2], re.MULTILINE)

    assert set(sections) == {*listed(), *(f"data {name}" for name in listed("data"))} - {"data"}
    for words, section in sections.items():
        section = section.replace("\\", "")
        told = " ".join(scirep(*words.split(), "--help")[1].split())
        options = re.findall(r"(?<![\w-])--[a-z][a-z-]*", told.partition("Options:")[2].partition("Example")[0])
        assert {option for option in options if option not in section} <= {"--help"}, words
        (examples,) = re.findall(r"```bash\n(.*?)\n```", section, re.DOTALL)
        given = [shlex.split(line.replace("<", " ").replace(">", " ")) for line in examples.splitlines()]
        own = [line for line in given if line[1 : 1 + len(words.split())] == words.split()]
        assert own, f"scirep {words} has no example"
        used = {part.partition("=")[0] for line in own for part in line if part.startswith("--")}
        assert {option for option in used if option not in section} == set(), words
    assert set(usage.JSON) == {words for words, section in sections.items() if "| `--json` |" in section}


def test_json_is_what_the_page_says(scirep: Scirep, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    write_folder(small_tasks.all_tasks()["proximity"], folder)
    ids = np.array(list(small_tasks.vectors()))
    np.savez(tmp_path / "v.npz", ids=ids, vectors=np.array(list(small_tasks.vectors().values())))
    texts = {
        "papers.jsonl": '{"paper_id": "1", "title": "On stacks", "abstract": "We push."}\n',
        "train.jsonl": '{"query": "p0", "positive": "p1", "negative": "p2"}\n',
        "rows.jsonl": json.dumps(Result("t", "test", "map", "paper", 1.0, 2).to_json()) + "\n",
        "index.html": "<html><h1>A</h1></html>",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    papers, train, row, site = (tmp_path / name for name in texts)
    calls = {
        "data list": (), "list": ("conditionings",), "data verify": (str(folder),), "data overlap": (str(train), str(folder)),
        "score": (str(folder), "--vectors", str(tmp_path / "v.npz")), "perturb": ("--list",), "study": ("list",),
        "encode": ("--encoder", "minilm", "--format", "PRX", "--papers", str(papers), "--out", str(tmp_path / "o.npz")),
        "diff": (str(row), str(row)), "check": (str(site.parent),), "edition": (), "submit": (str(row), "--check-only"),
        "explain": ("recorded:csfcube/baselines:csfcube/all:fabs_bm25:ndcg%20:test:paper",),
    }  # fmt: skip
    for words, given in calls.items():
        code, out, _ = scirep(*words.split(), *given, "--json")
        told, printed = json.loads(out), usage.JSON[words]
        assert code == {"check": 1, "submit": 2}.get(words, 0) or words == "edition"  # of a checkout at work
        assert isinstance(told, list if printed.shape == "array" else dict), words
        first = told[0] if isinstance(told, list) else told
        if words == "check":
            assert all(isinstance(line, str) for line in told) and told
        elif words == "score":
            assert {"id", "task", "split", "metric", "protocol", "value", "n"} <= set(first) <= {"id", *schema.RESULT}
        elif words in ("explain", "list"):
            assert set(printed.keys) <= set(first)
        else:
            assert set(printed.keys) - {"shards"} == set(first), words


# ---- the data schema ------------------------------------------------------------------------------------------------


def test_every_field_of_a_row_has_a_meaning(written: Path) -> None:
    text = page(written, "reference/data-schema")
    for field in dataclasses.fields(Result):
        assert f"| `{field.name}` | {prose.code(field.type)} |" in text, field.name


SMALL = {"multi_label": "classification", "groups": "proximity", "search": "retrieval"}


@pytest.mark.parametrize("name", list(small_tasks.all_tasks()))
def test_keys_of_a_task_folder_are_needed_where_the_page_says_so(name: str, tmp_path: Path) -> None:
    kind = SMALL.get(name, name)
    write_folder(small_tasks.all_tasks()[name], tmp_path)
    files = {file.removesuffix("?"): (columns, file.endswith("?")) for file, columns in schema.FILES[kind].items()}
    files.setdefault("papers.jsonl", (schema._TEXTS, True))
    assert {path.name for path in tmp_path.iterdir()} <= {"README.md", "task.json", "queries.jsonl", *files}

    def loads(needed: bool, says: str) -> None:
        if needed:
            with pytest.raises(DataError, match=says):
                load_task(tmp_path)
        else:
            load_task(tmp_path)

    for file, (columns, may_be_missing) in files.items():
        path = tmp_path / file
        if not path.is_file():
            continue
        kept = path.read_text()
        rows = [json.loads(line) for line in kept.split("\n") if line]
        listed = {column.name for column in (*columns, *(schema._TEXTS if file == "papers.jsonl" else ()))}
        assert {key for row in rows for key in row} <= listed, file
        path.unlink()
        loads(not may_be_missing, re.escape(file))
        for column in columns:
            free = kind == "alternative_self" and column.name in ("title", "paper_id")  # what is tried is another fault
            if any(column.name in row for row in rows) and not free:
                less = ({key: value for key, value in row.items() if key != column.name} for row in rows)
                path.write_text("".join(json.dumps(row) + "\n" for row in less))
                needed = not column.optional or (column.name == "query" and name == "search")
                loads(needed, rf"{re.escape(file)}:1: field '{column.name}' is missing")
        path.write_text(kept)
    load_task(tmp_path)


def test_every_metric_task_and_suite_is_listed(written: Path) -> None:
    text = page(written, "reference/tasks")
    for name in (*METRICS, *(one for names in ACCEPTED.values() for one in names)):
        assert f"`{name}`" in text or f"`{name}@k`" in text, name
    for name, spec in TASKS.items():
        (line,) = re.findall(rf"^\| `{re.escape(name)}` \| .*$", text, re.MULTILINE)
        assert spec.format in line and f"collections.html#data-{spec.manifest}" in line
        assert all(f"`{metric}`" in line for metric in spec.metrics)
        assert all(f"{count:,}" in line for count in spec.expect.values())
    for name in (*SAMPLES, *SUITES):
        assert re.search(rf"^\| `{re.escape(name)}` \|", text, re.MULTILINE), name


# ---- data and licences ----------------------------------------------------------------------------------------------


def test_every_collection_is_listed_with_its_licence(written: Path) -> None:
    text = page(written, "reference/collections")
    assert {path.stem for path in (ROOT / "data_manifests").glob("*.yaml")} == set(list_manifests())
    for name in list_manifests():
        held = yaml.safe_load((ROOT / "data_manifests" / f"{name}.yaml").read_text(encoding="utf-8"))
        section = text.partition(f'<div id="data-{name}"></div>')[2].partition('<div id="data-')[0]
        assert f"scirep data get {name}" in section
        assert held["licence"]["url"] in section
        assert held.get("commit", "") in section and held["repository"] in section
        assert all(f"`{task}`" in section for task in held.get("needed_for", ()))
        known = sum(file["bytes"] or 0 for file in held["files"])
        assert (f"{known:,}" if known else "unknown") in section
        assert bool(load_manifest(name).gated) == ("**By hand**" in section)


# ---- configuration --------------------------------------------------------------------------------------------------


def test_every_environment_variable_is_known() -> None:
    known = {name: one for one in usage.VARIABLES for name in one.names}
    asked: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        asked |= set(re.findall(r'environ(?:\.get|\.setdefault|\.pop)?[\[(]\s*["\']([A-Z_]+)["\']', text))
        asked |= set(re.findall(r'"(SCIREP_[A-Z_]+)"', text))
    assert asked <= set(known), asked - set(known)
    elsewhere = {"HF_HOME", "HF_HUB_OFFLINE", "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"}
    read = [*(p for p in PACKAGE.rglob("*.py") if p.parent.name != "reference"), ROOT / ".ci" / "environment.py"]
    whole = "".join(p.read_text() for p in read)
    assert all(name in whole for name in set(known) - {"HF_HOME", "HF_HUB_OFFLINE"})
    assert set(known) - asked <= elsewhere


def test_readme_says_the_same_of_your_variables() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Settings")[2].partition("\n## ")[0]
    rows = [re.split(r" ?\| ?", line.strip("| ")) for line in table.splitlines() if line.startswith("| `")]
    said = {tuple(re.findall(r"`(\w+)`", names)): meaning for names, meaning in rows}
    assert said == {one.names: one.meaning for one in usage.VARIABLES if one.whose == "you"}


def test_every_key_of_a_training_has_a_meaning(written: Path) -> None:
    text = page(written, "reference/configuration")
    assert {field.name for field in dataclasses.fields(TrainFile)} == {"out", *usage.SECTIONS}
    for section, held in {"model": ModelConfig, "data": DataConfig, "train": TrainConfig}.items():
        rows = {name: rest for name, *rest in usage.settings(section)}
        assert set(rows) == {field.name for field in dataclasses.fields(held)}
        for name, (_, default, _, meaning) in rows.items():
            value = getattr(held(), name)
            assert meaning, f"{section}.{name} has no meaning"
            assert json.loads(default) == (list(value) if isinstance(value, tuple) else value)
            assert f"| `{name}` |" in text
    known = {field.name for held in usage.SECTIONS.values() for field in dataclasses.fields(held)}
    assert set(usage.MEANINGS) <= {"out", *known}


def test_every_parameter_of_every_chapter_is_listed(written: Path) -> None:
    text = page(written, "reference/parameters")
    assert len(CHAPTERS) > 20
    for chapter, cells in CHAPTERS.items():
        section = text.partition(f"## {chapter}\n")[2].partition("\n## ")[0]
        tagged = ["".join(one["source"]) for one in cells if "parameters" in one["metadata"].get("tags", [])]
        for line in ast.parse("\n".join(tagged)).body:
            assert isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
            assert f"| `{line.target.id}` | `{ast.unparse(line.annotation)}` |" in section, (chapter, line.target.id)
            assert line.target.id in parameters.PARAMETERS
        assert f"</{chapter}>`" in section


# ---- glossary and bibliography --------------------------------------------------------------------------------------


def test_terms_are_in_order_said_once_and_lead_on() -> None:
    body = (BOOK / "glossary.md").read_text(encoding="utf-8").partition("```{glossary}\n")[2].partition("\n```")[0]
    entries = dict(re.findall(r"^(\S.*)\n((?:(?:  .*)?\n?)+)", body, re.MULTILINE))
    terms = re.findall(r"^(\S.*)$", body, re.MULTILINE)
    assert len(terms) == len(set(terms)) == len(entries) >= 60
    assert terms == sorted(terms, key=lambda term: re.sub(r"[^a-z0-9]", "", term.casefold()))
    assert sum("{doc}" in text or "{py:obj}" in text or "(coverage.md)" in text for text in entries.values()) > 60
    for term, text in entries.items():
        assert len(text.split()) > 4, term


OTHERWISE = {
    "sbert2019": "SentBERT", "e5text2022": "E5", "houlsby2019": "adapter", "chainofskills2023": "Ma et al", "palm2022": "MFU",
    "prefixtuning2021": "Prefix", "tweetpap2021": "Tweet Mentions", "switch2022": "Fedus", "sklearn2011": "scikit-learn",
    "hftransformers2020": "transformers", "goldreviewers2023": "Gold Standard Dataset", "liu2019": "Gitter",
}  # fmt: skip
"""Entry of the bibliography -> what the chapters or the library name it by, where that is not its key without the year."""


def library() -> str:
    files = [p for kind in ("py", "csv") for p in PACKAGE.rglob(f"*.{kind}") if p.parent.name != "reference"]
    files += list((ROOT / "data_manifests").glob("*.yaml"))
    return "\n".join([*(p.read_text(encoding="utf-8") for p in files), *sources().values()])


def test_the_bibliography_holds_what_is_named_and_nothing_else() -> None:
    text = library()
    words = {re.sub(r"[^a-z0-9]", "", word.casefold()) for word in re.findall(r"[\w.-]+", text)}
    entries, papers = cite.bib_entries(BOOK / "references.bib"), set(cite.KEYS.values())
    assert papers < set(entries) and set(OTHERWISE) < set(entries)
    assert [
        key for key in entries if key not in {*papers, *OTHERWISE} and re.sub(r"(18|19|20)\d\d$", "", key) not in words
    ] == []
    assert [name for name in OTHERWISE.values() if name not in text] == []
    listed = (BOOK / "references.md").read_text()
    assert all(listed.count(key) == 2 for key in papers)  # in the first list, and left out of the second


def test_whoever_is_named_with_a_year_is_in_the_bibliography() -> None:
    fold = str.maketrans("áäćčéëšžŠ’", "aacceeszS'")
    there = {
        (re.sub(r"[{}]|\\[^a-z]|\\[cvuL] ?", "", " ".join(person.last_names)).translate(fold), entry.fields["year"])
        for entry in parse_file(str(BOOK / "references.bib"), "bibtex").entries.values()
        for person in entry.persons["author"]
    }
    others = r"(?:,? (?:and|&) (?:van )?[A-Z][\w'-]+| et al\.?|, [A-Z]\w+(?:, | and )[\w, ]+?)"
    names = rf"([A-Z][\w'’-]+){others},? \(?((?:19|20)\d\d)\)?"
    people = {(family.translate(fold), year) for family, year in re.findall(names, library())}
    assert len(people) > 20
    assert people - there == set()


def test_entries_are_whole() -> None:
    parsed = parse_file(str(BOOK / "references.bib"), "bibtex").entries
    assert set(parsed) == set(cite.bib_entries(BOOK / "references.bib"))
    for key, entry in parsed.items():
        assert {"title", "year"} <= set(entry.fields) and entry.persons["author"], key
        place = {"article": {"journal"}, "inproceedings": {"booktitle"}, "book": {"publisher"}}.get(entry.type, set())
        assert place <= set(entry.fields), key
        where = {"eprint", "url", "howpublished"} & set(entry.fields)
        assert entry.type != "misc" or where, key


# ---- citing a page --------------------------------------------------------------------------------------------------


def test_a_page_is_cited_with_the_papers_it_reproduces() -> None:
    given = ("scirepeval/own_test", "Costs & 100 % of_it", "5, B.1", ["scirepeval-v1", "scirepeval-v2"], ROOT)
    cell = cite.cell(*given)
    assert cell == cite.cell(*given)
    assert cell["cell_type"] == "markdown" and cell["source"].startswith('<details class="scirep-made scirep-cite">')
    (written,) = re.findall(r"```bibtex\n(.*)\n```", cell["source"], re.DOTALL)
    entries = parse_string(written, "bibtex").entries
    assert list(entries) == ["scirepbook-scirepeval-own-test", "scirepeval2022", "scirepeval2023"]
    own = entries["scirepbook-scirepeval-own-test"].fields
    assert own["title"] == r"{Costs \& 100 \% of\_it}" and "year" not in own
    reproduces = r"page scirepeval/own\_test.html, reproducing sections 5, B.1 of scirepeval2022, scirepeval2023"
    assert own["note"].endswith(reproduces)
    printed = parse_file(str(BOOK / "references.bib"), "bibtex").entries
    assert printed["scirepeval2023"] == entries["scirepeval2023"]
    # without an exhibit: the paper of its part, or none
    assert "@inproceedings{scimult2023" in cite.cell("scimult/x", "X", "", [], ROOT)["source"]
    assert cite.cell("beyond/x", "X", "", [], ROOT)["source"].count("\n@") == 1


def test_the_reference_is_a_part_of_its_own() -> None:
    files = [entry["file"] for entry in reference.contents()["chapters"]]
    rooms = [entry["file"] for entry in reference.contents()["chapters"][0]["sections"]]
    assert files == [*reference.PAGES, "glossary"] and rooms == [f"reference/{slug}" for slug in reference.ROOMS]
    assert {f"reference/{p.stem}" for p in (BOOK / "reference").glob("*.md")} == set(reference.PAGES)
