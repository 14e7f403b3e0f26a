"""A journal that several daemons share over PostgreSQL."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.event import Event
from daemon.engine.exceptions import FencedError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.journal.verify import verify
from daemon.engine.journal.writer import Fence
from daemon.engine.kinds import TurnBegan, TurnResumed
from tests.attention import until
from tests.clock import FakeClock
from tests.engine.scenario import Said
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    kind = "noted"
    what: Any = None


@pytest.fixture
def url(log_url: str) -> str:
    with closing(connect(log_url, "test")) as connection:
        install_log(connection)
    return log_url


def shared(url: str, home: Path, name: str = "a") -> SharedJournal:
    folder = home / name
    folder.mkdir(exist_ok=True)
    return SharedJournal(folder / "journal.db", FakeClock(), (Noted, Said), url=url, name=name)


def rows(journal: Journal) -> list[Any]:
    return list(journal.all_rows())


async def test_what_one_daemon_writes_another_reads_in_the_same_order(url: str, tmp_path: Path) -> None:
    async with shared(url, tmp_path, "a") as a, shared(url, tmp_path, "b") as b:
        writes = []
        for n in range(100):
            writes += [
                each.append("t", Noted(what=n), key=f"{name}{n}") for name, each in (("a", a), ("b", b))
            ]
        await asyncio.gather(*writes)
        await until(lambda: b.last_seq_of_all() == a.last_seq_of_all() == 200)
        assert rows(a) == rows(b)
        assert [seq for seq, *_ in rows(a)] == [*range(1, 201)]


async def test_one_key_is_written_once_by_whoever_came_first(url: str, tmp_path: Path) -> None:
    async with shared(url, tmp_path, "a") as a, shared(url, tmp_path, "b") as b:
        first, ours = await a.append("t", Noted(what="a"), key="k")
        second, too = await b.append("t", Noted(what="b"), key="k")
        assert (ours, too, second) == (True, False, first)


async def test_a_lease_that_another_daemon_took_ends_the_attempt_everywhere(url: str, tmp_path: Path) -> None:
    async with shared(url, tmp_path, "a") as a, shared(url, tmp_path, "b") as b:
        began, _ = await a.append("t", TurnBegan(execution="t@1", inputs=()), key="began")
        await a.confirm_lease("t", began.seq)
        await b.append("t", TurnResumed(attempt=2, life=1), key="again")
        with pytest.raises(FencedError):
            await a.confirm_lease("t", began.seq)
        with pytest.raises(FencedError):
            await a.append("t", Noted(), key="late", fence=Fence(thread="t", epoch=began.seq))


async def test_names_with_nul_and_very_long_keys_come_back_as_they_were(url: str, tmp_path: Path) -> None:
    key, thread = "k\x00\x1a0" + "x" * 10_000, "t\x00u"
    async with shared(url, tmp_path, "a") as a, shared(url, tmp_path, "b") as b:
        written, _ = await a.append(thread, Noted(what="a\x00b"), key=key)
        await until(lambda: b.last_seq_of_all() == 1)
        assert b.get(key) == written


async def test_a_copy_is_made_anew_where_it_is_missing_or_of_another_log(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with shared(url, tmp_path, "a") as a:
        for n in range(600):
            a.submit(a.make_draft("t", Noted(what=n), key=f"k{n}"))
        await a.append("t", Noted(), key="last")
        expected = rows(a)
    with closing(connect(url, "test")) as connection:
        connection.execute("update soul_log set id = gen_random_uuid()")
    async with shared(url, tmp_path, "a") as again, shared(url, tmp_path, "new") as new:
        assert rows(again) == rows(new) == expected
        assert not verify(new).violations
    assert "made anew: it is a copy of another log" in caplog.text


async def test_the_log_has_the_last_word_on_a_lease(url: str, tmp_path: Path) -> None:
    asked = list[tuple[str, int]]()

    class Denying:
        async def confirm(self, thread: str, epoch: int) -> bool:
            asked.append((thread, epoch))
            return False

    async with shared(url, tmp_path, "a") as a:
        a.confirmation = Denying()
        began, _ = await a.append("t", TurnBegan(execution="t@1", inputs=()), key="began")
        with pytest.raises(FencedError):
            await a.confirm_lease("t", began.seq)
    assert asked == [("t", began.seq)]
