"""Daily budget of the inner life."""

from __future__ import annotations

from daemon.settings.limits import Limits
from tests.soak import SOAK
from tests.stories.stage import ALICE, GENERAL, Stage, reply
from tests.stories.ticking import (
    COMPARES,
    Shown,
    did,
    do,
    lines,
    live,
    note_of,
    passes,
    shown,
    thinks,
    tick,
    unlike,
)

DAY = 86_400.0


def until_midnight(stage: Stage) -> float:
    return DAY - stage.clock.now() % DAY


def spent(stage: Stage, asked: Shown) -> float:
    tick = int(asked.setting("tick"))
    costs: list[float] = [entry.event.cost for entry in stage.entries("model-call") if entry.seq < tick]
    return sum(costs)


@SOAK
async def test_what_is_spent_is_told_and_begins_anew_each_day(alive: Stage) -> None:
    stage = alive
    for number in range(3):
        thinks(stage, unlike(number), do("llm_memory.add", text=str(number)))
        asked = await tick(stage)
    assert asked.setting("spent today") == f"${spent(stage, asked):.2f} of $1.00" > "$0.01"
    thinks(stage, unlike(8))
    asked = await tick(stage, until_midnight(stage) + 60)
    assert asked.setting("spent today") == "$0.00 of $1.00"


async def test_when_it_is_used_up_it_thinks_again_the_next_day(asleep: Stage) -> None:
    stage = asleep
    await live(stage, inner_life_daily_usd=0.005)
    thinks(stage, unlike(1))
    await tick(stage)
    paid = len(stage.model.requests)
    for _ in range(5):
        await passes(stage, 600)
    assert len(stage.model.requests) == paid
    assert lines(stage)[-1] == "over-budget"
    assert lines(stage).count("over-budget") == 1, "it is said once"
    rest = until_midnight(stage)
    await passes(stage, rest - 1)
    assert len(stage.model.requests) == paid
    thinks(stage, unlike(2))
    asked = await tick(stage, 1)
    assert asked.setting("why you think now") == "a new day has begun"


@SOAK
async def test_the_small_call_counts_too(asleep: Stage) -> None:
    stage = asleep
    await live(stage, claude_model_fast="claude-opus-5-5")
    same = "I wonder whether the lift is stuck because of the humidity."
    thinks(stage, same)
    await tick(stage)
    stage.model.say(f"It is not. {'Word for word. ' * 200}", asks=COMPARES)
    thinks(stage, same + " So.")
    await tick(stage)
    assert COMPARES in str(stage.model.requests[-1])
    thinks(stage, unlike(5))
    asked = await tick(stage)
    assert asked.setting("spent today") == f"${spent(stage, asked):.2f} of $1.00"
    today = stage.soul.budget.today()
    assert today.inner == today.cost > spent(stage, asked)


async def test_no_call_is_made_where_nothing_may_be_spent(asleep: Stage) -> None:
    stage = asleep
    await live(stage, inner_life_daily_usd=0)
    for _ in range(3):
        await passes(stage, DAY)
    assert not stage.model.requests


@SOAK
async def test_the_bounds_of_conversations_do_not_stand_in_its_way(asleep: Stage) -> None:
    stage = asleep
    await live(stage, limit_thread=Limits(calls=1), limit_person=Limits(calls=1))
    for number in range(3):
        thinks(stage, unlike(number), do("llm_memory.add", text=str(number)))
        await tick(stage)
    assert lines(stage)[1:] == ["thought"] * 3


async def test_the_daily_budget_of_all_stands_in_its_way(asleep: Stage) -> None:
    stage = asleep
    await live(stage, budget_daily_usd=0.1)
    for number in range(5):
        thinks(stage, unlike(number), do("llm_memory.add", text=str(number)))
        await passes(stage, 60)
    assert 0 < stage.soul.budget.today().cost <= 0.1
    assert lines(stage)[-1] == "over-budget"
    assert len(shown(stage)) < 5


@SOAK
async def test_what_conversations_cost_is_not_its_own(asleep: Stage) -> None:
    stage = asleep
    await live(stage, inner_life_daily_usd=0.005)
    for number in range(4):
        stage.model.say(reply(f"Hello {number}."))
        await stage.say("alice", ALICE, f"Hello {number}")
    assert stage.soul.budget.today().cost > 0.005
    thinks(stage, unlike(2))
    asked = await tick(stage)
    assert asked.setting("spent today") == "$0.00 of $0.01"
    await passes(stage, 60)
    assert lines(stage)[-1] == "over-budget"
    stage.model.say(reply("I am still here."))
    ts = await stage.say("alice", ALICE, "Are you there?")
    assert await stage.answers(ALICE, ts) == ["I am still here."], "people are answered all the same"


@SOAK
async def test_notes_come_in_while_nothing_may_be_spent(asleep: Stage) -> None:
    stage = asleep
    await live(stage, inner_life_daily_usd=0.005)
    thinks(stage, unlike(1))
    await tick(stage)
    await passes(stage, 60)
    assert lines(stage)[-1] == "over-budget"
    await stage.say("bob", GENERAL, "The lift is stuck.")
    thinks(stage, unlike(2))
    asked = await tick(stage, until_midnight(stage))
    assert asked.context(4).startswith("urgent: 0, important: 0, normal: 1, low: 0")


@SOAK
async def test_what_its_last_commands_came_to_is_shown_the_next_day(asleep: Stage) -> None:
    stage = asleep
    await live(stage, inner_life_daily_usd=0.005)
    [spring] = [one.seq for one in await did(stage, do("diary.add", text="Spring has come."))]
    await passes(stage, 60)
    assert lines(stage)[-1] == "over-budget"
    thinks(stage, unlike(2), do("diary.read", ids=[spring]))
    asked = await tick(stage, until_midnight(stage))
    assert asked.results["diary.add"] == ("yes", f"added: its id is {spring}")
    await passes(stage, 60)
    assert lines(stage)[-1] == "over-budget"
    thinks(stage, unlike(3))
    asked = await tick(stage, until_midnight(stage))
    assert "Spring has come." in asked.context(3)


async def test_the_note_that_woke_it_is_not_forgotten_over_night(asleep: Stage) -> None:
    stage = asleep
    await live(stage, inner_life_daily_usd=0.005)
    await did(stage, do("cycle.idle", notes={"source": "channel"}))
    await passes(stage, 60)
    await stage.say("bob", GENERAL, "The lift is stuck.")
    await passes(stage, 1)
    assert lines(stage)[-1] == "over-budget"
    thinks(stage, unlike(2))
    asked = await tick(stage, until_midnight(stage))
    note = note_of(stage, "lift is stuck")
    assert asked.setting("why you think now") == f"notes came: {note}; a new day has begun"
    assert asked.setting("in view").startswith("#general (")
