"""Durable inbox, Bolt's only global middleware: a message is in the journal before Slack gets its ack.

If the journal fails, there is no ack, and Slack sends the event again. Stops and presses need no call to
Slack and skip queues.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from slack_bolt.async_app import AsyncBoltContext
from slack_bolt.response import BoltResponse

from daemon.engine.event import Entry, Input
from daemon.engine.exceptions import JournalError
from daemon.kinds import (
    ANSWERED,
    OWN_WORDS,
    TOO_LATE,
    AmbientMessage,
    ButtonPress,
    ConversationOpened,
    IncomingMessage,
    OverheardMessage,
    PersonMessage,
    QuestionAsked,
    SoulTurnBegan,
    StopRequest,
    context_key,
    moment_of,
    thread_key,
)
from daemon.ports import Button
from daemon.slack.archive import LONGEST_GROWTH, BotMessageTracker, ConversationArchive
from daemon.slack.block_text import MalformedPayload, first_text, object_at, timestamp_at
from daemon.slack.directory import KeyedLock, MessageFields
from daemon.slack.early_messages import EarlyMessages
from daemon.slack.incoming import (
    GROWN,
    ButtonClick,
    SlackMessage,
    StopSignal,
    clicks_in,
    message_in_event,
    profile_in_event,
    reaction_in_event,
    stop_in_event,
)
from daemon.slack.message_policy import (
    Address,
    AmbientRecorder,
    classify_message,
    command_of,
    find_idle_thread_to_stop,
    find_thread_to_stop,
    is_stop_late,
    may_stop,
    resolve_thread,
)
from daemon.slack.modals import ModalDesk, submission_in
from daemon.slack.places import (
    MOVED,
    AudienceTracker,
    SlackWorkspace,
    channel_of_change,
    conversation_of,
    record_said,
)
from daemon.turn.forms import SUBMITTED

ALWAYS_ANSWERED = 10.0
"""Seconds that an event may be late and still be answered, even if CATCH_UP_MAX_AGE is smaller."""

BOTS = "bots"
"""Key of the lock for messages of all bots."""

ORIGINAL_PATIENCE = 1.5
"""Seconds that a change waits for its message, which another daemon may be recording."""

RECENT_CHANGE = 60
"""Most seconds between a message and a change that waits for it."""

NO_FIELDS: Mapping[str, Any] = {}

MessageEvent = OverheardMessage | IncomingMessage | StopRequest
MessageEntry = Entry[MessageEvent]
log = logging.getLogger(__name__)


class Inbox:
    """Recorder of Slack's envelopes, until closed.

    Messages older than `max_age` seconds are not answered. `notes`: ambient messages are recorded for an
    inner life.
    """

    def __init__(
        self, workspace: SlackWorkspace, archive: ConversationArchive, *, max_age: float, notes: bool = False
    ) -> None:
        self._workspace = workspace
        self._max_age = max(max_age, ALWAYS_ANSWERED)
        self._journal = workspace.journal
        self._people = workspace.people
        self._me = workspace.me
        self._allowed = workspace.allowed
        self._wake = workspace.wake
        self._owners = workspace.owners
        self._ids = workspace.channel_ids
        self.audiences = AudienceTracker(self._journal, self._people, self._me.team, workspace.recorded)
        self._ambient: AmbientRecorder | None = None
        if notes:
            self._ambient = AmbientRecorder(workspace, self.audiences)
        self.modals = ModalDesk(workspace)
        self.bot_messages = BotMessageTracker(workspace, archive, self._take_finished)
        self._order = KeyedLock()
        self._early = EarlyMessages()
        self._following: asyncio.Task[None] | None = None
        self._open = True

    def follow_others(self) -> None:
        """Judge early messages again when another daemon opens their thread."""
        clock = self._workspace.web.clock
        follow = self._early.follow(self._journal, clock, self._look_again)
        self._following = asyncio.create_task(follow, name="early messages")
        self._following.add_done_callback(_report)

    def close(self) -> None:
        self._open = False
        if self._following:
            self._following.cancel()

    async def receive(self, body: dict[str, Any], context: AsyncBoltContext) -> BoltResponse:
        if not self._open:
            return BoltResponse(status=503)
        try:
            faults = await self._handle_envelope(body)
        except JournalError as error:
            log.error("Could not record an envelope; Slack will send it again. %s", error)
            return BoltResponse(status=503)
        if faults:
            return await context.ack(response_action="errors", errors=dict(faults))
        return await context.ack()

    async def _handle_envelope(self, body: Mapping[str, Any]) -> Mapping[str, str]:
        """Record an envelope; return faults in a form, which its sender is to mend."""
        try:
            match body.get("type"):
                case "app_rate_limited":
                    log.warning(
                        "Slack limits the events of this workspace (app_rate_limited); some may be missing."
                    )
                case "block_actions":
                    for press in list(clicks_in(body)):
                        press = replace(press, channel=self._ids.first_id(press.channel))
                        if not self._may_press(press) or self.modals.open(
                            press, first_text(body, "trigger_id")
                        ):
                            continue
                        await self._record_press(press, f"click:{self._me.team}:{press.channel}:{press.ts}")
                case "view_submission":
                    return await self._handle_submission(body)
                case "event_callback":
                    await self._handle_event(object_at(body, "event"))
        except MalformedPayload as fault:
            log.warning("Ignored a malformed event of Slack: %s.", fault)
        return {}

    async def _handle_submission(self, body: Mapping[str, Any]) -> Mapping[str, str]:
        """Record a form as the answer to its question, or return its faults. The turn judges its validity."""
        sent = submission_in(body)
        if sent is None:
            return {}
        press = ButtonClick(
            channel=sent.channel,
            user=sent.user,
            name=sent.name,
            ts=f"{self._workspace.web.now():.6f}",
            label=self.modals.label(sent),
            asked=sent.asked,
            value=SUBMITTED,
        )
        if not self._may_press(press):
            return {}
        values, faults = self.modals.read(sent)
        if not faults:
            key = f"click:{self._me.team}:{press.channel}:{sent.view}"
            await self._record_press(press, key, values)
        return faults

    async def _handle_event(self, event: Mapping[str, Any]) -> None:
        event = self._ids.translate_event(event)
        stop = stop_in_event(event)
        if stop and await self._handle_stop(stop):
            return
        message = message_in_event(event)
        self._check_own_message(event)
        if message:
            await self._handle_message(message)
            return
        profile = profile_in_event(event)
        if profile:
            self._people.apply_new_name(profile)
        if event.get("type") in MOVED:
            channel = await self._ids.record_move(event)
        else:
            channel = channel_of_change(event)
        if channel:
            await self.audiences.mark_changed(channel, timestamp_at(event, "event_ts"))
        if self._ambient is None:
            return
        reaction = reaction_in_event(event)
        if reaction:
            await self._ambient.record_reaction(reaction)

    async def _handle_message(self, message: SlackMessage) -> None:
        """Record a message or change; a bot's message is recorded when complete."""
        if message.is_by_bot and message.change == "deleted":
            self.bot_messages.drop(message)
        elif self._may_grow(message):
            await self.bot_messages.hold(message)
        elif message.change != GROWN:
            for thread in await self._record_message(message):
                self._wake(thread)

    def _may_grow(self, message: SlackMessage) -> bool:
        """True if an allowed bot wrote the message, or if it changes a known bot message."""
        if not message.is_by_bot or self._me.is_own_message(message.user, message.bot):
            return False
        if message.change:
            return self.bot_messages.is_holding(message) or self._recorded_message(message) is not None
        return self._allowed.is_allowed_bot(message)

    async def _take_finished(self, message: SlackMessage) -> None:
        known = self._recorded_message(message)
        if known:
            words = await self._people.describe(message)
            if words["text"] == known.event.text:
                return
            now = f"{self._workspace.web.now():.6f}"
            message = replace(message, change="edited", changed=max(now, message.ts, key=moment_of), told="")
        for thread in await self._record_message(message):
            self._wake(thread)

    def _recorded_message(self, message: SlackMessage) -> Entry[PersonMessage] | None:
        where = self._message_path(message)
        for key, kind in (
            ("msg", PersonMessage),
            ("heard", PersonMessage),
            ("noticed", AmbientMessage),
        ):
            first = self._journal.get(f"{key}:{where}")
            if first:
                for entry in self._journal.latest_first(first.thread, kind):
                    if entry.event.ts == message.ts:
                        return entry
        return None

    def _check_own_message(self, event: Mapping[str, Any]) -> None:
        said = event
        if event.get("subtype") == "message_changed":
            said = object_at(event, "message")
        if self._me.is_own_message(said.get("user"), said.get("bot_id")):
            self._workspace.check_own_message(said)

    async def _handle_stop(self, stop: StopSignal) -> bool:
        """Stop a thread; return False if nothing runs or this person may not stop it."""
        key = f"stop:{self._me.team}:{stop.channel}:{stop.ts}"
        known = find_thread_to_stop(self._journal, self._me.team, stop)
        if self._journal.get(key):
            return True
        if known is None or not may_stop(self._journal, known.thread, stop, self._owners):
            known = self._idle_thread(stop)
        if known is None:
            return False
        name = self._people.known_name(stop.user) or stop.user
        owner = stop.user in self._owners
        event = StopRequest(user=stop.user, name=name, text="", ts=stop.ts, by=stop.by, owner=owner)
        await self._record_and_wake(known, key, event)
        return True

    def _idle_thread(self, stop: StopSignal) -> Entry[ConversationOpened] | None:
        known = find_idle_thread_to_stop(self._journal, self._me, stop)
        if known is None or not self._allowed.may_speak(stop.user, stop.channel, known.event.where):
            return None
        return known

    async def press_outside_slack(self, asked: Entry[QuestionAsked], user: str, choice: Button) -> bool:
        """Press a button outside Slack, once per person.

        Return False if the inbox is closed or the conversation unknown. Raises JournalError.
        """
        known = self._journal.latest_of_kind(asked.thread, ConversationOpened)
        if known is None or not self._open:
            return False
        press = ButtonClick(
            channel=known.event.channel,
            user=user,
            name=await self._people.look_up_name(user),
            ts=f"{self._workspace.web.now():.6f}",
            label=choice.label,
            asked=asked.key,
            value=choice.value,
        )
        return await self._record_press(press, press_key(asked, user))

    def _may_press(self, press: ButtonClick) -> bool:
        """True if this person may speak to the soul where the question was asked."""
        known = self._conversation_of_press(press)
        if known is None:
            return False
        may_speak = self._allowed.may_speak(press.user, press.channel, known.event.where)
        return may_speak or press.user in self._owners

    def _conversation_of_press(self, press: ButtonClick) -> Entry[ConversationOpened] | None:
        known = self._journal.latest_of_kind(press.asked.partition("@")[0], ConversationOpened)
        if known is None or known.event.channel != press.channel:
            return None
        return known

    async def _record_press(
        self, press: ButtonClick, key: str, fields: Mapping[str, Any] = NO_FIELDS
    ) -> bool:
        """Record an answer, whose validity the turn judges; return False if this person may not press."""
        known = self._conversation_of_press(press)
        if known is None or not self._may_press(press):
            return False
        name = self._people.known_name(press.user) or self._name_in_thread(known.thread, press.user)
        event = ButtonPress(
            user=press.user,
            name=name or press.name or press.user,
            text=press.label,
            ts=press.ts,
            answers=press.asked,
            value=press.value,
            owner=press.user in self._owners,
            fields=fields,
        )
        await self._record_and_wake(known, key, event)
        return True

    def _name_in_thread(self, thread: str, user: str) -> str:
        said: list[Entry[PersonMessage]] = self._journal.thread_entries(
            thread, IncomingMessage, OverheardMessage
        )
        for entry in reversed(said):
            if entry.event.user == user:
                return entry.event.name
        return ""

    async def _record_and_wake(
        self, known: Entry[ConversationOpened], key: str, event: PersonMessage
    ) -> None:
        await record_said(self._journal, known, event, key)
        self._wake(known.thread)

    async def take_missed(self, message: SlackMessage, *, late: str = "") -> set[str]:
        """Record a message from backfill; return threads to wake. `late` is the reason not to answer it.
        Raises JournalError.
        """
        if self._is_known(message):
            return set()
        if late == ANSWERED and self._is_context(message):
            return set()
        if late != ANSWERED and self._is_young(message) and self._may_grow(message):
            await self.bot_messages.hold(message)
            return set()
        return await self._record_message(message, late=late)

    async def take_found(self, message: SlackMessage) -> int:
        """Record a message read before its event arrived; return its seq if it awaits an answer, else 0.

        Raises JournalError.
        """
        if message.is_by_bot or command_of(message, self._me) or self._is_too_old(message):
            return 0
        for thread in await self._record_message(message):
            self._wake(thread)
        entry = self._journal.get(f"msg:{self._message_path(message)}")
        if entry and isinstance(entry.event, Input) and self._journal.is_pending(entry.seq):
            return entry.seq
        return 0

    def _is_young(self, message: SlackMessage) -> bool:
        age = self._workspace.web.now() - float(message.ts)
        return not message.ended and age < LONGEST_GROWTH

    async def record_own_message(self, message: SlackMessage) -> None:
        key = thread_key(self._me.team, message.channel, message.root)
        async with self._order.lock_for(key):
            known = conversation_of(self._journal, key)
            if known is None or self._is_known(message):
                return
            above_call = moment_of(message.ts) < moment_of(known.event.called_by or "0")
            if above_call or self._workspace.forgotten.covers(known.event.user, message.ts):
                return
            words = await self._people.describe(message)
            event = OverheardMessage(**words, note=OWN_WORDS)
            await record_said(self._journal, known, event, f"heard:{self._message_path(message)}")

    def _is_known(self, message: SlackMessage) -> bool:
        where = self._message_path(message)
        return bool(self._journal.get(f"msg:{where}") or self._journal.get(f"heard:{where}"))

    def _is_context(self, message: SlackMessage) -> bool:
        known = conversation_of(self._journal, thread_key(self._me.team, message.channel, message.root))
        return bool(known and self._journal.get(context_key(known.thread, message.ts)))

    async def _record_message(self, message: SlackMessage, *, late: str = "") -> set[str]:
        """Judge a thread's messages in order, as replies depend on calls; return threads to wake.

        Stops of running work skip the queue. The soul's own messages are ignored.
        """
        if self._me.is_own_message(message.user, message.bot):
            return set()
        urgent = self._urgent(message)
        message = resolve_thread(self._journal, message, self._me, self._owners)
        key = thread_key(self._me.team, message.channel, message.root)
        if urgent and self._at_work(key):
            return _to_wake([await self._judge(key, message, late=late)])
        if message.change and self._workspace.share.is_shared:
            await self._wait_for_original(key, message)
        async with self._order.lock_for(key):
            written = await self._judge(key, message, late=late)
            if written:
                return _to_wake([written, *await self._judge_early(key)])
            if message.change or message.root != message.ts:
                self._early.add(key, message)
            return set()

    async def _look_again(self, key: str) -> None:
        async with self._order.lock_for(key):
            for thread in _to_wake(await self._judge_early(key)):
                self._wake(thread)

    async def _wait_for_original(self, key: str, message: SlackMessage) -> None:
        """Wait until the message that this one changes is recorded, if it is new."""
        if moment_of(message.changed or message.ts) - moment_of(message.ts) > RECENT_CHANGE:
            return
        until = self._workspace.web.clock.steady() + ORIGINAL_PATIENCE
        while conversation_of(self._journal, key) and not self._is_known(message):
            left = until - self._workspace.web.clock.steady()
            if left <= 0:
                return
            await self._workspace.web.wait_until(self._journal.next_change, left)

    async def _judge(self, key: str, message: SlackMessage, *, late: str = "") -> MessageEntry | None:
        """Record a message; None if the message is forgotten or belongs to no conversation.

        Messages of bots are judged one at a time, since they are counted.
        """
        if self._workspace.forgotten.covers(message.author, message.changed or message.ts):
            return None
        if not message.is_by_bot:
            return await self._classify_and_record(key, message, late=late)
        async with self._order.lock_for(BOTS):
            if self._allowed.is_allowed_bot(message) and not message.change and self._is_known(message):
                return None  # already counted
            return await self._classify_and_record(key, message, late=late)

    async def _classify_and_record(
        self, key: str, message: SlackMessage, *, late: str
    ) -> MessageEntry | None:
        known = conversation_of(self._journal, key)
        if known:
            called_by: str | None = known.event.called_by
        else:
            called_by = self._unprompted_root(message)
        if not late and (self._is_late(known, message) or self._is_too_old(message)):
            late = TOO_LATE
        is_bot = self._allowed.is_allowed_bot(message)
        has_reached_limit = is_bot and self._workspace.meetings.has_reached_limit(
            self._me.team, message.channel, message.root
        )
        address = classify_message(
            message, self._me, self._allowed, called_by, late=bool(late), has_reached_limit=has_reached_limit
        )
        if address == "ignored":
            await self._people.record_guest(message)
            if self._ambient:
                await self._ambient.record_message(message)
            return None
        if known:
            return await self._record_in_conversation(known, message, address, late)
        return await self._open_conversation(key, message, address, called_by or message.ts, late)

    async def _record_in_conversation(
        self, known: Entry[ConversationOpened], message: SlackMessage, address: Address, late: str
    ) -> MessageEntry:
        urgent = self._urgent(message)
        words = await self._people.describe(message, at_once=urgent, readers=not urgent)
        if not urgent:
            await self.audiences.record_for_message(message)
        key, event = self._key_and_event(message, address, words, late)
        entry = await record_said(self._journal, known, event, key)
        return await self._complete(known, entry, message, words, event)

    async def _complete(
        self,
        known: Entry[ConversationOpened],
        entry: MessageEntry,
        message: SlackMessage,
        words: MessageFields,
        event: MessageEvent,
    ) -> MessageEntry:
        """Record content of this event that the recorded one lacks; return the last entry."""
        if message.told and entry.event.text != event.text:
            key = f"msg:{self._message_path(message)}:edited:{message.told}"
            entry = await record_said(self._journal, known, event, key)
        if _has_more_content(message, words, entry.event):
            # The event of the mention came first, without this content.
            whole = OverheardMessage(**words, note="edited")
            await record_said(self._journal, entry, whole, f"{entry.key}:edited:{message.ts}")
        return entry

    async def _open_conversation(
        self, key: str, message: SlackMessage, address: Address, called_by: str, late: str
    ) -> MessageEntry:
        words = await self._people.describe(message, at_once=self._urgent(message), readers=True)
        where, before = self._people.conversation_info(message), self._journal.last_seq_of_all()
        place = ConversationOpened(
            team=self._me.team,
            channel=message.channel,
            ts=message.root,
            where=where.kind,
            place=where.name,
            audience=where.audience,
            user=message.author,
            called_by=called_by,
        )
        first, event = self._key_and_event(message, address, words, late)
        known, entry = await self._journal.open_with(
            key, place, event, first_key=first, author=message.author
        )
        await self.audiences.record_opened(known.event, before)
        return await self._complete(known, entry, message, words, event)

    def _is_late(self, known: Entry[ConversationOpened] | None, message: SlackMessage) -> bool:
        if known is None or not self._urgent(message):
            return False
        return is_stop_late(self._journal, known.thread, message.ts)

    def _is_too_old(self, message: SlackMessage) -> bool:
        """True if the message is too old by Slack's clock; False if Slack's time is unknown: the local clock
        may be wrong.
        """
        now = self._workspace.web.time()
        return now is not None and now - float(message.ts) > self._max_age

    def _urgent(self, message: SlackMessage) -> bool:
        return command_of(message, self._me) == "stop"

    def _at_work(self, key: str) -> bool:
        known = conversation_of(self._journal, key)
        return bool(known and self._journal.pending_entries(SoulTurnBegan, thread=known.thread))

    async def _judge_early(self, key: str) -> list[MessageEntry | None]:
        """Judge messages again that arrived before their call."""
        here = self._early.of_thread(key)
        if not here:
            return []
        known = conversation_of(self._journal, key)
        again = []
        for message in here:
            if known and moment_of(message.ts) >= moment_of(known.event.called_by):
                if message.is_by_bot and not self._allowed.is_allowed_bot(message):
                    await self.bot_messages.hold(message)  # perhaps only its first piece is known
                again.append(await self._judge(key, message))
                self._early.remove(key, message)
        return again

    def _unprompted_root(self, message: SlackMessage) -> str | None:
        """Return the ts of the soul's unasked post that the message replies to, or None."""
        if message.kind == "dm" or message.root == message.ts:
            return None
        if self._workspace.places.find_unprompted(self._me.team, message.channel, message.root):
            return message.root
        return None

    def _key_and_event(
        self, message: SlackMessage, address: Address, words: MessageFields, late: str
    ) -> tuple[str, MessageEvent]:
        where = self._message_path(message)
        if message.change:
            key = f"msg:{where}:{message.change}:{message.changed}"
            return key, OverheardMessage(**words, note=message.change)
        if address == "heard":
            return f"heard:{where}", OverheardMessage(**words)
        key = f"msg:{where}"
        if address == "late":  # so that the message's event, if it still comes, is known
            return key, OverheardMessage(**words, note=late)
        known = command_of(message, self._me)
        if known == "stop":
            return key, StopRequest(**words, address=address)
        return key, IncomingMessage(**words, address=address, command=known)

    def _message_path(self, message: SlackMessage) -> str:
        """Return the part of keys that names a message. The team is ours: events of shared channels may name
        another.
        """
        return f"{self._me.team}:{message.channel}:{message.ts}"


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception():
        log.critical("Early messages are not looked at again before a restart.", exc_info=task.exception())


def press_key(asked: Entry[QuestionAsked], user: str) -> str:
    return f"click:page:{asked.seq}:{user}"


def _has_more_content(message: SlackMessage, words: MessageFields, written: PersonMessage) -> bool:
    """True if the message has files or content that the record lacks."""
    if message.files and not written.files:
        return True
    return bool(message.rest) and len(words["text"]) > len(written.text)


def _to_wake(written: Iterable[MessageEntry | None]) -> set[str]:
    return {entry.thread for entry in written if entry and _needs_a_turn(entry.event)}


def _needs_a_turn(event: MessageEvent) -> bool:
    return isinstance(event, Input) or event.note == "edited"
