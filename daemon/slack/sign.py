"""One sign in Slack, a line of words or a session's state, in every thread: brought to what is wanted there.

Whoever wants something waits for nothing. What is on its way to Slack is one request in each thread; what is
wanted meanwhile replaces what was wanted before. The status has two of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from slack_sdk.errors import SlackApiError

from daemon.engine.exceptions import FencedError, JournalError
from daemon.kinds import ConversationOpened
from daemon.ports import Clock, Hold
from daemon.slack.refusals import LACKING, LIMITED, MISSING_SCOPE, OUT_OF_REACH, is_permanent, slack_error
from daemon.slack.web import LONGEST_WAIT, Method, WebApi, named, no_lease_check, retry_after, retry_pause

NOTHING = ""
MOMENT = 0.1
"""Seconds before a sign appears: what is over by then needs none, and the model is asked first."""

ADVICE = (
    "All else works without it. For a sign of work with a Stop button, declare the app as an agent: copy"
    " features.agent_view and the scopes of manifest.json to https://api.slack.com/apps, App Manifest,"
    " and install the app again. `python -m daemon doctor` says whether that is done."
)
"""What the owner can do about a sign that Slack does not take."""

log = logging.getLogger(__name__)


class CallPace:
    """`burst` calls at once, and after them one every `each` seconds. Who asks first is first."""

    def __init__(self, clock: Clock, *, burst: int, each: float) -> None:
        self._clock = clock
        self._ahead = (burst - 1) * each
        self._each = each
        self._due = 0.0
        """When the next call would be due if there were no burst."""
        self._rests = 0.0

    @property
    def is_resting(self) -> bool:
        """Has Slack had enough for now?"""
        return self._clock.steady() < self._rests

    def take_slot(self) -> float:
        """Take the next free slot; in how many seconds it comes."""
        now = self._clock.steady()
        self._due = max(self._due, now)
        wait = max(self._due - self._ahead - now, 0.0)
        self._due += self._each
        return wait

    def pause_for(self, seconds: float) -> None:
        """Slack wants no call for so long."""
        self._rests = self._clock.steady() + seconds
        self._due = max(self._due, self._rests + self._ahead)


@dataclass(slots=True, kw_only=True)
class ThreadStatus:
    """The sign in one thread. `wanted` is None where it is somebody else's; `stands`, where nobody knows."""

    thread: str
    place: ConversationOpened
    hold: Hold
    wanted: str | None = NOTHING
    stands: str | None = NOTHING
    since: float = 0.0
    """When what stands there was set."""
    swept: bool = False
    """Did Slack take it away while a request was on its way?"""
    left: bool = False
    """Is it what a dead daemon left, so that it can wait for whoever is at work now?"""
    task: asyncio.Task[None] | None = None
    waits: bool = False
    """Does the task wait until Slack may be told?"""

    @property
    def is_being_set(self) -> bool:
        """Is a request on its way, or at once?"""
        return self.task is not None and not self.waits

    @property
    def is_stale(self) -> bool:
        """Is there something to do?"""
        return self.wanted is not None and self.wanted != self.stands

    @property
    def is_forgettable(self) -> bool:
        """Is there nothing to know about it any more?"""
        return self.stands == NOTHING and not self.wanted

    @property
    def is_clear(self) -> bool:
        """Does nothing of ours stand there?"""
        return self.wanted is None or self.is_forgettable

    def stop_wanting(self) -> None:
        """Nothing is wanted here, unless that is somebody else's to say."""
        if self.wanted is not None:
            self.wanted = NOTHING


