"""What a thread's ended turns left behind, as of one seq: what is kept, heard and felt, and the process.

A projection; a turn reads it as of its execution's first begin, and sees the same after any crash.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.engine.event import Entry, of_kind
from daemon.engine.journal import Journal
from daemon.engine.kinds import InputsReceived
from daemon.kinds import (
    ContextCleared,
    DmContextImported,
    EarlierMessagesFetched,
    MoodChanged,
    OverheardMessage,
    SoulTurnEnded,
)
from daemon.memory import Memory
from daemon.soul.dms import DmHistories
from daemon.soul.edits import edit_ts, edits_among
from daemon.soul.tag_suffix import TagSuffixHistory

MOST_CACHED_MEMORIES = 20_000
"""How many memories of busy threads stay at hand, about a kilobyte each."""
PIECE = 100
"""Entries that are read at once: a few milliseconds, in which nobody else can do anything."""
PARTS = (SoulTurnEnded, OverheardMessage, MoodChanged, ContextCleared, DmContextImported)
"""What a past is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadHistory:
    """A thread's past, before seq `before`. `process` and `mood` are None where nothing has set them yet;
    the process is empty where its parameters are forgotten.

    An unfinished turn is in nobody's memory; what was heard is taken by the first turn that keeps anything.
    """

    before: int = 0
    memories: Mapping[int, Memory] = field(default_factory=dict)
    """All that is kept, in order, by the seqs of the entries."""
    kept: Sequence[Memory] = ()
    """The same, as it is in sight: what was forgotten together is one memory, where it was first."""
    seen: Set[int | None] = frozenset()
    """The seqs of both."""
    overheard: tuple[Entry[OverheardMessage], ...] = ()
    process: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    mood: str | None = None
    suffix: str = ""
    """The suffix of the tags in these memories."""
    carried: int = 0
    """Up to before which entry it knows what was said in other conversations of its DM; 0: nothing of it."""

    @property
    def size(self) -> int:
        """How much there is to keep at hand."""
        return len(self.memories) + len(self.overheard) + bool(self.before)


NO_HISTORY = ThreadHistory()


