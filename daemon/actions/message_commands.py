"""The command by which the inner life says something to people: message.send. The inner life itself says
nothing: what it wants said becomes a ToSay of that conversation, or first one of an owner's DM, who is asked.

Each thing that is looked up or decided is a recorded step, so that a replay decides the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from pydantic import Field

from daemon.actions.action import ActionDefinition, StrictArguments, command
from daemon.inner.carrying_out import CommandResult, TickContext
from daemon.inner.reaching import SEND_COMMAND, RecipientDirectory
from daemon.ism import ActionRefused
from daemon.kinds import UnpromptedMessage
from daemon.mind.sections import spoken_text

Find = Callable[[], Awaitable[str]]
"""What finds something out; what it comes to is recorded."""
LONGEST_MESSAGE = 2_000
"""Characters of one message: an owner who has to agree to it reads all of it."""
LONGEST_RECIPIENT = 200
"""Characters that name whom it is for."""
UNKNOWN_READERS = "what is in view may not be known there"
TWICE = "the same was to be said there before: it is never said twice"


class SendMessageArguments(StrictArguments):
    """What to say, and to whom."""

    to: str = Field(max_length=LONGEST_RECIPIENT)
    text: str = Field(max_length=LONGEST_MESSAGE)


def message_commands(reach: RecipientDirectory, *, daily: int) -> Sequence[ActionDefinition]:
    """message.send, for at most so many messages in a UTC day."""

    async def send(tick: TickContext, args: SendMessageArguments) -> CommandResult:
        text = speakable_text(args.text)
        if reach.mentions_neighbour(text):
            raise ActionRefused("it would call a neighbour: write mesh.ask instead")
        thread = await _addressed(tick, reach, args.to)

        async def judged() -> str:
            if reach.sent_today() >= daily:
                return f"{daily} messages were sent today, which is as many as may be: wait for tomorrow"
            return refusal_reason(tick, reach, thread, text)

        await record_decision(tick, "may-send", thread, judged)
        wanted = await to_say(tick, reach, thread, text)
        if thread == tick.view or reach.person(thread) in tick.turn.owners:
            await tick.turn.send("to-say", thread, wanted)
            return CommandResult(text=f"it will be said: {wanted.place}")
        return await _with_leave(tick, reach, wanted)

    return [
        command(
            SEND_COMMAND,
            "Say something to people: in the conversation in view at once, to an owner at once, anywhere "
            "else when an owner agrees. `to` is a conversation (sess-…), a person or a #channel.",
            send,
            SendMessageArguments,
        )
    ]


async def _addressed(tick: TickContext, reach: RecipientDirectory, to: str) -> str:
    """The thread of whoever is addressed. Raises Refused where nobody knows them."""
    thread = await record_lookup(tick, "address", {"to": to}, partial(reach.thread, to))
    if not thread:
        can = await reach.recipients_in_words(tick.views, tick.view)
        raise ActionRefused(f"nobody here is known as {to!r}: address {can}")
    return thread


async def _with_leave(
    tick: TickContext, reach: RecipientDirectory, wanted: UnpromptedMessage
) -> CommandResult:
    """An owner is asked who may know what is in view. Raises Refused where there is none."""
    if not tick.turn.owners:
        raise ActionRefused("an owner would have to agree to that, and none is set")

    async def asking() -> str:
        for owner in tick.turn.owners:
            theirs = await reach.direct(owner)
            if theirs and tick.views.may_know(theirs, tick.view):
                return theirs
        return ""

    theirs = await record_lookup(tick, "whom-to-ask", {"thread": wanted.to}, asking)
    if not theirs:
        raise ActionRefused("an owner would have to agree to that, and none may know what is in view")
    await tick.turn.send("to-say", theirs, replace(wanted, leave=True))
    return CommandResult(text=f"an owner is asked whether it may be said: {wanted.place}")


# What mesh.ask and mesh.share need, too


def speakable_text(text: str) -> str:
    """What may be said of a text. Raises Refused where that is nothing, or too much."""
    fit = spoken_text(text)
    if not fit:
        raise ActionRefused("there is nothing in it to be said aloud: write plain words, without a thought")
    if len(fit) > LONGEST_MESSAGE:
        raise ActionRefused(f"it is {len(fit)} characters long: write at most {LONGEST_MESSAGE}")
    return fit


def refusal_reason(tick: TickContext, reach: RecipientDirectory, thread: str, text: str) -> str:
    """Why this may not be said there; empty where it may."""
    if not tick.views.may_know(thread, tick.view):
        return UNKNOWN_READERS
    if reach.was_already_requested(thread, text):
        return TWICE
    return ""


async def to_say(tick: TickContext, reach: RecipientDirectory, thread: str, text: str) -> UnpromptedMessage:
    """What is to be said there, as that conversation takes it up."""
    place = await record_lookup(tick, "place", {"thread": thread}, partial(reach.place_in_words, thread))
    return UnpromptedMessage(text=text, by=tick.id, to=thread, place=place, view=tick.view)


def as_quotation(text: str) -> str:
    """The text as a quotation: whatever ends a line begins another one of it."""
    return "\n".join(f"> {line}" for line in text.splitlines())


async def record_decision(tick: TickContext, name: str, thread: str, judged: Find) -> None:
    """A recorded decision. Raises Refused with the reason that it comes to, if it does."""
    why = await record_lookup(tick, name, {"thread": thread}, judged)
    if why:
        raise ActionRefused(why)


async def record_lookup(tick: TickContext, name: str, args: dict[str, str], do: Find) -> str:
    """What is looked up once: a replay reads it back."""
    done = await tick.turn.effect(name, args, do, repeatable=True)
    return done.event.text
