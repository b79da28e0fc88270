"""Values by name, as a file of a stranger gives them, as an instance of a class: pydantic, told in one line of ours.

A class says with its annotations what it takes (`extra="forbid"`, `strict`: text is no number, a bool neither); the first
fault is raised, an unknown key before all, since it is often the one that another misses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar, get_args

from pydantic import AfterValidator, TypeAdapter, ValidationError

from scirep_core.kit.errors import ScirepError, nearest

T = TypeVar("T")
Refusal = Callable[[tuple[Any, ...], str, str], ScirepError]
"""(place from the top, reason, remedy) -> the error to raise."""
_TYPES = {
    "string_type": "str", "int_type": "int", "bool_type": "bool", "float_type": "float", "tuple_type": "list", "list_type": "list",
    "dict_type": "dict", "model_type": "keys and values", "dataclass_type": "a section",
}  # fmt: skip


def matching(pattern: str, what: str) -> AfterValidator:
    """Return the annotation of a text that is wholly matched by `pattern`, or refused as none of `what`."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"{value!r:.100} is not {what}")
        return value

    return AfterValidator(check)


def validated(kind: type[T], values: Any, refusal: Refusal) -> T:
    """Return `values` as a `kind`; for the first fault raises what `refusal` makes of it."""
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        fault = next((one for one in faults if one["type"] == "extra_forbidden"), faults[0])
    place, value = fault["loc"], fault["input"]
    name = next((part for part in reversed(place) if isinstance(part, str)), "")
    reason, remedy = fault["msg"].removeprefix("Value error, "), ""
    if fault["type"] == "extra_forbidden":
        reason, remedy = f"unknown key {name!r:.60}", nearest(name, _fields(kind, place[:-1]))
    elif fault["type"] == "missing":
        reason = f"field {name!r} is missing"
    elif fault["type"] in _TYPES:
        reason = f"field {name!r} must be {_TYPES[fault['type']]}, found {value!r:.60}"
    elif fault["type"] == "literal_error" and not isinstance(value, str):
        reason = f"field {name!r} must be str, found {value!r:.60}"
    elif fault["type"] == "literal_error":
        choices = get_args(_fields(kind, place[:-1])[name])
        reason, remedy = f"{name} {value!r:.60}", nearest(value, choices)
    elif fault["type"] == "value_error":
        reason = f"{name} {reason}"
    else:
        reason = f"{name} {value!r:.60}: {reason[0].lower()}{reason[1:]}"
    raise refusal(place, reason, remedy)


def _fields(kind: Any, place: tuple[Any, ...]) -> dict[str, Any]:
    """Return name -> type of what a class takes, or of what the part of it at a place does."""
    for name in (part for part in place if isinstance(part, str)):
        held = _fields(kind, ())[name]
        kind = next(one for one in (held, *get_args(held)) if hasattr(one, "__pydantic_fields__"))
    return {name: one.annotation for name, one in kind.__pydantic_fields__.items()}
