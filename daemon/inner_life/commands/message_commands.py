"""Inner commands that send messages to people and to neighbours (bots that the owner has named).

The target conversation posts the message. An owner must approve it, unless it goes to the view, to an owner
or to a neighbour. Lookups and decisions are recorded for replays.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from pydantic import Field

from daemon.actions.action import ActionDefinition, StrictArguments
from daemon.answers.speech_gate import spoken_text
from daemon.inner_life.commands.command import CommandResult, TickContext, command, ids_in_words
from daemon.inner_life.recipients import (
    SEND_COMMAND,
    BringShared,
    OpenDm,
    RecipientDirectory,
    ShareableRecord,
)
from daemon.ism import ActionRefused
from daemon.kinds import UnpromptedMessage
from daemon.knowledge.bot_traffic import MESH_COMMANDS

LookUp = Callable[[], Awaitable[str]]


LONGEST_MESSAGE = 2_000
"""Most characters: an owner who approves a message must read all of it."""


LONGEST_RECIPIENT = 200


UNKNOWN_READERS = "what is in view may not be known there"


TWICE = "the same was to be said there before: it is never said twice"


class SendMessageArguments(StrictArguments):
    """What to say, and to whom."""

    to: str = Field(max_length=LONGEST_RECIPIENT)
    text: str = Field(max_length=LONGEST_MESSAGE)


def message_commands(reach: RecipientDirectory, *, daily_messages: int) -> Sequence[ActionDefinition]:
    """Return message.send; `daily_messages`: most in a UTC day."""

    async def send(tick: TickContext, args: SendMessageArguments) -> CommandResult:
        text = speakable_text(args.text)
        if reach.mentions_neighbour(text):
            raise ActionRefused("it would call a neighbour: write mesh.ask instead")
        thread = await _recipient_thread(tick, reach, args.to)

        async def judged() -> str:
            if reach.sent_today() >= daily_messages:
                return (
                    f"{daily_messages} messages were sent today, which is as many as may be:"
                    " wait for tomorrow"
                )
            return refusal_reason(tick, reach, thread, text)

        await record_decision(tick, "may-send", thread, judged)
        message = await unprompted_message(tick, reach, thread, text)
        if thread == tick.view or reach.person(thread) in tick.turn.owners:
            await tick.turn.send("to-say", thread, message)
            return CommandResult(text=f"it will be said: {message.place}")
        return await _send_with_leave(tick, reach, message)

    return [
        command(
            SEND_COMMAND,
            "Say something to people: in the conversation in view at once, to an owner at once, anywhere "
            "else when an owner agrees. `to` is a conversation (sess-…), a person or a #channel.",
            send,
            SendMessageArguments,
        )
    ]


async def _recipient_thread(tick: TickContext, reach: RecipientDirectory, to: str) -> str:
    thread = await record_lookup(tick, "address", {"to": to}, partial(reach.thread, to))
    if not thread:
        can = await reach.recipients_in_words(tick.views, tick.view)
        raise ActionRefused(f"nobody here is known as {to!r}: address {can}")
    return thread


async def _send_with_leave(
    tick: TickContext, reach: RecipientDirectory, message: UnpromptedMessage
) -> CommandResult:
    if not tick.turn.owners:
        raise ActionRefused("an owner would have to agree to that, and none is set")

    theirs = await find_owner_to_ask(tick, {"thread": message.to}, reach.direct)
    if not theirs:
        raise ActionRefused("an owner would have to agree to that, and none may know what is in view")
    await tick.turn.send("to-say", theirs, replace(message, leave=True))
    return CommandResult(text=f"an owner is asked whether it may be said: {message.place}")


async def find_owner_to_ask(tick: TickContext, about: dict[str, str], open_dm: OpenDm) -> str:
    """Return the thread of an owner's direct messages that may know the view; empty if there is none."""

    async def owner_thread() -> str:
        for owner in tick.turn.owners:
            theirs = await open_dm(owner)
            if theirs and tick.views.may_know(theirs, tick.view):
                return theirs
        return ""

    return await record_lookup(tick, "whom-to-ask", about, owner_thread)


def speakable_text(text: str) -> str:
    fit = spoken_text(text)
    if not fit:
        raise ActionRefused("there is nothing in it to be said aloud: write plain words, without a thought")
    if len(fit) > LONGEST_MESSAGE:
        raise ActionRefused(f"it is {len(fit)} characters long: write at most {LONGEST_MESSAGE}")
    return fit


def refusal_reason(tick: TickContext, reach: RecipientDirectory, thread: str, text: str) -> str:
    if not tick.views.may_know(thread, tick.view):
        return UNKNOWN_READERS
    if reach.was_already_requested(thread, text):
        return TWICE
    return ""


async def unprompted_message(
    tick: TickContext, reach: RecipientDirectory, thread: str, text: str
) -> UnpromptedMessage:
    place = await record_lookup(tick, "place", {"thread": thread}, partial(reach.place_in_words, thread))
    return UnpromptedMessage(text=text, by=tick.id, to=thread, place=place, view=tick.view)


