"""The soul as an MCP server: its tools by the SDK, as an ASGI application.

A client never sees an exception: a fault is a sentence. Loading this module loads the SDK, for seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, ValidationError

from daemon.engine.exceptions import JournalError
from daemon.prompts.elements import clean_name_text
from daemon.tools.served_calls import ServedCallLog
from daemon.tools.served_tools import ServedCall, ServedCallRefused, ServedText, ServedTool, ServedWords

MOST_RESULT_CHARACTERS = 100_000

MOST_SESSIONS = 100
"""Most sessions of clients of the older protocol."""

MOST_NAMED_FAULTS = 5
"""Most faults of arguments that one sentence names."""

CLOSE_SECONDS = 5.0
"""Seconds in which the ends of cancelled calls are recorded at a stop."""

Context = ServerRequestContext[Any, Any]

log = logging.getLogger(__name__)


class SoulServer:
    """MCP server. `words` are texts for clients by name; `mask` removes secrets from results."""

    def __init__(
        self,
        name: str,
        tools: Sequence[ServedTool],
        words: ServedWords,
        calls: ServedCallLog,
        mask: Callable[[str], str],
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._words = words
        self._calls = calls
        self._mask = mask
        self._is_closing = False
        self._ends: set[asyncio.Task[None]] = set()
        server = Server(
            name,
            instructions=words.sentence("instructions"),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        self._manager = StreamableHTTPSessionManager(server, max_sessions=MOST_SESSIONS)
        self.application = self._manager.handle_request

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve inside the block. One task opens and closes the SDK's part, as that requires."""
        opened = asyncio.Event()
        running = asyncio.create_task(self._run(opened), name="MCP server")
        await opened.wait()
        try:
            yield
        finally:
            self.begin_close()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            if self._ends:
                await asyncio.wait(self._ends, timeout=CLOSE_SECONDS)

    def begin_close(self) -> None:
        """Take what ends from now on for no wish of a client: the soul goes on with it at the next start."""
        self._is_closing = True

    async def _run(self, opened: asyncio.Event) -> None:
        async with self._manager.run():
            opened.set()
            await asyncio.Event().wait()

    async def _list(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[self._tool_as_listed(tool) for tool in self._tools.values()])

    def _tool_as_listed(self, tool: ServedTool) -> Tool:
        return Tool(
            name=tool.name,
            description=self._words.sentence(tool.name),
            input_schema=tool.arguments.model_json_schema(),
            annotations=ToolAnnotations(read_only_hint=tool.reads, destructive_hint=False),
        )

    async def _call(self, context: Context, asked: CallToolRequestParams) -> CallToolResult:
        try:
            tool, arguments = self._checked(asked)
            if self._calls.has_reached_hourly_limit():
                limit = self._calls.limits.calls
                raise ServedCallRefused(self._words.sentence("too many calls", calls=limit))
            began = await self._calls.begin(
                tool.name, arguments.model_dump(exclude_defaults=True), _client_name(context)
            )
            async with _reporting(context) as report:
                call = ServedCall(entry=began, arguments=arguments, report=report)
                return await self._run_tool(tool, call)
        except ServedCallRefused as refusal:
            return _as_result(str(refusal), is_error=True)
        except JournalError:
            return _as_result(self._words.sentence("unwritable"), is_error=True)

    def _checked(self, asked: CallToolRequestParams) -> tuple[ServedTool, BaseModel]:
        tool = self._tools.get(asked.name)
        if tool is None:
            raise ServedCallRefused(self._words.sentence("unknown tool", tools=", ".join(self._tools)))
        try:
            return tool, tool.arguments.model_validate(asked.arguments or {})
        except ValidationError as error:
            faults = "; ".join(map(_fault, error.errors()[:MOST_NAMED_FAULTS]))
            raise ServedCallRefused(self._words.sentence("wrong arguments", faults=faults)) from None

    async def _run_tool(self, tool: ServedTool, call: ServedCall) -> CallToolResult:
        try:
            done = await tool.run(call)
        except asyncio.CancelledError:
            if not self._is_closing:
                self._in_background(self._cancel(call))
            raise
        except ServedCallRefused as refusal:
            return await self._finish(call, ServedText(text=str(refusal), outcome="refused"))
        except JournalError:
            raise
        except Exception:
            log.exception("The tool %s failed for an MCP client.", tool.name)
            return await self._finish(call, ServedText(text=self._words.sentence("failed"), outcome="failed"))
        return await self._finish(call, done)

    async def _finish(self, call: ServedCall, done: ServedText) -> CallToolResult:
        text = self._mask(done.text)
        if len(text) > MOST_RESULT_CHARACTERS:
            cut = self._words.sentence("cut", most=MOST_RESULT_CHARACTERS)
            text = f"{text[:MOST_RESULT_CHARACTERS]}{cut}"
        await self._calls.end(call.entry, done.outcome, len(text), done.thread)
        return _as_result(text, is_error=done.outcome in ("refused", "failed"))

    async def _cancel(self, call: ServedCall) -> None:
        try:
            for cancel in call.cancels:
                await cancel()
            await self._calls.end(call.entry, "cancelled")
        except JournalError as error:
            log.warning("Could not record that an MCP client cancelled its call: %s", error)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)


def _as_result(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)


def _fault(error: Any) -> str:
    place = ".".join(map(str, error["loc"])) or "arguments"
    return f"{clean_name_text(place)}: {error['msg']}"


def _client_name(context: Context) -> str:
    known = context.session.client_params
    return clean_name_text(known.client_info.name) if known else ""


@asynccontextmanager
async def _reporting(context: Context) -> AsyncIterator[Callable[[str], None]]:
    """Yield a function that sends the client a line, without waiting for it."""
    lines = asyncio.Queue[str]()

    async def send() -> None:
        number = 0
        while True:
            number += 1
            await context.session.report_progress(number, message=await lines.get())

    sending = asyncio.create_task(send())
    try:
        yield lines.put_nowait
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
