"""Parallel steps of a turn, of which no two may wait for the same words."""

from __future__ import annotations

from functools import partial

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.process import Question, Turn
from daemon.turn.questions import ask
from daemon.turn.speech import say
from tests.stories.stage import ALICE, Stage


async def test_a_question_for_words_is_refused_beside_other_steps(stage: Stage) -> None:
    async def drink(turn: Turn, text: str) -> str:
        return (await ask(turn, "drink", Question(text=text, to=turn.people))).value

    async def conversation(turn: Turn) -> WorkingMemory:
        try:
            await turn.run_beside([partial(drink, text="Tea or coffee?"), partial(drink, text="With milk?")])
        except RuntimeError:
            [wanted] = await turn.run_beside([partial(drink, text="What would you drink?")])
            await say(turn, f"Here is your {wanted}.")
        return turn.memory

    stage.processes = {**PROCESSES, "conversation": conversation}
    await stage.sleep()
    await stage.wake()
    ts = await stage.say("alice", ALICE, "I am thirsty")
    await stage.say("alice", ALICE, "tea", ts)
    assert await stage.answers(ALICE, ts) == ["What would you drink?", "Here is your tea."]
