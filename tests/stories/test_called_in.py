"""Earlier messages of a conversation, read once as a step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.engine.journal.writer import PendingAppend, Result
from daemon.turn.preparation import FETCH_TIMEOUT, MOST_FETCHES
from rehearsal.people import CAROL, SOUL
from tests.attention import CountedWriter
from tests.soak import SOAK
from tests.stories.choosing import answers, choice, deciding, offering, pressed, questions, turning
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply, staged
from tests.stories.test_approval import publish, publishing

LATE = 60.0
"""Delay of a late event in seconds."""


async def called(stage: Stage) -> str:
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)  # backfill would read the messages
    root = await stage.post("bob", GENERAL, "The build is red.")
    await stage.post("alice", GENERAL, f"{ME} can you look?", root)
    return root


async def test_what_was_said_before_is_fetched_after_the_turn_has_begun(stage: Stage) -> None:
    stage.model.say(reply("I see."))
    await called(stage)
    await stage.settled()
    assert "The build is red." in stage.asked()[-1]
    [began], [heard], [overheard] = map(stage.entries, ("turn-began", "heard", "overheard"))
    assert began.seq < heard.seq < overheard.seq
    assert overheard.event.seqs == (heard.seq,)
    assert overheard.event.whole


async def test_called_into_a_thread_it_first_reads_what_was_said(stage: Stage) -> None:
    ts = await stage.say("alice", GENERAL, "The printer is on fire.")
    await stage.say("bob", GENERAL, "Again?", ts)
    await stage.say("alice", GENERAL, f"{ME} any idea?", ts)
    heard = [entry.event.text for entry in stage.entries("heard")]
    assert heard == ["The printer is on fire.", "Again?"]
    asked = stage.asked()[-1]
    assert asked.index("printer is on fire") < asked.index("Again?") < asked.index("any idea?")


class Counting(CountedWriter):
    """Writer that counts other people's messages by commit."""

    commits: ClassVar[list[int]] = []

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        heard = [append for append in batch if append.row.kind == "heard"]
        if heard:
            Counting.commits.append(len(heard))
        return super().commit(batch)


async def test_a_long_thread_that_it_is_called_into_goes_to_disk_at_once(tmp_path: Path) -> None:
    Counting.commits = []
    async with staged(tmp_path) as stage:
        stage.writer = Counting
        await stage.wake()
        await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
        root = await stage.post("bob", GENERAL, "The build is red.")
        for n in range(30):
            await stage.post("bob", GENERAL, f"Test {n} fails.", root)
        stage.model.say(reply("I see."))
        await stage.say("alice", GENERAL, f"{ME} can you look?", root)
        assert sum(Counting.commits) == 31
        assert len(Counting.commits) < 4  # the first may be committed alone


async def test_a_mention_knows_what_was_said_above_it_and_so_does_the_next_one(stage: Stage) -> None:
    await stage.say("bob", GENERAL, "The build is red.")
    stage.model.say(reply("A test fails."))
    await stage.say("alice", GENERAL, f"{ME} why?")
    assert "The build is red." in stage.asked()[-1]
    await stage.say("bob", GENERAL, f"{ME} which one?")
    asked = stage.asked()[-1]
    told = ("The build is red.", "@Claudius why?", "A test fails.", "which one?")
    places = [asked.index(words) for words in told]
    assert places == sorted(places)
    await stage.sleep()
    await stage.wake()
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    await stage.settled()
    assert asked.count("The build is red.") == 1
    assert len(stage.model.requests) == 2
    assert not verify_journal(stage.soul.journal).violations
    assert not stage.pending("input", "turn-began")


