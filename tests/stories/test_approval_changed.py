"""Edits of code or texts during an approval."""

from __future__ import annotations

import dataclasses
import runpy
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from daemon.actions.action import ActionDefinition, RunContext
from daemon.app.discovery import PROCESSES
from daemon.app.journal_commands import verify_journal
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.ports import Button
from daemon.process import Question, Turn
from daemon.turn.model_calls import call_model
from daemon.turn.questions import ask
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Process
from rehearsal.people import CAROL
from tests.soak import later
from tests.stories.choosing import (
    ON_IT,
    answers,
    calls,
    choice,
    ended,
    offering,
    outcomes,
    pressed,
    questions,
    shown,
    told,
    turning,
    whispers,
)
from tests.stories.stage import GENERAL, ME, Stage, reply
from tests.stories.test_approval import DONE, MAY_I, NEWS, Post, again, asking, publish, publishing

YES = Button(label="Yes", value="yes")
NO = Button(label="No", value="no")
CHANGED = "What I asked there has changed since"
AT_IT_AGAIN = turning("I am at it again.")


@pytest.fixture
async def stage(dormant: Stage) -> AsyncIterator[Stage]:
    yield dormant
    assert verify_journal(dormant.soul.journal).violations == []
    assert not dormant.pending("input", "turn-began", "action", "speech")


class Deeds:
    def __init__(self) -> None:
        self.done: list[str] = []

    async def do(self, turn: Turn, name: str) -> None:
        async def act() -> str:
            self.done.append(name)
            return f"{name} is done"

        await turn.effect(name, {}, act, repeatable=False)


def steps(
    deeds: Deeds,
    *,
    before: Sequence[str],
    asks: str = "May I?",
    after: Sequence[str],
    wait: float | None = None,
) -> Process:
    wonders = working_memory([Memory(role="user", content="Is it a good day for it?")])

    async def process(turn: Turn) -> WorkingMemory:
        for name in before:
            await deeds.do(turn, name)
        await call_model(turn, "wonder", wonders, "fast")
        await say(turn, "I have begun.")
        question = Question(text=asks, to=(CAROL.id,), choices=(YES, NO), wait=wait)
        answered = await ask(turn, "may", question)
        for name in after:
            await deeds.do(turn, name)
        spoken = await say(turn, f"It was a {answered.value}. Then: {', '.join(after)}")
        return turn.memory.with_memory(*answered.memories, *map(entry_as_memory, spoken))

    return process


async def edited(stage: Stage, process: Process) -> None:
    await stage.sleep()
    stage.processes = {**PROCESSES, "conversation": process}
    await stage.wake()


async def begun(stage: Stage, process: Process) -> str:
    await edited(stage, process)
    stage.model.say("It is.")
    ts = await stage.say("alice", GENERAL, f"{ME} hello")
    assert len(questions(stage)) == 1
    return ts


# After a yes


HANDLER = """
async def publish(run, post):
    published.append(post.text)
    return "it is out"
"""
BEFORE = f'"""What can be published."""\n\n\ndef tidied(text):\n    return text\n\n{HANDLER}'
AFTER = f'"""What can be published, and what of it is kept."""\n\n# Written anew.\nKEPT = 7\n\n{HANDLER}'


def written(stage: Stage, source: str, published: list[str]) -> ActionDefinition:
    file = stage.home.parent / "publishing.py"
    file.write_text(source)
    perform = runpy.run_path(str(file), {"published": published})["publish"]
    return dataclasses.replace(publishing(published), perform=perform)


async def ending(turn: Turn) -> WorkingMemory:
    await say(turn, "Farewell.")
    return turn.memory


async def test_an_approval_survives_an_edit_of_what_has_nothing_to_do_with_it(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id, action=written(stage, BEFORE, published))
    paid = len(stage.model.requests)
    await stage.sleep()
    learn = stage.words / "prompts" / "learn.md"
    learn.write_text(f"{learn.read_text()}\nBe brief.\n")
    offering(stage, written(stage, AFTER, published))
    stage.processes = {**(stage.processes or {}), "closing": ending}
    await stage.wake()
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS]
    assert (await stage.answers(GENERAL, ts))[-1] == DONE
    assert len(stage.entries("asked")) == 1
    assert len(stage.model.requests) == paid + 2
    assert not stage.entries("restarted")
    assert not whispers(stage)


