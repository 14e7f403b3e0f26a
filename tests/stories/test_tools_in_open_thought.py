"""Tools in open thought: written as tags, with arguments as JSON or as elements."""

from __future__ import annotations

import pytest

from daemon.tools.tool_call import ToolOutcomeUnknown, ToolRequest
from tests.stories.stage import ALICE, Stage
from tests.stories.test_open_thought import calls_itself, final, thinks
from tests.stories.tool_shelf import raw_tool, server, some_tools, with_tools

THINK = "Please think it through."


@pytest.mark.parametrize(
    "written",
    ['{"word": "<b>tea</b> &amp; milk"}', "<word>&lt;b&gt;tea&lt;/b&gt; &amp; milk</word>"],
    ids=["as JSON", "as elements"],
)
async def test_a_tool_is_a_tag_whose_result_is_a_message(stage: Stage, written: str) -> None:
    servers = await with_tools(stage, (server(), [raw_tool("look_up", "Look <huh> a word up.", "word")]))
    thinks(stage, f"Hm. <shelf.look_up>{written}</shelf.look_up>", final("It is tea."))
    ts = await stage.say("alice", ALICE, THINK)
    assert await stage.answers(ALICE, ts) == ["It is tea."]
    [called] = servers.requests
    assert called.arguments == {"word": "<b>tea</b> & milk"}
    first, second = stage.asked()[-2:]
    assert "`<shelf.look_up>`: <described>Look &lt;huh> a word up.</described>" in first
    assert '<message from="shelf.look_up">' in second
    assert "look_up did it" in second


async def test_of_many_tools_those_found_can_be_used(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [*some_tools(300), raw_tool("open_door", "Open the door.")]))
    thinks(
        stage,
        "<FindTool><query>door</query></FindTool>",
        '<shelf.open_door>{"text": "front"}</shelf.open_door>',
        final("It is open."),
    )
    ts = await stage.say("alice", ALICE, THINK)
    assert await stage.answers(ALICE, ts) == ["It is open."]
    assert [request.tool for request in servers.requests] == ["open_door"]
    first, second, _ = stage.asked()[-3:]
    assert "tool_17" not in first
    assert "shelf: 301" in first
    assert "shelf.open_door: Open the door." in second


async def test_arguments_that_do_not_fit_come_back_with_the_fault(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [raw_tool("look_up", needs="word")]))
    thinks(stage, "<shelf.look_up>{not JSON</shelf.look_up><shelf.look_up/>", final("No."))
    await stage.say("alice", ALICE, THINK)
    assert not servers.requests
    told = [entry.event.text for entry in stage.entries("inner-message")]
    assert len(told) == 2
    assert all("arguments" in text for text in told)


async def test_names_that_our_grammar_owns_do_no_harm(stage: Stage) -> None:
    names = ["DONE", "To_closing", "thought", "claudius-response", "todo-until", "explain", "say", "FindTool"]
    servers = await with_tools(
        stage,
        (server("thought"), [raw_tool(name) for name in names]),
        (server("DONE"), [raw_tool("DONE")]),
        (server("7zip"), [raw_tool("pack")]),
    )
    thinks(
        stage,
        f'<thought.say>{{"text": "one"}}</thought.say> <DONE.DONE>{{"text": "two"}}</DONE.DONE> <DONE/>'
        f"<thought>Nothing here.</thought>{calls_itself('On.')}",
        final("All is well."),
    )
    ts = await stage.say("alice", ALICE, THINK)
    assert await stage.answers(ALICE, ts) == ["All is well."]
    assert {request.arguments["text"] for request in servers.requests} == {"one", "two"}
    assert "7zip.pack" not in "".join(stage.asked()), "no tag begins with a digit"


def lose(request: ToolRequest) -> str:
    raise ToolOutcomeUnknown("the connection was lost")


@pytest.mark.parametrize("branch", [False, True], ids=["itself", "in a branch"])
async def test_people_are_told_in_the_conversation_of_a_call_that_nobody_knows_the_outcome_of(
    stage: Stage, branch: bool
) -> None:
    shelf = server(approval=[("*", "never")])
    servers = await with_tools(stage, (shelf, [raw_tool("put", reads=False)]), said=lose)
    called = '<shelf.put>{"text": "a"}</shelf.put>'
    if branch:
        thinks(
            stage,
            "<spawn-thread>Put it there.</spawn-thread>",
            called,
            final("Unsure."),
            final("Look first."),
        )
    else:
        thinks(stage, called, final("Look first."))
    ts = await stage.say("alice", ALICE, THINK)
    said = await stage.answers(ALICE, ts)
    assert any("I called *shelf.put*, and nobody knows" in text for text in said)
    assert len(servers.requests) == 1
    [doubt] = stage.entries("tool-in-doubt")
    assert (doubt.event.tool, doubt.event.settled) == ("shelf.put", False)


def break_down(request: ToolRequest) -> str:
    raise RuntimeError("a fault of the client")


async def test_a_fault_of_the_client_is_an_unknown_outcome_and_no_second_call(stage: Stage) -> None:
    shelf = server(approval=[("*", "never")])
    servers = await with_tools(stage, (shelf, [raw_tool("put", reads=False)]), said=break_down)
    thinks(stage, '<shelf.put>{"text": "a"}</shelf.put>', final("Look first."))
    ts = await stage.say("alice", ALICE, THINK)
    said = " ".join(await stage.answers(ALICE, ts))
    assert "I called *shelf.put*, and nobody knows" in said
    assert "a fault of the client" not in said
    assert len(servers.requests) == 1
    assert [entry.event.tool for entry in stage.entries("tool-in-doubt")] == ["shelf.put"]
