"""Threads held during a suspect's turn, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.engine.event import Input
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import TurnResumed
from daemon.engine.retries import CrashGuard, record_worker_start
from daemon.kinds import (
    SOUL_KINDS,
    BackgroundTask,
    ButtonPress,
    IncomingMessage,
    SoulTurnBegan,
    StopRequest,
)
from tests.clock import FakeClock

THREAD = "sess-00000001"
MESSAGE = IncomingMessage(user="U1", name="Alice", text="Hello", ts="1.0", address="dm")
STOP = StopRequest(user="U1", name="Alice", text="stop", ts="1.0", address="dm")
PRESS = ButtonPress(user="U1", name="Alice", text="Yes", ts="1.0", answers="asked", value="yes")
AFTER = BackgroundTask(process="learning")


async def life(journal: Journal, clock: FakeClock) -> CrashGuard:
    return await record_worker_start(journal, clock, "worker")


async def control(journal: Journal, clock: FakeClock, of: Input) -> CrashGuard:
    took, _ = await journal.append(THREAD, of, key="first")
    path = f"{THREAD}@{took.seq}"
    first = await life(journal, clock)
    event = SoulTurnBegan(
        execution=path, inputs=(took.seq,), process="conversation", texts="", life=first.life
    )
    began, _ = await journal.append(THREAD, event, key=f"{path}/began")
    for attempt in range(2, 4):
        again = TurnResumed(attempt=attempt, life=(await life(journal, clock)).life)
        await journal.append(THREAD, again, key=f"{path}!attempt#{attempt}", cause=began.seq)
    return await life(journal, clock)


@pytest.mark.parametrize(
    ("of", "came", "may"),
    [
        (MESSAGE, None, False),
        (MESSAGE, MESSAGE, False),
        (MESSAGE, STOP, True),
        (AFTER, None, False),
        (AFTER, AFTER, False),
        (AFTER, MESSAGE, True),
        (AFTER, PRESS, True),
    ],
)
async def test_whoever_speaks_waits_for_no_afterthought(
    tmp_path: Path, of: Input, came: Input | None, may: bool
) -> None:
    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:
        suspects = await control(journal, clock, of)
        assert not suspects.may_take_turn(THREAD)
        if came:
            await journal.append(THREAD, came, key="second")
        assert suspects.may_take_turn(THREAD) == may
