"""One message of a speech: intent, perhaps a stream, receipt.

Only the root thread's turn speaks in a conversation. It streams one message at a time, so an orphan without
a key can be adopted; its parallel contexts never stream, and know each message of theirs by its key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from daemon import kinds
from daemon.engine.event import Entry, digest
from daemon.engine.exceptions import JournalError
from daemon.engine.keys import PART, part_key
from daemon.engine.reading import JournalReader
from daemon.errors import ContentRefused, PostFailed
from daemon.ports import ButtonRow, MessagePage, PostedMessage
from daemon.soul.scope import Scope

DATED = (
    kinds.IncomingMessage,
    kinds.StopRequest,
    kinds.ButtonPress,
    kinds.OverheardMessage,
    kinds.SpeechFinished,
    kinds.SpeechPosted,
)
"""Kinds whose `ts` is Slack's."""
SPEECH_RECEIPT = "receipt"
SPEECH_STARTED = "started"


def speech_key_of(key: str) -> str:
    """The key of the speech that this message, or its receipt, belongs to."""
    message = key.removesuffix(f"{PART}{SPEECH_RECEIPT}")
    speech, _, number = message.rpartition(PART)
    return speech if number.isdigit() else message


def is_broken_off(receipt: Entry[Any] | None) -> bool:
    """Was the message left half said? Then its receipt answers to no text that was to be said."""
    return receipt is not None and not receipt.forgotten and not receipt.event.fingerprint


async def own_messages_since(scope: Scope, intent: Entry[Any] | None) -> list[PostedMessage]:
    """Our messages here since the last that we knew of as this was begun: dates are Slack's own."""
    since = 0.0
    if intent:
        since = last_known_ts(scope.journal, scope.thread, intent.seq)
    return list(await scope.speaker.own_messages(scope.thread, since))


def last_known_ts(journal: JournalReader, thread: str, seq: int) -> float:
    """When the latest was said, by Slack's clock, that was known of this thread before this entry."""
    dated: list[Entry[Any]] = []
    dated += journal.thread_entries(thread, *DATED)
    return max((float(entry.event.ts) for entry in dated if entry.seq < seq), default=0.0)


def ts_of_key(own: Sequence[PostedMessage], keys: Collection[str]) -> str | None:
    """The ts of the message that was posted under one of these keys."""
    known = {digest(key) for key in keys}
    for posted in own:
        if posted.key in known:
            return posted.ts
    return None


