"""Split brain: two workers on a journal, one an entry late."""

from __future__ import annotations

import asyncio
from pathlib import Path

from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import TurnEnded, WorkerStopped
from daemon.kinds import SOUL_KINDS, IncomingMessage, SoulTurnBegan
from tests.core.checks import unfinished_work
from tests.core.file_world import LOST, PhaseClock
from tests.crashes.json_lines import append_line

SAID = IncomingMessage(user="U1", name="Alice", text="Hello", ts="1.0", address="dm")
TURN = SoulTurnBegan(execution="t@1", process="conversation", texts="", inputs=(1,))


def test_what_came_when_whoever_had_its_thread_had_ended_is_left_to_the_next_start(tmp_path: Path) -> None:
    for ended, other, left in ((2, 1, False), (1, 1, True), (2, 2, True), (None, 1, True)):
        home = tmp_path / f"{ended}-{other}"
        home.mkdir()
        if other != 2:
            append_line(home / LOST, "t")
        asyncio.run(come_late(home, [other, 2], ended))
        assert bool(unfinished_work(home)) is left


async def come_late(home: Path, runs: list[int], ended: int | None) -> None:
    async with Journal(home / "journal.db", PhaseClock(0), SOUL_KINDS) as journal:
        for number, run in enumerate(runs):
            said, _ = await journal.append("t", SAID, key=f"said-{number}", author="U1")
            turn = f"t@{said.seq}"
            began = SoulTurnBegan(
                execution=turn, process="conversation", texts="", inputs=(said.seq,), life=run
            )
            entry, _ = await journal.append("t", began, key=f"{turn}/began", cause=said.seq)
            closes = [said.seq, entry.seq]
            await journal.append("t", TurnEnded(outcome="completed"), key=f"{turn}/ended", closes=closes)
        if ended:
            await journal.append("worker", WorkerStopped(life=ended), key=f"life-ended:{ended}")
        await journal.append("t", SAID, key="late", author="U1")
