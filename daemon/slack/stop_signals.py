"""A stop that is no message: 🛑 on one, or Slack's Stop button. Whom it stops, and who may.

All of it is read in the journal: a stop waits for no answer of Slack's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from daemon.engine.event import Entry, Event, Input, InputRank, of_kind
from daemon.engine.journal import Journal
from daemon.kinds import (
    ConversationOpened,
    IncomingMessage,
    PersonMessage,
    QuestionAsked,
    ReminderFired,
    SoulTurnBegan,
    SpeechFinished,
    moment_of,
    thread_key,
)
from daemon.slack.message import reaction_in_event
from daemon.slack.payload import first_text, id_at, timestamp_at
from daemon.slack.place import OURS, conversation_of, conversation_of_message
from daemon.slack.policy import BotIdentity
from daemon.slack.web import SKEW
from daemon.slack.words import STOP_EMOJIS

AT_WORK: tuple[type[Event], ...] = (Input, SoulTurnBegan, QuestionAsked)
"""What is pending in a thread in which something runs, waits for its turn, or for an answer."""


RECENT_STOPS = 86_400
"""Seconds for which a 🛑 on a message is answered though nothing runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSignal:
    """Someone wants the soul to stop, at `ts`. `root` is the thread, or `on` a message in it that `whose`
    wrote."""

    by: Literal["reaction", "button"]
    channel: str
    user: str
    ts: str
    root: str = ""
    on: str = ""
    whose: str = ""


def stop_of(event: Mapping[str, Any]) -> StopSignal | None:
    """The stop that an event is, if it is one; raises Malformed."""
    if event.get("type") == "agent_session_stopped":
        return StopSignal(
            by="button",
            channel=id_at(event, "channel"),
            user=id_at(event, "user"),
            ts=timestamp_at(event, "event_ts"),
            root=timestamp_at(event, "thread_ts"),
        )
    if first_text(event, "reaction").partition("::")[0] not in STOP_EMOJIS:
        return None
    one = reaction_in_event(event)
    if one is None or one.removed:
        return None
    return StopSignal(
        by="reaction", channel=one.channel, user=one.user, ts=one.ts, on=one.on, whose=one.whose
    )


def thread_of(journal: Journal, team: str, stop: StopSignal) -> Entry[ConversationOpened] | None:
    """The conversation that is to stop, if the soul is in it."""
    if stop.root:
        return conversation_of(journal, thread_key(team, stop.channel, stop.root))
    return conversation_of_message(journal, team, stop.channel, stop.on) or _speaking(journal, stop)


def expected_in(journal: Journal, me: BotIdentity, stop: StopSignal) -> Entry[ConversationOpened] | None:
    """Return the conversation in which this person expects the soul to stop, if nothing at all runs there.

    A 🛑 says so on what the soul said lately, or on what they said to it; elsewhere it may mean anything.
    """
    found: Entry[ConversationOpened] | None = None
    if stop.root:
        found = conversation_of(journal, thread_key(me.team, stop.channel, stop.root))
    elif me.is_own_message(stop.whose, ""):
        found = _said_lately(journal, stop)
    elif stop.whose == stop.user:
        said = journal.get(f"msg:{me.team}:{stop.channel}:{stop.on}")
        if said and isinstance(said.event, IncomingMessage):
            found = journal.latest_of_kind(said.thread, ConversationOpened)
    if found is None or journal.pending_entries(*AT_WORK, thread=found.thread):
        return None
    return found


def _said_lately(journal: Journal, stop: StopSignal) -> Entry[ConversationOpened] | None:
    """Return the conversation in which the soul said the message that the stop is on."""
    on = float(stop.on)
    if float(stop.ts) - on > RECENT_STOPS:
        return None
    for entry in journal.entries_of_kind(SpeechFinished, at=on - SKEW):
        if entry.event.ts == stop.on:
            known = journal.latest_of_kind(entry.thread, ConversationOpened)
            if known and known.event.channel == stop.channel:
                return known
    return None


def _speaking(journal: Journal, stop: StopSignal) -> Entry[ConversationOpened] | None:
    """The conversation at work in which the soul itself said that message."""
    for one in working_threads(journal):
        if one.event.channel != stop.channel:
            continue
        said: list[Entry[Any]] = journal.thread_entries(one.thread, *OURS)
        if any(entry.event.ts == stop.on for entry in said):
            return one
    return None


def working_threads(journal: Journal) -> list[Entry[ConversationOpened]]:
    """The conversations that are at work; the one in which something came last is the first."""
    threads = dict.fromkeys(entry.thread for entry in reversed(journal.pending_entries(*AT_WORK)))
    found: list[Entry[ConversationOpened]] = []
    for thread in threads:
        found.extend(journal.latest_first(thread, ConversationOpened))
    return found


def may_stop(journal: Journal, thread: str, stop: StopSignal, owners: frozenset[str]) -> bool:
    """Is there something to stop, and may they? A button is Slack's: whoever sees it may press it.

    A stop that arrives late does not stop what was asked for after it.
    """
    work = _work(journal, thread)
    if not work or _are_newer(work, stop.ts):
        return False
    if stop.by == "button" or stop.user in owners:
        return True
    return any(entry.event.user == stop.user for entry in of_kind(PersonMessage, work))


def is_stop_late(journal: Journal, thread: str, ts: str) -> bool:
    """Was a stop of this ts written before all was asked for that the thread is at work on?"""
    return _are_newer(_work(journal, thread), ts)


def _are_newer(work: Iterable[Entry[Input]], ts: str) -> bool:
    said = [_written(entry.event) for entry in of_kind(PersonMessage, work)]
    return bool(said) and min(said) > moment_of(ts)


def _written(said: PersonMessage) -> Decimal:
    """When that was, at the earliest: a reminder is dated by our clock."""
    if isinstance(said, ReminderFired):
        return moment_of(said.ts) - SKEW
    return moment_of(said.ts)


def _work(journal: Journal, thread: str) -> list[Entry[Input]]:
    """What it is at work on, of what people said or stopped."""
    return [
        entry
        for entry in _asked_for(journal, thread)
        if entry.event.rank in (InputRank.MESSAGE, InputRank.STOP)
    ]


def _asked_for(journal: Journal, thread: str) -> Iterator[Entry[Input]]:
    """What the thread is at work on: the messages that wait, its turn took, or its suspended execution."""
    yield from journal.pending_inputs(thread)
    running: list[Entry[SoulTurnBegan | QuestionAsked]] = journal.pending_entries(
        SoulTurnBegan, QuestionAsked, thread=thread
    )
    for entry in running:
        began = journal.get(f"{entry.event.execution}/began")
        if began and isinstance(began.event, SoulTurnBegan):
            yield from journal.entries_at(began.event.inputs)
