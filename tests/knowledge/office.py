"""Conversations straight in a journal, as Slack's inbox and turns write them: for tests of what is known."""

from __future__ import annotations

from typing import Any

from daemon.entry import Entry
from daemon.journal.journal import Journal


class Office:
    """A team whose people talk; each message has a ts of its own."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._ts = 0

    async def open(self, channel: str, audience: str | None = "public", team: str = "T1") -> str:
        """A new conversation in a channel; its thread. `audience` None: an entry of before there was one."""
        ts = self._next()
        body: dict[str, Any] = {"team": team, "channel": channel, "ts": ts, "place": f"#{channel}"}
        body |= {"audience": audience} if audience else {}
        opened, _ = await self.journal.thread(f"thread:{team}:{channel}:{ts}", body)
        return opened.thread

    async def turn(self, channel: str, audience: str, team: str = "T1") -> None:
        """Others can read a channel from now on."""
        body, key = {"team": team, "channel": channel, "audience": audience}, f"audience:{self._next()}"
        await self.journal.append(f"slack:{team}", "audience", body, key=key, author="core")

    async def say(self, thread: str, name: str, text: str, **more: Any) -> Entry:
        """Someone says something to the soul."""
        body = {"address": "dm", "user": f"U{name}", "name": name, "bot": False, "text": text, "files": []}
        return await self._said(thread, "perception", "msg", f"U{name}", body | {"ts": self._next()} | more)

    async def hear(self, thread: str, name: str, text: str, **more: Any) -> Entry:
        """Someone says something around the soul."""
        body = {"user": f"U{name}", "name": name, "bot": False, "text": text, "files": []}
        return await self._said(thread, "heard", "heard", f"U{name}", body | {"ts": self._next()} | more)

    async def edit(self, said: Entry, text: str, changed: str) -> Entry:
        """It reads otherwise now."""
        return await self._change(said, "edited", text, changed)

    async def delete(self, said: Entry) -> Entry:
        """It was taken back."""
        return await self._change(said, "deleted", "", self._next())

    async def speak(self, thread: str, text: str) -> Entry:
        """The soul says something."""
        body = {"ts": self._next(), "text": text, "upto": len(text)}
        return await self._said(thread, "spoken", "say", "soul", body)

    async def write(self, thread: str, kind: str, **body: Any) -> Entry:
        """The soul writes something down."""
        key = f"{thread}@1/{kind}#{self.journal.last()}"
        entry, _ = await self.journal.append(thread, kind, body, key=key)
        return entry

    async def _said(self, thread: str, kind: str, key: str, author: str, body: dict[str, Any]) -> Entry:
        name = f"{key}:{thread}:{body['ts']}"
        entry, _ = await self.journal.append(thread, kind, body, key=name, author=author)
        return entry

    async def _change(self, said: Entry, change: str, text: str, changed: str) -> Entry:
        body = {**said.body, "text": text, "note": change}
        key = f"msg:{said.thread}:{body['ts']}:{change}:{changed}"
        entry, _ = await self.journal.append(said.thread, "heard", body, key=key, author=said.author)
        return entry

    def _next(self) -> str:
        self._ts += 1
        return f"{1_790_000_000 + self._ts * 60}.000100"