@pytest.mark.parametrize("stops", [False, True])
async def test_what_was_said_before_is_known_while_the_call_waits_for_an_answer(
    dormant: Stage, stops: bool
) -> None:
    stage = dormant
    offering(stage, publishing([]))
    await deciding(stage, owner_user_ids=frozenset({CAROL.id}))
    answers(stage, turning(), publish())
    root = await called(stage)
    await stage.settled()
    assert questions(stage)
    if stops:
        await stage.say("alice", GENERAL, f"{ME} stop", root)
        assert not questions(stage)
    answers(stage, reply("The build."))
    await stage.say("bob", GENERAL, f"{ME} what did I say is red?", root)
    asked = stage.asked()[-1]
    told = ("The build is red.", "can you look?", "what did I say is red?")
    places = [asked.index(words) for words in told]
    assert places == sorted(places)
    if not stops:
        answers(stage, choice("Respond"), reply("It is out."))
        await pressed(stage, "carol", "Approve")
    answers(stage, reply("Gladly."))
    await stage.say("bob", GENERAL, f"{ME} thank you", root)
    assert stage.asked()[-1].count("The build is red.") == 1, "it is kept once"
    assert not verify_journal(stage.soul.journal).violations


async def test_what_was_answered_only_after_the_call_does_not_stand_above_it(stage: Stage) -> None:
    answers, shows = asyncio.Event(), asyncio.Event()
    stage.model.say(reply("A test fails."), until=answers)
    await stage.post("alice", GENERAL, f"{ME} why?")
    await stage.until(lambda: stage.model.requests)
    stage.wire.held["conversations.history"] = shows
    before = len(stage.wire.told("conversations.history"))
    await stage.post("bob", GENERAL, f"{ME} which one?")
    await stage.until(lambda: len(stage.wire.told("conversations.history")) > before)
    answers.set()
    await stage.until(lambda: stage.entries("spoken"))
    shows.set()
    await stage.settled()
    asked = stage.asked()[-1]
    assert "@Claudius why?" in asked
    assert "A test fails." not in asked


async def test_what_a_mention_took_is_not_taken_for_known(stage: Stage) -> None:
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    await stage.sleep()
    missed = await stage.post("bob", GENERAL, f"{ME} which day is it?")
    with stage.world.workspace.db as db:  # Slack gives up on it
        db.execute("update delivery set acked = 0 where acked is null and app = ?", (SOUL.id,))
    stage.wire.held["users.conversations"] = asyncio.Event()
    await stage.wake()
    await stage.say("alice", GENERAL, f"{ME} can you hear us?")
    assert "which day is it?" in stage.asked()[-1]
    assert await stage.answers(GENERAL, missed) == []
    stage.wire.held["users.conversations"].set()
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    await stage.settled()
    assert len(await stage.answers(GENERAL, missed)) == 1


async def called_twice(stage: Stage) -> str:
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    stage.world.faults.switch("delay", seconds=LATE, times=2.0)
    root = await stage.post("bob", GENERAL, f"{ME} which day is it?")
    await stage.post("alice", GENERAL, f"{ME} and what time?", root)
    return root


async def test_a_call_whose_event_is_late_is_answered_once_by_the_turn_that_finds_it(stage: Stage) -> None:
    stage.model.say(reply("Monday, noon."))
    root = await called_twice(stage)
    await stage.until(lambda: stage.entries("turn-ended"))
    await stage.clock.advance(LATE)
    await stage.settled()
    assert await stage.answers(GENERAL, root) == ["Monday, noon."]
    asked = stage.asked()[0]
    assert asked.index("which day is it?") < asked.index("and what time?")
    [ended] = stage.entries("turn-ended")
    assert {entry.seq for entry in stage.entries("message")} <= {*ended.closes}
    await stage.say("alice", GENERAL, f"{ME} thank you", root)
    assert stage.asked()[-1].count("which day is it?") == 1
    assert not verify_journal(stage.soul.journal).violations


async def test_stopped_while_it_answers_a_late_call_too_it_answers_both_once(stage: Stage) -> None:
    stage.model.say(reply("Monday, noon."), until=asyncio.Event())
    root = await called_twice(stage)
    await stage.until(lambda: stage.model.requests)
    await stage.sleep()
    stage.model.say(reply("Monday, noon."))
    await stage.wake()
    await stage.until(lambda: stage.entries("turn-ended"))
    await stage.clock.advance(LATE)
    await stage.settled()
    assert await stage.answers(GENERAL, root) == ["Monday, noon."]
    assert stage.asked()[0] == stage.asked()[1]
    assert not verify_journal(stage.soul.journal).violations


