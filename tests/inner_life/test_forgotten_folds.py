"""Projections of the inner life after text is forgotten."""

from __future__ import annotations

from pathlib import Path

from daemon.engine.clock import DAY
from daemon.engine.journal.journal import Journal
from daemon.inner_life.notes import Notes
from daemon.inner_life.records import RECORDS, InnerRecords
from daemon.inner_life.tick_log import RESPONSES, DeliveryLog, ProgramLog, TickLog
from daemon.kinds import (
    INNER,
    SOUL_KINDS,
    AmbientMessage,
    CommandRan,
    ProgramEnded,
    ProgramStarted,
    TickLogged,
    UnpromptedMessage,
)
from daemon.knowledge.search import FullTextIndex
from daemon.knowledge.visibility import KnownChannels, Visibility, always_visible
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
            CommandRan(tick=1, cmd_id="f", name="diary.add", ok=False, text=SECRET, stays_open=True),
            TickLogged(tick=1, outcome="thought", why=SECRET, advice=SECRET),
            ProgramStarted(name="wc", slots={"file": SECRET}),
            ProgramEnded(process=8, name="wc", status="ok", result=SECRET),
            UnpromptedMessage(text=SECRET, by=1),
        ]
        seqs = []
        for number, event in enumerate(written, 1):
            entry, _ = await journal.append(INNER, event, key=f"{INNER}@1/step#{number}", author="soul")
            seqs.append(entry.seq)
        views = Visibility(KnownChannels(journal))
        with FullTextIndex(journal, [RECORDS]) as index:
            records = InnerRecords(journal, views, index)
            processes = ProgramLog(journal)
            folds = [records, TickLog(journal), processes, DeliveryLog(journal)]
            for fold in folds:
                await fold.update()
            assert records.get(1, "") is not None
            assert await _search(records)
            assert len(processes.failed(always_visible)) == 1
            assert SECRET.encode() in bytes_of(tmp_path)
            await journal.forget(seqs, thread="soul", key="wish", why="somebody wants it")
            for fold in folds:
                await fold.update()
            assert records.get(1, "") is None
            assert not await _search(records)
            assert processes.failed(always_visible) == []
        assert SECRET.encode() not in bytes_of(tmp_path)


async def test_what_was_deleted_or_hidden_stays_so_when_the_command_is_forgotten(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:

        async def ran(number: int, name: str, **args: object) -> int:
            event = CommandRan(tick=1, cmd_id="a", name=name, args=args, description=SECRET, text=SECRET)
            entry, _ = await journal.append(INNER, event, key=f"{INNER}@1/step#{number}", author="soul")
            return entry.seq

        said = AmbientMessage(user="U1", name="Bob", text="The ferry is late.", ts="1.5")
        note, _ = await journal.append("sess-1", said, key="noticed:T:C:1.5", author="U1")
        kept, gone, changed = [await ran(n, "diary.add", text=f"Day {n}.") for n in (1, 2, 3)]
        commands = [
            await ran(4, "diary.delete", ids=[gone]),
            await ran(5, "diary.change", id=changed, text=SECRET),
            await ran(6, "notes.hide", ids=[note.seq]),
            await ran(7, "notes.tag", ids=[note.seq], tags=[SECRET]),
            await ran(8, "cycle.responses", n=3),
        ]
        await journal.forget(commands, thread="soul", key="wish", why="somebody wants it")
        log, notes = TickLog(journal), Notes(journal)
        records = InnerRecords(journal, Visibility(KnownChannels(journal)), FullTextIndex(journal, [RECORDS]))
        for fold in (records, log, notes):
            await fold.update()
        assert [one.id for one in records.of("diary", "", 9)] == [kept]
        hidden = notes.get(note.seq)
        assert hidden is not None
        assert (hidden.hidden, hidden.tags) == (True, ())
        assert log.settings.responses.value == RESPONSES


async def test_the_same_notes_are_gone_when_what_cleaned_them_up_is_forgotten(tmp_path: Path) -> None:
    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:

        async def noticed(ts: str) -> int:
            said = AmbientMessage(user="U1", name="Bob", text="The ferry is late.", ts=ts)
            entry, _ = await journal.append("sess-1", said, key=f"noticed:T:C:{ts}", author="U1")
            return entry.seq

        async def ran(name: str, **args: object) -> int:
            event = CommandRan(tick=1, cmd_id="a", name=name, args=args, text=SECRET)
            entry, _ = await journal.append(INNER, event, key=f"{INNER}@1/{name}#1", author="soul")
            return entry.seq

        old = await noticed("1.5")
        await clock.advance(8 * DAY)
        new = await noticed("2.5")
        await ran("notes.mark", ids=[new])
        cleanup = await ran("cleanup.notes", older_than_days=7)
        await journal.forget([cleanup], thread="soul", key="wish", why="somebody wants it")
        notes = Notes(journal)
        await notes.update()
        assert [notes.get(id) is None for id in (old, new)] == [True, False]


def bytes_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.glob("journal*"))


async def _search(records: InnerRecords) -> object:
    return await records.search("diary", SECRET, "")
