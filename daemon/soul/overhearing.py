"""What was said before the soul was called in, in its thread or above it, and its own words that it is asked
about: the first step of an execution that can fetch it.

Once Slack is asked the step is recorded whatever came of it, so that a replay sees what the first attempt
saw; where there is nothing to ask for, there is none. Where Slack does not answer, the next turn asks again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from daemon.engine.writer import Fence
from daemon.kinds import ConversationOpened, EarlierMessagesFetched
from daemon.ports import EarlierMessages, EarlierMessageSource
from daemon.soul.turn import Turn

PATIENCE = 30.0
"""Seconds that an answer waits for it."""
TRIES = 5
"""Turns of a thread in which it is tried."""


async def fetch_earlier_messages(turn: Turn) -> None:
    """Fetch it, where nobody has. Whoever stops the soul ends this, too.

    What is found there that called the soul in, too, and has no answer yet, is answered by this turn.
    """
    key = turn.ctx.next_key("overheard")
    called: Sequence[int] = ()
    if not turn.ctx.read_back(key) and turn.opened and _may_be_fetched(turn):
        called = await _overhear(turn, turn.opened.event, key)
    await turn.answer_also(called)


async def _overhear(turn: Turn, place: ConversationOpened, key: str) -> Sequence[int]:
    """Fetch what was said, where that is wanted, and return the inputs that were found there."""
    unasked = _said_unasked(turn, place)
    if (place.is_whole and not unasked) or not _is_wanted(turn):
        return ()
    earlier = await _fetch(turn, turn.world.surroundings)
    found = await _kept(turn, earlier, unasked)
    turn.add_earlier_messages(await turn.execution.append_soon(found, key))
    return earlier.called if earlier else ()


def _may_be_fetched(turn: Turn) -> bool:
    """Does this execution answer somebody, and is it at its very beginning?"""
    return not turn.execution.record.is_replaying and turn.apart is None and turn.addressed


def _said_unasked(turn: Turn, place: ConversationOpened) -> Sequence[int]:
    """What the soul itself said there, and is answered now."""
    root = turn.world.people.places.find_unprompted(place.team, place.channel, place.ts)
    if not root:
        return []
    return [root]


def _is_wanted(turn: Turn) -> bool:
    """Was it never fetched whole, nor tried too often?"""
    fetches = turn.journal.thread_entries(turn.thread, EarlierMessagesFetched)
    tries = [fetch.event for fetch in fetches if fetch.seq < turn.began_seq]
    return len(tries) < TRIES and not any(fetch.whole for fetch in tries)


async def _kept(turn: Turn, found: EarlierMessages | None, unasked: Sequence[int]) -> EarlierMessagesFetched:
    """Append what was said: all of it at once, as a thread may be long."""
    if found is None:
        return EarlierMessagesFetched(seqs=tuple(unasked), whole=False)
    fence = Fence(thread=turn.thread, epoch=turn.execution.epoch)
    append = turn.journal.append
    appends = [
        append(turn.thread, heard.event, key=heard.key, author=heard.author, fence=fence)
        for heard in found.heard
    ]
    kept = [entry.seq for entry, _ in await asyncio.gather(*appends)]
    seqs = dict.fromkeys([*unasked, *found.own, *kept])
    return EarlierMessagesFetched(seqs=tuple(seqs), whole=True)


async def _fetch(turn: Turn, surroundings: EarlierMessageSource) -> EarlierMessages | None:
    """What Slack shows of it; None where it does not, or not in time, or somebody stops the soul."""
    fetching = asyncio.create_task(surroundings.earlier_messages(turn.thread))
    ends = (
        fetching,
        asyncio.create_task(turn.execution.stopping.wait()),
        asyncio.create_task(turn.world.clock.sleep(PATIENCE)),
    )
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not fetching.done():
            return None
        return fetching.result()
    finally:
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
