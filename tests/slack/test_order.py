"""Envelopes out of order: a reply is judged after its call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemon.kinds import IncomingMessage, OverheardMessage
from daemon.slack.early_messages import MOST_EARLY
from rehearsal.people import ALICE, BOB, CAROL, TEAM
from tests.slack.office import GENERAL, ME, RANDOM, Office, until

MESSAGE: dict[str, Any] = {"type": "message", "channel": GENERAL, "channel_type": "channel"}
ROOT, REPLY, LATER = "1789999995.000001", "1789999996.000001", "1789999997.000001"
CALL = {**MESSAGE, "user": ALICE.id, "text": f"{ME} hello", "ts": ROOT}
ANSWER = {**MESSAGE, "user": BOB.id, "text": "and me?", "ts": REPLY, "thread_ts": ROOT}


def addresses(here: Office) -> list[tuple[str, str]]:
    return [(entry.event.address, entry.event.text) for entry in here.entries(IncomingMessage)]


def unacked(here: Office) -> set[str]:
    return {one["payload"]["event"]["text"] for one in here.unacked()}


async def test_a_reply_waits_while_its_call_waits_for_names(here: Office) -> None:
    here.wire.held["users.info"] = asyncio.Event()
    alice, bob, carol = (here.client(name) for name in ("alice", "bob", "carol"))
    root = str((await alice.chat_postMessage(channel=GENERAL, text=f"{ME} hello"))["ts"])
    await bob.chat_postMessage(channel=GENERAL, text="and me?", thread_ts=root)
    await carol.chat_postMessage(channel=RANDOM, text="lunch?")
    await until(lambda: "lunch?" not in unacked(here))
    assert unacked(here) == {f"{ME} hello", "and me?"}
    here.wire.held["users.info"].set()
    await here.acked()
    assert addresses(here) == [("mention", "@Claudius hello"), ("follow-up", "and me?")]


async def test_a_reply_that_comes_before_its_call_is_answered(here: Office) -> None:
    await here.event(event=ANSWER)
    assert here.taken() == []
    await here.event(event=CALL)
    assert addresses(here) == [("mention", "@Claudius hello"), ("follow-up", "and me?")]
    assert len(set(here.woken)) == 1
    await here.event(event=ANSWER)
    await here.event(event={**ANSWER, "ts": LATER, "text": "hello?"})
    assert addresses(here)[1:] == [("follow-up", "and me?"), ("follow-up", "hello?")]


@pytest.mark.parametrize("said", [CALL, {**CALL, "channel_type": "im", "channel": "D0ALICE0001"}])
@pytest.mark.parametrize("kind", ["message_changed", "message_deleted"])
async def test_so_is_a_change_that_comes_before_what_it_changes(
    here: Office, said: dict[str, Any], kind: str
) -> None:
    new = {"user": ALICE.id, "ts": ROOT, "text": "goodbye", "edited": {"ts": LATER}}
    change = {**said, "subtype": kind, "message": new, "previous_message": said, "deleted_ts": ROOT}
    await here.event(event={**change, "ts": LATER})
    assert here.taken() == []
    await here.event(event=said)
    assert addresses(here) == [(here.one(IncomingMessage).event.address, "@Claudius hello")]
    heard = here.one(OverheardMessage).event
    assert (heard.note, heard.text) in [("edited", "goodbye"), ("deleted", "")]


async def test_what_was_said_before_the_call_stays_context(here: Office) -> None:
    await here.event(event=ANSWER)
    await here.event(event={**CALL, "ts": LATER, "thread_ts": ROOT})
    assert addresses(here) == [("mention", "@Claudius hello")]
    assert here.entries(OverheardMessage) == []


async def test_an_early_reply_to_someone_else_is_only_heard(here: Office) -> None:
    await here.event(event={**ANSWER, "text": f"<@{CAROL.id}>, you?"})
    await here.event(event={**ANSWER, "thread_ts": "1789999995.000002"})
    await here.event(event=CALL)
    assert addresses(here) == [("mention", "@Claudius hello")]
    assert here.one(OverheardMessage).key == f"heard:{TEAM}:{GENERAL}:{REPLY}"


async def test_an_early_reply_that_could_not_be_written_comes_with_its_call_again(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    await here.event(event=ANSWER)
    here.journal.lost.add(f"msg:{TEAM}:{GENERAL}:{REPLY}")
    await here.control("event", event=CALL)
    await until(lambda: bool(caplog.records))
    assert addresses(here) == [("mention", "@Claudius hello")]
    here.journal.lost.clear()
    await here.clock.advance(61)
    await here.acked()
    assert [text for _, text in addresses(here)] == ["@Claudius hello", "and me?"]


async def test_only_the_last_replies_of_other_threads_are_remembered(here: Office) -> None:
    await here.event(event=ANSWER)
    for number in range(MOST_EARLY):
        event = {**ANSWER, "ts": f"1789999996.{number:06d}", "thread_ts": "1789999994.000001"}
        await here.control("event", event=event)
    await here.acked()
    await here.event(event=CALL)
    assert addresses(here) == [("mention", "@Claudius hello")]
