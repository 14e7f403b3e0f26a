"""Make a tool call of the inner life, once somebody in this conversation has approved it."""

from __future__ import annotations

from daemon.actions.action import ActionDefinition, bind_action, checked_arguments
from daemon.actions.registry import ActionRegistry
from daemon.ism import ActionRefused
from daemon.kinds import ToolCallRequested, ToolErrand
from daemon.memory import WorkingMemory
from daemon.open_thought.executor import OpenThoughtContext
from daemon.process import MentalProcess, Turn
from daemon.turn.input_policy import TOOL_PROCESS
from daemon.turn.questions import (
    may_still_say,
    report_tool_call,
    report_unprompted_outcome,
    unprompted_message,
)

NO_ACTIONS = ActionRegistry(())


async def using_tool(turn: Turn, actions: ActionRegistry = NO_ACTIONS) -> WorkingMemory:
    """Ask whether the call may be made, make it, and tell the inner life what came of it."""
    errand = unprompted_message(turn)
    assert isinstance(errand, ToolErrand)
    entry = turn.journal.entry(errand.call)
    request = entry.event
    if entry.forgotten or not await may_still_say(turn):
        await report_unprompted_outcome(turn, "refused")
        return turn.memory
    context = OpenThoughtContext(turn, turn.memory)
    tool = await _find_tool(turn, actions, request)
    if tool is None:
        await report_tool_call(turn, errand, "error", context.label("tool changed"))
        return turn.memory
    try:
        result = await _call(context, tool, request)
    except ActionRefused as refused:
        await report_tool_call(turn, errand, "error", str(refused))
    else:
        await report_tool_call(turn, errand, "ok", result)
    return context.memory


async def _find_tool(
    turn: Turn, actions: ActionRegistry, request: ToolCallRequested
) -> ActionDefinition | None:
    """Return the tool as it was requested; None if it is another one by now, or not offered any more."""
    if actions.tools is None:
        return None
    for one in await actions.tools.tools_of(turn, request.view):
        if (one.name, one.tool.digest) == (request.tool, request.digest):
            return one.make()
    return None


async def _call(context: OpenThoughtContext, tool: ActionDefinition, request: ToolCallRequested) -> str:
    args = checked_arguments(tool.args, request.arguments, context.label) if tool.args else None
    return str(await bind_action(context, tool).handler("", [], args=args) or "")


PROCESS = MentalProcess(
    name=TOOL_PROCESS,
    run=using_tool,
    called="the inner life wants to use a tool that somebody has to approve",
)
