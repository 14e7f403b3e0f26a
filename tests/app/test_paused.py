"""A small write-ahead log beside a command with unread output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_file import LOG_BYTES
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, ConversationOpened, PromptFault
from daemon.settings.home import project_root
from tests.clock import FakeClock

LONG = "word " * 4_000
OPENED = ConversationOpened(
    team="T1", channel="D1", ts="1.000000", where="dm", place="a DM", audience="", user="U1", called_by=""
)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        await journal.append("sess-1", OPENED, key="opened", author="core")
        await append_long_entries(journal, "before", 100)
        yield journal


async def append_long_entries(journal: Journal, name: str, count: int) -> None:
    for number in range(count):
        await journal.append(
            "sess-1", PromptFault(name="x", text=LONG), key=f"{name}:{number}", author="core"
        )


def log_bytes(tmp_path: Path) -> int:
    return (tmp_path / "journal.db-wal").stat().st_size


@pytest.mark.parametrize("command", [("export",), ("trace", "sess-1", "--full")], ids=["export", "trace"])
async def test_a_paused_command_does_not_let_the_log_grow(
    journal: Journal, tmp_path: Path, command: tuple[str, ...]
) -> None:
    words = (sys.executable, "-m", "daemon", *command, "--journal", str(tmp_path / "journal.db"))
    paused = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, cwd=project_root(), limit=2 * len(LONG)
    )
    assert paused.stdout
    assert await paused.stdout.readline()
    try:
        last = journal.last_seq_of_all()
        await append_long_entries(journal, "meanwhile", 600)
        assert log_bytes(tmp_path) < 2 * LOG_BYTES
    finally:
        rest = await paused.stdout.read()
        await paused.wait()
    if command == ("export",):
        assert rest.count(b"\n") + 1 == last, "what is written meanwhile is not of the export's moment"


async def test_the_log_is_small_again_after_a_reader_of_a_snapshot_has_gone(
    journal: Journal, tmp_path: Path
) -> None:
    with open_reader(tmp_path / "journal.db", SOUL_KINDS) as snapshot:
        assert snapshot.last_seq_of_all()
        await append_long_entries(journal, "meanwhile", 500)
        assert log_bytes(tmp_path) > 2 * LOG_BYTES
    await append_long_entries(journal, "after", 2)
    assert log_bytes(tmp_path) <= LOG_BYTES
