"""People who may answer a question."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.ports import Button
from daemon.process import Question, Turn
from daemon.settings.limits import CONTINUE
from daemon.turn.questions import ask
from daemon.turn.speech import say
from rehearsal.people import BOB, CAROL
from tests.soak import later
from tests.stories.choosing import press, whispers
from tests.stories.stage import GENERAL, ME, Stage

YES = Button(label="Yes", value=CONTINUE)


def asking(**how: Any) -> Any:
    async def asks(turn: Turn) -> WorkingMemory:
        answered = await ask(turn, "may", Question(text="May I?", **how))
        await say(turn, f"{answered.by}: {answered.value}")
        return turn.memory

    return asks


async def asked(stage: Stage, **how: Any) -> str:
    await stage.sleep()
    stage.processes = {**PROCESSES, "conversation": asking(**how)}
    await stage.wake()
    return await stage.say("alice", GENERAL, f"{ME} hello")


async def pressed(stage: Stage, name: str, ts: str) -> None:
    question = (await stage.client("alice").conversations_replies(channel=GENERAL, ts=ts))["messages"][1]
    before = len(stage.entries("input"))
    await press(stage, name, GENERAL, question["ts"], "Yes")
    await stage.until(lambda: len(stage.entries("input")) > before)
    await stage.settled()


async def again(stage: Stage, **settings: Any) -> None:
    await stage.sleep()
    await stage.wake(**settings)


async def test_a_question_with_buttons_is_answered_by_whom_it_was_put_to(stage: Stage) -> None:
    ts = await asked(stage, to=(BOB.id,), choices=(YES,))
    await pressed(stage, "carol", ts)
    assert len(whispers(stage)) == 1, "it is not hers to answer"
    assert stage.pending("asked")
    await again(stage)
    await pressed(stage, "bob", ts)
    answers = await stage.answers(GENERAL, ts)
    assert answers == ["May I?\n[Bob chose “Yes”]", f"{BOB.id}: {CONTINUE}"], "a name, and no handle"
    assert len(whispers(stage)) == 1


async def test_an_owner_to_whom_it_was_not_put_does_not_answer_it(stage: Stage) -> None:
    stage.settings["owner_user_ids"] = frozenset({CAROL.id})
    ts = await asked(stage, to=(BOB.id,), choices=(YES,))
    await pressed(stage, "carol", ts)
    assert stage.pending("asked")


@pytest.mark.parametrize("how", ["button", later("words"), later("go on")])
async def test_a_former_owner_s_yes_is_worth_nothing(stage: Stage, how: str) -> None:
    stage.settings["owner_user_ids"] = frozenset({CAROL.id})
    kinds: dict[str, dict[str, Any]] = {
        "button": {"choices": (YES,)},
        "words": {},
        "go on": {"resumes": True},
    }
    ts = await asked(stage, to=(CAROL.id,), owners=(CAROL.id,), **kinds[how])
    assert stage.pending("asked")
    await again(stage, owner_user_ids=frozenset({BOB.id}))
    if how == "button":
        await pressed(stage, "carol", ts)
        assert len(whispers(stage)) == 1
    else:
        await stage.say("carol", GENERAL, "go on", ts)
    assert not stage.entries("answered")
    [first, *_] = stage.pending("asked")
    assert first.event.to == (CAROL.id,)


async def test_whoever_is_an_owner_and_was_asked_as_one_answers(stage: Stage) -> None:
    stage.settings["owner_user_ids"] = frozenset({CAROL.id})
    ts = await asked(stage, to=(CAROL.id,), owners=(CAROL.id,), choices=(YES,))
    await again(stage)
    await pressed(stage, "carol", ts)
    assert (await stage.answers(GENERAL, ts))[1:] == [f"{CAROL.id}: {CONTINUE}"]
