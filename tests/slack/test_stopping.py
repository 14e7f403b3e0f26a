"""Stops by reaction or Slack's Stop button."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.engine.kinds import OutageBegan
from daemon.kinds import (
    BackgroundTask,
    ButtonPress,
    ConversationOpened,
    IncomingMessage,
    SoulTurnBegan,
    SpeechPosted,
    StopRequest,
)
from daemon.slack.directory import AccessPolicy
from rehearsal.people import ALICE, BOB, CAROL, TEAM
from tests.slack.office import GENERAL, ME, RANDOM, Office, office, until
from tests.slack.signs import show
from tests.slack.voice import ours
from tests.slack.work import SIGN, answers, begins, called, ends, parks, react, session_stop, stops


@pytest.fixture
async def owned(tmp_path: Path) -> AsyncIterator[Office]:
    async with office(tmp_path, owners=frozenset({CAROL.id})) as here:
        yield here


async def test_whoever_began_it_stops_it_by_a_reaction(owned: Office) -> None:
    root = await called(owned)
    owned.wire.calls.clear()
    await react(owned, "alice", root)
    (stop,) = stops(owned)
    ts = stop.event.ts
    assert stop.event == StopRequest(user=ALICE.id, name="Alice", text="", ts=ts, by="reaction")
    assert (stop.key, stop.author) == (f"stop:{TEAM}:{GENERAL}:{ts}", ALICE.id)
    assert (stop.thread, stop.cause) == (
        owned.one(ConversationOpened).thread,
        owned.one(ConversationOpened).seq,
    )
    assert owned.woken == [stop.thread]
    assert owned.wire.told("users.info") == []


async def test_so_does_an_owner(owned: Office) -> None:
    root = await called(owned)
    await react(owned, "carol", root)
    assert [stop.event.name for stop in stops(owned)] == [CAROL.id]  # unknown until now


async def test_nobody_else_does(owned: Office) -> None:
    root = await called(owned)
    await owned.say("bob", GENERAL, "<@U0CAROL0003> look at that", root)
    await react(owned, "bob", root)
    assert stops(owned) == []
    assert owned.woken == []


@pytest.mark.parametrize("emoji", ["stop_sign", "no_entry", "octagonal_sign::skin-tone-2"])
async def test_several_signs_say_stop(here: Office, emoji: str) -> None:
    await react(here, "alice", await called(here), emoji)
    assert len(stops(here)) == 1


async def test_others_do_not(here: Office) -> None:
    root = await called(here)
    for emoji in ("raised_hand", "x", "thumbsup", "no_entry_sign", "octopus"):
        await react(here, "alice", root, emoji)
    assert stops(here) == []


async def test_a_reaction_on_what_the_soul_says_stops_it(here: Office) -> None:
    await called(here)
    ts = await answers(here, here.one(SoulTurnBegan), "One, two,")
    await react(here, "alice", ts)
    assert [stop.thread for stop in stops(here)] == [here.one(ConversationOpened).thread]


async def test_so_does_one_on_a_message_that_has_only_begun(here: Office) -> None:
    await called(here)
    thread = here.one(ConversationOpened).thread
    ts = await here.slack.speaker.start(thread, "One, two,", "k", ours)
    await here.journal.append(thread, SpeechPosted(ts=ts), key="k/started", author="soul")
    await react(here, "alice", ts)
    assert len(stops(here)) == 1


async def test_a_reaction_on_any_message_of_the_thread_stops_it(here: Office) -> None:
    root = await called(here)
    ts = await here.say("bob", GENERAL, "<@U0CAROL0003> look at that", root)
    await react(here, "alice", ts)
    assert len(stops(here)) == 1


async def test_a_reaction_elsewhere_stops_nothing(here: Office) -> None:
    await called(here)
    ours_there = await here.say("alice", RANDOM, f"{ME} hello")
    other = await here.say("alice", GENERAL, "lunch?")
    await ends(here, await begins(here, here.entries(IncomingMessage)[-1]))
    await react(here, "alice", other)
    assert stops(here) == []
    await react(here, "alice", ours_there, channel=RANDOM)
    there = here.entries(ConversationOpened)[-1].thread
    assert [stop.thread for stop in stops(here)] == [there], "she is told that nothing runs there"


async def test_the_soul_s_words_in_another_channel_are_not_those(here: Office) -> None:
    await called(here)
    ts = await answers(here, here.one(SoulTurnBegan))
    item = {"type": "message", "channel": RANDOM, "ts": ts}
    event = {"type": "reaction_added", "user": ALICE.id, "reaction": SIGN, "event_ts": "99999999999.1"}
    await here.event(event={**event, "item": item})
    assert stops(here) == []


@pytest.mark.parametrize("by", ["reaction", "button"])
async def test_a_stop_where_nothing_runs_is_written_down_to_be_told_so(here: Office, by: str) -> None:
    root = await called(here)
    await ends(here, here.one(SoulTurnBegan))
    await (react(here, "alice", root) if by == "reaction" else session_stop(here, root))
    [stop] = stops(here)
    assert (stop.event.by, here.woken) == (by, [stop.thread])


async def test_a_sign_on_what_somebody_else_said_where_nothing_runs_means_nothing(here: Office) -> None:
    root = await called(here)
    await ends(here, here.one(SoulTurnBegan))
    await react(here, "bob", root)
    assert stops(here) == []
    assert here.woken == []


async def test_what_has_not_begun_yet_is_stopped_too(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await react(here, "alice", root)
    assert len(stops(here)) == 1


async def test_a_question_that_waits_is_stopped_by_whoever_it_was_asked_for(here: Office) -> None:
    root = await called(here)
    await parks(here, here.one(SoulTurnBegan))
    await react(here, "bob", root)
    assert stops(here) == []
    await react(here, "alice", root)
    assert len(stops(here)) == 1


async def test_a_body_that_goes_on_still_belongs_to_whoever_began_it(here: Office) -> None:
    root = await called(here)
    began = here.one(SoulTurnBegan)
    asked = await parks(here, began)
    press = ButtonPress(user=BOB.id, name="Bob", text="Yes", ts="99.1", answers=asked.key, value="yes")
    taken, _ = await here.journal.append(began.thread, press, key="click:1", author=BOB.id)
    again = replace(began.event, inputs=(taken.seq,))
    await here.journal.append(began.thread, again, key=f"{again.execution}/went-on#2", author="soul")
    await react(here, "bob", root)
    assert stops(here) == []
    await react(here, "alice", root)
    assert len(stops(here)) == 1


async def test_what_waits_for_better_times_belongs_to_its_author(here: Office) -> None:
    root = await called(here)
    began = here.one(SoulTurnBegan)
    outage = OutageBegan(reason="overloaded", due=here.clock.now() + 60)
    await here.journal.append(began.thread, outage, key=f"{began.event.execution}!outage#1", author="soul")
    await react(here, "bob", root)
    assert stops(here) == []
    await react(here, "alice", root)
    assert len(stops(here)) == 1


async def test_an_afterthought_is_nothing_that_anybody_asked_for(here: Office) -> None:
    root = await called(here)
    await ends(here, here.one(SoulTurnBegan))
    thought = BackgroundTask(process="learns")
    thread = here.one(ConversationOpened).thread
    after, _ = await here.journal.append(thread, thought, key="after:1", author="core")
    await begins(here, after)
    await session_stop(here, root)
    assert stops(here) == []


async def test_slack_s_own_button_stops_it_whoever_presses_it(here: Office) -> None:
    root = await called(here)
    thread = here.one(ConversationOpened).thread
    await show(here, thread, "is counting…")
    await here.control("stop", user=BOB.id, channel=GENERAL, thread_ts=root)
    await here.acked()
    (stop,) = stops(here)
    assert (stop.event.by, stop.event.user, stop.author) == ("button", BOB.id, BOB.id)
    assert (stop.thread, here.woken) == (thread, [thread])


async def test_what_slack_stopped_in_the_middle_is_rewritten_whole(here: Office) -> None:
    root = await called(here)
    thread, speaker = here.one(ConversationOpened).thread, here.slack.speaker
    await show(here, thread, "is counting…")
    ts = await speaker.start(thread, "One,", "k", ours)
    await here.control("stop", user=ALICE.id, channel=GENERAL, thread_ts=root)
    await here.acked()
    await speaker.finish(thread, ts, "One, two, …", "k", ours)
    speaker.status(thread, "", ours)
    await until(lambda: not speaker.busy)
    assert [reply["text"] for reply in await here.replies(GENERAL, root)] == ["One, two, …"]
    assert here.world.workspace.statuses.sessions() == []


async def test_a_button_in_a_thread_without_the_soul_stops_nothing(here: Office) -> None:
    await called(here)
    await session_stop(here, "1.000001")
    assert stops(here) == []


async def test_an_owner_need_not_be_allowed_to_speak(tmp_path: Path) -> None:
    allowed = AccessPolicy(users=frozenset({ALICE.id}))
    async with office(tmp_path, allowed, owners=frozenset({CAROL.id})) as here:
        await react(here, "carol", await called(here))
        assert len(stops(here)) == 1
