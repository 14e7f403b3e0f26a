"""Processes that `executeNow` or `recurse` in turns."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.app.discovery import PROCESSES
from daemon.app.journal_commands import verify_journal
from daemon.memory import working_memory
from daemon.mind.pipeline import converse
from daemon.process import MentalProcess, Turn
from daemon.processes import closing
from tests.soak import later
from tests.stories.choosing import ASKED, answers, calls, choice, ended, pressed, told, turning
from tests.stories.stage import ALICE, Stage, reply, staged

ESCALATES = '''
from daemon.actions.function import action
from daemon.ism import RecurseFunction, RunContinuation
from daemon.memory import WorkingMemory
from daemon.processes import closing


@action(playbooks=["problem_solving"])
async def hand_over(memory: WorkingMemory, recurse: RecurseFunction) -> object:
    """Hand it on."""
    return [memory, %s]


@action(playbooks=["problem_solving"])
async def look(memory: WorkingMemory, recurse: RecurseFunction, where: str) -> RunContinuation:
    """Look somewhere."""
    return recurse({"workingMemory": memory, "internalMemory": ["looked at " + where]})


@action(playbooks=["problem_solving"])
async def leave(memory: WorkingMemory, recurse: RecurseFunction) -> WorkingMemory:
    """It is enough."""
    return memory
'''
AT_ONCE = '{"executeNow": True}'
NOTHING = working_memory(())


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        (stage.words / "actions").mkdir()
        yield stage
        assert verify_journal(stage.soul.journal).violations == []


def acting(stage: Stage, to: str = f'"closing", {AT_ONCE}') -> None:
    (stage.words / "actions" / "own.py").write_text(ESCALATES % to, encoding="utf-8")


def going(stage: Stage, *returned: object) -> None:
    async def go(turn: Turn) -> Any:
        return [turn.memory, *returned]

    one = MentalProcess(name="conversation", run=go, called="always")
    stage.processes = {**PROCESSES, "conversation": one}


def transitions(stage: Stage) -> list[tuple[str, bool]]:
    return [(one.event.to, one.event.now) for one in stage.entries("transition")]


@pytest.mark.parametrize(
    ("process", "at_once"),
    [
        ("closing", "executeNow"),
        (closing, "execute_now"),
        (closing.closing, "executeNow"),
        (closing.PROCESS, "execute_now"),
        later("closing", "execute_now"),
        later(closing, "executeNow"),
        later(closing.closing, "execute_now"),
        later(closing.PROCESS, "executeNow"),
    ],
)
async def test_a_process_that_returns_another_one_makes_it_run_in_the_same_turn(
    stage: Stage, process: object, at_once: str
) -> None:
    going(stage, process, {at_once: True})
    await stage.wake()
    answers(stage, reply("Goodbye, then."))
    ts = await stage.say("alice", ALICE, "Hello")
    assert (await stage.answers(ALICE, ts)) == ["Goodbye, then."]
    assert transitions(stage) == [("closing", True), ("conversation", False)]
    assert len(stage.entries("turn-ended")) == 1


@pytest.mark.parametrize("rest", [(), ({},), ({"executeNow": False},)])
async def test_without_execute_now_it_runs_in_the_next_turn(stage: Stage, rest: tuple[object, ...]) -> None:
    going(stage, "closing", *rest)
    await stage.wake()
    ts = await stage.say("alice", ALICE, "Hello")
    assert transitions(stage) == [("closing", False)]
    answers(stage, reply("Goodbye, then."))
    await stage.say("alice", ALICE, "Bye", ts)
    assert (await stage.answers(ALICE, ts)) == ["Goodbye, then."]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (
            [NOTHING, "closing", True],
            "the process conversation returned a list: expected [memory, process] or",
        ),
        ([NOTHING, 5, {"executeNow": True}], "got a int: write [memory, process] or"),
        (
            [NOTHING, "closing", {"now": True}],
            "there is no option now; there are executeNow, execute_now, params",
        ),
        (None, "the process conversation returned NoneType: expected its memory, a Transition, or"),
    ],
)
async def test_a_wrong_return_is_an_error_that_says_what_belongs_there(returned: Any, said: str) -> None:
    async def go(turn: Turn) -> Any:
        return returned

    turn: Any = None
    with pytest.raises(TypeError, match=re.escape(said)):
        await MentalProcess(name="conversation", run=go)(turn)


async def test_what_the_memory_of_a_handing_over_holds_the_next_process_sees(stage: Stage) -> None:
    async def thinks_first(turn: Turn) -> Any:
        said = await converse(turn, ["internal_monologue", "external_dialogue"])
        return (said.memory, "closing", {"execute_now": True})

    one = MentalProcess(name="conversation", run=thinks_first, called="always")
    stage.processes = {**PROCESSES, "conversation": one}
    await stage.wake()
    answers(stage, reply("One moment."), reply("Goodbye."))
    ts = await stage.say("alice", ALICE, "Hello")
    assert (await stage.answers(ALICE, ts)) == ["One moment.", "Goodbye."]
    assert "One moment." in stage.asked()[-1]


@pytest.mark.parametrize("process", ['"closing"', "closing", "closing.closing"])
async def test_an_action_that_returns_a_process_makes_it_run_in_the_same_turn(
    stage: Stage, process: str
) -> None:
    acting(stage, f"{process}, {AT_ONCE}")
    await stage.wake(ism_enabled=True)
    answers(stage, turning(), choice("HandOver"), reply("Goodbye, then."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert (await stage.answers(ALICE, ts))[-1] == "Goodbye, then."
    assert ended(stage) == ["transition"]
    assert transitions(stage)[-2:] == [("closing", True), ("conversation", False)]
    assert len(stage.entries("turn-ended")) == 1


async def test_an_action_that_returns_a_process_without_execute_now_leaves_it_to_the_next_turn(
    stage: Stage,
) -> None:
    acting(stage, '"closing"')
    await stage.wake(ism_enabled=True)
    answers(stage, turning(), choice("HandOver"))
    ts = await stage.say("alice", ALICE, ASKED)
    assert transitions(stage)[-1:] == [("closing", False)]
    answers(stage, reply("Goodbye."))
    await stage.say("alice", ALICE, "Thanks", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "Goodbye."


async def test_an_action_that_recurses_goes_on_and_one_that_returns_the_memory_ends_the_run(
    stage: Stage,
) -> None:
    acting(stage)
    await stage.wake(ism_enabled=True)
    looks = [{"name": "Look", "args": {"where": where}} for where in ("the pier", "the ferry")]
    answers(stage, turning(), choice(looks[0]), choice(looks[1]), choice("Leave"), reply("It is late."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert (await stage.answers(ALICE, ts))[-1] == "It is late."
    assert ended(stage) == ["finished"]
    assert calls(stage).count("choose") == 3
    [over] = stage.entries("ism-ended")
    assert "looked at the pier" in over.event.log
    asked = told(stage)
    assert "## Internal Log" in asked
    assert "looked at the ferry" in asked


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ('"closing", True', "got a bool where the options belong"),
        ("5", "got a int: write [memory, process]"),
        ('"closing", {"now": True}', "there is no option now"),
    ],
)
async def test_an_action_that_hands_over_to_nothing_is_told_so(stage: Stage, to: str, said: str) -> None:
    acting(stage, to)
    await stage.wake(ism_enabled=True)
    answers(stage, turning(), choice("HandOver"), choice("Respond"), reply("I stay."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert (await stage.answers(ALICE, ts))[-1] == "I stay."
    assert said in told(stage)


HALVES = '''
from typing import Annotated

from daemon.actions.function import action


@action(playbooks=["problem_solving"])
async def look(where: Annotated[str, "where \\ud800"]) -> str:
    """Look somewhere."""
    return "half of \\ud800 " + where


@action(playbooks=["problem_solving"])
async def fail(where: str) -> str:
    """Fail."""
    raise ValueError("half of \\udfff " + where)
'''


async def test_half_a_character_from_an_action_or_the_model_breaks_no_run_and_no_replay(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")  # pytest's log cannot cross processes
    (stage.words / "actions" / "halves.py").write_text(HALVES, encoding="utf-8")
    await stage.wake(ism_enabled=True)
    look, fail = ({"name": name, "args": {"where": "\ud83d"}} for name in ("Look", "Fail"))
    answers(stage, turning(), choice(look, why="half \ud800"), choice(fail))
    answers(stage, choice({"name": "AskPerson", "args": {"question": "Which \ud800 ferry?"}}))
    ts = await stage.say("alice", ALICE, ASKED)
    assert (await stage.answers(ALICE, ts))[-1] == "Which \ufffd ferry?"
    await stage.sleep()
    await stage.wake(ism_enabled=True)
    answers(stage, choice("Respond"), reply("That one \ud800."))
    await stage.say("alice", ALICE, "The late one", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "That one \ufffd."
    assert not stage.entries("restarted")
    assert not stage.entries("attempt-failed")
    assert "half of \ufffd" in told(stage)


SPEAKS = '''
from daemon.actions.action import RunContext
from daemon.actions.function import Say, action
from daemon.process import Question, ask
from daemon.turn.speech import show_status, whisper


@action(playbooks=["problem_solving"], approval=True)
async def speak(say: Say, run: RunContext) -> str:
    """Speak of \\ud800."""
    await say("half \\ud800 said")
    await whisper(run.turn, "aside", run.turn.people[0], "half \\ud800 whispered")
    show_status(run.turn, "half \\ud800 shown")
    answered = await ask(run.turn, "which", Question(text="half \\ud800 asked", to=run.turn.people))
    return answered.value + " \\ud800"
'''


async def test_half_a_character_from_the_owners_code_breaks_no_message(stage: Stage) -> None:
    (stage.words / "actions" / "speaks.py").write_text(SPEAKS, encoding="utf-8")
    await stage.wake(ism_enabled=True, owner_user_ids=frozenset({"U0ALICE0001"}))
    answers(stage, turning(), choice("Speak"))
    ts = await stage.say("alice", ALICE, ASKED)
    await pressed(stage, "alice", "Approve")
    assert (await stage.answers(ALICE, ts))[-2:] == ["half \ufffd said", "half \ufffd asked"]
    answers(stage, choice("Respond"), reply("Done."))
    await stage.say("alice", ALICE, "That one", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "Done."
    assert not stage.entries("attempt-failed")
