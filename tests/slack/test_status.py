"""What Slack shows while the soul thinks."""

from __future__ import annotations

import asyncio
import gc

from tests.slack.office import GENERAL, ME, Office

LINE, SESSION = "assistant.threads.setStatus", "agents.sessions.setStatus"


def ours() -> None:
    """The thread is still ours."""


async def called(here: Office) -> str:
    await here.say("alice", GENERAL, f"{ME} hello")
    here.wire.calls.clear()
    return here.entries("thread")[-1].thread


def lines(here: Office) -> list[str]:
    return [line.status for line in here.world.workspace.statuses.all()]


async def test_the_words_are_shown_and_the_session_works_until_the_answer(here: Office) -> None:
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    await here.slack.speaker.status(thread, "is typing…", ours)
    assert lines(here) == ["is typing…"]
    await here.slack.speaker.finish(thread, None, "Hi", "k", ours)
    assert lines(here) == []
    await here.slack.speaker.status(thread, "", ours)
    assert [args["status"] for args in here.wire.told(LINE)] == ["is musing…", "is typing…"]
    assert [args["status"] for args in here.wire.told(SESSION)] == ["processing", "active"]


async def test_words_shown_after_the_answer_began_are_taken_away_in_the_end(here: Office) -> None:
    thread = await called(here)
    ts = await here.slack.speaker.start(thread, "Hi", "k", ours)
    await here.slack.speaker.status(thread, "is musing…", ours)
    await here.slack.speaker.finish(thread, ts, "Hi, Alice", "k", ours)
    await here.slack.speaker.status(thread, "", ours)
    assert lines(here) == []


async def test_the_session_works_until_all_messages_of_an_answer_stand(here: Office) -> None:
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    for n in range(2):
        ts = await here.slack.speaker.start(thread, "Hi", f"k{n}", ours)
        await here.slack.speaker.finish(thread, ts, "Hi, Alice", f"k{n}", ours)
    assert [args["status"] for args in here.wire.told(SESSION)] == ["processing"]


async def test_nothing_shown_is_nothing_to_clear(here: Office) -> None:
    thread = await called(here)
    await here.slack.speaker.status(thread, "", ours)
    assert here.wire.calls == []


async def test_a_silent_turn_clears_it(here: Office) -> None:
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    await here.slack.speaker.status(thread, "", ours)
    assert lines(here) == []
    assert [args["status"] for args in here.wire.told(SESSION)] == ["processing", "active"]


async def test_what_the_workspace_does_not_have_is_asked_for_once(here: Office) -> None:
    here.wire.lacking.add(SESSION)
    thread = await called(here)
    for n in range(3):
        await here.slack.speaker.status(thread, f"is musing ({n})…", ours)
    assert lines(here) == ["is musing (2)…"]
    assert len(here.wire.told(SESSION)) == 1
    assert len(here.wire.told(LINE)) == 3


async def test_each_change_of_the_words_is_one_call_and_no_change_is_none(here: Office) -> None:
    thread = await called(here)
    for words in ("is musing…", "is musing…", "is searching…", "is searching…", "is musing…"):
        await here.slack.speaker.status(thread, words, ours)
    assert lines(here) == ["is musing…"]
    assert [args["status"] for args in here.wire.told(LINE)] == ["is musing…", "is searching…", "is musing…"]
    assert len(here.wire.told(SESSION)) == 1


async def test_words_that_last_are_shown_again_before_slack_takes_them_away(here: Office) -> None:
    thread = await called(here)
    for _ in range(4):
        await here.slack.speaker.status(thread, "is musing…", ours)
        await here.clock.advance(50)
        assert lines(here) == ["is musing…"]
    assert len(here.wire.told(LINE)) == 2


async def test_after_an_answer_the_same_words_are_shown_again(here: Office) -> None:
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    await here.slack.speaker.finish(thread, None, "Hi", "k", ours)
    await here.slack.speaker.status(thread, "is musing…", ours)
    assert lines(here) == ["is musing…"]


async def test_without_a_status_line_the_session_still_shows_work(here: Office) -> None:
    here.wire.lacking.add(LINE)
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    assert lines(here) == ["is working…"]


async def test_a_passing_refusal_is_tried_again_next_time(here: Office) -> None:
    here.wire.refuse[LINE] = ["internal_error"]
    here.wire.refuse[SESSION] = ["internal_error"]
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    assert lines(here) == []
    await here.slack.speaker.status(thread, "is musing…", ours)
    assert lines(here) == ["is musing…"]


async def test_where_slack_has_enough_it_shows_nothing_new_for_a_while(here: Office) -> None:
    here.wire.refuse[LINE] = ["ratelimited"]  # for three seconds
    thread = await called(here)
    for n in range(3):
        await here.slack.speaker.status(thread, f"is musing ({n})…", ours)
    assert len(here.wire.told(LINE)) == 1
    await here.clock.advance(3)
    await here.slack.speaker.status(thread, "is musing (3)…", ours)
    assert lines(here) == ["is musing (3)…"]


async def test_but_takes_away_what_stands_there(here: Office) -> None:
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    here.wire.refuse[LINE] = ["ratelimited"]
    await here.slack.speaker.status(thread, "is searching…", ours)
    assert lines(here) == ["is musing…"]
    await here.slack.speaker.status(thread, "", ours)
    assert lines(here) == []


async def test_what_slack_did_not_take_away_is_taken_away_next_time(here: Office) -> None:
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    for method in (LINE, SESSION):
        here.wire.refuse[method] = ["ratelimited"]
    await here.slack.speaker.status(thread, "", ours)
    assert lines(here) == ["is musing…"]
    await here.slack.speaker.status(thread, "", ours)
    assert lines(here) == []
    assert here.world.workspace.statuses.sessions() == []


async def test_what_nobody_knows_to_be_taken_away_is_taken_away_again(here: Office) -> None:
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    for method in (LINE, SESSION):
        here.wire.cut.add(method)
    await here.slack.speaker.status(thread, "", ours)
    here.wire.cut.clear()
    for _ in range(2):
        await here.slack.speaker.status(thread, "", ours)
    assert [args["status"] for args in here.wire.told(LINE)] == ["is musing…", "", ""]
    assert [args["status"] for args in here.wire.told(SESSION)] == ["processing", "active", "active"]


async def test_what_nobody_knows_to_stand_there_is_taken_away(here: Office) -> None:
    thread = await called(here)
    for method in (LINE, SESSION):
        here.wire.cut.add(method)
    await here.slack.speaker.status(thread, "is musing…", ours)
    here.wire.cut.clear()
    await here.slack.speaker.status(thread, "", ours)
    assert lines(here) == []
    assert here.world.workspace.statuses.sessions() == []


async def test_a_thread_that_is_over_costs_nothing(here: Office) -> None:
    await show_and_clear(here)
    before = locks()
    for _ in range(5):
        await show_and_clear(here)
    assert locks() <= before


async def show_and_clear(here: Office) -> None:
    thread = await called(here)
    await here.slack.speaker.status(thread, "is musing…", ours)
    await here.slack.speaker.status(thread, "", ours)


def locks() -> int:
    """How many locks there are in the world."""
    gc.collect()
    return sum(isinstance(one, asyncio.Lock) for one in gc.get_objects())
