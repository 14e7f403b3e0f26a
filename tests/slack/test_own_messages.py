"""Own messages that catch-up knows, which prove nothing about earlier ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.engine.event import digest
from daemon.kinds import (
    ANSWERED,
    OWN_WORDS,
    ConversationOpened,
    IncomingMessage,
    OverheardMessage,
    SpeechBegan,
    SpeechFinished,
)
from rehearsal.people import SOUL
from tests.clock import FakeClock
from tests.slack.absence import addresses, before, later, post
from tests.slack.office import GENERAL, ME, Office

KEY = "sess-1@1/say#1"
BOTH = [("mention", "@Claudius hello"), ("mention", "@Claudius and me?")]


def marked(**payload: str) -> dict[str, Any]:
    return {"metadata": {"event_type": "soul_speech", "event_payload": payload}}


async def say(here: Office, root: str, **more: Any) -> str:
    client = here.client(SOUL.bot_token)
    return str((await client.chat_postMessage(channel=GENERAL, thread_ts=root, text="Hi.", **more))["ts"])


async def append(here: Office, event: SpeechBegan | SpeechFinished, key: str) -> None:
    thread = here.entries(ConversationOpened)[-1].thread
    closes = [entry.seq for entry in here.entries(SpeechBegan)] if isinstance(event, SpeechFinished) else []
    await here.journal.append(thread, event, key=key, author="soul", closes=closes)


@pytest.mark.parametrize(
    "mark", [marked(key=digest(KEY), journal="j", answers=""), marked(key=digest(KEY)), {}]
)
async def test_a_message_whose_beginning_is_recorded_is_known(tmp_path: Path, mark: dict[str, Any]) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} hello")
        await append(here, SpeechBegan(), KEY)
        await here.slack.stop()
        await post(here, "bob", GENERAL, f"{ME} and me?", root)
        await say(here, root, **mark)
    async with later(tmp_path, clock) as here:
        assert addresses(here) == BOTH
        assert here.entries(OverheardMessage) == []


async def test_a_message_whose_ts_is_recorded_is_known(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} hello")
        await append(here, SpeechBegan(), KEY)
        await here.slack.stop()
        await post(here, "bob", GENERAL, f"{ME} and me?", root)
        ts = await say(here, root)
        await append(here, SpeechFinished(ts=ts, text="Hi."), f"{KEY}!receipt")
    async with later(tmp_path, clock) as here:
        assert addresses(here) == BOTH
        assert here.entries(OverheardMessage) == []


async def test_a_key_that_a_restored_journal_uses_again_makes_nothing_known(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} hello")
        here.world.faults.switch("delay", seconds=3_600)
        lost = await post(here, "bob", GENERAL, f"{ME} and me?", root)
        await say(here, root, **marked(key=digest(KEY), journal="j", answers=lost))
        here.lose()
        here.world.faults.all_off()
        await here.say("alice", GENERAL, "and now?", root)
        await append(here, SpeechBegan(), KEY)
    async with later(tmp_path, clock) as here:
        assert [entry.event.note for entry in here.entries(OverheardMessage)] == [ANSWERED, OWN_WORDS]


async def test_what_was_read_above_a_call_is_not_told_again(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        root = await post(here, "alice", GENERAL, f"{ME} hello")
        await say(here, root, **marked(key="k", journal="j", answers=root))
    async with later(tmp_path, clock) as here:
        assert [entry.event.note for entry in here.entries(OverheardMessage)] == [ANSWERED, OWN_WORDS]
        await here.say("bob", GENERAL, f"{ME} and me?", root)
        assert len(here.entries(IncomingMessage)) == 1
