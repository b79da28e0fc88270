"""Which files of the library does a notebook use? Answered by reading, not by importing.

A chapter must rerun when code it uses changed, and only then. The answer is the closure of the notebook's imports over
the library's own: imports inside functions count, `if TYPE_CHECKING` ones do not, and a text constant that names a
module (`"scirep_core.encoders.hub"` in a registry) counts as an import of it. Files that are not Python (widgets'
JavaScript, published tables, word lists) count with the package in whose folder they lie.

The package's own `__init__` is run by every import, so it is read name by name: `from scirep_core import load_task`
follows only what `load_task` needs. Where reading cannot decide (a star import, the package by its name as in
`import scirep_core`, a cell that is not Python) the whole library is taken: a needless rerun is cheap, a stale chapter is not.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from scirep_core.kit.store import sha256_file

_MODULE = re.compile(r"\.?[A-Za-z_]\w*(\.\w+)*(:\w+)?")
_MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)
Reference = tuple[str, str | None]
"""(module, name wanted from it); the name only matters for the package's `__init__`."""


def library_files(sources: Iterable[str], package: Path) -> dict[str, str]:
    """Return {path inside `package`: SHA-256} of every library file that code cells `sources` can reach."""
    texts = tuple((path, _text(path)) for path in sorted(package.rglob("*.py")))
    library, whole = _library(package, texts), ast.Module([], [])
    wanted: set[Reference] = set()
    for source in sources:
        if source.startswith("%%"):
            source = source.partition("\n")[2]
        try:
            whole.body += ast.parse(_MAGIC.sub(r"\1pass", source)).body  # one cell imports, another uses
        except SyntaxError:
            wanted.add((library.name, "*"))
    wanted |= library.references(whole, "", strings=False)
    return {path.relative_to(package).as_posix(): sha256_file(path) for path in sorted(library.closure(wanted))}


class _Library:
    """The modules of one package folder, parsed on demand and once."""

    def __init__(self, package: Path, texts: tuple[tuple[Path, str], ...]) -> None:
        self.package, self.name, self.texts = package, package.name, dict(texts)
        self.modules: dict[str, Path] = {}
        self.read: dict[Reference, tuple[set[Reference], set[str]]] = {}
        for path in self.texts:
            parts = (self.name, *path.relative_to(package).with_suffix("").parts)
            self.modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path

    def closure(self, wanted: set[Reference]) -> set[Path]:
        """Follow references until nothing new appears; return the files reached, data files included."""
        seen: set[Reference] = set()
        words: set[str] = set()
        todo = list(wanted)
        while todo:
            module, name = todo.pop()
            if module != self.name:
                name = None
            if "." in module:  # parent packages run first, also above a folder that has no __init__
                todo.append((module.rpartition(".")[0], None))
            if module not in self.modules or (module, name) in seen:
                continue
            if (module, name) == (self.name, "*"):
                todo += [(other, None) for other in self.modules]
            seen.add((module, name))
            if (module, name) not in self.read:
                tree = _parsed(self.texts[self.modules[module]])
                of_init = module == self.name
                found = self._of_init(tree, name) if of_init else self.references(tree, module, strings=True)
                self.read[module, name] = found, _texts(tree)
            todo += self.read[module, name][0]
            words |= self.read[module, name][1]
        files = {self.modules[module] for module, _ in seen}
        return files | set(self._data(files, words))

    def references(self, tree: ast.AST, module: str, strings: bool) -> set[Reference]:
        """Return what a piece of code refers to, imports at any depth included."""
        found: set[Reference] = set()
        nodes = list(_walk(tree))
        dynamic = strings and any(isinstance(n, ast.Name | ast.Attribute) and _last(n) in _IMPORTERS for n in nodes)
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.name if alias.asname else alias.name.partition(".")[0]
                    found |= {(alias.name, None), (bound, "*" if bound == self.name else None)}
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute("." * node.level + (node.module or ""), module)
                for alias in node.names:
                    found |= {(base, alias.name), (f"{base}.{alias.name}", None)}
            elif strings and isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {(name, None) for name in self._named(node.value, module, bare=dynamic)}
        return found

    def _of_init(self, tree: ast.Module, name: str | None) -> set[Reference]:
        """References of the package's `__init__`: what always runs, and what the one wanted name needs."""
        eager = ast.Module([n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)], [])
        found = self.references(eager, self.name, strings=False)
        if name is None or f"{self.name}.{name}" in self.modules:
            return found
        nodes = list(ast.walk(eager))
        entries = [pair for n in nodes if isinstance(n, ast.Dict) for pair in zip(n.keys, n.values, strict=True)]
        homes = [text for key, value in entries if name in _texts(key) for text in _texts(value)]
        bound = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        bound |= {a.asname or a.name for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names}
        if homes or name in bound:
            return found | {(module, None) for text in homes for module in self._named(text, self.name, bare=True)}
        return found | self.references(tree, self.name, strings=True)  # made some other way: take all it mentions

    def _absolute(self, dotted: str, module: str) -> str:
        level = len(dotted) - len(dotted.lstrip("."))
        if not level or not module:
            return dotted
        is_package = self.modules[module].name == "__init__.py"
        parts = module.split(".")[: len(module.split(".")) - level + is_package]
        return ".".join([*parts, dotted[level:]] if dotted[level:] else parts)

    def _named(self, text: str, module: str, bare: bool) -> set[str]:
        """Modules that a text constant names: `scirep_core.x[:y]`, and where imports are dynamic also `.x` and `x`."""
        if bare and text.endswith("."):  # the fixed part of a name put together at run time: all below it
            below = self._absolute(text, module).rstrip(".") + "."
            return {name for name in self.modules if name.startswith(below)}
        if not _MODULE.fullmatch(text):
            return set()
        dotted = text.partition(":")[0]
        names = {dotted}
        if bare:
            names |= {self._absolute(dotted, module) if dotted.startswith(".") else f"{self.name}.{dotted}"}
        return {name for name in names if name in self.modules and name != self.name}

    def _data(self, files: set[Path], words: set[str]) -> Iterator[Path]:
        """Files beside the modules that are not Python. A folder without any Python counts when a module names it."""
        named = {word.strip("/").partition("/")[0] for word in words}
        for folder in {path.parent for path in files}:
            for top in folder.iterdir():
                inside = [top]
                if top.is_dir():
                    if any(top.rglob("*.py")) or (folder == self.package and top.name not in named):
                        continue
                    inside += top.rglob("*")
                for path in inside:
                    hidden = any(part.startswith((".", "__pycache__")) for part in path.relative_to(folder).parts)
                    if not hidden and path.is_file() and path.suffix not in _NO_DATA and path.name != "py.typed":
                        yield path


@functools.lru_cache(maxsize=2)
def _library(package: Path, texts: tuple[tuple[Path, str], ...]) -> _Library:
    """One library for all chapters of a run; the texts are the key, so an edit is never overlooked."""
    return _Library(package, texts)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _parsed(text: str) -> ast.Module:
    """A module that does not parse has no imports yet: its text still counts, and running it tells the reader."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


_IMPORTERS = ("import_module", "__import__")
_NO_DATA = (".py", ".pyc", ".part")


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """`ast.walk` without the blocks that only a type checker reads."""
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        yield node
        skip = isinstance(node, ast.If) and _last(node.test) == "TYPE_CHECKING"
        todo += node.orelse if skip else ast.iter_child_nodes(node)


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _texts(node: ast.AST | None) -> set[str]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and type(n.value) is str} if node else set()
