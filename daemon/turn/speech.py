"""Speech: words at one place of an execution, in one or more Slack messages.

A message has an intent, perhaps a stream, and a receipt. Streams have no key; so only the root's turn
streams, one message at a time, and a crash leaves at most one message unknown. Parallel contexts post with
keys. A page that Slack refuses is halved, at most twice, then posted as plain text.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from daemon.engine.event import PART, Entry, digest, fingerprint, of_kind, part_key
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.reader import JournalReader
from daemon.errors import ContentRefused, PostFailed, PostRefused
from daemon.kinds import (
    ButtonPress,
    IncomingMessage,
    OverheardMessage,
    SpeechBegan,
    SpeechDropped,
    SpeechFinished,
    SpeechPosted,
    StopRequest,
)
from daemon.ports import ButtonRow, MessagePage, PostedMessage, Speaker
from daemon.prompts.elements import fill_placeholders
from daemon.turn.owner_alerts import report_slack_refusal
from daemon.turn.turn import SENTENCES, UNKNOWN_OUTCOME, Turn

MOST_HALVINGS = 2
"""Most halvings of a refused page before it is posted as plain text."""


LEAST_HALF = 200
"""Least characters of a half of a page."""


MOST_PLAIN_CHARACTERS = 3_500
"""Most characters of a plain page; Slack's edits take 4,000."""


class PageQueue:
    """Pages of a text to post; the caller reports each as said or refused."""

    def __init__(self, speaker: Speaker, text: str, pages: Sequence[MessagePage]) -> None:
        self._speaker = speaker
        self._text = text
        self._left = list(pages)
        self._ends: list[int] = []
        self._refused_upto = 0
        self._halvings = 0
        self.plain = False

    def __bool__(self) -> bool:
        return bool(self._left)

    @property
    def next_page(self) -> MessagePage:
        return self._left[0]

    @property
    def is_last(self) -> bool:
        return len(self._left) == 1

    @property
    def _since(self) -> int:
        return self._ends[-1] if self._ends else 0

    def mark_said(self) -> None:
        self._ends.append(self._left.pop(0).upto)
        if self._since >= self._refused_upto:
            self.plain = False
            self._halvings = 0

    def try_other_form(self) -> bool:
        """Prepare another form of a refused page; False if none is left."""
        if self.plain:
            return self._divide()
        if self._since >= self._refused_upto:
            self._refused_upto = self.next_page.upto
        if self._halvings < MOST_HALVINGS and self._divide():
            self._halvings += 1
        else:
            self.plain = True
            self._cut(self._plain_ends())
        return True

    def _divide(self) -> bool:
        if self.next_page.upto - self._since < 2 * LEAST_HALF:
            return False
        half = (self._since + self.next_page.upto) // 2
        pages = len(self._left)
        self._cut([self._speaker.page_end(self._text[:half], self._since), self.next_page.upto])
        return len(self._left) > pages

    def _plain_ends(self) -> list[int]:
        ends, since = list[int](), self._since
        while self._refused_upto - since > MOST_PLAIN_CHARACTERS:
            since = self._speaker.page_end(self._text[: since + MOST_PLAIN_CHARACTERS], since)
            ends.append(since)
        return [*ends, self._refused_upto]

    def _cut(self, ends: Sequence[int]) -> None:
        after = [page.upto for page in self._left if page.upto > ends[-1]]
        pages = self._speaker.pages(self._text, [*self._ends, *ends, *after])
        self._left = list(pages[len(self._ends) :])


KINDS_WITH_TS = (
    IncomingMessage,
    StopRequest,
    ButtonPress,
    OverheardMessage,
    SpeechFinished,
    SpeechPosted,
)
"""Kinds of entries that have a `ts` of Slack."""


SPEECH_RECEIPT = "receipt"


SPEECH_STARTED = "started"


def speech_key_of(key: str) -> str:
    """Return the key of a speech, given that of a message or receipt."""
    message = key.removesuffix(f"{PART}{SPEECH_RECEIPT}")
    speech, _, number = message.rpartition(PART)
    return speech if number.isdigit() else message


def is_broken_off(receipt: Entry[Any] | None) -> bool:
    """True if the message broke off: its receipt has no fingerprint."""
    return receipt is not None and not receipt.forgotten and not receipt.event.fingerprint


