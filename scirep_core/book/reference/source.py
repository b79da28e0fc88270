"""The library read as text: modules, what they offer, how it is called. Nothing is imported, so nothing is slow.

Public is what has no leading underscore: functions, classes with their methods, and of the values those that are
registries (a literal dict by name) or that a docstring explains.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[2]
LONG = 40
"""Characters of a default that are shown; a longer one is `...`."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Item(NamedTuple):
    """Something a module offers.

    Attributes:
        kind: function, class, method, property, attribute or data.
        signature: from the opening bracket on; of values the type.
        keys: of a registry, its names.
        fields: of a class of records, (name, type, default) in order.
    """

    kind: str
    name: str
    signature: str
    doc: str
    members: tuple[Item, ...] = ()
    keys: tuple[str, ...] = ()
    fields: tuple[tuple[str, str, str], ...] = ()


class Module(NamedTuple):
    """One file of the library: dotted name, opening docstring, what it offers in the file's order."""

    name: str
    doc: str
    items: tuple[Item, ...]


Texts = tuple[tuple[str, str], ...]
"""(dotted name, text) of every file: what everything here is made from, and the key under which it is kept."""


def texts(package: Path = PACKAGE) -> Texts:
    """Return the library's files, sorted."""
    return tuple((_dotted(path, package), path.read_text(encoding="utf-8")) for path in sorted(package.rglob("*.py")))


def modules(package: Path = PACKAGE) -> dict[str, Module]:
    """Return every module of the library by its dotted name, sorted."""
    return dict(read(texts(package)))


def record(module: str, name: str, package: Path = PACKAGE) -> Item:
    """Return one item of one module, which alone is read. Raises KeyError."""
    path = package.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    ((_, found),) = read(((module, path.read_text(encoding="utf-8")),))
    return {item.name: item for item in found.items}[name]


def _dotted(path: Path, package: Path) -> str:
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.lru_cache(maxsize=4)
def read(files: Texts) -> tuple[tuple[str, Module], ...]:
    """Return all modules by name; the texts are the key, so an edit is never overlooked, and costs one file."""
    parsed = {name: _parsed(name, text) for name, text in files}
    imports = {name: known for name, (known, _) in parsed.items()}
    return tuple(
        (name, one._replace(items=tuple(_linked(item, imports) for item in one.items)))
        for name, (_, one) in parsed.items()
    )


@functools.lru_cache(maxsize=2048)
def _parsed(name: str, text: str) -> tuple[Imports, Module]:
    """Return what a module's names stand for, and the module with its types not yet linked."""
    tree = ast.parse(text)
    imports = _imports(tree, name)
    return imports, Module(name, _doc(tree), tuple(_items(tree.body, _Named(imports), True)))


Imports = dict[str, str]
"""Name in a module -> dotted name of what it stands for, for what comes from the library itself."""
_MARKED = re.compile("\x01(.*?)\x02")
_WORD = re.compile(r"(?<![\w.'\"\x01])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?!['\"])")


def _imports(tree: ast.Module, module: str) -> Imports:
    found: Imports = {}
    package = module.partition(".")[0]
    statements = [inner for one in tree.body for inner in (one.body if isinstance(one, ast.If) else [one])]
    for node in statements:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == package:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            found[node.name] = f"{module}.{node.name}"
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found |= {name: f"{module}.{name}" for name in _targets(node)}
    return found


class _Named(NamedTuple):
    """Annotations as text; each name that the library defines is marked with its full name, so that it can be linked."""

    imports: Imports

    def text(self, annotation: ast.expr | None) -> str:
        """Return an annotation as text; of Annotated[type, ...] the type."""
        if annotation is None:
            return ""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
            inner = annotation.slice
            annotation = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
        return _WORD.sub(self._marked, ast.unparse(annotation))

    def _marked(self, match: re.Match[str]) -> str:
        root, dot, rest = match.group().partition(".")
        return f"\x01{self.imports[root]}{dot}{rest}\x02" if root in self.imports else match.group()


def _linked(item: Item, imports: dict[str, Imports]) -> Item:
    """Replace marks by the name under which the library's reference has the thing."""

    def home(match: re.Match[str]) -> str:
        dotted = match[1]
        for _ in range(3):  # what a package hands on is described where it is defined
            module, _, name = dotted.rpartition(".")
            dotted = imports.get(module, {}).get(name, dotted)
        return dotted

    fields = tuple((name, _MARKED.sub(home, kind), default) for name, kind, default in item.fields)
    members = tuple(_linked(member, imports) for member in item.members)
    return item._replace(signature=_MARKED.sub(home, item.signature), fields=fields, members=members)


