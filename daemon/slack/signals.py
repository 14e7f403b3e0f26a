"""What people tell the soul without a message: a stop, or the press of a button. The inbox's other half.

Committed from what is known: nothing is asked of Slack, and no queue stands before it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from daemon.entry import Entry, rank
from daemon.journal.journal import Journal
from daemon.slack.people import People
from daemon.slack.place import place
from daemon.slack.policy import Allowed, Me
from daemon.slack.press import Press
from daemon.slack.stopping import Stop, heeded, thread_of

log = logging.getLogger(__name__)


class Signals:
    """Turns stops and presses into perceptions. Each method returns the thread to be woken, or None.

    `owners` may always be heard. Raises JournalError.
    """

    def __init__(
        self, journal: Journal, people: People, me: Me, allowed: Allowed, owners: frozenset[str]
    ) -> None:
        self._journal = journal
        self._people = people
        self._me = me
        self._allowed = allowed
        self._owners = owners

    async def stop(self, stop: Stop) -> str | None:
        """Stop what runs in its thread; nothing where nothing runs, or where it is not theirs to stop."""
        opened = thread_of(self._journal, self._me.team, stop)
        if not opened or not heeded(self._journal, opened.thread, stop, self._owners):
            log.debug("%s %s: a stop by %s that stops nothing", stop.channel, stop.ts, stop.by)
            return None
        key = f"stop:{self._me.team}:{stop.channel}:{stop.ts}"
        body = {"rank": "stop", "address": "stop", "text": "", "by": stop.by}
        return await self._append(opened, key, stop, body, self._people.known(stop.user) or stop.user)

    async def press(self, press: Press) -> str | None:
        """Answer its question. Whether this person may answer that one is judged when it is taken."""
        opened = self._journal.latest(press.asked.partition("@")[0], "thread")
        if not opened or place(opened).channel != press.channel:
            log.debug("%s %s: a press that answers nothing", press.channel, press.ts)
            return None
        bar = self._allowed.bar(press.user, press.channel, place(opened).kind)
        if bar and press.user not in self._owners:
            log.debug("%s %s: a press by someone who is %s", press.channel, press.ts, bar)
            return None
        key = f"click:{self._me.team}:{press.channel}:{press.ts}"
        answer = {"answers": press.asked, "value": press.value}
        body = {"rank": "answer", **answer, "address": "press", "text": press.label}
        name = self._people.known(press.user) or self._called(opened, press.user)
        return await self._append(opened, key, press, body, name or press.name or press.user)

    def _called(self, opened: Entry, user: str) -> str:
        """What someone was called when they last said something in this thread; a handle is no name."""
        for said in reversed(self._journal.of(opened.thread, "perception", "heard")):
            if said.author == user and rank(said) == "message":
                return str(said.body.get("name", ""))
        return ""

    async def _append(
        self, opened: Entry, key: str, signal: Stop | Press, body: Mapping[str, Any], name: str
    ) -> str:
        who = {"user": signal.user, "name": name, "bot": False, "ts": signal.ts, "files": []}
        entry, _ = await self._journal.append(
            opened.thread, "perception", {**body, **who}, key=key, author=signal.user, cause=opened.seq
        )
        return entry.thread