async def test_an_approval_survives_an_edit_of_what_comes_after_it(stage: Stage) -> None:
    deeds = Deeds()
    ts = await begun(stage, steps(deeds, before=["look"], after=["tidy up"]))
    await edited(stage, steps(deeds, before=["look"], after=["wash up", "dry up"]))
    await pressed(stage, "carol", "Yes")
    assert deeds.done == ["look", "wash up", "dry up"]
    assert (await stage.answers(GENERAL, ts))[-1] == "It was a yes. Then: wash up, dry up"
    assert len(stage.entries("asked")) == 1
    assert not stage.entries("restarted")
    assert not whispers(stage)


async def test_an_approval_survives_an_edit_of_a_text_that_it_was_asked_with(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id)
    approve = stage.words / "prompts" / "sentences" / "approve.md"
    approve.write_text(f"Please! {approve.read_text()}")
    await again(stage)
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS]
    assert (await stage.answers(GENERAL, ts))[-1] == DONE
    assert not stage.entries("restarted")


# Restarts


@pytest.mark.parametrize("value", ["Yes", later("No")])
async def test_an_edit_of_what_came_before_repeats_nothing_that_was_done(stage: Stage, value: str) -> None:
    deeds = Deeds()
    ts = await begun(stage, steps(deeds, before=["look"], after=["tidy up"]))
    await edited(stage, steps(deeds, before=["listen", "look"], after=["tidy up"]))
    await pressed(stage, "carol", value)
    assert deeds.done == ["look", "listen", "tidy up"], "each once"
    assert len(stage.model.requests) == 1, "the call asks the same, and is paid once"
    assert not questions(stage), "the same is asked, and the press counts for it"
    assert len(stage.entries("restarted")) == 1
    began, asked, done = (await shown(stage, GENERAL, ts))[1:]
    assert began == ("I have begun.", []), "it is said once"
    assert asked == (f"May I?\n[Carol chose “{value}”]", [])
    assert done == (f"It was a {value.lower()}. Then: tidy up", [])
    assert not whispers(stage)


async def test_a_yes_to_something_else_counts_for_nothing(stage: Stage) -> None:
    deeds = Deeds()
    ts = await begun(stage, steps(deeds, before=["look"], asks="May I tidy up?", after=["tidy up"]))
    await edited(stage, steps(deeds, before=["look"], asks="May I burn it?", after=["burn it"]))
    await pressed(stage, "carol", "Yes")
    assert deeds.done == ["look"]
    [(person, said)] = whispers(stage)
    assert (person, said.partition(",")[0]) == (CAROL.id, CHANGED)
    *_, old, new = await shown(stage, GENERAL, ts)
    assert (old, new) == (("May I tidy up?", []), ("May I burn it?", ["Yes", "No"]))
    await pressed(stage, "carol", "Yes")
    assert deeds.done == ["look", "burn it"]
    assert len(stage.model.requests) == 1
    assert [asked.event.text for asked in stage.entries("asked")] == ["May I tidy up?", "May I burn it?"]


async def test_what_is_asked_again_with_the_same_words_keeps_its_buttons(stage: Stage) -> None:
    deeds = Deeds()
    ts = await begun(stage, steps(deeds, before=["look"], after=["tidy up"], wait=60.0))
    await edited(stage, steps(deeds, before=["listen"], after=["tidy up"], wait=60.0))
    await stage.passing(10.0, lambda: stage.entries("restarted"))
    await stage.settled()
    assert (await shown(stage, GENERAL, ts))[-1] == ("May I?", ["Yes", "No"])
    await pressed(stage, "carol", "Yes")
    assert deeds.done == ["look", "listen", "tidy up"]
    assert (await stage.answers(GENERAL, ts))[-1] == "It was a yes. Then: tidy up"


async def test_what_nobody_answered_and_is_asked_no_more_has_no_buttons(stage: Stage) -> None:
    deeds = Deeds()
    ts = await begun(stage, steps(deeds, before=[], asks="May I tidy up?", after=[], wait=60.0))
    await edited(stage, steps(deeds, before=[], asks="May I burn it?", after=[], wait=60.0))
    await stage.passing(10.0, lambda: stage.entries("restarted"))
    await stage.settled()
    assert (await shown(stage, GENERAL, ts))[-2:] == [
        ("May I tidy up?", []),
        ("May I burn it?", ["Yes", "No"]),
    ]
    assert not whispers(stage)


