"""What was said in a thread before the soul was called in: the first step of a body that can fetch it.

The step is recorded whatever came of it, so that a replay sees what the first attempt saw. Where Slack does
not answer, the body goes on without it, and the next turn fetches it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from daemon.life.turn import Turn
from daemon.ports import Heard, Surroundings

PATIENCE = 30.0
"""Seconds that an answer waits for it."""
TRIES = 5
"""Turns of a thread in which it is tried."""


async def overhear(turn: Turn, surroundings: Surroundings) -> None:
    """Fetch it, where nobody has. Whoever stops the soul ends this, too."""
    if not _wanted(turn):
        return
    found = await _fetch(turn, surroundings)
    seqs = []
    for heard in found or ():
        entry, _ = await turn.world.journal.append(
            turn.thread,
            "heard",
            heard.body,
            key=heard.key,
            author=heard.author,
            fence=(turn.thread, turn.epoch),
        )
        seqs.append(entry.seq)
    await turn.overhear({"seqs": seqs, "whole": found is not None})


def _wanted(turn: Turn) -> bool:
    """Is this a body that answers somebody, at its very beginning, and was it never fetched whole?"""
    if turn.overheard or not turn.fresh or "apart" in turn.first.body:
        return False
    journal = turn.world.journal
    tries = [e for e in journal.of(turn.thread, "overheard") if e.seq < turn.first.seq]
    return len(tries) < TRIES and not any(entry.body.get("whole", True) for entry in tries)


async def _fetch(turn: Turn, surroundings: Surroundings) -> Sequence[Heard] | None:
    """What Slack shows of it; None where it does not, or not in time, or somebody stops the soul."""
    fetching = asyncio.create_task(surroundings.earlier(turn.thread))
    ends = (
        fetching,
        asyncio.create_task(turn.stopping.wait()),
        asyncio.create_task(turn.world.clock.sleep(PATIENCE)),
    )
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        return fetching.result() if fetching.done() else None
    finally:
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
