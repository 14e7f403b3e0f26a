"""The requests that write one message of ours, streamed or posted. For the speaker and its streams."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError

from daemon.entry import digest
from daemon.ports import Hold
from daemon.slack.place import Place
from daemon.slack.web import LIMITED, Web, error_of

EVENT = "soul_speech"
"""The metadata's event_type; its payload is `{"key": digest of the speech's key}`."""
GONE = "message_not_found"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Draft:
    """One message on its way into a place. `key` is the speech's; texts cannot ping any more."""

    web: Web
    place: Place
    key: str

    @property
    def metadata(self) -> dict[str, Any]:
        """How the message is known again after a crash."""
        return {"event_type": EVENT, "event_payload": {"key": digest(self.key)}}

    async def post(self, text: str, hold: Hold) -> str:
        """Say it whole; returns its ts."""
        answer = await self.web.call(
            hold,
            self.web.client.chat_postMessage,
            channel=self.place.channel,
            thread_ts=self.place.root,
            markdown_text=text,
            metadata=self.metadata,
        )
        return str(answer["ts"])

    async def begin(self, text: str, hold: Hold) -> str:
        """Open a stream; returns its ts. Slack wants to know for whom it is, except in DMs.

        A rate limit is the caller's: there is another way to begin.
        """
        answer = await self.web.once(
            hold,
            self.web.client.chat_startStream,
            channel=self.place.channel,
            thread_ts=self.place.root,
            markdown_text=text or None,
            recipient_team_id=self.place.team,
            recipient_user_id=self.place.user,
        )
        return str(answer["ts"])

    async def append(self, ts: str, more: str, hold: Hold) -> None:
        """Let a stream grow; a rate limit is the caller's."""
        append = self.web.client.chat_appendStream
        await self.web.once(hold, append, channel=self.place.channel, ts=ts, markdown_text=more)

    async def stop(self, ts: str, rest: str, hold: Hold) -> bool:
        """End a stream with the rest of its text; did it end so? Raises while Slack has no time for it."""
        stop, place = self.web.client.chat_stopStream, self.place
        try:
            await self.web.call(
                hold, stop, channel=place.channel, ts=ts, markdown_text=rest or None, metadata=self.metadata
            )
        except SlackApiError as refusal:
            if error_of(refusal) == LIMITED:
                raise
            return False
        except ClientError:
            return False
        return True

    async def rewrite(self, ts: str, text: str, hold: Hold, *, patient: bool = True) -> None:
        """Let the message read so. One that was deleted in Slack stays deleted."""
        call = self.web.call if patient else self.web.once
        update, place = self.web.client.chat_update, self.place
        try:
            await call(hold, update, channel=place.channel, ts=ts, markdown_text=text, metadata=self.metadata)
        except SlackApiError as refusal:
            if error_of(refusal) != GONE:
                raise
            log.warning("A message was deleted in Slack while it was being written; it is not said again.")
