"""Hands a file to a confined child, and takes back its text: nothing of the file is parsed in the daemon.

What comes back is not trusted: it is bounded as it is read, and no word of it becomes a sentence of ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import daemon
from daemon.documents.confined import ChildLimits
from daemon.documents.document import DocumentError
from daemon.documents.unreadable import REFUSED

PROJECT = Path(daemon.__file__).parent.parent
CHUNK = 2**16
MOST_REPORT = 4_096
"""Bytes of a child's report."""
START = (
    "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_module(sys.argv[2], run_name='__main__')"
)


async def extract_in_child(
    child: str, name: str, data: bytes, room: ChildLimits
) -> tuple[bytes, Mapping[str, int]]:
    """The text that this child (a module's name) finds in a file, and what it notes. Raises DocumentError.

    The child has no environment, and is gone when this returns, also when it is cancelled.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-B", "-X", "utf8", "-c", START, str(PROJECT), child),
        json.dumps(asdict(room)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
        env={},
    )
    most = MOST_REPORT + 4 * room.characters
    try:
        async with asyncio.timeout(room.seconds), asyncio.TaskGroup() as group:
            group.create_task(feed_child(process, data))
            taking = group.create_task(read_child_output(process, most))
    except TimeoutError:
        raise DocumentError(REFUSED["slow"].format(name=name, seconds=room.seconds)) from None
    finally:
        await end_child(process)
    return parse_child_output(name, taking.result(), most, room)


async def feed_child(process: asyncio.subprocess.Process, data: bytes) -> None:
    """Give it the file; one that has seen enough need not take it all."""
    assert process.stdin
    with suppress(ConnectionError):
        for at in range(0, len(data), CHUNK):
            process.stdin.write(data[at : at + CHUNK])
            await process.stdin.drain()
    process.stdin.close()


async def read_child_output(process: asyncio.subprocess.Process, most: int) -> bytes:
    """All that it writes, if that is not more than so many bytes; else some more than that."""
    assert process.stdout
    taken = bytearray()
    while len(taken) <= most:
        chunk = await process.stdout.read(CHUNK)
        if not chunk:
            break
        taken += chunk
    return bytes(taken)


async def end_child(process: asyncio.subprocess.Process) -> None:
    """Make sure that it is gone, and nothing of it is left."""
    with suppress(ProcessLookupError):
        process.kill()
    assert process.stdout
    while await process.stdout.read(CHUNK):
        pass
    await process.wait()


def parse_child_output(
    name: str, taken: bytes, most: int, room: ChildLimits
) -> tuple[bytes, Mapping[str, int]]:
    """The text and the notes of what a child wrote. Raises DocumentError."""
    head, ended, _ = taken[:MOST_REPORT].partition(b"\n")
    if not ended:
        head = b""  # it broke off
    try:
        report = json.loads(head)
        refused, noted = report["refused"], report["noted"]
    except (ValueError, LookupError, TypeError, RecursionError):
        refused, noted = "died", {}
    if len(taken) > most:
        refused = "long"
    if refused != "":
        sentence = REFUSED.get(str(refused), REFUSED["damaged"])
        raise DocumentError(sentence.format(name=name, **asdict(room)))
    if not isinstance(noted, dict):
        noted = {}
    counts = {key: count for key, count in noted.items() if type(count) is int and count > 0}
    return taken[len(head) + 1 :], counts
