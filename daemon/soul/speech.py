"""What is said at one place of an execution: one message, or several where it is long or takes long.

See "Speech" in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daemon.engine.event import Entry, fingerprint, of_kind
from daemon.engine.keys import part_key
from daemon.errors import ContentRefused, PostRefused
from daemon.kinds import SpeechDropped, SpeechFinished
from daemon.ports import ButtonRow, MessagePage
from daemon.soul.alarm import report_slack_refusal
from daemon.soul.page_queue import PageQueue
from daemon.soul.scope import Scope
from daemon.soul.utterance import SPEECH_RECEIPT, SPEECH_STARTED, OutgoingMessage, is_broken_off

LONGEST_STREAM = 225.0
"""Seconds after which a growing message goes on in a new one: Slack ends a stream after five minutes."""
BROKEN = " …"
"""Stands at the end of what breaks off."""


class Speech:
    """Implements process.Speech. Its messages have the keys `key`, `key!2` and so on.

    `half_said` gives what is recorded where nobody knows the words any more that stand in Slack, `unsayable`
    what is said instead of what Slack refuses in every form.
    """

    def __init__(
        self,
        scope: Scope,
        key: str,
        lost_words: str,
        half_said: Callable[[], str],
        unsayable: Callable[[], str],
    ) -> None:
        self._scope = scope
        self._key = key
        self._lost_words = lost_words
        self._half_said = half_said
        self._unsayable = unsayable
        self._read_back()
        self._messages: list[OutgoingMessage] = []
        self._broken_off = 0
        """How many of its first messages broke off, and stay as they are."""
        self._heard = ""
        self._taken_back = False
        self._whole: list[MessagePage] = []
        """Its messages that grow no more."""
        self._cuts: list[int] = []
        """Where in what was heard a message ended, for good."""

    def _read_back(self) -> None:
        """What a former attempt left is known before anything else is done: as long as something recorded is
        unread, nothing new is heard, not even a stop.
        """
        key, number = self._key, 1
        while self._scope.ctx.read_back(key):
            self._scope.ctx.read_back(part_key(key, SPEECH_STARTED))
            self._scope.ctx.read_back(part_key(key, SPEECH_RECEIPT))
            number += 1
            key = part_key(self._key, str(number))

    async def update(self, text: str) -> None:
        """It reads so by now. What does not go on from what was heard before waits for the end.

        After a restart all does: it may have been said already. So does all in a parallel context: a stream
        bears no key until it ends, and of two that a crash cut off nobody could tell which is whose.
        """
        if self._scope.execution.restart_log or not self._scope.alone:
            return
        self._begin_after_a_break()
        text = text.lstrip()
        if self._heard and not text:
            await self._take_back()
        if self._taken_back or not text or not text.startswith(self._heard):
            return
        self._heard = text
        *whole, growing = self._scope.speaker.pages(text, self._cuts, self._whole)
        self._cuts = [page.upto for page in whole]
        self._whole = whole
        for number, page in enumerate(whole):
            if not await self._message(number).stop_growing(page.text):
                return
        message = self._message(len(whole))
        await message.show(growing.text)
        if message.age > LONGEST_STREAM:
            cut = self._scope.speaker.page_end(text, _end_of(whole))
            self._cuts.append(cut)

    async def finish(
        self, text: str, choices: ButtonRow | None = None, *, answers: bool = True
    ) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        """It reads so for good. Nothing to say: what stands in Slack gets the owner's sentence.

        Its last message has the buttons. Those of parallel contexts wait for each other. `answers`: it is
        the answer to what this execution was begun for. Raises SpeechRefused where the buttons can be posted
        in no form.
        """
        async with self._scope.speaking:
            answered = self._scope.answered_ts if answers and not choices else ()
            return await self._close(text, choices, answered)

    async def _close(
        self, text: str, choices: ButtonRow | None, answered: Sequence[str]
    ) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        question = ""
        if choices:
            question = choices.question
        asked = fingerprint("spoken", text, question)
        self._begin_after_a_break()
        if not choices and await self._scope.is_superseded_by_edit():
            return await self._unsay(self._begun(), "")
        if text or choices:
            self._scope.mark_shown()
        self._scope.ctx.read_back(part_key(self._key_of(0), SPEECH_RECEIPT), asked)
        said_before = await self._take_over(asked, text)
        if said_before:
            return said_before
        begun = self._begun()
        standing = [message for message in begun if await message.posted_ts()]
        pages: Sequence[MessagePage] = []
        if text or standing:
            text = text or self._lost_words
            pages = self._pages(text)
        queue = PageQueue(self._scope.speaker, text, pages)
        receipts = await self._say(queue, asked, choices, answered)
        for superfluous in begun[len(receipts) :]:
            receipts.append(await superfluous.retract(asked))
        return receipts

    async def _unsay(
        self, messages: Sequence[OutgoingMessage], asked: str
    ) -> list[Entry[SpeechFinished | SpeechDropped]]:
        """End these, of which nothing stands in Slack; `asked` is the fingerprint of the whole speech."""
        receipts = list[Entry[SpeechFinished | SpeechDropped]]()
        for message in messages:
            unsaid = await message.record_unsaid(asked)
            if unsaid:
                receipts.append(unsaid)
        return receipts

    async def _say(
        self, queue: PageQueue, asked: str, choices: ButtonRow | None, answered: Sequence[str]
    ) -> list[Entry[SpeechFinished | SpeechDropped]]:
        """Say these pages, each in the form in which Slack takes it."""
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
        """The owner's sentence stands there instead; where Slack refuses that, too, nothing does."""
        await report_slack_refusal(self._scope, refusal.word)
        instead = MessagePage(text=self._unsayable(), upto=page.upto)
        try:
            return await message.close(instead, asked, plain=True, refused=refusal.word)
        except ContentRefused:
            return await message.retract(asked)

    async def settle(self) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        """It breaks off: what stands in Slack is finished as it is, all else is let go.

        Where its execution goes on, what is said after that begins in a new message.
        """
        self._begin_after_a_break()
        lost = "" if self._broken_off else self._lost_words
        return await self._break_off(self._begun(), lost)

    async def leave_as_is(self, text: str, call: Entry[Any]) -> Sequence[Entry[SpeechFinished]] | None:
        """Leave what people have read if `text`, all that came in `call`, does not go on from it.

        Returns what stays; None where nothing was left so, and `text` can be said in its place. Illegible
        messages go. Another life of the daemon comes to the same: it is decided by what is recorded after
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
        """True if this text does not go on from what stands in these messages.

        Nobody knows how those read that an earlier life began: as long a text can take their place.
        """
        if any(message.receipt for message in standing):
            return False
        shown = [message for message in standing if await message.posted_ts()]
        if not text or not shown:
            return bool(shown)
        if shown[0].is_begun_here:
            return self._taken_back or not text.startswith(self._heard.rstrip())
        return len(self._scope.speaker.pages(text)) < len(shown)

    async def _break_off(
        self, messages: Sequence[OutgoingMessage], lost: str
    ) -> list[Entry[SpeechFinished | SpeechDropped]]:
        """End these as they stand in Slack; where nothing legible stands, the first reads `lost`."""
        receipts = list[Entry[SpeechFinished | SpeechDropped]]()
        for message in messages:
            if await message.posted_ts() and not message.receipt:
                end = BROKEN if message is messages[-1] else ""
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
        """What was said so before a restart, message by message."""
        taken: list[Entry[SpeechFinished]] = []
        if not text or self._message(0).intent or self._message(0).receipt:
            return taken
        self._scope.ctx.begin_step(self._key_of(0))
        while not taken or taken[-1].event.upto < len(text):
            old = self._scope.ctx.take_over(asked, SpeechFinished)
            if old is None:
                break
            taken.append(await self._message(len(taken)).take_over(old))
        return taken

    async def _take_back(self) -> None:
        """What stands there is replaced at once; what is to stand there is said at the end."""
        self._taken_back = True
        for message in self._begun():
            await message.stop_growing(BROKEN.strip())

    def _begin_after_a_break(self) -> None:
        """What broke off is told by its receipt: it says nothing of what was to be said."""
        while is_broken_off(self._message(0).receipt):
            self._broken_off += 1
            self._heard = ""
            self._taken_back = False
            self._whole, self._cuts = [], []

    def _message(self, number: int) -> OutgoingMessage:
        """One of its messages, counted from the first that has not broken off."""
        number += self._broken_off
        while len(self._messages) <= number:
            key = self._key_of(len(self._messages) - self._broken_off)
            self._messages.append(OutgoingMessage(self._scope, key))
        return self._messages[number]

    def _key_of(self, number: int) -> str:
        number += self._broken_off
        if number == 0:
            return self._key
        return part_key(self._key, str(number + 1))

    def _begun(self) -> list[OutgoingMessage]:
        """Its messages that have an intent, in order."""
        begun: list[OutgoingMessage] = []
        while self._message(len(begun)).intent:
            begun.append(self._message(len(begun)))
        return begun

    def _all_begun(self) -> list[OutgoingMessage]:
        """Its messages that have an intent, with those that broke off."""
        broken_off = self._messages[: self._broken_off]
        return [*broken_off, *self._begun()]

    def _pages(self, text: str) -> Sequence[MessagePage]:
        """The text in pages, of which the first end where those ended that were said."""
        cuts: list[int] = []
        for message in self._begun():
            receipt = message.receipt
            if receipt and isinstance(receipt.event, SpeechFinished):
                cuts.append(receipt.event.upto)
        if not cuts and text.startswith(self._heard.rstrip()):
            cuts = self._cuts
        return self._scope.speaker.pages(text, cuts)


def _end_of(pages: Sequence[MessagePage]) -> int:
    """Where in the text these pages end."""
    if not pages:
        return 0
    return pages[-1].upto


def _is_said(receipt: Entry[SpeechFinished | SpeechDropped]) -> bool:
    """True if what was to be said stands in Slack, and nothing in its stead."""
    return isinstance(receipt.event, SpeechFinished) and not receipt.event.refused
