"""The child that parses: confined before it reads from the file, it answers with a line of JSON and text.

All but the values runs in that child. The line is a `Report`; the text is UTF-8, a form feed between pages.
"""

from __future__ import annotations

import json
import math
import resource
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field

PAGE = "\f"


FILES = 32
"""Descriptors that a child may have: a late import needs a few."""


class FileUnreadable(Exception):
    """The file cannot be read; the text is a key of daemon/documents/unreadable.py."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """What a child may take: seconds of a processor, bytes of memory; and how much of a file it may unpack.

    `characters` bound the text that comes of it, `pages` the pages, and `unpacked` the bytes of all files
    that are packed in it.
    """

    seconds: float = 60.0
    memory: int = 2**30
    characters: int = 50_000_000
    pages: int = 20_000
    unpacked: int = 300 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildReport:
    """What came of it: a key of what is `refused`, else what there is to note, as counts by their keys."""

    refused: str = ""
    noted: Mapping[str, int] = field(default_factory=dict)


Extract = Callable[[bytes, ChildLimits], tuple[str, Mapping[str, int]]]
"""The text of a file, with what there is to note. Raises Refused, MemoryError or RecursionError."""


def run_child(extract: Extract) -> None:
    """Read a file from stdin, and write what it holds to stdout; the room is the last argument, as JSON."""
    room = ChildLimits(**json.loads(sys.argv[-1]))
    confine_child(room)
    body = b""
    try:
        text, noted = extract(sys.stdin.buffer.read(), room)
        body = text.encode("utf-8", errors="replace")
        report = ChildReport(noted=noted)
    except FileUnreadable as refused:
        report = ChildReport(refused=str(refused))
    except MemoryError:
        report = ChildReport(refused="memory")
    except RecursionError:
        report = ChildReport(refused="nested")
    sys.stdout.buffer.write(json.dumps(asdict(report)).encode() + b"\n" + body)
    sys.stdout.buffer.flush()


def confine_child(room: ChildLimits) -> None:
    """Take no more than this from now on: no file written, no core left, where the system knows the limit."""
    seconds = math.ceil(room.seconds)
    for limit, most in (
        (resource.RLIMIT_AS, room.memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        with suppress(ValueError, OSError):  # macOS does not bound the address space
            resource.setrlimit(limit, (most, most))
