"""Resources that servers linked in results, read by the action ReadResource; no others are read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import ConfigDict, Field

from daemon.actions.action import ActionContext, ActionDefinition, StrictArguments
from daemon.ism import ActionRefused
from daemon.kinds import ActionObserved, ToolNotCalled
from daemon.tools.tool_approvals import askers_of
from daemon.tools.tool_call import ToolCallFailed, ToolServers
from daemon.tools.tool_observations import ToolObserver, wait_unless_stopped
from daemon.turn.turn import Turn

READ_RESOURCE = "ReadResource"

DESCRIPTION = (
    "Read a resource that a tool's result links, by the address that stands there. Nothing else can be read."
)


class ReadResourceArguments(StrictArguments):
    model_config = ConfigDict(title=READ_RESOURCE)

    server: Annotated[
        str,
        Field(
            min_length=1,
            max_length=32,
            description="the server of the tool, the name before the dot",
        ),
    ]
    uri: Annotated[
        str, Field(min_length=1, max_length=2_000, description="its address, exactly as in the result")
    ]


def resource_action(servers: ToolServers, offered: Collection[str] = ()) -> ActionDefinition:
    """Return the action that reads resources of the `offered` servers."""

    async def perform(run: ActionContext, args: ReadResourceArguments) -> str:
        def look() -> ToolNotCalled | None:
            if args.server in offered and args.uri in linked_resources(run.turn, args.server):
                return None
            why = run.label("resource not linked")
            return ToolNotCalled(tool=READ_RESOURCE, code="not linked", text=why)

        refused = await run.turn.ctx.record_if_found("resource-check", look)
        if refused:
            raise ActionRefused(refused.event.text)
        observer = ToolObserver(run, READ_RESOURCE)

        async def read() -> ActionObserved:
            reading = servers.read_resource(args.server, args.uri)
            try:
                result = await wait_unless_stopped(run.turn, reading)
            except ToolCallFailed as error:
                return observer.fail("failed", str(error))
            return observer.see(result) if result else observer.fail("stopped")

        given = {"server": args.server, "uri": args.uri, "for": list(askers_of(run.turn))}
        return (await run.turn.effect_soon(READ_RESOURCE, given, read)).text

    return ActionDefinition(
        name=READ_RESOURCE,
        description=DESCRIPTION,
        perform=perform,
        args=ReadResourceArguments,
        logs_result=False,
    )


def linked_resources(turn: Turn, server: str) -> Collection[str]:
    """Return the addresses that results of a server's tools linked in this conversation and its branches."""
    return {
        link
        for entry in turn.journal.tree_entries(turn.root, ActionObserved)
        if entry.event.name.partition(".")[0] == server
        for link in entry.event.details.get("links", ())
    }
