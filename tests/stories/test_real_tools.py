"""A real server in mcp.json: its tools in a conversation, in a run, in open thought and in the inner life."""

from __future__ import annotations

import sys
from typing import Any

from daemon.kinds import TOOLS, ToolsListed
from tests.stories.choosing import answers, choice, pressed, questions, turning
from tests.stories.stage import ALICE, Stage, reply
from tests.stories.test_open_thought import final, thinks
from tests.stories.ticking import do, does
from tests.stories.tool_shelf import OWNED, as_text, choosers, errand, take_playbooks, using, write_servers
from tests.tools.connected import RAW

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time", "--local-timezone", "Europe/Berlin"]}
ECHO = {"command": sys.executable, "args": ["-I", "-S", "-B", str(RAW)]}
NEVER = {"soul": {"approval": "never"}}
NOON = {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}


async def with_server(stage: Stage, name: str, server: dict[str, Any], **settings: Any) -> None:
    """Start the soul with this server in mcp.json, and wait until its tools are known."""
    write_servers(stage.words, **{name: server})
    take_playbooks(stage)
    await stage.wake(**OWNED, **settings)
    await stage.until(lambda: stage.soul.journal.thread_entries(TOOLS, ToolsListed))


async def test_a_conversation_runs_an_errand_with_a_server_that_the_owner_trusts(dormant: Stage) -> None:
    await with_server(dormant, "time", {**TIME, "soul": {"trusted": True}})
    errand(dormant, using("time.convert_time", **NOON), end="It is evening there.")
    ts = await dormant.say("alice", ALICE, "What time is it in Tokyo when it is noon here?")
    assert (await dormant.answers(ALICE, ts))[-1] == "It is evening there."
    first, second = map(as_text, choosers(dormant))
    assert "**time.convert_time**: <described>Convert time between timezones</described>" in first
    assert "Asia/Tokyo" in second.partition('result of=\\"time.convert_time\\"')[2]


async def test_a_run_of_a_playbook_that_names_a_tool_asks_before_it_is_used(dormant: Stage) -> None:
    await with_server(dormant, "raw", ECHO, ism_enabled=True)
    book = dormant.words / "playbooks" / "problem_solving.md"
    book.write_text(book.read_text().replace("actions: [Think,", "actions: [Think, raw.echo,"))
    answers(dormant, turning(), choice(using("raw.echo", text="hello")))
    ts = await dormant.say("alice", ALICE, "Please work it out.")
    assert questions(dormant), "a server that is not trusted asks first"
    answers(dormant, choice("Respond"), reply("It said hello."))
    await pressed(dormant, "alice", "Approve")
    assert (await dormant.answers(ALICE, ts))[-1] == "It said hello."
    first, second = map(as_text, choosers(dormant))
    assert "raw.env" not in first
    assert "hello" in second.partition('result of=\\"raw.echo\\"')[2]


async def test_open_thought_uses_a_tool(dormant: Stage) -> None:
    await with_server(dormant, "raw", {**ECHO, **NEVER})
    thinks(dormant, '<raw.echo>{"text": "hello"}</raw.echo>', final("It said hello."))
    ts = await dormant.say("alice", ALICE, "Please think it through.")
    assert await dormant.answers(ALICE, ts) == ["It said hello."]
    assert "hello" in dormant.asked()[-1].partition('<message from="raw.echo">')[2]


async def test_the_inner_life_uses_a_tool(dormant: Stage) -> None:
    await with_server(dormant, "raw", {**ECHO, **NEVER}, inner_life_enabled=True)
    await dormant.settled()
    seen = await does(dormant, do("FindTool", query="echo"), do("raw.echo", text="hello"))
    done, text = seen.results["raw.echo"]
    assert done == "yes"
    assert "hello" in text
