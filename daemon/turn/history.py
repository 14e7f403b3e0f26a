"""Histories of threads, DMs and trains of thought, as left by ended turns.

A turn reads them as of its execution's first begin, so that a restart changes nothing. The history of a DM
joins its conversations and grows only at its end. A train of thought is a row of executions of open thought.
"""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any

from daemon.engine.event import Entry, of_kind
from daemon.engine.journal.journal import Journal, PartialProjection
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import InputsReceived
from daemon.kinds import (
    ContextCleared,
    ConversationOpened,
    DmContextImported,
    EarlierMessagesFetched,
    IncomingMessage,
    ModelCall,
    MoodChanged,
    OverheardMessage,
    PlanChanged,
    QuestionAnswered,
    ReminderFired,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
    thread_key,
)
from daemon.knowledge.visibility import ChannelId
from daemon.memory import Memory
from daemon.turn.input_policy import DELIBERATION_PROCESS, edit_ts, edits_among
from daemon.turn.prompt_files import TagSuffixHistory
from daemon.turn.recall import entry_as_memory, is_spoken, recall_kept

MOST_DM_CHARACTERS = 32_000
"""Most characters of DM history at a conversation's begin, about 8,000 tokens; a longer last exchange stays
whole.
"""


MOST_SUMMARIZED_CHARACTERS = 80_000
"""Most characters that a summary covers; older ones are left out."""


BLOCK_CHARACTERS = 8_000
"""Characters dropped together, so that a long history's beginning changes rarely."""


MOST_DM_MEMORIES = 400
"""Most memories considered since the last summary; the oldest are dropped, half this number at once."""


