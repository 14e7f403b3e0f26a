"""Status line and session state in Slack while the soul works.

`assistant.threads.setStatus` shows words, which a reply clears. `agents.sessions.setStatus` takes no words
and shows a Stop button until reset. Background tasks set both, so no turn waits. The latest state wins, and a
new daemon clears the state that a dead one left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Container, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from slack_sdk.errors import SlackApiError

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, root_of
from daemon.engine.exceptions import FencedError, JournalError
from daemon.engine.execution import Hold, no_lease_check
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import TurnBegan, TurnResumed, WorkerDied, WorkerStopped
from daemon.kinds import ConversationOpened, LifeStatusCleared, SoulTurnBegan, StatusCleared
from daemon.slack.app_share import AppShare, WholeApp
from daemon.slack.directory import workspace_thread
from daemon.slack.places import cached_places, record_workspace_note
from daemon.slack.web_api import (
    LACKING,
    LIMITED,
    LONGEST_WAIT,
    MISSING_SCOPE,
    OUT_OF_REACH,
    Method,
    WebApi,
    is_permanent,
    method_name,
    retry_after,
    retry_pause,
    slack_error,
)

NOTHING = ""

MOMENT = 0.1
"""Seconds before a status appears: short work needs none, and model calls go first."""

ADVICE = (
    "All else works without it. For a sign of work with a Stop button, declare the app as an agent: copy"
    " features.agent_view and the scopes of manifest.json to https://api.slack.com/apps, App Manifest,"
    " and install the app again. `python -m daemon doctor` says whether that is done."
)

log = logging.getLogger(__name__)


class CallPace:
    """Rate limit of `burst` calls at once, then one every `each` seconds, in order.

    Of daemons that share the app, each takes an equal share.
    """

    def __init__(self, clock: Clock, *, burst: int, each: float, share: AppShare | None = None) -> None:
        self._clock = clock
        self._ahead = (burst - 1) * each  # in seconds of the whole rate, so that a share has fewer calls
        self._pause = each
        self._share = share or WholeApp()
        self._due = 0.0
        self._rests = 0.0

    @property
    def is_resting(self) -> bool:
        return self._clock.steady() < self._rests

    @property
    def _each(self) -> float:
        return self._pause * self._share.daemon_count

    def take_slot(self) -> float:
        now = self._clock.steady()
        self._due = max(self._due, now)
        wait = max(self._due - self._ahead - now, 0.0)
        self._due += self._each
        return wait

    def pause_for(self, seconds: float) -> None:
        self._rests = self._clock.steady() + seconds
        self._due = max(self._due, self._rests + self._ahead)


@dataclass(slots=True, kw_only=True)
class ThreadStatus:
    """Status in a thread. `wanted` is None if another worker decides; `stands`, the shown value, is None if
    unknown.
    """

    thread: str
    place: ConversationOpened
    hold: Hold
    wanted: str | None = NOTHING
    stands: str | None = NOTHING
    since: float = 0.0
    swept: bool = False
    """True if Slack cleared the status during a request."""
    left: bool = False
    """True if a dead daemon left the status, whose clearing may wait."""
    task: asyncio.Task[None] | None = None
    waits: bool = False

    @property
    def is_being_set(self) -> bool:
        return self.task is not None and not self.waits

    @property
    def is_stale(self) -> bool:
        return self.wanted is not None and self.wanted != self.stands

    @property
    def is_forgettable(self) -> bool:
        return self.stands == NOTHING and not self.wanted

    @property
    def is_clear(self) -> bool:
        return self.wanted is None or self.is_forgettable

    def stop_wanting(self) -> None:
        if self.wanted is not None:
            self.wanted = NOTHING


@dataclass(kw_only=True)
class StatusSync:
    """Synchronizer of one kind of status in all threads; the value `nothing` clears a status.

    After `lasts` seconds a status is set again. `deserted` is true for threads without work; `rested` is
    called after each task.
    """

    web: WebApi
    method: Method
    pace: CallPace
    nothing: str
    lasts: float
    deserted: Callable[[str], bool]
    rested: Callable[[], None]
    _statuses: dict[str, ThreadStatus] = field(default_factory=dict)
    _one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)
    _lacking: bool = False
    _closing: bool = False

    @property
    def is_busy(self) -> bool:
        return any(status.is_being_set for status in self._statuses.values())

    @property
    def is_clear(self) -> bool:
        return self._lacking or all(status.is_clear for status in self._statuses.values())

    @property
    def shows_nothing(self) -> bool:
        """True if nothing stands in Slack, also of what another worker may decide now."""
        return self._lacking or all(status.is_forgettable for status in self._statuses.values())

    @property
    def has_left(self) -> bool:
        """True if statuses of a dead daemon are not cleared yet."""
        return not self._lacking and any(
            status.left and not status.is_clear for status in self._statuses.values()
        )

    @property
    def is_wanted_anywhere(self) -> bool:
        return any(status.wanted for status in self._statuses.values())

    def refresh(self, is_wanted: Callable[[str], bool]) -> None:
        """Set statuses again that Slack would soon clear."""
        now = self.web.clock.steady()
        for status in list(self._statuses.values()):
            is_old = status.wanted and status.wanted == status.stands and now - status.since >= self.lasts
            if is_old and not status.task and is_wanted(status.thread):
                status.stands = None
                self._start(status)

    def is_wanted(self, thread: str) -> bool:
        status = self._statuses.get(thread)
        return status is not None and bool(status.wanted)

    def place_of(self, thread: str) -> ConversationOpened | None:
        status = self._statuses.get(thread)
        if status is None:
            return None
        return status.place

    def set_text(self, thread: str, place: ConversationOpened, value: str, hold: Hold) -> None:
        """Set the wanted status of a thread, while `hold` permits it."""
        status = self._statuses.get(thread)
        if status is None:
            if value == NOTHING or self._lacking:
                return
            status = self._statuses[thread] = ThreadStatus(thread=thread, place=place, hold=hold)
        status.wanted, status.hold = value, hold
        if value and status.left:
            status.left = False
            self._wake(status)
        if value and value == status.stands and self.web.clock.steady() - status.since >= self.lasts:
            status.stands = None
        self._start(status)

    def mark_unknown(self, thread: str, place: ConversationOpened, hold: Hold) -> None:
        """Clear a thread whose status is unknown."""
        status = self._statuses[thread] = ThreadStatus(
            thread=thread, place=place, hold=hold, stands=None, left=True
        )
        self._start(status)

    def doubt(self, thread: str, place: ConversationOpened, hold: Hold) -> None:
        """Treat a thread's status as unknown, so that it is cleared in the end even if none is set."""
        if thread not in self._statuses and not self._lacking:
            self._statuses[thread] = ThreadStatus(thread=thread, place=place, hold=hold, stands=None)

    def cleared_by_slack(self, thread: str) -> None:
        status = self._statuses.get(thread)
        if status is None:
            return
        status.stop_wanting()
        if status.is_being_set:
            status.swept = True  # the request may reach Slack before or after the clearing
        elif status.stands is not None:
            status.stands = NOTHING
        if status.is_forgettable and not status.task:
            del self._statuses[thread]

    async def close(self, seconds: float) -> None:
        """Clear all statuses within `seconds`, with one more try per thread."""
        self._closing = True
        for status in self._statuses.values():
            status.stop_wanting()
            self._wake(status)
        ours = [status for status in self._statuses.values() if status.is_stale or status.task]
        tries = [status.task or self._begin(status) for status in ours]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*tries, return_exceptions=True)
        for late in tries:
            late.cancel()
        await asyncio.gather(*tries, return_exceptions=True)

    def _wake(self, status: ThreadStatus) -> None:
        if status.task and status.waits:
            status.task.cancel()
            status.task = None

    def _start(self, status: ThreadStatus) -> None:
        if status.is_stale and not (status.task or self._lacking or self._closing):
            self._begin(status)

    def _begin(self, status: ThreadStatus) -> asyncio.Task[None]:
        status.task = asyncio.create_task(self._reach_wanted(status), name=f"a status of {status.thread}")
        status.task.add_done_callback(partial(self._ended, status))
        return status.task

    def _ended(self, status: ThreadStatus, task: asyncio.Task[None]) -> None:
        if status.task is not task:
            return
        status.task = None
        if not task.cancelled() and task.exception():
            log.critical("Setting a status failed; it stays as it is in Slack.", exc_info=task.exception())
            status.wanted = None
        self._start(status)
        if (
            not status.task
            and (status.is_forgettable or self._lacking)
            and self._statuses.get(status.thread) is status
        ):
            del self._statuses[status.thread]
        self.rested()

    async def _reach_wanted(self, status: ThreadStatus) -> None:
        failures = 0
        moment = 0.0
        if status.wanted and status.stands == NOTHING:
            moment = MOMENT
        while status.is_stale and not self._lacking:
            await self._take_slot(status, max(retry_pause(failures + 1), moment))
            moment = 0.0
            if self.pace.is_resting and not self._closing:
                continue
            if status.is_stale and not self._lacking:
                failures += 1
                if await self._try(status):
                    failures = 0
            if failures and self._closing:
                return

    async def _take_slot(self, status: ThreadStatus, least: float) -> None:
        """Wait for a slot. Statuses of a dead daemon go one by one, so as not to delay current work."""
        status.waits = True
        try:
            if status.left and not self._closing:
                async with self._one_by_one:
                    await self._wait(least)
            else:
                await self._wait(least)
        finally:
            status.waits = False

    async def _wait(self, least: float) -> None:
        seconds = max(self.pace.take_slot(), least)
        if seconds > 0 and not self._closing:
            await self.web.clock.sleep(seconds)

    async def _try(self, status: ThreadStatus) -> bool:
        """Send one request; the status is unknown until Slack answers."""
        value = status.wanted or NOTHING
        before = status.stands
        status.stands = None
        status.swept = False
        where = {"channel_id": status.place.channel, "thread_ts": status.place.ts}
        try:
            await self.web.send_request(status.hold, self.method, **where, status=value or self.nothing)
        except OUT_OF_REACH:
            return False
        except (FencedError, SlackApiError, JournalError) as error:
            if status.swept and before is not None:
                before = NOTHING
            status.stands = before
            return self._failed(status, error)
        status.stands = value
        if status.swept and value != NOTHING:
            status.stands = None
        status.since = self.web.clock.steady()
        return True

    def _failed(self, status: ThreadStatus, error: FencedError | SlackApiError | JournalError) -> bool:
        if isinstance(error, FencedError):
            # The new holder of the lease sets the status, unless its work is done already.
            status.wanted = None
            if self.deserted(status.thread):
                status.wanted, status.hold = NOTHING, no_lease_check
            return True
        if isinstance(error, JournalError):
            return False
        code = slack_error(error)
        if code in LACKING:
            self._leave_out(code)
        elif code == LIMITED:
            self.pace.pause_for(retry_after(error) or LONGEST_WAIT)
        elif is_permanent(error):
            status.wanted = None
        return False

    def _leave_out(self, code: str) -> None:
        told = self._lacking or code == MISSING_SCOPE
        self._lacking = True
        if not told:
            log.warning(
                "Slack refuses %s (%s), so it is not called again before a restart. %s",
                *(method_name(self.method), code, ADVICE),
            )


