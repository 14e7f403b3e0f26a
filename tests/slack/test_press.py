"""Button presses, recorded or ignored."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from daemon.kinds import ButtonPress, ConversationOpened
from daemon.slack.directory import AccessPolicy
from rehearsal.people import ALICE, BOB, CAROL, TEAM
from tests.slack.asking import asked, press, presses
from tests.slack.office import GENERAL, RANDOM, Office, office, until


async def test_a_press_is_a_perception_that_answers(here: Office) -> None:
    thread, _, ts = await asked(here)
    here.wire.calls.clear()
    when = await press(here, ALICE.id, ts, "Go ahead")
    (entry,) = here.entries(ButtonPress)
    assert entry.event == ButtonPress(
        answers=f"{thread}@3/ask#1",
        value="yes",
        user=ALICE.id,
        name="Alice",
        text="Go ahead",
        ts=when,
    )
    assert (entry.key, entry.author) == (f"click:{TEAM}:{GENERAL}:{when}", ALICE.id)
    assert (entry.thread, entry.cause) == (thread, here.entries(ConversationOpened)[-1].seq)
    assert here.woken == [thread]
    assert here.wire.calls == []


async def test_any_value_comes_back_as_it_was(here: Office) -> None:
    _, _, ts = await asked(here)
    await press(here, BOB.id, ts, "Later")
    assert [(one.value, one.name) for one in presses(here)] == [('"later" {}', "bob")]


async def test_each_press_counts_once_however_often_it_comes(here: Office) -> None:
    _, _, ts = await asked(here)
    answer = await here.control("press", user=ALICE.id, channel=GENERAL, ts=ts, label="No")
    await here.acked()
    await here.event(again=answer["event_id"])
    await press(here, ALICE.id, ts, "No")
    assert len(presses(here)) == 2


async def test_it_is_acked_when_it_is_on_disk(here: Office, caplog: pytest.LogCaptureFixture) -> None:
    _, _, ts = await asked(here)
    here.journal.full = True
    await here.control("press", user=ALICE.id, channel=GENERAL, ts=ts, label="No")
    await until(lambda: bool(caplog.records))
    assert here.unacked()
    assert here.woken == []
    here.journal.full = False
    here.journal.slow = asyncio.Event()
    await here.clock.advance(61)
    await here.clock.advance(0)
    assert here.unacked()
    here.journal.slow.set()
    await here.acked()
    assert len(presses(here)) == len(here.woken) == 1


async def test_who_may_not_speak_to_the_soul_cannot_press(tmp_path: Path) -> None:
    allowed = AccessPolicy(users=frozenset({ALICE.id}))
    async with office(tmp_path, allowed, owners=frozenset({CAROL.id})) as here:
        _, _, ts = await asked(here)
        await press(here, BOB.id, ts, "Go ahead")
        assert presses(here) == []
        await press(here, ALICE.id, ts, "Go ahead")
        await press(here, CAROL.id, ts, "Go ahead")
        assert [one.user for one in presses(here)] == [ALICE.id, CAROL.id]


async def test_nor_can_anybody_in_a_channel_that_is_not_allowed(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        _, _, ts = await asked(here)
    async with office(tmp_path, AccessPolicy(channels=frozenset({RANDOM}))) as here:
        await press(here, ALICE.id, ts, "Go ahead")
        assert presses(here) == []


PRESS: dict[str, Any] = {
    "type": "block_actions",
    "user": {"id": ALICE.id},
    "channel": {"id": GENERAL},
    "container": {"type": "message"},
}
ACTION: dict[str, Any] = {"action_id": "answer:0", "type": "button", "action_ts": "9.000001"}
VALUE = json.dumps({"asked": "sess-0@1/ask#1", "value": "yes"})


UNREADABLE: tuple[dict[str, Any], ...] = (
    {**PRESS, "actions": 7},
    {**PRESS, "actions": []},
    {**PRESS, "actions": [ACTION]},
    {**PRESS, "actions": [{**ACTION, "value": "yes"}]},
    {**PRESS, "actions": [{**ACTION, "value": 7}]},
    {**PRESS, "actions": [{**ACTION, "value": "[" * 100_000}]},
    {**PRESS, "actions": [{**ACTION, "value": json.dumps({"asked": 7, "value": "yes"})}]},
    {**PRESS, "actions": [{**ACTION, "value": json.dumps({"asked": "x"})}]},
    {**PRESS, "actions": [{**ACTION, "value": VALUE, "action_ts": "now"}]},
    {**PRESS, "actions": [{**ACTION, "value": VALUE}], "user": {"id": "alice>"}},
    {**PRESS, "actions": [{**ACTION, "value": VALUE}], "user": {}},
    {**PRESS, "actions": [{**ACTION, "value": VALUE}], "channel": None},
)


async def test_a_press_that_cannot_be_read_is_acked_and_warned_of(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    for payload in UNREADABLE:
        caplog.clear()
        await here.event(payload=payload)
        assert here.taken() == [], payload
        assert [record.levelno for record in caplog.records] == [logging.WARNING], payload


NOT_OURS: tuple[dict[str, Any], ...] = (
    {**PRESS, "actions": [{"action_id": "link", "url": "https://a.example"}]},
    {**PRESS, "actions": [7, {"type": "button"}]},
    {**PRESS, "actions": [{**ACTION, "value": VALUE}]},
    {**PRESS, "actions": [{**ACTION, "value": json.dumps({"asked": "\ud800@1", "value": "\ud800"})}]},
    {"type": "view_submission", "view": {}, "user": {"id": ALICE.id}},
)


async def test_what_is_no_button_of_ours_is_acked_in_silence(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    for payload in NOT_OURS:
        await here.event(payload=payload)
        assert here.taken() == [], payload
        assert caplog.records == [], payload


async def test_an_answer_from_another_channel_is_none(here: Office) -> None:
    thread, _, _ = await asked(here)
    value = json.dumps({"asked": f"{thread}@3/ask#1", "value": "yes"})
    await here.event(payload={**PRESS, "channel": {"id": RANDOM}, "actions": [{**ACTION, "value": value}]})
    assert presses(here) == []
    await here.event(payload={**PRESS, "actions": [{**ACTION, "value": value}]})
    assert len(presses(here)) == 1


async def test_a_label_and_a_value_from_outside_can_be_written(here: Office) -> None:
    thread, _, _ = await asked(here)
    value = json.dumps({"asked": f"{thread}@3/ask#1", "value": "\ud800"})
    text = {"type": "plain_text", "text": "Yes\n\u0000" + "s" * 100}
    await here.event(payload={**PRESS, "actions": [{**ACTION, "value": value, "text": text}]})
    (one,) = presses(here)
    assert (one.value, one.text) == ("\ufffd", "Yes \ufffd" + "s" * 75)
