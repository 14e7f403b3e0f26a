"""A message while it is being said: shown in steps, by size and by time, by a task of its own.

Made and ended by the speaker. Whatever goes wrong in a step ends the showing: the last word sets it right.
"""

from __future__ import annotations

import asyncio

from slack_sdk.errors import SlackApiError

from daemon.engine.exceptions import FencedError
from daemon.ports import ButtonRow, Hold
from daemon.slack.draft import MessageRequests
from daemon.slack.quiet import escape_settled_mentions
from daemon.slack.refusals import OUT_OF_REACH
from daemon.slack.web import retry_after

ENOUGH = 256
"""New characters that are shown at once."""
PACE = 0.7
"""Seconds after which fewer are shown, too."""


class MessageStream:
    """A message of ours that grows: by appending when it is `streamed`, else by rewriting.

    It was begun with the text `said`, of which Slack shows what is settled.
    """

    def __init__(self, draft: MessageRequests, ts: str, said: str, *, streamed: bool) -> None:
        self.ts = ts
        self._draft = draft
        self._streamed = streamed
        self._said = said
        """The text of the last request."""
        self._shown = escape_settled_mentions(said, draft.keep, draft.named)
        self._next: tuple[str, Hold] | None = None
        self._whole = True
        self._grown = asyncio.Event()
        self._enough = asyncio.Event()
        self._closed = asyncio.Event()
        self._pump = asyncio.create_task(self._run())

    @property
    def text(self) -> str:
        """How it reads, or will in a moment."""
        text = self._said
        if self._next:
            text, _ = self._next
        return escape_settled_mentions(text, self._draft.keep, self._draft.named)

    def extend(self, text: str, hold: Hold) -> None:
        """It should read so by now (whole text). What does not go on from what was said waits for the end.

        It comes with each piece of an answer: whatever it takes to show it is done when it is shown.
        """
        if text == self._said or not text.startswith(self._said):
            return
        self._next = (text, hold)
        self._grown.set()
        if len(text) - len(self._said) >= ENOUGH:
            self._enough.set()

    async def close(self) -> None:
        """Show nothing more; waits for a request that is on its way."""
        for event in (self._closed, self._grown, self._enough):
            event.set()
        await self._pump

    async def abandon(self) -> None:
        """Show nothing more, and wait for nothing: what stands there is for another attempt to end."""
        self._pump.cancel()
        await asyncio.gather(self._pump, return_exceptions=True)

    async def end(self, draft: MessageRequests, text: str, hold: Hold, choices: ButtonRow | None) -> bool:
        """Close it with its last words, as this draft of it; False when it does not read so, and must be
        rewritten."""
        await self.close()
        if not (self._whole and text.startswith(self._shown)):
            return False
        if self._streamed:
            return await draft.stop(self.ts, text[len(self._shown) :], hold, choices)
        await draft.rewrite(self.ts, text, hold, choices)
        return True

    async def _run(self) -> None:
        while self._whole:
            await self._grown.wait()
            await self._draft.web.wait_until(self._enough, PACE)
            if self._closed.is_set() or self._next is None:
                return
            self._grown.clear()
            self._enough.clear()
            self._said, hold = self._next
            text = escape_settled_mentions(self._said, self._draft.keep, self._draft.named)
            if not (text.startswith(self._shown) or self._shown.startswith(text)):
                self._whole = False  # what was shown proved to be a part of a link that nobody named
            elif len(text) > len(self._shown):
                await self._step(text, hold)

    async def _step(self, text: str, hold: Hold) -> None:
        try:
            if self._streamed:
                await self._draft.append(self.ts, text[len(self._shown) :], hold)
            else:
                await self._draft.grow(self.ts, text, hold)
            self._shown = text
        except SlackApiError as refusal:
            wait = retry_after(refusal)
            if wait is None:
                self._whole = False
                return
            self._grown.set()
            await self._draft.web.wait_until(self._closed, wait)
        except (FencedError, *OUT_OF_REACH):
            self._whole = False