async def test_what_was_said_once_is_remembered_once(stage: Stage) -> None:
    deeds = Deeds()
    ts = await begun(stage, steps(deeds, before=["look"], after=[]))
    await edited(stage, steps(deeds, before=["listen"], after=[]))
    await pressed(stage, "carol", "Yes")
    await stage.sleep()
    stage.processes = None
    await stage.wake()
    stage.model.say(reply("Fine."))
    await stage.say("alice", GENERAL, f"{ME} and now?", ts)
    assert stage.asked()[-1].count(stage.tags.wrapped("say", "May I?")) == 1


async def test_what_people_said_to_it_is_known_after_a_restart(stage: Stage) -> None:
    heard: list[str] = []

    def asks(*texts: str) -> Process:
        async def process(turn: Turn) -> WorkingMemory:
            heard[:] = [memory.content for memory in turn.memory.conversation]
            for text in texts:
                await ask(turn, "which", Question(text=text, to=turn.people))
            return turn.memory

        return process

    ts = await begun(stage, asks("Which ferry?", "Which day?"))
    await stage.say("alice", GENERAL, "the night ferry", ts)
    await edited(stage, asks("Which boat?"))
    await stage.say("alice", GENERAL, "on Monday", ts)
    assert len(stage.entries("restarted")) == 1
    said = "\n".join(heard)
    assert said.count("the night ferry") == 1
    assert said.count("on Monday") == 1
    assert (await stage.answers(GENERAL, ts))[-1] == "Which boat?"


# Actions


def louder(published: list[str]) -> ActionDefinition:
    async def perform(_run: RunContext, post: Post) -> str:
        published.append(post.text.upper())
        return "it is out, and loud"

    return dataclasses.replace(publishing(published), perform=perform)


def described(published: list[str]) -> ActionDefinition:
    return dataclasses.replace(publishing(published), description="Publish it, for ever.")


@pytest.mark.parametrize(("edit", "comes_to"), [(louder, NEWS.upper()), (described, NEWS)])
async def test_a_yes_is_void_when_the_action_was_edited(stage: Stage, edit: Any, comes_to: str) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id)
    offering(stage, edit(published))
    await again(stage)
    answers(stage, AT_IT_AGAIN, publish())
    await pressed(stage, "carol", "Approve")
    assert published == [], "she agreed to something else"
    [(person, said)] = whispers(stage)
    assert (person, said.partition(",")[0]) == (CAROL.id, CHANGED)
    assert len(questions(stage)) == 1
    with_buttons = [text for text, buttons in await shown(stage, GENERAL, ts) if buttons]
    assert len(with_buttons) == 1, "she is asked again, with one pair of buttons"
    assert "thought: " in told(stage), "it knows what it had done"
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Approve")
    assert published == [comes_to]
    assert (await stage.answers(GENERAL, ts))[-1] == DONE
    assert (ended(stage), outcomes(stage)) == (["finished"], ["suspended", "suspended", "completed"])


async def test_the_edit_is_seen_in_the_file_that_the_handler_stands_in(stage: Stage) -> None:
    published: list[str] = []
    await asking(stage, published, CAROL.id, action=written(stage, BEFORE, published))
    edit = AFTER.replace("post.text", "post.text.upper()")
    offering(stage, written(stage, edit, published))
    await again(stage)
    answers(stage, AT_IT_AGAIN, publish())
    await pressed(stage, "carol", "Approve")
    assert (published, len(whispers(stage))) == ([], 1)
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS.upper()]


async def test_what_it_says_again_after_an_edit_is_said_once(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id)
    offering(stage, louder(published))
    await again(stage)
    answers(stage, turning(), publish())
    await pressed(stage, "carol", "Approve")
    assert calls(stage).count("pipeline") == 2, "it knows of its log, and thinks anew"
    on_it, old, new = (await shown(stage, GENERAL, ts))[1:]
    assert on_it == (ON_IT, []), "it is said once"
    assert (old, new) == ((MAY_I, []), (MAY_I, ["Approve", "Decline"])), (
        "they read alike, and ask for two things"
    )
