"""`python -m daemon mcp`: the real client over stdio, through the command, to a running daemon."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from daemon.app.journal_commands import verify_journal
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, IncomingMessage, ServedCallBegan, ServedCallEnded, SpeechFinished
from daemon.settings.home import project_root
from rehearsal.people import SOUL
from tests.app.test_commands import run
from tests.attention import until
from tests.source import ROOT
from tests.stories.process import around, into, running, variables
from tests.stories.stage import Stage, reply, staged
from tests.tools.soul_client import Mode, called, connected_to, conversation_in, followed, tried


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


def settings_of() -> dict[str, str]:
    return {
        "SLACK_BOT_TOKEN": SOUL.bot_token,
        "SLACK_APP_TOKEN": SOUL.app_token,
        "ANTHROPIC_API_KEY": "any",
        "MCP_SERVER": "public",
    }


def arguments_on_page(before: str, folder: Path) -> list[str]:
    """Return the arguments that a shell in this folder gives to `claude mcp add`, by the line in the docs."""
    page = (ROOT / "docs" / "RUNNING.md").read_text(encoding="utf-8")
    [line] = re.findall(rf"^{re.escape(before)} (.*)$", page, re.MULTILINE)
    words = subprocess.run(
        ["sh", "-c", rf"printf '%s\n' {line}"], cwd=folder, capture_output=True, text=True, check=True
    )
    return words.stdout.splitlines()


@asynccontextmanager
async def through_command(stage: Stage, mode: Mode) -> AsyncIterator[Client]:
    """Yield a client of the command that the docs give to Claude Code."""
    program, *arguments = arguments_on_page("claude mcp add soul --", project_root())
    command = StdioServerParameters(
        command=program,
        args=[one.replace(".venv/bin/python", sys.executable) for one in arguments],
        env=variables(stage.home, settings_of()),
    )
    async with Client(command, mode=mode) as client:
        yield client


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_a_client_over_stdio_asks_cancels_and_goes_on_after_a_restart(
    stage: Stage, mode: Mode, version: str
) -> None:
    await stage.wake(mcp_server="public")
    async with through_command(stage, mode) as client:
        assert client.session.protocol_version == version
        stage.model.say(reply("Füchse 🦊."))
        first, lines = await followed(client, "Wer? 🦊")
        assert first.startswith("Füchse 🦊.")
        assert lines == ["is thinking…"]
        stage.model.say("Never heard.", until=asyncio.Event())
        asking = asyncio.create_task(client.call_tool("ask", {"question": "A long story, please"}))
        await stage.until(lambda: len(stage.model.requests) == 2)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await stage.until(lambda: stage.entries("stop"))
        await stage.settled()
        await stage.sleep()
        with pytest.raises(Exception, match="No daemon with these settings is running"):
            await client.call_tool("ask", {"question": "Anybody?"})
        await stage.wake()
        stage.model.say(reply("Again."))
        again = await called(client, "ask", question="And?", conversation=conversation_in(first))
        assert again.startswith("Again.")
        failed, why = await tried(client, "dance")
        assert failed
        assert "no tool of this name" in why


async def test_the_address_and_token_of_the_docs_let_a_client_in(stage: Stage, tmp_path: Path) -> None:
    await stage.wake(mcp_server="public")
    (tmp_path / "var").symlink_to(stage.home)
    url, flag, header = arguments_on_page("claude mcp add --transport http soul", tmp_path)
    assert (url, flag) == ("http://127.0.0.1:8765/mcp", "--header")
    name, _, value = header.partition(": ")
    async with (
        httpx2.AsyncClient(headers={name: value}) as http,
        Client(streamable_http_client(f"{stage.soul.url}/mcp", http_client=http)) as client,
    ):
        assert len((await client.list_tools()).tools) == 2


def test_it_says_so_if_no_daemon_runs_and_loads_little(tmp_path: Path) -> None:
    status, said, complaint = run("mcp", SOUL_HOME=str(tmp_path), MCP_SERVER="public")
    assert (status, said) == (78, "")
    assert "No daemon with these settings is running" in complaint
    status, said, complaint = run("mcp", SOUL_HOME=str(tmp_path))
    assert (status, said) == (78, "")
    assert "MCP_SERVER=public" in complaint


async def ask(home: Path, url: str, **asked: str) -> str:
    async with connected_to(home, url) as client:
        return await called(client, "ask", **asked)


async def test_a_question_whose_daemon_is_killed_is_answered_by_the_next_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    async with around(tmp_path) as world:
        env = {**into(world.url), "MCP_SERVER": "public"}
        world.model.say("Lost.", until=asyncio.Event())
        async with running(home, **env) as (process, url):
            asking = asyncio.create_task(ask(home, url, question="Do you survive?"))
            await until(lambda: world.model.requests)
            process.kill()
            await process.wait()
            await asyncio.gather(asking, return_exceptions=True)
        with open_reader(home / "journal.db", SOUL_KINDS) as journal:
            [said] = [one for one in journal.entries_of_kind(IncomingMessage) if one.author == "MCP"]
        world.model.say(reply("I am back."))
        async with running(home, **env) as (_, url):
            assert (await ask(home, url, conversation=said.thread)).startswith("I am back.")
        with open_reader(home / "journal.db", SOUL_KINDS) as journal:
            assert not verify_journal(journal).violations
            assert len(journal.entries_of_kind(SpeechFinished)) == 1
            calls, ends = journal.entries_of_kind(ServedCallBegan), journal.entries_of_kind(ServedCallEnded)
            assert [call.event.tool for call in calls] == ["ask", "ask"]
            assert [end.cause for end in ends] == [calls[1].seq], "nobody heard the end of the first"
