"""The page's Tools: states of servers, recorded tools, standing approvals, and changes that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from daemon.console.entry_text import JsonObject
from daemon.console.overview import PressRefusal
from daemon.engine.exceptions import JournalError
from daemon.kinds import ToolsListed
from daemon.knowledge.visibility import KnownChannels
from daemon.tools.changed_tools import ChangedTool
from daemon.tools.connected_servers import ConnectedServers
from daemon.tools.standing_approvals import NumberedApproval, numbered_approvals, take_back
from daemon.tools.tool_catalogue import OfferedTool, ToolCatalogue, WaitingTool, read_rules

NO_APPROVAL = PressRefusal(status=404, why="There is no such standing approval any more.")
NO_CHANGE = PressRefusal(
    status=409, why="This tool does not wait any more, or was changed again: look at it anew."
)
NO_OWNER = PressRefusal(status=403, why="Only an owner of the soul may do this: set OWNER_USER_IDS.")

LONGEST_DESCRIPTION = 400


class ServerConsents(Protocol):
    """Consents to servers, given in a browser."""

    async def begin(self, server: str) -> str | PressRefusal:
        """Return the address at which to consent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerToolsPage:
    """Tools as JSON for the page.

    `team` is the workspace, `name_of` returns the name of a person, `label` the words for a meaning,
    `faults` those of mcp.json. `viewer` is the owner who uses the page, or empty.
    """

    catalogue: ToolCatalogue
    servers: ConnectedServers
    consents: ServerConsents
    faults: Callable[[], Sequence[str]]
    places: KnownChannels
    team: Callable[[], str]
    name_of: Callable[[str], Awaitable[str]]
    label: Callable[[str], str]
    viewer: str

    def state_as_json(self) -> JsonObject | None:
        """Return the number of tools that wait for an owner; None if there are no tools."""
        try:
            if not (self.servers.names or self.faults()):
                return None
            return {"changes": len(self.catalogue.waiting())}
        except JournalError:  # the page is there for an unreadable journal, too
            return None

    async def overview_as_json(self) -> Mapping[str, Any]:
        lists = {entry.event.server: entry.event for entry in self.catalogue.lists()}
        approvals = [self._approval_as_json(one) for one in numbered_approvals(self.catalogue)]
        return {
            "servers": [self._server_as_json(name, lists.get(name)) for name in self.servers.names],
            "approvals": await asyncio.gather(*approvals),
            "changes": await asyncio.to_thread(_changes_as_json, self.catalogue.waiting()),
            "faults": list(self.faults()),
        }

    def _server_as_json(self, name: str, listed: ToolsListed | None) -> JsonObject:
        state = asdict(self.servers.state_of(name))
        if listed is None:
            return {**state, "tools": [], "left_out": {}}
        offered = self.catalogue.offered()
        return {
            **state,
            "tools": [self._tool_as_json(tool, offered) for tool in _as_offered(listed)],
            "left_out": {tool: self.label(why) for tool, why in listed.left_out.items()},
        }

    def _tool_as_json(self, tool: OfferedTool, offered: Mapping[str, OfferedTool]) -> JsonObject:
        return {
            "name": tool.name,
            "description": tool.tool.description[:LONGEST_DESCRIPTION],
            "reads": tool.is_read_only,
            "asks": tool.asks_first,
            "offered": tool.name in offered,
        }

    async def _approval_as_json(self, approval: NumberedApproval) -> JsonObject:
        return {
            "number": approval.number,
            "tool": approval.tool,
            "place": self.places.channel_name(self.team(), approval.channel),
            "by": approval.by,
            "name": await self.name_of(approval.by),
            "at": approval.entry.at,
        }

    async def accept(self, tool: str, digest: str) -> PressRefusal | None:
        """Allow a tool as its server defines it now; None on success. Raises JournalError."""
        if not self.viewer:
            return NO_OWNER
        waiting = [one.offered.tool.digest for one in self.catalogue.waiting() if one.offered.name == tool]
        if digest not in waiting:
            return NO_CHANGE
        await self.catalogue.accept(tool, digest, self.viewer)
        return None

    async def end_approval(self, number: int) -> PressRefusal | None:
        """Take back the standing approval of this number; None on success. Raises JournalError."""
        if not self.viewer:
            return NO_OWNER
        for approval in numbered_approvals(self.catalogue):
            if approval.number == number:
                await take_back(self.catalogue, approval, self.viewer)
                return None
        return NO_APPROVAL

    async def connect(self, server: str) -> str | PressRefusal:
        """Begin the consent to a server; return the address for the owner's browser."""
        if not self.viewer:
            return NO_OWNER
        return await self.consents.begin(server)


def _as_offered(listed: ToolsListed) -> Sequence[OfferedTool]:
    rules = read_rules(listed.rules)
    return [OfferedTool(server=listed.server, tool=tool, rules=rules, seq=0) for tool in listed.tools]


def _changes_as_json(waiting: Sequence[WaitingTool]) -> Sequence[JsonObject]:
    """Return the tools that wait, with the difference from the definition last offered."""
    return [
        {
            "tool": one.offered.name,
            "digest": one.offered.tool.digest,
            "new": one.before is None,
            "invisible": one.offered.tool.invisible,
            "difference": ChangedTool(now=one.offered.tool, before=one.before).difference(),
            "list": one.offered.seq,
        }
        for one in waiting
    ]
