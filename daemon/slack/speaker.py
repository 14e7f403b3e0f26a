"""Messages of the soul in Slack: posts, streams and cards. Implements the Speaker port.

The metadata holds the digest of the speech's key. A background task shows a growing message in steps; after a
failure, the message is corrected only at its end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError

from daemon.engine.event import digest
from daemon.engine.exceptions import FencedError
from daemon.engine.execution import Hold
from daemon.errors import CardDeleted, CardRefused, ContentRefused, PostFailed, PostRefused
from daemon.kinds import ConversationOpened, PlanState
from daemon.ports import ButtonRow, MessagePage, PostedMessage
from daemon.slack.block_text import escape_mrkdwn, objects_at
from daemon.slack.incoming import make_button_block
from daemon.slack.markdown import (
    NOBODY,
    Named,
    NamedHosts,
    allow_any_host,
    escape_mentions,
    escape_settled_mentions,
    mention_markup,
)
from daemon.slack.pages import (
    SECTION_MOST,
    UPDATE_MOST,
    make_plain_plan_card,
    make_plan_card,
    page_break,
    pages,
)
from daemon.slack.places import OURS, SlackWorkspace, open_dm_thread, read_speech_metadata, speech_metadata
from daemon.slack.status import SlackStatus
from daemon.slack.web_api import (
    FIXED,
    LACKING,
    LIMITED,
    LONGEST_WAIT,
    OUT_OF_REACH,
    Item,
    Method,
    RefusedContent,
    WebApi,
    describe_failure,
    is_content_refusal,
    is_conversation_closed,
    is_permanent,
    read_pages,
    retry_after,
    slack_error,
    time_of,
)

GONE = "message_not_found"
NO_PREVIEWS = {"unfurl_links": False, "unfurl_media": False}
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MessageRequests:
    """Requests for one message. `key` is the speech's; texts ping only people in `keep`.

    `answers` are the ts of answered messages. `named` decides which links may stand if previews cannot be
    off. `grows`: more text will come.
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
        return speech_metadata(self.key, self.journal, self.answers, grows=self.grows)

    async def post(
        self, text: str, hold: Hold, choices: ButtonRow | None = None, *, plain: bool = False
    ) -> str:
        content: dict[str, Any] = {"markdown_text": text}
        if plain:
            content = _plain(text, choices, self.keep)
        elif choices:
            content = _in_blocks(text, choices)
        return await self.put(None, content, hold)

    async def put(
        self, ts: str | None, content: Mapping[str, Any], hold: Hold, patience: int = LONGEST_WAIT
    ) -> str:
        """Post a message, or replace the one with this ts; return the ts."""
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
        """Open a stream, without waiting for rate limits; return its ts. Outside DMs, Slack requires a
        recipient.
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
        append = self.web.client.chat_appendStream
        await self.web.send_request(hold, append, channel=self.place.channel, ts=ts, markdown_text=more)

    async def stop(self, ts: str, rest: str, hold: Hold, choices: ButtonRow | None = None) -> bool:
        """End a stream with the text `rest`; False if Slack fails. Raises SlackApiError for a rate limit."""
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
        """Replace the text of a message that is no stream, without waiting for rate limits."""
        await self._update(self.web.send_request, hold, ts, markdown_text=text)

    async def remove(self, ts: str, hold: Hold) -> bool:
        try:
            await self.web.call(hold, self.web.client.chat_delete, channel=self.place.channel, ts=ts)
        except SlackApiError as refusal:
            if not is_permanent(refusal):
                raise
            if slack_error(refusal) != GONE:
                log.warning("Slack refused to delete a message of the soul: %s.", describe_failure(refusal))
                return False
        return True

    async def rewrite(
        self, ts: str, text: str, hold: Hold, choices: ButtonRow | None = None, *, plain: bool = False
    ) -> None:
        """Set the final text and buttons. Blocks replace old blocks; a text too long for blocks had none."""
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
            log.warning("A message was deleted in Slack while it was being written; it is not posted again.")


def _in_blocks(text: str, choices: ButtonRow | None) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "markdown", "text": text}]
    if choices:
        blocks.append(make_button_block(choices))
    return {"text": text[:UPDATE_MOST], "blocks": blocks}


def _plain(text: str, choices: ButtonRow | None, keep: Set[str] = NOBODY) -> dict[str, Any]:
    said = escape_mrkdwn(text)
    for person in keep:
        said = said.replace(escape_mrkdwn(mention_markup(person)), mention_markup(person))
    if choices is None:
        return {"text": said}
    starts = range(0, len(text), SECTION_MOST)
    parts = [{"type": "plain_text", "text": text[start : start + SECTION_MOST]} for start in starts]
    sections = [{"type": "section", "text": part} for part in parts]
    return {"text": said[:UPDATE_MOST], "blocks": [*sections, make_button_block(choices)]}


ENOUGH = 256
"""Number of new characters that are shown without waiting for more."""

PACE = 0.7
"""Seconds of waiting after which fewer new characters are shown."""


class MessageStream:
    """Growing message, in a stream if `streamed`, else rewritten. `said` is its first text."""

    def __init__(self, requests: MessageRequests, ts: str, said: str, *, streamed: bool) -> None:
        self.ts = ts
        self._requests = requests
        self._streamed = streamed
        self._said = said
        self._shown = escape_settled_mentions(said, requests.keep, requests.named)
        self._next: tuple[str, Hold] | None = None
        self._whole = True
        self._grown = asyncio.Event()
        self._enough = asyncio.Event()
        self._closed = asyncio.Event()
        self._pump = asyncio.create_task(self._run())

    @property
    def text(self) -> str:
        text = self._said
        if self._next:
            text, _ = self._next
        return escape_settled_mentions(text, self._requests.keep, self._requests.named)

    def extend(self, text: str, hold: Hold) -> None:
        """Schedule the whole text. A text that does not continue the last one waits for the end.

        Runs for each piece of an answer, so it must be cheap.
        """
        if text == self._said or not text.startswith(self._said):
            return
        self._next = (text, hold)
        self._grown.set()
        if len(text) - len(self._said) >= ENOUGH:
            self._enough.set()

    async def close(self) -> None:
        for event in (self._closed, self._grown, self._enough):
            event.set()
        await self._pump

    async def abandon(self) -> None:
        """Stop at once; another attempt of the turn ends the message."""
        self._pump.cancel()
        await asyncio.gather(self._pump, return_exceptions=True)

    async def end(self, requests: MessageRequests, text: str, hold: Hold, choices: ButtonRow | None) -> bool:
        """End the message with this text; False if the message must be rewritten."""
        await self.close()
        if not (self._whole and text.startswith(self._shown)):
            return False
        if self._streamed:
            return await requests.stop(self.ts, text[len(self._shown) :], hold, choices)
        await requests.rewrite(self.ts, text, hold, choices)
        return True

    async def _run(self) -> None:
        while self._whole:
            await self._grown.wait()
            await self._requests.web.wait_until(self._enough, PACE)
            if self._closed.is_set() or self._next is None:
                return
            self._grown.clear()
            self._enough.clear()
            self._said, hold = self._next
            text = escape_settled_mentions(self._said, self._requests.keep, self._requests.named)
            if not (text.startswith(self._shown) or self._shown.startswith(text)):
                self._whole = False
            elif len(text) > len(self._shown):
                await self._step(text, hold)

    async def _step(self, text: str, hold: Hold) -> None:
        try:
            if self._streamed:
                await self._requests.append(self.ts, text[len(self._shown) :], hold)
            else:
                await self._requests.grow(self.ts, text, hold)
            self._shown = text
        except SlackApiError as refusal:
            wait = retry_after(refusal)
            if wait is None:
                self._whole = False
                return
            self._grown.set()
            await self._requests.web.wait_until(self._closed, wait)
        except (FencedError, *OUT_OF_REACH):
            self._whole = False


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
"""Refusals that prove that no stream was begun; other refusals do not."""

GAP = "…"
"""Text of a message that cannot be deleted."""

PAGES = 10

CARD_PATIENCE = 5
"""Most seconds that a card waits for rate limits, since speech waits for the card."""


class SlackSpeaker:
    """Speaker with one growing message per thread; it mentions only permitted people."""

    def __init__(self, workspace: SlackWorkspace, left_out: RefusedContent) -> None:
        self._workspace = workspace
        self._web = workspace.web
        self._journal = workspace.journal
        self._me = workspace.me
        self._mentioned = workspace.mentionable_ids
        self._people = workspace.people
        self._status = SlackStatus(self._web, self._journal, self._me.team, workspace.share)
        self._place_of = self._status.place_of
        self._streams: dict[str, MessageStream] = {}
        self._refused_content = left_out
        self._dm_threads: dict[str, str] = {}

    def begin(self) -> None:
        self._status.begin()

    def begin_shared(self) -> None:
        self._status.begin_shared()

    def begin_life(self, life: int) -> None:
        self._status.begin_life(life)

    def clear_life(self, life: int) -> None:
        self._status.clear_life(life)

    async def close(self) -> None:
        await asyncio.gather(*(stream.abandon() for stream in self._streams.values()))
        await self._status.close()

    @property
    def busy(self) -> bool:
        return self._status.is_busy

    def report_left_out(self, thread: str, word: str) -> None:
        self._refused_content.record_refusal(self._place_of(thread).place, thread, word)

    def pages(
        self, text: str, cuts: Sequence[int] = (), ended: Sequence[MessagePage] = ()
    ) -> Sequence[MessagePage]:
        return pages(text, cuts, ended)

    def page_end(self, text: str, since: int) -> int:
        return page_break(text, since)

    def status(self, thread: str, text: str, hold: Hold) -> None:
        self._status.show(thread, text, hold)

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        """Begin a message as a stream, else as a post to rewrite; return its ts.

        After PostFailed, the message may still have begun: check with `own_messages`.
        """
        left = self._streams.pop(thread, None)
        if left:
            await left.close()
        with translating_failures():
            stream = await self._begin(self._requests(thread, key), text, hold)
        self._streams[thread] = stream
        self._status.note_reply(thread)
        return stream.ts

    async def _begin(self, requests: MessageRequests, text: str, hold: Hold) -> MessageStream:
        requests = replace(requests, grows=True)
        try:
            ts = await requests.begin(escape_settled_mentions(text, requests.keep, requests.named), hold)
            return MessageStream(requests, ts, text, streamed=True)
        except SlackApiError as refusal:
            if slack_error(refusal) not in NO_STREAM:
                raise
            ts = await requests.post(escape_mentions(text, requests.keep, requests.named), hold)
            return MessageStream(requests, ts, text, streamed=False)

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
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
        """Set the final text and buttons, or post them if `ts` is None; return the ts."""
        assert text.strip(), "an empty text is never said"
        with translating_failures(its_content=True):
            requests = self._requests(thread, key, answers)
            if ts is None:
                ts = await requests.post(escape_mentions(text, requests.keep), hold, choices, plain=plain)
                self._status.note_reply(thread)
                return ts
            final = escape_mentions(text, requests.keep, requests.named)
            if not await self._end_stream(thread, requests, ts, final, hold, choices):
                await replace(requests, grows=True).stop(ts, "", hold)
                await requests.rewrite(ts, final, hold, choices, plain=plain)
        return ts

    async def leave_message(self, thread: str, ts: str, end: str, key: str, hold: Hold) -> str:
        """Keep the message without buttons; a running stream ends with `end`.

        Return the text; empty if another daemon wrote the message.
        """
        stream = self._streams.get(thread)
        if stream and stream.ts == ts:
            text = stream.text + end
            await self.finish(thread, ts, text, key, hold)
            return text
        requests = self._requests(thread, key)
        with translating_failures():
            if not await requests.stop(ts, end, hold):
                await self._remove_buttons(requests, ts, await self._own(thread, float(ts) - 1), hold)
        return ""

    async def _remove_buttons(
        self, requests: MessageRequests, ts: str, own: Sequence[Item], hold: Hold
    ) -> None:
        for item in own:
            blocks = objects_at(item, "blocks")
            rest = [block for block in blocks if block.get("type") != "actions"]
            if item["ts"] == ts and len(rest) < len(blocks):
                await requests.put(ts, {"text": _text(item), "blocks": rest}, hold)

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
        """Post a new message in place of this one; return the new ts.

        The new message has its own key, so it is found after a kill, even beside the old one.
        """
        with translating_failures(its_content=True):
            requests = self._requests(thread, f"{key} instead: {digest(text)}", answers)
            posted = await self.own_messages(thread, float(ts))
            found = [one.ts for one in posted if one.key == digest(requests.key)]
            if not found:
                found.append(
                    await requests.post(escape_mentions(text, requests.keep), hold, choices, plain=plain)
                )
                self._status.note_reply(thread)
            await requests.remove(ts, hold)
        return found[0]

    async def retract(self, thread: str, ts: str, key: str, hold: Hold) -> None:
        """Delete a message. Raises PostFailed.

        A running stream is ended first, as Slack requires. A message that cannot be deleted becomes "…".
        """
        with translating_failures():
            requests = self._requests(thread, key)
            stream = self._streams.pop(thread, None)
            if stream:
                await stream.close()
            await replace(requests, grows=True).stop(ts, "", hold)
            if await requests.remove(ts, hold):
                return
            try:
                await requests.rewrite(ts, GAP, hold)
            except SlackApiError as refusal:
                if not is_permanent(refusal):
                    raise

    async def show_card(self, thread: str, ts: str | None, plan: PlanState, key: str, hold: Hold) -> str:
        requests = self._requests(thread, key)
        with translating_failures():
            try:
                shown = await self._put_card(requests, ts, plan, hold)
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

    async def _put_card(self, requests: MessageRequests, ts: str | None, plan: PlanState, hold: Hold) -> str:
        try:
            return await requests.put(ts, make_plan_card(plan), hold, CARD_PATIENCE)
        except SlackApiError as refusal:
            if not is_content_refusal(refusal) or slack_error(refusal) in FIXED:
                raise
        return await requests.put(ts, make_plain_plan_card(plan), hold, CARD_PATIENCE)

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        """Show one person a message once, hidden from others.

        Raises PostFailed or ContentRefused; logs other refusals. Slack shows the message in a thread only
        after a reply, else beside the root.
        """
        place, post = self._place_of(thread), self._web.client.chat_postEphemeral
        where: dict[str, Any] = {"channel": place.channel, "user": person}
        if place.called_by != place.ts or self._journal.thread_entries(thread, *OURS):
            where["thread_ts"] = place.ts
        with translating_failures(its_content=True):
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
                log.warning(
                    "Slack refused an ephemeral message (%s); its recipient does not see it.",
                    slack_error(refusal),
                )

    async def open_dm(self, person: str, hold: Hold) -> str:
        if person not in self._dm_threads:
            with translating_failures():
                self._dm_threads[person] = await open_dm_thread(self._workspace, person, hold)
        return self._dm_threads[person]

    async def name(self, person: str) -> str:
        return await self._people.look_up_name(person)

    async def own_messages(self, thread: str, since: float) -> Sequence[PostedMessage]:
        """Return the soul's messages since `since`, oldest first."""
        with translating_failures():
            return [self._posted(thread, item) for item in await self._own(thread, since)]

    async def _own(self, thread: str, since: float) -> list[Item]:
        place = self._place_of(thread)
        client = self._web.client
        where = {"channel": place.channel, "oldest": f"{since:.6f}", "include_all_metadata": True}
        read: Method = client.conversations_history
        if place.ts:
            read, where["ts"] = client.conversations_replies, place.ts
        items: list[Item] = []
        async for page in read_pages(self._web.call_readonly, read, "messages", PAGES, **where):
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

    def _requests(self, thread: str, key: str, answers: Sequence[str] = ()) -> MessageRequests:
        return MessageRequests(
            web=self._web,
            place=self._place_of(thread),
            key=key,
            keep=self._mentioned,
            answers=answers,
            journal=self._workspace.journal_id,
            named=NamedHosts(self._journal, thread, key),
        )

    async def _end_stream(
        self,
        thread: str,
        requests: MessageRequests,
        ts: str,
        final: str,
        hold: Hold,
        choices: ButtonRow | None,
    ) -> bool:
        stream = self._streams.pop(thread, None)
        if stream and stream.ts != ts:
            await stream.close()
            return False
        return stream is not None and await stream.end(requests, final, hold, choices)


@contextmanager
def translating_failures(*, its_content: bool = False) -> Iterator[None]:
    """Turn Slack failures into PostFailed, or PostRefused for a closed conversation.

    `its_content`: refused content raises ContentRefused, since it can be sent in another form.
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
    """Return a message's text, preferably from its block, since plain text may be cut."""
    for block in item.get("blocks") or ():
        if block.get("type") == "markdown":
            return str(block.get("text"))
    return str(item.get("text") or "")
