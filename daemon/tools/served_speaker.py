"""Messages of the soul to clients of its MCP server: they are in the journal alone, never in Slack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from daemon.engine.event import root_of
from daemon.engine.execution import Hold
from daemon.engine.journal.journal import Journal
from daemon.kinds import SERVED_CALLER, SERVED_PLACE, ConversationOpened, PlanState
from daemon.ports import ButtonRow, PostedMessage, Speaker
from daemon.turn.speech import last_known_ts

CALLER_NAME = "MCP client"
"""Name of each client in prompts. What a client calls itself could be a person's name."""

SMALLEST_STEP = Decimal("0.000001")

Report = Callable[[str], None]
"""Function that shows a client a line about work in progress; it neither waits nor raises."""


class ServedTimes:
    """Times of messages outside Slack, in Slack's form (ts); in each thread they only grow."""

    def __init__(self, journal: Journal, now: Callable[[], float]) -> None:
        self._journal = journal
        self._now = now
        self._last = Decimal(0)

    def next_ts(self, thread: str) -> str:
        known = Decimal(f"{last_known_ts(self._journal, thread, 2**62):.6f}")
        self._last = max(Decimal(f"{self._now():.6f}"), max(known, self._last) + SMALLEST_STEP)
        return f"{self._last:.6f}"


class ServedSpeaker:
    """Speaker for conversations with clients; `watch` shows a waiting client what goes on."""

    def __init__(self, times: ServedTimes) -> None:
        self.times = times
        self._reports: dict[str, list[Report]] = {}

    def watch(self, thread: str, report: Report) -> Callable[[], None]:
        """Report the work in a thread, until the returned function is called."""
        reports = self._reports.setdefault(thread, [])
        reports.append(report)

        def stop() -> None:
            reports.remove(report)
            if not reports:
                self._reports.pop(thread, None)

        return stop

    def status(self, thread: str, text: str) -> None:
        if text:
            for report in self._reports.get(thread, ()):
                report(text)

    async def put(self, thread: str, ts: str | None, hold: Hold) -> str:
        """Return the ts of a message, which is new without `ts`."""
        await hold()
        return ts or self.times.next_ts(thread)


class RoutedSpeaker:
    """Speaker that says things to clients of the MCP server outside Slack, and all else in Slack.

    It does not derive from Speaker, so that what is not defined here is Slack's.
    """

    def __init__(self, slack: Speaker, served: ServedSpeaker, journal: Journal) -> None:
        self._slack = slack
        self._served = served
        self._journal = journal
        self._known: dict[str, bool] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slack, name)

    def status(self, thread: str, text: str, hold: Hold) -> None:
        if self._is_served(thread):
            self._served.status(thread, text)
        else:
            self._slack.status(thread, text, hold)

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        if self._is_served(thread):
            return await self._served.put(thread, None, hold)
        return await self._slack.start(thread, text, key, hold)

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
        if not self._is_served(thread):
            await self._slack.extend(thread, ts, text, hold)

    async def finish(
        self,
        thread: str,
        ts: str | None,
        text: str,
        key: str,
        hold: Hold,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        if self._is_served(thread):
            return await self._served.put(thread, ts, hold)
        return await self._slack.finish(thread, ts, text, key, hold, choices, answers, plain=plain)

    async def leave_message(self, thread: str, ts: str, end: str, key: str, hold: Hold) -> str:
        if self._is_served(thread):
            return ""
        return await self._slack.leave_message(thread, ts, end, key, hold)

    async def replace(
        self,
        thread: str,
        ts: str,
        text: str,
        key: str,
        hold: Hold,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        if self._is_served(thread):
            return await self._served.put(thread, ts, hold)
        return await self._slack.replace(thread, ts, text, key, hold, choices, answers, plain=plain)

    async def retract(self, thread: str, ts: str, key: str, hold: Hold) -> None:
        if not self._is_served(thread):
            await self._slack.retract(thread, ts, key, hold)

    def report_left_out(self, thread: str, word: str) -> None:
        if not self._is_served(thread):
            self._slack.report_left_out(thread, word)

    async def show_card(self, thread: str, ts: str | None, plan: PlanState, key: str, hold: Hold) -> str:
        if self._is_served(thread):
            return await self._served.put(thread, ts, hold)
        return await self._slack.show_card(thread, ts, plan, key, hold)

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        if not self._is_served(thread):
            await self._slack.whisper(thread, person, text, hold)

    async def name(self, person: str) -> str:
        if person == SERVED_CALLER:
            return CALLER_NAME
        return await self._slack.name(person)

    async def own_messages(self, thread: str, since: float) -> Sequence[PostedMessage]:
        if self._is_served(thread):
            return ()
        return await self._slack.own_messages(thread, since)

    def _is_served(self, thread: str) -> bool:
        root = root_of(thread)
        if root not in self._known:
            opened = self._journal.latest_of_kind(root, ConversationOpened)
            if opened is None:
                return False
            self._known[root] = opened.event.where == SERVED_PLACE
        return self._known[root]
