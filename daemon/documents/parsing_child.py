"""Child process that parses one file.

The child confines itself before it reads, then writes a `ChildReport` as a JSON line, and the text in UTF-8.
Form feeds separate pages.
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
"""Most file descriptors of a child: late imports need some."""


class FileUnreadable(Exception):
    """Refusal of a file; the text is a key of the sentences for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """Limits of a child: seconds, bytes of memory, characters and pages of the result.

    `unpacked`: most bytes of all unpacked zip parts together.
    """

    seconds: float = 60.0
    memory: int = 2**30
    characters: int = 50_000_000
    pages: int = 20_000
    unpacked: int = 300 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildReport:
    """Result of a child: a refusal's key in `refused`, or counts of unread content in `noted`."""

    refused: str = ""
    noted: Mapping[str, int] = field(default_factory=dict)


Extract = Callable[[bytes, ChildLimits], tuple[str, Mapping[str, int]]]
"""Function from a file to text and counts. Raises FileUnreadable, MemoryError or RecursionError."""


def run_child(extract: Extract) -> None:
    """Extract text from stdin to stdout; the last command-line argument holds the limits as JSON."""
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
    """Limit this process, and forbid writing files, core dumps and subprocesses, where supported."""
    seconds = math.ceil(room.seconds)
    for limit, most in (
        (resource.RLIMIT_AS, room.memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        with suppress(ValueError, OSError):  # macOS cannot limit the address space
            resource.setrlimit(limit, (most, most))
