"""One message of a speech: intent, perhaps a stream, receipt. Made by speech.py.

Only the root thread's turn speaks in a conversation, one message at a time; so an orphan can be adopted.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from daemon.entry import Entry, digest
from daemon.errors import JournalError, SpeechFailed
from daemon.life.scope import Scope
from daemon.ports import Choices, Page, Posted

DATED = ("perception", "heard", "spoken", "speech-started")
"""Kinds whose `ts` is Slack's."""


class Message:
    """A message of one scope, under its key; not begun until there is something to read."""

    def __init__(self, scope: Scope, key: str) -> None:
        self._scope = scope
        self._key = key
        self._ts: str | None = None
        self._shown = ""
        self._rests = ""
        """How it reads since its stream was ended; its receipt comes with the end of the speech."""
        self._doubt = False
        """Was it begun in this attempt, and nobody knows whether it stands in Slack?"""
        self._grows_since: float | None = None
        """When it was begun here, by the clock that nobody sets."""

    @property
    def intent(self) -> Entry | None:
        """The entry that began it."""
        return self._scope.read(self._key)

    @property
    def receipt(self) -> Entry | None:
        """The entry that ended it."""
        return self._scope.read(f"{self._key}/receipt")

    @property
    def fresh(self) -> bool:
        """Was it begun by this attempt?"""
        return self.intent is not None and self.intent.seq > self._scope.epoch

    @property
    def age(self) -> float:
        """Seconds for which it has grown; 0 if it does not grow."""
        return 0.0 if self._grows_since is None else self._scope.world.clock.steady() - self._grows_since

    async def hear(self, text: str) -> None:
        """It reads so by now. An attempt that did not write the intent never streams.

        Showing it early is a nicety: where Slack or the journal does not take it, the model, which is paid
        for, is still heard to its end.
        """
        if self._doubt or self._rests or not text.strip() or not text.startswith(self._shown):
            return
        with suppress(JournalError):
            await self._show(text)

    async def _show(self, text: str) -> None:
        intent = await self._intend()
        if not self.fresh:
            return
        if self._ts is None:
            await self._start(text, intent)
        else:
            await self._scope.world.speaker.extend(self._scope.thread, self._ts, text, self._scope.hold)
        self._shown = text

    async def rest(self, text: str) -> bool:
        """It reads so and will not grow, while the speech goes on in the next message; may it go on?"""
        await self.hear(text)
        if self._ts and not self._rests:
            self._rests = text
            try:
                await self._finish(self._ts, text)
            except SpeechFailed:
                self._rests = "?"  # it is set right when the speech ends
        return bool(self._rests)

    async def close(self, page: Page, choices: Choices | None = None) -> Entry:
        """It reads so for good."""
        if self.receipt:
            return self.receipt
        intent = await self._intend()
        ts = await self.standing()
        if ts is None or page.text != self._rests or choices:
            ts = await self._finish(ts, page.text, choices)
        return await self._receipt("spoken", {"ts": ts, "text": page.text, "upto": page.upto}, intent)

    async def unsay(self) -> Entry | None:
        """Nothing of it stands in Slack, and nothing will."""
        if self.receipt or not self.intent:
            return self.receipt
        return await self._receipt("unsaid", {}, self.intent)

    async def standing(self) -> str | None:
        """The ts of this message, if it stands in Slack: known, recorded, or found there."""
        if self._ts is None and self.intent and (self._doubt or not self.fresh):
            self._ts = await self._found(self.intent)
        return self._ts

    async def read(self) -> str:
        """How it reads in Slack now."""
        return next((posted.text for posted in await self._own() if posted.ts == self._ts), "")

    async def _start(self, text: str, intent: Entry) -> None:
        scope = self._scope
        try:
            self._ts = await scope.world.speaker.start(scope.thread, text, self._key, scope.hold)
        except SpeechFailed:
            self._doubt = True
            return
        await scope.append("speech-started", {"ts": self._ts}, key=f"{self._key}/started", cause=intent.seq)

    async def _finish(self, ts: str | None, text: str, choices: Choices | None = None) -> str:
        scope = self._scope
        return await scope.world.speaker.finish(scope.thread, ts, text, self._key, scope.hold, choices)

    async def _found(self, intent: Entry) -> str | None:
        if started := self._scope.read(f"{self._key}/started"):
            return str(started.body["ts"])
        own = await self._own()
        if keyed := next((posted.ts for posted in own if posted.key == digest(self._key)), None):
            return keyed
        told = self._scope.world.journal.of(self._scope.thread, "spoken", "speech-started")
        claimed = {entry.body["ts"] for entry in told}
        return next((posted.ts for posted in own if not posted.key and posted.ts not in claimed), None)

    async def _own(self) -> list[Posted]:
        """Our messages here since the last that we knew of as we began this one: dates are Slack's own."""
        known = self._scope.world.journal.of(self._scope.thread, *DATED)
        before = [entry for entry in known if self.intent and entry.seq < self.intent.seq]
        since = max((float(entry.body["ts"]) for entry in before if _dated(entry)), default=0.0)
        return list(await self._scope.world.speaker.own(self._scope.thread, since))

    async def _intend(self) -> Entry:
        if intent := self.intent:
            return intent
        self._grows_since = self._scope.world.clock.steady()
        return await self._scope.append("speech", {}, key=self._key)

    async def _receipt(self, kind: str, body: Mapping[str, Any], intent: Entry) -> Entry:
        key = f"{self._key}/receipt"
        return await self._scope.append(kind, body, key=key, cause=intent.seq, closes=[intent.seq])


def _dated(entry: Entry) -> bool:
    """Has Slack dated it? A reminder's `ts` is our own."""
    return "ts" in entry.body and entry.body.get("address") != "timer"
