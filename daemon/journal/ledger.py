"""What a replay knows after each entry, a few bytes for each: who was there, what is owed, who is at work.

Filled by verify.py, asked by its rules.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from daemon.entry import LEASES, OPENERS, Entry


@dataclass(slots=True, kw_only=True)
class Half:
    """A turn that has begun and not ended."""

    began: int
    path: str
    took: list[int]
    attempt: int = 1


class Ledger:
    """A journal up to one entry."""

    def __init__(self) -> None:
        self.owed: defaultdict[str, dict[int, str]] = defaultdict(dict)
        """Thread to its open debts: seq to kind."""
        self.lease: dict[str, int] = {}
        self.halves: dict[str, Half] = {}
        self.places: dict[str, tuple[Any, Any]] = {}
        """Thread to its team and channel."""
        self.texts: set[str] = set()
        self.claimed: dict[tuple[object, str], int] = {}
        """A message in Slack, by its channel and ts, and the speech that it is."""
        self.last = 0
        self._seqs = array("q")
        self._names: dict[str, int] = {}
        self._kinds = array("i")
        self._threads = array("i")
        self._listed: list[str] = []

    @property
    def count(self) -> int:
        """How many entries there were."""
        return len(self._seqs)

    def kind(self, seq: int) -> str:
        """The kind of an entry that was there; empty when there was none."""
        return self._look_up(seq, self._kinds)

    def thread(self, seq: int) -> str:
        """The thread of an entry that was there; empty when there was none."""
        return self._look_up(seq, self._threads)

    def is_owed(self, seq: int) -> bool:
        """Is this debt still open?"""
        return seq in self.owed[self.thread(seq)]

    def fold(self, entry: Entry) -> None:
        """One entry more, with all that it changes."""
        self.last = entry.seq
        self._seqs.append(entry.seq)
        self._kinds.append(self._number(entry.kind))
        self._threads.append(self._number(entry.thread))
        for seq in entry.closes:
            self.owed[self.thread(seq)].pop(seq, None)
        if entry.kind in OPENERS:
            self.owed[entry.thread][entry.seq] = entry.kind
        if entry.kind in LEASES:
            self.lease[entry.thread] = entry.seq
        self._remember(entry)

    def _remember(self, entry: Entry) -> None:
        body = entry.body
        match entry.kind:
            case "thread":
                self.places[entry.thread] = (body.get("team"), body.get("channel"))
            case "text":
                self.texts.add(entry.key.removeprefix("text:"))
            case "turn-began" if body:
                self.halves[entry.thread] = Half(began=entry.seq, path=body["path"], took=body["took"])
            case "turn-resumed" if entry.thread in self.halves:
                self.halves[entry.thread].attempt += 1
            case "turn-ended":
                self.halves.pop(entry.thread, None)
            case "speech-started" | "spoken" if body and entry.cause:
                self.claimed[self.where(entry)] = entry.cause

    def where(self, entry: Entry) -> tuple[object, str]:
        """The message in Slack that an entry names."""
        return self.places.get(entry.thread, entry.thread), entry.body["ts"]

    def _look_up(self, seq: int, column: array[int]) -> str:
        at = bisect_left(self._seqs, seq)
        found = at < len(self._seqs) and self._seqs[at] == seq
        return self._listed[column[at]] if found else ""

    def _number(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = len(self._listed)
            self._listed.append(name)
        return self._names[name]
