"""A clock that was ahead, and many who wait since: a sweep each second asks of each when it was set right."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import process_time

from daemon.journal.journal import Journal
from daemon.life.due import is_due
from tests.clock import FakeClock

DAY = 86_400.0
WAITS, MEANWHILE = 2_000, 10_000


async def test_they_are_asked_in_one_look_at_what_was_written_since(tmp_path: Path) -> None:
    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock) as journal:
        right = clock.now()
        clock.set_ahead(DAY)
        due = {"due": clock.now() + 60.0}
        waits = [journal.append("sess-1", "watch", due, key=f"wait {n}") for n in range(WAITS)]
        watches = [entry for entry, _ in await asyncio.gather(*waits)]
        await asyncio.gather(*(journal.append("sess-2", "log", {}, key=f"log {n}") for n in range(MEANWHILE)))
        clock.set_ahead(0)
        began = process_time()
        assert all(is_due(journal, watch, clock.now()) for watch in watches), "their threads note it"
        await journal.append("sess-2", "clock", {}, key="right")
        assert not any(is_due(journal, watch, right + 59.0) for watch in watches)
        assert all(is_due(journal, watch, right + 61.0) for watch in watches)
        assert process_time() - began < 1.0
        late, _ = await journal.append("sess-1", "watch", due, key="one more")
        assert journal.first_after(late.seq, right + 61.0) is None
        assert journal.first_after(watches[0].seq, right - 1.0) is None, "the clock was set back once more"
        assert journal.first_after(watches[-1].seq, right) == right
