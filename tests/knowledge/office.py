"""Conversations in a journal, as Slack's inbox and turns record them."""

from __future__ import annotations

from typing import Any, TypeVar

from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal
from daemon.kinds import (
    AudienceChanged,
    ConversationOpened,
    IncomingMessage,
    OverheardMessage,
    PersonMessage,
    SharedFile,
    SpeechFinished,
)

E = TypeVar("E", bound=Event)


class Office:
    """A team's conversations; each message has its own ts."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._ts = 0

    async def open(
        self, channel: str, audience: str = "public", team: str = "T1", place: str | None = None
    ) -> str:
        ts = self._next()
        opening = ConversationOpened(
            team=team,
            channel=channel,
            ts=ts,
            where="channel",
            place=f"#{channel}" if place is None else place,
            audience=audience,
            user="UAlice",
            called_by=ts,
        )
        opened, _ = await self.journal.open_thread(f"thread:{team}:{channel}:{ts}", opening)
        return opened.thread

    async def turn(self, channel: str, audience: str, team: str = "T1") -> None:
        """Change the audience of a channel."""
        noted = AudienceChanged(team=team, channel=channel, audience=audience)
        await self.journal.append(f"slack:{team}", noted, key=f"audience:{self._next()}", author="core")

    async def say(
        self, thread: str, name: str, text: str, files: tuple[SharedFile, ...] = ()
    ) -> Entry[IncomingMessage]:
        said = IncomingMessage(
            address="dm", user=f"U{name}", name=name, text=text, ts=self._next(), files=files
        )
        entry, _ = await self.journal.append(thread, said, key=f"msg:{thread}:{said.ts}", author=said.user)
        return entry

    async def hear(self, thread: str, name: str, text: str) -> Entry[OverheardMessage]:
        said = OverheardMessage(user=f"U{name}", name=name, text=text, ts=self._next())
        entry, _ = await self.journal.append(thread, said, key=f"heard:{thread}:{said.ts}", author=said.user)
        return entry

    async def edit(
        self, said: Entry[IncomingMessage | OverheardMessage], text: str, changed: str
    ) -> Entry[OverheardMessage]:
        return await self._change(said, "edited", text, changed)

    async def delete(self, said: Entry[IncomingMessage | OverheardMessage]) -> Entry[OverheardMessage]:
        return await self._change(said, "deleted", "", self._next())

    async def speak(self, thread: str, text: str) -> Entry[SpeechFinished]:
        return await self.write(thread, SpeechFinished(ts=self._next(), text=text, upto=len(text)))

    async def write(self, thread: str, event: E) -> Entry[E]:
        key = f"{thread}@1/{event.kind}#{self.journal.last_seq_of_all()}"
        entry, _ = await self.journal.append(thread, event, key=key, author="soul")
        return entry

    async def _change(
        self, said: Entry[PersonMessage], change: str, text: str, changed: str
    ) -> Entry[OverheardMessage]:
        ts, user = said.event.ts, said.event.user
        new = OverheardMessage(user=user, name=said.event.name, text=text, ts=ts, note=change)
        key = f"msg:{said.thread}:{ts}:{change}:{changed}"
        entry, _ = await self.journal.append(said.thread, new, key=key, author=user)
        return entry

    def _next(self) -> str:
        self._ts += 1
        return f"{1_790_000_000 + self._ts * 60}.000100"


async def forget(journal: Journal, entry: Entry[Any]) -> None:
    key = f"forget:{entry.seq}"
    await journal.forget([entry.seq], thread=entry.thread, key=key, why="somebody said so")
