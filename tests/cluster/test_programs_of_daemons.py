"""Programs of the inner life with whole daemons: the one at work runs them, and they end with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg

from daemon.inner_life.programs.program_folder import wrapper_pid
from tests.attention import until
from tests.cluster.daemons import machine
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.soak import SOAK
from tests.stories.process import around
from tests.stories.ticking import do, thought, unlike

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


def bodies(log: str, kind: str) -> Sequence[Mapping[str, Any]]:
    with psycopg.connect(log, autocommit=True) as database:
        rows = database.execute("select body from entry where kind = %s order by seq", (kind,)).fetchall()
    return [json.loads(body) for (body,) in rows]


def wrappers(home: Path) -> list[int]:
    return [pid for folder in home.glob("processes/*") if (pid := wrapper_pid(folder))]


@SOAK
async def test_a_program_of_a_killed_daemon_is_offline_and_was_started_once(
    tmp_path: Path, log_url: str
) -> None:
    script = tmp_path / "program.sh"
    script.write_text(f"echo started >> {tmp_path}/tally\nexec sleep 300\n")
    alive = {
        "INNER_LIFE_ENABLED": "true",
        "INNER_LIFE_MIN_PAUSE": "1",
        "PROCESS_COMMANDS": f"it=/bin/sh {script}",
    }
    starts = thought(unlike(1), do("process.start", name="it", slots={}))
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(around(tmp_path))
        place.model.say(starts, model="claude-sonnet*")
        first = await stack.enter_async_context(machine(tmp_path, place, log_url, "first", **alive))
        second = await stack.enter_async_context(machine(tmp_path, place, log_url, "second", **alive))
        await until((tmp_path / "tally").exists)
        assert wrappers(tmp_path / "first")
        first.process.kill()
        await second.wait_until_at_work()
        await until(lambda: bodies(log_url, "process-ended"))
        [ended] = bodies(log_url, "process-ended")
        assert ended["status"] == "offline"
        await until(lambda: not wrappers(tmp_path / "first"))
    assert [one["machine"] for one in bodies(log_url, "process-placed")] == ["first"]
    assert (tmp_path / "tally").read_text() == "started\n"
