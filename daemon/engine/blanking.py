"""An event without its words: what a forgotten entry's body becomes. Ids, numbers and codes stay.

The body of a forgotten entry begins with a mark, which names the entry that it was forgotten under.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

MARK = "forgotten"
START = f'{{"{MARK}": '
"""How the body of a forgotten entry begins."""

T = TypeVar("T")


def blanked(value: T) -> T:
    """This dataclass with each text emptied, but for its codes and what its class says `stays`.

    Of what may be any JSON nothing is left; of a list of numbers all of it.
    """
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{type(value).__qualname__} is no dataclass")
    stays = _stays(type(value))
    fields = [field.name for field in dataclasses.fields(value) if field.name not in stays]
    return dataclasses.replace(value, **{name: _blank(type(value), name, value) for name in fields})


def marked(fields: Mapping[str, Any], by: int) -> str:
    """These fields as the body of an entry that was forgotten under the entry `by`."""
    return json.dumps({MARK: by, **fields})


def mark_of(body: str) -> int:
    """The seq of the entry under which this body was blanked; 0 for one that was not."""
    if not body.startswith(START):
        return 0
    digits = body[len(START) :].partition(",")[0].rstrip("}")
    return int(digits) if digits.isdecimal() else 0


def _blank(kind: type, name: str, holder: object) -> Any:
    value = getattr(holder, name)
    if _hints(kind)[name] is Any:
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return ""
    if isinstance(value, Mapping):
        return {}
    if dataclasses.is_dataclass(value):
        return blanked(value)
    numbers = all(isinstance(one, int | float) for one in value)
    return value if numbers else type(value)()


@functools.cache
def _stays(kind: type) -> frozenset[str]:
    """What this class and those that it derives from say, and the fields that hold codes alone."""
    said = {name for base in kind.__mro__ for name in vars(base).get("stays", ())}
    codes = {name for name, hint in _hints(kind).items() if _is_code(hint)}
    return frozenset(said | codes)


def _is_code(hint: Any) -> bool:
    """Is it one of some fixed words, or nothing?"""
    if get_origin(hint) is Literal:
        return True
    parts = [part for part in get_args(hint) if part is not type(None)]
    return type(None) in get_args(hint) and all(get_origin(part) is Literal for part in parts)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