MOST_CACHED_DM_MEMORIES = 20_000
"""Most memories of DMs that are cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DmTurn:
    """A turn that ended with the entry `seq`; the DM keeps `seqs[first:upto]` of it.

    From turn number `alone` to this one, all turns were in the same thread.
    """

    seq: int
    thread: str
    first: int
    upto: int
    alone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DmSummary:
    """A summary with the entry `seq`, for `seqs[:upto]` and the turns up to `turn`."""

    seq: int
    upto: int
    turn: int


NO_SUMMARY = DmSummary(seq=0, upto=0, turn=0)


@dataclass(slots=True, kw_only=True, eq=False)
class DmHistory:
    """Seqs that the turns of one DM kept, in order; `places` are their indexes in `seqs`."""

    threads: set[str] = field(default_factory=set)
    turns: list[DmTurn] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    summaries: list[DmSummary] = field(default_factory=list)
    moods: list[tuple[int, str]] = field(default_factory=list)

    def count_turns_before(self, before: int) -> int:
        return bisect_left(self.turns, before, key=attrgetter("seq"))

    def end_turn(self, seq: int, thread: str, keep: Sequence[int]) -> None:
        first = len(self.seqs)
        for kept in keep:
            if kept not in self.places:
                self.places[kept] = len(self.seqs)
                self.seqs.append(kept)
        alone = len(self.turns)
        if self.turns and self.turns[-1].thread == thread:
            alone = self.turns[-1].alone
        self.turns.append(DmTurn(seq=seq, thread=thread, first=first, upto=len(self.seqs), alone=alone))

    def add_summary(self, seq: int, last: int) -> None:
        if last in self.places:
            upto = self.places[last] + 1
            turn = bisect_left(self.turns, upto, key=attrgetter("upto"))
            self.summaries.append(DmSummary(seq=seq, upto=upto, turn=turn))

    def last_summary(self, before: int) -> DmSummary:
        """Return the last summary before an entry, or `NO_SUMMARY`."""
        for one in reversed(self.summaries):
            if one.seq < before:
                return one
        return NO_SUMMARY


class DmHistories(PartialProjection):
    """Histories of the DMs that turns asked for. They hold seqs; the texts stay in the journal."""

    kinds = (ConversationOpened, SoulTurnEnded, ContextCleared, MoodChanged)

    async def preload(self, thread: str) -> None:
        """Read the DM of a thread unless cached; a long journal is read outside of the event loop."""
        self.fold()
        channel = self._channel(thread)
        if channel and channel not in self._dms:
            self._keep(channel, await self._read_in_thread(DmHistory, partial(_read_on, channel)))

    def mood(self, thread: str, before: int) -> str:
        """Return the DM's last mood before an entry; empty if unknown."""
        for seq, mood in reversed(self._of_thread(thread).moods):
            if seq < before:
                return mood
        return ""

    def are_same_dm(self, thread: str, other: str) -> bool:
        self.fold()
        channel = self._channel(thread)
        return channel is not None and channel == self._channel(other)

    def to_summarize(self, thread: str, before: int) -> list[Memory]:
        """Return the DM's last summary and all memories since.

        Empty if all belong to one conversation, which has its own summary.
        """
        dm = self._of_thread(thread)
        ended = dm.count_turns_before(before)
        if ended == 0:
            return []
        if dm.turns[ended - 1].alone <= dm.last_summary(before).turn:
            return []
        summed_up, said = self._since_summary(dm, before)
        return [*summed_up, *said]

    def initial_context(self, thread: str, before: int) -> list[Memory]:
        """Return the last summary and the newest memories since: the begin of a conversation."""
        summed_up, said = self._since_summary(self._of_thread(thread), before)
        return [*summed_up, *newest_within(said, MOST_DM_CHARACTERS - _size(summed_up))]

    def kept_elsewhere(self, thread: str, since: int, before: int) -> list[Memory]:
        """Return memories of other conversations of the DM between two entries."""
        dm = self._of_thread(thread)
        ended = dm.count_turns_before(before)
        first = max(dm.count_turns_before(since), ended - MOST_DM_MEMORIES)
        turns = dm.turns[first:ended]
        seqs = []
        for one in turns:
            if one.thread != thread:
                seqs += dm.seqs[one.first : one.upto]
        return newest_within(self._remembered(seqs[-MOST_DM_MEMORIES:], before), MOST_DM_CHARACTERS)

    def memories_of(self, seqs: Sequence[int], suffix: str) -> list[Memory]:
        self.fold()
        known = dict[int, Memory]()
        unknown = list[int]()
        for seq in seqs:
            at_hand = self._at_hand.get((seq, suffix))
            if at_hand:
                known[seq] = at_hand
            else:
                unknown.append(seq)
        read = recall_kept(self.journal.entries_at(unknown), suffix)
        known.update(zip(unknown, read, strict=True))
        return [known[seq] for seq in seqs]

    def _since_summary(self, dm: DmHistory, before: int) -> tuple[list[Memory], list[Memory]]:
        last, ended = dm.last_summary(before), dm.count_turns_before(before)
        upto = 0
        if ended:
            upto = dm.turns[ended - 1].upto
        seqs = _newest_seqs(dm.seqs, last.upto, upto)
        said = newest_within(self._remembered(seqs, before), MOST_SUMMARIZED_CHARACTERS)
        if last is NO_SUMMARY:
            return [], said
        return self._remembered([last.seq], before), said

    def _of_thread(self, thread: str) -> DmHistory:
        self.fold()
        channel = self._channel(thread)
        if channel is None:
            return DmHistory()
        if channel not in self._dms:
            self._keep(channel, self._read(DmHistory, partial(_read_on, channel)))
        return self._dms[channel]

    def _channel(self, thread: str) -> ChannelId | None:
        if thread not in self._channels:
            for opened in self.journal.latest_first(thread, ConversationOpened):
                self._channels[thread] = _dm_channel(opened.event)
                break
        return self._channels.get(thread)

    def _keep(self, channel: ChannelId, dm: DmHistory) -> None:
        self._dms[channel] = dm
        self._dm_by_thread.update(dict.fromkeys(dm.threads, dm))

    def _remembered(self, seqs: Sequence[int], before: int) -> list[Memory]:
        suffix = self._suffix.suffix_at(before)
        new = [seq for seq in seqs if (seq, suffix) not in self._at_hand]
        read = self.journal.readable_entries(new)
        self._at_hand.update(dict.fromkeys((seq, suffix) for seq in new))
        for entry in read:
            if _was_said(entry):
                self._at_hand[entry.seq, suffix] = entry_as_memory(entry, suffix)
        found = [self._at_hand[seq, suffix] for seq in seqs]
        if len(self._at_hand) > MOST_CACHED_DM_MEMORIES:
            self._at_hand.clear()
        return [memory for memory in found if memory]

    def _reset(self) -> None:
        self._suffix = TagSuffixHistory(self.journal)
        self._at_hand = dict[tuple[int, str], Memory | None]()
        self._channels: dict[str, ChannelId | None] = {}
        self._dms: dict[ChannelId, DmHistory] = {}
        self._dm_by_thread: dict[str, DmHistory] = {}

    def _fold_entry(self, entry: Entry[Any]) -> None:
        event = entry.event
        if isinstance(event, ConversationOpened):
            channel = _dm_channel(event)
            if channel in self._dms:
                dm = self._dms[channel]
                dm.threads.add(entry.thread)
                self._dm_by_thread[entry.thread] = dm
            return
        if entry.thread not in self._dm_by_thread:
            return
        dm = self._dm_by_thread[entry.thread]
        match event:
            case SoulTurnEnded(keep=keep) if keep:
                dm.end_turn(entry.seq, entry.thread, keep)
            case ContextCleared(text=text, last=last, seqs=seqs) if text and seqs:
                dm.add_summary(entry.seq, last)
            case MoodChanged(mood=mood) if mood:
                dm.moods.append((entry.seq, mood))


