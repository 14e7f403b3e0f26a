"""What the inner life is folded from may be forgotten: its projections begin anew, and hold none of it."""

from __future__ import annotations

from pathlib import Path

from daemon.engine.journal import Journal
from daemon.inner.agent_log import AgentLog
from daemon.inner.process_log import ProcessLog
from daemon.inner.records import Records
from daemon.inner.said import SaidLog
from daemon.inner.views import Views
from daemon.kinds import (
    INNER,
    SOUL_KINDS,
    CommandRan,
    ProcessEnded,
    ProcessStarted,
    Ticked,
    ToSay,
)
from daemon.knowledge.places import Places
from tests.clock import FakeClock

SECRET = "marzipan"


async def test_they_begin_anew_without_what_is_forgotten(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        written = [
            CommandRan(tick=1, cmd_id="a", name="diary.add", args={"text": SECRET, "tags": [SECRET]}),
            CommandRan(tick=1, cmd_id="b", name="concepts.add", args={"name": SECRET, "description": SECRET}),
            CommandRan(tick=1, cmd_id="c", name="llm_memory.add", args={"text": SECRET}),
            CommandRan(tick=1, cmd_id="d", name="cycle.mode", args={"mode": SECRET}),
            CommandRan(tick=1, cmd_id="e", name="diary.change", args={"id": 1, "text": SECRET}),
            Ticked(tick=1, outcome="thought", why=SECRET, advice=SECRET),
            ProcessStarted(name="wc", slots={"file": SECRET}),
            ProcessEnded(process=7, name="wc", status="ok", result=SECRET),
            ToSay(text=SECRET, by=1),
        ]
        seqs = []
        for number, event in enumerate(written, 1):
            entry, _ = await journal.append(INNER, event, key=f"{INNER}@1/step#{number}", author="soul")
            seqs.append(entry.seq)
        views = Views(Places(journal))
        with Records(journal, views) as records:
            folds = [records, AgentLog(journal), ProcessLog(journal), SaidLog(journal)]
            for fold in folds:
                await fold.update()
            assert records.get(1, "") is not None
            await journal.forget(seqs, thread="soul", key="wish", why="somebody wants it")
            for fold in folds:
                await fold.update()
            assert records.get(1, "") is None
            assert not await _search(records)
        assert SECRET.encode() not in bytes_of(tmp_path)


def bytes_of(home: Path) -> bytes:
    """All that stands in the journal's files."""
    return b"".join(path.read_bytes() for path in home.glob("journal.db*"))


async def _search(records: Records) -> object:
    """What their index finds of it."""
    return await records.search("diary", SECRET, "")
