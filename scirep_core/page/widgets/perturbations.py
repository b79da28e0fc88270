"""The perturbation explorer: a paper, one of the 32 changes, and where each encoder puts the changed text (textual neighbours,
sections 3 and 6, Tables 1 and 7).

A reader chooses a paper and a code and sees the change word by word, whether it applies, and by encoder

    cosine      of the changed text to its original
    rank        of the original among all papers, asked for by the changed text: 1 + papers strictly more similar
    nearest     the five most similar papers before and after, the paper itself left out, and which of them stayed
    map         the first two principal components of all papers, with an arrow from the original to the changed text

All is computed before and lies in the widget's state. Where a Python kernel runs, `live` answers a text that the reader
types: the browser asks by the trait `asked`, and the trait `answer` brings the same data for it. A page has no kernel and
gets no answer, so that its text boxes stay hidden. The browser half is `perturbations.js`, the plain twin `fallback`.

A changed field travels as ranges of the unchanged one, since most of it stays: [a, b] kept, [a, b, new] replaced, "new"
added; what no range covers is deleted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Any

import traitlets

from scirep_core.data.perturbations import CATEGORIES, PERTURBATIONS
from scirep_core.data.perturbations.changes import Text
from scirep_core.kit.errors import ConfigError, ScirepError
from scirep_core.kit.records import Paper
from scirep_core.page.widgets import common
from scirep_core.page.widgets.common import Explorer, View, check_names, clip, complete, table, within

CAP = 400_000
HEADING = 120
"""Characters kept of a neighbour's title."""
SIDE = 1000
"""Places on a map are whole numbers, the papers' from 0 to this."""
OWN = "own"
"""Id of the text that a reader typed."""
LONGEST = 6_000
"""Characters of a typed title and abstract together."""
CODES = tuple(PERTURBATIONS)

Live = Callable[[str, str], View]
Placed = Sequence[Any]
"""A text under one encoder: [x, y, cosine to the original, the original's rank, the nearest papers]."""
Change = str | tuple[Text, float, Sequence[Placed]]
"""A code's neighbour of a paper, the share of words kept, and by encoder where it is put; or why it does not apply."""
_UNIT = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")
_UNIT_OR_SPACE = re.compile(r"\s+|\w+(?:[-'’]\w+)*|[^\w\s]")


