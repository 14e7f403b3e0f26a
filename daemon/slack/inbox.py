"""The durable inbox: a message is in the journal before Slack gets its ack. Bolt's one global middleware.

Everything is acked, but for what the journal could not take: that Slack sends again. What catch-up reads
comes in here, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from slack_bolt.async_app import AsyncBoltContext
from slack_bolt.response import BoltResponse

from daemon.entry import Entry
from daemon.errors import JournalError
from daemon.journal.journal import Journal
from daemon.slack.audience import Audiences, changed_in
from daemon.slack.message import Malformed, Message, message_of, part, stamp
from daemon.slack.order import Order
from daemon.slack.people import People
from daemon.slack.place import moment, place, thread_key
from daemon.slack.policy import Allowed, Me, Verdict, judge
from daemon.slack.press import presses_of
from daemon.slack.signals import Signals
from daemon.slack.stopping import meant, stop_of
from daemon.slack.words import command

EARLY = 200
"""Replies in threads without the soul that are remembered for a while: Slack promises no order."""

log = logging.getLogger(__name__)


class Inbox:
    """Turns envelopes into entries until it is closed. `wake` makes a thread take its turn.

    `owners` are the ids of those who may stop anything.
    """

    def __init__(
        self,
        journal: Journal,
        people: People,
        me: Me,
        allowed: Allowed,
        wake: Callable[[str], None],
        owners: frozenset[str],
    ) -> None:
        self._journal = journal
        self._people = people
        self._me = me
        self._allowed = allowed
        self._wake = wake
        self._audiences = Audiences(journal, people, me.team)
        self._signals = Signals(journal, people, me, allowed, owners)
        self._order = Order()
        self._early: deque[tuple[str, Message]] = deque(maxlen=EARLY)
        self._open = True
        self._taking = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def close(self) -> None:
        """Take nothing more, and wait for what is being taken."""
        self._open = False
        await self._idle.wait()

    async def receive(self, body: dict[str, Any], context: AsyncBoltContext) -> BoltResponse:
        """Take one envelope: decide, commit, wake, ack."""
        if not self._open:
            return BoltResponse(status=503)
        self._taking += 1
        self._idle.clear()
        try:
            await self._take(body)
        except JournalError as error:
            log.error("A message could not be written to the journal; Slack will send it again. %s", error)
            return BoltResponse(status=503)
        finally:
            self._taking -= 1
            if not self._taking:
                self._idle.set()
        return await context.ack()

    async def _take(self, body: Mapping[str, Any]) -> None:
        try:
            match body.get("type"):
                case "app_rate_limited":
                    log.warning("Slack is holding back events: this workspace sends more than it allows.")
                case "block_actions":
                    for press in list(presses_of(body)):
                        self._rouse(await self._signals.press(press))
                case "event_callback":
                    await self._event(part(body, "event"))
        except Malformed as fault:
            log.warning("Slack sent an event that cannot be read: %s.", fault)

    async def _event(self, event: Mapping[str, Any]) -> None:
        if stop := stop_of(event):
            self._rouse(await self._signals.stop(stop))
        elif message := message_of(event):
            self._rouse(*await self._message(message))
        elif channel := changed_in(event):
            await self._audiences.changed(channel, stamp(event, "event_ts"))

    def _rouse(self, *threads: str | None) -> None:
        for thread in filter(None, threads):
            self._wake(thread)

    async def recover(self, message: Message, *, late: bool) -> set[str]:
        """Take what catch-up found; `late` if it is too old to be answered. Which thread is to be woken now?

        Raises JournalError.
        """
        where = self._where(message)
        if self._journal.get(f"msg:{where}") or self._journal.get(f"heard:{where}"):
            return set()
        return await self._message(message, late=late)

    async def _message(self, message: Message, *, late: bool = False) -> set[str]:
        """One message of a thread at a time: a reply is judged when the call that it follows is written.

        But where the soul is at work a stop waits for no other.
        """
        message = meant(self._journal, message) if self._urgent(message) else message
        key = thread_key(self._me.team, message.channel, message.root)
        if self._urgent(message) and self._at_work(key):
            return await self._judge(key, message, late=late)
        async with self._order.of(key):
            woken = await self._judge(key, message, late=late)
            if thread := self._journal.get(key):
                woken |= await self._again(thread)
            elif message.root != message.ts:
                self._early.append((key, message))
            return woken

    async def _judge(self, key: str, message: Message, *, late: bool = False) -> set[str]:
        known = self._journal.get(key)
        called_by = place(known).called_by if known else None
        verdict = judge(message, self._me, self._allowed, called_by, late=late)
        log.debug("%s %s: %s, %s", message.channel, message.ts, verdict.address, verdict.why)
        if verdict.address == "ignored":
            return set()
        body = await self._people.describe(message, at_once=self._urgent(message))
        if known and not self._urgent(message):
            await self._audiences.note(message)
        entry = await self._append(known or await self._thread(key, message), message, verdict, body)
        return {entry.thread} if entry.kind == "perception" else set()

    def _urgent(self, message: Message) -> bool:
        return command(message, self._me).get("rank") == "stop"

    def _at_work(self, key: str) -> bool:
        thread = self._journal.get(key)
        return bool(thread and self._journal.open("turn-began", thread=thread.thread))

    async def _again(self, thread: Entry) -> set[str]:
        """Judge again the replies that came before the call they follow; older ones are the history's."""
        called, woken = moment(place(thread).called_by), set[str]()
        for early in [one for one in self._early if one[0] == thread.key and moment(one[1].ts) > called]:
            woken |= await self._judge(*early)
            with suppress(ValueError):  # younger ones pushed it out meanwhile
                self._early.remove(early)
        return woken

    async def _thread(self, key: str, message: Message) -> Entry:
        """The thread that this message opens."""
        where = await self._people.whereabouts(message)
        body = {
            "team": self._me.team,
            "channel": message.channel,
            "ts": message.root,
            "kind": where.kind,
            "place": where.name,
            "audience": where.audience,
            "user": message.author,
            "called_by": message.ts,
        }
        entry, _ = await self._journal.thread(key, body)
        self._audiences.noted(entry)
        return entry

    async def _append(self, thread: Entry, message: Message, verdict: Verdict, body: dict[str, Any]) -> Entry:
        where = self._where(message)
        if message.change:
            kind, key = "heard", f"msg:{where}:{message.change}:{message.changed}"
            body |= {"note": message.change}
        elif verdict.address == "heard":
            kind, key = "heard", f"heard:{where}"
        elif verdict.address == "late":
            kind, key = "heard", f"msg:{where}"  # where an event that comes after all finds it
            body |= {"note": "not answered"}
        else:
            kind, key = "perception", f"msg:{where}"
            body |= {"address": verdict.address, **command(message, self._me)}
        entry, _ = await self._journal.append(
            thread.thread, kind, body, key=key, author=message.author, cause=thread.seq
        )
        return entry

    def _where(self, message: Message) -> str:
        """What the keys of a message name it by. An event of a shared channel may name another team."""
        return f"{self._me.team}:{message.channel}:{message.ts}"
