"""Someone said stop while nothing ran: what waits for an answer in this thread is let go."""

from __future__ import annotations

from daemon.engine.event import of_kind
from daemon.kinds import IncomingMessage, StopRequest
from daemon.memory import WorkingMemory, working_memory
from daemon.mind.interruptions import confirm_stop
from daemon.process import MentalProcess, Placeholders, Transition, Turn
from daemon.turn.branches import Branches
from daemon.turn.questions import withdraw_questions
from daemon.turn.speech import say_privately

NOTHING = "prompts/sentences/nothing_running"


FORGETTING = "forgetting"
"""By what the daemon itself stops a thread, for somebody who is forgotten."""


async def stopping(turn: Turn) -> WorkingMemory | Transition:
    """Let go of it, with all that goes on under this thread, and say so. A branch that is stopped ends.

    Where nothing waited, whoever said stop is told that nothing runs.
    """
    questions, branches = await withdraw_questions(turn)
    if Branches(turn).parent:
        await Branches(turn).end("", status="cancelled")
        return turn.memory
    messages = of_kind(IncomingMessage, turn.inputs)
    if not (questions or branches or turn.internal_inputs or messages):
        return await _nothing_runs(turn)
    memory = await confirm_stop(turn, turn.memory)
    if branches or turn.internal_inputs:
        return Transition(to="conversation", memory=memory)
    return memory


async def _nothing_runs(turn: Turn) -> WorkingMemory:
    """Tell each person once, and nobody else; the thread remembers nothing of it."""
    stops = [stop.event for stop in of_kind(StopRequest, turn.inputs)]
    for person in dict.fromkeys(stop.user for stop in stops if not stop.bot and stop.by != FORGETTING):
        await say_privately(turn, "nothing-running", person, turn.prompt(NOTHING))
    return working_memory(())


PROCESS = MentalProcess(
    name="stopping",
    run=stopping,
    called="someone says stop where nothing runs",
    texts={NOTHING: Placeholders()},
)
