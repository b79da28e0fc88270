"""The `scirep` command: all its commands, how their words are read, and how each ends.

Data go to standard output (`--json` prints JSON), progress and warnings to standard error. Bad input ends with one
line and exit code 2, and so does what nobody foresaw (its traceback goes to a file); Ctrl-C with 130. Heavy libraries are
imported by the command that needs them.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from scirep_core import __version__
from scirep_core.cli import bench, data, diff, edition, encode, export, listing, perturb, score, study, submit, train
from scirep_core.cli.shared import argument, option
from scirep_core.kit.errors import ConfigError, ScirepError, legible
from scirep_core.kit.store import home
from scirep_core.kit.terminal import Json, hushed, is_hushed, print_json, say, warn
from scirep_core.results import ROOT

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Representing scientific documents: rerun the book, fetch its data, score your own vectors.",
    epilog="Example: scirep score csfcube --vectors my.npz --source real",
)


def _version(asked: bool) -> None:
    if asked:
        print(f"scirep {__version__}")
        raise typer.Exit()


@app.callback()
def scirep(
    context: typer.Context,
    quiet: Annotated[bool, option("No progress; results, warnings and errors stay.", "--quiet")] = False,
    version: Annotated[bool, option("Print the version.", "--version", is_eager=True, callback=_version)] = False,
) -> None:
    """Take what goes before every command, or for --quiet anywhere."""
    if quiet:
        context.with_resource(hushed())


app.add_typer(data.app, name="data")
app.command(epilog=score.EXAMPLES)(score.score)
app.command("list", epilog=listing.EXAMPLES)(listing.listing)
app.command(epilog=encode.EXAMPLES)(encode.encode)
app.command(epilog=perturb.EXAMPLES)(perturb.perturb)
app.command(epilog=train.EXAMPLES)(train.train)
app.command(epilog=export.EXAMPLES)(export.export)
app.command(epilog=bench.EXAMPLES)(bench.bench)
app.command(epilog=study.EXAMPLES)(study.study)
app.command(epilog=submit.EXAMPLES)(submit.submit)
app.command(epilog=diff.EXAMPLES)(diff.diff)
app.command(epilog=edition.PDF_EXAMPLES)(edition.pdf)
app.command(epilog=edition.CHECK_EXAMPLES)(edition.check)
app.command(epilog=edition.EDITION_EXAMPLES)(edition.edition)

# ----------------------------------------------------------------------------------------------- run, book, explain


@app.command(epilog="Example: scirep run notebooks/csfcube/baselines.ipynb -p data real -p encoders bm25,minilm")
def run(
    notebook: Annotated[str, argument("A notebook, or a chapter's name such as csfcube/baselines.")],
    parameter: Annotated[list[str] | None, option("A parameter as name=value or `-p name value`.", "-p")] = None,
    out: Annotated[Path | None, option("Where the executed notebook goes.")] = None,
    rows: Annotated[Path | None, option("File for the recorded result rows (JSON lines).")] = None,
    get: Annotated[bool, option("First fetch the published collections it scores.", "--get")] = False,
) -> None:
    """Execute one chapter with your own parameters."""
    from scirep_core.book import runner

    for path in (out, rows):
        if path is not None and path.is_dir():
            raise ConfigError(f"{path}: is a folder. Give the name of a file")
    given = {}
    for pair in parameter or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"-p {pair!r}: write -p name value, or -p name=value")
        given[name] = value
    result = runner.run(Path(notebook), given, out, rows, say, get=get)
    if not result.ok:  # the runner has said why, if it was to say anything
        _tell_quietly(result.error)
        raise typer.Exit(result.exit_code)
    print(result.notebook)


@app.command(epilog="Example: scirep book --only 'csfcube/*'")
def book(
    profile: Annotated[str, option("embedded, or real.")] = "embedded",
    only: Annotated[str | None, option("Run only chapters that fit this pattern.")] = None,
    output: Annotated[Path | None, option("Folder of the site; default build/html.")] = None,
) -> None:
    """Bring every chapter up to date and build the book."""
    from scirep_core import book as book_
    from scirep_core.book import runner
    from scirep_core.book.runcache import Places

    results = runner.run_all(profile, only, progress=say)
    failed = [result for result in results if not result.ok]
    if failed:
        names = ", ".join(result.name for result in failed)
        _tell_quietly(*(result.error for result in failed))
        raise ScirepError(f"{len(failed)} of {len(results)} chapters failed ({names}); the last good book is untouched")
    index = book_.build(Places().runs / profile, output or ROOT / "build" / "html", say)
    print(f"The book is ready. Open {index.as_uri()} in a browser, or run `make serve`.")


@app.command(epilog="Example: scirep explain 'recorded:csfcube/baselines:csfcube/all:fabs_bm25:ndcg%20:test:paper'")
def explain(
    number: Annotated[str, argument("A number's id, as the page shows it, or part of one.")],
    as_json: Json = False,
) -> None:
    """Say where a number in the book comes from, and how to recompute it."""
    from scirep_core.book.explain import find

    origins = find(number)
    if as_json:
        print_json([origin.to_json() for origin in origins])
        return
    for i, origin in enumerate(origins):
        print(("\n" if i else "") + origin.text())


def _tell_quietly(*errors: str) -> None:
    for error in errors if is_hushed() else ():
        warn(error)


def _papermill_style(arguments: list[str]) -> list[str]:
    """Turn `-p name value` (papermill's way) into `-p name=value`; `-p name=value` stays as it is."""
    out: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "-p":
            name = next(rest, None)
            if name is None:
                raise ConfigError("-p needs a name and a value, e.g. -p data real")
            if "=" not in name:
                value = next(rest, None)
                if value is None:
                    raise ConfigError(f"-p {name} needs a value")
                name = f"{name}={value}"
            out += ["-p", name]
        else:
            out.append(word)
    return out


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input exits with 2 and one line, Ctrl-C with 130."""
    words = sys.argv[1:] if arguments is None else arguments
    words = sorted(words, key=lambda word: word != "--quiet")  # a command's own last word, more often than not
    sys.exit(_guarded(lambda: app(_papermill_style(words), standalone_mode=False, prog_name="scirep")))


def extra_of(module: str) -> str:
    """Return the first extra of this package that brings a module, "" where none does."""
    plain = {"ot": "pot"}.get(top := module.partition(".")[0].lower(), top.replace("_", "-"))
    for requirement in importlib.metadata.requires("scirep-book") or ():
        name, extra = re.match(r"[\w.-]*", requirement), re.search(r"extra == ['\"]([\w-]+)", requirement)
        if name and extra and name[0].lower().replace("_", "-") == plain:
            return extra[1]
    return ""


def unforeseen(error: BaseException) -> str:
    """Write the traceback of an error that nobody foresaw to a file, and return the line that names it."""

    trace = "".join(traceback.format_exception(error)).encode("utf-8", "backslashreplace")
    for folder in (home() / "faults", None):  # None: the system's place for such files
        try:
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(".txt", "scirep-", folder)
            with os.fdopen(handle, "wb") as stream:
                stream.write(trace)
            where = f"The traceback is in {name}; please report it"
            break
        except OSError:
            where = "No traceback could be written"
    return f"{legible(f'{type(error).__name__}: {error}', 300)}: nobody foresaw this. {where}"


def _guarded(command: Callable[[], Any]) -> int:
    try:
        code = command()
        if code == 130:  # typer turns Ctrl-C into this exit code by itself
            say("scirep: stopped")
        return code if isinstance(code, int) else 0
    except ScirepError as error:
        say(f"scirep: {error}")
        return error.exit_code
    except typer.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, typer.Abort):
        say("scirep: stopped")
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `scirep data list | head`
        sys.stderr.close()
        return 0
    except OSError as error:
        where = legible(str(error.filename or "output"))
        say(f"scirep: {where}: {error.strerror or error}. Free space, fix permissions, or write elsewhere")
        return 2
    except Exception as error:
        # click's own usage errors carry a message and exit code 2; everything else is a fault of ours
        if isinstance(error, ModuleNotFoundError) and (extra := extra_of(error.name or "")):
            message = f"this needs {error.name}, which is not installed. Run `pip install 'scirep-book[{extra}]'`"
        else:
            message = error.format_message() if hasattr(error, "format_message") else unforeseen(error)
        say(f"scirep: {legible(message)}")
        return 2
