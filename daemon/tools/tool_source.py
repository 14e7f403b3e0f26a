"""Tools that may be offered where a turn speaks, to those who asked, as of the turn's begin.

A server may be kept to some channels, and from guests and people of other workspaces. Whoever is not known to
belong to the workspace counts as an outsider.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from daemon.actions.action import ActionContext, ActionDefinition
from daemon.actions.tool_offer import TurnTool
from daemon.engine.event import Entry, of_kind, root_of
from daemon.engine.kinds import StepResult
from daemon.ism import ActionRefused
from daemon.kinds import INNER, ConversationOpened, IncomingMessage
from daemon.knowledge.visibility import INSIDE, PUBLIC, KnownChannels
from daemon.settings.mcp_servers import DIRECT_MESSAGES
from daemon.tools.tool_catalogue import OfferedTool, ToolCatalogue, ToolRules
from daemon.turn.turn import Turn

INSIDERS_STEP = "insiders"


class WorkspacePeople(Protocol):
    """Knowledge of who belongs to the workspace."""

    async def is_of_workspace(self, id: str) -> bool:
        """True for a full member; False for guests, people of other workspaces, and if nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedToolSource:
    """Tools of MCP servers by the owner's rules. `make` returns the action of a tool, `make_reader` the one
    that reads resources of the named servers.
    """

    catalogue: ToolCatalogue
    make: Callable[[OfferedTool], ActionDefinition]
    make_reader: Callable[[Collection[str]], ActionDefinition]
    people: WorkspacePeople
    places: KnownChannels

    def servers_at(self, seq: int) -> Sequence[str]:
        """Return the names of the servers that have tools before an entry, sorted."""
        return sorted({one.server for one in self.catalogue.offered(seq).values()})

    async def tools_of(self, turn: Turn, view: str | None = None) -> Sequence[TurnTool]:
        """Return the tools that may be offered to those who asked where the turn speaks, sorted by name.

        `view` is the conversation that a tick of the inner life sees, empty if it sees public content alone.
        """
        offered = self.catalogue.offered(turn.began_seq)
        place = turn.opened if view is None else _opened(turn, view)
        here = [one for _, one in sorted(offered.items()) if is_offered_in(one.rules, place)]
        if any(not one.rules.outsiders for one in here) and not await self._is_inside(turn, view):
            here = [one for one in here if one.rules.outsiders]
        return [self._listed(one) for one in here]

    def resource_reader(self, turn: Turn, tools: Sequence[TurnTool]) -> Sequence[ActionDefinition]:
        """Return the action that reads what the servers of these tools linked; none without tools."""
        if not tools:
            return ()
        made = self.make_reader({one.server for one in tools})
        offered = self.catalogue.offered(turn.began_seq)
        if all(offered[one.name].rules.outsiders for one in tools):
            return [made]
        return [self._for_insiders(made)]

    def _listed(self, one: OfferedTool) -> TurnTool:
        make = partial(self._guarded, one)
        return TurnTool(server=one.server, tool=one.tool, asks_first=one.asks_first, make=make)

    def _guarded(self, one: OfferedTool) -> ActionDefinition:
        """Return the tool's action; it is refused once an outsider has spoken to the same execution."""
        made = self.make(one)
        return made if one.rules.outsiders else self._for_insiders(made)

    def _for_insiders(self, made: ActionDefinition) -> ActionDefinition:
        async def perform(run: ActionContext, args: object) -> Any:
            if not await self._are_insiders(run.turn, _newcomers(run)):
                why = run.label("for insiders alone")
                run.report_finding(made.name, f"{run.label('not called')}: {why}")
                raise ActionRefused(why)
            return await made.perform(run, args)

        return replace(made, perform=perform)

    async def _is_inside(self, turn: Turn, view: str | None) -> bool:
        """True if nobody who may have steered the turn is known to be, or may be, an outsider."""
        if turn.root != INNER:
            return await self._are_insiders(turn, turn.people)
        channel = self.places.channel_of(view or PUBLIC)
        return view == PUBLIC or (
            channel is not None and channel.audience_before(turn.began_seq).audience in INSIDE
        )

    async def _are_insiders(self, turn: Turn, people: Sequence[str]) -> bool:
        """Look up once in an execution's step if all of them belong to the workspace."""
        if not people or turn.is_served:  # who holds the token of the MCP server is no guest
            return True

        async def look_up(_turn: Turn) -> StepResult:
            return StepResult(value=all([await self.people.is_of_workspace(person) for person in people]))

        found = await turn.step(INSIDERS_STEP, sorted(people), look_up, StepResult)
        return bool(found.event.value)


def is_offered_in(rules: ToolRules, place: Entry[ConversationOpened] | None) -> bool:
    """True if the rules offer a server's tools in this conversation (None: outside of all)."""
    if not rules.channels:
        return True
    if place is None:
        return False
    opened = place.event
    names = {opened.channel.casefold(), opened.place.removeprefix("#").casefold()}
    if opened.where == "dm":
        names = {DIRECT_MESSAGES, opened.channel.casefold()}
    return any(one.removeprefix("#").casefold() in names for one in rules.channels)


def _opened(turn: Turn, view: str) -> Entry[ConversationOpened] | None:
    if view == PUBLIC:
        return None
    return turn.journal.latest_of_kind(root_of(view), ConversationOpened)


def _newcomers(run: ActionContext) -> Sequence[str]:
    """Return the ids of those who have spoken to a run since its turn began, and had not asked for it.

    Only what the run remembers counts: a replay remembers the same at this point.
    """
    since = run.turn.began_seq
    seqs = [one.seq for one in run.memory.conversation if one.seq and one.seq > since]
    came = of_kind(IncomingMessage, run.turn.journal.readable_entries(seqs))
    return tuple(dict.fromkeys(one.event.user for one in came if one.event.user not in run.turn.people))
