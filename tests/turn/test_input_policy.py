"""Input selection for a thread's next turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daemon.engine.event import Input
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, BackgroundTask, IncomingMessage, OverheardMessage
from daemon.turn.input_policy import in_slack_order, select_inputs
from tests.clock import FakeClock

THREAD = "sess-00000001"
MESSAGE = IncomingMessage(user="U1", name="Alice", text="Hello", ts="1.0", address="dm")
AFTER = BackgroundTask(process="learning")
COMMANDS = {"unknown": "usage", "trace": "tracing", "status": "standing"}


async def taken(path: Path, *waiting: Input) -> list[Input]:
    async with Journal(path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        came = [await journal.append(THREAD, one, key=f"came:{n}") for n, one in enumerate(waiting)]
        found = select_inputs(journal, [entry for entry, _ in came], (), COMMANDS)
    assert found
    return [entry.event for entry in found.inputs]


async def test_a_message_drops_the_afterthoughts_that_wait(tmp_path: Path) -> None:
    assert await taken(tmp_path, AFTER, MESSAGE, AFTER) == [MESSAGE, AFTER, AFTER]


async def test_where_nobody_speaks_afterthoughts_are_taken_one_by_one(tmp_path: Path) -> None:
    assert await taken(tmp_path, AFTER, AFTER) == [AFTER]


async def test_what_was_changed_stands_after_what_it_was_whichever_came_first(tmp_path: Path) -> None:
    changed = OverheardMessage(user="U1", name="Alice", text="Goodbye", ts=MESSAGE.ts, note="edited")
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        await journal.append(THREAD, changed, key="changed")
        await journal.append(THREAD, MESSAGE, key="said")
        told = [entry.event.text for entry in in_slack_order(journal.thread_entries(THREAD))]
    assert told == ["Hello", "Goodbye"]


@pytest.mark.parametrize(
    ("text", "process"),
    [("!status 3", "standing"), ("!trace 3", "usage"), ("!trace me", "usage"), ("!hm", "usage")],
)
async def test_a_word_that_slack_does_not_know_goes_to_the_process_that_declares_it(
    tmp_path: Path, text: str, process: str
) -> None:
    asked = replace(MESSAGE, text=text, command="unknown")
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        entry, _ = await journal.append(THREAD, asked, key="asked")
        found = select_inputs(journal, [entry], (), COMMANDS)
    assert found
    assert found.process == process
