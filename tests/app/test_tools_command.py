"""`tools`: real servers are started, and their tools listed, also beside a running daemon."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from config import Settings
from daemon.app.check import OwnerCode, check_texts
from daemon.app.discovery import PROCESSES, all_actions
from daemon.app.doctor import examine_mcp_mode, examine_tool_servers
from daemon.app.tool_configuration import read_tool_servers
from daemon.app.tools_command import list_tools
from daemon.engine.clock import SystemClock
from daemon.settings.home import project_root
from daemon.settings.mcp_file import read_mcp_file
from tests.stories.stage import Stage, staged
from tests.texts import copied
from tests.tools.connected import RAW
from tests.tools.test_server_process import FAKE_BWRAP

ECHO = {"tools": {"allow": ["echo"]}}
PYTHON = {"command": sys.executable, "args": ["-I", "-S", "-B", str(RAW)], "soul": ECHO}
TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"]}
DEAD = {"command": "false"}
LACKING = {"url": "https://x.example", "headers": {"Authorization": "Bearer ${NOT_SET}"}}


def write(path: Path, **servers: object) -> Path:
    path.write_text(json.dumps({"mcpServers": servers}))
    path.chmod(0o600)
    return path


async def told(
    capsys: pytest.CaptureFixture[str], home: Path, *, as_json: bool = False, **servers: object
) -> tuple[int, str]:
    path = write(home.parent / "servers.json", **servers)
    settings = Settings(soul_home=home, mcp_config=path)
    status = await list_tools(settings, project_root(), SystemClock(), as_json=as_json)
    return status, capsys.readouterr().out


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_each_server_is_shown_with_its_tools_and_whether_a_call_asks_first(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    trusted = {**TIME, "soul": {"trusted": True, "approval": {"convert_*": "always"}}}
    free = {**PYTHON, "soul": {**ECHO, "approval": "never"}}
    status, said = await told(capsys, home, time=trusted, raw=PYTHON, free=free)
    lines = [line.rstrip() for line in said.splitlines()]
    assert status == 0
    assert lines[0] == "time: ready, MCP 2026-07-28, 2 tools"
    assert lines[1].startswith("  asks first  time.convert_time  Convert ")
    assert lines[2].startswith("  reads       time.get_current_time  Get ")
    assert lines[3].startswith("raw: ready, MCP 2025-")
    assert lines[4] == "  asks first  raw.echo  Does echo."
    assert lines[6] == "  never asks  free.echo  Does echo."


async def test_servers_that_fail_are_named_for_scripts_too_and_the_others_work(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    odd = {**PYTHON, "autoApprove": []}
    status, said = await told(capsys, home, as_json=True, raw=odd, dead=DEAD, lacking=LACKING)
    found = json.loads(said)
    assert (status, found["ok"]) == (1, False)
    assert found["faults"] == [
        "lacking: `headers.Authorization` uses the variable `NOT_SET`, which is not set: "
        "set it in .env or the environment"
    ]
    assert found["remarks"] == ["raw: `autoApprove` is no key of the daemon, and is ignored"]
    raw, dead = found["servers"]
    assert (raw["name"], raw["state"], raw["why"]) == ("raw", "ready", "")
    assert raw["tools"] == [{"name": "raw.echo", "rule": "asks first", "description": "Does echo."}]
    assert (dead["state"], dead["tools"]) == ("away", [])
    assert dead["why"].startswith("It ended with exit status 1.")


async def test_an_isolated_server_cannot_read_the_file_of_the_servers(
    capsys: pytest.CaptureFixture[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, tool = home.parent / "asked", home.parent / "bin" / "bwrap"
    tool.parent.mkdir()
    tool.write_text(FAKE_BWRAP.format(log=asked))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    status, _ = await told(capsys, home, raw={**PYTHON, "soul": {**ECHO, "sandbox": True}})
    assert status == 0
    assert f" --ro-bind /dev/null {home.parent}/servers.json " in asked.read_text().splitlines()[-1]


async def test_without_servers_it_says_where_to_name_some(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status = await list_tools(Settings(soul_home=tmp_path), tmp_path, SystemClock(), as_json=False)
    said = capsys.readouterr().out
    assert status == 0
    assert said.startswith("No tool server is configured: docs/RUNNING.md, Tools, says how to write ")
    assert said.endswith(f" {tmp_path}/mcp.json.\n")


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


async def test_it_works_beside_a_running_daemon_whose_servers_go_on(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    write(stage.words / "mcp.json", raw=PYTHON)
    await stage.wake()
    await stage.until(lambda: stage.soul.services.tools.connected.state_of("raw").state == "ready")
    status, said = await told(capsys, stage.home, raw=PYTHON)
    assert (status, "  asks first  raw.echo" in said) == (0, True)
    assert stage.soul.services.tools.connected.state_of("raw").state == "ready"


async def test_health_has_a_line_for_each_server_and_says_what_is_wrong_with_the_file(stage: Stage) -> None:
    await stage.wake()
    assert "tools" not in (await stage.health())[1]
    path = stage.words / "mcp.json"
    write(path, raw=PYTHON, dead=DEAD)
    await stage.health()
    connected = stage.soul.services.tools.connected
    await stage.until(lambda: connected.state_of("raw").state == "ready")
    await stage.until(lambda: connected.state_of("dead").state == "away")
    write(path, other=LACKING)
    status, health = await stage.health()
    assert (status, health["ok"]) == (200, True)
    raw, dead = health["tools"]
    assert raw.startswith("raw: ready, MCP 2025-")
    assert dead.startswith("dead: away: It ended with exit status 1.")
    assert health["wrong"] == [
        "mcp.json: other: `headers.Authorization` uses the variable `NOT_SET`, which is not set: "
        "set it in .env or the environment. The last good version stays in force."
    ]
    write(path)
    assert (await stage.health())[1]["wrong"] == []
    assert "tools" not in (await stage.health())[1]


async def test_the_doctor_has_a_line_for_each_server(tmp_path: Path, home: Path) -> None:
    path = write(tmp_path / "servers.json", raw=PYTHON, dead=DEAD, lacking=LACKING)
    settings = Settings(soul_home=home, mcp_config=path)
    file = read_tool_servers(tmp_path, path)
    raw, dead = await examine_tool_servers(settings, file, SystemClock())
    assert raw.ok
    assert raw.said.startswith("raw: ready, MCP 2025-")
    assert raw.said.endswith(", 1 tool")
    assert not dead.ok
    assert dead.said.startswith("dead: away: It ended with exit status 1")


def test_the_doctor_names_a_file_in_which_others_may_read_a_key(tmp_path: Path) -> None:
    far = {"url": "https://x.example", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    near = {**PYTHON, "env": {"KEY": "hush-hush", "DEBUG": "1"}}
    path = write(tmp_path / "mcp.json", far=far, near=near)
    file = read_mcp_file(path, {"TOKEN": "hush-token"})
    assert [*examine_mcp_mode(path, file)] == []
    path.chmod(0o644)
    [found] = examine_mcp_mode(path, file)
    assert found.said == f"others may read {path}, and keys may stand in it (near): chmod go= {path}"
    path = write(tmp_path / "mcp.json", far=far)
    path.chmod(0o644)
    assert [*examine_mcp_mode(path, read_mcp_file(path, {"TOKEN": "hush-token"}))] == []


def test_check_names_each_fault_and_each_ignored_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = copied(tmp_path)
    content: dict[str, Any] = {"lacking": LACKING, "raw": {**PYTHON, "gallery": True}}
    servers = read_mcp_file(write(tmp_path / "mcp.json", **content), {"PATH": ""})
    code = OwnerCode(registry=all_actions(), processes=PROCESSES, servers=servers)
    assert check_texts(words, code) == 1
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert [(mark, said) for mark, name, said in lines if name == "mcp.json"] == [
        (
            "✗",
            "lacking: `headers.Authorization` uses the variable `NOT_SET`, which is not set: "
            "set it in .env or the environment",
        ),
        ("!", "raw: `gallery` is no key of the daemon, and is ignored"),
        ("✓", "servers that can be started: raw"),
    ]
