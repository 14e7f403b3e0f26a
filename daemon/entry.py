"""Entries: the lines of the journal, and which of them open a debt.

Everybody speaks in these; nothing here does I/O. Terms as in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

OPENERS = frozenset({"perception", "turn-began", "speech", "action", "watch", "asked"})
"""Kinds that open a debt. A later entry that names their seq in `closes` pays it."""

Rank = Literal["stop", "answer", "message", "resume", "after"]
"""In what order a thread turns to what waits for it; see "Taking" in docs/ARCHITECTURE.md."""

LEASES = frozenset({"turn-began", "turn-resumed"})
"""Kinds that begin an attempt at a thread; every append of that attempt is fenced by their seq."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the journal. Never updated, never deleted.

    `key` is unique; `cause` is the one entry without which this one would not exist; `closes` are
    the seqs of the debts that it pays; `at` is Unix seconds.
    """

    seq: int
    thread: str
    kind: str
    author: str
    body: Mapping[str, Any]
    key: str
    cause: int | None
    closes: tuple[int, ...]
    at: float


def rank(perception: Entry) -> Rank:
    """What kind of claim a perception has on its thread's next turn; what no Rank names, nothing can take."""
    return cast(Rank, str(perception.body.get("rank", "message")))


def who(perception: Entry) -> str:
    """The id of whom it is from: of a reminder, whoever it was set for."""
    return str(perception.body.get("user") or perception.author)


def digest(value: object) -> str:
    """Sixteen hex digits that stand for a JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
