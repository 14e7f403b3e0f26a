"""The commands by which the inner life turns to neighbours, other bots that the owner has named: mesh.ask and
mesh.share. A neighbour is called by a mention at the top of a channel in which both are; what it answers
below that is a note. No owner is asked, but what is in view has to be public enough for that channel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from pydantic import Field

from daemon.actions.action import ActionDefinition, StrictArguments, command, ids_in_words
from daemon.actions.message_commands import (
    LONGEST_MESSAGE,
    LONGEST_RECIPIENT,
    UNKNOWN_READERS,
    as_quotation,
    record_decision,
    record_lookup,
    refusal_reason,
    speakable_text,
    to_say,
)
from daemon.inner.carrying_out import CommandResult, TickContext
from daemon.inner.neighbours import MESH_COMMANDS
from daemon.inner.reaching import BringShared, RecipientDirectory, ShareableRecord
from daemon.ism import ActionRefused

ASK, SHARE = MESH_COMMANDS
MENTION = re.compile(r"<@(\w+)[^<>]*>")
MOST_SHARED = 10
"""Records that are shared at once."""


class AskNeighbourArguments(StrictArguments):
    """What to ask a neighbour."""

    to: str = Field(max_length=LONGEST_RECIPIENT)
    text: str = Field(max_length=LONGEST_MESSAGE)


class ShareRecordsArguments(StrictArguments):
    """Which records to share with a neighbour."""

    to: str = Field(max_length=LONGEST_RECIPIENT)
    ids: list[int] = Field(min_length=1, max_length=MOST_SHARED)


def mesh_commands(
    reach: RecipientDirectory, records: BringShared, *, daily: int
) -> Sequence[ActionDefinition]:
    """mesh.ask and mesh.share, for at most so many messages to and from bots in a UTC day."""

    async def ask(tick: TickContext, args: AskNeighbourArguments) -> CommandResult:
        text = speakable_text(args.text)
        neighbour, thread = await _met(tick, reach, args.to)
        return await _call(tick, reach, daily, thread, f"{neighbour} {_calling_nobody(text)}")

    async def share(tick: TickContext, args: ShareRecordsArguments) -> CommandResult:
        neighbour, thread = await _met(tick, reach, args.to)

        async def kept_back() -> str:
            return _kept_back(tick, thread, args.ids, await records(args.ids))

        async def gathered() -> str:
            texts = [as_quotation(one.text) for one in await records(args.ids)]
            return "\n".join(texts)

        await record_decision(tick, "may-share", thread, kept_back)
        text = speakable_text(await record_lookup(tick, "records", {"thread": thread}, gathered))
        return await _call(tick, reach, daily, thread, f"{neighbour}\n{_calling_nobody(text)}")

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


async def _met(tick: TickContext, reach: RecipientDirectory, to: str) -> tuple[str, str]:
    """What calls the neighbour, and the thread in which it is called. Raises Refused where there is none."""
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
    wanted = await to_say(tick, reach, thread, text)
    await tick.turn.send("to-say", thread, wanted)
    return CommandResult(
        text=f"it will be said: {wanted.place}. What the neighbour answers below that will be a note."
    )


def _kept_back(tick: TickContext, thread: str, ids: Sequence[int], found: Sequence[ShareableRecord]) -> str:
    """Why these may not be shared there; empty where they may."""
    known = [one.id for one in found if tick.views.may_know(tick.view, one.view, wrote=one.wrote)]
    unknown = [id for id in ids if id not in known]
    if unknown:
        return f"there are no such records: {ids_in_words(unknown)}"
    secret = [one.id for one in found if not tick.views.may_know(thread, one.view, wrote=one.wrote)]
    if secret:
        return f"{UNKNOWN_READERS}: leave out {ids_in_words(secret)}"
    return ""


def _calling_nobody(text: str) -> str:
    """The neighbour is called by its mention alone; what else is in the text calls nobody."""
    return MENTION.sub(r"@\1", text)
