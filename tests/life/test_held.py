"""Who is held while a suspect is at work, or while others live without it: nobody who need not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.journal.journal import Journal
from daemon.life.suspects import Suspects, wake_up
from tests.clock import FakeClock

THREAD = "sess-00000001"


async def control(journal: Journal, clock: FakeClock, rank: str) -> Suspects:
    """A life that is to go on without a suspect: its thread's half turn is at something of this rank."""
    took, _ = await journal.append(THREAD, "perception", {"rank": rank}, key="first")
    path = f"{THREAD}@{took.seq}"
    life = await wake_up(journal, clock)
    body = {"took": [took.seq], "path": path, "life": life.life}
    began, _ = await journal.append(THREAD, "turn-began", body, key=f"{path}/began", author="core")
    for attempt in range(2, 4):
        life = await wake_up(journal, clock)
        again = {"attempt": attempt, "life": life.life}
        await journal.append(
            THREAD, "turn-resumed", again, key=f"{path}/attempt#{attempt}", author="core", cause=began.seq
        )
    return await wake_up(journal, clock)


@pytest.mark.parametrize(
    ("of", "came", "may"),
    [
        ("message", "", False),
        ("message", "message", False),
        ("message", "stop", True),
        ("after", "", False),
        ("after", "after", False),
        ("after", "message", True),
        ("after", "answer", True),
    ],
)
async def test_whoever_speaks_waits_for_no_afterthought(
    tmp_path: Path, of: str, came: str, may: bool
) -> None:
    """One that is suspected is ended without being run, as by a stop."""
    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock) as journal:
        suspects = await control(journal, clock, of)
        assert not suspects.may_turn(THREAD)
        if came:
            await journal.append(THREAD, "perception", {"rank": came}, key="second")
        assert suspects.may_turn(THREAD) == may
