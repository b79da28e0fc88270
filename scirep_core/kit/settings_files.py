"""YAML and TOML: the one reader of each, for files that come from a stranger.

libyaml's loader calls itself once for each level of nesting and so ends the process for a deep file; its events do not.
Size, depth and anchors (which make a small file large) are therefore looked at first, event by event, and refused.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from scirep_core.kit.errors import DataError

LARGEST = 1 << 20
"""Bytes of a file of settings: the largest manifest has 12,000."""
DEEPEST = 32
"""Levels of nesting."""
Lines = dict[tuple[Any, ...], int]
"""Keys and positions from the top -> line, of the first three levels."""


def read_yaml(path: Path) -> tuple[dict[str, Any], Lines]:
    """Return a YAML mapping and the line of each of its parts.

    Raises DataError for anything but plain data: a key given twice, an anchor, more than `LARGEST` bytes or `DEEPEST` levels.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = _text(path)
    try:
        _check_events(yaml, loader, text, path)
        built = loader(text)
        try:
            node = built.get_single_node()
            if not isinstance(node, yaml.MappingNode):
                raise DataError(path, 1, "expected keys and values at the top level")
            lines: Lines = {}
            _walk(yaml, node, (), lines, path)
            return built.construct_document(node), lines
        finally:
            built.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = " ".join(str(getattr(error, "problem", None) or "not readable").split())
        raise DataError(path, mark.line + 1 if mark else None, f"not plain YAML: {reason}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(path, None, f"not plain YAML: {' '.join(str(error).split())}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file holds. Raises DataError for one that is too large, too deep, or no TOML."""
    try:
        return tomllib.loads(_text(path))
    except (ValueError, RecursionError) as error:  # TOML's own error is a ValueError
        raise DataError(path, None, f"not TOML: {error}") from None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise DataError(path, None, f"more than {LARGEST:,} bytes are no file of settings")
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, None, f"not UTF-8 at byte {error.start}", "Save the file as UTF-8") from None
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})") from None


def _check_events(yaml: Any, loader: Any, text: str, path: Path) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise DataError(path, event.start_mark.line + 1, f"nested more than {DEEPEST} levels deep")
        if getattr(event, "anchor", None):
            raise DataError(path, event.start_mark.line + 1, f"an anchor, {event.anchor!r:.40}", "Write the value out")


def _walk(yaml: Any, node: Any, where: tuple[Any, ...], lines: Lines, path: Path) -> None:
    """Note the line of a node and of those below it; a key given twice is an error."""
    lines[where] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode) and len(where) < 3:
        for key, value in node.value:
            if (*where, name := _key(key, path)) in lines:
                raise DataError(path, key.start_mark.line + 1, f"key {name!r:.60} is given twice")
            _walk(yaml, value, (*where, name), lines, path)
    elif isinstance(node, yaml.SequenceNode) and len(where) < 3:
        for position, value in enumerate(node.value):
            _walk(yaml, value, (*where, position), lines, path)


def _key(node: Any, path: Path) -> str:
    if not isinstance(node.value, str):
        raise DataError(path, node.start_mark.line + 1, "not plain YAML: a list or mapping is no key")
    return node.value
