"""Plan steps that continue by themselves."""

from __future__ import annotations

from itertools import pairwise

import pytest

from daemon.kinds import PlanChanged
from daemon.open_thought.thought import closes_new_step
from tests.soak import SOAK, later
from tests.stories.stage import ALICE, Stage
from tests.stories.test_open_repeating import codes
from tests.stories.test_open_thought import ALONE, calls_itself, final, goes_on, prompts, spawns, thinks

FRUITS = ("apples", "pears", "plums", "cherries")


def plan(*done: str, of: tuple[str, ...] = FRUITS) -> str:
    steps = "".join(f'<step done="{str(step in done).lower()}">{step}</step>' for step in of)
    return f'<todo-until condition="all counted">{steps}</todo-until>'


async def test_answers_that_each_close_a_step_go_on_to_the_end(stage: Stage) -> None:
    thinks(stage, *[plan(*FRUITS[:n]) for n in range(1, 5)], final("Ten."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[-1] == "Ten."
    assert not codes(stage)
    assert len(stage.entries("self-call")) == 4
    asked = prompts(stage)
    assert all(then.startswith(before) for before, then in pairwise(asked))


@pytest.mark.parametrize("word", ["yes", later("1"), later("completed"), later("Skipped")])
async def test_a_step_may_be_closed_in_other_words(stage: Stage, word: str) -> None:
    one, other = ('<step done="no">apples</step>', '<step done="no">pears</step>')
    plans = [f"<todo-until>{one}{other}</todo-until>".replace("no", word, n) for n in (1, 2)]
    thinks(stage, *plans, final("Ten."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[-1] == "Ten."
    assert not codes(stage)
    assert len(stage.entries("self-call")) == 2


async def test_it_goes_on_no_further_than_it_may(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(iteration_capacity="low")
    thinks(stage, *[plan(*FRUITS[:n]) for n in range(1, 5)])
    stage.model.say(final("So far: ten."), asks=ALONE)
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[-1] == "So far: ten."
    assert len(stage.entries("self-call")) == 3
    assert codes(stage) == ["capped"]


async def test_where_iteration_is_not_allowed_a_step_is_no_way_on(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(iteration_capacity="none")
    thinks(stage, plan("apples"))
    stage.model.say(final("Three."), asks=ALONE)
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[-1] == "Three."
    assert codes(stage) == ["not-allowed"]
    assert not stage.entries("self-call")


async def test_a_plan_that_only_changes_its_words_ends_the_thought(stage: Stage) -> None:
    others = tuple(f"the {fruit}" for fruit in FRUITS)
    thinks(stage, plan("apples"), plan("the apples", of=others), plan("Apples"))
    stage.model.say(final("Three."), asks=ALONE)
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[-1] == "Three."
    assert codes(stage) == ["empty", "alone"]
    assert len(stage.entries("self-call")) == 1


async def test_a_step_that_is_opened_and_closed_again_is_no_progress(stage: Stage) -> None:
    thinks(stage, plan("apples"), plan(), plan("apples"))
    stage.model.say(final("Three."), asks=ALONE)
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[-1] == "Three."
    assert codes(stage) == ["empty", "alone"]


@SOAK
async def test_the_steps_of_an_earlier_thought_do_not_count(stage: Stage) -> None:
    ts = ""
    for _ in range(2):
        thinks(stage, plan("apples"), plan(*FRUITS[:2]), plan(*FRUITS) + final("Ten."))
        ts = await stage.say("alice", ALICE, "How many fruits?", ts or None)
    assert not codes(stage)
    assert len(stage.entries("self-call")) == 4


@SOAK
async def test_a_branch_goes_on_too(stage: Stage) -> None:
    thinks(stage, spawns("count"), plan("apples"), plan(*FRUITS[:2]), plan(*FRUITS[:3]), final("Ten."))
    goes_on(stage, final("Ten, it says."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[-1] == "Ten, it says."
    assert not codes(stage)


@SOAK
async def test_a_call_to_itself_beside_a_step_is_one_call(stage: Stage) -> None:
    thinks(stage, plan("apples") + calls_itself("On."), final("Three."))
    thinks(stage, final("Three; the rest is open."))
    await stage.say("alice", ALICE, "How many fruits?")
    assert [entry.event.text for entry in stage.entries("self-call")] == ["On."]


def made(**steps: str) -> PlanChanged:
    return PlanChanged(condition="c", steps=tuple(steps.items()))


A_DONE = made(a="done", b="open")
PROGRESS = {
    "the first plan, with a step that is done": (A_DONE, []),
    "one more step": (made(a="done", b="done"), [A_DONE]),
    "one that is needless": (made(a="done", b="cancelled"), [A_DONE]),
    "in other words": (made(x="done", y="done", z="open"), [made(a="done", b="open", c="open")]),
    "the first of another plan": (
        made(x="done", y="open"),
        [made(a="done", b="done"), made(x="open", y="open")],
    ),
    "one of two, the other is open again": (made(a="open", b="done"), [A_DONE]),
}
NO_PROGRESS = {
    "a plan of which nothing is done": (made(a="open"), []),
    "the same": (A_DONE, [A_DONE]),
    "the same in other words": (made(x="done", y="open"), [A_DONE]),
    "a step less": (made(a="done"), [A_DONE]),
    "one more that was never open": (made(a="done", x="done", b="open"), [A_DONE]),
    "a step that was closed before": (A_DONE, [A_DONE, made(a="open", b="open")]),
    "that, in other words": (made(x="done", b="open"), [A_DONE, made(a="open", b="open")]),
    "nothing at all": (made(), [A_DONE]),
}


@pytest.mark.parametrize(("plan", "before"), PROGRESS.values(), ids=PROGRESS.keys())
def test_a_plan_advances_by_a_step_that_is_closed(plan: PlanChanged, before: list[PlanChanged]) -> None:
    assert closes_new_step(plan, before)


@pytest.mark.parametrize(("plan", "before"), NO_PROGRESS.values(), ids=NO_PROGRESS.keys())
def test_a_plan_does_not_advance_by_words(plan: PlanChanged, before: list[PlanChanged]) -> None:
    assert not closes_new_step(plan, before)
