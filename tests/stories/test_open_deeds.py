"""Actions written in open thought."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.actions.action import ActionArguments, ActionContext, ActionDefinition
from daemon.actions.registry import ActionRegistry
from daemon.app.discovery import PROCESSES, ProcessDependencies, bind_processes
from daemon.memory import WorkingMemory
from daemon.open_thought.executor import payload_arguments
from daemon.open_thought.payloads import parse_payloads
from daemon.process import Transition, Turn
from daemon.settings.limits import Limits
from daemon.turn.branches import Branches
from daemon.turn.input_policy import DELIBERATION_PROCESS
from tests.soak import SOAK, but
from tests.stories.choosing import press, pressed
from tests.stories.stage import ALICE, Stage
from tests.stories.test_open_thought import ALONE, OPEN, OVER, final, goes_on, prompts, spawns, thinks, told


class What(ActionArguments):
    """Which one."""

    name: str


async def may_delete(stage: Stage) -> list[str]:
    deleted: list[str] = []

    async def delete(_context: ActionContext, what: What) -> str:
        deleted.append(what.name)
        return f"{what.name} is deleted"

    action = ActionDefinition(
        name="Delete", description="Delete it.", perform=delete, args=What, approval=True, effect=True
    )
    await stage.sleep()
    offering(stage, action)
    await stage.wake(owner_user_ids=frozenset({"U0ALICE0001"}))
    return deleted


def offering(stage: Stage, *definitions: ActionDefinition) -> None:
    stage.processes = bind_processes(PROCESSES, ProcessDependencies(actions=ActionRegistry(definitions)))
    book = stage.words / "playbooks" / "deliberation.md"
    names = ", ".join(one.name for one in definitions)
    lines = [
        f"actions: [{names}]" if line.startswith("actions:") else line
        for line in book.read_text().split("\n")
    ]
    book.write_text("\n".join(lines))


async def test_actions_are_carried_out_beside_each_other_and_each_result_is_a_message(
    stage: Stage, tmp_path: Path
) -> None:
    folder = tmp_path / "knowledge"
    folder.mkdir()
    (folder / "tea.md").write_text("Green tea wants 70 degrees.\n")
    await stage.sleep()
    await stage.wake(knowledge_dirs=(folder,))
    thinks(
        stage,
        "Let me look. <Research><query>green tea</query></Research> and "
        "<SearchMemory><query>nothing</query></SearchMemory>"
        '<Remember xmlns="https://example.org/ns"><text>They like tea.</text></Remember>',
        final("At 70 degrees."),
    )
    ts = await stage.say("alice", ALICE, "How hot?")
    assert await stage.answers(ALICE, ts) == ["At 70 degrees."]
    results = {entry.event.sender: entry.event.text for entry in stage.entries("inner-message")}
    assert [*sorted(results)] == ["Remember", "Research", "SearchMemory"]
    assert "70 degrees" in results["Research"]
    assert [entry.event.text for entry in stage.entries("remembered")] == ["They like tea."]
    last = prompts(stage)[-1]
    assert "Let me look." in last
    assert all(f'<message from="{sender}">' in last for sender in results)


@SOAK
async def test_an_action_that_needs_an_owner_waits_for_one(stage: Stage) -> None:
    deleted = []

    async def delete(_context: ActionContext, what: What) -> str:
        deleted.append(what.name)
        return f"{what.name} is deleted"

    action = ActionDefinition(
        name="Delete",
        description="Delete it.",
        perform=delete,
        args=What,
        approval=True,
        effect=True,
        repeatable=False,
    )
    await stage.sleep()
    offering(stage, action)
    await stage.wake(owner_user_ids=frozenset({"U0ALICE0001"}))
    thinks(stage, "<Delete><name>the old plan</name></Delete>", final("It is gone."))
    ts = await stage.say("alice", ALICE, "Delete the old plan, but think first.")
    assert deleted == []
    await pressed(stage, "alice", "Approve")
    assert deleted == ["the old plan"]
    assert (await stage.answers(ALICE, ts))[-1] == "It is gone."


@SOAK
async def test_a_branch_that_begins_with_an_action_begins_with_its_result(stage: Stage) -> None:
    async def count(_context: ActionContext, what: What) -> str:
        return f"{what.name}: {len(what.name)}"

    await stage.sleep()
    offering(
        stage,
        ActionDefinition(
            name="Count", description="Count its letters.", perform=count, args=What, effect=True
        ),
    )
    await stage.wake()
    payload = "<Count><name>banana</name></Count>"
    thinks(
        stage,
        f'<spawn-thread suggested_sub_id="n"><initial-payload>{payload}</initial-payload></spawn-thread>',
        final("It has six letters."),
        final("Six."),
    )
    ts = await stage.say("alice", ALICE, "How long is banana?")
    assert await stage.answers(ALICE, ts) == ["Six."]
    assert "banana: 6" in prompts(stage)[1]


@SOAK
async def test_what_an_action_cannot_read_or_do_is_told(stage: Stage) -> None:
    async def fail(_context: ActionContext, _args: object) -> str:
        raise RuntimeError("no way")

    await stage.sleep()
    offering(
        stage,
        ActionDefinition(name="Fail", description="Fails.", perform=fail, effect=True),
        ActionDefinition(name="Count", description="Count.", perform=fail, args=What, effect=True),
    )
    await stage.wake()
    thinks(stage, "<Fail/><Count><nme>x</nme></Count>", final("I could not."))
    ts = await stage.say("alice", ALICE, "Try.")
    assert await stage.answers(ALICE, ts) == ["I could not."]
    results = {entry.event.sender: entry.event.text for entry in stage.entries("inner-message")}
    assert "RuntimeError" in results["Fail"]
    assert "name" in results["Count"]


@pytest.mark.parametrize("names", [[""], ["tea"], ["tea", "mate"]])
def test_of_a_list_each_part_is_an_element(names: list[str]) -> None:
    class Which(ActionArguments):
        names: list[str] | None = None

    async def look(_context: ActionContext, _args: object) -> str:
        return "seen"

    definition = ActionDefinition(name="Look", description="Look.", perform=look, args=Which)
    written = "".join(f"<names>{name}</names>" for name in names)
    [payload] = parse_payloads(f"<Look>{written}</Look>", slug="ada", actions=["Look"]).payloads
    assert payload_arguments(definition, payload) == Which(names=[name for name in names if name])


async def test_what_an_action_with_steps_of_its_own_raises_is_told_too(stage: Stage) -> None:
    async def fail(context: ActionContext, _args: object) -> str:
        await context.turn.effect("look", {}, nothing, repeatable=True)
        raise LookupError("no way")

    async def nothing() -> str:
        return ""

    await stage.sleep()
    offering(stage, ActionDefinition(name="Fail", description="Fails.", perform=fail))
    await stage.wake()
    thinks(stage, "<Fail/>", final("I could not."))
    ts = await stage.say("alice", ALICE, "Try.")
    assert await stage.answers(ALICE, ts) == ["I could not."]
    [result] = [entry.event.text for entry in stage.entries("inner-message")]
    assert result == "it failed: LookupError: no way"
    assert not stage.entries("attempt-failed")


async def test_what_an_action_gives_without_end_is_told_as_far_as_a_run_would_be(stage: Stage) -> None:
    async def flood(_context: ActionContext, _args: object) -> str:
        return "much " * 100_000

    await stage.sleep()
    offering(stage, ActionDefinition(name="Flood", description="Floods.", perform=flood))
    await stage.wake()
    thinks(stage, "<Flood/>", final("Much."))
    ts = await stage.say("alice", ALICE, "Try.")
    assert await stage.answers(ALICE, ts) == ["Much."]
    [result] = [entry.event.text for entry in stage.entries("inner-message")]
    assert result == f"{'much ' * 4_000} […]"


async def test_a_branch_that_fails_when_it_is_stopped_has_ended(stage: Stage) -> None:
    async def deliberation(turn: Turn) -> WorkingMemory | Transition:
        if Branches(turn).parent:
            raise LookupError("it always fails")
        return await PROCESSES[DELIBERATION_PROCESS](turn)

    await stage.sleep()
    stage.processes = {**PROCESSES, DELIBERATION_PROCESS: deliberation}
    await stage.wake()
    thinks(stage, spawns("bad"))
    ts = await stage.post("alice", ALICE, "Go.")
    await stage.until(lambda: stage.entries("attempt-failed"))
    await stage.post("alice", ALICE, "stop", ts)
    await stage.passing(1.0, lambda: stage.entries("thread-ended"))
    await stage.settled()
    assert [entry.event.status for entry in stage.entries("thread-ended")] == ["cancelled"]
    assert not stage.pending("thread-spawned", "waiting", "input", "turn-began")


async def test_what_cannot_be_read_is_answered_with_its_position(stage: Stage) -> None:
    garbage = '<send to="x" to="y">Hello</send>'
    thinks(stage, "<claudius>On.", garbage, garbage, garbage)
    stage.model.say(final("I give up."), asks=ALONE)
    ts = await stage.say("alice", ALICE, "Go on.")
    assert await stage.answers(ALICE, ts) == ["I give up."]
    huhs = [text for text in told(stage) if text.startswith("<huh")]
    assert 'repaired="true"' in huhs[0]
    assert 'position="0"' in huhs[1]
    assert [entry.event.count for entry in stage.entries("inner-message") if entry.event.code == "huh"] == [
        1,
        2,
    ]
    assert 'code="three-times"' in told(stage)[-1]


NESTED = "<claudius>" * 5_000 + "deep" + "</claudius>" * 5_000
BAD = {
    "a megabyte": "word " * 200_000,
    "a thousand payloads": "<set-timer in='90s' label='x'/>" * 1_000,
    "nested": NESTED,
    "entities": '<!DOCTYPE x [<!ENTITY a "b">]><claudius>&a; &#x0; &amp;</claudius>',
    "half a character": "<claudius>\ud800 and on</claudius>",
    "a label with dots and slashes": '<spawn-thread suggested_sub_id="../../sess-x.y">x</spawn-thread>',
    "a hundred steps": '<todo-until condition="c">' + "<step>s</step>" * 100 + "</todo-until>",
    "the past": '<set-timer in="-90s" label="x"/><set-timer in="0s"/><set-timer in="9000d"/>',
    "nothing": "<fan-out></fan-out><spawn-thread/><send to=''/>",
    "an empty call": "<claudius></claudius>",
}


@pytest.mark.parametrize(
    "bad",
    but(
        BAD, ["a megabyte", "a thousand payloads", "entities", "a hundred steps", "the past", "an empty call"]
    ),
)
async def test_whatever_it_writes_the_answer_still_comes(stage: Stage, bad: str) -> None:
    thinks(stage, BAD[bad])
    stage.model.script = lambda _body: final("Here is the answer.")
    ts = await stage.say("alice", ALICE, "Go.")
    for _ in range(3):
        await stage.clock.advance(100)
        await stage.soul.worker.sweep()
        await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "Here is the answer."
    assert not stage.entries("attempt-failed", "unbegun", "restarted")
    assert len(prompts(stage, OPEN)) <= 12


async def test_a_branch_asks_for_consent_in_its_roots_conversation(stage: Stage) -> None:
    deleted = await may_delete(stage)
    thinks(stage, spawns("cleaner"), "<Delete><name>the old plan</name></Delete>", final("It is gone."))
    goes_on(stage, final("Tidied."))
    ts = await stage.say("alice", ALICE, "Tidy up.")
    assert deleted == []
    [asked] = [entry for entry in stage.pending("asked") if "." not in entry.thread]
    said = stage.soul.journal.entry(asked.event.said[-1])
    await press(stage, "alice", ALICE, said.event.ts, "Approve")
    await stage.until(lambda: stage.entries("thread-ended"))
    await stage.settled()
    assert deleted == ["the old plan"]
    assert (await stage.answers(ALICE, ts))[-1] == "Tidied."


async def test_after_a_refusal_the_final_answer_alone_is_asked_for(stage: Stage) -> None:
    stage.model.say(OVER)
    stage.model.refuse(asks=OPEN)
    stage.model.say(final("I would rather not go into that."), asks=ALONE)
    ts = await stage.say("alice", ALICE, "Think it through.")
    assert await stage.answers(ALICE, ts) == ["I would rather not go into that."]


@SOAK
async def test_more_branches_than_a_thread_may_have_are_refused(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(spawn_max_depth=1)
    items = "".join(f"<item>{n}</item>" for n in range(51))
    thinks(stage, f"<fan-out>{items}</fan-out>", spawns("deep"), spawns("deeper"), final("Too deep."))
    goes_on(stage, final("That is as far as it goes."))
    ts = await stage.say("alice", ALICE, "Dig.")
    assert await stage.answers(ALICE, ts) == ["That is as far as it goes."]
    codes = [text.split('code="')[1].split('"')[0] for text in told(stage) if "system-thread-error" in text]
    assert codes == ["children", "depth"]


async def test_a_message_reaches_a_branch_and_one_that_has_ended_is_said_so(stage: Stage) -> None:
    thinks(stage, spawns("helper"))
    waiting = asyncio.Event()
    stage.model.say("I wait.", asks=OPEN, until=waiting)
    ts = await stage.post("alice", ALICE, "Go.")
    await stage.until(lambda: len(prompts(stage)) == 2)
    root = stage.entries("thread")[0].thread
    goes_on(stage, f'<send to="{root}.helper">Hurry.</send>')
    await stage.post("alice", ALICE, "Hurry.", ts)
    await stage.until(lambda: [one for one in told(stage) if one.startswith("<sent")])
    goes_on(stage, final("Here."), f'<send to="{root}.helper">Thanks.</send>', final("Done."))
    waiting.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "Done."
    assert any(f'<message from="{root}">\nHurry.' in prompt for prompt in prompts(stage))
    assert f'<system-thread-error id="{root}.helper" code="thread_ended"/>' in told(stage)


@SOAK
async def test_fifty_branches_are_at_the_model_at_once(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(limit_turn=Limits(calls=200))
    items = "".join(f"<item>Count to {n}.</item>" for n in range(50))
    thinks(stage, f"<fan-out>{items}</fan-out>")
    gate = asyncio.Event()
    for _ in range(50):
        stage.model.say(final("Done."), asks=OPEN, until=gate)
    goes_on(stage, final("All counted."))
    ts = await stage.post("alice", ALICE, "Count.")
    await stage.until(lambda: len(prompts(stage)) == 51)
    assert not stage.entries("thread-ended"), "none has been answered yet"
    gate.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "All counted."


async def test_what_comes_while_an_owner_is_asked_waits_for_the_answer(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(limit_turn=Limits(calls=4), owner_user_ids=frozenset({"U0ALICE0001"}))
    thinks(stage, spawns("a") + spawns("b"))
    first, second = asyncio.Event(), asyncio.Event()
    stage.model.say(final("It is 1."), asks=OPEN, until=first)
    stage.model.say(final("It is 2."), asks=OPEN, until=second)
    ts = await stage.post("alice", ALICE, "Think of both.")
    await stage.until(lambda: len(prompts(stage)) == 3)
    first.set()
    await stage.until(lambda: stage.pending("asked"))
    second.set()
    await stage.settled()
    assert len(await stage.answers(ALICE, ts)) == 1
    goes_on(stage, final("1 and 2."))
    await pressed(stage, "alice", "Continue")
    assert (await stage.answers(ALICE, ts))[1:] == ["1 and 2."]
    assert "It is 2." in prompts(stage)[-1]


async def test_research_shows_nothing_twice_in_one_answer_or_the_next(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("Green tea wants 70 degrees.\n")
    await stage.sleep()
    await stage.wake(knowledge_dirs=(folder,))
    both = "<Research><query>green tea</query></Research><Research><query>tea degrees</query></Research>"
    again = "Once more. <Research><query>degrees</query></Research>"
    thinks(stage, both, again, final("70 degrees."))
    await stage.say("alice", ALICE, "How hot?")
    results = [told for told in stage.entries("inner-message") if told.event.sender == "Research"]
    found = sorted("70 degrees" in told.event.text for told in results)
    assert found == [False, False, True]
