"""S2AND: which author mentions are the same person (Subramanian et al. 2021; SciRepEval A.2).

Six collections - arnetminer, inspire, kisti, pubmed, qian, zbmath - each in a folder of its own:

    <root>/s2and/<collection>/<collection>_signatures.json   {id: {signature_id, paper_id, author_info}}
    <root>/s2and/<collection>/<collection>_clusters.json     {id: {cluster_id, signature_ids, model_version}}
    <root>/s2and/<collection>/<collection>_papers.json       {id: {paper_id, title, abstract, ...}}

or the same names without the collection, as in S2AND's own tests. All folders that hold signatures are read into one
task. Every collection counts its signatures from 0, so ids get its name: signature `qian/17`, block `qian/a sattar`,
cluster `qian/3`; what is before the slash tells the collections apart (the paper averages B3 F1 over them). Ids of
papers are those of the corpus, which the collections share, and stay as they are.

A signature in no cluster has the cluster "": nobody knows whose it is, and the evaluator leaves it out, as S2AND-mini
does. Papers need not be there; where they are, every signature's must be among them. They also hold papers that are only
cited: these are not part of the task, whose texts are those of the signatures.

SciRepEval scores S2AND-mini, "with only 1000 blocks from each of S2AND's dataset sources and at most 500 signatures per
block" (A.2). The script behind it (allenai/S2AND, make_s2and_mini_dataset.py) drops blocks of more than 500 signatures
whole and keeps the first 1,000 of the rest by name, so of large collections mostly names with a or b; no chance is
involved. Then a cluster that has lost a signature goes, and with it its other signatures. `mini` does the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

from scirep_core.data import hub
from scirep_core.data.inventory import TaskSpec
from scirep_core.data.tables import Found
from scirep_core.data.task import Byline, Signature, Signatures
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import Paper, field

COLLECTIONS = ("arnetminer", "inspire", "kisti", "pubmed", "qian", "zbmath")
"""Those of the published benchmark, in the order of its tables."""
MOST_BLOCKS, MOST_SIGNATURES = 1000, 500
"""S2AND-mini: blocks of a collection, signatures of a block."""


def read(spec: TaskSpec, root: Path) -> Found:
    """Read all collections under `<root>/s2and`. `Task.notes` names those without texts.

    Raises DataError, naming file and entry, for bad JSON, a missing or wrong field, an entry under another's id, a
    signature in two clusters or in a cluster but not in the file, a paper that the papers file lacks.
    """
    folder = root / "s2and"
    names = sorted(p.name for p in folder.iterdir() if _file(p, "signatures")) if folder.is_dir() else []
    if not names:
        raise DataError(folder, None, "no collection with a signatures file", "Run `scirep data get s2and`")
    rows: list[Signature] = []
    read_files: list[Path] = []
    notes: list[str] = []
    papers: list[Path] = []
    bylines: dict[str, Byline] = {}
    for collection in names:
        whole = read_signatures(folder / collection, collection)
        found = mini(whole)
        rows += found
        if len(found) < len(whole):
            notes.append(f"{collection}: {len(found):,} of {len(whole):,} signatures, as S2AND-mini")
        texts = _file(folder / collection, "papers")
        if texts:
            papers.append(texts)
            bylines |= read_bylines(found, _need(folder / collection, "signatures"), texts)
        else:
            count = len({row.paper_id for row in found})
            notes.append(f"{collection}: no papers file, so no text for its {count} papers")
        read_files += [_need(folder / collection, part) for part in ("signatures", "clusters")]
    payload, streamed = Signatures(tuple(rows), bylines), partial(read_texts, papers, frozenset(bylines))
    return Found(payload, streamed, [*read_files, *papers], notes)


def mini(rows: Sequence[Signature], blocks: int = MOST_BLOCKS, signatures: int = MOST_SIGNATURES) -> list[Signature]:
    """Return the part of one collection that S2AND-mini keeps: see the module's first lines. Rows stay in order."""
    size = Counter(row.block for row in rows)
    names = set(sorted(name for name, count in size.items() if count <= signatures)[:blocks])
    if len(names) == len(size):
        return list(rows)
    torn = {row.cluster for row in rows if row.block not in names}
    return [row for row in rows if row.block in names and row.cluster not in torn - {""}]


def _file(folder: Path, part: str) -> Path | None:
    choices = (folder / f"{folder.name}_{part}.json", folder / f"{part}.json")
    return next((path for path in choices if path.is_file()), None)


def _need(folder: Path, part: str) -> Path:
    path = _file(folder, part)
    if path is None:
        name = f"{folder.name}_{part}.json"
        raise DataError(folder, None, f"neither {name} nor {part}.json is there", "Run `scirep data get s2and`")
    return path


