"""The soul's voice in Slack: the Speaker port.

A speech's key is hashed into its message's metadata: `Posted.key == digest(key)`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from slack_sdk.errors import SlackApiError

from daemon.engine.event import digest
from daemon.errors import CardDeleted, CardRefused, ContentRefused, PostFailed, PostRefused
from daemon.kinds import PlanState
from daemon.ports import ButtonRow, Hold, MessagePage, PostedMessage
from daemon.slack.archive import time_of
from daemon.slack.block_text import escape_mrkdwn
from daemon.slack.checklist import checklist, in_plain_text
from daemon.slack.doors import open_dm_thread
from daemon.slack.draft import GONE, MessageRequests
from daemon.slack.left_out import RefusedContent
from daemon.slack.mark import read_speech_metadata
from daemon.slack.named_hosts import NamedHosts
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.pages import page_break, pages
from daemon.slack.payload import objects_at
from daemon.slack.place import OURS
from daemon.slack.quiet import escape_mentions, escape_settled_mentions
from daemon.slack.refusals import (
    FIXED,
    LACKING,
    LIMITED,
    OUT_OF_REACH,
    describe_failure,
    is_content_refusal,
    is_conversation_closed,
    is_permanent,
    slack_error,
)
from daemon.slack.status import SlackStatus
from daemon.slack.stream import MessageStream
from daemon.slack.web import Item, Method
from daemon.slack.web import pages as pages_of

NO_STREAM = LACKING | {
    LIMITED,
    "channel_type_not_supported",
    "deprecated_endpoint",
    "invalid_arg_name",
    "invalid_arguments",
    "method_not_supported_for_channel_type",
    "missing_recipient_team_id",
    "missing_recipient_user_id",
    "user_not_found",
}
"""Refusals that say: there can be no stream here now, and none was begun. Any other leaves it open."""
GAP = "…"
"""How a message of ours reads that says nothing, and cannot be deleted."""
PAGES = 10
CARD_PATIENCE = 5
"""Seconds that a card waits for a rate limit, in all: what is to be said waits for it."""

log = logging.getLogger(__name__)


class SlackSpeaker:
    """Speaks in threads that the journal knows, one message at a time in each; mentions only whom it may."""

    def __init__(self, workspace: SlackWorkspace, left_out: RefusedContent) -> None:
        self._workspace = workspace
        self._web = workspace.web
        self._journal = workspace.journal
        self._me = workspace.me
        self._mentioned = workspace.mentionable_ids
        self._people = workspace.people
        self._status = SlackStatus(self._web, self._journal, self._me.team)
        self._place_of = self._status.place_of
        self._streams: dict[str, MessageStream] = {}
        self._left_out = left_out
        self._direct: dict[str, str] = {}
        """Our conversations with people in which we speak unasked, by person."""

    def begin(self) -> None:
        """Take away what an earlier daemon has left standing as a status."""
        self._status.begin()

    async def close(self) -> None:
        """Leave as it is what turns that were cut off had begun to say, and show nothing any more."""
        await asyncio.gather(*(stream.abandon() for stream in self._streams.values()))
        await self._status.close()

    @property
    def busy(self) -> bool:
        """Is a status on its way to Slack?"""
        return self._status.is_busy

    def report_left_out(self, thread: str, word: str) -> None:
        """Slack refused something in each form, with this word: people there do not see it."""
        self._left_out.record_refusal(self._place_of(thread).place, thread, word)

    def pages(
        self, text: str, cuts: Sequence[int] = (), ended: Sequence[MessagePage] = ()
    ) -> Sequence[MessagePage]:
        """The text as messages that Slack takes whole."""
        return pages(text, cuts, ended)

    def page_end(self, text: str, since: int) -> int:
        """Where a page that began at `since` had best end, if it must end now."""
        return page_break(text, since)

    def status(self, thread: str, text: str, hold: Hold) -> None:
        """Slack is to show that the soul is doing this; an empty text: nothing any more."""
        self._status.show(thread, text, hold)

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        """Begin a message: a stream, or where there are none a post that will be rewritten.

        Raises SpeechFailed, also when it may have been begun after all: look with `own`.
        """
        left = self._streams.pop(thread, None)
        if left:
            await left.close()
        with saying():
            stream = await self._begin(self._draft(thread, key), text, hold)
        self._streams[thread] = stream
        self._status.note_reply(thread)
        return stream.ts

    async def _begin(self, draft: MessageRequests, text: str, hold: Hold) -> MessageStream:
        draft = replace(draft, grows=True)
        try:
            ts = await draft.begin(escape_settled_mentions(text, draft.keep, draft.named), hold)
            return MessageStream(draft, ts, text, streamed=True)
        except SlackApiError as refusal:
            if slack_error(refusal) not in NO_STREAM:
                raise
            ts = await draft.post(escape_mentions(text, draft.keep, draft.named), hold)
            return MessageStream(draft, ts, text, streamed=False)

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
        """The message now reads so; it will be shown within the second."""
        stream = self._streams.get(thread)
        if stream and stream.ts == ts:
            stream.extend(text, hold)

    async def finish(
        self,
        thread: str,
        ts: str | None,
        text: str,
        key: str,
        hold: Hold,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        """The message reads so for good, with these buttons: posted whole, its stream ended, or rewritten."""
        assert text.strip(), "an empty text is never said"
        with saying(its_content=True):
            draft = self._draft(thread, key, answers)
            if ts is None:
                ts = await draft.post(escape_mentions(text, draft.keep), hold, choices, plain=plain)
                self._status.note_reply(thread)
                return ts
            final = escape_mentions(text, draft.keep, draft.named)
            if not await self._ended(thread, draft, ts, final, hold, choices):
                await replace(draft, grows=True).stop(ts, "", hold)
                await draft.rewrite(ts, final, hold, choices, plain=plain)
        return ts

    async def leave_message(self, thread: str, ts: str, end: str, key: str, hold: Hold) -> str:
        """It stays as it reads, without buttons; if it is a stream still, it ends with `end`.

        Returns how it reads then. Empty: another daemon wrote it. What Slack shows of that is mrkdwn, and not
        what was written.
        """
        stream = self._streams.get(thread)
        if stream and stream.ts == ts:
            text = stream.text + end
            await self.finish(thread, ts, text, key, hold)
            return text
        draft = self._draft(thread, key)
        with saying():
            if not await draft.stop(ts, end, hold):
                await self._take_buttons(draft, ts, await self._own(thread, float(ts) - 1), hold)
        return ""

    async def _take_buttons(self, draft: MessageRequests, ts: str, own: Sequence[Item], hold: Hold) -> None:
        """The buttons under this message go. All else of it is given back as Slack has it."""
        for item in own:
            blocks = objects_at(item, "blocks")
            rest = [block for block in blocks if block.get("type") != "actions"]
            if item["ts"] == ts and len(rest) < len(blocks):
                await draft.put(ts, {"text": _text(item), "blocks": rest}, hold)

    async def replace(
        self,
        thread: str,
        ts: str,
        text: str,
        key: str,
        hold: Hold,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        """Say it in a message of its own instead of this one, which goes. Returns the new ts.

        The new one has a key of its own: after a kill it is found, also where it stands beside the old one.
        """
        with saying(its_content=True):
            draft = self._draft(thread, f"{key} instead: {digest(text)}", answers)
            posted = await self.own_messages(thread, float(ts))
            found = [one.ts for one in posted if one.key == digest(draft.key)]
            if not found:
                found.append(await draft.post(escape_mentions(text, draft.keep), hold, choices, plain=plain))
                self._status.note_reply(thread)
            await draft.remove(ts, hold)
        return found[0]

    async def retract(self, thread: str, ts: str, key: str, hold: Hold) -> None:
        """Take a message away. Raises SpeechFailed.

        Slack keeps what still grows: its stream is ended first. What cannot be deleted reads "…".
        """
        with saying():
            draft = self._draft(thread, key)
            stream = self._streams.pop(thread, None)
            if stream:
                await stream.close()
            await replace(draft, grows=True).stop(ts, "", hold)
            if await draft.remove(ts, hold):
                return
            try:
                await draft.rewrite(ts, GAP, hold)
            except SlackApiError as refusal:
                if not is_permanent(refusal):
                    raise

    async def show_card(self, thread: str, ts: str | None, plan: PlanState, key: str, hold: Hold) -> str:
        """A card shows this plan: one that is posted, or this one in place. Returns its ts."""
        draft = self._draft(thread, key)
        with saying():
            try:
                shown = await self._put_card(draft, ts, plan, hold)
            except SlackApiError as refusal:
                if not is_permanent(refusal):
                    raise
                said = f"Slack refused the card: {describe_failure(refusal)}"
                if slack_error(refusal) == GONE:
                    raise CardDeleted(said) from refusal
                if is_content_refusal(refusal):
                    self.report_left_out(thread, describe_failure(refusal))
                raise CardRefused(said) from refusal
        if ts is None:
            self._status.note_reply(thread)
        return shown

    async def _put_card(self, draft: MessageRequests, ts: str | None, plan: PlanState, hold: Hold) -> str:
        try:
            return await draft.put(ts, checklist(plan), hold, CARD_PATIENCE)
        except SlackApiError as refusal:
            if not is_content_refusal(refusal) or slack_error(refusal) in FIXED:
                raise
        return await draft.put(ts, in_plain_text(plan), hold, CARD_PATIENCE)

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        """Tell one person something here that nobody else sees, and that they see once.

        Raises SpeechFailed, and ContentRefused where Slack takes it in no form. Where Slack will not have it
        for another reason (they are not there, say) nobody is told, and all goes on. Slack shows it only in a
        thread that has a reply: in any other it stands beside the root.
        """
        place, post = self._place_of(thread), self._web.client.chat_postEphemeral
        where: dict[str, Any] = {"channel": place.channel, "user": person}
        if place.called_by != place.ts or self._journal.thread_entries(thread, *OURS):
            where["thread_ts"] = place.ts
        with saying(its_content=True):
            try:
                for page in pages(text):
                    said = escape_mentions(page.text, self._mentioned)
                    try:
                        await self._web.call(hold, post, **where, markdown_text=said)
                    except SlackApiError as refusal:
                        if not is_content_refusal(refusal):
                            raise
                        await self._web.call(hold, post, **where, text=escape_mrkdwn(said))
            except SlackApiError as refusal:
                if not is_permanent(refusal) or is_content_refusal(refusal):
                    raise
                log.warning("Slack would not tell one person something (%s).", slack_error(refusal))

    async def open_dm(self, person: str, hold: Hold) -> str:
        """The conversation in which the soul says something to this person unasked. Raises SpeechFailed."""
        if person not in self._direct:
            with saying():
                self._direct[person] = await open_dm_thread(self._workspace, person, hold)
        return self._direct[person]

    async def name(self, person: str) -> str:
        """What someone is called; empty where Slack does not say."""
        return await self._people.look_up_name(person)

    async def own_messages(self, thread: str, since: float) -> Sequence[PostedMessage]:
        """Our messages here since then, oldest first; one that grows reads as it soon will."""
        with saying():
            return [self._posted(thread, item) for item in await self._own(thread, since)]

    async def _own(self, thread: str, since: float) -> list[Item]:
        """The same as Slack has them. Raises what the web does."""
        place = self._place_of(thread)
        client = self._web.client
        where = {"channel": place.channel, "oldest": f"{since:.6f}", "include_all_metadata": True}
        read: Method = client.conversations_history
        if place.ts:
            read, where["ts"] = client.conversations_replies, place.ts
        items: list[Item] = []
        async for page in pages_of(self._web.call_readonly, read, "messages", PAGES, **where):
            items += page
        ours = [item for item in items if self._me.is_own_message(item.get("user"), item.get("bot_id"))]
        return [item for item in sorted(ours, key=time_of) if time_of(item) >= since]

    def _posted(self, thread: str, item: Item) -> PostedMessage:
        ts = str(item["ts"])
        text = _text(item)
        stream = self._streams.get(thread)
        if stream and stream.ts == ts:
            text = stream.text
        return PostedMessage(ts=ts, text=text, key=read_speech_metadata(item).key)

    def _draft(self, thread: str, key: str, answers: Sequence[str] = ()) -> MessageRequests:
        return MessageRequests(
            web=self._web,
            place=self._place_of(thread),
            key=key,
            keep=self._mentioned,
            answers=answers,
            journal=self._workspace.journal_id,
            named=NamedHosts(self._journal, thread, key),
        )

    async def _ended(
        self, thread: str, draft: MessageRequests, ts: str, final: str, hold: Hold, choices: ButtonRow | None
    ) -> bool:
        """Was it a stream of ours, and does it read so now? A stream of another attempt is only left."""
        stream = self._streams.pop(thread, None)
        if stream and stream.ts != ts:
            await stream.close()
            return False
        return stream is not None and await stream.end(draft, final, hold, choices)


@contextmanager
def saying(*, its_content: bool = False) -> Iterator[None]:
    """What goes wrong on the way to Slack, or there, is a SpeechFailed; some of it a SpeechRefused.

    A refusal of what is said is a ContentRefused, where `its_content` can be said in another form.
    """
    try:
        yield
    except (SlackApiError, *OUT_OF_REACH) as failure:
        if is_conversation_closed(failure):
            raise PostRefused(f"Slack takes nothing here: {describe_failure(failure)}") from failure
        if its_content and is_content_refusal(failure):
            raise ContentRefused(describe_failure(failure)) from failure
        raise PostFailed(f"Slack did not take it: {describe_failure(failure)}") from failure


def _text(item: Item) -> str:
    """How a message reads: beside a block its plain text may be cut short."""
    for block in item.get("blocks") or ():
        if block.get("type") == "markdown":
            return str(block.get("text"))
    return str(item.get("text") or "")
