"""A plan in Slack: blocks and requests."""

from __future__ import annotations

import asyncio
import json

import pytest

from daemon.engine.event import digest
from daemon.engine.exceptions import FencedError
from daemon.errors import CardDeleted, CardRefused, PostFailed
from daemon.kinds import CardShown, PlanState, StopRequest
from daemon.slack.pages import make_plan_card
from rehearsal.blocks import accepted
from tests.slack.office import GENERAL, ME, Office, until
from tests.slack.voice import KEY, called, lost, ours
from tests.soak import but

PLAN = PlanState(condition="all is told", steps=(("one", "done"), ("two", "open")))


@pytest.mark.parametrize("count", but([0, 1, 48, 49, 100], [1, 48, 100]))
@pytest.mark.parametrize("text", ["x", "&" * 5_000, "<@U1> " * 900, "@channel", "\n", ""])
def test_any_plan_fits_in_what_slack_takes(count: int, text: str) -> None:
    content = make_plan_card(PlanState(condition=text, steps=((text, "cancelled"),) * count))
    assert accepted(content["blocks"])
    assert 0 < len(content["text"]) < 4_000
    shown = json.dumps(content)
    assert "<@" not in shown
    assert "@channel" not in shown
    assert (f"and {count - 48} more" in shown) is (count > 48)


async def test_a_card_is_posted_and_changed_under_a_key_of_its_own(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.show_card(thread, None, PLAN, KEY, ours)
    assert [(one.ts, one.key) for one in await speaker.own_messages(thread, 0)] == [(ts, digest(KEY))]
    assert await speaker.show_card(thread, ts, PLAN, "another", ours) == ts
    assert [(one.ts, one.key) for one in await speaker.own_messages(thread, 0)] == [(ts, digest("another"))]
    assert [reply["ts"] for reply in await here.replies(GENERAL, root)] == [ts]


async def test_a_change_that_slack_does_not_take_says_whether_it_ever_will(here: Office) -> None:
    (thread, _), speaker = await called(here), here.slack.speaker
    ts = await speaker.show_card(thread, None, PLAN, KEY, ours)
    words: dict[str, type[Exception]] = {
        "message_not_found": CardDeleted,
        "cant_update_message": CardRefused,
        "edit_window_closed": CardRefused,
        "not_in_channel": CardRefused,
        "internal_error": PostFailed,
        "503": PostFailed,
    }
    for word, error in words.items():
        here.wire.refuse["chat.update"] = [word]
        with pytest.raises(error) as raised:
            await speaker.show_card(thread, ts, PLAN, KEY, ours)
        assert type(raised.value) is error, word


async def test_a_card_waits_for_a_rate_limit_but_not_for_long(here: Office) -> None:
    (thread, _), speaker = await called(here), here.slack.speaker
    here.wire.refuse["chat.postMessage"] = ["ratelimited"]
    posting = asyncio.create_task(speaker.show_card(thread, None, PLAN, KEY, ours))
    await until(lambda: here.clock.sleepers > 0)
    await here.clock.advance(3)
    ts = await posting
    here.wire.refuse["chat.update"] = ["ratelimited"] * 2
    changing = asyncio.create_task(speaker.show_card(thread, ts, PLAN, KEY, ours))
    await until(lambda: here.clock.sleepers > 0)
    await here.clock.advance(3)
    await until(changing.done)
    with pytest.raises(PostFailed, match="ratelimited"):
        await changing


async def test_a_card_of_a_thread_that_is_another_s_is_not_touched(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    with pytest.raises(FencedError):
        await speaker.show_card(thread, None, PLAN, KEY, lost)
    assert await here.replies(GENERAL, root) == []


async def test_a_stop_sign_on_the_card_stops_its_conversation(here: Office) -> None:
    thread, root = await called(here)
    ts = await here.slack.speaker.show_card(thread, None, PLAN, KEY, ours)
    event = CardShown(ts=ts, condition=PLAN.condition, steps=PLAN.steps)
    await here.journal.append(thread, event, key=f"{KEY}!receipt", author="soul")
    other = await here.say("bob", GENERAL, f"{ME} and you?")
    await here.client("alice").reactions_add(channel=GENERAL, timestamp=ts, name="octagonal_sign")
    await here.acked()
    assert [stop.thread for stop in here.entries(StopRequest)] == [thread]
    assert other != root