class ThreadHistories:
    """The pasts of all threads. Those that were read last are at hand, and only folded on from there.

    They cannot be stale: what comes before a seq never changes, whoever wrote it, unless words are forgotten.
    """

    def __init__(self, journal: Journal, most: int = MOST_CACHED_MEMORIES) -> None:
        self._journal = journal
        self.suffix = TagSuffixHistory(journal)
        self._most = most
        self._known: OrderedDict[str, ThreadHistory] = OrderedDict()
        self._size = 0
        self._erasures = 0
        self.dms = DmHistories(journal)
        """What was said in DMs, whichever of their conversations it was said in."""

    async def preload(self, thread: str, before: int) -> None:
        """Fold a past that is not at hand, in pieces: others go on meanwhile. Then `of` has it soon."""
        await self.dms.preload(thread)
        if self._at_hand(thread, before) is NO_HISTORY:
            for _ in self._pieces(thread, before):
                await asyncio.sleep(0)

    def history_of(self, thread: str, before: int) -> ThreadHistory:
        """The past of a thread as it was when the entry `before` was written."""
        pieces = self._pieces(thread, before)
        try:
            while True:
                next(pieces)
        except StopIteration as folded:
            past: ThreadHistory = folded.value
        return past

    def _pieces(self, thread: str, before: int) -> Generator[None, None, ThreadHistory]:
        """Fold a past, and keep it at hand; between two pieces of that others may go on."""
        erasures, past = -1, NO_HISTORY
        while erasures != self._journal.erasures:  # else it may hold what was forgotten meanwhile
            erasures = self._journal.erasures
            past = yield from self._folded(thread, self._at_hand(thread, before), before)
        self._keep(thread, past)
        return past

    def _at_hand(self, thread: str, before: int) -> ThreadHistory:
        """What can be folded on from."""
        if self._journal.erasures != self._erasures:
            self._erasures = self._journal.erasures
            self._known.clear()
            self._size = 0
        known = self._known.get(thread, NO_HISTORY)
        if known.before > before:
            return NO_HISTORY
        return known

    def _keep(self, thread: str, past: ThreadHistory) -> None:
        self._size += past.size - self._known.pop(thread, NO_HISTORY).size
        self._known[thread] = past
        while self._size > self._most:
            _, forgotten = self._known.popitem(last=False)
            self._size -= forgotten.size

    def _folded(self, thread: str, past: ThreadHistory, before: int) -> Generator[None, None, ThreadHistory]:
        """That past, and what came since."""
        seqs, heard = [*past.memories], [*past.overheard]
        keeping, unchanged = None, True
        for new in self._new(thread, past.before - 1, before):
            unchanged = unchanged and not new
            seqs = _kept(seqs, new)
            heard += [entry for entry in of_kind(OverheardMessage, new) if not entry.forgotten]
            for ended in of_kind(SoulTurnEnded, new):
                if ended.event.keep:
                    keeping = ended
            past = _moved_on(past, new)
            if len(new) == PIECE:
                yield
        suffix = self.suffix.suffix_at(before)
        if unchanged and suffix == past.suffix:
            return replace(past, before=before)
        if keeping:
            heard = self._left(thread, keeping, heard)
        memories = yield from self._remembered(past, seqs, suffix)
        in_sight = {memory.seq: memory for memory in memories.values()}
        return replace(
            past,
            before=before,
            suffix=suffix,
            memories=memories,
            kept=tuple(in_sight.values()),
            seen=memories.keys() | in_sight.keys(),
            overheard=tuple(heard),
        )

    def _remembered(
        self, past: ThreadHistory, seqs: Sequence[int], suffix: str
    ) -> Generator[None, None, Mapping[int, Memory]]:
        """How these entries look to the model, in their order; those of the past are not read again."""
        known = dict[int, Memory]()
        if suffix == past.suffix:
            known.update(past.memories)
        unknown = [seq for seq in seqs if seq not in known]
        for start in range(0, len(unknown), PIECE):
            if start:
                yield
            some = unknown[start : start + PIECE]
            known.update(zip(some, self.dms.memories_of(some, suffix), strict=True))
        return {seq: known[seq] for seq in seqs}

    def _new(self, thread: str, since: int, before: int) -> Iterator[list[Entry[Any]]]:
        """What a past is made of, from a seq up to before another one, piece by piece."""
        while since + 1 < before:
            found = self._journal.thread_entries(thread, *PARTS, since=since, most=PIECE)
            new = [entry for entry in found if entry.seq < before]
            yield new
            if len(new) < PIECE:
                return
            since = new[-1].seq

    def _left(
        self, thread: str, ended: Entry[SoulTurnEnded], heard: Sequence[Entry[OverheardMessage]]
    ) -> list[Entry[OverheardMessage]]:
        """What was heard and is still to be taken after this turn, which took what was there as it began, and
        what its execution fetched."""
        fetched = set[int]()
        for fetch in self._journal.thread_entries(thread, EarlierMessagesFetched):
            if fetch.seq < ended.seq:
                fetched.update(fetch.event.seqs)
        since = ended.cause or 0
        left = [entry for entry in heard if entry.seq > since and entry.seq not in fetched]
        if not any(map(edit_ts, left)):
            return left
        taken = edits_among(self._journal.thread_entries(thread, InputsReceived, since=since))
        return [entry for entry in left if entry.seq not in taken]


def _moved_on(past: ThreadHistory, new: Sequence[Entry[Any]]) -> ThreadHistory:
    """The same where the thread is after these, and with how the soul felt then."""
    for entry in new:
        event = entry.event
        if isinstance(event, SoulTurnEnded) and event.process is not None:
            past = replace(past, process=event.process, params=event.params)
        elif isinstance(event, MoodChanged):
            past = replace(past, mood=event.mood)
        elif isinstance(event, DmContextImported):
            past = replace(past, carried=event.before)
    return past


def _kept(seqs: Sequence[int], new: Sequence[Entry[Any]]) -> list[int]:
    """What is kept by now, each once, in the order of the turns; a summary stands for all up to its `last`.

    What was carried over from elsewhere stands where the turn that was the first to see it began.
    """
    kept = dict.fromkeys(seqs)
    for entry in new:
        if isinstance(entry.event, SoulTurnEnded):
            kept.update(dict.fromkeys(entry.event.keep))
        elif isinstance(entry.event, DmContextImported):
            kept.update(dict.fromkeys(entry.event.seqs))
        elif isinstance(entry.event, ContextCleared) and not entry.event.seqs and entry.event.last in kept:
            in_order = [*kept]
            summed_up = in_order.index(entry.event.last) + 1
            kept = dict.fromkeys([entry.seq, *in_order[summed_up:]])
    return [*kept]
