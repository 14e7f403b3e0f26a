"""Tools in prompts: all with their schemas if they are few, else in a line each, else counted."""

from __future__ import annotations

from pathlib import Path

from tests.stories.choosing import answers, turning
from tests.stories.stage import ALICE, Stage, staged
from tests.stories.tool_shelf import (
    ERRAND,
    as_text,
    choosers,
    errand,
    raw_tool,
    server,
    some_tools,
    using,
    with_tools,
)
from tests.texts import ours

ANY_NAME = '"name": {"type": "string"}'
"""Part of the schema of a choice that takes any name."""


async def test_few_tools_are_shown_with_their_schemas_and_used_by_their_names(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [raw_tool("look_up", "Look a word up.", "word")]))
    errand(stage, using("shelf.look_up", word="ferry"), end="It is late.")
    ts = await stage.say("alice", ALICE, ERRAND)
    assert (await stage.answers(ALICE, ts))[-1] == "It is late."
    [called] = servers.requests
    assert (called.server, called.tool, called.arguments) == ("shelf", "look_up", {"word": "ferry"})
    assert ANY_NAME not in as_text(choosers(stage)[0]["output_config"])
    first, second, *_ = map(as_text, choosers(stage))
    assert "**shelf.look_up**: <described>Look a word up.</described>" in first
    assert "the word to use" in first
    assert "FindTool" not in first
    assert 'result of=\\"shelf.look_up\\"' in second
    assert "look_up did it" in second


async def test_up_to_a_hundred_tools_have_a_line_each_and_a_search_brings_the_schema(stage: Stage) -> None:
    tools = [*some_tools(40), raw_tool("createIssue", "Open a ticket for a bug.", "title")]
    servers = await with_tools(stage, (server(), tools))
    errand(
        stage,
        using("FindTool", query="report a bug ticket"),
        using("shelf.createIssue", wrong="Broken"),
        using("shelf.createIssue", title="Broken"),
        end="It is reported.",
    )
    ts = await stage.say("alice", ALICE, ERRAND)
    assert (await stage.answers(ALICE, ts))[-1] == "It is reported."
    assert [request.arguments for request in servers.requests] == [{"title": "Broken"}]
    assert ANY_NAME in as_text(choosers(stage)[0]["output_config"])
    first, found, refused, _ = map(as_text, choosers(stage))
    assert "shelf.createIssue: Open a ticket for a bug." in first
    assert "shelf.tool_7: Do the thing number 7." in first
    assert "the title to use" not in first
    assert 'result of=\\"FindTool\\"' in found
    assert "the title to use" in found
    assert "was not run: wrong arguments: <described>" in refused


async def test_of_more_only_the_servers_are_named_with_their_number_of_tools(stage: Stage) -> None:
    many, few = server("big"), server("small")
    servers = await with_tools(stage, (many, some_tools(480)), (few, some_tools(20)))
    errand(stage, using("FindTool", query="number 333"), using("big.tool_333", text="x"))
    await stage.say("alice", ALICE, ERRAND)
    assert [request.tool for request in servers.requests] == ["tool_333"]
    first, found, _ = map(as_text, choosers(stage))
    assert "big: 480\\nsmall: 20" in first
    assert "tool_333" not in first
    assert "big.tool_333: Do the thing number 333." in found


async def test_with_500_tools_the_prompt_of_the_chooser_stays_below_4000_tokens(tmp_path: Path) -> None:
    async with staged(tmp_path, ours) as stage:
        await stage.wake()
        await with_tools(stage, (server(), some_tools(500)))
        errand(stage)
        await stage.say("alice", ALICE, ERRAND)
        [request] = choosers(stage)
    sent = {name: request.get(name) for name in ("system", "messages", "output_config")}
    assert len(as_text(sent)) / 3 < 4_000


async def test_an_unknown_name_is_answered_by_similar_ones_and_not_by_all(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [*some_tools(200), raw_tool("close_ticket")]))
    errand(stage, using("shelf.close_tickets", text="it"), end="I could not.")
    await stage.say("alice", ALICE, ERRAND)
    assert not servers.requests
    _, second = map(as_text, choosers(stage))
    assert "there is no such action" in second
    assert "shelf.close_ticket" in second
    assert "shelf.tool_1," not in second


async def test_long_schemas_are_not_shown_whole_even_if_the_tools_are_few(stage: Stage) -> None:
    long = raw_tool("write", "Write it. " * 3_000)
    await with_tools(stage, (server(), [long, raw_tool("look")]))
    errand(stage, using("FindTool", query="look"))
    await stage.say("alice", ALICE, ERRAND)
    first = as_text(choosers(stage)[0])
    assert first.count("Write it.") < 20
    assert "shelf.look" in first


async def test_a_playbook_offers_what_its_patterns_name_alone(stage: Stage) -> None:
    book = stage.words / "playbooks" / "errands.md"
    servers = await with_tools(stage, (server(), [raw_tool("read"), raw_tool("write")]), (server("x"), []))
    book.write_text(book.read_text().replace('"*.*"', "shelf.re*, other.*, x.read"))
    errand(stage, using("shelf.write", text="it"), using("shelf.read", text="it"))
    await stage.say("alice", ALICE, ERRAND)
    assert [request.tool for request in servers.requests] == ["read"]
    assert "shelf.write" not in as_text(choosers(stage)[0])


async def test_without_tools_nothing_is_said_of_errands(stage: Stage) -> None:
    await with_tools(stage)
    answers(stage, turning("On it.", to="errands"))
    ts = await stage.say("alice", ALICE, ERRAND)
    assert await stage.answers(ALICE, ts) == ["On it."]
    assert not choosers(stage)
    assert not any("errands" in told for told in stage.told())


async def test_without_the_ism_errands_are_run_all_the_same(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [raw_tool("read")]), ism_enabled=False)
    errand(stage, using("shelf.read", text="it"))
    await stage.say("alice", ALICE, ERRAND)
    assert [request.tool for request in servers.requests] == ["read"]
    assert "systems there: shelf." in stage.told()[0]
