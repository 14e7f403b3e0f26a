"""A DM is one conversation, though each message at its top begins a thread: what was said in the others is
carried over into each, as a fact of its own, before anything is asked.

At a thread's first turn that is what it begins with, and at each later one what the others kept since, which
stands after all that the thread has seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.engine.event import Entry
from daemon.kinds import DmContextImported, IncomingMessage
from daemon.memory import Memory
from daemon.mind.recall import recall_kept
from daemon.soul.turn import Turn

WAITING = 20
"""Messages of other conversations, not answered yet, of which it hears."""


async def import_dm_context(turn: Turn) -> None:
    """Fix it once for each execution, as of its first begin; one that begins again sees the same again."""
    key = turn.ctx.next_key("carried-over")
    recorded: Entry[DmContextImported] | None = turn.ctx.read_back(key)
    for before in turn.execution.recorded_entries(DmContextImported):
        recorded = recorded or before
    if recorded:
        turn.add_dm_context(recorded.event)
        return
    if not turn.in_dm or turn.apart is not None or turn.execution.record.is_replaying:
        return
    seqs = tuple(memory.seq for memory in _said_elsewhere(turn) if memory.seq)
    if seqs:
        found = DmContextImported(seqs=seqs, before=turn.began_seq)
        turn.add_dm_context(await turn.execution.append_soon(found, key))


def _said_elsewhere(turn: Turn) -> list[Memory]:
    """What was said in this DM and is new to this thread: what was kept, then what waits for an answer."""
    dms, past = turn.world.pasts.dms, turn.past
    if past.carried or past.memories:
        kept = dms.kept_elsewhere(turn.thread, past.carried, turn.began_seq)
    else:
        kept = dms.initial_context(turn.thread, turn.began_seq)
    said = [*kept, *recall_kept(_waiting(turn))]
    return [memory for memory in said if turn.is_unseen(memory.seq)]


def _waiting(turn: Turn) -> Sequence[Entry[IncomingMessage]]:
    """What was said in other conversations of this DM, and has no answer yet."""
    dms = turn.world.pasts.dms
    waiting = []
    for said in turn.journal.pending_entries(IncomingMessage):
        elsewhere = said.thread != turn.thread and dms.are_same_dm(said.thread, turn.thread)
        if elsewhere and said.seq < turn.began_seq and not said.event.command:
            waiting.append(said)
    return waiting[-WAITING:]
