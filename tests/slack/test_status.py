"""The status while the soul thinks."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

from daemon.engine.exceptions import FencedError
from daemon.kinds import SoulTurnBegan, SoulTurnEnded
from daemon.slack.places import slack_place
from daemon.slack.status import MOMENT, YIELD_SECONDS, ThreadStatus
from daemon.slack.surface import SlackSurface
from tests.slack.office import OPEN, Office, access, office, until
from tests.slack.signs import LINE, SESSION, called, lines, ours, sessions, show
from tests.slack.wire import Wire
from tests.soak import SOAK


async def test_the_words_are_shown_and_the_session_works_until_the_answer(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    await show(here, thread, "is typing…")
    assert lines(here) == ["is typing…"]
    await here.slack.speaker.finish(thread, None, "Hi", "k", ours)
    assert lines(here) == []
    await show(here, thread, "")
    assert [args["status"] for args in here.wire.told(LINE)] == ["is musing…", "is typing…"]
    assert [args["status"] for args in here.wire.told(SESSION)] == ["processing", "active"]


async def test_words_shown_after_the_answer_began_are_taken_away_in_the_end(here: Office) -> None:
    thread = await called(here)
    ts = await here.slack.speaker.start(thread, "Hi", "k", ours)
    await show(here, thread, "is musing…")
    await here.slack.speaker.finish(thread, ts, "Hi, Alice", "k", ours)
    await show(here, thread, "")
    assert lines(here) == []


async def test_the_session_works_until_all_messages_of_an_answer_stand(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    for n in range(2):
        ts = await here.slack.speaker.start(thread, "Hi", f"k{n}", ours)
        await here.slack.speaker.finish(thread, ts, "Hi, Alice", f"k{n}", ours)
    assert [args["status"] for args in here.wire.told(SESSION)] == ["processing"]


async def test_nothing_shown_is_nothing_to_clear(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "")
    assert here.wire.calls == []


async def test_a_silent_turn_clears_it(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    await show(here, thread, "")
    assert lines(here) == []
    assert [args["status"] for args in here.wire.told(SESSION)] == ["processing", "active"]


async def test_what_the_workspace_does_not_have_is_asked_for_once(here: Office) -> None:
    here.wire.lacking.add(SESSION)
    thread = await called(here)
    for n in range(3):
        await show(here, thread, f"is musing ({n})…")
    assert lines(here) == ["is musing (2)…"]
    assert len(here.wire.told(SESSION)) == 1
    assert len(here.wire.told(LINE)) == 3


async def test_each_change_of_the_words_is_one_call_and_no_change_is_none(here: Office) -> None:
    thread = await called(here)
    for words in ("is musing…", "is musing…", "is searching…", "is searching…", "is musing…"):
        await show(here, thread, words)
    assert lines(here) == ["is musing…"]
    assert [args["status"] for args in here.wire.told(LINE)] == ["is musing…", "is searching…", "is musing…"]
    assert len(here.wire.told(SESSION)) == 1


async def test_words_that_last_are_shown_again_before_slack_takes_them_away(here: Office) -> None:
    thread = await called(here)
    for _ in range(4):
        await show(here, thread, "is musing…")
        await here.clock.advance(50)
        assert lines(here) == ["is musing…"]
    assert len(here.wire.told(LINE)) == 2


async def test_after_an_answer_the_same_words_are_shown_again(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    await here.slack.speaker.finish(thread, None, "Hi", "k", ours)
    await show(here, thread, "is musing…")
    assert lines(here) == ["is musing…"]


async def test_without_a_status_line_the_session_still_shows_work(here: Office) -> None:
    here.wire.lacking.add(LINE)
    thread = await called(here)
    await show(here, thread, "is musing…")
    assert lines(here) == ["is working…"]


async def test_whoever_shows_something_never_waits_and_only_the_newest_is_told(here: Office) -> None:
    thread = await called(here)
    for method in (LINE, SESSION):
        here.wire.held[method] = asyncio.Event()
    for n in range(50):
        here.slack.speaker.status(thread, f"is musing ({n})…", ours)
        await here.clock.advance(MOMENT)
        await until(lambda: len(here.wire.told(LINE)) == 1)
    for held in here.wire.held.values():
        held.set()
    await until(lambda: not here.slack.speaker.busy)
    assert [args["status"] for args in here.wire.told(LINE)] == ["is musing (0)…", "is musing (49)…"]
    assert len(here.wire.told(SESSION)) == 1


async def test_what_is_over_before_slack_heard_of_it_is_never_told(here: Office) -> None:
    thread = await called(here)
    here.slack.speaker.status(thread, "is musing…", ours)
    await here.clock.advance(MOMENT / 2)
    here.slack.speaker.status(thread, "", ours)
    await here.clock.advance(MOMENT)
    await until(lambda: not here.slack.speaker.busy)
    assert here.wire.told(LINE) == here.wire.told(SESSION) == []


async def test_a_late_call_sets_nothing_again(here: Office) -> None:
    thread = await called(here)
    held = here.wire.held[SESSION] = here.wire.held[LINE] = asyncio.Event()
    here.slack.speaker.status(thread, "is musing…", ours)
    await here.clock.advance(MOMENT)
    await until(lambda: len(here.wire.told(LINE)) == len(here.wire.told(SESSION)) == 1)
    await here.slack.speaker.finish(thread, None, "Hi", "k", ours)
    here.slack.speaker.status(thread, "", ours)
    held.set()  # only now Slack does the first request
    await until(lambda: not here.slack.speaker.busy)
    assert (lines(here), sessions(here)) == ([], [])


async def test_many_threads_stay_below_slack_s_pace_and_each_has_its_turn(here: Office) -> None:
    threads = [await called(here) for _ in range(60)]
    here.wire.calls.clear()
    told = list[float]()
    for thread in threads:
        here.slack.speaker.status(thread, "is musing…", ours)
    for _ in range(180):
        await until(lambda: not here.slack.speaker.busy)
        told += [here.clock.now()] * (len(here.wire.told(SESSION)) - len(told))
        await here.clock.advance(1)
    most = max(sum(at <= one < at + 60 for one in told) for at in told)
    assert (len(told), most < 50) == (60, True)
    asked = [args["thread_ts"] for args in here.wire.told(SESSION)]
    places = [slack_place(here.journal, thread).ts for thread in threads]
    assert asked == places, "in the order in which they asked"


async def test_a_successor_s_sign_is_left_alone(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    await begins(here, thread)

    async def lost() -> None:
        raise FencedError(thread)

    here.slack.speaker.status(thread, "", lost)
    await until(lambda: not here.slack.speaker.busy)
    assert lines(here) == ["is musing…"]
    [half] = here.journal.pending_entries(SoulTurnBegan, thread=thread)
    await here.journal.append(thread, SoulTurnEnded(outcome="completed"), key="over", closes=[half.seq])
    await here.clock.advance(YIELD_SECONDS)
    await until(lambda: (lines(here), sessions(here)) == ([], []))


async def test_the_wish_of_the_next_turn_outlives_the_refusal_of_the_last(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    await begins(here, thread)
    asked, refused = [asyncio.Event(), asyncio.Event()], asyncio.Event()

    async def last() -> None:
        asked.pop().set()
        await refused.wait()
        raise FencedError(thread)

    first, second = asked
    here.slack.speaker.status(thread, "", last)
    await until(lambda: first.is_set() and second.is_set())
    here.slack.speaker.status(thread, "is typing…", ours)
    refused.set()
    await until(lambda: not here.slack.speaker.busy)
    assert lines(here) == ["is typing…"]


@SOAK
async def test_a_thread_that_is_over_costs_nothing(here: Office) -> None:
    await show_and_clear(here)
    before = spots()
    for _ in range(5):
        await show_and_clear(here)
    assert spots() <= before
    assert not here.slack.speaker.busy


async def test_at_the_end_it_takes_away_what_is_shown(tmp_path: Path) -> None:
    wire = Wire()
    async with office(tmp_path, wire=wire) as here:
        thread = await called(here)
        await show(here, thread, "is musing…")
        wire.refuse[SESSION] = ["internal_error"] * 2
        await show(here, thread, "")
        assert sessions(here), "it waits before it tries again"
    assert [args["status"] for args in wire.told(SESSION)] == ["processing", "active", "active", "active"]


async def test_the_next_life_takes_away_what_a_killed_one_has_shown(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    await begins(here, thread)
    next_life = SlackSurface(
        access(here.url), OPEN, journal=here.journal, wake=here.woken.append, clock=here.clock
    )
    async with next_life:
        next_life.begin()
        await until(lambda: not next_life.speaker.busy)
        assert (lines(here), sessions(here)) == ([], [])
        told = len(here.wire.told(SESSION))
    async with SlackSurface(
        access(here.url), OPEN, journal=here.journal, wake=here.woken.append, clock=here.clock
    ) as third:
        third.begin()
        await until(lambda: not third.speaker.busy)
    assert len(here.wire.told(SESSION)) == told, "and it is noted that nothing is shown any more"


@SOAK
async def test_whoever_is_at_work_waits_for_nothing_that_a_killed_life_has_left(here: Office) -> None:
    threads = [await called(here) for _ in range(60)]
    for thread in threads:
        await begins(here, thread)
    one, other = threads[0], await called(here)
    place = slack_place(here.journal, other).ts
    async with SlackSurface(
        access(here.url), OPEN, journal=here.journal, wake=here.woken.append, clock=here.clock
    ) as next_life:
        next_life.begin()
        next_life.speaker.status(other, "is musing…", ours)
        next_life.speaker.status(one, "is typing…", ours)
        for _ in range(6):
            await until(lambda: not next_life.speaker.busy)
            await here.clock.advance(1)
        working = [session["thread_ts"] for session in sessions(here)]
        assert place in working
        assert sorted(lines(here)) == ["is musing…", "is typing…"]
        assert len(here.wire.told(SESSION)) < 30, "and all the others have their turn later"
        for _ in range(120):
            await until(lambda: not next_life.speaker.busy)
            await here.clock.advance(1)
        assert {args["thread_ts"] for args in here.wire.told(SESSION)} >= {
            slack_place(here.journal, thread).ts for thread in threads
        }


async def begins(here: Office, thread: str) -> None:
    began = SoulTurnBegan(execution=f"{thread}@1", inputs=(), process="p", texts="")
    await here.journal.append(thread, began, key=f"{thread}@1/began", author="soul")


async def show_and_clear(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    await show(here, thread, "")


def spots() -> int:
    """Return the number of cached statuses."""
    gc.collect()
    return sum(isinstance(one, ThreadStatus) for one in gc.get_objects())
