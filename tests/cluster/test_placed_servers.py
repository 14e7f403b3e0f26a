"""Tool servers that are programs: one daemon runs them, turns on the others call them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon.app.discovery import load_connections
from daemon.cluster.peers import PeerClient
from daemon.engine.clock import SystemClock
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, ToolServerPlaced
from daemon.tools.connected_servers import ConnectedServers
from daemon.tools.connection import ConnectionMeans, ServerOpener
from daemon.tools.hosted_servers import HostedServers
from daemon.tools.placed_servers import PlacedServers
from daemon.tools.tool_call import (
    AskNow,
    InputNeeded,
    ToolCallFailed,
    ToolOutcomeUnknown,
    ToolRequest,
    ToolResult,
)
from daemon.web.peer_channel import PeerAway, PeerChannel
from tests.clock import FakeClock
from tests.cluster.machines import Machine, machine
from tests.tools.connected import (
    ChangingConfiguration,
    ListRecorder,
    has_heard,
    is_running,
    raw_server,
    wait_for,
)

TOOLS = "tools"


class Daemons:
    """Daemons with one configuration of servers; the one whose worker id is `holder` has the role."""

    def __init__(self, folder: Path, stack: AsyncExitStack, journal: Journal) -> None:
        self._folder, self._stack, self.journal = folder, stack, journal
        self.addresses: dict[int, str] = {}
        self.holder = 1
        self.sure = asyncio.Event()
        self.sure.set()

    async def start(self, worker: int, *args: str, **more: Any) -> Daemon:
        """Start a daemon with the server `raw`; its arguments are those of `raw_server`."""
        stack = await self._stack.enter_async_context(AsyncExitStack())
        port = await stack.enter_async_context(machine(worker, self.addresses, self._folder))
        hosted = HostedServers(self._confirm)
        port.routes.answers[TOOLS] = hosted.answer
        recorder = ListRecorder()
        servers = ConnectedServers(
            ChangingConfiguration(raw_server(*args, **more)),
            partial(self._load, worker, port.peers, hosted),
            recorder,
            SystemClock(),
            ConnectionMeans(folder=self._folder / f"machine-{worker}" / "tools"),
        )
        (self._folder / f"machine-{worker}").mkdir()
        await stack.enter_async_context(servers)
        return Daemon(port, servers, recorder, stack)

    async def _load(self, worker: int, peers: PeerClient, hosted: HostedServers) -> ServerOpener:
        return PlacedServers(
            open_here=await load_connections(),
            to_host=lambda: peers.channel(self.holder, TOOLS),
            hosted=hosted,
            journal=self.journal,
            machine=f"machine-{worker}",
            worker_id=worker,
            has_role=lambda: self.holder == worker,
        )

    async def _confirm(self) -> None:
        await self.sure.wait()

    def placed(self) -> list[tuple[str, int]]:
        found = self.journal.entries_of_kind(ToolServerPlaced)
        return [(one.event.machine, one.event.daemon) for one in found]


class Daemon:
    def __init__(
        self, port: Machine, servers: ConnectedServers, recorder: ListRecorder, stack: AsyncExitStack
    ) -> None:
        self.port, self.servers, self.recorder = port, servers, recorder
        self.end = stack.aclose
        self.progress: list[str] = []

    async def ready(self) -> Daemon:
        await wait_for(lambda: self.servers.state_of("raw").state == "ready")
        return self

    async def call(
        self, tool: str, text: str = "", ask: AskNow | None = None, **more: Any
    ) -> ToolResult | InputNeeded:
        request = ToolRequest(server="raw", tool=tool, arguments={"text": text}, **more)
        return await self.servers.call(request, self.progress.append, ask)

    async def text(self, tool: str, text: str = "") -> str:
        result = await self.call(tool, text)
        assert isinstance(result, ToolResult)
        return result.text


@pytest.fixture
async def daemons(tmp_path: Path) -> AsyncIterator[Daemons]:
    async with (
        Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal,
        AsyncExitStack() as stack,
    ):
        yield Daemons(tmp_path, stack, journal)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_runs_once_and_each_daemon_calls_it(daemons: Daemons, era: str) -> None:
    host = await (await daemons.start(1, era)).ready()
    other = await (await daemons.start(2, era)).ready()
    assert await other.text("echo", "hello") == '{"text": "hello"}'
    assert await other.text("pid") == await host.text("pid")
    assert daemons.placed() == [("machine-1", 1)]
    [(_, protocol, tools)] = other.recorder.lists
    assert (protocol, list(tools)) == (host.recorder.lists[0][1], list(host.recorder.lists[0][2]))


async def test_progress_errors_and_resources_pass_between_daemons(daemons: Daemons) -> None:
    await daemons.start(1)
    other = await (await daemons.start(2)).ready()
    assert await other.text("progress") == "done"
    assert other.progress[0] == "step 1"
    assert await other.call("is_error") == ToolResult(text="no such city", is_error=True)
    with pytest.raises(ToolCallFailed, match="it says no"):
        await other.call("rpc_error", "-32602")
    with pytest.raises(ToolOutcomeUnknown):
        await other.call("no_result")
    assert (await other.servers.read_resource("raw", "file:///a.txt")).text


async def test_a_question_of_a_server_reaches_the_people_of_the_other_daemon(daemons: Daemons) -> None:
    asked: list[Mapping[str, Any]] = []

    async def ask(request: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(request)
        return {"action": "accept", "content": {"yes": True}}

    await daemons.start(1)
    other = await (await daemons.start(2)).ready()
    result = await other.call("ask", ask=ask)
    assert isinstance(result, ToolResult)
    assert json.loads(result.text) == {"action": "accept", "content": {"yes": True}}
    assert [one["params"]["message"] for one in asked] == ["Sure?"]
    assert await other.call("ask") == ToolResult(text='{"action": "decline"}')


async def test_a_newer_server_asks_by_its_result_and_goes_on_with_its_state(daemons: Daemons) -> None:
    await daemons.start(1, "modern")
    other = await (await daemons.start(2, "modern")).ready()
    needed = await other.call("need_input")
    assert isinstance(needed, InputNeeded)
    answers = {"sure": {"action": "accept", "content": {"yes": True}}}
    assert await other.call("need_input", responses=answers, state=needed.state) == ToolResult(
        text=json.dumps(answers)
    )


async def test_a_stop_on_the_calling_daemon_reaches_the_server(daemons: Daemons, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    await daemons.start(1, env={"HEARD": str(heard)})
    other = await (await daemons.start(2, env={"HEARD": str(heard)})).ready()
    calling = asyncio.create_task(other.call("never"))
    await wait_for(lambda: has_heard(heard, '"never"'))
    calling.cancel()
    await wait_for(lambda: has_heard(heard, "notifications/cancelled"))


async def test_a_call_whose_daemon_dies_is_unknown_and_not_made_again(
    daemons: Daemons, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    host = await (await daemons.start(1, env={"HEARD": str(heard)})).ready()
    other = await (await daemons.start(2, env={"HEARD": str(heard)})).ready()
    calling = asyncio.create_task(other.call("never"))
    await wait_for(lambda: has_heard(heard, '"never"'))
    await host.end()
    with pytest.raises(ToolOutcomeUnknown, match="was lost"):
        await calling
    daemons.holder = 2
    await other.ready()
    await wait_for(lambda: daemons.placed() == [("machine-1", 1), ("machine-2", 2)])
    await wait_for(lambda: other.servers.state_of("raw").state == "ready")
    assert await other.text("echo", "again") == '{"text": "again"}'
    assert heard.read_text().count('"name": "never"') + heard.read_text().count('"name":"never"') == 1


async def test_a_lost_connection_is_told_without_an_address(daemons: Daemons) -> None:
    host, other = await daemons.start(1), await daemons.start(2)

    async def hang_up(_channel: PeerChannel) -> None: ...

    host.port.routes.answers["nothing"] = hang_up
    async with other.port.peers.channel(1, "nothing") as channel:
        with pytest.raises(PeerAway, match=r"^The connection to the other daemon was lost\.$"):
            await channel.receive()


async def test_without_its_daemon_nothing_was_called(daemons: Daemons) -> None:
    host = await (await daemons.start(1)).ready()
    other = await (await daemons.start(2)).ready()
    pid = int(await host.text("pid"))
    await host.end()
    with pytest.raises(ToolCallFailed, match="nothing was called"):
        await other.call("echo")
    await wait_for(lambda: not is_running(pid))


async def test_who_may_be_dead_carries_out_no_call(daemons: Daemons, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    await daemons.start(1, env={"HEARD": str(heard)})
    other = await (await daemons.start(2, env={"HEARD": str(heard)})).ready()
    daemons.sure.clear()
    calling = asyncio.create_task(other.call("echo", "late"))
    await asyncio.wait([calling], timeout=0.3)
    assert not has_heard(heard, "late")
    daemons.sure.set()
    assert await calling == ToolResult(text='{"text": "late"}')


async def test_a_list_that_changes_reaches_the_other_daemons(daemons: Daemons) -> None:
    await daemons.start(1)
    other = await (await daemons.start(2)).ready()
    assert await other.text("rename") == "renamed"
    await wait_for(lambda: "renamed" in [tool["name"] for tool in other.recorder.lists[-1][2]])
