"""Every explorer of the book live: inputs above it, and a change of one makes it anew (notebook `start`, `make lab`).

    panel = lab.facets()                       # in a notebook: inputs, a line on what is going on, the explorer
    panel.inputs["papers"].value = 600         # what a hand on the slider does
    panel.explorer.selection                   # what is shown; observe it as of any widget

The explorers are those of the chapters, made by the functions that the chapters call; here only the inputs come from
widgets in place of a notebook's parameters. They begin with a small embedded literature and systems that need no weights,
so that each stands there within seconds; what is computed is kept as it is for a chapter. A typed text is answered by the
perturbation explorer itself, and by the own-paper explorer in the browser.
"""

from __future__ import annotations

import contextlib
import html
import io
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ipywidgets

from scirep_core.data import TASKS, load_task
from scirep_core.kit.errors import ConfigError, ScirepError
from scirep_core.kit.store import home
from scirep_core.page.chapter import Chapter
from scirep_core.page.names import PAPERS as PAPERS_OF

PAPERS = 300
"""Papers of the embedded literature to begin with: as few as it can have."""
SIZES = (300, 600, 1200, 3000)
IN_PAGE = "the encoder in the page"
"""The recorded model with one vector a format (chapter `beyond/own_paper`)."""
Input = Any  # ipywidgets has no types
Make = Callable[..., Any]


class Panel:
    """Inputs by name, the explorer that is made of their values, and a line that says what is going on.

    A change of an input calls `make` with all values by name; an explorer that is made takes the place of the one before and
    keeps of its selection what it also has, unless the input says what to look at (`opens`). What goes wrong is said in the
    line, and the explorer stays as it was.
    """

    def __init__(self, make: Make, opens: Sequence[str] = (), **inputs: Input) -> None:
        """Make the first explorer at once, from the inputs as they stand; in a notebook the panel stands there before, so that
        it can say how far that is. Raises what `make` raises."""
        self.inputs: Mapping[str, Input] = inputs
        self.explorer: Any = None
        self._make = make
        self._line, self._place = ipywidgets.HTML(), ipywidgets.VBox()
        self._again = ipywidgets.Button(description="Compute again", tooltip="Compute it again as it stands")
        self._again.on_click(lambda _: self._answer())
        row = ipywidgets.HBox([*inputs.values(), self._again], layout=ipywidgets.Layout(flex_flow="row wrap"))
        self.box = ipywidgets.VBox([row, self._line, self._place])
        self._cell = _cell()
        if self._cell is not None:
            self._show()
        self.compute()
        for name, one in inputs.items():
            one.observe(lambda _, name=name: self._answer(keep=name not in opens), "value")

    @property
    def said(self) -> str:
        """What the line says, as plain text."""
        return html.unescape(str(self._line.value)).removeprefix("<small>").removesuffix("</small>")

    def compute(self, keep: bool = True) -> None:
        """Make the explorer of the inputs as they stand, and tell how long it took; `keep` what was chosen in the last one."""
        begun = time.perf_counter()
        self._say("computing ...")
        with contextlib.redirect_stderr(_Lines(lambda line: self._say(f"computing: {line}"))):
            made = self._make(**{name: one.value for name, one in self.inputs.items()})
        before, self.explorer = self.explorer, made
        if before is not None and keep:
            _restore(before.selection, made)
        self._place.children = (made,)
        if before is not None:
            before.close()
        self._say(f"computed in {time.perf_counter() - begun:.1f} s; change an input, and it is computed again")

    def _answer(self, keep: bool = True) -> None:
        try:
            self.compute(keep)
        except ScirepError as error:
            self._say(f"{error}")
        except Exception as error:
            log = "a fault of the book's; the log of JupyterLab has the whole of it"
            self._say(f"{type(error).__name__}: {error} ({log})")
            raise

    def _say(self, line: str) -> None:
        self._line.value = f"<small>{html.escape(line)}</small>"

    def _show(self) -> None:
        from IPython import display

        page: Any = display
        page.display(self.box)

    def _ipython_display_(self) -> None:
        if self._cell is None or self._cell != _cell():  # in its own cell it stands already
            self._show()


def _cell() -> int | None:
    from IPython import get_ipython

    shell: Any = get_ipython()
    return int(shell.execution_count) if hasattr(shell, "kernel") else None


