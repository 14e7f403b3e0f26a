"""Ask a branch's question in its root's conversation, and send the answer to the branch."""

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
    """Ask, unless nobody may answer.

    An answer about a limit counts for all branches that asked before it.
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
