"""`python -m daemon tools`: the configured tool servers, their states, protocols and tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from config import Settings
from daemon.app.check import finding_line, tool_server_findings
from daemon.app.tool_configuration import read_tool_servers
from daemon.app.tool_probe import ServerProbe, probe_servers
from daemon.engine.clock import Clock
from daemon.errors import escaped_line
from daemon.settings.mcp_file import MCP_FILE
from daemon.settings.mcp_servers import ToolServersFile
from daemon.tools.tool_catalogue import OfferedTool

NO_SERVERS = "No tool server is configured: docs/RUNNING.md, Tools, says how to write {path}."

MOST_DESCRIPTION_CHARACTERS = 70

RULE_WIDTH = 11
"""Characters of the longest rule."""


async def list_tools(settings: Settings, folder: Path, clock: Clock, *, as_json: bool) -> int:
    """Start the servers and print them; return exit status 1 if a server or the file has a fault."""
    path = settings.mcp_config or folder / MCP_FILE
    file = read_tool_servers(folder, settings.mcp_config)
    probes = await probe_servers(settings, file, clock)
    if as_json:
        print(json.dumps(_as_json(file, probes), indent=2))
    else:
        for line in _lines(file, probes, path):
            print(line)
    return int(bool(file.faults) or not all(probe.is_ready for probe in probes))


def _lines(file: ToolServersFile, probes: Sequence[ServerProbe], path: Path) -> Iterator[str]:
    for finding in tool_server_findings(file):
        if not finding.ok:
            yield finding_line(finding)
    if not (file.servers or file.faults):
        yield NO_SERVERS.format(path=path)
    for probe in probes:
        yield escaped_line(f"{probe.state.name}: {probe.line}")
        for tool in probe.tools:
            yield escaped_line(f"  {rule_of(tool):<{RULE_WIDTH}} {tool.name}  {_short(tool)}".rstrip())
        for name, why in probe.left_out.items():
            yield escaped_line(f"  {'left out':<{RULE_WIDTH}} {name}  {why}")


def rule_of(tool: OfferedTool) -> str:
    """Return whether a call asks somebody first."""
    if tool.asks_first:
        return "asks first"
    if tool.is_read_only:
        return "reads"
    return "never asks"


def _short(tool: OfferedTool) -> str:
    first = tool.tool.description.strip().partition("\n")[0]
    if len(first) > MOST_DESCRIPTION_CHARACTERS:
        return f"{first[:MOST_DESCRIPTION_CHARACTERS]}…"
    return first


def _as_json(file: ToolServersFile, probes: Sequence[ServerProbe]) -> Mapping[str, Any]:
    return {
        "ok": not file.faults and all(probe.is_ready for probe in probes),
        "faults": list(file.faults),
        "remarks": list(file.remarks),
        "servers": [_server_as_json(probe) for probe in probes],
    }


def _server_as_json(probe: ServerProbe) -> Mapping[str, Any]:
    return {
        "name": probe.state.name,
        "state": probe.state.state,
        "why": probe.state.why,
        "protocol": probe.state.protocol,
        "tools": [
            {"name": tool.name, "rule": rule_of(tool), "description": tool.tool.description}
            for tool in probe.tools
        ],
        "left_out": dict(probe.left_out),
    }
