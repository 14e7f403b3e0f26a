"""Tool servers of a running daemon."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.kinds import TOOLS, ToolsListed
from tests.attention import until
from tests.stories.stage import Stage, staged
from tests.stories.tool_shelf import write_servers
from tests.tools.connected import RAW, is_running

SERVER = {"command": sys.executable, "args": ["-I", "-S", "-B", str(RAW)]}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


async def test_the_daemon_starts_its_servers_records_their_tools_and_ends_them(stage: Stage) -> None:
    write_servers(stage.words, raw=SERVER)
    await stage.wake()
    journal = stage.soul.journal
    await until(lambda: journal.thread_entries(TOOLS, ToolsListed))
    [listed] = journal.thread_entries(TOOLS, ToolsListed)
    assert "raw.echo" in [tool.name for tool in listed.event.tools]
    [record] = (stage.home / "tools").glob("raw.*.running")
    pid = json.loads(record.read_text())["server"]["pid"]
    assert is_running(pid)
    await stage.sleep()
    assert not is_running(pid)
    assert not record.exists()


async def test_a_server_that_hangs_delays_neither_start_nor_end(stage: Stage) -> None:
    hanging = {**SERVER, "args": [*SERVER["args"], "mute"]}
    write_servers(stage.words, raw=SERVER, hanging=hanging)
    began = time.monotonic()
    await stage.wake()
    await until(lambda: stage.soul.journal.thread_entries(TOOLS, ToolsListed))
    assert time.monotonic() - began < 20, "its time to start is 60 s"
    assert stage.soul.services.tools.connected.state_of("hanging").state == "starting"
    began = time.monotonic()
    await stage.sleep()
    assert time.monotonic() - began < 5
