"""Connections to servers over real pipes: lists, calls, and servers that misbehave."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.mcp_connection import follow_changes
from daemon.tools.server_log import ServerLog
from daemon.tools.server_output import OutputPace
from daemon.tools.tool_call import (
    InputNeeded,
    StateExpired,
    ToolCallFailed,
    ToolOutcomeUnknown,
    ToolRequest,
    ToolResult,
)
from tests.clock import FakeClock
from tests.tools.connected import connected, has_heard, is_running, raw_server, wait_for

TIME = ToolServerSettings(name="time", command=sys.executable, args=("-m", "mcp_server_time"))
ERAS = ("legacy", "modern")
STOP_WITHIN = 0.3


async def test_a_tool_of_a_public_server_is_listed_and_called(tmp_path: Path) -> None:
    async with connected(tmp_path, TIME) as bench:
        await bench.until("time", "ready")
        [(_, protocol, tools)] = bench.lists
        assert protocol == "2026-07-28"
        assert [tool["name"] for tool in tools] == ["get_current_time", "convert_time"]
        assert {"description", "inputSchema", "annotations"} <= tools[0].keys()
        said = await bench.servers.call(
            ToolRequest(server="time", tool="get_current_time", arguments={"timezone": "Asia/Tokyo"}),
            bench.progress.append,
        )
        assert isinstance(said, ToolResult)
        assert "Asia/Tokyo" in said.text
    assert bench.servers.state_of("time").state == "off"


@pytest.mark.parametrize("era", ERAS)
async def test_both_eras_list_call_and_announce_changes(tmp_path: Path, era: str) -> None:
    clock = FakeClock()
    async with connected(tmp_path, raw_server(era), clock=clock) as bench:
        assert await bench.text("echo", "hello") == '{"text": "hello"}'
        assert bench.servers.state_of("raw").protocol == {"legacy": "2025-11-25", "modern": "2026-07-28"}[era]
        assert await bench.text("rename") == "renamed"
        await bench.lists_grow_to(2, clock)
        names = [tools[0]["name"] for _, _, tools in bench.lists]
        assert names == ["echo", "renamed"]


async def test_a_stream_of_changes_that_cannot_be_opened_for_a_moment_is_opened_again() -> None:
    failures = [MCPError(7002, "it failed"), SubscriptionLost("lost"), MCPError(-32601, "no such method")]
    told: list[int] = []

    class Streams:
        @asynccontextmanager
        async def listen(self, *, tools_list_changed: bool) -> AsyncIterator[None]:
            raise failures.pop(0)
            yield

    client: Any = Streams()
    await follow_changes(client, lambda: told.append(len(failures)), pause=0.001)
    assert told == [2, 1], "nothing is asked for again where there is no stream"


async def test_a_list_is_asked_for_again_when_its_time_to_live_ends(tmp_path: Path) -> None:
    clock = FakeClock()
    async with connected(tmp_path, raw_server("modern", "brief"), clock=clock) as bench:
        await bench.until("raw", "ready")
        await wait_for(lambda: clock.sleepers)
        await clock.advance(89)
        assert len(bench.lists) == 1
        await bench.lists_grow_to(2, clock)


@pytest.mark.parametrize("fault", ["endless_list", "huge_list"])
async def test_a_list_without_end_or_of_great_size_is_refused(tmp_path: Path, fault: str) -> None:
    async with connected(tmp_path, raw_server(fault)) as bench:
        await bench.until("raw", "away")
        assert bench.servers.state_of("raw").why == "Its list of tools is too large, and was refused."


async def test_ten_thousand_tools_are_listed_and_the_loop_goes_on(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server("many_tools"), raw_server(name="other")) as bench:
        while not any(server.name == "raw" for server, _, _ in bench.lists):
            assert await bench.text("echo", server="other") == '{"text": ""}'
        [tools] = [tools for server, _, tools in bench.lists if server.name == "raw"]
        assert len(tools) > 10_000


# Results


async def test_results_of_each_kind_are_text_for_the_model(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        result = await bench.call("pages")
        assert isinstance(result, ToolResult)
        assert result.text.split("\n\n") == [
            "[Image: image/png, 5 bytes]",
            "[Resource: a.txt, file:///a.txt, text/plain, 9 bytes]",
            "[Resource file:///b, text/plain:]\nin b",
            "[Resource file:///c: unknown type, 3 bytes]",
            '{"count": 2}',
        ]
        assert result.links == ("file:///a.txt",)
        read = await bench.servers.read_resource("raw", "file:///a.txt")
        assert read.text == "[Resource file:///a.txt, text/plain:]\nall of file:///a.txt"
        with pytest.raises(ToolCallFailed, match="raw refused: Resource not found"):
            await bench.servers.read_resource("raw", "file:///gone")
        assert await bench.text("nothing") == "[The tool returned nothing.]"


async def test_characters_that_cannot_be_stored_or_shown_are_replaced(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        assert await bench.text("surrogate") == "half \ufffd done"
        assert await bench.text("controls") == "NUL  and red and back"
        assert await bench.text("bytes_no_utf8") == "a\ufffd\ufffdb"
        assert await bench.text("garbage") == "after garbage"
        assert "[no message] Listening on port 80" in bench.log("raw")
        assert await bench.text("echo", "\ud800") == '{"text": "\\ufffd"}'


@pytest.mark.parametrize("tool", ["large", "large_id_last"])
async def test_a_result_over_10_mb_is_refused_while_it_is_read(tmp_path: Path, tool: str) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        assert len(await bench.text(tool, "9000000")) == 9_000_000
        refused = await bench.call(tool, "30000000")
        assert isinstance(refused, ToolResult)
        assert refused.is_error
        assert "too large (over 10 MB" in refused.text
        assert await bench.text("echo", "next") == '{"text": "next"}'


async def test_a_line_without_end_costs_the_connection(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        with pytest.raises(ToolOutcomeUnknown):
            await bench.call("endless")
        assert bench.servers.state_of("raw").why == "It sent a line without end."


async def test_a_result_with_very_many_values_does_not_stop_the_loop(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        await bench.until("raw", "ready")
        refused = await bench.call("many_values")
        assert isinstance(refused, ToolResult)
        assert "too large" in refused.text
        assert await bench.text("echo") == '{"text": ""}'


async def test_a_hostile_output_schema_is_not_run(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server("hostile_schema")) as bench:
        began = time.monotonic()
        result = await bench.call("structured")
        assert isinstance(result, ToolResult)
        assert "a" * 40 + "!" in result.text
        assert time.monotonic() - began < 2


# Outcomes


@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32020, -32021, -32022])
async def test_a_refusal_certainly_did_nothing(tmp_path: Path, code: int) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        with pytest.raises(ToolCallFailed, match="raw refused the call: it says no"):
            await bench.call("rpc_error", str(code))


@pytest.mark.parametrize("code", [-32603, -32050, 5])
async def test_another_error_is_an_answer(tmp_path: Path, code: int) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        result = await bench.call("rpc_error", str(code))
        assert result == ToolResult(text=f"raw answered with an error ({code}): it says no", is_error=True)
        assert await bench.call("is_error") == ToolResult(text="no such city", is_error=True)


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("never", "raw did not answer within 0.3 s."),
        ("die", "The connection to raw was lost before it answered."),
        ("no_result", "raw answered with what is no result."),
    ],
)
async def test_without_an_answer_nobody_knows_what_happened(tmp_path: Path, tool: str, why: str) -> None:
    async with connected(tmp_path, raw_server(timeout=0.3)) as bench:
        await bench.until("raw", "ready")
        with pytest.raises(ToolOutcomeUnknown) as failed:
            await bench.call(tool)
        assert str(failed.value) == why


async def test_a_late_answer_and_a_second_one_are_dropped(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server(timeout=0.5)) as bench:
        await bench.until("raw", "ready")
        with pytest.raises(ToolOutcomeUnknown):
            await bench.call("late", "0.6")
        assert await bench.text("twice") == "first"
        assert await bench.text("echo", "x") == '{"text": "x"}'


async def test_progress_is_shown_and_extends_the_time(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server(timeout=0.6)) as bench:
        await bench.until("raw", "ready")
        assert await bench.text("progress") == "done"
        assert bench.progress == ["step 1", "step 2", "step 3", "step 4"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_wait_ends_at_once_and_tells_the_server(tmp_path: Path, era: str) -> None:
    heard = tmp_path / "heard"
    async with connected(tmp_path, raw_server(era, env={"HEARD": str(heard)})) as bench:
        await bench.until("raw", "ready")
        call = asyncio.create_task(bench.call("never"))
        await wait_for(lambda: has_heard(heard, '"never"'))
        began = time.monotonic()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert time.monotonic() - began < STOP_WITHIN
        await wait_for(lambda: has_heard(heard, "notifications/cancelled"))


async def test_a_server_that_reads_nothing_delays_nobody(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server(timeout=0.5), raw_server(name="other")) as bench:
        assert await bench.text("deaf") == "deaf"
        large = "x" * 1_000_000  # more than a pipe holds
        calls = [asyncio.create_task(bench.call("echo", large)) for _ in range(3)]
        assert await bench.text("echo", "y", server="other") == '{"text": "y"}'
        for call in calls:
            began = time.monotonic()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            assert time.monotonic() - began < STOP_WITHIN


# Starts and ends


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("dies", "It ended with exit status 3."),
        ("mute", "It did not start within 0.5 s."),
    ],
)
async def test_a_server_that_does_not_start_is_away_and_says_why(
    tmp_path: Path, fault: str, why: str
) -> None:
    async with connected(tmp_path, raw_server(fault, start_timeout=0.5)) as bench:
        began = time.monotonic()
        with pytest.raises(ToolCallFailed, match="raw is away, so nothing was called") as failed:
            await bench.call("echo")
        assert why in str(failed.value)
        assert time.monotonic() - began < 5
        assert bench.servers.state_of("raw").state == "away"


async def test_a_command_that_is_missing_is_named(tmp_path: Path) -> None:
    missing = ToolServerSettings(name="raw", command="no-such-command-anywhere")
    async with connected(tmp_path, missing) as bench:
        await bench.until("raw", "away")
        assert "not on this machine" in bench.servers.state_of("raw").why


async def test_garbage_before_the_first_message_does_no_harm(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server("garbage")) as bench:
        assert await bench.text("echo", "x") == '{"text": "x"}'


async def test_a_server_that_dies_is_away_and_is_started_again_with_growing_pauses(tmp_path: Path) -> None:
    clock = FakeClock()
    async with connected(tmp_path, raw_server(), clock=clock) as bench:
        for pause in (1, 2, 4):
            with pytest.raises(ToolOutcomeUnknown):
                await bench.call("die")
            await bench.until("raw", "away")
            assert bench.servers.state_of("raw").why == "It was ended by signal 9."
            with pytest.raises(ToolCallFailed, match="raw is away"):
                await bench.call("echo")
            await wait_for(lambda: not bench.running())
            await clock.advance(pause - 0.1)
            assert clock.sleepers == 1, "it is not tried again yet"
            await clock.advance(0.2)
            await bench.until("raw", "ready")


async def test_a_child_that_outlives_its_server_ends_with_it(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        child = int(await bench.text("spawn"))
        assert is_running(child)
    await wait_for(lambda: not is_running(child))


async def test_a_server_that_ignores_its_end_is_killed(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server("stays"), raw_server("stays", name="two")) as bench:
        pids = [int(await bench.text("pid", server=name)) for name in ("raw", "two")]
        began = time.monotonic()
    assert time.monotonic() - began < 3.5  # side by side
    assert not any(map(is_running, pids))


async def test_leaving_at_once_leaves_no_server_behind(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server("mute")) as bench:
        await wait_for(bench.running)
        [pid] = bench.running()
    assert not is_running(pid)
    assert bench.running() == []


async def test_servers_follow_the_configuration(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        first = await bench.text("pid")
        bench.configuration.change(raw_server(trusted=True), raw_server(name="two"))
        await bench.until("two", "ready")
        assert await bench.text("pid", server="two") != first
        assert await bench.text("pid") == first  # other rules need no other process
        bench.configuration.change(raw_server(env={"NEW": "1"}))
        await bench.until("two", "off")
        await bench.until("raw", "ready")
        with pytest.raises(ToolCallFailed, match="no server two any more"):
            await bench.call("echo", server="two")
        assert "NEW" in await bench.text("env")


# Environment, secrets and log


async def test_a_result_shows_no_secret_and_all_else(tmp_path: Path) -> None:
    env = {"API_KEY": "sesame-open", "TZ_NAME": "Europe/Paris", "OTHER": "0123456789abcdef01"}
    async with connected(tmp_path, raw_server(env=env), secrets=["secret-of-the-daemon"]) as bench:
        seen = json.loads(await bench.text("env"))
        assert [seen[name] for name in env] == ["[masked]", "Europe/Paris", "[masked]"]
        assert "secret-of" not in await bench.text("echo", "secret-of-the-daemon")


@pytest.mark.parametrize("era", ERAS)
async def test_a_secret_of_a_server_stands_in_no_description_question_or_progress(
    tmp_path: Path, era: str
) -> None:
    heard: list[Mapping[str, Any]] = []

    async def ask(request: Mapping[str, Any]) -> Mapping[str, Any]:
        heard.append(request)
        return {"action": "decline"}

    async with connected(tmp_path, raw_server(era, env={"SHOWN_KEY": "sesame-open"})) as bench:
        await bench.call("progress")
        if era == "modern":
            needed = await bench.call("need_input")
            assert isinstance(needed, InputNeeded)
            heard.append(needed.requests)
        else:
            await bench.call("ask", ask=ask)
        for texts in (bench.lists[0][2], bench.progress, heard):
            assert "[masked]" in str(texts)
            assert "sesame-open" not in str(texts)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_flood_of_output_stops_nobody(tmp_path: Path, stream: str) -> None:
    async with connected(tmp_path, raw_server(timeout=1), raw_server(name="other")) as bench:
        await bench.until("other", "ready")
        flood = asyncio.create_task(bench.call("flood", stream))
        while not flood.done():
            assert await bench.text("echo", "x", server="other") == '{"text": "x"}'
        with pytest.raises(ToolOutcomeUnknown):
            await flood
        assert 0 < bench.log("raw").count("\n") < 40_000


async def test_a_pace_lets_so_many_pass_in_a_period() -> None:
    pace, began = OutputPace(100, period=0.05), time.monotonic()
    for _ in range(250):
        await pace.take()
    assert time.monotonic() - began > 0.09


async def test_a_server_gets_a_few_variables_and_those_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-not-for-servers")
    monkeypatch.setenv("LANG", "C.UTF-8")
    async with connected(tmp_path, raw_server(env={"CITY": "Paris"})) as bench:
        seen = json.loads(await bench.text("env"))
    assert seen["CITY"] == "Paris"
    assert {"PATH", "LANG"} <= seen.keys() <= {"PATH", "HOME", "LANG", "TMPDIR", "CITY", "LC_CTYPE"}


async def test_the_log_of_a_server_is_masked(tmp_path: Path) -> None:
    server = raw_server(env={"API_KEY": "secret-of-the-server"})
    async with connected(tmp_path, server, secrets=["secret-of-the-daemon"]) as bench:
        await bench.call("log", "a secret-of-the-server, a secret-of-the-daemon, \x1b[31mred")
        await wait_for(lambda: "a [masked], a [masked], red" in bench.log("raw"))
        await bench.call("log", "y " * 3_990 + "secret-of-the-server and more")  # it is cut within the secret
        await bench.call("log", "the end")
        await wait_for(lambda: "the end" in bench.log("raw"))
        assert "secret" not in bench.log("raw")
        assert "y […]" in bench.log("raw")


def test_the_log_of_a_server_is_bounded_and_private(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "raw.log", [])
    for _ in range(40):
        log.write("x" * 50_000)
    files = [*tmp_path.iterdir()]
    assert sum(file.stat().st_size for file in files) < 1_200_000
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    (tmp_path / "raw.log").unlink()
    (tmp_path / "raw.log").symlink_to(tmp_path / "elsewhere")
    log.write("x")
    assert not (tmp_path / "elsewhere").exists()


# Questions of servers


async def test_a_server_that_hangs_after_a_call_is_started_again(tmp_path: Path) -> None:
    clock = FakeClock()
    async with connected(tmp_path, raw_server(timeout=0.3, start_timeout=1), clock=clock) as bench:
        await bench.until("raw", "ready")
        assert await bench.text("deaf") == "deaf"
        with pytest.raises(ToolOutcomeUnknown, match="did not answer within"):
            await bench.call("echo")
        await bench.passes_until("raw", "away", clock)
        assert "did not list its tools in time" in bench.servers.state_of("raw").why
        await bench.passes_until("raw", "ready", clock)
        assert await bench.text("echo", "again") == '{"text": "again"}'


async def test_a_server_that_closes_its_input_is_started_again(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server(timeout=5)) as bench:
        await bench.until("raw", "ready")
        assert await bench.text("closes_input") == "closed"
        with pytest.raises(ToolOutcomeUnknown):
            await bench.call("echo")
        await wait_for(lambda: "closed its input" in bench.servers.state_of("raw").why)
        await bench.until("raw", "ready")
        assert await bench.text("echo", "again") == '{"text": "again"}'


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        ({"action": "accept", "content": {"sure": True}}, '{"action": "accept", "content": {"sure": true}}'),
        (None, '{"action": "decline"}'),
        ({"nonsense": 1}, '{"action": "decline"}'),
    ],
)
async def test_an_older_server_asks_during_an_open_call(
    tmp_path: Path, answer: Mapping[str, Any] | None, heard: str
) -> None:
    asked: list[Mapping[str, Any]] = []

    async def ask(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        asked.append(request)
        return answer

    async with connected(tmp_path, raw_server()) as bench:
        result = await bench.call("ask", ask=ask)
    assert result == ToolResult(text=heard)
    assert [(one["method"], one["params"]["message"]) for one in asked] == [("elicitation/create", "Sure?")]


async def test_a_question_that_nobody_answers_in_time_is_declined(tmp_path: Path) -> None:
    async def ask(request: Mapping[str, Any]) -> None:
        await asyncio.Event().wait()

    async with connected(tmp_path, raw_server(timeout=0.3)) as bench:
        await bench.until("raw", "ready")
        assert await bench.call("ask", ask=ask) == ToolResult(text='{"action": "decline"}')
        assert await bench.call("ask") == ToolResult(text='{"action": "decline"}')


async def test_a_newer_server_asks_by_its_result_and_goes_on_with_its_state(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server("modern")) as bench:
        needed = await bench.call("need_input")
        assert isinstance(needed, InputNeeded)
        assert needed.requests["sure"]["params"]["message"] == "Sure?"
        answers = {"sure": {"action": "accept", "content": {"yes": True}}}
        result = await bench.call("need_input", responses=answers, state=needed.state)
        assert result == ToolResult(text=json.dumps(answers))
        with pytest.raises(StateExpired):
            await bench.call("need_input", responses=answers, state="forgotten")
        with pytest.raises(ToolCallFailed, match="does not offer"):
            await bench.call("sample")


async def test_nothing_deprecated_is_offered_to_a_server(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    for era in ERAS:
        async with connected(tmp_path, raw_server(era, env={"HEARD": str(heard)})) as bench:
            await bench.text("echo")
    said = heard.read_text()
    assert '"elicitation"' in said
    assert not any(f'"{name}"' in said for name in ("sampling", "roots", "logging"))