WORKING, DONE = "processing", "active"

REFRESH = 90.0
"""Seconds after which words are set again: Slack clears them after 120."""

REFRESH_INTERVAL = 20.0
"""Seconds between checks for statuses to set again."""

SESSION_BURST, SESSION_EACH = 20, 2.1
"""Calls at once, and seconds per call: below Slack's 50 per minute (tier 3)."""

LINE_BURST, LINE_EACH = 40, 1.1
"""Calls at once, and seconds per call: below Slack's 100 per minute (tier 4, special)."""

GOODBYE = 3.0

MOST = 200
"""Most threads, latest first, that are searched for statuses of a dead daemon."""

REST_INTERVAL = 3_600.0
"""Seconds between records that nothing is shown."""


class SlackStatus:
    """Statuses of all threads. No method raises, waits, or affects a turn."""

    def __init__(self, web: WebApi, journal: Journal, team: str, share: AppShare | None = None) -> None:
        self._web = web
        self._journal = journal
        self._share = share or WholeApp()
        self._life = 0
        """Seq of this daemon's worker start, for the marks of daemons that share the app."""
        self._left_by = set[int]()
        """Worker starts whose statuses are being cleared."""
        self.place_of = cached_places(journal)
        self._team = team
        self._marking: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._repairing = False
        self._looked = web.clock.steady()
        self._line = StatusSync(
            web=web,
            method=web.client.assistant_threads_setStatus,
            pace=CallPace(web.clock, burst=LINE_BURST, each=LINE_EACH, share=self._share),
            nothing=NOTHING,
            lasts=REFRESH,
            deserted=self._has_no_work,
            rested=self._record_rest,
        )
        self._session = StatusSync(
            web=web,
            method=web.client.agents_sessions_setStatus,
            pace=CallPace(web.clock, burst=SESSION_BURST, each=SESSION_EACH, share=self._share),
            nothing=DONE,
            lasts=float("inf"),
            deserted=self._has_no_work,
            rested=self._record_rest,
        )

    @property
    def is_busy(self) -> bool:
        return self._line.is_busy or self._session.is_busy or self._marking is not None

    def begin(self) -> None:
        """Clear statuses that a killed daemon may have left.

        Its lease permits this until another attempt begins, which sets its own status.
        """
        attempts = self._journal.latest_attempts(since=self._mark())
        for thread, epoch in attempts[-MOST:]:
            place = self._place(thread)
            if place:
                self._repairing = True
                for sign in (self._line, self._session):
                    sign.mark_unknown(thread, place, self._held(thread, epoch))

    def begin_shared(self) -> None:
        """Clear statuses that others have left: of all daemons, or if some live, of those that ended."""
        ended = None
        if self._share.daemon_count > 1:
            found: list[Entry[WorkerStopped | WorkerDied]]
            found = self._journal.entries_of_kind(WorkerStopped, WorkerDied)
            ended = {one.event.life for one in found}
        self._clear_left(ended)

    def begin_life(self, life: int) -> None:
        """Note the seq of this daemon's worker start, for marks of its own."""
        self._life = life

    def clear_life(self, life: int) -> None:
        """Clear the statuses of a daemon that counts as dead, by its worker start."""
        self._clear_left({life})

    def _clear_left(self, lives: Container[int] | None) -> None:
        """Clear the statuses of attempts in these worker starts; None: in all but this daemon's."""
        marks = self._life_marks()
        for thread, epoch in self._journal.latest_attempts(since=self._mark())[-MOST:]:
            life, root = self._life_of(epoch), root_of(thread)
            place = self._place(root)
            is_left = life != self._life and (lives is None or life in lives)
            if not place or not is_left or epoch <= marks.get(life, 0):
                continue
            self._left_by.add(life)
            for sign in (self._line, self._session):
                if not sign.is_wanted(root):  # else this daemon is at work there
                    sign.mark_unknown(root, place, self._held(thread, epoch))

    def _life_of(self, epoch: int) -> int:
        """Return the worker start of an attempt; 0 if unknown."""
        for entry in self._journal.readable_entries([epoch]):
            if isinstance(entry.event, TurnBegan | TurnResumed):
                return entry.event.life
        return 0

    def _life_marks(self) -> Mapping[int, int]:
        marks = dict[int, int]()
        for cleared in self._journal.latest_first(workspace_thread(self._team), LifeStatusCleared):
            marks.setdefault(cleared.event.life, cleared.event.upto)
        return marks

    async def close(self) -> None:
        """Clear all statuses, for GOODBYE seconds at most; the next start does the rest."""
        if self._keeping:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await asyncio.gather(self._line.close(GOODBYE), self._session.close(GOODBYE))
        if self._marking:
            await self._marking
        if self._share.is_shared:
            await self._note_lives(self._rested_lives(is_closing=True), self._journal.last_seq_of_all())
        elif self._clear and self._journal.latest_attempts(since=self._mark()):
            await self._note(self._journal.last_seq_of_all())

    def show(self, thread: str, text: str, hold: Hold) -> None:
        """Show words and a working session; without words, neither."""
        place = self._line.place_of(thread) or self._session.place_of(thread)
        if place is None and text:
            place = self._place(thread)
            if place and self._is_taken_over(thread):
                for sign in (self._line, self._session):
                    sign.doubt(thread, place, hold)
        if place is None:
            return
        work = NOTHING
        if text:
            work = WORKING
        self._line.set_text(thread, place, text, hold)
        self._session.set_text(thread, place, work, hold)
        if text and (self._keeping is None or self._keeping.done()):
            self._keeping = asyncio.create_task(self._keep(), name="status lines")

    async def _keep(self) -> None:
        while self._line.is_wanted_anywhere:
            await self._web.clock.sleep(REFRESH_INTERVAL)
            self._line.refresh(self._is_at_work)

    def _is_taken_over(self, thread: str) -> bool:
        """True if another daemon began the turn, whose status may stand in Slack."""
        if not self._share.is_shared:
            return False
        half = self._journal.pending_entries(SoulTurnBegan, thread=thread)
        return any(began.event.life != self._life for began in half)

    def _is_at_work(self, thread: str) -> bool:
        return any(root_of(began.thread) == thread for began in self._journal.pending_entries(SoulTurnBegan))

    def note_reply(self, thread: str) -> None:
        """Note a new message, after which Slack clears the words."""
        self._line.cleared_by_slack(thread)

    def _place(self, thread: str) -> ConversationOpened | None:
        try:
            place = self.place_of(thread)
        except LookupError:
            return None
        if place.team != self._team or not place.ts:  # unasked messages stand in no Slack thread
            return None
        return place

    def _held(self, thread: str, epoch: int) -> Hold:
        async def hold() -> None:
            await self._journal.confirm_lease(thread, epoch)

        return hold

    def _has_no_work(self, thread: str) -> bool:
        return not self._journal.pending_entries(SoulTurnBegan, thread=thread)

    @property
    def _clear(self) -> bool:
        return self._line.is_clear and self._session.is_clear

    def _mark(self) -> int:
        for cleared in self._journal.latest_first(workspace_thread(self._team), StatusCleared):
            return cleared.event.upto
        return 0

    def _record_rest(self) -> None:
        if self._share.is_shared:
            self._record_shared_rest()
            return
        passed = self._web.clock.steady() - self._looked
        due = self._repairing or passed >= REST_INTERVAL
        if not due or self._marking or not self._clear or self._journal.pending_entries(SoulTurnBegan):
            return
        self._repairing = False
        self._mark_rest(self._note(self._journal.last_seq_of_all()))

    def _record_shared_rest(self) -> None:
        due = self._left_by or self._web.clock.steady() - self._looked >= REST_INTERVAL
        lives = self._rested_lives() if due and not self._marking else ()
        if lives:
            self._mark_rest(self._note_lives(lives, self._journal.last_seq_of_all()))

    def _rested_lives(self, *, is_closing: bool = False) -> Collection[int]:
        """Return the worker starts of which nothing is shown any more."""
        lives = set[int]()
        if not (self._line.has_left or self._session.has_left):
            lives, self._left_by = self._left_by, set()
        is_bare = self._line.shows_nothing and self._session.shows_nothing
        if is_bare and self._life and (is_closing or not self._is_any_at_work()):
            lives = lives | {self._life}
        return lives

    def _is_any_at_work(self) -> bool:
        """True if a turn is half done in this daemon."""
        half = [entry.thread for entry in self._journal.pending_entries(SoulTurnBegan)]
        epochs = [self._journal.lease_epoch(thread) or 0 for thread in half]
        return self._life in map(self._life_of, epochs)

    def _mark_rest(self, note: Coroutine[Any, Any, None]) -> None:
        self._looked = self._web.clock.steady()
        self._marking = asyncio.create_task(note, name="status mark")
        self._marking.add_done_callback(self._marked)

    def _marked(self, _: asyncio.Task[None]) -> None:
        self._marking = None

    async def _note(self, upto: int) -> None:
        with suppress(JournalError):  # otherwise the next start looks further back
            await record_workspace_note(self._journal, self._team, StatusCleared(upto=upto))

    async def _note_lives(self, lives: Iterable[int], upto: int) -> None:
        for life in lives:
            cleared = LifeStatusCleared(life=life, upto=upto)
            key = f"{cleared.kind}:{self._team}:{life}:{upto}"
            with suppress(JournalError, TimeoutError):
                async with asyncio.timeout(GOODBYE):  # an append waits while the log is away
                    await self._journal.append(workspace_thread(self._team), cleared, key=key, author="core")
