"""Plain values, the only ones that cross into a sandbox and out of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from types import NoneType
from typing import Any, Never

from daemon.sandbox.frames import BITS

SCALARS = (NoneType, bool, int, float, bytes, date, datetime)


def plain(value: Any, other: Callable[[Any], Any]) -> Any:
    """This value with plain ones only; what is none becomes what `other` makes of it.

    Halves of characters, which no sandbox can hold, become U+FFFD. Raises RecursionError for a value that
    holds itself, and what `other` raises.
    """
    if isinstance(value, str):
        return str(value) if value.isascii() else whole(value)
    if isinstance(value, int) and value.bit_length() > BITS:
        return other(value)
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, list):
        return [plain(one, other) for one in value]
    if isinstance(value, dict):
        return {plain(key, other): plain(one, other) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(one, other) for one in value)
    if isinstance(value, set | frozenset):
        return {plain(one, other) for one in value}
    return other(value)


def weight(value: Any, most: int) -> int:
    """How many characters and parts a value has; it is not looked at any more once there are over `most`."""
    weight, left = 0, [value]
    while left and weight <= most:
        one = left.pop()
        weight += 1
        if isinstance(one, str | bytes):
            weight += len(one)
        elif isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
    return weight


def whole(text: str) -> str:
    """This text with U+FFFD where it has half a character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def refuse(value: Any) -> Never:
    """Raise TypeError: this is no plain value."""
    raise TypeError(f"a value of type {type(value).__name__} is not plain")
