"""Rules for calls of tools."""

from __future__ import annotations

from daemon.tools.tool_calls import ToolCall
from daemon.tools.tool_schemas import ToolArguments
from tests.mutants.mutant import Mutant
from tests.mutants.places import condition

TOOL_CALLS = (
    Mutant(
        "a tool that is not repeatable is called at most once",
        ToolCall._observe,
        condition(3).always(),
        "tool/kills",
    ),
    Mutant(
        "arguments of a tool fit its schema before the intent is recorded",
        ToolArguments._take,
        condition(3).never(),
        "tool/kills",
    ),
)