def _dm_channel(opened: ConversationOpened) -> ChannelId | None:
    if opened.where != "dm":
        return None
    return ChannelId(opened.team, opened.channel)


DM_FIELDS = ("$.where", "$.keep", "$.text", "$.last", "$.seqs", "$.mood")


def _read_on(channel: ChannelId, dm: DmHistory, journal: JournalReader, since: int, upto: int) -> None:
    rows = journal.fields_opened_under(thread_key(*channel, ""), DmHistories.kinds, DM_FIELDS, since, upto)
    for seq, thread, kind, _, fields in rows:
        where, keep, text, last, seqs, mood = json.loads(fields)
        if kind == ConversationOpened.kind and where == "dm":
            dm.threads.add(thread)
        if thread not in dm.threads:
            continue
        if kind == SoulTurnEnded.kind and keep:
            dm.end_turn(seq, thread, keep)
        elif kind == ContextCleared.kind and text and seqs:
            dm.add_summary(seq, last)
        elif kind == MoodChanged.kind and mood:
            dm.moods.append((seq, mood))


def newest_within(said: Sequence[Memory], most: int) -> list[Memory]:
    """Return the newest memories of at most `most` characters, from a user's on.

    The last message of a user and all after it stay in any case.
    """
    too_much = max(_size(said) - most, 0)
    blocks = (too_much + BLOCK_CHARACTERS - 1) // BLOCK_CHARACTERS
    gone, begins = 0, len(said)
    for n, memory in enumerate(said):
        if memory.role == "user":
            begins = n
            if gone >= blocks * BLOCK_CHARACTERS:
                break
        gone += len(memory.content)
    return [*said[begins:]]


def _size(memories: Sequence[Memory]) -> int:
    return sum(len(memory.content) for memory in memories)


def _newest_seqs(seqs: Sequence[int], since: int, upto: int) -> Sequence[int]:
    half = MOST_DM_MEMORIES // 2
    halves = (max(upto - since - MOST_DM_MEMORIES, 0) + half - 1) // half
    return seqs[since + halves * half : upto]


def _was_said(entry: Entry[Any]) -> bool:
    """True if the entry was said or heard, and not a thought or a search result."""
    if entry.forgotten:
        return False
    if isinstance(entry.event, ModelCall):
        return is_spoken(entry)
    if isinstance(entry.event, QuestionAnswered):
        return bool(entry.event.text)
    return isinstance(
        entry.event, IncomingMessage | OverheardMessage | ReminderFired | SpeechFinished | ContextCleared
    )


def train_start(journal: JournalReader, thread: str, before: int) -> int:
    """Return the seq after which the train of thought before an entry began; 0 for the thread's beginning.

    Without a train, return the end of the last turn.
    """
    for ended in journal.latest_first(thread, SoulTurnEnded, before=before):
        if ended.event.process not in (None, DELIBERATION_PROCESS):
            return ended.seq
    return 0


def executions_of_train(
    journal: JournalReader, thread: str, last: Entry[SoulTurnBegan]
) -> Sequence[Entry[SoulTurnBegan]]:
    """Return the begins of a train's executions up to `last`, without side turns."""
    found: dict[str, Entry[SoulTurnBegan]] = {}
    since = train_start(journal, thread, last.seq)
    for began in journal.thread_entries(thread, SoulTurnBegan, since=since):
        if began.seq <= last.seq and began.event.apart is None:
            found.setdefault(began.event.execution, began)
    return tuple(found.values())


def plans_of_train(journal: JournalReader, thread: str, before: int) -> Sequence[PlanChanged]:
    since = train_start(journal, thread, before)
    found = journal.thread_entries(thread, PlanChanged, since=since)
    return [plan.event for plan in found if plan.seq < before]


MOST_CACHED_MEMORIES = 20_000
"""Most cached memories of threads, about a kilobyte each."""


ENTRIES_PER_PIECE = 100
"""Entries read together, which block the event loop for a few milliseconds."""


