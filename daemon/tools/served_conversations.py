"""Conversations with clients of the soul's MCP server: answered as any other, but only in the journal.

Each has a channel of its own that nobody else reads. What is said there is found nowhere else; known there is
what everyone in the workspace may know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Input, InputRank, of_kind, root_of
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import ThreadSpawned
from daemon.kinds import (
    SERVED_CALLER,
    SERVED_PLACE,
    ConversationOpened,
    IncomingMessage,
    SpeechFinished,
    StopRequest,
    thread_key,
)
from daemon.tools.served_speaker import CALLER_NAME, Report, ServedSpeaker

PLACE_NAME = "a conversation with an MCP client"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedAnswer:
    """Words of the soul since a message; `is_whole`: it says no more for now."""

    thread: str
    text: str
    is_whole: bool


class ServedConversations:
    """Conversations of clients. `team` returns the workspace, `wake` is given a thread with a new input."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        speaker: ServedSpeaker,
        team: Callable[[], str],
        wake: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._speaker = speaker
        self._team = team
        self._wake = wake

    def has(self, thread: str) -> bool:
        opened = self._journal.latest_of_kind(thread, ConversationOpened)
        return opened is not None and opened.event.where == SERVED_PLACE

    def last_message(self, thread: str) -> Entry[IncomingMessage] | None:
        return self._journal.latest_of_kind(thread, IncomingMessage)

    async def open(self, call: int, text: str) -> Entry[IncomingMessage]:
        """Begin a conversation with this message, in one commit; `call` is the seq of the call that asks.

        Raises JournalError.
        """
        team, channel = self._team(), f"mcp-{call}"
        opened = ConversationOpened(
            team=team,
            channel=channel,
            ts="",
            where=SERVED_PLACE,
            place=PLACE_NAME,
            audience="private",
            user=SERVED_CALLER,
            called_by="",
        )
        key, said = thread_key(team, channel, ""), self._message(channel, text)
        first_key = f"msg:{team}:{channel}:{said.ts}"
        _, first = await self._journal.open_with(key, opened, said, first_key=first_key, author=SERVED_CALLER)
        self._wake(first.thread)
        return first

    async def say(self, thread: str, text: str) -> Entry[IncomingMessage]:
        """Continue a conversation. Raises JournalError."""
        opened = self._journal.latest_of_kind(thread, ConversationOpened)
        assert opened
        said = self._message(thread, text)
        key = f"msg:{opened.event.team}:{opened.event.channel}:{said.ts}"
        entry, _ = await self._journal.append(thread, said, key=key, author=SERVED_CALLER, cause=opened.seq)
        self._wake(thread)
        return entry

    def _message(self, thread: str, text: str) -> IncomingMessage:
        ts = self._speaker.times.next_ts(thread)
        return IncomingMessage(user=SERVED_CALLER, name=CALLER_NAME, text=text, ts=ts, address="dm")

    async def stop(self, thread: str) -> None:
        """Stop the work on a conversation, if there is any. Raises JournalError."""
        if not self._is_at_work(thread):
            return
        ts = self._speaker.times.next_ts(thread)
        stop = StopRequest(user=SERVED_CALLER, name=CALLER_NAME, text="", ts=ts, address="dm", by="button")
        await self._journal.append(thread, stop, key=f"stop:{thread}:{ts}", author=SERVED_CALLER)
        self._wake(thread)

    async def wait_for_answer(
        self, message: Entry[IncomingMessage], seconds: float, report: Report
    ) -> ServedAnswer:
        """Wait until the soul has answered, at most some `seconds`. `report` is told what it does."""
        thread = message.thread
        unwatch = self._speaker.watch(thread, report)
        resting = asyncio.create_task(self._rest(thread))
        ends = {resting, asyncio.create_task(self._clock.sleep(seconds))}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            is_whole = resting.done() and not resting.cancelled()
        finally:
            unwatch()
            for end in ends:
                end.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*ends, return_exceptions=True)
        return ServedAnswer(thread=thread, text=self._said_since(message), is_whole=is_whole)

    async def _rest(self, thread: str) -> None:
        while True:
            changed = self._journal.next_change
            if not self._is_at_work(thread):
                return
            await changed.wait()

    def _is_at_work(self, thread: str) -> bool:
        """True if an input or branch of this conversation is pending. Background tasks do not count."""
        pending: list[Entry[Any]] = self._journal.pending_entries(Input, ThreadSpawned)
        return any(_is_awaited(entry) for entry in pending if root_of(entry.thread) == thread)

    def _said_since(self, message: Entry[IncomingMessage]) -> str:
        said = self._journal.thread_entries(message.thread, SpeechFinished, since=message.seq)
        return "\n\n".join(one.event.text for one in of_kind(SpeechFinished, said) if one.event.text)


def _is_awaited(entry: Entry[Any]) -> bool:
    return not isinstance(entry.event, Input) or entry.event.rank is not InputRank.AFTER
