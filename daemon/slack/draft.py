"""The requests that write one message of ours, streamed or posted. For the speaker and its streams.

Only a post can say that its links are to have no previews. In plain text nothing is a reference.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError

from daemon.kinds import ConversationOpened
from daemon.ports import ButtonRow, Hold
from daemon.slack.block_text import escape_mrkdwn
from daemon.slack.mark import speech_metadata
from daemon.slack.press import make_button_block
from daemon.slack.quiet import NOBODY, Named, allow_any_host, mention_markup
from daemon.slack.refusals import LIMITED, describe_failure, is_permanent, slack_error
from daemon.slack.web import LONGEST_WAIT, Method, WebApi

GONE = "message_not_found"
UPDATE_MOST = 4_000
"""Characters of `text` that chat.update takes; of markdown it takes three times as many."""
SECTION_MOST = 3_000
"""Characters that Slack takes in a section."""
NO_PREVIEWS = {"unfurl_links": False, "unfurl_media": False}
"""What keeps Slack from fetching the links of a post."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MessageRequests:
    """One message on its way into a place. `key` is the speech's; texts can only ping those in `keep`.

    `answers` are the ts of the messages that it answers, `journal` is the id of its journal. `named` says
    whose links may stand in it where it cannot say that they have no previews. `grows`: what is written now
    is not all of it.
    """

    web: WebApi
    place: ConversationOpened
    key: str
    keep: frozenset[str]
    answers: Sequence[str] = ()
    journal: str = ""
    named: Named = allow_any_host
    grows: bool = False

    @property
    def metadata(self) -> dict[str, Any]:
        """How the message is known again after a crash, and what it answers where no journal says so."""
        return speech_metadata(self.key, self.journal, self.answers, grows=self.grows)

    async def post(
        self, text: str, hold: Hold, choices: ButtonRow | None = None, *, plain: bool = False
    ) -> str:
        """Say it whole; returns its ts."""
        content: dict[str, Any] = {"markdown_text": text}
        if plain:
            content = _plain(text, choices, self.keep)
        elif choices:
            content = _in_blocks(text, choices)
        return await self.put(None, content, hold)

    async def put(
        self, ts: str | None, content: Mapping[str, Any], hold: Hold, patience: int = LONGEST_WAIT
    ) -> str:
        """Post a message of this content, or let the one of this ts have it; returns its ts."""
        client = self.web.client
        given: dict[str, Any] = {"channel": self.place.channel, "metadata": self.metadata, **content}
        method: Method = client.chat_update
        if ts is None:
            method = client.chat_postMessage
            given |= NO_PREVIEWS
            given["thread_ts"] = self.place.ts or None
        else:
            given["ts"] = ts
        answer = await self.web.call(hold, method, patience, **given)
        return str(answer["ts"])

    async def begin(self, text: str, hold: Hold) -> str:
        """Open a stream; returns its ts. Slack wants to know for whom it is, except in DMs.

        A rate limit is the caller's: there is another way to begin.
        """
        answer = await self.web.send_request(
            hold,
            self.web.client.chat_startStream,
            channel=self.place.channel,
            thread_ts=self.place.ts,
            markdown_text=text or None,
            recipient_team_id=self.place.team,
            recipient_user_id=self.place.user,
        )
        return str(answer["ts"])

    async def append(self, ts: str, more: str, hold: Hold) -> None:
        """Let a stream grow; a rate limit is the caller's."""
        append = self.web.client.chat_appendStream
        await self.web.send_request(hold, append, channel=self.place.channel, ts=ts, markdown_text=more)

    async def stop(self, ts: str, rest: str, hold: Hold, choices: ButtonRow | None = None) -> bool:
        """End a stream with the rest of its text; did it end so? Raises while Slack has no time for it."""
        blocks = None
        if choices:
            blocks = [make_button_block(choices)]
        try:
            await self.web.call(
                hold,
                self.web.client.chat_stopStream,
                channel=self.place.channel,
                ts=ts,
                markdown_text=rest or None,
                blocks=blocks,
                metadata=self.metadata,
            )
        except SlackApiError as refusal:
            if slack_error(refusal) == LIMITED:
                raise
            return False
        except ClientError:
            return False
        return True

    async def grow(self, ts: str, text: str, hold: Hold) -> None:
        """Let a message that is no stream read so for now; a rate limit is the caller's."""
        await self._update(self.web.send_request, hold, ts, markdown_text=text)

    async def remove(self, ts: str, hold: Hold) -> bool:
        """Take it away; where Slack will not, it stays. Returns whether it is gone."""
        try:
            await self.web.call(hold, self.web.client.chat_delete, channel=self.place.channel, ts=ts)
        except SlackApiError as refusal:
            if not is_permanent(refusal):
                raise
            if slack_error(refusal) != GONE:
                log.warning(
                    "Slack left a message of ours standing that was to go: %s.", describe_failure(refusal)
                )
                return False
        return True

    async def rewrite(
        self, ts: str, text: str, hold: Hold, choices: ButtonRow | None = None, *, plain: bool = False
    ) -> None:
        """Let it read so for good, with these buttons or none. One that was deleted in Slack stays deleted.

        Only blocks are sure to take away the blocks that were there. What is too long for the plain text
        beside them goes without: so much stands under no question.
        """
        content = _in_blocks(text, choices)
        if len(text) > UPDATE_MOST and not choices:
            content = {"markdown_text": text}
        if plain:
            content = {"blocks": [], **_plain(text, choices, self.keep)}
        await self._update(self.web.call, hold, ts, **content)

    async def _update(self, call: Method, hold: Hold, ts: str, **content: Any) -> None:
        where = {"channel": self.place.channel, "ts": ts}
        try:
            await call(hold, self.web.client.chat_update, **where, metadata=self.metadata, **content)
        except SlackApiError as refusal:
            if slack_error(refusal) != GONE:
                raise
            log.warning("A message was deleted in Slack while it was being written; it is not said again.")


def _in_blocks(text: str, choices: ButtonRow | None) -> dict[str, Any]:
    """What makes a message read so; its plain text is for notifications."""
    blocks: list[dict[str, Any]] = [{"type": "markdown", "text": text}]
    if choices:
        blocks.append(make_button_block(choices))
    return {"text": text[:UPDATE_MOST], "blocks": blocks}


def _plain(text: str, choices: ButtonRow | None, keep: Set[str] = NOBODY) -> dict[str, Any]:
    """The same as plain text, in which Slack finds nothing of its own but what mentions those in `keep`."""
    said = escape_mrkdwn(text)
    for person in keep:
        said = said.replace(escape_mrkdwn(mention_markup(person)), mention_markup(person))
    if choices is None:
        return {"text": said}
    starts = range(0, len(text), SECTION_MOST)
    parts = [{"type": "plain_text", "text": text[start : start + SECTION_MOST]} for start in starts]
    sections = [{"type": "section", "text": part} for part in parts]
    return {"text": said[:UPDATE_MOST], "blocks": [*sections, make_button_block(choices)]}
