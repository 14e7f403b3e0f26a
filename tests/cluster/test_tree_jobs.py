"""Trees of threads shared by several daemons over one log."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from daemon.engine.context import Context
from daemon.engine.kinds import TurnBegan, TurnEnded, TurnResumed
from tests.attention import until
from tests.cluster.working_daemons import install_workspace, joined
from tests.engine.function_programs import say
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
def workspace(log_url: str) -> str:
    install_workspace(log_url)
    return log_url


def count_jobs(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        [(count,)] = connection.execute("select count(*) from procrastinate_jobs").fetchall()
        return int(count)


async def test_two_hundred_threads_at_once_are_shared(workspace: str, tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        await ctx.run("think", lambda: asyncio.sleep(0.05, "thought"))

    async with (
        joined(workspace, tmp_path, "oak", body) as oak,
        joined(workspace, tmp_path, "elm", body) as elm,
    ):
        await asyncio.gather(*(say(oak.journal, "go", f"t{n}") for n in range(200)))
        await until(lambda: len(elm.journal.entries_of_kind(TurnEnded)) == 200)
        began = elm.journal.entries_of_kind(TurnBegan)
        shares = Counter(entry.event.life for entry in began)
        assert len(began) == 200
        assert not elm.journal.entries_of_kind(TurnResumed)
        assert set(shares) == {oak.worker.life, elm.worker.life}
        assert max(shares.values()) <= 140, shares
        await until(lambda: count_jobs(workspace) == 0)
