"""Independence of a daemon from rehearsal modules."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from daemon.app.daemon import start_daemon
from daemon.claude.client import ClaudeClient
from daemon.slack.surface import SlackSurface
from tests.soak import SOAK
from tests.stories.process import around, ended, into, ready, start_anew

TELLING = """
import atexit, json, runpy, sys

def tell():
    print(json.dumps([*sys.modules]), file=sys.stderr)

_, python, m, module, *arguments = sys.argv
sys.argv[1:] = arguments
atexit.register(tell)
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""Code that runs a module and reports the loaded modules at exit."""

HEAVY = {"mcp", "mcp_types", "jsonschema", "starlette", "uvicorn", "cryptography"}
"""Packages for tools and for the soul as a server, which take seconds to load."""


async def loaded(home: Path, *command: str, **env: str) -> set[str]:
    process = await start_anew(home, *command, within=(sys.executable, "-c", TELLING), **env)
    if not command:
        await ready(process)
        process.send_signal(signal.SIGTERM)
    status, said = await ended(process)
    assert status == 0, said
    return set(json.loads(said.splitlines()[-1]))


def rehearsed(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.partition(".")[0] == "rehearsal")


async def test_a_daemon_with_real_slack_and_real_claude_never_loads_it(tmp_path: Path) -> None:
    async with around(tmp_path) as place:
        modules = await loaded(tmp_path / "soul", **into(place.url))
        assert {start_daemon.__module__, SlackSurface.__module__, ClaudeClient.__module__} <= modules
        assert rehearsed(modules) == []
        assert not modules & HEAVY, "no tool server is configured"


@SOAK
async def test_nor_does_the_doctor(tmp_path: Path) -> None:
    async with around(tmp_path) as place:
        assert rehearsed(await loaded(tmp_path / "soul", "doctor", **into(place.url))) == []


@SOAK
async def test_it_is_loaded_where_one_of_the_two_is_not_real(tmp_path: Path) -> None:
    async with around(tmp_path) as place:
        local = await loaded(tmp_path / "soul", ANTHROPIC_BASE_URL=place.url)
    assert "rehearsal.local_slack" in rehearsed(local)
    assert not local & HEAVY, "the rehearsed server is loaded by its first call"
