"""One message to a person: intent, perhaps a stream, receipt. See "Speech" in docs/ARCHITECTURE.md.

Only the root thread's turn speaks in a conversation, one speech at a time; so an orphan can be adopted.
"""

from __future__ import annotations

from daemon.entry import Entry, digest
from daemon.errors import SpeechFailed
from daemon.life.scope import Scope

SKEW = 300.0
"""Seconds by which Slack's clock may stand before ours."""


class Speech:
    """A message of one scope, not begun until there is something to read."""

    def __init__(self, scope: Scope, key: str, lost_words: str) -> None:
        self._scope = scope
        self._lost_words = lost_words
        self._key = key
        self._ts: str | None = None
        self._shown = ""
        self._doubt = False
        """Was it begun in this attempt, and nobody knows whether it stands in Slack?"""

    async def hear(self, text: str) -> None:
        """It reads so by now. An attempt that did not write the intent never streams.

        Showing it early is a nicety: where Slack does not take it, the model is still heard to its end.
        """
        if self._doubt or not text.strip() or not text.startswith(self._shown):
            return
        intent = await self._intend()
        if intent.seq < self._scope.epoch:
            return
        if self._ts is None:
            await self._start(text, intent)
        else:
            await self._scope.world.speaker.extend(self._scope.thread, self._ts, text, self._scope.hold)
        self._shown = text

    async def _start(self, text: str, intent: Entry) -> None:
        scope = self._scope
        try:
            self._ts = await scope.world.speaker.start(scope.thread, text, self._key, scope.hold)
        except SpeechFailed:
            self._doubt = True
            return
        await scope.append("speech-started", {"ts": self._ts}, key=f"{self._key}/started", cause=intent.seq)

    async def close(self, text: str) -> Entry | None:
        """It reads so for good. Nothing to say: a message that stands in Slack gets the owner's sentence."""
        if done := self._scope.read(f"{self._key}/receipt"):
            return done
        begun = self._scope.read(self._key)
        if not (text or begun):
            return None
        intent = begun or await self._intend()
        ts = await self._standing(intent)
        if not text and ts is None:
            return await self._receipt("unsaid", {}, intent)
        text = text or self._lost_words
        ts = await self._scope.world.speaker.finish(self._scope.thread, ts, text, self._key, self._scope.hold)
        return await self._receipt("spoken", {"ts": ts, "text": text}, intent)

    async def settle(self) -> Entry | None:
        """When its body ends early: what stands in Slack is finished as it is, all else is let go."""
        if receipt := self._scope.read(f"{self._key}/receipt"):
            return receipt
        if not (intent := self._scope.read(self._key)):
            return None
        standing = await self._standing(intent)
        own = await self._scope.world.speaker.own(self._scope.thread, intent.at - SKEW)
        text = next((posted.text for posted in own if posted.ts == standing), "")
        return await self.close(f"{text} …" if text else "")

    async def _intend(self) -> Entry:
        return self._scope.read(self._key) or await self._scope.append("speech", {}, key=self._key)

    async def _receipt(self, kind: str, body: dict[str, str], intent: Entry) -> Entry:
        key = f"{self._key}/receipt"
        return await self._scope.append(kind, body, key=key, cause=intent.seq, closes=[intent.seq])

    async def _standing(self, intent: Entry) -> str | None:
        """The ts of this message, if it stands in Slack: known, recorded, or found there."""
        fresh = intent.seq > self._scope.epoch and not self._doubt
        if self._ts or fresh:
            return self._ts
        if started := self._scope.read(f"{self._key}/started"):
            return str(started.body["ts"])
        own = await self._scope.world.speaker.own(self._scope.thread, intent.at - SKEW)
        if keyed := next((posted.ts for posted in own if posted.key == digest(self._key)), None):
            return keyed
        told = self._scope.world.journal.of(self._scope.thread, "spoken", "speech-started")
        claimed = {entry.body["ts"] for entry in told}
        return next((posted.ts for posted in own if not posted.key and posted.ts not in claimed), None)
