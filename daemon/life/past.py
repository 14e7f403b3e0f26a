"""What a thread's ended turns left behind, as of one seq: what is kept, heard and felt, and the process.

A projection; a turn reads it as of its body's first begin, and sees the same after any crash.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.entry import Entry
from daemon.journal.journal import Journal
from daemon.memory import Memory
from daemon.mind.recall import recall

MOST = 20_000
"""How many memories of busy threads stay at hand, about a kilobyte each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A thread's past, before seq `before`. `process` and `mood` are None where nothing has set them yet.

    An unfinished turn is in nobody's memory; what was heard is taken by the first turn that keeps anything.
    """

    before: int = 0
    kept: tuple[Memory, ...] = ()
    heard: tuple[Entry, ...] = ()
    process: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    mood: str | None = None

    @property
    def size(self) -> int:
        """How much there is to keep at hand."""
        return len(self.kept) + len(self.heard) + bool(self.before)


NOTHING = Past()


class Pasts:
    """The pasts of all threads. Those that were read last are at hand, and only folded on from there.

    They cannot be stale: what comes before a seq never changes, whoever wrote it.
    """

    def __init__(self, journal: Journal, most: int = MOST) -> None:
        self._journal = journal
        self._most = most
        self._known: OrderedDict[str, Past] = OrderedDict()
        self._size = 0

    def of(self, thread: str, before: int) -> Past:
        """The past of a thread as it was when the entry `before` was written."""
        known = self._known.pop(thread, NOTHING)
        self._size -= known.size
        past = self._folded(thread, known if known.before <= before else NOTHING, before)
        self._known[thread] = past
        self._size += past.size
        while self._size > self._most:
            self._size -= self._known.popitem(last=False)[1].size
        return past

    def _folded(self, thread: str, past: Past, before: int) -> Past:
        """That past, and what came since."""
        kinds = ("turn-ended", "heard", "mood", "context-cleared")
        new = self._journal.of(thread, *kinds, since=past.before - 1)
        new = [entry for entry in new if entry.seq < before]
        ended = [entry for entry in new if entry.kind == "turn-ended"]
        keeping = [e for e in ended if e.body["keep"]]
        heard = [*past.heard, *(entry for entry in new if entry.kind == "heard")]
        if keeping:
            heard = self._left(thread, keeping[-1], heard)
        last: Mapping[str, Any] = (
            ended[-1].body if ended else {"process": past.process, "params": past.params}
        )
        moods = [str(entry.body["mood"]) for entry in new if entry.kind == "mood"]
        return Past(
            before=before,
            kept=self._kept(past, new),
            heard=tuple(heard),
            process=last["process"],
            params=last["params"],
            mood=moods[-1] if moods else past.mood,
        )

    def _left(self, thread: str, ended: Entry, heard: Sequence[Entry]) -> list[Entry]:
        """What was heard and is still to be taken after this turn, which took what was there as it began, and
        what its body fetched."""
        fetches = [e for e in self._journal.of(thread, "overheard") if e.seq < ended.seq]
        fetched = {seq for entry in fetches for seq in entry.body.get("seqs", ())}
        since = ended.cause or 0
        return [entry for entry in heard if entry.seq > since and entry.seq not in fetched]

    def _kept(self, past: Past, new: Sequence[Entry]) -> tuple[Memory, ...]:
        """What is kept by now, in the order of the turns; a summary stands for all up to its `last`."""
        seqs = [memory.seq for memory in past.kept if memory.seq is not None]
        for entry in new:
            if entry.kind == "turn-ended":
                seqs += entry.body["keep"]
            elif entry.kind == "context-cleared" and entry.body["last"] in seqs:
                seqs = [entry.seq, *seqs[seqs.index(entry.body["last"]) + 1 :]]
        known = {memory.seq: memory for memory in past.kept}
        fresh = recall(self._journal.many([seq for seq in seqs if seq not in known]))
        known |= {memory.seq: memory for memory in fresh}
        return tuple(known[seq] for seq in seqs)
