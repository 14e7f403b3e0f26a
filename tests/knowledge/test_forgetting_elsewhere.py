"""Forgetting by one of several daemons that share a log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.kinds import EntriesForgotten
from daemon.kinds import (
    SOUL_KINDS,
    ConversationOpened,
    ForgetCompleted,
    ForgetRequested,
    IncomingMessage,
    ProgramStarted,
)
from daemon.knowledge.forgetting import ERASER, ClearingElsewhere, ForgettingService, ForgottenContent
from tests.attention import until
from tests.clock import FakeClock
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.slack.app_shares import SharedApp

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    journal: Journal
    woken: list[str]
    cleared: list[str]
    """Keys of the programs whose folders were cleared."""

    async def clear(self, gone: ForgottenContent) -> None:
        self.cleared.extend(started.key for started in gone.started)


@asynccontextmanager
async def machine(url: str, home: Path, name: str, app: SharedApp) -> AsyncIterator[Machine]:
    (home / name).mkdir()
    clock, share = FakeClock(), app.share(name)
    async with SharedJournal(home / name / "journal.db", clock, SOUL_KINDS, url=url, machine=name) as journal:
        here = Machine(journal=journal, woken=[], cleared=[])
        asked = asyncio.Event()
        async with (
            ForgettingService(journal, clock, here.woken.append, asked, [here.clear], share),
            ClearingElsewhere(journal, clock, [here.clear]),
        ):
            yield here


async def ask_to_forget(journal: Journal, user: str) -> Entry[ForgetRequested]:
    """Let somebody say something, start a program, and want both to be forgotten."""
    place = ConversationOpened(
        team="T1",
        channel=f"D{user}",
        ts="1.0",
        where="dm",
        place="a DM",
        audience="dm",
        user=user,
        called_by="1.0",
    )
    opened, _ = await journal.open_thread(f"thread:{user}", place)
    said = IncomingMessage(user=user, name=user, text="Hello", ts="1.0", address="dm")
    heard, _ = await journal.append(opened.thread, said, key=f"msg:{user}", author=user)
    program = ProgramStarted(name="search", slots={"words": "Hello"})
    await journal.append(
        opened.thread, program, key=f"program:{user}", author=user, cause=heard.seq, closes=[heard.seq]
    )
    wish = ForgetRequested(person=user, seqs=())
    asked, _ = await journal.append(opened.thread, wish, key=f"forget:{user}", author=user)
    return asked


@pytest.fixture
def url(log_url: str) -> str:
    with closing(connect(log_url, "test")) as connection:
        install_log(connection)
    return log_url


async def test_one_daemon_forgets_for_all_and_each_clears_its_own_folders(url: str, tmp_path: Path) -> None:
    app = SharedApp()
    async with machine(url, tmp_path, "a", app) as a, machine(url, tmp_path, "b", app) as b:
        await until(lambda: app.holders.get(ERASER) == "a")
        asked = await ask_to_forget(b.journal, "U1")
        await until(lambda: b.journal.entries_of_kind(ForgetCompleted))
        await until(lambda: a.woken == [asked.thread])
        assert b.woken == []
        await until(lambda: "program:U1" in b.cleared)
        assert "program:U1" in a.cleared


async def test_a_wish_to_forget_outlives_the_daemon_that_had_the_role(url: str, tmp_path: Path) -> None:
    app = SharedApp()
    async with machine(url, tmp_path, "b", app) as b:
        app.holders[ERASER] = "a"  # dies before it comes to it
        app.sockets["a"] = 0
        await ask_to_forget(b.journal, "U1")
        app.lose("a")
        await until(lambda: b.journal.entries_of_kind(ForgetCompleted))


async def test_a_machine_that_is_away_holds_up_the_answer_and_no_other_wish(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app, clock, asked = SharedApp(), FakeClock(), asyncio.Event()
    async with machine(url, tmp_path, "b", app):
        pass
    app.lose("b")
    (tmp_path / "a").mkdir()
    copy = tmp_path / "a" / "journal.db"
    async with SharedJournal(copy, clock, SOUL_KINDS, url=url, machine="a") as a:
        a.report_seconds = 0.2
        async with ForgettingService(a, clock, list[str]().append, asked, (), app.share("a")):
            for user in ("U1", "U2"):
                await ask_to_forget(a, user)
            asked.set()
            while len(a.entries_of_kind(EntriesForgotten)) < 2:
                await until(lambda: clock.sleepers)
                await clock.advance(5)
            await until(lambda: clock.sleepers)
            assert list(a.uncleared_machines) == ["b"]
            assert not a.entries_of_kind(ForgetCompleted)
            async with SharedJournal(
                tmp_path / "b" / "journal.db", FakeClock(), SOUL_KINDS, url=url, machine="b"
            ):
                await until(lambda: not a.uncleared_machines)
                while len(a.entries_of_kind(ForgetCompleted)) < 2:
                    await until(lambda: clock.sleepers or len(a.entries_of_kind(ForgetCompleted)) == 2)
                    await clock.advance(5)
    assert caplog.text.count("which have not reported: b. Start them") == 1, "it is said once"