@dataclass(kw_only=True)
class StatusSync:
    """What `method` sets, in all threads. What takes it away is `nothing`.

    After `lasts` seconds what stands somewhere is set again when it is wanted again. `deserted` says whether
    nobody is at work in a thread; `rested` is called when a thread has what is wanted there.
    """

    web: WebApi
    method: Method
    pace: CallPace
    nothing: str
    lasts: float
    deserted: Callable[[str], bool]
    rested: Callable[[], None]
    _spots: dict[str, ThreadStatus] = field(default_factory=dict)
    _one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)
    _lacking: bool = False
    _closing: bool = False

    @property
    def is_busy(self) -> bool:
        """Is there something that Slack is being told now, or at once?"""
        return any(spot.is_being_set for spot in self._spots.values())

    @property
    def is_clear(self) -> bool:
        """Does it stand nowhere that is ours?"""
        return self._lacking or all(spot.is_clear for spot in self._spots.values())

    @property
    def is_wanted_anywhere(self) -> bool:
        """Is it wanted anywhere?"""
        return any(spot.wanted for spot in self._spots.values())

    def refresh(self, is_wanted: Callable[[str], bool]) -> None:
        """Set again what stands in such a thread for so long that Slack is about to take it away."""
        now = self.web.clock.steady()
        for spot in list(self._spots.values()):
            is_old = spot.wanted and spot.wanted == spot.stands and now - spot.since >= self.lasts
            if is_old and not spot.task and is_wanted(spot.thread):
                spot.stands = None
                self._start(spot)

    def place_of(self, thread: str) -> ConversationOpened | None:
        """Where it may stand there, or is about to; None where it does not. A thread never moves."""
        spot = self._spots.get(thread)
        if spot is None:
            return None
        return spot.place

    def set_text(self, thread: str, place: ConversationOpened, value: str, hold: Hold) -> None:
        """This is to stand there from now on, for as long as the thread is ours."""
        spot = self._spots.get(thread)
        if spot is None:
            if value == NOTHING or self._lacking:
                return
            spot = self._spots[thread] = ThreadStatus(thread=thread, place=place, hold=hold)
        spot.wanted, spot.hold = value, hold
        if value and spot.left:
            spot.left = False
            self._wake(spot)
        if value and value == spot.stands and self.web.clock.steady() - spot.since >= self.lasts:
            spot.stands = None
        self._start(spot)

    def mark_unknown(self, thread: str, place: ConversationOpened, hold: Hold) -> None:
        """Nobody knows what stands there, and nothing is to."""
        spot = self._spots[thread] = ThreadStatus(
            thread=thread, place=place, hold=hold, stands=None, left=True
        )
        self._start(spot)

    def cleared_by_slack(self, thread: str) -> None:
        """Slack has just taken it away there."""
        spot = self._spots.get(thread)
        if spot is None:
            return
        spot.stop_wanting()
        if spot.is_being_set:
            spot.swept = True  # what is on its way may come before or after
        elif spot.stands is not None:
            spot.stands = NOTHING
        if spot.is_forgettable and not spot.task:
            del self._spots[thread]

    async def close(self, seconds: float) -> None:
        """Nothing is wanted anywhere any more: one more try for each thread, for so long in all."""
        self._closing = True
        for spot in self._spots.values():
            spot.stop_wanting()
            self._wake(spot)
        ours = [spot for spot in self._spots.values() if spot.is_stale or spot.task]
        tries = [spot.task or self._begin(spot) for spot in ours]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*tries, return_exceptions=True)
        for late in tries:
            late.cancel()
        await asyncio.gather(*tries, return_exceptions=True)

    def _wake(self, spot: ThreadStatus) -> None:
        """What waits for its slot waits no more; it is begun anew."""
        if spot.task and spot.waits:
            spot.task.cancel()
            spot.task = None

    def _start(self, spot: ThreadStatus) -> None:
        if spot.is_stale and not (spot.task or self._lacking or self._closing):
            self._begin(spot)

    def _begin(self, spot: ThreadStatus) -> asyncio.Task[None]:
        spot.task = asyncio.create_task(self._reach_wanted(spot), name=f"a status of {spot.thread}")
        spot.task.add_done_callback(partial(self._ended, spot))
        return spot.task

    def _ended(self, spot: ThreadStatus, task: asyncio.Task[None]) -> None:
        if spot.task is not task:
            return
        spot.task = None
        if not task.cancelled() and task.exception():
            log.critical("A status is left as it is.", exc_info=task.exception())
            spot.wanted = None
        self._start(spot)
        if not spot.task and (spot.is_forgettable or self._lacking) and self._spots.get(spot.thread) is spot:
            del self._spots[spot.thread]
        self.rested()

    async def _reach_wanted(self, spot: ThreadStatus) -> None:
        """Until it is so. What is wanted may change at each await."""
        failures = 0
        moment = 0.0
        if spot.wanted and spot.stands == NOTHING:
            moment = MOMENT
        while spot.is_stale and not self._lacking:
            await self._take_slot(spot, max(retry_pause(failures + 1), moment))
            moment = 0.0
            if self.pace.is_resting and not self._closing:
                continue
            if spot.is_stale and not self._lacking:
                failures += 1
                if await self._try(spot):
                    failures = 0
            if failures and self._closing:
                return

    async def _take_slot(self, spot: ThreadStatus, least: float) -> None:
        """Wait until it may be told. What a dead daemon left goes one by one, or nobody would see for a
        minute who is at work now."""
        spot.waits = True
        try:
            if spot.left and not self._closing:
                async with self._one_by_one:
                    await self._wait(least)
            else:
                await self._wait(least)
        finally:
            spot.waits = False

    async def _wait(self, least: float) -> None:
        seconds = max(self.pace.take_slot(), least)
        if seconds > 0 and not self._closing:
            await self.web.clock.sleep(seconds)

    async def _try(self, spot: ThreadStatus) -> bool:
        """One request. Until it is answered nobody knows what stands there."""
        value = spot.wanted or NOTHING
        before = spot.stands
        spot.stands = None
        spot.swept = False
        where = {"channel_id": spot.place.channel, "thread_ts": spot.place.ts}
        try:
            await self.web.send_request(spot.hold, self.method, **where, status=value or self.nothing)
        except OUT_OF_REACH:
            return False
        except (FencedError, SlackApiError, JournalError) as error:
            if spot.swept and before is not None:
                before = NOTHING
            spot.stands = before
            return self._failed(spot, error)
        spot.stands = value
        if spot.swept and value != NOTHING:
            spot.stands = None
        spot.since = self.web.clock.steady()
        return True

    def _failed(self, spot: ThreadStatus, error: FencedError | SlackApiError | JournalError) -> bool:
        """What to do about it; is it to be left at that?"""
        if isinstance(error, FencedError):
            # it is for whoever took over to set it right; but where that one is done, it did not know of this
            spot.wanted = None
            if self.deserted(spot.thread):
                spot.wanted, spot.hold = NOTHING, no_lease_check
            return True
        if isinstance(error, JournalError):
            return False
        word = slack_error(error)
        if word in LACKING:
            self._leave_out(word)
        elif word == LIMITED:
            self.pace.pause_for(retry_after(error) or LONGEST_WAIT)
        elif is_permanent(error):
            spot.wanted = None
        return False

    def _leave_out(self, word: str) -> None:
        """Slack will take none of these in this life: its owner is told once, and it is called no more."""
        told = self._lacking or word == MISSING_SCOPE  # the web has said which scope
        self._lacking = True
        if not told:
            log.warning(
                "Slack refuses %s (%s), so it is not called again before a restart. %s",
                *(named(self.method), word, ADVICE),
            )
