"""`scirep pdf`, `scirep check`, `scirep edition`: what a finished book becomes, must satisfy, and holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scirep_core.cli.shared import argument, option
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.terminal import Json, print_json, say, table
from scirep_core.results import ROOT

SITE = ROOT / "build" / "html"
PDF_EXAMPLES = "Examples: scirep pdf;  scirep pdf --site build/html --out book.pdf"
CHECK_EXAMPLES = "Examples: scirep check;  scirep check build/html --json"
EDITION_EXAMPLES = "Examples: scirep edition;  scirep edition --write"


def pdf(
    out: Annotated[Path, option("File to write.")] = Path("build") / "scirep-book.pdf",
    site: Annotated[Path, option("Folder of the built book.", show_default="build/html")] = SITE,
    api: Annotated[bool, option("With the reference of the library's functions, hundreds of pages.", "--api")] = False,
    as_json: Json = False,
) -> None:
    """Print the built book to one PDF: cover, contents with page numbers, every page of the site, an outline.

    An installed Chromium does it, with no way to the network; SCIREP_CHROMIUM names one that is not on the PATH. Left out
    are folded code, the data tables below figures, the origins of numbers, and without --api the reference of the library's
    functions; explorers are printed as their plain tables.
    """
    from scirep_core.book.pdf import pdf as printed

    if out.is_dir():
        raise ConfigError(f"{out}: is a folder. Give the name of a file")
    made = printed(site, out, say, api)
    if as_json:
        print_json(made._asdict() | {"path": str(made.path)})
        return
    print(f"{made.path}: {made.pages:,} pages, {made.bytes / 1e6:.1f} MB, of {made.articles} pages of the site")


def check(
    site: Annotated[Path, argument("Folder of the built book.", show_default="build/html")] = SITE,
    as_json: Json = False,
) -> None:
    """Check a built site without a browser: it stands alone, leads nowhere wrong, is usable without seeing it.

    Exit code 0: no fault; 1: faults, a line each; 2: no site there.
    """
    from scirep_core.book.sitecheck import check as faults_of

    if not (site / "index.html").is_file():
        raise ConfigError(f"{site}: no built book here. Make it with `scirep book`, or name its folder")
    faults = faults_of(site)
    if as_json:
        print_json(faults)
    else:
        for fault in faults:
            print(fault)
        say(f"check: {len(faults) or 'no'} fault{'s' * (len(faults) != 1)} in {site}")
    raise typer.Exit(1 if faults else 0)


def edition(
    write: Annotated[bool, option("Write results/MANIFEST.json for the files that are there.", "--write")] = False,
    as_json: Json = False,
) -> None:
    """List the recorded results of this edition: rows, code, and the edition in which each was last recorded.

    Exit code 2, with a line for the first difference, where results/MANIFEST.json says otherwise than the files.
    """
    from scirep_core.book import edition as edition_

    if write:
        print(edition_.write())
    found = edition_.manifest()
    if as_json:
        print_json(found.to_json())
    elif not write:
        rows = [
            [name, "" if f["rows"] is None else f"{f['rows']:,}", ", ".join(f["code"]), f["edition"]]
            for name, f in found.files.items()
        ]
        table(f"Edition {found.version}", ["file", "rows", "code", "since"], rows)
    faults = edition_.faults()
    if faults:
        raise ConfigError(faults[0] + (f" (and {len(faults) - 1} more)" if faults[1:] else ""))
