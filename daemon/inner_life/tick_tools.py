"""Tools of MCP servers in a tick: commands besides the others, for the tools that its view may use."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from daemon.actions.action import ActionDefinition, BaseActionContext, Outcome, bind_action
from daemon.actions.tool_offer import ListedTool, ToolOffer, ToolSource
from daemon.inner_life.commands.command import CommandResult, TickContext
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


async def tools_of_tick(
    turn: Turn, source: ToolSource | None, view: str, taken: Collection[str]
) -> TickTools:
    """Return the tools that a tick with this view may use; a family of commands in `taken` keeps its name."""
    if source is None or not turn.servers:
        return NO_TOOLS
    families = {name.partition(".")[0] for name in taken}
    listed = [one for one in await source.tools_of(turn, view) if one.server not in families]
    if not listed:
        return NO_TOOLS
    offered = ToolOffer(turn, listed).definitions()
    found = {one.name: one for one in listed}
    commands = {one.name: _as_command(one, found.get(one.name)) for one in offered}
    text = turn.prompt(TOOLS_TEXT, tools="\n".join(_lines(offered)))
    return TickTools(commands=commands, text=text)


def _lines(offered: Sequence[ActionDefinition]) -> Iterator[str]:
    for one in offered:
        if one.listed:
            schema = escape_tags(json.dumps(one.schema, ensure_ascii=False))
            described = escape_tags(one.description) if one.by_others else one.description
            yield f"- {one.name}: <described>{described}</described> args: <described>{schema}</described>"


def _as_command(definition: ActionDefinition, tool: ListedTool | None) -> ActionDefinition:
    async def perform(tick: TickContext, args: BaseModel | None) -> CommandResult:
        context = TickToolContext(tick.turn, tick.turn.memory)
        outcome = await bind_action(context, definition).handler("", [], args=args)
        return CommandResult(text=str(outcome or ""))

    return replace(definition, perform=perform, stands_for=None, effect=False, approval=False, inner=True)
