"""One message to a person: intent, perhaps a stream, receipt. See CORE, "Speech and effects".

Only the root thread's turn speaks in a conversation, one speech at a time; so an orphan can be adopted.
"""

from __future__ import annotations

from daemon.entry import Entry, digest
from daemon.life.scope import Scope

SKEW = 300.0
"""Seconds by which Slack's clock may stand before ours."""


class Speech:
    """A message of one scope, not begun until there is something to read."""

    def __init__(self, scope: Scope, lost_words: str, name: str = "say") -> None:
        self._scope = scope
        self._lost_words = lost_words
        self._key = scope.key(name)
        self._ts: str | None = None
        self._shown = ""

    async def hear(self, text: str) -> None:
        """It reads so by now. An attempt that did not write the intent never streams."""
        if not text.strip() or not text.startswith(self._shown):
            return
        intent = await self._intend()
        if intent.seq < self._scope.epoch:
            return
        speaker, thread = self._scope.world.speaker, self._scope.thread
        if self._ts is None:
            self._ts = await speaker.start(thread, text, self._key, self._scope.hold)
            await self._scope.append(
                "speech-started", {"ts": self._ts}, key=f"{self._key}/started", cause=intent.seq
            )
        else:
            await speaker.extend(thread, self._ts, text, self._scope.hold)
        self._shown = text

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
        if self._ts or intent.seq > self._scope.epoch:
            return self._ts
        if started := self._scope.read(f"{self._key}/started"):
            return str(started.body["ts"])
        own = await self._scope.world.speaker.own(self._scope.thread, intent.at - SKEW)
        if keyed := next((posted.ts for posted in own if posted.key == digest(self._key)), None):
            return keyed
        told = self._scope.world.journal.of(self._scope.thread, "spoken", "speech-started")
        claimed = {entry.body["ts"] for entry in told}
        return next((posted.ts for posted in own if not posted.key and posted.ts not in claimed), None)
