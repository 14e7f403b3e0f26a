"""A short process for authors, and its cognitive steps under failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.mind.steps import (
    brainstorm,
    decision,
    external_dialogue,
    extract,
    instruction,
    internal_monologue,
    mental_query,
    summarize,
)
from daemon.process import MentalProcess, Placeholders, Question, Transition, Turn
from daemon.prompts.elements import fill_placeholders
from daemon.settings.limits import Limits
from daemon.turn.questions import ask
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from rehearsal.people import CAROL
from tests.soak import SOAK, later, shared
from tests.stories.choosing import pressed
from tests.stories.outage import AWAY
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply, staged

SORRY = "Forgive me, the words wouldn't come."
STOPPED = "Stopped."
STANDS_IN = "claude-opus-5-5"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


# A process: a function and its registration.


async def travel(turn: Turn) -> WorkingMemory | Transition:
    """Ask where to, if they have not said it; decide how; tell them."""
    memory, known = await mental_query(turn, turn.memory, "They have said where they want to go.")
    if known is None:
        return memory
    if not known:
        answered = await ask(turn, "where", Question(text="Where to?", to=turn.people))
        memory = memory.with_memory(*answered.memories)
    memory, way = await decision(turn, memory, "How had they best go there?", ["by train", "by ferry"])
    if way is None:
        return memory
    memory, _ = await external_dialogue(turn, memory, fill_placeholders(turn.text("prompts/travel"), way=way))
    return Transition(to="conversation", memory=memory)


TRAVEL = MentalProcess(
    name="travel",
    run=travel,
    when="they want to go somewhere.",
    leads_to=("conversation",),
    texts={"prompts/travel": Placeholders({"way"}, "way")},
)


async def test_a_process_is_gone_into_when_it_says_so_asks_decides_and_speaks(stage: Stage) -> None:
    (stage.words / "prompts" / "travel.md").write_text("Tell them to go $way.\n")
    stage.processes = {**PROCESSES, "travel": TRAVEL}
    await stage.wake()
    stage.model.say("<aside>Off!</aside><next>travel</next><say>Oh, a journey!</say><mood>neutral</mood>")
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    assert "travel: they want to go somewhere." in stage.told()[-1]

    stage.model.say('{"statement": "They have said where they want to go.", "is_true": false}')
    await stage.say("alice", ALICE, "So what do you think?", ts)
    assert (await stage.answers(ALICE, ts))[1:] == ["Where to?"]

    stage.model.say('{"decision": "by ferry"}')
    held = asyncio.Event()
    stage.model.say("<say>Take the ferry, Alice.</say>", until=held, first=len("<say>Take the"))
    await stage.post("alice", ALICE, "To Oslo", ts)
    await stage.until(lambda: "Tell them to go by ferry." in stage.asked()[-1])
    held.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[2:] == ["Take the ferry, Alice."]
    decided = stage.asked()[-1]
    assert decided.index("To Oslo") < decided.index("by ferry"), "what it decided is in its memory"

    stage.model.say(reply("You are welcome."))
    await stage.say("alice", ALICE, "Thank you", ts)
    assert (await stage.answers(ALICE, ts))[3:] == ["You are welcome."]
    assert len(stage.model.requests) == 5, "nothing was asked twice"


# Each step, with failures.


class Trip(BaseModel):
    """Where to, and for how long."""

    place: str
    days: int


Step = Callable[[Turn, WorkingMemory], Awaitable[tuple[WorkingMemory, object]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    step: Step
    raw: str
    value: object


def words(text: str) -> Step:
    async def step(turn: Turn, memory: WorkingMemory) -> tuple[WorkingMemory, object]:
        return await instruction(turn, memory, text)

    return step


async def query(turn: Turn, memory: WorkingMemory) -> tuple[WorkingMemory, object]:
    return await mental_query(turn, memory, "They are in a hurry.")


async def ideas(turn: Turn, memory: WorkingMemory) -> tuple[WorkingMemory, object]:
    return await brainstorm(turn, memory, "Where could they go?")


async def way(turn: Turn, memory: WorkingMemory) -> tuple[WorkingMemory, object]:
    return await decision(turn, memory, "How had they best go?", ["by train", "by ferry"])


async def trip(turn: Turn, memory: WorkingMemory) -> tuple[WorkingMemory, object]:
    return await extract(turn, memory, Trip, "Which journey do they want?")


STEPS = {
    "internal_monologue": Taken(
        step=internal_monologue, raw="<aside>They look tired.</aside>", value="They look tired."
    ),
    "external_dialogue": Taken(step=external_dialogue, raw="<say>Rest a while.</say>", value="Rest a while."),
    "decision": Taken(step=way, raw='{"decision": "by ferry"}', value="by ferry"),
    "mental_query": Taken(step=query, raw='{"statement": "They are …", "is_true": false}', value=False),
    "brainstorm": Taken(step=ideas, raw='{"ideas": ["Oslo", " Bergen", "Oslo"]}', value=["Oslo", "Bergen"]),
    "instruction": Taken(
        step=words("What should they pack? Nobody else reads it."), raw="A coat.", value="A coat."
    ),
    "summarize": Taken(step=summarize, raw="Alice is tired.", value="Alice is tired."),
    "extract": Taken(step=trip, raw='{"place": "Oslo", "days": 3}', value=Trip(place="Oslo", days=3)),
}


def met_by(*names: str) -> pytest.MarkDecorator:
    """Parametrize steps and failures; `make test` tries those that show mutants."""
    some = [taken if name in names else later(taken) for name, taken in STEPS.items()]
    return pytest.mark.parametrize("taken", some, ids=STEPS.keys())


typed = pytest.mark.parametrize(
    "name", shared([name for name, taken in STEPS.items() if taken.raw.startswith("{")], 4)
)


async def taking(stage: Stage, step: Step, **settings: object) -> None:
    """Wake a soul that takes this step on every input and tells its value."""

    async def conversation(turn: Turn) -> WorkingMemory:
        memory, value = await step(turn, turn.memory)
        if value is None:
            return memory
        return memory.with_memory(*map(entry_as_memory, await say(turn, came(value))))

    stage.processes = {**PROCESSES, "conversation": replace(PROCESSES["conversation"], run=conversation)}
    await stage.wake(**settings)


def came(value: object) -> str:
    return f"It came to this: {value}"


@met_by(*STEPS.keys() - {"mental_query", "decision"})  # covered by the process above
async def test_its_answer_is_its_value_and_in_memory(stage: Stage, taken: Taken) -> None:
    await taking(stage, taken.step)
    stage.model.say(taken.raw)
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    assert (await stage.answers(ALICE, ts))[-1] == came(taken.value)
    stage.model.say(taken.raw)
    await stage.say("alice", ALICE, "And now?", ts)
    first, second = (request["messages"] for request in stage.model.requests)
    assert first[-1]["role"] == second[-1]["role"] == "user"
    raw = stage.tags.marked(taken.raw)
    assert raw in str([block["text"] for block in second[1]["content"]]), "it is remembered as it came"
    assert stage.unsent() == []


@SOAK
@met_by("decision")
async def test_an_outage_is_told_once_and_it_goes_on_from_there(stage: Stage, taken: Taken) -> None:
    await taking(stage, taken.step)
    stage.model.fail(429, "rate_limit_error", wait=60)
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    [away] = await stage.answers(ALICE, ts)
    assert away.startswith(AWAY)
    await stage.sleep()
    stage.model.say(taken.raw)
    await stage.wake()  # each life begins with an attempt
    await stage.settled()
    told, *_, last = await stage.answers(ALICE, ts)
    assert (told, last) == (away, came(taken.value))
    assert len(stage.model.requests) == 2


@met_by("decision")
async def test_a_refusal_goes_to_the_model_that_stands_in(stage: Stage, taken: Taken) -> None:
    await taking(stage, taken.step, claude_model_fallback=STANDS_IN)
    stage.model.refuse()
    stage.model.say(taken.raw, model=STANDS_IN)
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    assert (await stage.answers(ALICE, ts))[-1] == came(taken.value)


@met_by("instruction")
async def test_where_that_one_refuses_too_they_are_told_and_it_is_over(stage: Stage, taken: Taken) -> None:
    await taking(stage, taken.step)
    for _ in range(2):
        stage.model.refuse()
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    [sorry] = await stage.answers(ALICE, ts)
    assert sorry.startswith(SORRY)
    assert len(stage.model.requests) == 2
    stage.model.say(taken.raw)
    await stage.say("alice", ALICE, "And now?", ts)
    assert "get away" not in stage.asked()[-1], "what was refused is not asked again"


@met_by("summarize")
@pytest.mark.parametrize("press", ["Continue", later("Stop")])
async def test_at_a_limit_an_owner_is_asked(stage: Stage, taken: Taken, press: str) -> None:
    await taking(stage, taken.step, owner_user_ids=frozenset({CAROL.id}), limit_person=Limits(calls=1))
    stage.model.say(taken.raw)
    ts = await stage.say("alice", GENERAL, f"{ME} I want to get away from here")
    before = await stage.answers(GENERAL, ts)
    await stage.say("alice", GENERAL, f"{ME} and now?", ts)
    assert len(stage.model.requests) == 1, "nothing is asked beyond it"
    [asks] = (await stage.answers(GENERAL, ts))[len(before) :]
    assert asks.startswith("That is as far as I may go by myself")
    stage.model.say(taken.raw)
    await pressed(stage, "carol", press)
    _, *after = (await stage.answers(GENERAL, ts))[len(before) :]
    assert after[-1:] == ([came(taken.value)] if press == "Continue" else [])
    assert len(stage.model.requests) == (2 if press == "Continue" else 1)


@met_by("decision")
async def test_without_an_owner_they_are_told(stage: Stage, taken: Taken) -> None:
    await taking(stage, taken.step, limit_person=Limits(calls=1))
    stage.model.say(taken.raw)
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    before = await stage.answers(ALICE, ts)
    await stage.say("alice", ALICE, "And now?", ts)
    [said] = (await stage.answers(ALICE, ts))[len(before) :]
    assert said.startswith("I have reached the limit of how often I may think")
    assert len(stage.model.requests) == 1


@met_by("extract")
async def test_a_stop_ends_it_and_is_answered_once(stage: Stage, taken: Taken) -> None:
    async def twice(turn: Turn, memory: WorkingMemory) -> tuple[WorkingMemory, object]:
        memory, _ = await taken.step(turn, memory)
        return await taken.step(turn, memory)

    await taking(stage, twice)
    held = asyncio.Event()
    stage.model.say(taken.raw, until=held)
    ts = await stage.post("alice", ALICE, "I want to get away from here")
    await stage.until(lambda: len(stage.model.requests) == 1)
    await stage.post("alice", ALICE, "stop", ts)
    await stage.settled()
    held.set()
    assert await stage.answers(ALICE, ts) == [STOPPED]
    assert len(stage.model.requests) == 1, "nothing more is asked"
    stage.model.say(taken.raw)
    stage.model.say(taken.raw)
    await stage.say("alice", ALICE, "Go on then", ts)
    assert (await stage.answers(ALICE, ts))[-1] == came(taken.value)


@typed
@pytest.mark.parametrize(
    "bad", [later("I would rather not say."), "{}", later('{"ideas": []} or {"decision": "by air"}')]
)
async def test_an_answer_of_another_form_is_asked_for_again(stage: Stage, name: str, bad: str) -> None:
    taken = STEPS[name]
    await taking(stage, taken.step)
    stage.model.say(bad)
    stage.model.say(f"Here it is:\n```json\n{taken.raw}\n```")
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    assert await stage.answers(ALICE, ts) == [came(taken.value)]
    assert "your answer could not be used" in stage.asked()[-1]
    assert len(stage.model.requests) == 2


@typed
async def test_the_fourth_answer_of_another_form_is_the_last(stage: Stage, name: str) -> None:
    await taking(stage, STEPS[name].step)
    for _ in range(5):
        stage.model.say("I would rather not say.")
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    [sorry] = await stage.answers(ALICE, ts)
    assert sorry.startswith(SORRY)
    assert len(stage.model.requests) == 4


async def test_a_monologue_says_nothing_aloud_whatever_stands_in_it(stage: Stage) -> None:
    await taking(stage, internal_monologue)
    stage.model.say("<aside>They look tired.</aside><say>Rest a while.</say>")
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    assert await stage.answers(ALICE, ts) == [came("They look tired.")]
    stage.model.say("They still look tired.")
    await stage.say("alice", ALICE, "And now?", ts)
    assert (await stage.answers(ALICE, ts))[1:] == [came("They still look tired.")]
    assert "Rest a while." not in stage.asked()[-1], "nor does it remember to have said it"
