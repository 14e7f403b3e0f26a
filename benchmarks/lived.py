"""Realistic journal of a workspace with a long past.

All turns are copies of one real turn, with other words and conversations. The engine's store writes them, so
that the journal can be verified.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchmarks.ground import ground
from daemon.engine.clock import SystemClock
from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_file import open_store
from daemon.engine.journal.rows import EntryRow
from daemon.engine.journal.writer import WritableTables
from daemon.engine.kinds import WaitBegan, with_engine_kinds
from daemon.kinds import (
    SOUL_KINDS,
    ContextCleared,
    ConversationOpened,
    IncomingMessage,
    MemoryNote,
    ModelCall,
    PersonModelWritten,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
    SpeechPosted,
    thread_key,
)

PEOPLE = ("Alice", "Bob", "Carol", "Dan", "Eve", "Frank", "Grace", "Heidi")
CHANNELS = 20
EACH = 40
"""Average turns per conversation."""
LONGEST = 0.1
"""Share of turns in the longest thread."""
TALKS = 30
"""Concurrent conversations."""
LEARNS, NOTES, SUMS_UP = 10, 20, 40
"""Turns of a thread per fact about a person, note and summary."""
KEPT = 20
"""Memories outside a summary."""
WAITS = 10
"""Conversations per pending wait."""
MONTH = 30 * 86_400.0
BEGAN = 1_700_000_000
WORDS = 5_000
"""Vocabulary; frequencies follow Zipf's law."""
LENGTH = 30
"""Words per message."""
BATCH = 1_000
"""Turns per commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lived:
    """Journal with its message count, file bytes per message and longest thread."""

    path: Path
    entries: int
    messages: int
    bytes_each: float
    longest: str


@dataclass(slots=True, kw_only=True)
class Talk:
    """Conversation, and seqs that its thread keeps."""

    thread: str
    channel: str
    person: str
    turns: int = 0
    kept: list[int] = field(default_factory=list)


async def lived(folder: Path, entries: int) -> Lived:
    """Write a journal of at least this many entries."""
    path = folder / "journal.db"
    turn = await _taken(folder)
    before = path.stat().st_size
    with closing(open_store(path)) as store:
        life = Life(store, turn, MONTH / entries)
        while store.last() < entries:
            store.begin()
            for _ in range(BATCH):
                if life.last < entries:
                    life.go_on()
            store.commit()
    async with Journal(path, SystemClock(), SOUL_KINDS):
        ...
    return Lived(
        path=path,
        entries=life.last,
        messages=life.messages,
        bytes_each=(path.stat().st_size - before) / life.messages,
        longest=life.longest.thread,
    )


async def _taken(folder: Path) -> Sequence[Entry[Any]]:
    """Return the entries of a second turn, which has no greeting."""
    async with ground(folder) as here:
        taker, thread, since = here.turns(), await here.open("first"), 0
        for ts in ("1", "2"):
            since = here.world.journal.last_seq_of_all()
            await here.say(thread, "What would you do with a free afternoon?", ts)
            assert await taker.take_turn(thread)
        return here.world.journal.thread_entries(thread, since=since)


class Life:
    """Writer of a past of one month; equal in each run.

    `turn` is the model of all turns, `pace` the seconds between entries.
    """

    def __init__(self, store: WritableTables, turn: Sequence[Entry[Any]], pace: float) -> None:
        self.messages = 0
        self.last = store.last()
        self._store = store
        self._turn = turn
        self._kinds = with_engine_kinds(SOUL_KINDS)
        self._now = SystemClock().now() - MONTH
        self._pace = pace
        self._chance = random.Random(1)
        self._vocabulary = [f"word{number}" for number in range(WORDS)]
        self._weights = [*accumulate(1 / number for number in range(1, WORDS + 1))]
        self._talks = list[Talk]()
        self._learned = dict[tuple[str, str], int]()
        """Last fact by person and channel."""

    @property
    def longest(self) -> Talk:
        return self._talks[0]

    def go_on(self) -> None:
        if self.messages >= EACH * (len(self._talks) - TALKS):
            self._talks.append(self._open())
        is_long = self._chance.random() < LONGEST
        self._take(self.longest if is_long else self._chance.choice(self._talks[-TALKS:]))

    def _open(self) -> Talk:
        """Open a conversation; every other one is a DM."""
        number = len(self._talks)
        person = number // 2 % len(PEOPLE)
        dm = number % 2 == 0
        channel = f"D{person}" if dm else f"C{number % CHANNELS}"
        ts = f"{BEGAN + number}.000000"
        opened = ConversationOpened(
            team="T",
            channel=channel,
            ts=ts,
            where="dm" if dm else "channel",
            place="a direct message" if dm else f"#c{number % CHANNELS}",
            audience="dm" if dm else "public",
            user=f"U{person}",
            called_by=ts,
        )
        talk = Talk(thread=f"sess-{number:08x}", channel=channel, person=f"U{person}")
        self._write(talk.thread, opened, thread_key("T", channel, ts), "core")
        return talk

    def _take(self, talk: Talk) -> None:
        seqs = dict[int, int]()
        old, path = f"{self._turn[0].thread}@{self._turn[0].seq}", ""
        for entry in self._turn:
            if isinstance(entry.event, SoulTurnEnded):
                self._think(talk, path, seqs)
            event = self._moved(entry.event, talk, path, seqs)
            key = entry.key.replace(old, path) if path else f"msg:T:{talk.channel}:{event.ts}"
            closes = [seqs[seq] for seq in entry.closes]
            cause = None if entry.cause is None else seqs[entry.cause]
            seq = self._write(talk.thread, event, key, entry.author, cause, closes)
            seqs[entry.seq] = seq
            path = path or f"{talk.thread}@{seq}"
            if isinstance(event, IncomingMessage | ModelCall):
                talk.kept.append(seq)
        talk.turns += 1
        self.messages += 1

    def _moved(self, event: Any, talk: Talk, path: str, seqs: Mapping[int, int]) -> Any:
        """Adapt an event; `seqs` maps old seqs to new ones."""
        ts = MONTH + BEGAN + self.messages
        match event:
            case IncomingMessage():
                name = PEOPLE[int(talk.person[1:])]
                return replace(event, user=talk.person, name=name, text=self._said(), ts=f"{ts:.0f}.000100")
            case SoulTurnBegan():
                return replace(event, execution=path, inputs=tuple(seqs.values()))
            case ModelCall():
                return replace(event, seqs=tuple(talk.kept), people=(talk.person,), text=self._said())
            case SpeechPosted():
                return replace(event, ts=f"{ts:.0f}.000200")
            case SpeechFinished():
                return replace(event, ts=f"{ts:.0f}.000200", text=self._said())
            case SoulTurnEnded():
                return replace(event, keep=tuple(talk.kept[-2:]))
        return event

    def _think(self, talk: Talk, path: str, seqs: Mapping[int, int]) -> None:
        """Write the additional entries of some turns."""
        _, began, *_ = seqs.values()

        def step(event: Event) -> int:
            return self._write(talk.thread, event, f"{path}/{event.kind}#1", "soul", began)

        if talk.turns % LEARNS == 1:
            about = (talk.person, talk.channel)
            learned = PersonModelWritten(
                person=talk.person, name="", text=self._said(), since=self._learned.get(about, 0)
            )
            self._learned[about] = step(learned)
        if talk.turns % NOTES == 2:
            step(MemoryNote(text=self._said()))
        if talk.turns % SUMS_UP == SUMS_UP - 1:
            summed_up = step(ContextCleared(text=self._said(), last=talk.kept[-KEPT - 1]))
            talk.kept = [summed_up, *talk.kept[-KEPT:]]
        if not talk.turns and len(self._talks) % WAITS == 1:
            step(WaitBegan(due=self._now + 2 * MONTH, resumes=False))

    def _said(self) -> str:
        return " ".join(self._chance.choices(self._vocabulary, cum_weights=self._weights, k=LENGTH))

    def _write(
        self,
        thread: str,
        event: Event,
        key: str,
        author: str,
        cause: int | None = None,
        closes: Sequence[int] = (),
    ) -> int:
        row = EntryRow(
            thread=thread,
            kind=event.kind,
            author=author,
            body=self._kinds.dump(event),
            key=key,
            cause=cause,
            closes=tuple(closes),
            moot=(),
            at=self._now,
            pending=event.pending,
            leases=isinstance(event, SoulTurnBegan),
        )
        self._now += self._pace
        seq = self._store.insert(row)
        assert seq is not None, f"the key {key} exists already"
        self.last = seq
        return seq
