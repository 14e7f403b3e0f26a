"""What a thread's ended turns left behind, as of one seq: what is kept, heard and felt, and the process.

A projection; a turn reads it as of its body's first begin, and sees the same after any crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.entry import Entry
from daemon.journal.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A thread's past. `process` and `mood` are None where nothing has set them yet."""

    kept: Sequence[Entry]
    heard: Sequence[Entry]
    process: str | None
    params: Mapping[str, Any]
    mood: str | None


def past(journal: Journal, thread: str, before: int) -> Past:
    """The past of a thread as it was when the entry `before` was written.

    An unfinished turn is in nobody's memory; what was heard is taken by the first turn that keeps anything.
    """
    ended = [e for e in journal.of(thread, "turn-ended") if e.seq < before]
    keeping = [e for e in ended if e.body["keep"]]
    since = keeping[-1].cause if keeping else None
    heard = [e for e in journal.of(thread, "heard", since=since or 0) if e.seq < before]
    last = ended[-1].body if ended else {}
    mood = journal.latest(thread, "mood", before=before)
    return Past(
        kept=journal.many([seq for e in keeping for seq in e.body["keep"]]),
        heard=heard,
        process=last.get("process"),
        params=last.get("params", {}),
        mood=str(mood.body["mood"]) if mood else None,
    )
