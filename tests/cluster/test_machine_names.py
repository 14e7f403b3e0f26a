"""Two daemons of one MACHINE: the second is refused, and waits for the end of one that was killed."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.daemons import cluster_env, machine
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.process import around, ended, start

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


async def test_the_second_daemon_of_a_machine_ends_the_start_or_waits_for_a_killed_one(
    tmp_path: Path, log_url: str
) -> None:
    async with around(tmp_path) as place, machine(tmp_path, place, log_url, "oak") as first:
        second = await start(tmp_path / "second", **cluster_env(place, log_url, "oak"))
        status, said = await ended(second)
        assert status == 78
        assert "MACHINE=oak: a daemon of this name is alive" in said
        other = await start(tmp_path / "other", **cluster_env(place, log_url, "elm", AT_WORK="all"))
        assert (await ended(other))[0] == 78
        left = [*(tmp_path / "second").glob("journal.db*"), *(tmp_path / "other").glob("journal.db*")]
        assert not any(path.stat().st_size for path in left), "a copy that no forgetting would reach"
        first.process.kill()
        await first.process.wait()
        async with machine(tmp_path, place, log_url, "oak") as again:
            assert not again.stands_by
