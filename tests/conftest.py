"""Shared fixtures: a home of one's own for every test, the real collection where a mirror is, a tiny one always."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")  # a busy machine is no failure

MIRROR = os.environ.get("SCIREP_DATA_MIRROR")
if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # processes share the cores: threads of each would wait for one another, spinning
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process builds the book first, while the other goes on: what reads the book is asked where it is likely built.

    Then files with slow tests: a file is one process's, and the last one should be short.
    """
    reading = dict.fromkeys(item.path for item in items if {"built_book", "site"} & set(item.fixturenames))  # type: ignore[attr-defined]
    slow = dict.fromkeys(item.path for item in items if item.get_closest_marker("slow"))
    builder = Path(__file__).with_name("test_chapters.py")
    order = list(dict.fromkeys([builder, *(path for path in slow if path not in reading), *reading]))
    rank = {path: at for at, path in enumerate(order)}
    items.sort(key=lambda item: rank.get(item.path, len(order)))


@pytest.fixture(autouse=True, scope="session")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No test reads or writes the user's data; what is made of data, by content, is shared by all test processes."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "scirep-home"
    os.environ["SCIREP_HOME"] = str(home)
    os.environ.setdefault("SCIREP_ATTENTION", "exp2")  # no test depends on which is faster here
    return home


@pytest.fixture(scope="session")
def real(own_home: Path):
    """Return the real collection, through its manifest and the mirror."""
    if not MIRROR:
        pytest.skip("SCIREP_DATA_MIRROR is not set: no real data on this machine")
    from scirep_core import load_task

    return load_task("csfcube", source="real")


@pytest.fixture(scope="session")
def built_book(own_home: Path) -> Path:
    """Return the site of the book with every chapter up to date at the embedded profile, as `make book` leaves it."""
    from scirep_core import book
    from scirep_core.book import runner
    from scirep_core.book.runcache import Places

    chosen = os.environ.get("SCIREP_SITE")
    if chosen:
        assert (Path(chosen) / "index.html").is_file(), f"SCIREP_SITE={chosen} holds no index.html"
        return Path(chosen)
    results = runner.run_all("embedded")
    assert all(result.ok for result in results), [result.error for result in results if not result.ok]
    return book.build(Places().runs / "embedded").parent


@pytest.fixture(scope="session")
def base(own_home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A base of a few numbers that knows the words of the small literature."""
    from small_base import TINY, hand_made_base

    return str(hand_made_base(tmp_path_factory.mktemp("base") / "hand-made", TINY))


@pytest.fixture(autouse=True, scope="session")
def heed_ctrl_c() -> None:
    """A suite started in the background inherits "ignore SIGINT" and would pass it on to what the tests start."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def real_folder() -> Path:
    if not MIRROR:
        pytest.skip("SCIREP_DATA_MIRROR is not set: no real data on this machine")
    return Path(MIRROR) / "csfcube"


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Path:
    """Write a four-paper collection with the published files; returns its folder."""
    from small_published import write_cube

    return write_cube(tmp_path)


@pytest.fixture
def tiny(tiny_folder: Path):
    from scirep_core.data.readers import csfcube

    return csfcube.read(tiny_folder)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, in which nothing lies yet."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("SCIREP_HOME", str(folder))
    return folder


@pytest.fixture
def scirep(capsys) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process: words -> exit code, output, errors."""
    from scirep_core import cli

    def run(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            cli.main([str(word) for word in words])
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return run


@pytest.fixture
def evaluated(monkeypatch) -> list[str]:
    """Return the names of the tasks that are evaluated, as they are."""
    from scirep_core.bench import scoring

    names: list[str] = []
    original = scoring.evaluate

    def counting(task, *args, **more):
        names.append(task.name)
        return original(task, *args, **more)

    monkeypatch.setattr(scoring, "evaluate", counting)
    return names


@pytest.fixture(scope="module")
def chromium():
    """A browser for the module's tests."""
    import chromium as installed

    with installed.browser() as started:
        yield started


@pytest.fixture
def browser(chromium):
    """Opens a widget's page; a console message, an error or a request leaving the page fails the test."""
    import panel

    checked = panel.Browser(chromium)
    yield checked
    for context in chromium.contexts:
        context.close()
    assert checked.wrong == [], "errors, warnings or requests in the page"
