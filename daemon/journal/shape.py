"""How an entry looks that can be relied on: its columns, and the fields that each kind must have.

Asked by verify.py of every entry, and by reading.py where a damaged one would be shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from daemon.entry import Entry

NUMBER = (int, float)
NO_DATE = 253_402_300_800
"""The first second after the year 9999."""
SHAPES: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "thread": {"team": str, "channel": str, "ts": str},
    "audience": {"team": str, "channel": str, "audience": str},
    "turn-began": {"took": list, "path": str, "process": str, "code": str, "texts": dict},
    "turn-resumed": {"attempt": int},
    "turn-ended": {"outcome": str, "keep": list},
    "model-call": {
        **{"name": str, "model": str, "outcome": str, "failure": str, "text": str, "saw": str},
        **{"cost": NUMBER, "seconds": NUMBER, "usage": dict},
        **{"seqs": list, "texts": list, "wording": dict},
    },
    "usage": {"input": int, "cache_read": int, "cache_write": int, "output": int},
    "speech-started": {"ts": str},
    "spoken": {"ts": str, "text": str},
    "watch": {"due": NUMBER},
    "status-cleared": {"upto": int},
    "look": {"seqs": list},
    "asked": {"text": str, "to": list, "choices": list, "body": str},
    "answered": {"value": str, "by": str, "text": str, "meanwhile": list},
    "text": {"name": str, "text": str},
    "action": {"name": str},
    "observation": {"name": str, "text": str},
    "person": {"person": str, "name": str, "text": str, "since": int},
    "context-cleared": {"text": str, "last": int},
}
SEQS = ("took", "keep", "carries", "seqs", "meanwhile", "said")
"""Fields that list entries."""


def strays(entry: Entry) -> Iterator[str]:
    """The columns, but the body, that are not what they should be: SQLite keeps anything anywhere."""
    for name in ("thread", "kind", "author", "key"):
        if not getattr(entry, name) or not isinstance(getattr(entry, name), str):
            yield name
    if not isinstance(entry.cause, int | None):
        yield "cause"
    if not _seqs(entry.closes):
        yield "closes"
    if not _dated(entry.at):
        yield "at"


def misfits(kind: str, body: Any) -> Iterator[str]:
    """The fields that are not there, or are not what they should be; `body` where it is no object."""
    if not isinstance(body, dict):
        yield "body"
        return
    for name, wanted in SHAPES.get(kind, {}).items():
        if not isinstance(body.get(name), wanted):
            yield name
    yield from (name for name in SEQS if not _seqs(body.get(name, ())))
    if kind == "watch" and not _dated(body.get("due")):
        yield "due"
    if kind == "model-call":
        yield from misfits("usage", body.get("usage"))


def _seqs(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(type(seq) is int for seq in value)


def _dated(value: Any) -> bool:
    return isinstance(value, NUMBER) and 0 <= value < NO_DATE