class _Lines(io.TextIOBase):
    """Hands on each line that is written: progress goes to standard error, and here to the panel."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say

    def write(self, text: str) -> int:
        for line in filter(None, map(str.strip, text.splitlines())):
            self.say(line)
        return len(text)


def _restore(selection: Mapping[str, Any], explorer: Any) -> None:
    """Choose in a new explorer what was chosen in the one before, as far as it has it."""
    for wanted in (dict(selection), *({key: value} for key, value in selection.items())):
        with contextlib.suppress(ScirepError):
            explorer.selection = wanted
            if len(wanted) == len(selection):
                return


def _chapter(name: str, **parameters: Any) -> Chapter:
    """Return a chapter without a page: what it would show there is kept to itself."""
    folder = home() / "live" / "start" / name
    folder.mkdir(parents=True, exist_ok=True)
    return Chapter(name, parameters, folder, held=[])


def _slider(label: str, value: int, low: int, high: int, step: int = 1) -> Input:
    return ipywidgets.IntSlider(value, low, high, step, description=label, continuous_update=False)


def _papers() -> Input:
    return ipywidgets.SelectionSlider(options=SIZES, value=PAPERS, description="papers", continuous_update=False)


def _seed() -> Input:
    return ipywidgets.BoundedIntText(value=0, min=0, max=10_000, description="seed")


def _text(label: str, hint: str, value: str = "") -> Input:
    return ipywidgets.Text(value=value, description=label, placeholder=hint, continuous_update=False)


def _one(label: str, options: Any, value: str | None = None) -> Input:
    return ipywidgets.Dropdown(options=options, description=label, **({"value": value} if value else {}))


def _some(label: str, options: Sequence[str], chosen: Sequence[str]) -> Input:
    return ipywidgets.SelectMultiple(options=options, value=tuple(chosen), description=label, rows=min(5, len(options)))


# ---- one function an explorer ---------------------------------------------------------------------------------------


def tasks() -> Panel:
    """The task explorer: another collection, size or seed draws other tasks and examples; or a task folder of one's own."""
    from scirep_core.page.widgets.tasks import TaskExplorer, task_data

    def make(collection: str, folder: str, papers: int, examples: int, seed: int) -> TaskExplorer:
        own = [load_task(folder.strip(), "embedded")] if folder.strip() else []
        names = [name for name, spec in TASKS.items() if spec.paper == collection]
        view = task_data([*own, *(load_task(name, "embedded", papers, seed) for name in names)], examples, seed)
        first = [row["key"] for row in view["tasks"] if own and row["source"][0] == own[0].source]
        return TaskExplorer(view, task=first[0] if first else None)

    examples = ipywidgets.BoundedIntText(value=4, min=1, max=20, description="examples")
    return Panel(
        make, ("folder",), collection=_one("collection", [(words, name) for name, words in PAPERS_OF.items()]),
        folder=_text("own folder", "a task folder of yours"), papers=_papers(), examples=examples, seed=_seed(),
    )  # fmt: skip


def facets() -> Panel:
    """The facet explorer: other systems are ranked, on a literature of another size."""
    from scirep_core.evaluators.facets.facet_systems import SYSTEMS, rank_all
    from scirep_core.page.widgets.facets import FacetExplorer, explore

    def make(systems: Sequence[str], papers: int, queries: int, shown: int, seed: int) -> FacetExplorer:
        chapter = _chapter("csfcube/errors", data="embedded", papers=papers, encoders=",".join(systems), seed=seed)
        collection: Any = chapter.task("csfcube")
        ranked = rank_all(collection, systems, chapter.files("csfcube"), seed)
        return explore(collection, ranked, "", queries, shown, parameters={"data": "embedded", "papers": papers})

    offered = [name for name, named in SYSTEMS.items() if named.kind != "pools"]
    return Panel(
        make, systems=_some("systems", offered, ("fabs_tfidf", "fabs_bm25")), papers=_papers(),
        queries=_slider("queries", 12, 1, 50), shown=_slider("with text", 10, 3, 50), seed=_seed(),
    )  # fmt: skip


def formats() -> Panel:
    """The format explorer: another encoder with several vectors a paper, more papers, another draw."""
    from scirep_core.page import own_paper as own
    from scirep_core.page.papers import formats_explorer
    from scirep_core.page.widgets.formats import FormatExplorer
    from scirep_core.page.widgets.own_encoder import unpack

    def make(encoder: str, papers: int, shown: int, seed: int) -> FormatExplorer:
        chapter = _chapter("scirepeval/specialisation", papers=papers, seed=seed)
        in_page = encoder.strip() in ("", IN_PAGE)
        given = unpack(own.read_model()) if in_page else encoder.strip()
        name = IN_PAGE if in_page else Path(str(given)).name
        looked = formats_explorer.look(chapter, {name: given}, shown=shown, seed=seed)
        return formats_explorer.explorer(chapter, looked)

    return Panel(
        make, encoder=_text("encoder", "a model folder", IN_PAGE), papers=_papers(),
        shown=_slider("on the map", 120, 30, 500, 10), seed=_seed(),
    )  # fmt: skip


def own_paper() -> Panel:
    """The own-paper explorer: the page encodes what is typed; here one chooses among how many papers it stands, and which."""
    from scirep_core.page import own_paper as own
    from scirep_core.page.widgets.own_paper import OwnPaperExplorer

    def make(papers: int, seed: int) -> OwnPaperExplorer:
        shown = own.look(own.read_model(), papers, seed)
        return own.explorer(shown, own.read(shown, seed))

    return Panel(make, papers=_slider("papers", 300, 100, 1200, 100), seed=_seed())


