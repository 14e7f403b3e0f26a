"""Stretches of a conversation: what many prompts of a thread begin with is named once, and not by each call.

A prompt only grows at its end, so the stretches of a conversation are the same in call after call. Each has a
key of what it names: whoever needs it finds it, and a kill after it was written leaves one that the next call
needs, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from daemon.engine.exceptions import JournalDamaged
from daemon.engine.execution import Execution
from daemon.engine.journal import Journal
from daemon.engine.writer import Fence
from daemon.kinds import ModelCall, PromptChunk, prompt_chunk_key

EACH = 128
"""Entries of a stretch: fewer than so many are named one by one."""

Parts = tuple[tuple[int, ...], tuple[int, ...]]
"""Of what a conversation is made: its stretches, and the entries after these."""


async def chunk_entries(journal: Journal, execution: Execution, seqs: tuple[int, ...]) -> Parts:
    """What stands for these entries, which a conversation of this execution is made of.

    Its stretches are in the journal from then on. Raises Fenced and JournalError.
    """
    if len(seqs) < EACH:
        return (), seqs
    try:
        if _is_first(journal, execution):
            return (), seqs
        stretches = [await _entered(journal, execution, each) for each in _whole(seqs)]
    except JournalDamaged:  # what was thought is not lost over what only makes it shorter
        return (), seqs
    return tuple(stretches), seqs[len(stretches) * EACH :]


def _is_first(journal: Journal, execution: Execution) -> bool:
    """Has nothing been asked in this thread yet? Many a conversation of a DM is one question, which begins
    with all that was said there before: stretches of that would be named once."""
    return journal.latest_of_kind(execution.thread, ModelCall) is None


def _whole(seqs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All stretches of these entries that are full."""
    for end in range(EACH, len(seqs) + 1, EACH):
        yield seqs[end - EACH : end]


async def _entered(journal: Journal, execution: Execution, seqs: tuple[int, ...]) -> int:
    """The stretch of these entries, which is in the journal from then on.

    It follows from nothing but what it names, so that whoever forgets finds in it what is in it.
    """
    thread = execution.thread
    key = prompt_chunk_key(thread, seqs)
    known = journal.get(key)
    if known:
        return known.seq
    fence = Fence(thread=thread, epoch=execution.epoch)
    stretch = PromptChunk(seqs=seqs)
    entry, _ = await journal.append(thread, stretch, key=key, author="core", fence=fence)
    return entry.seq
