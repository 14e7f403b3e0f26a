"""Deletion of what the soul said in a DM, at its person's wish: the OwnDeletion port.

Found in Slack and in the journal, since neither need know all; at the pace of the archive, which leaves
Slack's patience to those who speak with the soul now.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from slack_sdk.errors import SlackApiError

from daemon.engine.event import Entry
from daemon.errors import SpeechFailed
from daemon.kinds import Asked, Opened, Spoken, moment
from daemon.ports import OwnFound
from daemon.slack.archive import Archive, at
from daemon.slack.draft import GONE
from daemon.slack.own_workspace import Workspace
from daemon.slack.place import OURS, place_of
from daemon.slack.refusals import OUT_OF_REACH, error_of, final, why
from daemon.slack.web import Item, pages

MOST_PAGES = 50
"""Pages of 200 messages that are read of a DM itself."""
MOST_THREADS = 2_000
"""Threads of a DM that are read."""
THREAD_PAGES = 5
"""Pages of 200 messages that are read of one thread."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OwnDeletion:
    """Finds the soul's own messages, and deletes them."""

    workspace: Workspace
    archive: Archive
    most_pages: int = MOST_PAGES
    thread_pages: int = THREAD_PAGES

    async def find(self, thread: str, until: str) -> OwnFound:
        """Find what it said in the DM of this thread up to this ts, but for questions that are open."""
        channel = place_of(self.workspace.journal, thread).channel
        found, whole = {*self._recorded(channel)}, True
        try:
            whole = await self._read(channel, until, found)
        except (SlackApiError, *OUT_OF_REACH) as failure:
            word = _word(failure, "Slack did not show what stands in a DM")
            log.warning("Slack refuses to show what stands in a DM (%s): the journal alone tells.", word)
            whole = False
        wanted = [ts for ts in found if moment(ts) <= moment(until)]
        return OwnFound(messages=sorted({*wanted} - self._asking(), key=moment), whole=whole)

    async def delete(self, thread: str, ts: str) -> str:
        """Delete one message; why Slack will not, in a word, or empty where it is gone."""
        channel = place_of(self.workspace.journal, thread).channel
        try:
            await self.archive.call_at_pace(self.workspace.web.client.chat_delete, channel=channel, ts=ts)
        except (SlackApiError, *OUT_OF_REACH) as failure:
            word = _word(failure, "Slack did not delete a message")
            if word != GONE:
                return word
        return ""

    def _recorded(self, channel: str) -> Iterator[str]:
        """Yield the ts of its messages there that the journal knows."""
        journal = self.workspace.journal
        for opened in journal.entries_of_kind(Opened):
            if opened.event.channel == channel:
                said: list[Entry[Any]] = journal.thread_entries(opened.thread, *OURS)
                for entry in said:
                    if entry.event.ts:
                        yield str(entry.event.ts)

    async def _read(self, channel: str, until: str, found: set[str]) -> bool:
        """Add those that Slack shows; return whether these are all. Raises SlackApiError and OUT_OF_REACH."""
        client, paced = self.workspace.web.client, self.archive.call_at_pace
        where = {"channel": channel, "latest": until, "inclusive": True}
        roots, read = list[str](), 0
        async for page in pages(paced, client.conversations_history, "messages", self.most_pages, **where):
            read += 1
            found.update(self._own(page))
            roots += [str(item.get("ts")) for item in page if item.get("reply_count")]
        whole = read < self.most_pages and len(roots) <= MOST_THREADS
        for root in roots[:MOST_THREADS]:
            in_thread, read = {"channel": channel, "ts": root}, 0
            try:
                replies = client.conversations_replies
                async for page in pages(paced, replies, "messages", self.thread_pages, **in_thread):
                    read += 1
                    found.update(self._own(page))
            except SlackApiError as refusal:
                if error_of(refusal) != "thread_not_found":
                    raise
            whole = whole and read < self.thread_pages
        return whole

    def _own(self, page: Iterable[Item]) -> Iterator[str]:
        me = self.workspace.me
        for item in page:
            if at(item) and me.is_own_message(item.get("user"), item.get("bot_id")):
                yield str(item.get("ts"))

    def _asking(self) -> set[str]:
        """The messages under which somebody is still to press a button."""
        journal = self.workspace.journal
        asking = set[str]()
        for asked in journal.pending_entries(Asked):
            for said in journal.readable_entries(asked.event.said):
                if isinstance(said.event, Spoken):
                    asking.add(said.event.ts)
        return asking


def _word(failure: Exception, what: str) -> str:
    """Return Slack's word for why it will never do it. Raises SpeechFailed where it may do it later."""
    if isinstance(failure, SlackApiError) and final(failure):
        return error_of(failure)
    raise SpeechFailed(f"{what}: {why(failure)}") from failure
