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
from daemon.errors import PostFailed
from daemon.kinds import ConversationOpened, QuestionAsked, SpeechFinished, moment_of
from daemon.ports import OwnMessageList
from daemon.slack.archive import ConversationArchive, time_of
from daemon.slack.draft import GONE
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.place import OURS, slack_place
from daemon.slack.refusals import OUT_OF_REACH, describe_failure, is_permanent, slack_error
from daemon.slack.web import Item, pages

MOST_PAGES = 50
"""Pages of 200 messages that are read of a DM itself."""
MOST_THREADS = 2_000
"""Threads of a DM that are read."""
THREAD_PAGES = 5
"""Pages of 200 messages that are read of one thread."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlackMessageDeleter:
    """Finds the soul's own messages, and deletes them."""

    workspace: SlackWorkspace
    archive: ConversationArchive
    most_pages: int = MOST_PAGES
    thread_pages: int = THREAD_PAGES

    async def find(self, thread: str, until: str) -> OwnMessageList:
        """Find what it said in the DM of this thread up to this ts, but for questions that are open."""
        channel = slack_place(self.workspace.journal, thread).channel
        found, whole = {*self._recorded(channel)}, True
        try:
            whole = await self._read(channel, until, found)
        except (SlackApiError, *OUT_OF_REACH) as failure:
            word = _word(failure, "Slack did not show what stands in a DM")
            log.warning("Slack refuses to show what stands in a DM (%s): the journal alone tells.", word)
            whole = False
        wanted = [ts for ts in found if moment_of(ts) <= moment_of(until)]
        return OwnMessageList(messages=sorted({*wanted} - self._asking(), key=moment_of), whole=whole)

    async def delete(self, thread: str, ts: str) -> str:
        """Delete one message; why Slack will not, in a word, or empty where it is gone."""
        channel = slack_place(self.workspace.journal, thread).channel
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
        for opened in journal.entries_of_kind(ConversationOpened):
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
                if slack_error(refusal) != "thread_not_found":
                    raise
            whole = whole and read < self.thread_pages
        return whole

    def _own(self, page: Iterable[Item]) -> Iterator[str]:
        me = self.workspace.me
        for item in page:
            if time_of(item) and me.is_own_message(item.get("user"), item.get("bot_id")):
                yield str(item.get("ts"))

    def _asking(self) -> set[str]:
        """The messages under which somebody is still to press a button."""
        journal = self.workspace.journal
        asking = set[str]()
        for asked in journal.pending_entries(QuestionAsked):
            for said in journal.readable_entries(asked.event.said):
                if isinstance(said.event, SpeechFinished):
                    asking.add(said.event.ts)
        return asking


def _word(failure: Exception, what: str) -> str:
    """Return Slack's word for why it will never do it. Raises SpeechFailed where it may do it later."""
    if isinstance(failure, SlackApiError) and is_permanent(failure):
        return slack_error(failure)
    raise PostFailed(f"{what}: {describe_failure(failure)}") from failure
