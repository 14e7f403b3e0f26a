"""Tools in the inner life: commands besides the others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemon.inner_life.tick_tools import MOST_WAITING, NO_OWNER
from rehearsal.people import ALICE
from tests.attention import until
from tests.stories.choosing import press, pressed, questions
from tests.stories.stage import ALICE as ALICE_DM
from tests.stories.stage import BOB, Stage, reply
from tests.stories.test_forgetting import traces, until_told
from tests.stories.ticking import PAUSE, do, does, thinks, tick
from tests.stories.tool_shelf import OWNED, catalogue, raw_tool, server, some_tools, with_tools

ALIVE: dict[str, Any] = {"inner_life_enabled": True}


async def press_in_dm(stage: Stage, label: str) -> None:
    """Press a button of the newest question in Alice's direct messages, and wait until it is recorded."""
    *_, spoken = stage.soul.journal.entries_at(questions(stage)[-1].event.said)
    before = len(stage.entries("answer"))
    await press(stage, "alice", ALICE_DM, spoken.event.ts, label)
    await stage.until(lambda: len(stage.entries("answer")) > before)


@pytest.mark.parametrize("name", ["look_up", "add"])
async def test_a_tick_uses_a_tool_that_only_reads_and_the_next_one_sees_the_result(
    stage: Stage, name: str
) -> None:
    servers = await with_tools(stage, (server(), [raw_tool(name, "Look it up.", "word")]), **ALIVE)
    seen = await does(stage, do(f"shelf.{name}", word="ferry"))
    assert [request.arguments for request in servers.requests] == [{"word": "ferry"}]
    assert seen.results[f"shelf.{name}"] == ("yes", f"{name} did it")
    assert f"shelf.{name}: <described>Look it up.</described>" in seen.text
    assert "shelf" not in seen.system


async def test_a_tool_that_asks_first_is_called_once_an_owner_has_approved_it(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [raw_tool("order", needs="what", reads=False)]), **ALIVE)
    seen = await does(stage, do("shelf.order", what="walnuts"))
    assert not servers.requests
    done, said = seen.results["shelf.order"]
    assert done == "yes"
    assert "An owner is asked." in said
    [question] = questions(stage)
    assert question.event.to == (ALICE.id,)
    await pressed(stage, "alice", "Approve")
    assert [request.arguments for request in servers.requests] == [{"what": "walnuts"}]
    thinks(stage, "I see.")
    after = await tick(stage)
    assert 'name="shelf.order" status="ok"' in after.context(2)
    assert "order did it" in after.context(2)


async def test_a_declined_call_is_not_made_and_the_inner_life_hears_of_it(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [raw_tool("order", needs="what", reads=False)]), **ALIVE)
    await does(stage, do("shelf.order", what="walnuts"), do("shelf.order", what="walnuts"))
    assert len(stage.entries("tool-wanted")) == 1, "the same call waits already"
    await pressed(stage, "alice", "Decline")
    assert not servers.requests
    [ended] = stage.entries("process-ended")
    assert ended.event.status == "error"
    assert not stage.pending("tool-wanted")


async def test_of_many_tools_a_tick_finds_those_that_fit(stage: Stage) -> None:
    tools = [*some_tools(150), raw_tool("tide", "Say when the tide is high.", "day")]
    servers = await with_tools(stage, (server(), tools), **ALIVE)
    seen = await does(stage, do("FindTool", query="tide"))
    assert "shelf.tide: Say when the tide is high." in seen.results["FindTool"][1]
    assert "tool_17" not in seen.text
    seen = await does(stage, do("shelf.tide", day="Monday"), do("shelf.tide", dag="Monday"))
    assert [request.arguments for request in servers.requests] == [{"day": "Monday"}]
    assert "shelf.tide" in seen.results


async def test_a_server_named_like_a_family_of_commands_has_no_commands(stage: Stage) -> None:
    servers = await with_tools(stage, (server("diary"), [raw_tool("add"), raw_tool("peek")]), **ALIVE)
    seen = await does(stage, do("diary.peek", text="x"), do("diary.add", text="Kept."))
    assert not servers.requests
    assert "diary.peek:" not in seen.text.replace("1 diary.peek:", "")
    assert seen.results["diary.add"][0] == "yes"


async def test_a_call_that_needs_input_asks_nobody_in_the_inner_life(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [raw_tool("look_up", needs="word")]), **ALIVE)
    form = {"message": "Which one?", "requestedSchema": {"type": "object", "properties": {}}}
    servers.needs = {"which": {"method": "elicitation/create", "params": form}}
    seen = await does(stage, do("shelf.look_up", word="ferry"))
    assert "shelf.look_up" in seen.results
    assert not stage.entries("asked")
    assert not stage.undone()


