"""A branch has no conversation of its own: what it wants to ask is asked in its root's, and told to it."""

from __future__ import annotations

from daemon.memory import WorkingMemory
from daemon.process import NO_ANSWER, MentalProcess, Turn


async def relaying(turn: Turn) -> WorkingMemory:
    """Ask it of those who read here; where none of them may answer, nobody has.

    Several branches may meet one bound: what an owner says of it counts for all that have asked by then.
    """
    question = turn.branch_question
    assert question is not None
    if not await turn.wait_for_earlier_questions():
        return turn.memory
    answer = await turn.answered_since(question)
    if answer is None and question.to:
        answer = await turn.ask("wished", question)
    elif answer is None:
        answer = NO_ANSWER
    await turn.answer_branch(answer)
    return turn.memory.with_memory(*answer.memories)


PROCESS = MentalProcess(name="relaying", run=relaying, called="a branch wants to ask people something")
