"""Background jobs that forget people's content, and that delete the soul's messages in DMs.

The journal holds requests and finished steps, so that jobs resume after a restart; a step may be repeated.
Transient errors are retried; other errors end the job. Content that running turns make from forgotten content
is forgotten, too.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Event, Input, of_kind, part_key, root_of, seqs_of
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import erased_key
from daemon.engine.kinds import AnswerAwaited, EntriesForgotten, ThreadSpawned, TurnBegan, WaitBegan
from daemon.errors import PostFailed
from daemon.kinds import (
    INNER,
    ConversationOpened,
    DeleteRequested,
    DeletionCompleted,
    DeletionListed,
    DeletionProgress,
    ForgetCompleted,
    ForgetRequested,
    ProgramEnded,
    ProgramStarted,
    ReadingBegan,
    ReadingEnded,
    SpeechFinished,
    StopRequest,
    TickDue,
    ToolCallRequested,
)
from daemon.knowledge.provenance import ForgetScope, Provenance, QuotationFinder
from daemon.knowledge.visibility import confirmed_at
from daemon.lifetime import RoleHolder


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMessageList:
    """Timestamps of the soul's messages in a DM; `whole` is False if some may be missing."""

    messages: Sequence[str]
    whole: bool


class OwnMessageDeleter(Protocol):
    async def find(self, thread: str, until: str) -> OwnMessageList:
        """Find the soul's messages in a DM up to the ts `until`, except open questions. Raises PostFailed."""

    async def delete(self, thread: str, ts: str) -> str:
        """Delete a message; return the reason if refused, else "". May be repeated. Raises PostFailed."""


Work = TypeVar("Work")


ERASER = "eraser"
"""Role of the daemon that forgets and deletes for all that share the journal."""

log = logging.getLogger(__name__)


class BackgroundJob(ABC):
    """Context manager that calls `do_all` on entry, and whenever the event `wanted` is set.

    Errors in `passing` are retried after `pause` seconds. With `roles`, several daemons share the journal;
    one of them has the job, also for entries of `kinds` that the others record.
    """

    name: ClassVar[str]
    role: ClassVar[str] = ERASER
    kinds: ClassVar[tuple[type[Event], ...]]
    passing: ClassVar[tuple[type[Exception], ...]]
    pause: ClassVar[float]

    def __init__(
        self, journal: Journal, clock: Clock, wanted: asyncio.Event, roles: RoleHolder | None = None
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._wanted = wanted
        self._roles = roles
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._start(self._for_ever())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=self.name)
        task.add_done_callback(self._tell_of_an_end)
        self._tasks.append(task)

    @abstractmethod
    async def do_all(self) -> None: ...

    async def do_each(self, wanted: Iterable[Work], do: Callable[[Work], Awaitable[None]]) -> None:
        """Handle each item; errors in `passing` do not stop the loop, and the last one is raised."""
        failed: Exception | None = None
        for one in wanted:
            try:
                await do(one)
            except self.passing as error:
                failed = error
        if failed:
            raise failed

    async def _follow_others(self) -> None:
        upto = self._journal.last_seq_of_all()
        while True:
            change = self._journal.next_change
            newest = self._journal.change_counter(*self.kinds)
            if newest > upto:
                upto = newest
                self._wanted.set()
            await change.wait()

    async def _for_ever(self) -> None:
        if self._roles:
            await self._roles.hold(self.role)
            self._start(self._follow_others())
        told = ""
        while True:
            self._wanted.clear()
            try:
                await self.do_all()
            except self.passing as error:
                level = logging.DEBUG if str(error) == told else logging.WARNING
                told = str(error)
                log.log(level, "%s failed, and is retried in %.0f s: %s", self.name, self.pause, told)
                await self._clock.sleep(self.pause)
            else:
                await self._wanted.wait()

    def _tell_of_an_end(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error:
            # The journal keeps open requests for the next start.
            log.critical(
                "%s stopped after an error. Restart the daemon; its requests are kept.",
                self.name,
                exc_info=error,
            )


CHUNK = 50


PATIENCE = 30.0
"""Seconds that an affected turn has to end before it is stopped."""


SELF = "soul"
"""Thread of entries outside conversations."""


LET_GO = (Input, AnswerAwaited, WaitBegan, ThreadSpawned)


WHY = "somebody wanted it to be forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenContent:
    """Content to clear outside the journal: `all` of a person, or some notes, up to `until` (Unix seconds).

    `started` are programs to forget, `said` the soul's messages by channel and ts.
    """

    person: str
    all: bool
    until: float
    started: Sequence[Entry[ProgramStarted]]
    said: Sequence[tuple[str, str]]


Clear = Callable[[ForgottenContent], Awaitable[object]]
"""Function that clears content outside the journal. May be repeated. Raises OSError."""


class ForgettingService(BackgroundJob):
    """Job that forgets content on request. `wake` is called with threads that have new entries."""

    name = "Forgetting"
    kinds = (ForgetRequested,)
    passing = (JournalError, OSError)
    pause = 5.0

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        wake: Callable[[str], None],
        wanted: asyncio.Event,
        clear: Sequence[Clear] = (),
        roles: RoleHolder | None = None,
    ) -> None:
        super().__init__(journal, clock, wanted, roles)
        self._wake = wake
        self._clear = clear

    async def do_all(self) -> None:
        wanted = list[Entry[Any]](self._journal.pending_entries(EntriesForgotten))
        wanted += self._journal.pending_entries(ForgetRequested)
        await self.do_each(wanted, self._do)

    async def _do(self, wanted: Entry[Any]) -> None:
        """Finish an erasure, or begin one: an erasure that waits for a machine holds up no other."""
        if isinstance(wanted.event, EntriesForgotten):
            await self._journal.erase(wanted)
        else:
            await self._forget(wanted)

    async def _forget(self, asked: Entry[ForgetRequested]) -> None:
        await ForgetRun(self._journal, self._clock, self._wake, self._clear, asked).run()


