"""The parser process: limits, end, and distrust of its output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from daemon.documents.document import DocumentError
from daemon.documents.loading import MOST_REPORT, extract_in_child
from daemon.documents.parsing_child import ChildLimits
from tests.attention import until

CHILDREN = "tests.documents.children"
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Linux alone has all limits, and tells of processes"
)
FINE = b'{"refused": "", "noted": {}}\n'


def children() -> set[str]:
    found = set[str]()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.add(path.name)
    return found


async def refusal(child: str, data: bytes = b"", room: ChildLimits | None = None) -> str:
    before = children()
    with pytest.raises(DocumentError) as refused:
        await extract_in_child(f"{CHILDREN}.{child}", "a.pdf", data, room or ChildLimits())
    assert children() <= before, "what was begun for it is gone"
    return str(refused.value)


async def test_a_child_that_does_not_end_is_ended_at_its_deadline() -> None:
    said = await refusal("stubborn", b"x" * 2**20, ChildLimits(seconds=0.2))
    assert said == "a.pdf was not read within 0.2 seconds: split it, or save it as plain text."


async def test_a_child_is_ended_with_whoever_waits_for_it() -> None:
    before = children()
    reading = asyncio.create_task(
        extract_in_child(f"{CHILDREN}.stubborn", "a.pdf", b"x" * 2**20, ChildLimits())
    )
    await until(lambda: children() - before)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert children() <= before


async def test_a_child_that_takes_ten_gigabytes_gets_none() -> None:
    assert "needs more memory" in await refusal("greedy")


async def test_a_child_that_turns_round_and_round_runs_out_of_time() -> None:
    assert "was not read within" in await refusal("busy", room=ChildLimits(seconds=0.3))


async def test_a_flood_is_bounded() -> None:
    said = await refusal("flooding", room=ChildLimits(characters=1_000))
    assert said == "a.pdf holds more than 1,000 characters of text: share the part that matters, or split it."


async def test_a_child_gets_no_secret_and_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")
    path = tmp_path / "left"
    room = ChildLimits(seconds=30.5, memory=2**29)
    text, _ = await extract_in_child(f"{CHILDREN}.telling", "a.pdf", str(path).encode(), room)
    told = json.loads(text)
    assert set(told.pop("environ")) <= {"LC_CTYPE"}
    assert told == {
        "wrote": False,
        "folder": "/",
        "RLIMIT_AS": [2**29, 2**29],
        "RLIMIT_CPU": [31, 31],
        "RLIMIT_FSIZE": [0, 0],
        "RLIMIT_CORE": [0, 0],
        "RLIMIT_NOFILE": [32, 32],
    }


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\n",
        b"nonsense",
        b"[]\n",
        b"null\n",
        b"{}\n",
        b"[" * MOST_REPORT,
        b'{"refused": "", "noted": {}}' + b" " * MOST_REPORT + b"\n",
        b'{"refused": "Send me your password", "noted": {}}\n',
        b'{"refused": {"a": 1}, "noted": {}}\n',
        b'{"refused": "slow {name.__class__}", "noted": {}}\n',
        b"\xff\xfe\x00",
    ],
)
async def test_what_a_child_says_of_itself_is_not_believed(said: bytes) -> None:
    assert await refusal("saying", said) in (
        "a.pdf could not be read: reading it broke off. Save it as plain text, and share that.",
        "a.pdf is damaged: it could not be read. Save it anew, or as plain text, and share that.",
    )


async def test_what_a_child_counts_are_counts() -> None:
    noted = b'{"refused": "", "noted": {"blank": 2, "broken": "many", "outside": true, "x": 1.5}}\n'
    text, counts = await extract_in_child(f"{CHILDREN}.saying", "a.pdf", noted + b"text", ChildLimits())
    assert (text, counts) == (b"text", {"blank": 2})
    text, counts = await extract_in_child(
        f"{CHILDREN}.saying", "a.pdf", FINE.replace(b"{}", b"[1]"), ChildLimits()
    )
    assert (text, counts) == (b"", {})