def perturbations() -> Panel:
    """The perturbation explorer: other encoders, collections and papers; and in it the reader's own text, changed 32 ways."""
    from scirep_core.page.papers import neighbours, neighbours_explorer
    from scirep_core.page.widgets.perturbations import PerturbationExplorer

    def make(collection: str, encoders: Sequence[str], papers: int, seed: int) -> PerturbationExplorer:
        if not encoders:
            raise ConfigError("encoders: choose at least one")
        chapter = _chapter("neighbours/perturbations", data="embedded", papers=papers, collections=collection,
                           encoders=",".join(encoders), queries=10, tools="auto", seed=seed)  # fmt: skip
        made = neighbours_explorer.explore(chapter, neighbours.subjects(chapter)[1])
        if made is None:
            raise ConfigError(f"{collection}: no papers of it among {papers}; choose a larger literature")
        return made

    names = [name.partition("/")[2] for name in neighbours.COLLECTIONS]
    return Panel(
        make, collection=_one("collection", names, "acl_anth"),
        encoders=_some("encoders", ("lsa", "characters", "minilm"), ("lsa", "characters")), papers=_papers(), seed=_seed(),
    )  # fmt: skip


def scores(functions: Mapping[str, Callable[[Sequence[str]], Any]] | None = None) -> Panel:
    """The score explorer: other systems are scored on other tasks.

    Args:
        functions: systems of one's own by name: texts in, one row of numbers each out.
    """
    from scirep_core.bench.given import of_model
    from scirep_core.bench.pairs import differences
    from scirep_core.bench.score_cache import Question
    from scirep_core.bench.scoring import attempt
    from scirep_core.bench.suites import load_tasks
    from scirep_core.bench.systems import load_system
    from scirep_core.data.text import Recipe
    from scirep_core.kit.formats import PROTOCOLS
    from scirep_core.page.widgets.scores import ScoreExplorer, run_of, score_data
    from scirep_core.results import recorded

    own = dict(functions or {})

    def make(systems: Sequence[str], more: str, tasks: Sequence[str], papers: int, seed: int) -> ScoreExplorer:
        names = list(dict.fromkeys([*systems, *filter(None, map(str.strip, more.split(",")))]))
        if len(names) < 2 or not tasks:
            raise ConfigError("systems, tasks: a comparison needs two systems and a task")
        loaded, absent = load_tasks(tuple(tasks), "embedded", papers)
        if not loaded:
            raise ConfigError(f"tasks: none can be read. {next(iter(absent.values()), '')}")
        rows = [
            row
            for name in names
            for system in [of_model(own[name], name, Recipe(" ")) if name in own else load_system(name)]
            for protocol in PROTOCOLS
            for row in attempt(loaded, system, papers=papers, question=Question(protocol, seed=seed)).rows
        ]
        recorded_rows = [row for row in recorded("scirepeval/your_encoder") if not row.encoder.startswith("letters")]
        runs = [
            run_of("live", "This run: embedded literature", "Scores of this run, on invented papers.", [*rows, *differences(rows)]),
            run_of("recorded", "Real samples, recorded", "Our run on small real samples.", recorded_rows),
        ]  # fmt: skip
        made = ScoreExplorer(score_data(runs), first=names[-1], second=names[-2])
        made.selection = {"first": names[-1], "second": names[-2]}
        return made

    scored = {name: spec for name, spec in TASKS.items() if spec.paper == "scirepeval"}
    ranked = [name for name, spec in scored.items() if spec.type in ("proximity", "adhoc_search")]
    return Panel(
        make, ("systems", "more"), systems=_some("systems", (*own, "random", "tfidf", "bm25", "minilm"), ("random", "tfidf", *own)),
        more=_text("and", "names or folders, with commas"),
        tasks=_some("tasks", ranked, ("scirepeval/relish", "scirepeval/search")), papers=_papers(), seed=_seed(),
    )  # fmt: skip


def leaderboard() -> Panel:
    """The leaderboard: every row at hand, read again; of the last book on embedded or on real data."""
    from scirep_core.bench.leaderboard import collect
    from scirep_core.page.widgets.leaderboard import LeaderboardExplorer, leaderboard_data

    def make(profile: str) -> LeaderboardExplorer:
        return LeaderboardExplorer(leaderboard_data(collect(profile).rows))

    return Panel(make, profile=_one("last book", ["embedded", "real"]))


PANELS: dict[str, Callable[[], Panel]] = {
    "tasks": tasks, "facets": facets, "formats": formats, "own_paper": own_paper, "perturbations": perturbations,
    "scores": scores, "leaderboard": leaderboard,
}  # fmt: skip
"""Each explorer's module in `scirep_core.page.widgets` -> its panel."""