async def test_what_answers_a_late_call_too_goes_on_after_a_question_as_it_was(dormant: Stage) -> None:
    stage = dormant
    offering(stage, publishing([]))
    await deciding(stage, owner_user_ids=frozenset({CAROL.id}))
    answers(stage, turning(), publish())
    root = await called_twice(stage)
    await stage.until(lambda: questions(stage))
    await stage.clock.advance(LATE)
    await stage.settled()
    answers(stage, choice("Respond"), reply("It is out."))
    await pressed(stage, "carol", "Approve")
    assert not stage.entries("restarted")
    assert (await stage.answers(GENERAL, root))[-1] == "It is out."
    await stage.say("alice", GENERAL, f"{ME} thank you", root)
    asked = stage.asked()[-1]
    assert asked.count("which day is it?") == 1
    assert asked.index("which day is it?") < asked.index("and what time?")
    assert not verify_journal(stage.soul.journal).violations


async def test_of_a_dm_whose_first_event_is_late_each_message_is_answered_once(stage: Stage) -> None:
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    stage.world.faults.switch("delay", seconds=LATE, times=1.0)
    root = await stage.post("alice", ALICE, "which day is it?")
    await stage.post("alice", ALICE, "and what time?", root)
    await stage.until(lambda: stage.entries("turn-ended"))
    await stage.clock.advance(LATE)
    await stage.settled()
    assert len(await stage.answers(ALICE, root)) == 1
    assert stage.asked()[-1].count("which day is it?") == 1


@SOAK
async def test_where_slack_does_not_show_it_the_next_turn_fetches_it(stage: Stage) -> None:
    stage.wire.refuse["conversations.replies"] = ["internal_error"]
    root = await called(stage)
    await stage.settled()
    assert "The build is red." not in stage.asked()[-1]
    assert len(await stage.answers(GENERAL, root)) == 1
    await stage.say("alice", GENERAL, f"{ME} and now?", root)
    assert "The build is red." in stage.asked()[-1]
    await stage.say("alice", GENERAL, f"{ME} thank you", root)
    assert stage.asked()[-1].count("The build is red.") == 1
    assert [entry.event.whole for entry in stage.entries("overheard")] == [False, True]


@SOAK
async def test_where_slack_never_shows_it_nobody_asks_for_ever(stage: Stage) -> None:
    stage.wire.refuse["conversations.replies"] = ["missing_scope"] * 20
    root = await called(stage)
    await stage.settled()
    for number in range(MOST_FETCHES + 1):
        await stage.say("alice", GENERAL, f"{ME} hello {number}", root)
    assert len(stage.entries("overheard")) == MOST_FETCHES


@SOAK
async def test_a_stop_is_heard_while_slack_takes_its_time(stage: Stage) -> None:
    stage.wire.held["conversations.replies"] = asyncio.Event()
    root = await called(stage)
    await stage.until(lambda: stage.wire.told("conversations.replies"))
    assert stage.entries("turn-began"), "an attempt that counts"
    await stage.post("alice", GENERAL, f"{ME} stop", root)
    await stage.settled()
    assert not stage.model.requests
    stage.wire.held.clear()


async def test_an_answer_does_not_wait_for_it_for_long(stage: Stage) -> None:
    stage.wire.held["conversations.replies"] = asyncio.Event()
    root = await called(stage)
    await stage.until(lambda: stage.wire.told("conversations.replies"))
    await stage.clock.advance(FETCH_TIMEOUT + 1)
    await stage.settled()
    stage.wire.held.clear()
    assert len(await stage.answers(GENERAL, root)) == 1


@SOAK
async def test_killed_while_it_fetches_it_fetches_again(stage: Stage) -> None:
    stage.wire.held["conversations.replies"] = asyncio.Event()
    root = await called(stage)
    await stage.until(lambda: stage.wire.told("conversations.replies"))
    await stage.sleep()
    stage.wire.held.clear()
    await stage.wake()
    await stage.settled()
    assert "The build is red." in stage.asked()[-1]
    assert len(await stage.answers(GENERAL, root)) == 1
