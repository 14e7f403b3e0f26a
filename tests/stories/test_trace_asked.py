"""`!trace`, for the asker alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from slack_sdk.web.async_client import AsyncWebClient

from daemon.actions.action import ActionContext, ActionDefinition
from daemon.app.journal_commands import trace_lines
from daemon.engine.event import Entry
from daemon.kinds import ActionObserved, ModelCall, SoulTurnEnded
from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import BOB
from tests.attention import until
from tests.console.theatre import theatre
from tests.stories.choosing import (
    ASKED,
    ON_IT,
    answers,
    calls,
    choice,
    deciding,
    looking,
    outcomes,
    turning,
    whispers,
)
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply
from tests.stories.test_open_deeds import offering
from tests.stories.test_open_thought import calls_itself, final, goes_on, spawns, thinks

DONE = "It is the new timetable."
SECRET = "What a dull question that is."


def figures(calls: Sequence[Entry[ModelCall]]) -> str:
    tokens = sum(call.event.usage.total for call in calls)
    return f"Calls: {len(calls)}, {tokens:,} tokens, ${sum(call.event.cost for call in calls):.4f}."


async def test_a_trace_tells_whoever_asks_and_nobody_else(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think", looking()), SECRET, choice("Respond"), reply(DONE))
    ts = await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    made = stage.entries("model-call")
    await stage.say("bob", GENERAL, f"{ME} !trace", ts)
    [(person, said)] = whispers(stage)
    assert person == BOB.id
    assert "conversation → greeting → problem_solving" in said
    assert "Actions: thinking it over, searching memory, writing." in said
    assert figures(made) in said
    assert "http" not in said, "nobody knows how people would reach the page"
    assert SECRET not in said
    assert "Hm." not in said, "its aside"
    assert stage.entries("model-call") == made, "it costs nothing"
    assert await stage.answers(GENERAL, ts) == [ON_IT, DONE]
    answers(stage, reply("Yes?"))
    await stage.say("alice", GENERAL, f"{ME} and now?", ts)
    assert "!trace" not in stage.asked()[-1], "the thread remembers nothing of it"


async def test_a_trace_links_to_the_page_where_the_owner_says_that_it_can_be_reached(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(console_url="https://soul.example.org/")
    ts = await stage.say("alice", ALICE, "Hello")
    thread = stage.entries("message")[0].thread
    await stage.say("alice", ALICE, "!trace", ts)
    [(_, said)] = whispers(stage)
    assert said.endswith(f"for whoever runs me: https://soul.example.org/#{thread}")


async def test_a_trace_where_nothing_was_done(stage: Stage) -> None:
    await stage.say("alice", ALICE, "!trace")
    assert [said for _, said in whispers(stage)] == ["I have not done anything here yet."]
    assert not stage.entries("model-call")


async def test_a_trace_in_the_middle_of_a_run(stage: Stage) -> None:
    await deciding(stage)
    held = asyncio.Event()
    answers(stage, turning(), choice(looking()), choice("Think"))
    stage.model.say(SECRET, until=held)
    ts = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.model.requests) == 4)
    await stage.post("alice", ALICE, "!trace", ts)
    await stage.until(lambda: len(stage.entries("input")) == 2)
    answers(stage, choice("Respond"), reply(DONE))
    held.set()
    await stage.settled()
    [(person, said)] = whispers(stage)
    assert person == ALICE_HERSELF.id
    assert figures(stage.entries("model-call")[:4]) in said
    assert "searching memory" in said
    assert SECRET not in said
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert "judge" not in calls(stage)
    assert outcomes(stage) == ["completed"], "it is answered within the run"
    assert "!trace" not in str(stage.asked())


async def test_a_trace_counts_all_steps_of_open_thought_with_its_branches(stage: Stage) -> None:
    stage.model.say(reply("Hello."))
    ts = await stage.say("alice", GENERAL, f"{ME} hello")
    before = stage.entries("model-call")
    thinks(stage, calls_itself("First."), spawns("north") + spawns("south"))
    goes_on(stage, final("Polaris."), final("Sigma Octantis."), "Wait.", calls_itself("Now both."))
    goes_on(stage, final("Polaris, and Sigma Octantis."))
    await stage.say("alice", GENERAL, f"{ME} which are the pole stars?", ts)
    made = stage.entries("model-call")[len(before) :]
    assert len({call.thread for call in made}) == 3
    await stage.say("bob", GENERAL, f"{ME} !trace", ts)
    [(_, said)] = whispers(stage)
    assert "conversation → deliberation" in said
    assert figures(made) in said


async def test_a_trace_after_a_thought_counts_what_came_since(stage: Stage) -> None:
    thinks(stage, calls_itself("First."), final("Forty-two."))
    ts = await stage.say("alice", ALICE, "What is it?")
    stage.model.say(reply("You are welcome."))
    await stage.say("alice", ALICE, "Thank you.", ts)
    await stage.say("alice", ALICE, "!trace", ts)
    [(_, said)] = whispers(stage)
    assert figures(stage.entries("model-call")[-1:]) in said


async def test_a_person_who_speaks_amid_a_thought_does_not_begin_the_count_anew(stage: Stage) -> None:
    thinks(stage, '<set-timer in="90s" label="tea"/>')
    ts = await stage.say("alice", ALICE, "Tell me when the tea is ready.")
    goes_on(stage, "I wait.")
    await stage.say("alice", ALICE, "Green tea.", ts)
    await stage.say("alice", ALICE, "!trace", ts)
    [(_, said)] = whispers(stage)
    assert figures(stage.entries("model-call")) in said


async def test_a_trace_names_the_actions_of_open_thought(stage: Stage) -> None:
    await stage.sleep()

    async def look(context: ActionContext, args: object) -> str:
        return "It is green."

    offering(stage, ActionDefinition(name="LookUp", description="Look.", perform=look))
    await stage.wake()
    thinks(stage, "<LookUp/>", final("It is green."))
    ts = await stage.say("alice", ALICE, "Which colour has it?")
    await stage.say("alice", ALICE, "!trace", ts)
    [(_, said)] = whispers(stage)
    assert "Actions: LookUp." in said


async def test_the_terminal_counts_and_shows_branches_too(stage: Stage) -> None:
    thinks(stage, calls_itself("First."), spawns("north"), final("Polaris."), final("It is Polaris."))
    await stage.say("alice", ALICE, "Which is the pole star?")
    made = stage.entries("model-call")
    [opened] = stage.entries("thread")
    head, *body = trace_lines(stage.soul.journal, opened, 300)
    assert f", {len(made)} calls, ${sum(call.event.cost for call in made):.4f}" in head
    begun = next(number for number, line in enumerate(body) if "thread-spawned" in line)
    [said] = [number for number, line in enumerate(body) if "model-call" in line and ">Polaris.<" in line]
    assert said > begun, "beneath what began it"


async def test_in_a_rehearsal_a_trace_says_that_nothing_was_billed(tmp_path: Path) -> None:
    async with theatre(tmp_path) as (soul, _):
        alice = AsyncWebClient(token="xoxp-alice", base_url=f"{soul.url}/api/")
        said = await alice.chat_postMessage(channel=ALICE, text="Hello")
        await until(lambda: soul.journal.entries_of_kind(SoulTurnEnded))
        made = soul.journal.entries_of_kind(ModelCall)
        await alice.chat_postMessage(channel=ALICE, text="!trace", thread_ts=said["ts"])
        await until(lambda: soul.journal.entries_of_kind(ActionObserved))
        [told] = soul.journal.entries_of_kind(ActionObserved)
    worth = sum(call.event.worth for call in made)
    assert worth > 0
    assert f"nothing, since the model here is a script (${worth:.4f} with Claude)" in told.event.text
