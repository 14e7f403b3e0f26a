"""Rules for calls of tools."""

from __future__ import annotations

import asyncio

from daemon.tools.call_doubts import _doubts_before
from daemon.tools.linked_resources import resource_action
from daemon.tools.tool_calls import ToolCall
from daemon.tools.tool_observations import wait_unless_stopped
from daemon.tools.tool_schemas import ToolArguments
from daemon.turn.usage_limits import LimitChecker
from tests.mutants.mutant import Mutant
from tests.mutants.places import call_of, condition, returned
from tests.stories.test_tool_calls import (
    test_a_resource_is_read_if_the_server_itself_linked_it,
    test_a_stop_ends_the_wait_at_once_and_tells_the_server,
    test_the_doubt_about_a_call_outlives_its_turn_and_ends_with_a_known_outcome,
)
from tests.turn.test_tool_limits import test_calls_that_are_not_recorded_yet_count_once

TOOL_CALLS = (
    Mutant(
        "a tool that is not repeatable is called at most once",
        ToolCall._observe,
        condition(3).always(),
        "tool/kills",
    ),
    Mutant(
        "a call with an unknown outcome has to be approved again, also in another conversation",
        _doubts_before,
        returned().becomes("[]"),
        test_the_doubt_about_a_call_outlives_its_turn_and_ends_with_a_known_outcome,
    ),
    Mutant(
        "calls of tools that are not recorded yet count in their limit",
        LimitChecker.exceeded_by_tool,
        condition(3).part(2).part(1).only(1),
        test_calls_that_are_not_recorded_yet_count_once,
    ),
    Mutant(
        "a stop ends the wait for a tool",
        wait_unless_stopped,
        call_of(asyncio.wait, 2).part(1).becomes("{working}"),
        test_a_stop_ends_the_wait_at_once_and_tells_the_server,
    ),
    Mutant(
        "only what a server linked is read",
        resource_action,
        condition().part(2).dropped(),
        test_a_resource_is_read_if_the_server_itself_linked_it,
    ),
    Mutant(
        "arguments of a tool fit its schema before the intent is recorded",
        ToolArguments._take,
        condition(3).never(),
        "tool/kills",
    ),
)
