"""Replies to people who answered a question in a thread that the soul only follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.mind.steps import external_dialogue
from daemon.process import Question, Turn
from daemon.settings.limits import Limits
from daemon.turn.questions import ask
from rehearsal.people import CAROL
from tests.stories.outage import AWAY
from tests.stories.stage import GENERAL, ME, Stage, reply

LOST = "Forgive me, the words wouldn't come. Would you say that again, perhaps a little differently?"
LIMITS: Mapping[str, Any] = {"owner_user_ids": frozenset({CAROL.id}), "limit_turn": Limits(calls=1)}


async def followed(stage: Stage, **settings: Any) -> str:
    async def conversation(turn: Turn) -> WorkingMemory:
        if turn.must_answer:
            return await PROCESSES["conversation"](turn)  # type: ignore[return-value]
        answer = await ask(turn, "which", Question(text="Which one?", to=turn.people))
        memory = turn.memory.with_memory(*answer.memories)
        for _ in range(2):
            memory, _ = await external_dialogue(turn, memory, "Tell them of it.")
        return memory

    stage.processes = {**PROCESSES, "conversation": conversation}
    await stage.sleep()
    await stage.wake(**settings)
    stage.model.say(reply("Here I am."))
    ts = await stage.say("alice", GENERAL, f"{ME} are you there?")
    await stage.say("alice", GENERAL, "tell us of the tides", ts)
    assert (await stage.answers(GENERAL, ts))[-1] == "Which one?"
    return ts


async def test_what_is_refused_then_is_told(stage: Stage) -> None:
    ts = await followed(stage)
    for _ in range(2):
        stage.model.refuse()
    stage.model.say("<say>\nAsk me of the moon.\n</say>")
    await stage.say("alice", GENERAL, "the low one", ts)
    assert (await stage.answers(GENERAL, ts))[2:] == [LOST, "Ask me of the moon."]


async def test_at_a_bound_an_owner_is_asked(stage: Stage) -> None:
    ts = await followed(stage, **LIMITS)
    stage.model.say("<say>\nIt is low at noon.\n</say>")
    await stage.say("alice", GENERAL, "the low one", ts)
    told, asked = (await stage.answers(GENERAL, ts))[2:]
    assert told == "It is low at noon."
    assert asked.endswith(f"Shall I go on? <@{CAROL.id}> can say.")


async def test_of_an_outage_they_are_told(stage: Stage) -> None:
    ts = await followed(stage)
    for _ in range(3):
        stage.model.fail(429, "rate_limit_error", wait=60)
    await stage.post("alice", GENERAL, "the low one", ts)
    await stage.passing(1.0, lambda: stage.entries("outage"))
    await stage.settled()
    *_, told = await stage.answers(GENERAL, ts)
    assert told.startswith(AWAY)
