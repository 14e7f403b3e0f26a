"""Interface of a sandbox, plain values that cross its border, and frames between host and child.

Cells share one namespace, which survives exceptions, and call only given functions of the host. A frame is a
4-byte big-endian length and a UTF-8 JSON object; types that JSON lacks are tagged: `{"$tuple": [1, 2]}`.
Child processes import this module, hence only the standard library. Source: "environment" and "protocol" of
the seed recursive-language-models.md.
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
"""Function of the host that cells call synchronously (`answer = llm_query("…")`), also several at once.

Arguments and results are None, bool, int, float, str, list, dict, tuple, set, bytes, date and datetime. A
HostCallError becomes RuntimeError in the cell; other exceptions close the sandbox and leave `execute_code`.
"""


class SandboxError(Exception):
    """Failure to open a sandbox or to bind a value; the text names a remedy."""

    recorded_name = "SandboxError"


class ContextLoadError(Exception):
    """Failure to load a text; the error names a remedy."""

    recorded_name = "ContextError"


class HostCallError(Exception):
    """Failure of a host call; cells can catch the error."""

    recorded_name = "CallError"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Limits: `memory` of the sandbox in bytes; for each cell, `seconds` without waits for the host,
    characters of `output`, and host `calls`.
    """

    seconds: float = 30.0
    memory: int = 512 * 2**20
    output: int = 2**20
    calls: int = 10_000


USUAL = SandboxLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """Result of a cell.

    `value`: of the last expression, as repr if it cannot leave. `error`: traceback as in CPython, or empty.
    `variables`: types of assigned variables, by name. `lost`: a limit was passed or the process died, so no
    more cells are taken.
    """

    stdout: str = ""
    stderr: str = ""
    value: Any = None
    error: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    lost: bool = False


class Sandbox(Protocol):
    """Runner of cells; cancelling `execute_code` closes the sandbox."""

    async def execute_code(self, code: str) -> CellResult:
        """Run a cell; exceptions of its code are returned in the result, not raised."""

    async def bind(self, **names: Any) -> None:
        """Set variables in the sandbox. Raises SandboxError for a value that is not plain."""

    async def close(self) -> None:
        """Close the sandbox at once, even while a cell runs."""


HEADER = 4


LIMIT = 16 * 2**20
"""Most bytes of a frame from a child."""


PARTS = 250_000
"""Most values in a frame: decoding more would block the event loop."""


ALIKE = 100
"""Most values with equal hashes in a set or dict: crafted collisions would block."""


BITS = 8_192
"""Most bits of an int: Python refuses to format much longer ones."""


STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""Pattern of a JSON string, even without its end, so that matching takes linear time."""


SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


UNCHANGED = (NoneType, bool, str)


class FrameError(Exception):
    """Error for a frame that is invalid or may not be sent."""


def pack(value: Any, other: Callable[[Any], Any]) -> Any:
    """Convert a value to JSON form; `other` converts types without a tag."""
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
    """Raise ValueError for too many equal hashes, as of crafted keys."""
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
    """Encode a frame. Raises FrameError if the frame is longer than `limit` bytes."""
    text = json.dumps(frame, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    body = text.encode("utf-8", "replace")
    if limit is not None:
        if len(body) > limit:
            raise FrameError(f"{len(body):,} bytes are too many for one message; {limit:,} may be sent")
        _check_parts(body)
    return len(body).to_bytes(HEADER, "big") + body


def decode(body: bytes | bytearray) -> dict[str, Any]:
    """Decode a frame. Raises FrameError unless the body is a JSON object."""
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
    """Read a child's frame. Raises FrameError, and EOFError after the child's end."""
    size = int.from_bytes(await reader.readexactly(HEADER), "big")
    if size > limit:
        raise FrameError(f"a frame of {size:,} bytes; {limit:,} are allowed")
    body = await reader.readexactly(size)
    _check_parts(body)
    return decode(body)


def _check_parts(body: bytes) -> None:
    if _count(body) <= PARTS:
        return
    quotes = body.count(b'"') - body.count(b'\\"')
    if quotes > PARTS or _count(STRING.sub(b"", body)) > PARTS:
        raise FrameError(f"too many values for one message; {PARTS:,} may be sent")


def _count(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


CHARACTERS = 64 * 2**20
"""Most characters of a value that leaves the sandbox."""


HELD = 8
"""Bytes of the memory limit reserved for each character in open calls; further calls wait."""


SCALARS = (NoneType, bool, int, float, bytes, date, datetime)


COLLECTIONS = (list, tuple, set, frozenset)


def make_plain(value: Any, other: Callable[[Any], Any], *, bounded: bool = False) -> Any:
    """Copy a value to plain types; `other` converts the rest. Lone surrogates become U+FFFD.

    Raises RecursionError for a cyclic value, and TypeError for a large one if `bounded`.
    """
    return ValueCopier(other, bounded=bounded).copy(value)


class ValueCopier:
    def __init__(self, other: Callable[[Any], Any], *, bounded: bool) -> None:
        self._other = other
        self._parts: float = PARTS if bounded else math.inf
        self._characters: float = CHARACTERS if bounded else math.inf

    def copy(self, value: Any) -> Any:
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
    """Return the characters and parts of a value; stop counting above `most`."""
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
    if text.isascii():
        return str(text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def prepare_crossing(
    names: Mapping[str, Any], form: Callable[[Any, Callable[[Any], Any]], Any]
) -> dict[str, Any]:
    """Convert variables by `form` (`make_plain` or `pack`). Raises SandboxError if one is not plain."""
    made = {}
    for name, value in names.items():
        try:
            made[name] = form(value, refuse_value)
        except (TypeError, RecursionError) as error:
            raise SandboxError(f"{name} cannot be brought into the sandbox: {error}.") from error
    return made


def refuse_value(value: Any) -> Never:
    raise TypeError(f"a value of type {type(value).__name__} is not plain")