async def test_what_the_owner_may_not_know_is_not_shown_to_the_owner_for_approval(stage: Stage) -> None:
    tools = [raw_tool("order", needs="what", reads=False)]
    servers = await with_tools(stage, (server(), tools), **ALIVE, inner_life_reads_dms=True)
    stage.model.say(reply("I see."))
    await stage.say("bob", BOB, "My bees are behind the windmill.")
    thinks(stage, "Bob has bees.")
    seen = await tick(stage)
    assert "behind the windmill" in seen.text
    after = await does(stage, do("shelf.order", what="honey from behind the windmill"))
    assert after.results["shelf.order"] == ("no", NO_OWNER)
    assert not servers.requests
    assert not questions(stage)


async def hang() -> None:
    await asyncio.Event().wait()


async def test_a_kill_during_a_call_is_an_unknown_outcome_even_if_the_server_is_away(stage: Stage) -> None:
    shelf = server(approval=[("*", "never")])
    servers = await with_tools(stage, (shelf, [raw_tool("put", reads=False)]), **ALIVE)
    servers.during = hang
    thinks(stage, "I put it there.", do("shelf.put", text="a"))
    await stage.clock.leap(PAUSE)
    await stage.soul.worker.sweep()
    await until(lambda: servers.requests)
    kept = {path: path.read_bytes() for path in stage.home.glob("journal.db*")}
    await stage.sleep()
    for path in stage.home.glob("journal.db*"):
        path.unlink()
    for path, content in kept.items():
        path.write_bytes(content)
    servers.away.add("shelf")
    await stage.wake(ism_enabled=True, **OWNED, **ALIVE)
    await stage.settled()
    assert len(servers.requests) == 1
    [doubt] = stage.entries("tool-in-doubt")
    assert doubt.event.tool == "shelf.put"
    thinks(stage, "I see.")
    seen = await tick(stage)
    assert "outcome unknown" in seen.results["shelf.put"][1]


async def test_only_so_many_calls_wait_for_an_owner_at_once(stage: Stage) -> None:
    await with_tools(stage, (server(), [raw_tool("order", needs="what", reads=False)]), **ALIVE)
    orders = [do("shelf.order", what=f"walnut {number}") for number in range(MOST_WAITING + 1)]
    seen = await does(stage, *orders)
    assert len(stage.entries("tool-wanted")) == len(questions(stage)) == MOST_WAITING
    assert seen.results["shelf.order"] == (
        "no",
        f"{MOST_WAITING} calls wait for an owner already: wait until one of them has ended",
    )


async def test_a_tool_that_changes_before_an_owner_is_asked_is_not_called(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [raw_tool("order", needs="what", reads=False)]), **ALIVE)
    await does(stage, do("shelf.order", what="walnuts"))
    go_on = asyncio.Event()

    async def wait() -> None:
        await go_on.wait()

    servers.during = wait
    await press_in_dm(stage, "Approve")
    await until(lambda: servers.requests)
    thinks(stage, "Now others.", do("shelf.order", what="hazelnuts"))
    await stage.clock.leap(PAUSE)
    await stage.soul.worker.sweep()
    await until(lambda: len(stage.entries("tool-errand")) == 2)
    changed = raw_tool("order", "Order twice as many.", "what", reads=False)
    await catalogue(stage).record_list(server(), "2026-07-28", [changed])
    go_on.set()
    await stage.settled()
    assert [request.arguments for request in servers.requests] == [{"what": "walnuts"}]
    first, second = [entry.event for entry in stage.entries("process-ended")]
    assert (first.status, second.status) == ("ok", "error")
    assert second.result == "tool changed"
    assert not questions(stage)


async def test_a_call_that_waits_is_forgotten_with_the_words_that_it_came_of(stage: Stage) -> None:
    tools = [raw_tool("order", needs="what", reads=False)]
    servers = await with_tools(stage, (server(), tools), **ALIVE, inner_life_reads_dms=True)
    stage.model.say(reply("I see."))
    await stage.say("alice", ALICE_DM, "I like kaiserschmarrn.")
    await does(stage, do("shelf.order", what="kaiserschmarrn"))
    await stage.say("alice", ALICE_DM, "!forget me")
    await press_in_dm(stage, "Forget it")
    await stage.settled()
    await until_told(stage)
    assert traces(stage, "kaiserschmarrn") == []
    assert not stage.pending("tool-wanted", "asked", "turn-began")
    [ended] = stage.entries("process-ended")
    assert (ended.event.name, ended.event.status) == ("shelf.order", "error")
    assert not servers.requests
