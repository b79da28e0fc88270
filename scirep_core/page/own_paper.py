"""The encoder of `beyond/own_paper`: a trained encoder with four vectors a paper, run by the reader's browser as they type.

The encoder is one training of the study `main`: one pass, every label used, on 3,000 papers of the embedded
literature. Rounded to a byte a weight (page/widgets/own_encoder.py) it is kept under `results/` and measured as it then is:

    rounding     cosine of the rounded model's vector to the trained one's; nearest papers that both have (recorded)
    field        % of papers whose field a linear classifier on the vector under CLF says, fitted on other papers (5 folds)
    year         mean |year said - year|, by ridge regression on the vector under RGN, fitted on other papers
    change       of papers not compared with: nearest papers that stay under a change, and those of the paper's own field, %
    difference   of two changes, paper by paper

    python -m scirep_core.page.own_paper --seed 2       # train (or find) the study's model, round and record it
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.literature.lexicon import lexicon
from scirep_core.data.perturbations import PERTURBATIONS, perturb
from scirep_core.data.perturbations.changes import Parsed
from scirep_core.data.perturbations.linguistics import find_tools
from scirep_core.data.sources import embedded_root, literature
from scirep_core.encoders import Encoder, load_encoder
from scirep_core.encoders.models.model_store import load_model
from scirep_core.encoders.vectors.embed import embed
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.formats import Format
from scirep_core.kit.store import write_bytes
from scirep_core.page.chapter import progress
from scirep_core.page.widgets.own_encoder import pack, unpack
from scirep_core.page.widgets.own_paper import (
    CODES,
    NEAR,
    Example,
    Heads,
    Known,
    OwnPaperExplorer,
    nearest_places,
    own_paper_data,
    whole_vectors,
)
from scirep_core.results import ROOT, Result, provenance, write_results
from scirep_core.results.statistics import bootstrap_folds
from scirep_core.training.models import obtain
from scirep_core.training.variants import Budget, budget

CHAPTER, VARIANT = "beyond/own_paper", "one pass dense"
MODEL = ROOT / "results" / "embedded" / "beyond" / "own_paper.model.json.gz"
ROWS = MODEL.with_name("own_paper.jsonl")
EXAMPLES, FOLDS, TEXTS = 5, 5, 100
AS_IS, NO_ABSTRACT, NO_TITLE = "unchanged", "abstract deleted", "title deleted"
FEWER = "as many words of the abstract deleted as the title has"
SHUFFLED = PERTURBATIONS["T_AShuff"].abstract
STAY, RIGHT = "nearest papers that stay, %", "nearest papers of its own field, %"
OURS = Example(
    "this book",
    "A research book that anyone can rerun",
    "We rebuild the experiments of five papers on vectors for scientific documents. Every number names its origin, and every "
    "chapter runs on a laptop without a network. Readers change a parameter and see what follows. We find that many results "
    "hold, that some tables contain slips, and that a few choices nobody wrote down decide the order of systems.",
)
"""A text that is not of the literature: its words reach the encoder in pieces."""
Floats = NDArray[np.float64]
Vectors = dict[Format, NDArray[np.float32]]
View = dict[str, Any]


class Shown(NamedTuple):
    """The encoder in the page and the papers it is shown with; examples are not among them.

    Attributes:
        packed: what the page gets. encoder: the same in Python.
        texts: title and abstract of each paper. vectors: format -> (papers, dim).
        data_hash: of the literature.
    """

    packed: View
    encoder: Encoder
    papers: tuple[Known, ...]
    texts: tuple[tuple[str, str], ...]
    examples: tuple[Example, ...]
    vectors: Vectors
    data_hash: str


def packed_model(steps: int, seed: int) -> View:
    """Return the recorded model for 0 steps, else one that is trained now, on the literature of a seed."""
    if not steps:
        return read_model()
    given = budget("small", data_seed=seed, train={"steps": steps, "warmup": min(20, steps // 5)})
    tell = progress(f"training {VARIANT}", "steps")
    return packed(given, 0, lambda state: tell(state.step, state.steps))[0]


def packed(given: Budget, seed: int, watch: Any = None) -> tuple[View, Encoder]:
    """Return a training of the variant, made where it is missing, as the page gets it, and the encoder before rounding."""
    made = obtain(VARIANT, seed, given, watch=watch)[0]
    saved = load_model(made.folder)
    origin = {"variant": VARIANT, "training_seed": seed, "key": made.key, "papers": given.papers, "data_seed": given.data_seed,
              "steps": int(saved.described.made["training"]["steps"])}  # fmt: skip
    return pack(saved, origin), load_encoder(made.encoder)


def read_model(path: Path = MODEL) -> View:
    """Return a recorded model. Raises DataError for a file that is missing or damaged."""
    try:
        found: View = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError) as error:
        remedy = "Record it: python -m scirep_core.page.own_paper"
        raise DataError(path, None, f"no recorded model ({error})", remedy) from None
    return found


def look(model: View, papers: int, seed: int) -> Shown:
    """Encode papers of the literature the model was trained on, drawn by a seed, and hold some out to begin with."""
    encoder, made = unpack(model), model["made"]
    found, fields = literature(made["papers"], made["data_seed"]), lexicon().fields
    if not EXAMPLES + FOLDS <= papers + EXAMPLES <= len(found):
        raise ConfigError(f"papers = {papers}: the literature has {len(found):,}, of which {EXAMPLES} are held out")
    drawn = np.random.default_rng(seed).permutation(len(found))
    examples = [found.paper(int(i)) for i in drawn[:EXAMPLES]]
    known, texts = [], []
    for i in np.sort(drawn[EXAMPLES : EXAMPLES + papers]).tolist():
        paper, field = found.paper(i), fields[int(found.latents.field[i])].name
        known.append(Known(paper.paper_id, paper.title, paper.year or 0, field))
        texts.append((paper.title, paper.abstract))
    own = [fields[int(found.latents.field[int(i)])].name for i in drawn[:EXAMPLES]]
    begin = tuple(
        Example(paper.paper_id, paper.title, paper.abstract, field, paper.year or 0)
        for paper, field in zip(examples, own, strict=True)
    )
    vectors = vectors_of(encoder, texts)
    about = embedded_root(made["papers"], made["data_seed"]).name
    shown = Shown(model, encoder, tuple(known), tuple(texts), (*begin, OURS), vectors, about)
    near = nearest_to(shown, [(paper.title, paper.abstract) for paper in examples]).values()
    like = [sum(known[i].field == own[at] for of in near for i in of[at]) for at in range(EXAMPLES)]
    shared = in_all_lists(shown)  # first an example whose lists differ, so that there is something to see
    order = sorted(range(EXAMPLES), key=lambda at: (shared[at] == NEAR, -like[at]))  # and most are of its own field
    return shown._replace(examples=(*(begin[i] for i in order), OURS))


def in_all_lists(shown: Shown) -> list[int]:
    """Return of each example how many of its nearest papers are among the nearest under every format."""
    lists = nearest_to(shown, [(one.title, one.abstract) for one in shown.examples]).values()
    return [len(set.intersection(*map(set, of))) for of in zip(*lists, strict=True)]


def nearest_to(shown: Shown, texts: Sequence[tuple[str, str]]) -> dict[Format, list[list[int]]]:
    """Return format -> of each text the places of its nearest papers, which the page has in whole numbers."""
    own = vectors_of(shown.encoder, texts)
    papers = {form: whole_vectors(of).astype(float) for form, of in shown.vectors.items()}
    return {form: nearest_places(own[form], of, NEAR).tolist() for form, of in papers.items()}


def vectors_of(encoder: Encoder, texts: Sequence[tuple[str, str]]) -> Vectors:
    """Return format -> (texts, dim) vectors of titles and abstracts, through the vector store."""
    inputs = [encoder.recipe.separator.join(filter(None, text)) for text in texts]
    return {form: embed(encoder, inputs, form, progress("papers read")) for form in encoder.formats}


# ------------------------------------------------------------------------------------------------------------ numbers


class Read(NamedTuple):
    """Linear heads for the page, and of each paper whether its field was said rightly, and how many years off it was said."""

    heads: Heads
    right: Floats
    off: Floats


def read(shown: Shown, seed: int) -> Read:
    """Fit linear heads on all papers; what is told of them is from fits on other papers, in five folds."""
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fields, field = np.unique([paper.field for paper in shown.papers], return_inverse=True)
    years = np.array([paper.year for paper in shown.papers], float)
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    of_field = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
    of_year = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 6)))
    clf, rgn = shown.vectors["CLF"].astype(float), shown.vectors["RGN"].astype(float)
    right = (cross_val_predict(of_field, clf, field, cv=folds) == field).astype(float)
    off = np.abs(cross_val_predict(of_year, rgn, years, cv=folds) - years)
    weights = []
    for model, x, y in ((of_field, clf, field), (of_year, rgn, years)):
        model.fit(x, y)
        scaler, linear = model[0], model[1]
        slope = np.atleast_2d(linear.coef_) / scaler.scale_
        weights.append((slope, np.atleast_1d(linear.intercept_) - slope @ scaler.mean_))
    (w, b), (v, a) = weights
    sentences = (
        f"right for {100 * right.mean():.0f} % of held-out invented papers (title and abstract); {len(fields)} fields",
        f"{off.mean():.1f} years off on average on held-out invented papers",
    )
    return Read(Heads((w, b), (v[0], float(a[0])), *sentences), right, off)


def readings(shown: Shown, found: Read, seed: int) -> list[Result]:
    """Return how well field and year are read; 95 % bootstrap intervals over papers."""
    field = _row(shown, "reading/field", "accuracy", 100 * found.right, "% of papers, fitted on others", seed)
    return [field, _row(shown, "reading/year", "absolute error", found.off, "years, fitted on others", seed)]


def held_out(shown: Shown, seed: int) -> tuple[list[tuple[str, str]], NDArray[np.str_], int]:
    """Return title and abstract, and the field, of up to TEXTS papers of the literature that are not compared with.

    An abstract loses the last sentences that the encoder would not read; the last number says how many abstracts do.
    """
    made, lexical = shown.packed["made"], lexicon().fields
    found = literature(made["papers"], made["data_seed"])
    drawn = np.random.default_rng(seed).permutation(len(found))[EXAMPLES + len(shown.papers) :][:TEXTS].tolist()
    whole = [(paper.title, paper.abstract) for paper in map(found.paper, drawn)]
    texts = [(title, _read_of(shown.encoder, title, abstract)) for title, abstract in whole]
    fields = np.array([lexical[int(found.latents.field[i])].name for i in drawn])
    return texts, fields, sum(text != before for text, before in zip(texts, whole, strict=True))


def _read_of(encoder: Any, title: str, abstract: str) -> str:
    """Return the longest beginning of an abstract, in whole sentences, of which the encoder reads every word piece."""
    model, tokens = encoder.loaded
    room, parts = encoder.about.length - model.conditioning.added(), find_tools("fallback").sentences(abstract)
    begun = [abstract, *(" ".join(parts[:n]) for n in range(len(parts) - 1, -1, -1))]
    sizes = map(len, tokens.ids([encoder.recipe.separator.join(filter(None, (title, text))) for text in begun]))
    return next((text for text, size in zip(begun, sizes, strict=True) if size <= room), "")


def changes(shown: Shown, seed: int) -> list[Result]:
    """Return what stays of the nearest papers of texts under each change, and which are of the text's own field; over formats.

    The texts are those of `held_out`; where none is left, nothing is returned.
    """
    texts, own, _ = held_out(shown, seed)
    fields, tagger = np.array([paper.field for paper in shown.papers]), find_tools("fallback")

    def nearest(those: Sequence[tuple[str, str]]) -> NDArray[np.int64]:
        return np.array(list(nearest_to(shown, those).values()))

    def altered(code: str) -> list[tuple[str, str]]:
        parsed = [(Parsed(title, tagger), Parsed(abstract, tagger)) for title, abstract in texts]
        made = [perturb(f"example {at}", *both, code, seed, None) for at, both in enumerate(parsed)]
        return [(one.title or "", one.abstract or "") for one in made]

    def without(at: int, title: str, abstract: str) -> tuple[str, str]:
        words = abstract.split()
        gone = np.random.default_rng((seed, at)).permutation(len(words))[: len(title.split())]
        return title, " ".join(np.delete(words, gone))

    if not texts:
        return []
    changed = {
        AS_IS: texts,
        NO_ABSTRACT: [(title, "") for title, _ in texts],
        NO_TITLE: [("", text) for _, text in texts],
        FEWER: [without(at, *text) for at, text in enumerate(texts)],
    }
    changed |= {PERTURBATIONS[code].abstract: altered(code) for code in CODES}
    plain, note = nearest(texts), f"of {NEAR}, mean over {len(shown.vectors)} vectors"
    found: dict[tuple[str, str], Floats] = {}
    for what, those in changed.items():
        near = nearest(those)
        found[what, STAY] = 100 * (near[..., None] == plain[..., None, :]).any(-1).mean(axis=(0, 2))
        found[what, RIGHT] = 100 * (fields[near] == own[None, :, None]).mean(axis=(0, 2))
    rows = [_row(shown, f"change/{what}", metric, values, note, seed) for (what, metric), values in found.items()]
    for what, than, metric in ((FEWER, NO_TITLE, STAY), (SHUFFLED, AS_IS, RIGHT)):
        apart = found[what, metric] - found[than, metric]
        rows.append(_row(shown, f"difference/{what}, minus {than}", metric, apart, note, seed))
    return rows


def rounding(shown: Shown, before: Mapping[Format, NDArray[np.float32]], seed: int) -> list[Result]:
    """Return what rounding changes: cosines of vectors to those before, and the nearest papers that are the same."""
    rows = []
    for form, after in shown.vectors.items():
        a, b = before[form].astype(float), after.astype(float)
        cosines = (a * b).sum(1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-12)
        near = [nearest_places(x, x, NEAR + 1)[:, 1:].tolist() for x in (a, b)]
        counts = np.array([len(set(one) & set(two)) for one, two in zip(*near, strict=True)], float)
        rows.append(_row(shown, f"rounding/{form}", "cosine", cosines, "rounded to trained vector", seed))
        rows.append(_row(shown, f"rounding/{form}", "shared", counts, f"of {NEAR} nearest papers", seed))
    return rows


def _row(shown: Shown, task: str, metric: str, values: Floats, note: str, seed: int) -> Result:
    low, high = bootstrap_folds(values[None, :], [np.arange(len(values))], 1000, seed)
    return Result(
        task=task, split="all", metric=metric, protocol="sound", value=float(values.mean()), n=len(values),
        encoder=shown.encoder.name, low=float(low[0]), high=float(high[0]), source="embedded", seed=seed,
        fingerprint=shown.encoder.fingerprint, data_hash=shown.data_hash, similarity="cosine", provenance=provenance(), note=note,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ showing


def explorer(shown: Shown, found: Read) -> OwnPaperExplorer:
    """Return the explorer over what was looked at."""
    near = nearest_to(shown, [(one.title, one.abstract) for one in shown.examples])
    read_as = {one.key: {form: near[form][at] for form in near} for at, one in enumerate(shown.examples)}
    about = (
        f"All {len(shown.papers):,} papers are invented. The encoder was trained on invented papers alone and knows nothing of "
        "real science."
    )
    view = own_paper_data(shown.packed, shown.papers, shown.vectors, found.heads, shown.examples, read_as, about)
    return OwnPaperExplorer(view)


# ---------------------------------------------------------------------------------------------------------- recording


def main(seed: int = 2) -> None:
    """Train or find the study's model of a seed, not chosen by its score, round it, record it and what rounding changed."""
    view, before = packed(budget("small"), seed)
    shown = look(view, 1200, 0)
    found = rounding(shown, vectors_of(before, shown.texts), 0)
    write_bytes(MODEL, gzip.compress(json.dumps(view, ensure_ascii=False).encode(), mtime=0))
    write_results(ROWS, (replace(row, chapter=CHAPTER) for row in found))


if __name__ == "__main__":
    import typer

    typer.run(main)
