"""Wire frames: round trips, and refusal of invalid ones."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, namedtuple
from datetime import UTC, date, datetime
from typing import Any

import pytest

from daemon.sandbox.environment import (
    ALIKE,
    LIMIT,
    PARTS,
    FrameError,
    decode,
    encode,
    pack,
    read_frame,
    unpack,
)

Point = namedtuple("Point", "x y")


def through(value: Any) -> Any:
    return unpack(decode(encode({"value": pack(value, repr)})[4:])["value"])


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -(2**64), 1.5, "", 'naïve 🎈 \x00 " \\', [], {}),
        [1, [2, (3, {4}, frozenset({5}))]],
        {"a": 1, "b": {"c": ()}},
        {1: "a", (2, 3): "b", None: "c", 1.5: {b"x": set()}},
        {"$tuple": [1], "$": {"$set": 2}},
        (b"", bytes(range(256))),
        [
            date(2026, 2, 28),
            datetime.fromisoformat("2026-01-02"),
            datetime(2026, 2, 28, 1, 2, 3, 4, tzinfo=UTC),
        ],
        [math.inf, -math.inf],
    ],
)
def test_a_plain_value_comes_back_as_it_was(value: Any) -> None:
    assert repr(through(value)) == repr(value)
    assert through(value) == value


def test_what_is_nearly_plain_comes_back_plain() -> None:
    assert through(Counter("aab")) == {"a": 2, "b": 1}
    assert through(Point(x=1, y=2)) == (1, 2)
    assert through(bytearray(b"x")) == b"x"
    assert math.isnan(through(math.nan))
    assert through({object: 1}) == {"<class 'object'>": 1}
    assert through("\ud800 half") == "? half"


@pytest.mark.parametrize(
    "value",
    [
        {"$tuple": 1},
        {"$tuple": {"a": 1}},
        {"$set": [[1]]},
        {"$dict": [1]},
        {"$dict": [[1, 2, 3]]},
        {"$bytes": "!"},
        {"$bytes": [1]},
        {"$date": "yesterday"},
        {"$datetime": 5},
        {"$float": "x"},
        {"$code": "x"},
        {"$set": [number * (2**61 - 1) for number in range(1, ALIKE + 3)]},
    ],
)
def test_a_value_that_nobody_packed_is_refused(value: Any) -> None:
    with pytest.raises(FrameError):
        unpack({"deep": [value]})


async def read(body: bytes) -> dict[str, Any]:
    reader = asyncio.StreamReader()
    reader.feed_data(len(body).to_bytes(4, "big") + body)
    reader.feed_eof()
    return await read_frame(reader)


async def test_a_frame_of_many_values_is_refused_and_one_with_many_commas_in_a_text_is_not() -> None:
    with pytest.raises(FrameError, match="too many values"):
        await read(b'{"a": [' + b"[]," * PARTS + b"1]}")
    with pytest.raises(FrameError, match="too many values"):
        await read(b'{"a": [' + b'"",' * PARTS + b"1]}")
    text = 'a, "b", [c]\\' * 1_000_000
    assert (await read(encode({"text": text})[4:]))["text"] == text


async def test_a_frame_that_is_cut_or_too_large_is_refused() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data((LIMIT + 1).to_bytes(4, "big"))
    with pytest.raises(FrameError, match="are allowed"):
        await read_frame(reader)
    reader.feed_data(b"\0\0\0\x05{}")
    reader.feed_eof()
    with pytest.raises(EOFError):
        await read_frame(reader)
    with pytest.raises(FrameError, match="too many for one message"):
        encode({"text": "x" * LIMIT}, LIMIT)