async def own_messages_since(turn: Turn, intent: Entry[Any] | None) -> list[PostedMessage]:
    """Return the soul's messages since the last one known before `intent`, in Slack's order."""
    since = 0.0
    if intent:
        since = last_known_ts(turn.journal, turn.thread, intent.seq)
    return list(await turn.speaker.own_messages(turn.thread, since))


def last_known_ts(journal: JournalReader, thread: str, seq: int) -> float:
    """Return the latest ts in the thread known before an entry."""
    dated: list[Entry[Any]] = []
    dated += journal.thread_entries(thread, *KINDS_WITH_TS)
    return max((float(entry.event.ts) for entry in dated if entry.seq < seq), default=0.0)


def ts_of_key(own: Sequence[PostedMessage], keys: Collection[str]) -> str | None:
    """Return the ts of the message that carries one of these keys; None if there is none."""
    known = {digest(key) for key in keys}
    for posted in own:
        if posted.key in known:
            return posted.ts
    return None


class OutgoingMessage:
    """One Slack message of a speech: its intent, perhaps a stream, and its receipt."""

    def __init__(self, turn: Turn, key: str) -> None:
        self._key = key
        self._turn = turn
        self._ts: str | None = None
        self._shown = ""
        self._rests = ""
        self._doubt = False
        """True if this attempt began the message, but it may not be in Slack."""
        self._grows_since: float | None = None

    @property
    def intent(self) -> Entry[SpeechBegan] | None:
        return self._turn.ctx.read_back(self._key)

    @property
    def receipt(self) -> Entry[SpeechFinished | SpeechDropped] | None:
        return self._turn.ctx.read_back(part_key(self._key, SPEECH_RECEIPT))

    async def take_over(self, said: Entry[SpeechFinished]) -> Entry[SpeechFinished]:
        event = replace(said.event, taken_from=said.key)
        return await self._turn.execution.append(event, part_key(self._key, SPEECH_RECEIPT))

    @property
    def is_begun_here(self) -> bool:
        """True if this attempt began the message; others must be searched for in Slack."""
        return self._grows_since is not None

    def is_open_after(self, call: Entry[Any]) -> bool:
        intent, receipt = self.intent, self.receipt
        if intent is None or intent.seq > call.seq:
            return False
        return receipt is None or receipt.seq > call.seq

    @property
    def age(self) -> float:
        """Seconds that the message has grown in this attempt."""
        if self._grows_since is None:
            return 0.0
        return self._turn.deps.clock.steady() - self._grows_since

    async def show(self, text: str) -> None:
        """Show the text so far. Errors are ignored: the answer is paid for and must be read to its end.

        Only the attempt that recorded the intent to speak shows text; a later attempt does not.
        """
        if self._doubt or self._rests or not text.strip() or not text.startswith(self._shown):
            return
        with suppress(JournalError):
            await self._show(text)

    async def _show(self, text: str) -> None:
        turn, intent = self._turn, await self._intend()
        if not self.is_begun_here:
            return
        if self._ts is None:
            if not turn.may_show_words():
                return
            await self._start(text, intent)
        else:
            await turn.speaker.extend(turn.thread, self._ts, text, turn.check_lease)
        self._shown = text

    async def stop_growing(self, text: str) -> bool:
        """Stop its growth, as the speech continues in the next message; False if impossible."""
        await self.show(text)
        if self._ts and not self._rests:
            self._rests = text
            try:
                await self._finish(self._ts, text)
            except PostFailed:
                self._rests = "?"
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
    ) -> Entry[SpeechFinished | SpeechDropped]:
        """Finish the message. `asked` is the fingerprint of the speech, `answers` the ts of messages
        answered.

        After ContentRefused, close it in another form: `plain` text, another page, or a note on what was
        `refused`.
        """
        receipt = self.receipt
        if receipt:
            return receipt
        intent = await self._intend()
        ts = stood = await self.posted_ts()
        if ts is None or page.text != self._rests or choices or plain:
            ts = await self._put(ts, page.text, choices, answers, plain=plain)
        spoken = SpeechFinished(ts=ts, text=page.text, upto=page.upto, fingerprint=asked, refused=refused)
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
        """Post the text; if an edit is refused, as a new message. Raises ContentRefused.

        After a refusal, Slack is searched before anything is posted.
        """
        turn = self._turn
        try:
            return await self._finish(ts, text, choices, answers, plain=plain)
        except ContentRefused:
            self._doubt, self._rests = True, ""
            if ts is None:
                raise
        return await turn.speaker.replace(
            turn.thread, ts, text, self._key, turn.check_lease, choices, answers, plain=plain
        )

    async def retract(self, asked: str) -> Entry[SpeechFinished | SpeechDropped]:
        receipt = self.receipt
        if receipt:
            return receipt
        turn, ts = self._turn, await self.posted_ts()
        if ts:
            await turn.speaker.retract(turn.thread, ts, self._key, turn.check_lease)
        return await self._end(SpeechDropped(fingerprint=asked), await self._intend())

    async def keep_as_is(self, text: str) -> Entry[SpeechFinished | SpeechDropped]:
        """Record a message that broke off as it is, with this text."""
        ts = await self.posted_ts()
        assert ts, "a message that broke off is in Slack"
        return await self._end(SpeechFinished(ts=ts, text=text), await self._intend())

    async def record_unsaid(self, asked: str) -> Entry[SpeechFinished | SpeechDropped] | None:
        """Record that the message is not in Slack; None if it is."""
        intent, receipt = self.intent, self.receipt
        if receipt or not intent:
            return receipt
        return await self._end(SpeechDropped(fingerprint=asked), intent)

    async def posted_ts(self) -> str | None:
        intent = self.intent
        if self._ts is None and intent and (self._doubt or not self.is_begun_here):
            self._ts = await self._found(intent)
        return self._ts

    async def break_off(
        self, end: str, lost: str, unknown: Callable[[], str]
    ) -> Entry[SpeechFinished | SpeechDropped]:
        """Finish a message that broke off with `end`; return its receipt.

        An illegible one gets the text `lost` or, if that is empty, is deleted. `unknown` returns a record for
        forgotten words.
        """
        text = self._shown if self._rests in ("", "?") else self._rests
        if not text and await self._is_legible():
            intent, turn = await self._intend(), self._turn
            assert self._ts
            text = await turn.speaker.leave_message(turn.thread, self._ts, end, self._key, turn.check_lease)
            return await self._end(SpeechFinished(ts=self._ts, text=text or unknown()), intent)
        text += end
        if not text.strip(" …"):
            if not lost:
                return await self.retract("")
            text = lost
        return await self.close(MessagePage(text=text, upto=len(text)), "")

    async def _is_legible(self) -> bool:
        for posted in await own_messages_since(self._turn, self.intent):
            if posted.ts == self._ts:
                return bool(posted.text.strip(" …"))
        return False

    async def _start(self, text: str, intent: Entry[SpeechBegan]) -> None:
        turn = self._turn
        try:
            self._ts = await turn.speaker.start(turn.thread, text, self._key, turn.check_lease)
        except PostFailed:
            self._doubt = True
            return
        started = SpeechPosted(ts=self._ts)
        await turn.execution.append(started, part_key(self._key, SPEECH_STARTED), cause=intent.seq)

    async def _finish(
        self,
        ts: str | None,
        text: str,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        turn = self._turn
        return await turn.speaker.finish(
            turn.thread, ts, text, self._key, turn.check_lease, choices, answers, plain=plain
        )

    async def _found(self, intent: Entry[SpeechBegan]) -> str | None:
        """Return the message's ts: recorded, found by its key, or that of the only message without a known
        key.
        """
        started: Entry[SpeechPosted] | None = self._turn.ctx.read_back(part_key(self._key, SPEECH_STARTED))
        if started:
            return started.event.ts
        own = await own_messages_since(self._turn, intent)
        known = ts_of_key(own, [self._key])
        if known:
            return known
        if not self._turn.alone:
            return None
        told: list[Entry[Any]] = []
        told += self._turn.journal.thread_entries(self._turn.thread, SpeechFinished, SpeechPosted)
        claimed = {entry.event.ts for entry in told}
        for posted in own:
            if not posted.key and posted.ts not in claimed:
                return posted.ts
        return None

    async def _intend(self) -> Entry[SpeechBegan]:
        intent = self.intent
        if intent:
            return intent
        self._grows_since = self._turn.deps.clock.steady()
        self._turn.ctx.begin_step(self._key)
        return await self._turn.execution.append(SpeechBegan(), self._key)

    async def _end(
        self, receipt: SpeechFinished | SpeechDropped, intent: Entry[SpeechBegan]
    ) -> Entry[SpeechFinished | SpeechDropped]:
        key = part_key(self._key, SPEECH_RECEIPT)
        return await self._turn.execution.append(receipt, key, cause=intent.seq, closes=[intent.seq])


MOST_STREAM_SECONDS = 225.0
"""Seconds until a stream continues in a new message; Slack ends streams after 300."""


BROKEN_OFF_END = " …"
"""Ending of a message that broke off."""


class Speech:
    """A speech; its messages have the keys `key`, `key!2` and so on.

    `half_said` is recorded for unknown words in Slack; `unsayable` replaces words that Slack refuses in every
    form.
    """

    def __init__(
        self,
        turn: Turn,
        key: str,
        lost_words: str,
        half_said: Callable[[], str],
        unsayable: Callable[[], str],
    ) -> None:
        self._turn = turn
        self._key = key
        self._lost_words = lost_words
        self._half_said = half_said
        self._unsayable = unsayable
        self._read_back()
        self._messages: list[OutgoingMessage] = []
        self._broken_off = 0
        self._heard = ""
        self._taken_back = False
        self._whole: list[MessagePage] = []
        self._cuts: list[int] = []

    def _read_back(self) -> None:
        """Read the recorded steps of the speech: while steps are unread, a turn takes no new input, not even
        a stop.
        """
        key, number = self._key, 1
        while self._turn.ctx.read_back(key):
            self._turn.ctx.read_back(part_key(key, SPEECH_STARTED))
            self._turn.ctx.read_back(part_key(key, SPEECH_RECEIPT))
            number += 1
            key = part_key(self._key, str(number))

    async def update(self, text: str) -> None:
        """Show the text so far, if it continues the text shown.

        Not after a restart, since it may have been said before, nor in parallel contexts, since streams have
        no key.
        """
        if self._turn.execution.restart_log or not self._turn.alone:
            return
        self._begin_after_a_break()
        text = text.lstrip()
        if self._heard and not text:
            await self._take_back()
        if self._taken_back or not text or not text.startswith(self._heard):
            return
        self._heard = text
        *whole, growing = self._turn.speaker.pages(text, self._cuts, self._whole)
        self._cuts = [page.upto for page in whole]
        self._whole = whole
        for number, page in enumerate(whole):
            if not await self._message(number).stop_growing(page.text):
                return
        message = self._message(len(whole))
        await message.show(growing.text)
        if message.age > MOST_STREAM_SECONDS:
            cut = self._turn.speaker.page_end(text, _end_of(whole))
            self._cuts.append(cut)

    async def finish(
        self, text: str, choices: ButtonRow | None = None, *, answers: bool = True
    ) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        """Finish the speech; without text, messages in Slack get the owner's sentence.

        The last message has the buttons; raises PostRefused if Slack refuses them. `answers` is True if the
        speech answers the turn's inputs.
        """
        async with self._turn.speaking:
            answered = self._turn.answered_ts if answers and not choices else ()
            return await self._close(text, choices, answered)

    async def _close(
        self, text: str, choices: ButtonRow | None, answered: Sequence[str]
    ) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        question = ""
        if choices:
            question = choices.question
        asked = fingerprint("spoken", text, question)
        self._begin_after_a_break()
        if not choices and await self._turn.is_superseded_by_edit():
            return await self._unsay(self._begun(), "")
        if text or choices:
            self._turn.mark_shown()
        self._turn.ctx.read_back(part_key(self._key_of(0), SPEECH_RECEIPT), asked)
        said_before = await self._take_over(asked, text)
        if said_before:
            return said_before
        begun = self._begun()
        standing = [message for message in begun if await message.posted_ts()]
        pages: Sequence[MessagePage] = []
        if text or standing:
            text = text or self._lost_words
            pages = self._pages(text)
        queue = PageQueue(self._turn.speaker, text, pages)
        receipts = await self._say(queue, asked, choices, answered)
        for superfluous in begun[len(receipts) :]:
            receipts.append(await superfluous.retract(asked))
        return receipts

    async def _unsay(
        self, messages: Sequence[OutgoingMessage], asked: str
    ) -> list[Entry[SpeechFinished | SpeechDropped]]:
        receipts = list[Entry[SpeechFinished | SpeechDropped]]()
        for message in messages:
            unsaid = await message.record_unsaid(asked)
            if unsaid:
                receipts.append(unsaid)
        return receipts

    async def _say(
        self, queue: PageQueue, asked: str, choices: ButtonRow | None, answered: Sequence[str]
    ) -> list[Entry[SpeechFinished | SpeechDropped]]:
        receipts: list[Entry[SpeechFinished | SpeechDropped]] = []
        while queue:
            buttons = None
            if queue.is_last:
                buttons = choices
            message = self._message(len(receipts))
            try:
                receipt = await message.close(queue.next_page, asked, buttons, answered, plain=queue.plain)
            except ContentRefused as refusal:
                if queue.try_other_form():
                    continue
                receipt = await self._leave_out(message, queue.next_page, asked, refusal)
            receipts.append(receipt)
            queue.mark_said()
        if choices and receipts and not _is_said(receipts[-1]):
            raise PostRefused("Slack takes this question in no form")
        return receipts

    async def _leave_out(
        self, message: OutgoingMessage, page: MessagePage, asked: str, refusal: ContentRefused
    ) -> Entry[SpeechFinished | SpeechDropped]:
        await report_slack_refusal(self._turn, refusal.word)
        instead = MessagePage(text=self._unsayable(), upto=page.upto)
        try:
            return await message.close(instead, asked, plain=True, refused=refusal.word)
        except ContentRefused:
            return await message.retract(asked)

    async def settle(self) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        """Finish messages that broke off as they are; further text begins new ones."""
        self._begin_after_a_break()
        lost = "" if self._broken_off else self._lost_words
        return await self._break_off(self._begun(), lost)

    async def leave_as_is(self, text: str, call: Entry[Any]) -> Sequence[Entry[SpeechFinished]] | None:
        """Leave messages that people have read, if `text` (the whole answer of `call`) does not continue
        them.

        Return their receipts; None if `text` can replace them. A restart decides the same, from entries after
        the call.
        """
        left = [message for message in self._all_begun() if message.is_open_after(call)]
        has_broken_off = any(is_broken_off(message.receipt) for message in left)
        if not has_broken_off and not await self._is_other(text, left):
            return None
        await self._break_off([message for message in left if not message.receipt], "")
        self._begin_after_a_break()
        return of_kind(SpeechFinished, [message.receipt for message in left if message.receipt])

    async def _is_other(self, text: str, standing: Sequence[OutgoingMessage]) -> bool:
        """True if the text does not continue the messages that are in Slack.

        After a restart their words are unknown; then a text of at least the same length counts as a
        continuation.
        """
        if any(message.receipt for message in standing):
            return False
        shown = [message for message in standing if await message.posted_ts()]
        if not text or not shown:
            return bool(shown)
        if shown[0].is_begun_here:
            return self._taken_back or not text.startswith(self._heard.rstrip())
        return len(self._turn.speaker.pages(text)) < len(shown)

    async def _break_off(
        self, messages: Sequence[OutgoingMessage], lost: str
    ) -> list[Entry[SpeechFinished | SpeechDropped]]:
        receipts = list[Entry[SpeechFinished | SpeechDropped]]()
        for message in messages:
            if await message.posted_ts() and not message.receipt:
                end = BROKEN_OFF_END if message is messages[-1] else ""
                try:
                    receipt = await message.break_off(end, lost, self._half_said)
                except ContentRefused:
                    receipt = await message.keep_as_is(self._half_said())
                receipts.append(receipt)
            else:
                receipts += await self._unsay([message], "")
            lost = ""
        return receipts

    async def _take_over(self, asked: str, text: str) -> list[Entry[SpeechFinished]]:
        taken: list[Entry[SpeechFinished]] = []
        if not text or self._message(0).intent or self._message(0).receipt:
            return taken
        self._turn.ctx.begin_step(self._key_of(0))
        while not taken or taken[-1].event.upto < len(text):
            old = self._turn.ctx.take_over(asked, SpeechFinished)
            if old is None:
                break
            taken.append(await self._message(len(taken)).take_over(old))
        return taken

    async def _take_back(self) -> None:
        self._taken_back = True
        for message in self._begun():
            await message.stop_growing(BROKEN_OFF_END.strip())

    def _begin_after_a_break(self) -> None:
        while is_broken_off(self._message(0).receipt):
            self._broken_off += 1
            self._heard = ""
            self._taken_back = False
            self._whole, self._cuts = [], []

    def _message(self, number: int) -> OutgoingMessage:
        number += self._broken_off
        while len(self._messages) <= number:
            key = self._key_of(len(self._messages) - self._broken_off)
            self._messages.append(OutgoingMessage(self._turn, key))
        return self._messages[number]

    def _key_of(self, number: int) -> str:
        number += self._broken_off
        if number == 0:
            return self._key
        return part_key(self._key, str(number + 1))

    def _begun(self) -> list[OutgoingMessage]:
        begun: list[OutgoingMessage] = []
        while self._message(len(begun)).intent:
            begun.append(self._message(len(begun)))
        return begun

    def _all_begun(self) -> list[OutgoingMessage]:
        broken_off = self._messages[: self._broken_off]
        return [*broken_off, *self._begun()]

    def _pages(self, text: str) -> Sequence[MessagePage]:
        cuts: list[int] = []
        for message in self._begun():
            receipt = message.receipt
            if receipt and isinstance(receipt.event, SpeechFinished):
                cuts.append(receipt.event.upto)
        if not cuts and text.startswith(self._heard.rstrip()):
            cuts = self._cuts
        return self._turn.speaker.pages(text, cuts)


def _end_of(pages: Sequence[MessagePage]) -> int:
    if not pages:
        return 0
    return pages[-1].upto


def _is_said(receipt: Entry[SpeechFinished | SpeechDropped]) -> bool:
    return isinstance(receipt.event, SpeechFinished) and not receipt.event.refused


# For a turn


def start_speech(turn: Turn) -> Speech:
    """Return a message to the person, not yet begun."""
    return speech_at(turn, turn.ctx.next_key("say"))


def speech_at(turn: Turn, key: str) -> Speech:
    """Return the message that has this key."""
    lost_words = _sentence(turn, "lost_words")
    return Speech(
        turn, key, lost_words, partial(_sentence, turn, "half_said"), partial(_sentence, turn, "unsayable")
    )


def _sentence(turn: Turn, name: str) -> str:
    return fill_placeholders(turn.text(f"{SENTENCES}{name}"))


async def say(
    turn: Turn, text: str, name: str = "say", *, answers: bool = True
) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
    """Post a message whole; return its receipts: a long one is several messages.

    `answers`: it answers the turn's inputs, and no other message of the turn will.
    """
    return await speech_at(turn, turn.ctx.next_key(name)).finish(text, answers=answers)


async def whisper(turn: Turn, name: str, person: str, text: str) -> None:
    """Post a text in this conversation that only one person sees; a crash may post it twice."""

    async def tell() -> str:
        try:
            await turn.speaker.whisper(turn.thread, person, text, turn.check_lease)
            return text
        except ContentRefused as refusal:
            await report_slack_refusal(turn, refusal.word)
        with suppress(ContentRefused):
            instead = _sentence(turn, "unsayable")
            await turn.speaker.whisper(turn.thread, person, instead, turn.check_lease)
        return UNKNOWN_OUTCOME

    await turn.effect(name, {"to": person}, tell, repeatable=True)


async def say_privately(turn: Turn, name: str, person: str, text: str) -> None:
    """Tell one person a text: by a message where nobody else reads, elsewhere by a whisper."""
    if turn.in_dm or turn.is_served:
        await say(turn, text, name)
    else:
        await whisper(turn, name, person, text)


def show_status(turn: Turn, status: str) -> None:
    """Have Slack show a status, without waiting for it; an empty text clears it."""
    if turn.addressed:
        turn.speaker.status(turn.thread, status, turn.check_lease)


@asynccontextmanager
async def status_while(turn: Turn, status: str) -> AsyncIterator[None]:
    """Have Slack show a status while the context is open."""
    show_status(turn, status)
    try:
        yield
    finally:
        show_status(turn, "")