class PerturbationExplorer(Explorer, prefix="spx", scripts=("perturbations.js",)):
    """The widget. `selection` = {paper, code}: observe it, or set all or part of it.

    Args:
        view: what `perturbation_data` returned.
        live: title, abstract -> what `paper_data` returns for them, with `titles` and `points` of papers the page lacks;
            None where nobody can answer.
    """

    asked = traitlets.Dict().tag(sync=True)
    answer = traitlets.Unicode("").tag(sync=True)

    def __init__(self, view: View, live: Live | None = None, **kwargs: Any) -> None:
        """Take the data; keywords `paper` and `code` choose what is shown."""
        self._live, self._own = live, False
        super().__init__(view, **kwargs)

    def _resolve(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        known = {"paper": [paper["id"] for paper in self._view["papers"]] + [OWN] * self._own, "code": list(CODES)}
        return complete({"paper": known["paper"][0], "code": "T_ADelNN"}, before, wanted, known)

    @traitlets.observe("asked")
    def _answer(self, change: Any) -> None:
        """Answer the browser: that somebody is there, or a typed text. What goes wrong is said, never raised."""
        if self._live is None:
            return
        wanted = change["new"]
        reply: View = {"n": wanted.get("n", 0), "by": wanted.get("by", "")}
        title, abstract = str(wanted.get("title", "")), str(wanted.get("abstract", ""))
        if "title" in wanted:
            try:
                if not title.strip() and not abstract.strip():
                    raise ConfigError("Type a title or an abstract.")
                if len(title) + len(abstract) > LONGEST:
                    raise ConfigError(f"At most {LONGEST:,} characters, please.")
                reply |= self._live(title, abstract)
                self._own = True
            except ScirepError as error:
                reply["error"] = str(error)
        self.answer = common.encode(reply)

    def static_fallback(self) -> str:
        """Return the current selection as HTML tables that need no script."""
        view, selection = self._view, self.selection
        shown = selection["paper"] if selection["paper"] != OWN else view["papers"][0]["id"]
        paper = next(paper for paper in view["papers"] if paper["id"] == shown)
        at = CODES.index(selection["code"])
        called = {name: escape(words) for name, words in view["called"].items()}
        code, category, title, abstract, *_ = (called.get(one, one) for one in view["codes"][at])
        change = paper["codes"][at]
        applies = not isinstance(change, str)
        fields, outcome = [escape(paper["title"]), escape(paper["abstract"])], f"does not apply: {escape(str(change))}"
        if applies:
            fields = [marked(paper["title"], change[0]), marked(paper["abstract"], change[1], paper["sentences"])]
            outcome = f"{change[2]} % of the words are kept"
        names = [encoder["name"] for encoder in view["encoders"]]

        def titles(places: Sequence[int], others: Sequence[int]) -> str:
            found = {i: escape(view["titles"][str(i)]) for i in places}
            return "; ".join(f"<strong>{text}</strong>" if i in others else text for i, text in found.items())

        rows = [
            [escape(name), f"{c[2]:.3f}", f"{c[3]:,}", titles(before, c[4]), titles(c[4], before)]
            for name, c, before in zip(names, change[3] if applies else (), paper["near"], strict=False)
        ]
        every = [
            [called.get(code_, code_), *([escape(one)] + [""] * len(names) if isinstance(one, str) else
                      [f"{one[2]} %", *(f"{c[2]:.3f}, {c[3]:,}" for c in one[3])])]
            for (code_, *_), one in zip(view["codes"], paper["codes"], strict=True)
        ]  # fmt: skip
        heads = ("encoder", "cosine to the original", "rank of the original", "nearest before", "nearest after")
        stay = f"Where the text is put; papers that stay among the {view['k']} nearest are in bold"
        return self.folded(f"One paper and one change, as plain tables: {code}", [
            f"<p><strong>{code}</strong> ({category}); title {title}, abstract {abstract}: {outcome}.</p>",
            *(f"<p>{field}</p>" for field in fields),
            *([table(stay, heads, rows)] if applies else []),
            table("All 32 changes of this paper: words kept, or why one does not apply; cosine to the original, its rank",
                  ("change", "words kept", *names), every),
        ])  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ changes


def edits(before: str, after: str, spaces: bool = False) -> list[Any] | None:
    """Return how to get one text from another, as the first lines of this file say; None where they are the same.

    Args:
        spaces: count white space too; else only words and marks.

    >>> edits("A deep model.", "A shallow model .")
    [[0, 1], [2, 6, 'shallow'], [7, 13]]
    """
    if before == after:
        return None
    unit = _UNIT_OR_SPACE if spaces else _UNIT
    old, new = ([match.span() for match in unit.finditer(text)] for text in (before, after))
    words = [[text[a:b] for a, b in spans] for text, spans in ((before, old), (after, new))]
    found: list[Any] = []
    for how, i, i_end, j, j_end in SequenceMatcher(None, words[0], words[1], autojunk=False).get_opcodes():
        if how == "equal":
            found.append([old[i][0], old[i_end - 1][1]])
        elif how == "replace" and i_end - i == j_end - j:
            found += [[*old[a], words[1][b]] for a, b in zip(range(i, i_end), range(j, j_end), strict=True)]
        elif how != "delete":
            found.append(after[new[j][0] : new[j_end - 1][1]])
    return found


def arranged(sentences: Sequence[str], after: str) -> list[int] | None:
    """Return the order in which sentences, joined by one space, make a text; None if they do not."""
    left, at, order = list(range(len(sentences))), 0, list[int]()
    while left:
        fits = [i for i in left if after.startswith(sentences[i], at)]
        if not fits:
            return None
        longest = max(fits, key=lambda i: len(sentences[i]))
        order.append(longest)
        left.remove(longest)
        at += len(sentences[longest]) + 1
    return order if at - 1 == len(after) else None


def _field(before: str, after: str, does: str, sentences: Sequence[str]) -> Any:
    if does == "order" and before != after and (order := arranged(sentences, after)):
        return {"order": order}
    return edits(before, after, does == "space")


# --------------------------------------------------------------------------------------------------------------- data


def paper_data(
    paper: Paper, place: int | None, sentences: Sequence[str], own: Sequence[Placed], changes: Mapping[str, Change]
) -> View:
    """Return one paper as plain JSON values.

    Args:
        place: its number among all papers; None for a typed text.
        sentences: of its abstract. own: by encoder where the text itself is put. changes: by code, all of them.
    """
    spans, at = list[list[int]](), 0
    for sentence in sentences:
        start = paper.abstract.find(sentence, at)
        at = start + len(sentence)
        spans.append([start, at])

    def entry(code: str, change: Change) -> Any:
        """Return why a code does not apply, or [title, abstract, words kept in %, by encoder where it is put]."""
        if isinstance(change, str):
            return change
        text, share, placed = change
        does = PERTURBATIONS[code].does
        pairs = ((paper.title, text.title), (paper.abstract, text.abstract))
        return [*(_field(before, after, does, sentences) for before, after in pairs), round(100 * share), list(placed)]

    return {
        "id": paper.paper_id, "place": place, "title": paper.title, "abstract": paper.abstract, "sentences": spans,
        "at": [[x, y] for x, y, *_ in own], "near": [near for *_, near in own],
        "codes": [entry(code, changes[code]) for code in CODES],
    }  # fmt: skip


def perturbation_data(
    papers: Sequence[View], encoders: Sequence[View], titles: Mapping[int, str], total: int, k: int, about: str, opened: str,
    called: Mapping[str, str],
) -> View:  # fmt: skip
    """Return the explorer's data as plain JSON values.

    Args:
        papers: as `paper_data` returns them.
        encoders: key, name, `points` (number, x, y) of papers on its map, and the share of variance `held` by two dimensions.
        titles: of all papers that are near something shown, by number.
        total: papers compared with. k: nearest papers looked at. about: what the papers are, in a sentence.
        opened: the notebook to open where a kernel runs.
        called: codes and categories in words; a code without words goes by itself.

    Raises ConfigError for a paper's name that cannot stand in an address, and when the data are over the cap.
    """
    ids = [paper["id"] for paper in papers]
    check_names("papers", ids)
    if OWN in ids:
        raise ConfigError(f"papers: none may be called {OWN!r}, which a typed text is")
    view: View = {
        "k": k, "total": total, "about": about, "opened": opened, "categories": list(CATEGORIES), "called": dict(called),
        "codes": [[code, p.category, p.title, p.abstract, p.does, p.random] for code, p in PERTURBATIONS.items()],
        "encoders": list(encoders),
        "titles": {str(i): clip(title, HEADING) for i, title in titles.items()},
        "papers": list(papers),
    }  # fmt: skip
    remedy = f"show fewer papers (now {len(papers)}) or fewer encoders (now {len(encoders)})"
    return within(CAP, view, "perturbation explorer", remedy)


# -------------------------------------------------------------------------------------------------------------- plain


def marked(before: str, change: Any, sentences: Sequence[Sequence[int]] = ()) -> str:
    """Return a changed field as HTML: what went in <del>, what came in <ins>, sentences in another order with their number."""
    if change is None:
        return escape(before)
    if isinstance(change, dict):
        return " ".join(f"({i + 1}) {escape(before[slice(*sentences[i])])}" for i in change["order"])
    parts, at = list[str](), 0
    for op in change:
        if isinstance(op, str):
            parts.append(f" <ins>{escape(op)}</ins> ")
            continue
        gone = before[at : op[0]]
        parts.append(_gone(gone))
        part = escape(before[op[0] : op[1]])
        parts.append(part if len(op) == 2 else _replaced(part, op[2]))
        at = op[1]
    return "".join(parts) + _gone(before[at:])


def _gone(text: str) -> str:
    """Return deleted text in <del>, the white space around it outside."""
    words = text.strip()
    return text.replace(words, f"<del>{escape(words)}</del>") if words else text


def _replaced(old: str, new: str) -> str:
    if not new.strip():
        return f"<ins>{'␣' * len(new)}</ins>"
    only_case = old.lower() == escape(new).lower()
    return f"{'' if only_case else f'<del>{old}</del> '}<ins>{escape(new)}</ins>"
