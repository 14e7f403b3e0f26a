"""Cleared context, absent from the next turn on."""

from __future__ import annotations

from tests.stories.stage import ALICE, Stage
from tests.stories.test_open_thought import calls_itself, final, goes_on, prompts, thinks


async def test_what_is_cleared_is_out_of_sight_and_in_the_journal(stage: Stage) -> None:
    thinks(
        stage, calls_itself("One."), calls_itself("Two."), '<clear-context keep="2"/>' + calls_itself("On.")
    )
    goes_on(stage, final("Done."))
    ts = await stage.say("alice", ALICE, "Think of nothing.")
    assert await stage.answers(ALICE, ts) == ["Done."]
    last = prompts(stage)[-1]
    assert '<context-cleared kept_messages="2"/>' in last
    assert "One." not in last
    assert "On." in last


async def test_however_many_are_to_be_kept_it_goes_on(stage: Stage) -> None:
    thinks(stage, f'<clear-context keep="{"9" * 5_000}"/>' + calls_itself("On."), final("Done."))
    ts = await stage.say("alice", ALICE, "Think of nothing.")
    assert await stage.answers(ALICE, ts) == ["Done."]


async def test_who_clears_all_keeps_what_this_turn_is_about(stage: Stage) -> None:
    thinks(stage, calls_itself("One."), calls_itself("Two."))
    goes_on(stage, '<clear-context keep="0"/>' + calls_itself("On."))
    goes_on(stage, '<clear-context keep="1"/>' + calls_itself("And on."), final("Done."))
    ts = await stage.say("alice", ALICE, "Think of nothing.")
    assert await stage.answers(ALICE, ts) == ["Done."]
    *_, once, twice = prompts(stage)
    assert '<context-cleared kept_messages="2"/>' in once
    assert "One." not in once
    assert once.count("On.") == 1
    assert once.count("context-cleared") == 1
    assert twice.count("context-cleared") == 1
    assert "Two." not in twice
    assert twice.count("And on.") == 1
