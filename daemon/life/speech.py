"""What a body says at one place of its course: one message, or several where it is long or takes long.

Made by the turn. See "Speech" in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, takewhile

from daemon.entry import Entry
from daemon.life.message import Message
from daemon.life.scope import Scope
from daemon.ports import Choices, Page

LONGEST_STREAM = 225.0
"""Seconds after which a growing message goes on in a new one: Slack ends a stream after five minutes."""
BROKEN = " …"
"""Stands at the end of what breaks off."""
PART = "/part#"
"""Stands in the keys of all messages of a speech but its first."""


class Speech:
    """Implements process.Speech. Its messages have the keys `key`, `key/part#2` and so on."""

    def __init__(self, scope: Scope, key: str, lost_words: str) -> None:
        self._scope = scope
        self._key = key
        self._lost_words = lost_words
        self._messages: list[Message] = []
        self._heard = ""
        self._taken_back = False
        self._whole: list[Page] = []
        """Its messages that grow no more."""
        self._cuts: list[int] = []
        """Where in what was heard a message ended, for good."""

    async def hear(self, text: str) -> None:
        """It reads so by now. What does not go on from what was heard before waits for the end."""
        text = text.lstrip()
        if self._heard and not text:
            await self._take_back()
        if self._taken_back or not text or not text.startswith(self._heard):
            return
        self._heard = text
        *whole, growing = self._scope.world.speaker.pages(text, self._cuts, self._whole)
        self._cuts = [page.upto for page in whole]
        self._whole = whole
        for n, page in enumerate(whole):
            if not await self._message(n).rest(page.text):
                return
        message = self._message(len(whole))
        await message.hear(growing.text)
        if message.age > LONGEST_STREAM:
            self._cuts.append(self._scope.world.speaker.cut(text, whole[-1].upto if whole else 0))

    async def close(self, text: str, choices: Choices | None = None) -> Sequence[Entry]:
        """It reads so for good. Nothing to say: what stands in Slack gets the owner's sentence.

        Its last message has the buttons.
        """
        begun = self._begun()
        standing = [message for message in begun if await message.standing()]
        pages = self._pages(text or self._lost_words, len(standing)) if text or standing else []
        buttons = [None] * (len(pages) - 1) + [choices]
        receipts = [await self._message(n).close(page, buttons[n]) for n, page in enumerate(pages)]
        return receipts + [entry for message in begun[len(pages) :] if (entry := await message.unsay())]

    async def settle(self) -> Sequence[Entry]:
        """When its body ends early: what stands in Slack is finished as it is, all else is let go."""
        receipts = []
        for message in (begun := self._begun()):
            if await message.standing() and not message.receipt:
                text = (await message.read() or self._lost_words).removesuffix(BROKEN)
                text += BROKEN if message is begun[-1] else ""
                receipts.append(await message.close(Page(text=text, upto=len(text))))
            elif entry := await message.unsay():
                receipts.append(entry)
        return receipts

    async def _take_back(self) -> None:
        """What stands there is replaced at once; what is to stand there is said at the end."""
        self._taken_back = True
        for message in self._begun():
            await message.rest(BROKEN.strip())

    def _message(self, n: int) -> Message:
        while len(self._messages) <= n:
            part = f"{PART}{len(self._messages) + 1}" if self._messages else ""
            self._messages.append(Message(self._scope, f"{self._key}{part}"))
        return self._messages[n]

    def _begun(self) -> list[Message]:
        return list(takewhile(lambda message: message.intent, map(self._message, count())))

    def _pages(self, text: str, least: int) -> list[Page]:
        """The text in as many pages as messages stand, at the least: none of them may be left as it was."""
        speaker, receipts = self._scope.world.speaker, [message.receipt for message in self._begun()]
        cuts = [entry.body["upto"] for entry in receipts if entry and entry.kind == "spoken"]
        if not cuts and text.startswith(self._heard.rstrip()):
            cuts = self._cuts
        pages = list(speaker.pages(text, cuts))
        while len(pages) < least:
            since = pages[-2].upto if len(pages) > 1 else 0
            middle = speaker.cut(text[: (since + len(text)) // 2], since)
            if not since < middle < len(text):
                return pages + [Page(text="…", upto=len(text))] * (least - len(pages))
            pages = list(speaker.pages(text, [*(page.upto for page in pages[:-1]), middle]))
        return pages