def as_quotation(text: str) -> str:
    """Quote a text, including lines that begin after an unusual line separator."""
    return "\n".join(f"> {line}" for line in text.splitlines())


async def record_decision(tick: TickContext, name: str, thread: str, judged: LookUp) -> None:
    """Record a decision. Raises ActionRefused with the text that forbids the action, unless it is empty."""
    why = await record_lookup(tick, name, {"thread": thread}, judged)
    if why:
        raise ActionRefused(why)


async def record_lookup(tick: TickContext, name: str, args: dict[str, str], do: LookUp) -> str:
    """Look up a text once and record it; a replay reads the recorded text."""
    done = await tick.turn.effect(name, args, do, repeatable=True)
    return done.event.text


ASK, SHARE = MESH_COMMANDS


MENTION = re.compile(r"<@(\w+)[^<>]*>")


MOST_SHARED = 10


class AskNeighbourArguments(StrictArguments):
    """What to ask a neighbour."""

    to: str = Field(max_length=LONGEST_RECIPIENT)
    text: str = Field(max_length=LONGEST_MESSAGE)


class ShareRecordsArguments(StrictArguments):
    """Which records to share with a neighbour."""

    to: str = Field(max_length=LONGEST_RECIPIENT)
    ids: list[int] = Field(min_length=1, max_length=MOST_SHARED)


def mesh_commands(
    reach: RecipientDirectory, share_records: BringShared, *, daily_calls: int
) -> Sequence[ActionDefinition]:
    """Return mesh.ask and mesh.share; `daily_calls`: most messages to and from bots in a UTC day."""

    async def ask(tick: TickContext, args: AskNeighbourArguments) -> CommandResult:
        text = speakable_text(args.text)
        neighbour, thread = await _neighbour_and_thread(tick, reach, args.to)
        return await _call(tick, reach, daily_calls, thread, f"{neighbour} {_without_mentions(text)}")

    async def share(tick: TickContext, args: ShareRecordsArguments) -> CommandResult:
        neighbour, thread = await _neighbour_and_thread(tick, reach, args.to)

        async def judged() -> str:
            return _sharing_refusal(tick, thread, args.ids, await share_records(args.ids))

        async def gathered() -> str:
            texts = [as_quotation(one.text) for one in await share_records(args.ids)]
            return "\n".join(texts)

        await record_decision(tick, "may-share", thread, judged)
        text = speakable_text(await record_lookup(tick, "records", {"thread": thread}, gathered))
        return await _call(tick, reach, daily_calls, thread, f"{neighbour}\n{_without_mentions(text)}")

    return [
        command(
            ASK,
            "Ask a neighbour, another bot, something: by a mention in a channel where both are. "
            "`to` is its name or id, and if you like the channel: Echo in #general.",
            ask,
            AskNeighbourArguments,
        ),
        command(
            SHARE,
            "Share the words of records (diary, concepts, llm_memory; by their ids) with a neighbour.",
            share,
            ShareRecordsArguments,
        ),
    ]


async def _neighbour_and_thread(tick: TickContext, reach: RecipientDirectory, to: str) -> tuple[str, str]:
    neighbour = await record_lookup(tick, "neighbour", {"to": to}, partial(reach.neighbour, to))
    if not neighbour:
        raise ActionRefused(
            f"no neighbour is known as {to!r}: the owner names them, by the ids of their users"
        )
    thread = await record_lookup(tick, "meeting", {"to": to}, partial(reach.shared_channel_thread, to))
    if not thread:
        raise ActionRefused(f"there is no such channel in which {to!r} is, too")
    return f"<@{neighbour}>", thread


async def _call(
    tick: TickContext, reach: RecipientDirectory, daily: int, thread: str, text: str
) -> CommandResult:
    async def judged() -> str:
        if reach.met_today() >= daily:
            return f"there were {daily} messages to and from bots today, which is as many as may be"
        return refusal_reason(tick, reach, thread, text)

    await record_decision(tick, "may-call", thread, judged)
    message = await unprompted_message(tick, reach, thread, text)
    await tick.turn.send("to-say", thread, message)
    return CommandResult(
        text=f"it will be said: {message.place}. What the neighbour answers below that will be a note."
    )


def _sharing_refusal(
    tick: TickContext, thread: str, ids: Sequence[int], found: Sequence[ShareableRecord]
) -> str:
    known = [one.id for one in found if tick.views.may_know(tick.view, one.view, wrote=one.wrote)]
    unknown = [id for id in ids if id not in known]
    if unknown:
        return f"there are no such records: {ids_in_words(unknown)}"
    secret = [one.id for one in found if not tick.views.may_know(thread, one.view, wrote=one.wrote)]
    if secret:
        return f"{UNKNOWN_READERS}: leave out {ids_in_words(secret)}"
    return ""


def _without_mentions(text: str) -> str:
    return MENTION.sub(r"@\1", text)


COMMANDS = (message_commands, mesh_commands)
