"""How to cite a page: BibTeX at the foot of every chapter, of the page and of the papers it reproduces.

Title and version are those of CITATION.cff, the papers' entries those of references.bib. There is no author that the
citation file does not name, no address that nobody has registered, and no date, so that two builds are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.records import read_yaml

KEYS = {
    "scirepeval-v1": "scirepeval2022", "scirepeval-v2": "scirepeval2023", "csfcube": "csfcube2021",
    "neighbours": "neighbours2022", "scimult": "scimult2023",
}  # fmt: skip
"""Paper in the inventory of exhibits -> its entry in references.bib."""
PARTS = {"scirepeval": ("scirepeval-v2",)} | {paper: (paper,) for paper in ("csfcube", "neighbours", "scimult")}
"""Part of the book -> its paper, for chapters without an exhibit."""
_SIGNS = {sign: f"\\{sign}" for sign in "&%$#_{}"}
_SIGNS |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def bib_entries(path: Path) -> dict[str, str]:
    """Return the entries of a BibTeX file as they are written, by key. Raises DataError for a key given twice."""
    found: dict[str, str] = {}
    for match in re.finditer(r"^@\w+\{([^,\s]+),.*?^\}", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        if match[1] in found:
            raise DataError(path, None, f"entry {match[1]} is there twice", "Keep one")
        found[match[1]] = match[0]
    return found


def citation(root: Path) -> dict[str, Any]:
    """Return title, version and authors of CITATION.cff."""
    return read_yaml(root / "CITATION.cff")[0]


def entry(page: str, title: str, section: str, keys: Iterable[str], root: Path) -> str:
    """Return the BibTeX entry of one chapter.

    Args:
        page: path in the site without suffix.
        section: of the paper, as metadata.scirep has it.
        keys: entries of the papers it reproduces.
    """
    about = citation(root)
    authors = " and ".join(f"{{{_latex(one['name'])}}}" for one in about["authors"])
    of = ", ".join(keys)
    note = f"Version {about['version']}, page {_latex(page)}.html"
    many = "s" * any(sign in section for sign in (",", " and ", " to "))
    note += f", reproducing section{many} {_latex(section)} of {of}" if section and of else f", on {of}" if of else ""
    lines = {
        "title": f"{{{_latex(title)}}}", "author": authors,
        "howpublished": f"Chapter of ``{_latex(about['title'])}''", "note": note,
    }  # fmt: skip
    width = max(map(len, lines))
    body = ",\n".join(f"  {name:<{width}} = {{{text}}}" for name, text in lines.items())
    return f"@misc{{scirepbook-{page.replace('/', '-').replace('_', '-')},\n{body}\n}}"


def _latex(text: str) -> str:
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def cell(page: str, title: str, section: str, papers: Iterable[str], root: Path) -> dict[str, Any]:
    """Return the notebook cell, folded, that ends a chapter. `papers` are those of the inventory.

    Raises DataError for a paper without an entry in references.bib.
    """
    written = bib_entries(root / "book" / "references.bib")
    keys = [KEYS[paper] for paper in (*papers,) or PARTS.get(page.partition("/")[0], ())]
    for key in keys:
        if key not in written:
            raise DataError(root / "book" / "references.bib", None, f"no entry {key}", nearest(key, written))
    shown = "\n\n".join([entry(page, title, section, keys, root), *(written[key] for key in keys)])
    source = (
        '<details class="scirep-made scirep-cite"><summary>Cite this page</summary>\n\n'
        f"```bibtex\n{shown}\n```\n\n</details>"
    )
    return {"cell_type": "markdown", "id": "cite-this-page", "metadata": {}, "source": source}