def _doc(node: ast.Module | ast.ClassDef | Function) -> str:
    """Return a docstring without the indentation of its code: what it indents itself, first block included, stays so."""
    first = node.body[0] if node.body else None
    if not isinstance(first, ast.Expr) or not _string(first):
        return ""
    lines = [line.rstrip() for line in _string(first).splitlines()]
    margin = " " * first.col_offset
    return "\n".join([lines[0], *(line.removeprefix(margin) for line in lines[1:])]).strip()


def _items(body: list[ast.stmt], names: _Named, top: bool) -> Iterator[Item]:
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, Function) and not node.name.startswith("_"):
            decorators = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
            kind = "function" if top else "property" if decorators & {"property", "cached_property"} else "method"
            signature = names.text(node.returns) if kind == "property" else _signature(node, names, bound=not top)
            yield Item(kind, node.name, signature, _doc(node))
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield _class(node, names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            doc = _string(after)
            for name in _targets(node):
                keys = _keys(node.value)
                if not name.startswith("_") and (doc or (top and name.isupper() and keys)):
                    kind = names.text(node.annotation) if isinstance(node, ast.AnnAssign) else ""
                    yield Item("data" if top else "attribute", name, kind, doc, (), keys)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _string(node: ast.stmt | None) -> str:
    """Return the docstring of a value: the text that follows it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def _keys(value: ast.expr | None) -> tuple[str, ...]:
    if not isinstance(value, ast.Dict):
        return ()
    return tuple(key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _class(node: ast.ClassDef, names: _Named) -> Item:
    decorators = {ast.unparse(one).partition("(")[0].rpartition(".")[2] for one in node.decorator_list}
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    fields: tuple[tuple[str, str, str], ...] = ()
    made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if "dataclass" in decorators or "NamedTuple" in bases:
        fields = tuple(
            (line.target.id, names.text(line.annotation), _default(line.value))
            for line in node.body
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        )
        shown = (f"{name}: {kind}" + (f" = {default}" if default else "") for name, kind, default in fields)
        signature = f"({', '.join(shown)})"
    else:
        signature = _signature(made, names, bound=True).partition(" -> ")[0] if made else ""
    members = tuple(_items(node.body, names, False))
    return Item("class", node.name, signature, _doc(node), members, (), fields)


def _default(value: ast.expr | None) -> str:
    """Return a default as it is written; of dataclasses' `field(...)` what it gives."""
    if value is None:
        return ""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        given = {word.arg: word.value for word in value.keywords}
        if "default" in given:
            return _default(given["default"])
        made = given.get("default_factory")
        if isinstance(made, ast.Lambda):
            return _default(made.body)
        return {"dict": "{}", "list": "[]", "tuple": "()"}.get(ast.unparse(made), "...") if made else ""
    text = ast.unparse(value)
    return text if len(text) <= LONG else "..."


def _signature(node: Function, names: _Named, bound: bool) -> str:
    """Return `(a: int, *, b: str = '') -> float`, without the first argument of a method."""
    given = node.args
    before = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(before) - len(given.defaults)) + list(given.defaults)
    static = any(ast.unparse(one) == "staticmethod" for one in node.decorator_list)
    parts = [_argument(arg, value, names) for arg, value in zip(before, defaults, strict=True)]
    if given.posonlyargs:
        parts.insert(len(given.posonlyargs), "/")
    if bound and not static and parts:
        parts = parts[1:] if parts[1:2] != ["/"] else parts[2:]
    if given.vararg:
        parts.append("*" + _argument(given.vararg, None, names))
    elif given.kwonlyargs:
        parts.append("*")
    parts += [_argument(arg, value, names) for arg, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        parts.append("**" + _argument(given.kwarg, None, names))
    returned = names.text(node.returns)
    return f"({', '.join(parts)})" + (f" -> {returned}" if returned else "")


def _argument(arg: ast.arg, value: ast.expr | None, names: _Named) -> str:
    kind, default = names.text(arg.annotation), _default(value)
    return arg.arg + (f": {kind}" if kind else "") + ((" = " if kind else "=") + default if default else "")
