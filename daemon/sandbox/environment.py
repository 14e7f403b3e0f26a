"""What a sandbox is, whichever environment stands behind it: cells run in it, one after the other.

All cells of a sandbox share one namespace, which is kept, too, after a cell that raised. The code reaches
nothing but the functions that it is given; they run on the host. After the "environment" of the seed
(recursive-language-models.md).

Plain values, the only ones that cross into a sandbox and out of it.

Frames between the host and a child: a length of four bytes (big-endian), then a JSON object in UTF-8.

What JSON has not is tagged: `{"$tuple": [1, 2]}`. Host and child share this file, so it needs nothing but the
standard library. After the "protocol" of the seed (recursive-language-models.md).
"""

from __future__ import annotations

import base64
import json
import math
import re
from asyncio import StreamReader
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from types import NoneType
from typing import Any, Never, Protocol

Function = Callable[..., Awaitable[Any]]
"""A function of the host's that cells may call as a plain function (`answer = llm_query("…")`).

Its arguments and its result are plain values: None, bool, int, float, str, list, dict, and tuple, set, bytes,
date and datetime. Several may be on their way at once. Where it raises a CallError the code sees a
RuntimeError with its words; whatever else it raises ends the cell, closes the sandbox, and is raised by
`execute_code`.
"""


class SandboxError(Exception):
    """A sandbox cannot be opened, or a value cannot be brought into it: what happened, and what to do."""

    recorded_name = "SandboxError"


class ContextLoadError(Exception):
    """What is to be read cannot be brought: a plain sentence for whoever asked, and what to do."""

    recorded_name = "ContextError"


class HostCallError(Exception):
    """What the host says of a call that came to nothing; the code that called can catch it."""

    recorded_name = "CallError"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """What a sandbox may take: `seconds` of its own work a cell (waiting for the host does not count), bytes
    of `memory`, characters of `output` a cell, and `calls` of the host's functions a cell."""

    seconds: float = 30.0
    memory: int = 512 * 2**20
    output: int = 2**20
    calls: int = 10_000


USUAL = SandboxLimits()
"""What holds where nobody says anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """What came of one cell.

    `value` is that of its last expression, where it ended with one (a value that cannot leave the sandbox is
    its repr). `error` is a traceback as CPython writes it, with the cell's lines; empty where there is none.
    `variables` are all names that the cells have assigned so far, each with its type. `lost`: it went over a
    bound, or the environment died, and the namespace is gone with it: the sandbox takes no more cells.
    """

    stdout: str = ""
    stderr: str = ""
    value: Any = None
    error: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    lost: bool = False


class Sandbox(Protocol):
    """Runs cells. One at a time; a cancelled `execute_code` closes it."""

    async def execute_code(self, code: str) -> CellResult:
        """Run this cell to its end. Raises nothing for what the code does."""

    async def bind(self, **names: Any) -> None:
        """These are variables of its namespace from now on. Raises SandboxError where a value cannot be."""

    async def close(self) -> None:
        """End it, within a moment, also in the midst of a cell."""


HEADER = 4


LIMIT = 16 * 2**20
"""Most bytes of a frame that a child may send."""


PARTS = 250_000
"""Most values in such a frame: they are decoded in the event loop, which others wait for."""


ALIKE = 100
"""Most values with the same hash in one set or dict: with many, to build it would take for ever."""


BITS = 8_192
"""Longest int that is sent: Python writes no digits of one that is much longer."""


STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""Also one that never ends: so it takes no longer than the text is, whatever stands there."""


SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


UNCHANGED = (NoneType, bool, str)
"""What JSON holds as it is."""


class FrameError(Exception):
    """This is no frame, or none that may be sent."""


def pack(value: Any, other: Callable[[Any], Any]) -> Any:
    """This value as JSON can hold it; `other` makes something plain of what has no tag."""
    if isinstance(value, UNCHANGED):
        return value
    if isinstance(value, int) and value.bit_length() <= BITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list):
        return [pack(one, other) for one in value]
    if isinstance(value, dict):
        return _pack_dict(value, other)
    if isinstance(value, tuple | set | frozenset):
        return {_tag(value): [pack(one, other) for one in value]}
    return _pack_scalar(value, other)


