"""Tools of MCP servers in a tick: commands besides the others, for the tools that its view may use."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from daemon.actions.action import (
    ActionDefinition,
    BaseActionContext,
    Outcome,
    bind_action,
    checked_arguments,
)
from daemon.actions.tool_offer import ToolOffer, ToolSource, TurnTool
from daemon.inner_life.commands.command import CommandResult, TickContext
from daemon.inner_life.commands.message_commands import find_owner_to_ask, record_decision
from daemon.inner_life.recipients import OpenDm
from daemon.ism import ActionRefused
from daemon.kinds import INNER, ToolCallRequested, ToolErrand
from daemon.memory import Memory
from daemon.prompts.elements import escape_tags
from daemon.turn.turn import Turn

TOOLS_TEXT = "prompts/inner/tools"
"""Text before the tools that a tick may use."""


class TickToolContext(BaseActionContext):
    """Context of a tool in a tick, of which people see nothing."""

    async def is_interrupted(self) -> bool:
        return False

    def add_memories(self, memories: Iterable[Memory], *, news: bool = True) -> None:
        """Do nothing: a tick sees the result of a command, and no conversation."""

    def show_status(self, meaning: str) -> None:
        """Do nothing: nobody waits."""

    def report_finding(self, action: str, outcome: Outcome) -> None:
        """Do nothing, since the result is recorded with the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickTools:
    """Tools of a tick, as commands by name, and their text for the prompt."""

    commands: Mapping[str, ActionDefinition] = field(default_factory=dict)
    text: str = ""


NO_TOOLS = TickTools()


MOST_WAITING = 5
"""Most calls that wait for an owner at once."""


NO_OWNER = "an owner would have to agree to that, and none who may know what is in view can be asked"


ASKED = "An owner is asked. Process {process} ({tool}) ends when it was done or declined, with the result."


async def tools_of_tick(
    turn: Turn, source: ToolSource | None, view: str, taken: Collection[str], open_dm: OpenDm
) -> TickTools:
    """Return the tools that a tick with this view may use; a family of commands in `taken` keeps its name."""
    if source is None or not turn.servers:
        return NO_TOOLS
    families = {name.partition(".")[0] for name in taken}
    listed = [one for one in await source.tools_of(turn, view) if one.server not in families]
    if not listed:
        return NO_TOOLS
    offered = ToolOffer(turn, listed).definitions()
    asking = {one.name: one for one in listed if one.asks_first}
    commands = {one.name: _as_command(one, asking.get(one.name), open_dm) for one in offered}
    text = turn.prompt(TOOLS_TEXT, tools="\n".join(_lines(offered)))
    return TickTools(commands=commands, text=text)


def _lines(offered: Sequence[ActionDefinition]) -> Iterator[str]:
    for one in offered:
        if one.listed:
            schema = escape_tags(json.dumps(one.schema, ensure_ascii=False))
            described = escape_tags(one.description) if one.by_others else one.description
            yield f"- {one.name}: <described>{described}</described> args: <described>{schema}</described>"


def _as_command(definition: ActionDefinition, asks: TurnTool | None, open_dm: OpenDm) -> ActionDefinition:
    """Return a tool as a command; one that `asks` first is only requested."""

    async def perform(tick: TickContext, args: BaseModel | None) -> CommandResult:
        if asks:
            return await _request_call(tick, asks, _checked_arguments(asks, args), open_dm)
        context = TickToolContext(tick.turn, tick.turn.memory)
        outcome = await bind_action(context, definition).handler("", [], args=args)
        return CommandResult(text=str(outcome or ""))

    return replace(definition, perform=perform, stands_for=None, inner=True)


def _checked_arguments(tool: TurnTool, args: BaseModel | None) -> Mapping[str, Any]:
    """Return the arguments as JSON. Raises ActionRefused if they do not fit."""
    form = tool.make().args
    if args is None or form is None:
        return {}
    return checked_arguments(form, args.model_dump(), str).model_dump()


async def _request_call(
    tick: TickContext, tool: TurnTool, arguments: Mapping[str, Any], open_dm: OpenDm
) -> CommandResult:
    """Have an owner asked in a direct message; the call is made there, and its end is a process's end."""
    request = ToolCallRequested(
        tool=tool.name, digest=tool.tool.digest, arguments=arguments, by=tick.id, view=tick.view
    )

    async def judged() -> str:
        return _why_not(tick, request)

    await record_decision(tick, "may-request", tool.name, judged)
    theirs = await find_owner_to_ask(tick, {"tool": tool.name}, open_dm)
    if not theirs:
        raise ActionRefused(NO_OWNER)
    requested = await tick.turn.record(request)
    errand = ToolErrand(text=tool.name, by=tick.id, view=tick.view, call=requested.seq)
    await tick.turn.send("to-say", theirs, errand)
    return CommandResult(text=ASKED.format(process=requested.seq, tool=tool.name))


def _why_not(tick: TickContext, request: ToolCallRequested) -> str:
    waiting = tick.turn.journal.pending_entries(ToolCallRequested, thread=INNER)
    for one in waiting:
        if (one.event.tool, one.event.arguments) == (request.tool, request.arguments):
            return f"the same call waits for an owner already: process {one.seq}"
    if len(waiting) >= MOST_WAITING:
        return f"{len(waiting)} calls wait for an owner already: wait until one of them has ended"
    return ""