class ForgetRun:
    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        wake: Callable[[str], None],
        clear: Sequence[Clear],
        asked: Entry[ForgetRequested],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._wake = wake
        self._clear = clear
        self._asked = asked
        self._key = asked.key
        self._round = part_key(asked.key, "forgotten#")
        before = journal.entries_of_kind(EntriesForgotten, since=asked.seq)
        self._rounds = [one for one in before if one.key.startswith(self._round)]
        wanted = ForgetScope(
            person=asked.event.person, upto=asked.seq, notes=asked.event.seqs, gone=self._gone
        )
        self._found = Provenance(journal.kinds, wanted, QuotationFinder())
        self._since = 0
        self._passed = set[int]()

    async def run(self) -> None:
        while True:
            found = await self._look()
            if await self._let_end(found):
                continue  # turns may have added entries
            new = sorted(found.seqs - self._gone - {self._asked.seq})
            if not new:
                break
            await self._forget(new)
        for one in self._rounds:
            if self._journal.is_pending(one.seq):
                await self._journal.erase(one)
        await self._tell()

    @property
    def _gone(self) -> set[int]:
        gone = set[int]()
        for one in self._rounds:
            gone.update(one.event.seqs)
        return gone

    async def _look(self) -> Provenance:
        while True:
            entries = self._journal.entries_since(self._since, CHUNK)
            if not entries:
                return self._found
            for entry in entries:
                self._found.add_entry(entry)
            self._since = entries[-1].seq
            await asyncio.sleep(0)

    async def _let_end(self, found: Provenance) -> bool:
        """Wait until affected turns end; False if there are none.

        After PATIENCE, stop turns that saw the content, run in a thread with it, or read a text.
        """
        half = [entry for entry in self._journal.pending_entries(TurnBegan) if self._may_mind(entry, found)]
        if not half:
            return False
        until = self._clock.steady() + PATIENCE
        while self._journal.still_pending(seqs_of(half)):
            left = until - self._clock.steady()
            if left <= 0:
                break
            await self._pause(left)
        for entry in half:
            if self._minds(entry, found) or self._reads(entry):
                await self._stop(entry)
            else:
                self._passed.add(entry.seq)
        return True

    async def _pause(self, seconds: float) -> None:
        written = asyncio.create_task(self._journal.next_change.wait())
        over = asyncio.create_task(self._clock.sleep(seconds))
        try:
            await asyncio.wait({written, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            written.cancel()
            over.cancel()
            await asyncio.gather(written, over, return_exceptions=True)

    def _minds(self, began: Entry[TurnBegan], found: Provenance) -> bool:
        return began.event.execution in found.executions or began.thread in found.threads

    def _reads(self, began: Entry[TurnBegan]) -> bool:
        """True while a reading runs: the journal shows only part of the text that the turn saw."""
        recorded = self._journal.execution_entries(began.event.execution)
        return len(of_kind(ReadingBegan, recorded)) > len(of_kind(ReadingEnded, recorded))

    def _may_mind(self, began: Entry[TurnBegan], found: Provenance) -> bool:
        """True if the turn saw the content, or began before the last erasure of it."""
        if began.event.execution in found.executions:
            return True
        if not self._rounds:
            return self._minds(began, found)
        gone = self._journal.get(erased_key(self._rounds[-1].key))
        return (gone is None or began.seq < gone.seq) and began.seq not in self._passed

    async def _stop(self, began: Entry[TurnBegan]) -> None:
        key = part_key(self._key, f"stop:{began.seq}")
        if self._journal.is_pending(began.seq) and self._journal.get(key) is None:
            person = self._asked.event.person
            ts = confirmed_at(self._journal, self._asked)
            stop = StopRequest(user=person, name="", text="", ts=ts, by="forgetting")
            await self._journal.append(began.thread, stop, key=key, author=person, cause=self._asked.seq)
            self._wake(began.thread)

    async def _forget(self, seqs: Sequence[int]) -> None:
        entries = self._journal.entries_at(seqs)
        await self._end_processes(entries)
        gone = ForgottenContent(
            person=self._asked.event.person,
            all=not self._asked.event.seqs,
            until=self._asked.at,
            started=of_kind(ProgramStarted, entries),
            said=[*self._said(entries)],
        )
        for clear in self._clear:
            await clear(gone)
        taken = set[int]()
        for began in self._journal.pending_entries(TurnBegan):
            taken.update(began.event.inputs)
        waits = [one.seq for one in entries if isinstance(one.event, LET_GO) and one.seq not in taken]
        slept = INNER in [wait.thread for wait in of_kind(WaitBegan, entries)]
        forgotten = await self._journal.forget(
            seqs,
            thread=SELF,
            key=f"{self._round}{len(self._rounds) + 1}",
            why=WHY,
            author="core",
            cause=self._asked.seq,
            lets_go=waits,
        )
        self._rounds.append(forgotten)
        if slept:
            due = TickDue(why="what was waited for is forgotten")
            key = f"tick-after-forgetting:{forgotten.seq}"  # this key belongs to no execution
            await self._journal.append(INNER, due, key=key, author="core")
            self._wake(INNER)

    def _said(self, entries: Sequence[Entry[Any]]) -> Iterator[tuple[str, str]]:
        for one in of_kind(SpeechFinished, entries):
            for opened in self._journal.latest_first(root_of(one.thread), ConversationOpened):
                yield opened.event.channel, one.event.ts

    async def _end_processes(self, entries: Sequence[Entry[Any]]) -> None:
        for one in entries:
            if not self._journal.is_pending(one.seq):
                continue
            if isinstance(one.event, ProgramStarted | ToolCallRequested):
                name = one.event.name if isinstance(one.event, ProgramStarted) else one.event.tool
                ended = ProgramEnded(process=one.seq, name=name, status="error", result="")
                key = part_key(one.key, "ended")
                await self._journal.append(
                    one.thread, ended, key=key, author="core", cause=one.seq, closes=[one.seq]
                )

    async def _tell(self) -> None:
        asked = self._asked
        await self._journal.append(
            asked.thread,
            ForgetCompleted(person=asked.event.person, all=not asked.event.seqs, deletes=asked.event.deletes),
            key=part_key(self._key, "told"),
            author="core",
            closes=[asked.seq],
        )
        self._wake(asked.thread)


class ClearingElsewhere(BackgroundJob):
    """Job that clears programs' folders on this machine which another daemon has forgotten."""

    name = "Clearing"
    kinds = (EntriesForgotten,)
    passing = (OSError,)
    pause = 5.0

    def __init__(self, journal: Journal, clock: Clock, clear: Sequence[Clear]) -> None:
        super().__init__(journal, clock, asyncio.Event())
        self._clear = clear
        self._upto = 0

    async def __aenter__(self) -> Self:
        self._start(self._follow_others())
        return await super().__aenter__()

    async def do_all(self) -> None:
        for forgotten in self._journal.entries_of_kind(EntriesForgotten, since=self._upto):
            started = of_kind(ProgramStarted, self._journal.readable_entries(forgotten.event.seqs))
            gone = ForgottenContent(person="", all=False, until=forgotten.at, started=started, said=())
            for clear in self._clear:
                await clear(gone)
            self._upto = forgotten.seq


DELETION_CHUNK = 25


class MessageDeleter(BackgroundJob):
    """Job that deletes the soul's messages on request. `wake` is called with affected threads."""

    name = "Deleting"
    kinds = (DeleteRequested,)
    passing = (JournalError, PostFailed)
    pause = 30.0

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        wake: Callable[[str], None],
        wanted: asyncio.Event,
        messages: OwnMessageDeleter,
        roles: RoleHolder | None = None,
    ) -> None:
        super().__init__(journal, clock, wanted, roles)
        self._wake = wake
        self._messages = messages

    async def do_all(self) -> None:
        await self.do_each(self._journal.pending_entries(DeleteRequested), self._delete)

    async def _delete(self, asked: Entry[DeleteRequested]) -> None:
        listed = await self._listed(asked)
        messages = listed.event.messages
        found = list[DeletionProgress]()
        for start in range(0, len(messages), DELETION_CHUNK):
            found.append(await self._some(asked, start, messages[start : start + DELETION_CHUNK]))
        done = DeletionCompleted(
            person=asked.event.person,
            deleted=sum(one.deleted for one in found),
            left=sum(one.left for one in found),
            why=next((one.why for one in reversed(found) if one.why), ""),
            whole=listed.event.whole,
        )
        key = part_key(asked.key, "told")
        await self._journal.append(asked.thread, done, key=key, author="core", closes=[asked.seq])
        self._wake(asked.thread)

    async def _listed(self, asked: Entry[DeleteRequested]) -> Entry[DeletionListed]:
        key = part_key(asked.key, "listed")
        known = self._journal.get(key)
        if known is None:
            found = await self._messages.find(asked.thread, confirmed_at(self._journal, asked))
            listed = DeletionListed(messages=tuple(found.messages), whole=found.whole)
            known, _ = await self._journal.append(
                asked.thread, listed, key=key, author="core", cause=asked.seq
            )
        return cast(Entry[DeletionListed], known)

    async def _some(
        self, asked: Entry[DeleteRequested], start: int, messages: Sequence[str]
    ) -> DeletionProgress:
        key = part_key(asked.key, f"deleted:{start}")
        known = self._journal.get(key)
        if known is None:
            refused = [await self._messages.delete(asked.thread, ts) for ts in messages]
            left = [word for word in refused if word]
            some = DeletionProgress(
                deleted=len(refused) - len(left), left=len(left), why=left[-1] if left else ""
            )
            known, _ = await self._journal.append(asked.thread, some, key=key, author="core", cause=asked.seq)
        return cast(Entry[DeletionProgress], known).event
