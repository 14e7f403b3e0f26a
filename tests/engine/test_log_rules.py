"""Rules of the log's own functions: without one of them, its check fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from daemon.engine.event import Event
from daemon.engine.exceptions import FencedError, JournalError, KeyConflict
from daemon.engine.journal.log_schema import APPEND
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.journal.writer import Fence
from daemon.engine.kinds import TurnBegan, TurnResumed
from tests.attention import until
from tests.clock import FakeClock
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

Check = Callable[[str, Path], Awaitable[None]]

DAEMONS = "abcd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Event):
    kind = "written"
    n: int = 0


def opened(url: str, home: Path, name: str) -> SharedJournal:
    return SharedJournal(home / f"{name}.db", FakeClock(), (Written,), url=url, name=name, machine=name)


async def all_writes_of_four_daemons_are_in_one_order(url: str, home: Path) -> None:
    async with AsyncExitStack() as stack:
        daemons = [await stack.enter_async_context(opened(url, home, name)) for name in DAEMONS]
        writes = [
            one.append("t", Written(n=n), key=f"{name}{n}")
            for n in range(60)
            for name, one in zip(DAEMONS, daemons, strict=True)
        ]
        done = await asyncio.gather(*writes, return_exceptions=True)
        assert not [error for error in done if isinstance(error, BaseException)]
        last = len(writes)
        await until(lambda: all(one.last_seq_of_all() >= last for one in daemons))
        copies = [list(one.all_rows()) for one in daemons]
    assert all(rows == copies[0] for rows in copies)
    assert [seq for seq, *_ in copies[0]] == [*range(1, last + 1)]


async def an_overtaken_attempt_writes_nothing(url: str, home: Path) -> None:
    async with opened(url, home, "a") as a, opened(url, home, "b") as b:
        began, _ = await a.append("t", TurnBegan(execution="t@1", inputs=()), key="began")
        await b.append("t", TurnResumed(attempt=2, life=1), key="again")
        fence = Fence(thread="t", epoch=began.seq)
        with pytest.raises(FencedError):
            await a.append("t", Written(), key="late", fence=fence)


async def one_key_is_written_once(url: str, home: Path) -> None:
    async with opened(url, home, "a") as a, opened(url, home, "b") as b:
        first, second = await asyncio.gather(
            a.append("t", Written(n=1), key="k"), b.append("t", Written(n=2), key="k")
        )
        assert first[0] == second[0]
        assert first[1] is not second[1]


RULES: dict[str, tuple[Check, str, str]] = {
    "one batch after the other": (
        all_writes_of_four_daemons_are_in_one_order,
        "perform pg_advisory_xact_lock",
        "perform greatest",
    ),
    "fences": (
        an_overtaken_attempt_writes_nothing,
        "if one.fence is not null and",
        "if false and",
    ),
}


@pytest.mark.parametrize(
    "check",
    [
        all_writes_of_four_daemons_are_in_one_order,
        an_overtaken_attempt_writes_nothing,
        one_key_is_written_once,
    ],
    ids=lambda check: check.__name__,
)
async def test_the_log_keeps_its_rule(check: Check, log_url: str, tmp_path: Path) -> None:
    with closing(connect(log_url, "test")) as connection:
        install_log(connection)
    await check(log_url, tmp_path)


@pytest.mark.parametrize("rule", [*RULES])
async def test_without_a_rule_its_check_fails(rule: str, log_url: str, tmp_path: Path) -> None:
    check, there, instead = RULES[rule]
    assert there in APPEND
    with closing(connect(log_url, "test")) as connection:
        install_log(connection)
        connection.execute(APPEND.replace(there, instead))
    with pytest.raises((AssertionError, KeyConflict, JournalError, pytest.fail.Exception)):
        await check(log_url, tmp_path)
