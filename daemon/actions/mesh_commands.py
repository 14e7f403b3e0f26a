"""The commands by which the inner life turns to neighbours, other bots that the owner has named: mesh.ask and
mesh.share. A neighbour is called by a mention at the top of a channel in which both are; what it answers
below that is a note. No owner is asked, but what is in view has to be public enough for that channel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from pydantic import Field

from daemon.actions.action import Definition, Strict, command, named
from daemon.actions.message_commands import (
    LONGEST,
    MOST_NAME,
    UNKNOWABLE,
    decided,
    quoted,
    sayable,
    step,
    to_say,
    why_not,
)
from daemon.inner.carrying_out import Done, Tick
from daemon.inner.neighbours import MESH
from daemon.inner.reaching import BringShared, Reach, Shared
from daemon.ism import Refused

ASK, SHARE = MESH
MENTION = re.compile(r"<@(\w+)[^<>]*>")
MOST_SHARED = 10
"""Records that are shared at once."""


class Ask(Strict):
    """What to ask a neighbour."""

    to: str = Field(max_length=MOST_NAME)
    text: str = Field(max_length=LONGEST)


class Share(Strict):
    """Which records to share with a neighbour."""

    to: str = Field(max_length=MOST_NAME)
    ids: list[int] = Field(min_length=1, max_length=MOST_SHARED)


def mesh_commands(reach: Reach, records: BringShared, *, daily: int) -> Sequence[Definition]:
    """mesh.ask and mesh.share, for at most so many messages to and from bots in a UTC day."""

    async def ask(tick: Tick, args: Ask) -> Done:
        text = sayable(args.text)
        neighbour, thread = await _met(tick, reach, args.to)
        return await _call(tick, reach, daily, thread, f"{neighbour} {_calling_nobody(text)}")

    async def share(tick: Tick, args: Share) -> Done:
        neighbour, thread = await _met(tick, reach, args.to)

        async def kept_back() -> str:
            return _kept_back(tick, thread, args.ids, await records(args.ids))

        async def gathered() -> str:
            texts = [quoted(one.text) for one in await records(args.ids)]
            return "\n".join(texts)

        await decided(tick, "may-share", thread, kept_back)
        text = sayable(await step(tick, "records", {"thread": thread}, gathered))
        return await _call(tick, reach, daily, thread, f"{neighbour}\n{_calling_nobody(text)}")

    return [
        command(
            ASK,
            "Ask a neighbour, another bot, something: by a mention in a channel where both are. "
            "`to` is its name or id, and if you like the channel: Echo in #general.",
            ask,
            Ask,
        ),
        command(
            SHARE,
            "Share the words of records (diary, concepts, llm_memory; by their ids) with a neighbour.",
            share,
            Share,
        ),
    ]


async def _met(tick: Tick, reach: Reach, to: str) -> tuple[str, str]:
    """What calls the neighbour, and the thread in which it is called. Raises Refused where there is none."""
    neighbour = await step(tick, "neighbour", {"to": to}, partial(reach.neighbour, to))
    if not neighbour:
        raise Refused(f"no neighbour is known as {to!r}: the owner names them, by the ids of their users")
    thread = await step(tick, "meeting", {"to": to}, partial(reach.shared_channel_thread, to))
    if not thread:
        raise Refused(f"there is no such channel in which {to!r} is, too")
    return f"<@{neighbour}>", thread


async def _call(tick: Tick, reach: Reach, daily: int, thread: str, text: str) -> Done:
    async def judged() -> str:
        if reach.met_today() >= daily:
            return f"there were {daily} messages to and from bots today, which is as many as may be"
        return why_not(tick, reach, thread, text)

    await decided(tick, "may-call", thread, judged)
    wanted = await to_say(tick, reach, thread, text)
    await tick.turn.send("to-say", thread, wanted)
    return Done(
        text=f"it will be said: {wanted.place}. What the neighbour answers below that will be a note."
    )


def _kept_back(tick: Tick, thread: str, ids: Sequence[int], found: Sequence[Shared]) -> str:
    """Why these may not be shared there; empty where they may."""
    known = [one.id for one in found if tick.views.may_know(tick.view, one.view, wrote=one.wrote)]
    unknown = [id for id in ids if id not in known]
    if unknown:
        return f"there are no such records: {named(unknown)}"
    secret = [one.id for one in found if not tick.views.may_know(thread, one.view, wrote=one.wrote)]
    if secret:
        return f"{UNKNOWABLE}: leave out {named(secret)}"
    return ""


def _calling_nobody(text: str) -> str:
    """The neighbour is called by its mention alone; what else is in the text calls nobody."""
    return MENTION.sub(r"@\1", text)
