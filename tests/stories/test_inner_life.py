"""Ticks at their time, each logged (H20)."""

from __future__ import annotations

from daemon.kinds import INNER, SoulTurnEnded
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply
from tests.stories.ticking import PAUSE, did, do, does, lines, live, passes, shown, thinks, tick, unlike


async def test_ticks_come_a_pause_apart(alive: Stage) -> None:
    stage = alive
    for number in range(4):
        thinks(stage, unlike(number))
        await passes(stage, PAUSE - 1)
        assert len(shown(stage)) == number, "the pause is not over"
        await tick(stage, 1)
    assert lines(stage) == ["asleep", *["thought"] * 4]


async def test_each_tick_is_a_line_of_the_log(alive: Stage) -> None:
    stage = alive
    await did(stage, do("diary.add", text="Spring."), do("nonsense"), words="One.")
    [_, line] = [entry.event for entry in stage.entries("tick")]
    journal = stage.soul.journal
    assert journal.entry(line.answer).event.text.startswith("One.")
    assert [journal.entry(seq).event.ok for seq in line.commands] == [True, False]
    assert (line.outcome, line.why, line.view, line.reflex) == ("thought", "the daemon was started", "", "")
    assert journal.entry(line.tick).kind == "turn-began"


async def test_a_tick_keeps_nothing(alive: Stage) -> None:
    stage = alive
    await does(stage, do("diary.add", text="Spring."))
    ends = stage.soul.journal.thread_entries(INNER, SoulTurnEnded)
    assert len(ends) == 3
    assert not any(end.event.keep for end in ends)
    assert all(len(request["messages"]) == 1 for request in stage.model.requests)


async def test_no_tick_is_heard_by_anybody(alive: Stage) -> None:
    stage = alive
    thinks(stage, f"Dear Alice, {ME} says hello in #general.")
    await tick(stage)
    thinks(stage, "<say>Can you hear me?</say>")
    await tick(stage)
    assert not stage.entries("speech")


async def test_it_thinks_beside_conversations(alive: Stage) -> None:
    stage = alive
    stage.model.say(reply("Hello, Alice."))
    ts = await stage.say("alice", ALICE, "Hello")
    thinks(stage, unlike(1))
    await tick(stage)
    stage.model.say(reply("Very well."))
    await stage.say("alice", ALICE, "How are you?", ts)
    assert await stage.answers(ALICE, ts) == ["Hello, Alice.", "Very well."]
    assert unlike(1) not in str(stage.model.requests[-1]), "a tick is no part of a conversation"


# With no inner life


async def test_without_leave_it_costs_nothing(asleep: Stage) -> None:
    stage = asleep
    await stage.wake()
    await stage.say("bob", GENERAL, "Nobody asked the soul.")
    for _ in range(3):
        await passes(stage, 86_400)
    assert not stage.model.requests
    assert not stage.soul.journal.tree_entries(INNER)
    assert not stage.entries("noticed")


async def test_what_it_waited_for_does_nothing_once_it_is_disabled(alive: Stage) -> None:
    stage = alive
    thinks(stage, "I sleep.", do("cycle.idle", seconds=60, notes={"priority": "low"}))
    await tick(stage)
    await stage.sleep()
    stage.settings.pop("inner_life_enabled")
    await stage.wake()
    paid = len(stage.model.requests)
    await passes(stage, 86_400)
    await stage.say("bob", GENERAL, "Nobody asked the soul.")
    await passes(stage, 86_400)
    assert len(stage.model.requests) == paid
    assert not stage.pending("input", "turn-began")
    await stage.sleep()
    await live(stage)
    thinks(stage, unlike(3))
    asked = await tick(stage)
    assert asked.setting("why you think now") == "the daemon was started"


async def test_asleep_for_a_month_it_asks_nothing(alive: Stage) -> None:
    stage = alive
    thinks(stage, "I sleep.", do("cycle.idle", seconds=31 * 86_400))
    await tick(stage)
    before = stage.soul.journal.last_seq_of_all()
    for _ in range(30):
        await passes(stage, 86_400)
    assert len(stage.model.requests) == 1
    assert stage.soul.journal.last_seq_of_all() == before, "not even an entry"
    await tick(stage, 86_400)
