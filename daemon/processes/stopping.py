"""Someone said stop while nothing ran: what waits for an answer in this thread is let go."""

from __future__ import annotations

from daemon.actions.interrupts import tell_stopped
from daemon.memory import WorkingMemory
from daemon.process import MentalProcess, Transition, Turn


async def stopping(turn: Turn) -> WorkingMemory | Transition:
    """Let go of it, with all that goes on under this thread, and say so. A branch that is stopped ends.

    Where nothing waited, nothing is said.
    """
    questions, branches = await turn.withdraw()
    if turn.tree.parent:
        await turn.tree.end("", status="cancelled")
        return turn.memory
    if not (questions or branches or turn.came):
        return turn.memory
    memory = await tell_stopped(turn, turn.memory)
    if branches or turn.came:
        return Transition(to="conversation", memory=memory)
    return memory


PROCESS = MentalProcess(name="stopping", run=stopping, called="someone says stop where nothing runs")
