"""Plain values, the only ones that cross into a sandbox and out of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from types import NoneType
from typing import Any, Never

from daemon.environment import SandboxError
from daemon.sandbox.frames import BITS, PARTS

CHARACTERS = 64 * 2**20
"""Most characters of a value that leaves a sandbox, in all its texts."""
HELD = 8
"""Bytes of a sandbox's memory to each character that its open calls may hold, all in all: the host has a copy
of what each is given. A call that would hold more waits until others are answered."""
SCALARS = (NoneType, bool, int, float, bytes, date, datetime)
COLLECTIONS = (list, tuple, set, frozenset)


def make_plain(value: Any, other: Callable[[Any], Any], *, bounded: bool = False) -> Any:
    """This value with plain ones only; what is none becomes what `other` makes of it.

    Halves of characters, which no sandbox can hold, become U+FFFD. Raises RecursionError for a value that
    holds itself, what `other` raises, and where it is `bounded` TypeError for one that is too large: a few
    lists that hold each other more than once are endless when they are written out.
    """
    return ValueCopier(other, bounded=bounded).copy(value)


class ValueCopier:
    """One value on its way; counts what it holds."""

    def __init__(self, other: Callable[[Any], Any], *, bounded: bool) -> None:
        self._other = other
        self._parts: float = PARTS if bounded else math.inf
        self._characters: float = CHARACTERS if bounded else math.inf

    def copy(self, value: Any) -> Any:
        """This part of it."""
        self._count(value)
        if isinstance(value, str):
            return repair_surrogates(value)
        if isinstance(value, int) and value.bit_length() > BITS:
            return self._other(value)
        if isinstance(value, SCALARS):
            return value
        if isinstance(value, dict):
            return {self.copy(key): self.copy(one) for key, one in value.items()}
        if isinstance(value, COLLECTIONS):
            copied = [self.copy(one) for one in value]
            if isinstance(value, list):
                return copied
            return tuple(copied) if isinstance(value, tuple) else set(copied)
        return self._other(value)

    def _count(self, value: Any) -> None:
        self._parts -= 1
        if isinstance(value, str | bytes):
            self._characters -= len(value)
        if self._parts < 0:
            raise TypeError(f"it holds more than {PARTS:,} values")
        if self._characters < 0:
            raise TypeError(f"it holds more than {CHARACTERS:,} characters")


def measure_weight(value: Any, most: int) -> int:
    """How many characters and parts a value has; it is not looked at any more once there are over `most`."""
    weight, left = 0, [value]
    while left and weight <= most:
        one = left.pop()
        weight += 1
        if isinstance(one, str | bytes):
            weight += len(one)
        elif isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, COLLECTIONS):
            left += one
    return weight


def repair_surrogates(text: str) -> str:
    """This text with U+FFFD where it has half a character."""
    if text.isascii():
        return str(text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def prepare_crossing(
    names: Mapping[str, Any], form: Callable[[Any, Callable[[Any], Any]], Any]
) -> dict[str, Any]:
    """These variables, each in the form in which it crosses: `plain`, or as `pack` has it.

    Raises SandboxError where one is no plain value.
    """
    made = {}
    for name, value in names.items():
        try:
            made[name] = form(value, refuse_value)
        except (TypeError, RecursionError) as error:
            raise SandboxError(f"{name} cannot be brought into the sandbox: {error}.") from error
    return made


def refuse_value(value: Any) -> Never:
    """Raise TypeError: this is no plain value."""
    raise TypeError(f"a value of type {type(value).__name__} is not plain")
