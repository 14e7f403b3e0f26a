"""Many waits under a clock that was ahead: a sweep per second checks each."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import process_time

from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import ClockCorrected, WaitBegan, WaitReminder
from daemon.engine.waits import WaitScheduler
from daemon.kinds import SOUL_KINDS, RestartLog
from tests.clock import FakeClock
from tests.soak import SOAK

DAY = 86_400.0
WAITS, MEANWHILE = 2_000, 10_000


@SOAK
async def test_they_are_asked_in_one_look_at_what_was_written_since(tmp_path: Path) -> None:
    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:
        clock.set_ahead(DAY)
        event = WaitBegan(due=clock.now() + 60.0, resumes=False)
        await asyncio.gather(
            *(journal.append(f"sess-{n}", event, key=f"wait {n}") for n in range(WAITS)),
            *(journal.append("sess-x", RestartLog(text=""), key=f"log {n}") for n in range(MEANWHILE)),
        )
        clock.set_ahead(0)
        waits = WaitScheduler(
            journal, clock, lambda waiting, _: WaitReminder(answers=waiting.key), lambda *_: True
        )
        began = process_time()
        assert await waits.end_finished_waits() == []
        await clock.advance(59)
        assert await waits.end_finished_waits() == []
        assert process_time() - began < 2.0
        assert len(journal.entries_of_kind(ClockCorrected)) == WAITS
        await clock.advance(2)
        assert len(await waits.end_finished_waits()) == WAITS
        assert journal.first_time_after(journal.last_seq_of_all(), clock.now()) is None
        assert journal.first_time_after(1, clock.now() - DAY) is None, "the clock was set back once more"
