"""Tools in the inner life: commands besides the others."""

from __future__ import annotations

from typing import Any

from tests.stories.stage import Stage
from tests.stories.ticking import do, does
from tests.stories.tool_shelf import raw_tool, server, with_tools

ALIVE: dict[str, Any] = {"inner_life_enabled": True}


async def test_a_tick_uses_a_tool_that_only_reads_and_the_next_one_sees_the_result(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [raw_tool("look_up", "Look it up.", "word")]), **ALIVE)
    seen = await does(stage, do("shelf.look_up", word="ferry"))
    assert [request.arguments for request in servers.requests] == [{"word": "ferry"}]
    assert seen.results["shelf.look_up"] == ("yes", "look_up did it")
    assert "shelf.look_up: <described>Look it up.</described>" in seen.text
    assert "shelf" not in seen.system