def _entries(path: Path, own: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (id, entry) of one of the files. Raises DataError for an id twice, or an entry that states another id."""
    for key, entry in hub.objects(path, own):
        # a cluster goes by its key alone, as in S2AND
        if own != "cluster_id" and str(stated := _get(entry, own, (str, int), path, key)) != key:
            raise DataError(path, None, f"{own} {key!r} states the id {stated!r}", "Key and id must be the same")
        yield key, entry


def _get(entry: dict[str, Any], name: str, kind: hub.Kind, path: Path, key: str) -> Any:
    """Return entry[name] checked, with the entry's id in the error: these files have no lines to name."""
    try:
        return field(entry, name, kind, path, None)
    except DataError as error:
        raise DataError(path, None, f"entry {key!r}: {error.reason}", error.remedy) from None


def read_signatures(folder: Path, collection: str) -> list[Signature]:
    """Return the signatures of one collection, whose name goes before their ids. Raises DataError as `read` does."""
    path = _need(folder, "signatures")
    clusters = _clusters(_need(folder, "clusters"))
    rows = []
    for key, entry in _entries(path, "signature_id"):
        author = _get(entry, "author_info", dict, path, key)
        parts = [_get(author, part, (str, NoneType), path, key) or "" for part in ("first", "middle", "last", "suffix")]
        block = _get(author, "block", str, path, key)
        affiliations = _get(author, "affiliations", (list, str, NoneType), path, key) or []
        stated = [affiliations] if isinstance(affiliations, str) else affiliations
        cluster, position = clusters.pop(key, ""), author.get("position")
        rows.append(
            Signature(
                signature_id=f"{collection}/{key}",
                paper_id=str(_get(entry, "paper_id", (str, int), path, key)),
                block=f"{collection}/{block}",
                cluster=cluster and f"{collection}/{cluster}",
                name=" ".join(part for part in parts if part),
                affiliation="; ".join(str(one) for one in stated if one),
                first=parts[0],
                middle=parts[1],
                last=parts[2],
                email=str(author.get("email") or ""),
                position=position if type(position) is int else -1,
            )
        )
    if clusters:
        lost, cluster = next(iter(clusters.items()))
        reason = f"cluster {cluster!r} names signature {lost!r}, which {path.name} lacks"
        raise DataError(_need(folder, "clusters"), None, reason, "Fetch both files again")
    return rows


def _clusters(path: Path) -> dict[str, str]:
    clusters: dict[str, str] = {}
    for key, entry in _entries(path, "cluster_id"):
        for signature in _get(entry, "signature_ids", list, path, key):
            if clusters.setdefault(str(signature), key) != key:
                reason = f"signature {str(signature)!r} is in cluster {clusters[str(signature)]!r} and in {key!r}"
                raise DataError(path, None, reason, "A signature is one person's")
    return clusters


def read_bylines(rows: Sequence[Signature], path: Path, texts: Path) -> dict[str, Byline]:
    """Return what is known of the papers of signatures. Raises DataError for a signature whose paper is not there."""
    wanted = {row.paper_id for row in rows}
    found = {key: _byline(entry, texts, key) for key, entry in _entries(texts, "paper_id") if key in wanted}
    for row in rows:
        if row.paper_id not in found:
            reason = f"signature {row.signature_id.partition('/')[2]!r}: paper {row.paper_id!r} is not in {texts.name}"
            raise DataError(path, None, reason, "Fetch both files again")
    return found


def _byline(entry: dict[str, Any], path: Path, key: str) -> Byline:
    lists = [entry.get(name) or [] for name in ("authors", "references")]
    if not all(isinstance(value, list) for value in lists):
        raise DataError(path, None, f"entry {key!r}: authors and references must be lists", "Fetch the file again")
    team = sorted((one for one in lists[0] if isinstance(one, dict)), key=lambda one: one.get("position") or 0)
    journal = entry.get("journal_name")
    return Byline(
        key,
        tuple(str(one.get("author_name") or "") for one in team),
        journal if isinstance(journal, str) else "",
        tuple(map(str, lists[1])),
    )


def read_texts(files: Sequence[Path], wanted: frozenset[str]) -> Iterator[Paper]:
    """Stream the papers that are wanted; one that several collections share comes once, as in the first."""
    seen: set[str] = set()
    for path in files:
        for key, entry in _entries(path, "paper_id"):
            if key in seen or key not in wanted:
                continue
            seen.add(key)
            text = [_get(entry, name, (str, NoneType), path, key) or "" for name in ("title", "abstract")]
            year, venue = entry.get("year"), entry.get("venue") or entry.get("journal_name")
            yield Paper(
                key, text[0], text[1], year if type(year) is int else None, venue=venue if type(venue) is str else ""
            )
