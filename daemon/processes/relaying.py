"""A branch has no conversation of its own: what it wants to ask is asked in its root's, and told to it."""

from __future__ import annotations

from daemon.memory import WorkingMemory
from daemon.process import MentalProcess, Turn
from daemon.turn.questions import (
    NO_ANSWER,
    answer_branch,
    answered_since,
    ask,
    branch_question,
    wait_for_earlier_questions,
)


async def relaying(turn: Turn) -> WorkingMemory:
    """Ask it of those who read here; where none of them may answer, nobody has.

    Several branches may meet one bound: what an owner says of it counts for all that have asked by then.
    """
    question = branch_question(turn)
    assert question is not None
    if not await wait_for_earlier_questions(turn):
        return turn.memory
    answer = await answered_since(turn, question)
    if answer is None and question.to:
        answer = await ask(turn, "wished", question)
    elif answer is None:
        answer = NO_ANSWER
    await answer_branch(turn, answer)
    return turn.memory.with_memory(*answer.memories)


PROCESS = MentalProcess(name="relaying", run=relaying, called="a branch wants to ask people something")
