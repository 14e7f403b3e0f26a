"""What a turn leaves for when nobody waits: to learn about people, to sum up a long conversation.

The pipeline leaves it; the processes of these names do it. Each is a perception of the lowest rank to the own
thread: a message drops those that wait, and the one that goes on yields.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from daemon.kinds import BackgroundTask
from daemon.memory import Memory, WorkingMemory
from daemon.mind.newcomers import speakers
from daemon.process import Turn

LEARNING, SUMMARIZING = "learns_about_the_person", "summarizes_conversation"
LONG = 80_000
"""Characters of a conversation that is to be summed up."""
WHOLE = 20_000
"""Characters of its newest exchanges that stay as they are, about."""
DM_LONG, DM_WHOLE = 24_000, 12_000
"""The same of what was said in a DM, in whichever of its conversations: each of them begins with it."""
STEP = 5_000
"""Characters by which it grows before it is tried again, where it was given up."""
STEPS = 16
"""A conversation grows by this part of its length, at the least, before it is tried again."""
FILLED = 1.2
"""Characters of a conversation to each token of a window that are too many: the rest is for the prompts and
the answer, and a token may have few characters."""
FEW = 3
"""Exchanges that stay as they are, however long."""


async def schedule_background_tasks(turn: Turn, memory: WorkingMemory, learned: str) -> None:
    """Leave what there is to do after an answer. `learned`: did the model say that it learned something?"""
    if learned.casefold().startswith("yes"):
        for person, name in speakers(turn).items():
            about = {"person": person, "name": name}
            await turn.send_to_self("learn", BackgroundTask(process=LEARNING, params=about))
    last = summary_due_until(memory.conversation, *_lengths(turn, LONG, WHOLE))
    if last and await turn.claim(f"summed-up:{last}"):
        await turn.send_to_self("sum-up", BackgroundTask(process=SUMMARIZING, params={"last": last}))
    last = summary_due_until(turn.dm_to_summarize(), *_lengths(turn, DM_LONG, DM_WHOLE))
    if last and await turn.claim(f"dm-summed-up:{last}"):
        await turn.send_to_self(
            "sum-up-dm", BackgroundTask(process=SUMMARIZING, params={"last": last, "dm": True})
        )


def _lengths(turn: Turn, long: int, whole: int) -> tuple[int, int]:
    """The same two for the models of this turn: a conversation is summed up before it fills their windows."""
    most = int(turn.window_tokens * FILLED)
    if most >= long:
        return long, whole
    return most, whole * most // long


def summary_due_until(conversation: Sequence[Memory], long: int = LONG, whole: int = WHOLE) -> int:
    """Up to which entry it is to be summed up by now: always a whole exchange; 0: it is short enough.

    `long` is how many characters are too many, `whole` how many stay. While it grows by less than a step this
    is the same.
    """
    upto = 0
    ends: list[tuple[int, int]] = []  # of each exchange: after how many characters, and its last entry
    for memory, following in pairwise(conversation):
        upto += len(memory.content)
        if memory.role == "assistant" and following.role == "user" and memory.seq:
            ends.append((upto, memory.seq))
    size = sum(len(memory.content) for memory in conversation)
    if size <= long:
        return 0
    step = min(STEP, max(long // STEPS, 1))
    most = (size - whole) // step * step
    last = 0
    for upto, seq in ends[: 1 - FEW]:
        if upto <= most:
            last = seq
    return last
