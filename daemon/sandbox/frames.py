"""Frames between the host and a child: a length of four bytes (big-endian), then a JSON object in UTF-8.

What JSON has not is tagged: `{"$tuple": [1, 2]}`. Host and child share this file, so it needs nothing but the
standard library. After the "protocol" of the seed (recursive-language-models.md).
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from datetime import date, datetime
from types import NoneType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader

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
