"""mcp.json is read again when it changes; a wrong version leaves the last good one in force."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.lifetime import in_background
from daemon.settings.mcp_configuration import LOOK_EVERY, ToolServersConfiguration
from daemon.settings.mcp_file import read_mcp_file
from tests.clock import FakeClock

SH = {"command": "sh"}
UNSET = {"url": "https://x.example", "headers": {"A": "${TOKEN}"}}
LACKING = "uses the variable `TOKEN`, which is not set: set it in .env or the environment."
TOKEN_FAULT = f"mcp.json: far: `headers.A` {LACKING}"

Save = Callable[[object], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mcp.json"


@pytest.fixture
def save(path: Path) -> Save:
    def saved(servers: object) -> None:
        """Write the file as an editor does: a new one takes the place of the old one."""
        part = path.with_suffix(".part")
        part.write_text(servers if isinstance(servers, str) else json.dumps({"mcpServers": servers}))
        part.chmod(0o600)
        part.replace(path)

    return saved


@pytest.fixture
def values() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}


@pytest.fixture
def configuration(path: Path, save: Save, values: dict[str, str]) -> ToolServersConfiguration:
    save({"near": SH})
    return ToolServersConfiguration(path, lambda: read_mcp_file(path, values))


def names(configuration: ToolServersConfiguration) -> list[str]:
    return [*configuration.current.servers]


async def test_a_changed_file_comes_into_force_and_wakes_everyone(
    configuration: ToolServersConfiguration, save: Save
) -> None:
    clock = FakeClock()
    waiting = [asyncio.create_task(configuration.changed.wait()) for _ in range(2)]
    async with in_background(configuration.watch(clock.sleep)):
        await clock.advance(10 * LOOK_EVERY)
        assert not any(task.done() for task in waiting)
        save({"near": SH, "other": SH})
        await clock.advance(LOOK_EVERY)
        assert names(configuration) == ["near", "other"]
        assert all(task.done() for task in waiting)
        assert not configuration.changed.is_set()


def test_a_wrong_version_leaves_the_last_good_one_in_force(
    configuration: ToolServersConfiguration, save: Save, caplog: pytest.LogCaptureFixture
) -> None:
    good, changed = configuration.current, configuration.changed
    for _ in range(2):
        save({"other": SH, "far": UNSET})
        assert configuration.faults == [f"{TOKEN_FAULT} The last good version stays in force."]
        save('{"mcpServers": {')
        [fault] = configuration.faults
        assert fault.startswith("mcp.json: it is no JSON (")
        assert fault.endswith(" before a closing bracket. The last good version stays in force.")
    assert configuration.current is good
    assert not changed.is_set()
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert configuration.faults
    assert caplog.records == [], "each fault is logged once"
    save({"other": SH})
    assert configuration.faults == []
    assert names(configuration) == ["other"]
    assert changed.is_set()


def test_a_file_that_becomes_open_to_others_stays_as_it_was(
    configuration: ToolServersConfiguration, path: Path
) -> None:
    path.chmod(0o666)
    assert configuration.faults == [
        "mcp.json: other users may write it, and it can start programs: chmod go-w it. "
        "The last good version stays in force."
    ]
    assert names(configuration) == ["near"]
    path.chmod(0o600)
    assert configuration.faults == []


def test_a_key_of_other_clients_is_logged_once(
    path: Path, save: Save, values: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        for servers in ({"near": {**SH, "icon": ""}}, {"near": {**SH, "icon": ""}, "other": SH}):
            save(servers)
            if not caplog.records:
                configuration = ToolServersConfiguration(path, lambda: read_mcp_file(path, values))
            configuration.look()
    said = "mcp.json: near: `icon` is no key of the daemon, and is ignored."
    assert caplog.messages.count(said) == 1
    assert names(configuration) == ["near", "other"]


def test_at_the_start_the_servers_without_fault_are_in_force(
    path: Path, save: Save, values: dict[str, str]
) -> None:
    save({"near": SH, "far": UNSET})
    configuration = ToolServersConfiguration(path, lambda: read_mcp_file(path, values))
    assert names(configuration) == ["near"]
    assert configuration.faults == [f"{TOKEN_FAULT} It is left out until then."]
    save({"near": SH, "next": SH, "far": UNSET})
    configuration.look()
    assert names(configuration) == ["near", "next"], "no version was good so far"
    save("{")
    configuration.look()
    assert names(configuration) == ["near", "next"], "a typing error ends no server"


def test_a_fault_ends_when_its_variable_is_set_without_a_change_of_the_file(
    path: Path, save: Save, values: dict[str, str]
) -> None:
    save({"far": UNSET})
    configuration = ToolServersConfiguration(path, lambda: read_mcp_file(path, values))
    changed = configuration.changed
    values["TOKEN"] = "hush-token"
    assert configuration.faults == []
    assert names(configuration) == ["far"]
    assert changed.is_set()


def test_a_file_that_comes_later_is_found_and_one_that_goes_ends_its_servers(
    configuration: ToolServersConfiguration, path: Path, save: Save
) -> None:
    path.unlink()
    configuration.look()
    assert (names(configuration), configuration.faults) == ([], [])
    save({"near": SH})
    configuration.look()
    assert names(configuration) == ["near"]