def _tag(value: tuple[Any, ...] | set[Any] | frozenset[Any]) -> str:
    if isinstance(value, tuple):
        return "$tuple"
    return "$set" if isinstance(value, set) else "$frozenset"


def _pack_scalar(value: Any, other: Callable[[Any], Any]) -> Any:
    """What holds nothing else, and JSON has not."""
    if isinstance(value, float):
        return {"$float": repr(float(value))}
    if isinstance(value, bytes | bytearray):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    return other(value)


def _pack_dict(value: dict[Any, Any], other: Callable[[Any], Any]) -> dict[str, Any]:
    if all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {key: pack(one, other) for key, one in value.items()}
    return {"$dict": [[pack(key, other), pack(one, other)] for key, one in value.items()]}


def unpack(value: Any) -> Any:
    """The value that was packed; raises FrameError where none could have been."""
    try:
        return _unpack(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"a value that is none: {error}") from error


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(one) for one in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(tag, held)] = value.items()
        if tag.startswith("$"):
            return _untag(tag, held)
    return {key: _unpack(one) for key, one in value.items()}


def _untag(tag: str, held: Any) -> Any:
    if tag in SIMPLE:
        if not isinstance(held, str):
            raise TypeError(f"{tag} needs a text")
        return SIMPLE[tag](held)
    if not isinstance(held, list):
        raise TypeError(f"{tag} needs a list")
    values = [_unpack(one) for one in held]
    if tag == "$tuple":
        return tuple(values)
    if tag == "$dict":
        _differ([key for key, _ in values])
        return dict(values)
    if tag == "$set":
        _differ(values)
        return set(values)
    if tag == "$frozenset":
        _differ(values)
        return frozenset(values)
    raise ValueError(f"{tag} is no tag")


def _differ(keys: list[Any]) -> None:
    """Raise ValueError where too many have one hash: somebody has made them so."""
    if len(keys) - len({hash(key) for key in keys}) > ALIKE:
        raise ValueError("too many values have the same hash")


def _decode_bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


SIMPLE: dict[str, Callable[[str], Any]] = {
    "$float": float,
    "$bytes": _decode_bytes,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse)


def encode(frame: dict[str, Any], limit: int | None = None) -> bytes:
    """A frame as it is sent. Raises FrameError where it is larger than the other side would take."""
    text = json.dumps(frame, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    body = text.encode("utf-8", "replace")
    if limit is not None:
        if len(body) > limit:
            raise FrameError(f"{len(body):,} bytes are too many for one message; {limit:,} may be sent")
        _check_parts(body)
    return len(body).to_bytes(HEADER, "big") + body


def decode(body: bytes | bytearray) -> dict[str, Any]:
    """The object that these bytes hold. Raises FrameError where it is none, or its text is no Unicode."""
    try:
        frame = DECODER.decode(body.decode())
        if SURROGATE.search(body):
            json.dumps(frame, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame that is no JSON: {error}") from error
    if not isinstance(frame, dict):
        raise FrameError("a frame that is no JSON object")
    return frame


async def read_frame(reader: StreamReader, limit: int = LIMIT) -> dict[str, Any]:
    """The next frame of a child. Raises FrameError, and EOFError where the child has hung up."""
    size = int.from_bytes(await reader.readexactly(HEADER), "big")
    if size > limit:
        raise FrameError(f"a frame of {size:,} bytes; {limit:,} are allowed")
    body = await reader.readexactly(size)
    _check_parts(body)
    return decode(body)


def _check_parts(body: bytes) -> None:
    """Raise FrameError where there are too many values in this frame."""
    if _count(body) <= PARTS:
        return
    quotes = body.count(b'"') - body.count(b'\\"')
    if quotes > PARTS or _count(STRING.sub(b"", body)) > PARTS:
        raise FrameError(f"too many values for one message; {PARTS:,} may be sent")


def _count(body: bytes) -> int:
    """How many values could be in it: commas and brackets, also those in texts."""
    return body.count(b",") + body.count(b"[") + body.count(b"{")


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
