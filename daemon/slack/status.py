"""What Slack shows while the soul works: words on a status line, and the session's own sign of work.

Slack has two calls. `assistant.threads.setStatus` shows words and clears itself with the answer;
`agents.sessions.setStatus` takes no words (it refuses them) and stays, with a Stop button, until it is set
back. So what stands in Slack is a state to be brought about, whatever happens: no turn waits for it, and
what a dead daemon has left standing is taken away by the next one.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from daemon.engine.exceptions import FencedError, JournalError
from daemon.engine.journal import Journal
from daemon.engine.keys import root_of
from daemon.kinds import ConversationOpened, SoulTurnBegan, StatusCleared
from daemon.ports import Hold
from daemon.slack.place import cached_places, record_workspace_note, workspace_thread
from daemon.slack.sign import NOTHING, CallPace, StatusSync
from daemon.slack.web import WebApi

WORKING, DONE = "processing", "active"
REFRESH = 90.0
"""Seconds after which words that have not changed are shown again: Slack takes them away after 120."""
LOOK = 20.0
"""Seconds between two looks whether words have stood for so long."""
SESSION_BURST, SESSION_EACH = 20, 2.1
"""Below fifty in any minute (tier 3)."""
LINE_BURST, LINE_EACH = 40, 1.1
"""Below a hundred in any minute (tier 4): Slack has a tier of its own for these, which is higher."""
GOODBYE = 3.0
"""Seconds in which a daemon that stops takes away what it has shown."""
MOST = 200
"""Threads, the latest, in which a dead daemon's signs are looked for."""
EACH = 3_600.0
"""Seconds after which it is noted, once nothing is shown, that nothing is."""


class SlackStatus:
    """What is shown in each thread. Never raises and never waits; no refusal of it ever reaches a turn."""

    def __init__(self, web: WebApi, journal: Journal, team: str) -> None:
        self._web = web
        self._journal = journal
        self.place_of = cached_places(journal)
        self._team = team
        self._marking: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._repairing = False
        self._looked = web.clock.steady()
        self._line = StatusSync(
            web=web,
            method=web.client.assistant_threads_setStatus,
            pace=CallPace(web.clock, burst=LINE_BURST, each=LINE_EACH),
            nothing=NOTHING,
            lasts=REFRESH,
            deserted=self._deserted,
            rested=self._record_rest,
        )
        self._session = StatusSync(
            web=web,
            method=web.client.agents_sessions_setStatus,
            pace=CallPace(web.clock, burst=SESSION_BURST, each=SESSION_EACH),
            nothing=DONE,
            lasts=float("inf"),
            deserted=self._deserted,
            rested=self._record_rest,
        )

    @property
    def is_busy(self) -> bool:
        """Is Slack being told something, or at once?"""
        return self._line.is_busy or self._session.is_busy or self._marking is not None

    def begin(self) -> None:
        """Take away what a daemon that was killed may have left standing.

        The lease that its attempt had still holds until there is another attempt, which knows better.
        """
        attempts = self._journal.latest_attempts(since=self._mark())
        for thread, epoch in attempts[-MOST:]:
            place = self._place(thread)
            if place:
                self._repairing = True
                for sign in (self._line, self._session):
                    sign.mark_unknown(thread, place, self._held(thread, epoch))

    async def close(self) -> None:
        """Take away what is still shown, within a moment; what Slack does not take is for the next start."""
        if self._keeping:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await asyncio.gather(self._line.close(GOODBYE), self._session.close(GOODBYE))
        if self._marking:
            await self._marking
        if self._clear and self._journal.latest_attempts(since=self._mark()):
            await self._note(self._journal.last_seq_of_all())

    def show(self, thread: str, text: str, hold: Hold) -> None:
        """These words, and that the session is at work; without words, nothing any more."""
        place = self._line.place_of(thread) or self._session.place_of(thread)
        if place is None and text:
            place = self._place(thread)
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
        """Show words again before Slack takes them away, as long as any are wanted."""
        while self._line.is_wanted_anywhere:
            await self._web.clock.sleep(LOOK)
            self._line.refresh(self._is_at_work)

    def _is_at_work(self, thread: str) -> bool:
        """Does a turn run there, or in a branch of it?"""
        return any(root_of(began.thread) == thread for began in self._journal.pending_entries(SoulTurnBegan))

    def note_reply(self, thread: str) -> None:
        """A new message stands there: with it Slack takes the words away."""
        self._line.cleared_by_slack(thread)

    def _place(self, thread: str) -> ConversationOpened | None:
        """Where this is, if it is in this workspace."""
        try:
            place = self.place_of(thread)
        except LookupError:
            return None
        if place.team != self._team or not place.ts:  # what is said unasked is in no thread
            return None
        return place

    def _held(self, thread: str, epoch: int) -> Hold:
        def hold() -> None:
            if not self._journal.holds_lease(thread, epoch):
                raise FencedError(thread)

        return hold

    def _deserted(self, thread: str) -> bool:
        return not self._journal.pending_entries(SoulTurnBegan, thread=thread)

    @property
    def _clear(self) -> bool:
        return self._line.is_clear and self._session.is_clear

    def _mark(self) -> int:
        """The seq up to which no attempt has left anything standing."""
        for cleared in self._journal.latest_first(workspace_thread(self._team), StatusCleared):
            return cleared.event.upto
        return 0

    def _record_rest(self) -> None:
        """Note now and then that nothing is shown, so that the next start need not look far."""
        passed = self._web.clock.steady() - self._looked
        due = self._repairing or passed >= EACH
        if not due or self._marking or not self._clear or self._journal.pending_entries(SoulTurnBegan):
            return
        self._repairing = False
        self._looked = self._web.clock.steady()
        self._marking = asyncio.create_task(self._note(self._journal.last_seq_of_all()), name="status mark")
        self._marking.add_done_callback(self._marked)

    def _marked(self, _: asyncio.Task[None]) -> None:
        self._marking = None

    async def _note(self, upto: int) -> None:
        with suppress(JournalError):  # then the next start looks further back
            await record_workspace_note(self._journal, self._team, StatusCleared(upto=upto))
