"""An event without its words: what a forgotten entry's body becomes. Ids, numbers and codes stay.

The body of a forgotten entry begins with a mark, which names the entry that it was forgotten under.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

FORGOTTEN_MARK = "forgotten"
START = f'{{"{FORGOTTEN_MARK}": '
"""How the body of a forgotten entry begins."""

D = TypeVar("D")


def without_words(value: D) -> D:
    """This dataclass with each text emptied, but for its codes and what its class says `stays`.

    Of what may be any JSON nothing is left; of a list of numbers all of it.
    """
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{type(value).__qualname__} is no dataclass")
    stays, hints = _kept_fields(type(value)), _type_hints(type(value))
    emptied = dict[str, Any]()
    for field in dataclasses.fields(value):
        if field.name not in stays:
            emptied[field.name] = _blank(getattr(value, field.name), hints[field.name])
    return dataclasses.replace(value, **emptied)


def with_forgotten_mark(fields: Mapping[str, Any], by: int) -> str:
    """These fields as the body of an entry that was forgotten under the entry `by`."""
    return json.dumps({FORGOTTEN_MARK: by, **fields})


def forgotten_mark(body: str) -> int:
    """The seq of the entry under which this body was blanked; 0 for one that was not."""
    if not body.startswith(START):
        return 0
    digits = body[len(START) :].partition(",")[0].rstrip("}")
    if not digits.isdecimal():
        return 0
    return int(digits)


def _blank(value: Any, hint: Any) -> Any:
    if hint is Any:
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return ""
    if isinstance(value, Mapping):
        return {}
    if dataclasses.is_dataclass(value):
        return without_words(value)
    if all(isinstance(one, int | float) for one in value):
        return value
    return type(value)()


@functools.cache
def _kept_fields(kind: type) -> frozenset[str]:
    """What this class and those that it derives from say, and the fields that hold codes alone."""
    stays = {name for name, hint in _type_hints(kind).items() if _is_code(hint)}
    for base in kind.__mro__:
        stays.update(vars(base).get("stays", ()))
    return frozenset(stays)


def _is_code(hint: Any) -> bool:
    """Is it one of some fixed words, or nothing?"""
    if get_origin(hint) is Literal:
        return True
    parts = [part for part in get_args(hint) if part is not type(None)]
    return type(None) in get_args(hint) and all(get_origin(part) is Literal for part in parts)


@functools.cache
def _type_hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
