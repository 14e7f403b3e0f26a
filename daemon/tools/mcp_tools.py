"""Tools of MCP servers as actions."""

from __future__ import annotations

from pydantic import BaseModel

from daemon.actions.action import ActionContext, ActionDefinition, Outcome
from daemon.ism import ActionRefused
from daemon.tools.tool_calls import ToolCall, ToolMeans
from daemon.tools.tool_catalogue import OfferedTool
from daemon.tools.tool_schemas import arguments_class


def make_tool_action(tool: OfferedTool, means: ToolMeans) -> ActionDefinition:
    """Return a tool as an action of the registry: it asks, calls and records by steps of its own."""

    async def perform(run: ActionContext, args: BaseModel | None) -> Outcome:
        arguments = args.model_dump() if args else {}
        call = ToolCall(run=run, tool=tool, arguments=arguments, means=means)
        try:
            return await call.result()
        except ActionRefused as refusal:  # whoever speaks of the run has to know
            run.report_finding(tool.name, f"{run.label('not called')}: {refusal}")
            raise

    return ActionDefinition(
        name=tool.name,
        description=tool.tool.description,
        perform=perform,
        args=arguments_class(tool.tool.input_schema),
        repeatable=tool.is_repeatable,
    )