HISTORY_KINDS = (SoulTurnEnded, OverheardMessage, MoodChanged, ContextCleared, DmContextImported)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadHistory:
    """History of a thread before an entry. `process` and `mood` are None if never set.

    `process` is empty if its parameters were erased. Overheard messages are counted to the next turn that
    leaves memories behind.
    """

    before: int = 0
    memories: Mapping[int, Memory] = field(default_factory=dict)
    kept: Sequence[Memory] = ()
    """Memories as shown: entries forgotten together are one memory."""
    seen: Set[int | None] = frozenset()
    overheard: tuple[Entry[OverheardMessage], ...] = ()
    process: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    mood: str | None = None
    suffix: str = ""
    carried: int = 0
    """Seq up to which other conversations of the DM are included; 0 if none."""

    @property
    def size(self) -> int:
        return len(self.memories) + len(self.overheard) + bool(self.before)


NO_HISTORY = ThreadHistory()


class ThreadHistories:
    """Histories of all threads; recently used ones are cached.

    Only forgetting changes a thread's past.
    """

    def __init__(self, journal: Journal, most: int = MOST_CACHED_MEMORIES) -> None:
        self._journal = journal
        self.suffix = TagSuffixHistory(journal)
        self._most = most
        self._known: OrderedDict[str, ThreadHistory] = OrderedDict()
        self._size = 0
        self._erasures = 0
        self.dms = DmHistories(journal)

    async def preload(self, thread: str, before: int) -> None:
        """Read a history into the cache, in pieces between which other tasks run."""
        await self.dms.preload(thread)
        if self._at_hand(thread, before) is NO_HISTORY:
            for _ in self._pieces(thread, before):
                await asyncio.sleep(0)

    def history_of(self, thread: str, before: int) -> ThreadHistory:
        """Return the history of a thread as of entry `before`."""
        pieces = self._pieces(thread, before)
        try:
            while True:
                next(pieces)
        except StopIteration as folded:
            past: ThreadHistory = folded.value
        return past

    def _pieces(self, thread: str, before: int) -> Generator[None, None, ThreadHistory]:
        erasures, past = -1, NO_HISTORY
        while erasures != self._journal.erasures:  # entries may have been forgotten during the read
            erasures = self._journal.erasures
            past = yield from self._folded(thread, self._at_hand(thread, before), before)
        self._keep(thread, past)
        return past

    def _at_hand(self, thread: str, before: int) -> ThreadHistory:
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
        seqs, heard = [*past.memories], [*past.overheard]
        keeping, unchanged = None, True
        for new in self._new(thread, past.before - 1, before):
            unchanged = unchanged and not new
            seqs = _kept_seqs(seqs, new)
            heard += [entry for entry in of_kind(OverheardMessage, new) if not entry.forgotten]
            for ended in of_kind(SoulTurnEnded, new):
                if ended.event.keep:
                    keeping = ended
            past = _with_changes(past, new)
            if len(new) == ENTRIES_PER_PIECE:
                yield
        suffix = self.suffix.suffix_at(before)
        if unchanged and suffix == past.suffix:
            return replace(past, before=before)
        if keeping:
            heard = self._still_overheard(thread, keeping, heard)
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
        known = dict[int, Memory]()
        if suffix == past.suffix:
            known.update(past.memories)
        unknown = [seq for seq in seqs if seq not in known]
        for start in range(0, len(unknown), ENTRIES_PER_PIECE):
            if start:
                yield
            some = unknown[start : start + ENTRIES_PER_PIECE]
            known.update(zip(some, self.dms.memories_of(some, suffix), strict=True))
        return {seq: known[seq] for seq in seqs}

    def _new(self, thread: str, since: int, before: int) -> Iterator[list[Entry[Any]]]:
        while since + 1 < before:
            found = self._journal.thread_entries(thread, *HISTORY_KINDS, since=since, most=ENTRIES_PER_PIECE)
            new = [entry for entry in found if entry.seq < before]
            yield new
            if len(new) < ENTRIES_PER_PIECE:
                return
            since = new[-1].seq

    def _still_overheard(
        self, thread: str, ended: Entry[SoulTurnEnded], heard: Sequence[Entry[OverheardMessage]]
    ) -> list[Entry[OverheardMessage]]:
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


def _with_changes(past: ThreadHistory, new: Sequence[Entry[Any]]) -> ThreadHistory:
    for entry in new:
        event = entry.event
        if isinstance(event, SoulTurnEnded) and event.process is not None:
            past = replace(past, process=event.process, params=event.params)
        elif isinstance(event, MoodChanged):
            past = replace(past, mood=event.mood)
        elif isinstance(event, DmContextImported):
            past = replace(past, carried=event.before)
    return past


def _kept_seqs(seqs: Sequence[int], new: Sequence[Entry[Any]]) -> list[int]:
    """Return the seqs that the thread keeps; a summary replaces everything up to its `last`.

    Imported DM context stands before the first turn that saw it.
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