class OutgoingMessage:
    """A message of one scope, under its key; not begun until there is something to read."""

    def __init__(self, scope: Scope, key: str) -> None:
        self._key = key
        self._scope = scope
        self._ts: str | None = None
        self._shown = ""
        self._rests = ""
        """How it reads since its stream was ended; its receipt comes with the end of the speech."""
        self._doubt = False
        """Was it begun in this attempt, and nobody knows whether it stands in Slack?"""
        self._grows_since: float | None = None
        """When it was begun here, by the clock that nobody sets."""

    @property
    def intent(self) -> Entry[kinds.SpeechBegan] | None:
        """The entry that began it."""
        return self._scope.ctx.read_back(self._key)

    @property
    def receipt(self) -> Entry[kinds.SpeechFinished | kinds.SpeechDropped] | None:
        """The entry that ended it."""
        return self._scope.ctx.read_back(part_key(self._key, SPEECH_RECEIPT))

    async def take_over(self, said: Entry[kinds.SpeechFinished]) -> Entry[kinds.SpeechFinished]:
        """It was said before a restart, and is not said again."""
        event = replace(said.event, taken_from=said.key)
        return await self._scope.execution.append(event, part_key(self._key, SPEECH_RECEIPT))

    @property
    def is_begun_here(self) -> bool:
        """Was it begun here? What an earlier attempt began, or what is told of an outage, is looked for."""
        return self._grows_since is not None

    def is_open_after(self, call: Entry[Any]) -> bool:
        """True if it was begun before this entry, and did not end before it."""
        intent, receipt = self.intent, self.receipt
        if intent is None or intent.seq > call.seq:
            return False
        return receipt is None or receipt.seq > call.seq

    @property
    def age(self) -> float:
        """Seconds for which it has grown; 0 if it does not grow."""
        if self._grows_since is None:
            return 0.0
        return self._scope.world.clock.steady() - self._grows_since

    async def show(self, text: str) -> None:
        """It reads so by now. An attempt that did not write the intent never streams.

        Showing it early is a nicety: where Slack or the journal does not take it, the model, which is paid
        for, is still heard to its end.
        """
        if self._doubt or self._rests or not text.strip() or not text.startswith(self._shown):
            return
        with suppress(JournalError):
            await self._show(text)

    async def _show(self, text: str) -> None:
        scope, intent = self._scope, await self._intend()
        if not self.is_begun_here:
            return
        if self._ts is None:
            if not scope.may_show_words():
                return
            await self._start(text, intent)
        else:
            await scope.speaker.extend(scope.thread, self._ts, text, scope.hold)
        self._shown = text

    async def stop_growing(self, text: str) -> bool:
        """It reads so and will not grow, while the speech goes on in the next message; may it go on?"""
        await self.show(text)
        if self._ts and not self._rests:
            self._rests = text
            try:
                await self._finish(self._ts, text)
            except PostFailed:
                self._rests = "?"  # it is set right when the speech ends
        return bool(self._rests)

    async def close(
        self,
        page: MessagePage,
        asked: str,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
        refused: str = "",
    ) -> Entry[kinds.SpeechFinished | kinds.SpeechDropped]:
        """It reads so for good; `asked` is the fingerprint of the whole speech, `answers` what it answers.

        Raises ContentRefused. Then it can be closed in another form: `plain`, with another page, or with what
        tells that something was `refused`.
        """
        receipt = self.receipt
        if receipt:
            return receipt
        intent = await self._intend()
        ts = stood = await self.posted_ts()
        if ts is None or page.text != self._rests or choices or plain:
            ts = await self._put(ts, page.text, choices, answers, plain=plain)
        spoken = kinds.SpeechFinished(
            ts=ts, text=page.text, upto=page.upto, fingerprint=asked, refused=refused
        )
        if stood and stood != ts:
            spoken = replace(spoken, replaces=stood)
        return await self._end(spoken, intent)

    async def _put(
        self,
        ts: str | None,
        text: str,
        choices: ButtonRow | None,
        answers: Sequence[str],
        *,
        plain: bool,
    ) -> str:
        """Say it, where it cannot be rewritten in a new message. Raises ContentRefused.

        Whatever an unknown word of Slack's means: before anything else is posted it is looked for.
        """
        scope = self._scope
        try:
            return await self._finish(ts, text, choices, answers, plain=plain)
        except ContentRefused:
            self._doubt, self._rests = True, ""
            if ts is None:
                raise
        return await scope.speaker.replace(
            scope.thread, ts, text, self._key, scope.hold, choices, answers, plain=plain
        )

    async def retract(self, asked: str) -> Entry[kinds.SpeechFinished | kinds.SpeechDropped]:
        """Take it away, so that it is never said; what was said for good stays."""
        receipt = self.receipt
        if receipt:
            return receipt
        scope, ts = self._scope, await self.posted_ts()
        if ts:
            await scope.speaker.retract(scope.thread, ts, self._key, scope.hold)
        return await self._end(kinds.SpeechDropped(fingerprint=asked), await self._intend())

    async def keep_as_is(self, text: str) -> Entry[kinds.SpeechFinished | kinds.SpeechDropped]:
        """It broke off, and stays as it stands in Slack, whatever that is: this text is recorded of it."""
        ts = await self.posted_ts()
        assert ts, "what stands nowhere is unsaid"
        return await self._end(kinds.SpeechFinished(ts=ts, text=text), await self._intend())

    async def record_unsaid(self, asked: str) -> Entry[kinds.SpeechFinished | kinds.SpeechDropped] | None:
        """Nothing of it stands in Slack, and nothing will; `asked` is the fingerprint of the whole speech."""
        intent, receipt = self.intent, self.receipt
        if receipt or not intent:
            return receipt
        return await self._end(kinds.SpeechDropped(fingerprint=asked), intent)

    async def posted_ts(self) -> str | None:
        """The ts of this message, if it stands in Slack: known, recorded, or found there."""
        intent = self.intent
        if self._ts is None and intent and (self._doubt or not self.is_begun_here):
            self._ts = await self._found(intent)
        return self._ts

    async def break_off(
        self, end: str, lost: str, unknown: Callable[[], str]
    ) -> Entry[kinds.SpeechFinished | kinds.SpeechDropped]:
        """It stands in Slack and stays as it is, with this `end`; its receipt.

        Where nothing legible stands there it reads `lost`; without that it goes. Where nobody knows its words
        any more, `unknown` is recorded: Slack shows them in a form of its own.
        """
        text = self._shown if self._rests in ("", "?") else self._rests
        if not text and await self._is_legible():
            intent, scope = await self._intend(), self._scope
            assert self._ts
            text = await scope.speaker.leave_message(scope.thread, self._ts, end, self._key, scope.hold)
            return await self._end(kinds.SpeechFinished(ts=self._ts, text=text or unknown()), intent)
        text += end
        if not text.strip(" …"):
            if not lost:
                return await self.retract("")
            text = lost
        return await self.close(MessagePage(text=text, upto=len(text)), "")

    async def _is_legible(self) -> bool:
        """Does it read anything in Slack?"""
        for posted in await own_messages_since(self._scope, self.intent):
            if posted.ts == self._ts:
                return bool(posted.text.strip(" …"))
        return False

    async def _start(self, text: str, intent: Entry[kinds.SpeechBegan]) -> None:
        scope = self._scope
        try:
            self._ts = await scope.speaker.start(scope.thread, text, self._key, scope.hold)
        except PostFailed:
            self._doubt = True
            return
        started = kinds.SpeechPosted(ts=self._ts)
        await scope.execution.append(started, part_key(self._key, SPEECH_STARTED), cause=intent.seq)

    async def _finish(
        self,
        ts: str | None,
        text: str,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        scope = self._scope
        return await scope.speaker.finish(
            scope.thread, ts, text, self._key, scope.hold, choices, answers, plain=plain
        )

    async def _found(self, intent: Entry[kinds.SpeechBegan]) -> str | None:
        """Its ts: recorded, or that of the message that has its key; else of the one that nobody claims."""
        started: Entry[kinds.SpeechPosted] | None = self._scope.ctx.read_back(
            part_key(self._key, SPEECH_STARTED)
        )
        if started:
            return started.event.ts
        own = await own_messages_since(self._scope, intent)
        known = ts_of_key(own, [self._key])
        if known:
            return known
        if not self._scope.alone:
            return None
        told: list[Entry[Any]] = []
        told += self._scope.journal.thread_entries(
            self._scope.thread, kinds.SpeechFinished, kinds.SpeechPosted
        )
        claimed = {entry.event.ts for entry in told}
        for posted in own:
            if not posted.key and posted.ts not in claimed:
                return posted.ts
        return None

    async def _intend(self) -> Entry[kinds.SpeechBegan]:
        intent = self.intent
        if intent:
            return intent
        self._grows_since = self._scope.world.clock.steady()
        self._scope.ctx.begin_step(self._key)
        return await self._scope.execution.append(kinds.SpeechBegan(), self._key)

    async def _end(
        self, receipt: kinds.SpeechFinished | kinds.SpeechDropped, intent: Entry[kinds.SpeechBegan]
    ) -> Entry[kinds.SpeechFinished | kinds.SpeechDropped]:
        key = part_key(self._key, SPEECH_RECEIPT)
        return await self._scope.execution.append(receipt, key, cause=intent.seq, closes=[intent.seq])
