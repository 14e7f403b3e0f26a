"""Servers of tools in this process, and stages whose soul has their tools."""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.tool_call import AskNow, InputNeeded, ServerState, ToolRequest, ToolResult, ToolServers
from daemon.tools.tool_catalogue import ToolCatalogue
from rehearsal.people import ALICE
from tests.source import ROOT
from tests.stories.choosing import answers, choice, turning
from tests.stories.stage import Stage, reply

OWNED: Mapping[str, Any] = {"owner_user_ids": frozenset({ALICE.id})}
ON_IT = turning("On it.", to="errands")
ERRAND = "Please do the errand."


@dataclass(kw_only=True)
class ShelfServers(ToolServers):
    """Servers that answer each call with `said`, and keep the requests."""

    said: Callable[[ToolRequest], str] = field(default=lambda request: f"{request.tool} did it")
    requests: list[ToolRequest] = field(default_factory=list)
    away: set[str] = field(default_factory=set)
    needs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Input that each call needs from people."""
    during: Callable[[], Awaitable[None]] | None = None
    """What happens during the next call."""

    def state_of(self, server: str) -> ServerState:
        return ServerState(name=server, state="away" if server in self.away else "ready")

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None = None
    ) -> ToolResult | InputNeeded:
        self.requests.append(request)
        if self.during:
            happens, self.during = self.during, None
            await happens()
        if self.needs:
            return InputNeeded(requests=self.needs, state="held")
        return ToolResult(text=self.said(request))

    async def read_resource(self, server: str, uri: str) -> ToolResult:
        raise AssertionError("nothing was linked")


def raw_tool(
    name: str, description: str = "Do something.", needs: str = "text", *, reads: bool = True
) -> dict[str, Any]:
    """Return a tool as a server lists it, with one argument."""
    schema = {
        "type": "object",
        "properties": {needs: {"type": "string", "description": f"the {needs} to use"}},
        "required": [needs],
    }
    annotations = {"readOnlyHint": reads}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": annotations}


def some_tools(count: int) -> list[dict[str, Any]]:
    return [raw_tool(f"tool_{number}", f"Do the thing number {number}.") for number in range(1, count + 1)]


async def with_tools(
    stage: Stage,
    *listed: tuple[ToolServerSettings, Sequence[Mapping[str, Any]]],
    said: Callable[[ToolRequest], str] | None = None,
    **settings: Any,
) -> ShelfServers:
    """Restart the soul with the ISM and these tools."""
    servers = ShelfServers()
    if said:
        servers.said = said
    stage.servers = servers
    take_playbooks(stage)
    await stage.sleep()
    await stage.wake(**{"ism_enabled": True, **OWNED, **settings})
    for server, tools in listed:
        await catalogue(stage).record_list(server, "2026-07-28", tools)
    await stage.settled()  # the inner life waits: a leap in time before that would end no wait
    return servers


def take_playbooks(stage: Stage) -> None:
    """Take the project's own playbooks, of which two offer all tools."""
    shutil.copytree(ROOT / "playbooks", stage.words / "playbooks", dirs_exist_ok=True)


def write_servers(folder: Path, **servers: object) -> None:
    """Write mcp.json with these servers, which only its owner may write."""
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    path.chmod(0o600)


def catalogue(stage: Stage) -> ToolCatalogue:
    return stage.soul.services.tools.catalogue


def server(name: str = "shelf", **rules: Any) -> ToolServerSettings:
    return ToolServerSettings(name=name, command="any", **{"trusted": True, **rules})


def using(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "args": arguments}


def errand(stage: Stage, *choices: dict[str, Any], end: str = "Done.") -> None:
    """Queue the answers of a conversation that turns to errands, of its chooser, and the last words."""
    answers(stage, ON_IT, *map(choice, choices), choice("Respond"), reply(end))


def choosers(stage: Stage) -> list[Mapping[str, Any]]:
    """Return the requests of choosers."""
    return [request for request in stage.model.requests if "why" in str(request.get("output_config"))]


def as_text(request: Mapping[str, Any]) -> str:
    return json.dumps(request, ensure_ascii=False)
