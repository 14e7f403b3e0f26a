"""Connections by the SDK of the Model Context Protocol; its import takes seconds."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from daemon.engine.event import storable_value
from daemon.lifetime import in_background
from daemon.sandbox.foreign_output import mask_given
from daemon.settings.home import VERSION
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.connection import ConnectionEnd, ConnectionFailed, ConnectionMeans, RawToolList
from daemon.tools.mcp_errors import FAILURES, LIST_TOO_LARGE, REFUSALS, explain_failure, quote, read_error
from daemon.tools.mcp_transports import open_transport
from daemon.tools.open_call import OpenCall
from daemon.tools.token_store import TokenStore
from daemon.tools.tool_call import (
    AskNow,
    InputNeeded,
    ToolCallFailed,
    ToolOutcomeUnknown,
    ToolRequest,
    ToolResult,
)
from daemon.tools.tool_results import read_contents, read_result

CLIENT = types.Implementation(name="soul", version=VERSION)

MOST_PAGES, MOST_TOOLS = 200, 20_000
"""Most pages and tools of a list; one without end is refused."""

LISTEN_PAUSE = 30.0
"""Seconds after which a lost stream of changes is opened again."""

TOOL_FIELDS = ("name", "description", "inputSchema", "outputSchema", "annotations")

TOOL_ERRORS = frozenset({types.METHOD_NOT_FOUND, types.INVALID_PARAMS, types.INTERNAL_ERROR})
"""Codes that say nothing of the connection."""

CALL_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)


@asynccontextmanager
async def open_connection(
    settings: ToolServerSettings, means: ConnectionMeans, changed: Callable[[], None]
) -> AsyncIterator[McpConnection]:
    """Open a connection for the block. Raises ConnectionFailed if it cannot be opened."""
    end = ConnectionEnd()
    connection = McpConnection(settings, means, changed, end)
    try:
        async with connection.opened(open_transport(settings, means, end)):
            yield connection
    except FAILURES as error:
        raise explain_failure(error, end.why, connection.secrets) from error


class McpConnection:
    """Connection to a server, over any transport and in both eras of the protocol."""

    def __init__(
        self,
        settings: ToolServerSettings,
        means: ConnectionMeans,
        changed: Callable[[], None],
        end: ConnectionEnd,
    ) -> None:
        self._settings = settings
        self._lasting_secrets = [*means.secrets, *settings.answer_secrets]
        self._tokens = TokenStore(means.private_files, settings.name, settings.url)
        self._changed = changed
        self._end = end
        self._tasks = set[asyncio.Task[Any]]()
        self._asking: dict[OpenCall, AskNow] = {}
        """Open calls that may ask people."""
        self._client: Client

    @property
    def secrets(self) -> Sequence[str]:
        """Texts that nothing of the server may show, as of now."""
        return [*self._lasting_secrets, *self._tokens.read().secrets]

    @asynccontextmanager
    async def opened(self, transport: Any) -> AsyncIterator[None]:
        """Open the client in the block's task, which alone may close it."""
        self._client = Client(
            transport,
            cache=None,
            client_info=CLIENT,
            message_handler=self._take_message,
            elicitation_callback=self._elicit,
        )
        async with self._client, in_background(self._listen()):
            yield

    @property
    def protocol(self) -> str:
        return self._client.protocol_version

    async def wait_until_lost(self) -> str:
        return await self._end.wait()

    async def list_tools(self) -> RawToolList:
        found: list[Mapping[str, Any]] = []
        cursor, ttl = None, 0
        try:
            for _ in range(MOST_PAGES):
                page = await self._client.session.list_tools(
                    params=types.PaginatedRequestParams(cursor=cursor) if cursor else None
                )
                found += await asyncio.to_thread(_tools_as_json, page.tools, self.secrets)
                cursor, ttl = page.next_cursor, page.ttl_ms or 0
                if len(found) > MOST_TOOLS:
                    break
                if not cursor:
                    return RawToolList(tools=found, ttl=ttl / 1_000)
        except (MCPError, ValidationError, RecursionError) as error:
            raise explain_failure(error, self._end.why, self.secrets) from error
        raise ConnectionFailed(LIST_TOO_LARGE)

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None
    ) -> ToolResult | InputNeeded:
        params = _call_params(request)
        open_call = OpenCall(self._settings.timeout, progress, self.secrets)
        if ask:
            self._asking[open_call] = ask
        try:
            result = await open_call.wait(self._send(params, open_call), self._tasks)
        except MCPError as error:
            return self._read_error(error, request)
        except TimeoutError:
            self._changed()  # a server that hangs answers no question for its list either, and is begun again
            why = f"{request.server} did not answer within {self._settings.timeout:g} s."
            raise ToolOutcomeUnknown(why) from None
        except (ValidationError, RecursionError):
            raise ToolOutcomeUnknown(f"{request.server} answered with what is no result.") from None
        finally:
            self._asking.pop(open_call, None)
        if isinstance(result, types.InputRequiredResult):
            return self._without_secrets(_input_needed(result, request))
        return self._masked(read_result(result))

    async def _send(
        self, params: types.CallToolRequestParams, open_call: OpenCall
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Send a call.

        `Client.call_tool` would check the result against the server's schema in the event loop, where a
        hostile pattern stops everything.
        """
        return await self._client.session.send_request(
            types.CallToolRequest(params=params), CALL_RESULT, progress_callback=open_call.take_progress
        )

    def _read_error(self, error: MCPError, request: ToolRequest) -> ToolResult | InputNeeded:
        if error.code == types.URL_ELICITATION_REQUIRED:
            needed = _urls_needed(error.data)
            if needed:
                return self._without_secrets(needed)
        if self._settings.url and error.code not in TOOL_ERRORS:
            self._changed()  # asking for the list shows whether the server is there
        return read_error(error, request, self.secrets)

    async def read_resource(self, uri: str) -> ToolResult:
        name = self._settings.name
        waiting = OpenCall(self._settings.timeout, lambda _: None)
        try:
            found = await waiting.wait(self._client.session.read_resource(uri), self._tasks)
        except MCPError as error:
            raise ToolCallFailed(f"{name} refused: {quote(error.message, self.secrets)}") from None
        except TimeoutError:
            raise ToolCallFailed(f"{name} did not answer in time.") from None
        except (ValidationError, RecursionError, RuntimeError):
            raise ToolCallFailed(f"{name} answered with what is no resource.") from None
        return self._masked(read_contents(found.contents))

    def _masked(self, result: ToolResult) -> ToolResult:
        return replace(result, text=mask_given(result.text, self.secrets))

    def _without_secrets(self, needed: InputNeeded) -> InputNeeded:
        """Return questions as people may read them; the server gets its state back as it was."""
        return replace(needed, requests=_masked_json(needed.requests, self.secrets))

    async def _take_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed()

    async def _listen(self) -> None:
        """Follow changes of the list on a connection of the newer era, where they come only if asked for."""
        if self.protocol in MODERN_PROTOCOL_VERSIONS:
            await follow_changes(self._client, self._changed)

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """Answer a question that an older server asks during an open call.

        The server does not say to which call it belongs, so it is asked only if one alone is open.
        """
        if len(self._asking) != 1:
            return types.ElicitResult(action="decline")
        [(open_call, ask)] = self._asking.items()
        asked = {"method": "elicitation/create", "params": _masked_json(_as_json(params), self.secrets)}
        try:
            async with asyncio.timeout(self._settings.timeout):
                answer = await open_call.pause(_answer(ask, asked))
            return types.ElicitResult.model_validate(answer or {"action": "decline"})
        except (TimeoutError, ValidationError):
            return types.ElicitResult(action="decline")


async def follow_changes(client: Client, changed: Callable[[], None], pause: float = LISTEN_PAUSE) -> None:
    """Tell of each change of the list, and of those that a lost stream may have missed.

    Returns if the server has no such stream.
    """
    while True:
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    changed()
        except SubscriptionLost:
            pass
        except MCPError as error:
            if error.code in REFUSALS:
                return
        await asyncio.sleep(pause)
        changed()


async def _answer(ask: AskNow, asked: Mapping[str, Any]) -> Any:
    answer = ask(asked)
    return await answer if inspect.isawaitable(answer) else answer


def _tools_as_json(tools: Sequence[types.Tool], secrets: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    dumped = map(_as_json, tools)
    listed = [storable_value({name: one[name] for name in TOOL_FIELDS if name in one}) for one in dumped]
    # names and schemas go back to the server, so they stay as they are
    return [{**one, "description": mask_given(one.get("description", ""), secrets)} for one in listed]


def _masked_json(value: Any, secrets: Sequence[str]) -> Any:
    """Return JSON with the secrets masked in its texts, and not in its keys."""
    if isinstance(value, str):
        return mask_given(value, secrets)
    if isinstance(value, Mapping):
        return {key: _masked_json(one, secrets) for key, one in value.items()}
    if isinstance(value, list):
        return [_masked_json(one, secrets) for one in value]
    return value


def _as_json(model: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped


def _call_params(request: ToolRequest) -> types.CallToolRequestParams:
    """Return the parameters of a call. Raises ToolCallFailed for answers that are none."""
    try:
        responses: dict[str, types.InputResponse] = {
            key: types.ElicitResult.model_validate(value) for key, value in request.responses.items()
        }
        return types.CallToolRequestParams(
            name=request.tool,
            arguments=storable_value(dict(request.arguments)),
            input_responses=responses or None,
            request_state=request.state,
        )
    except (ValidationError, RecursionError) as error:
        raise ToolCallFailed(f"The input for {request.server} does not fit.") from error


def _input_needed(result: types.InputRequiredResult, request: ToolRequest) -> InputNeeded:
    """Return the questions of a result. Raises ToolCallFailed for a request other than a question."""
    asked = {key: _as_json(one) for key, one in (result.input_requests or {}).items()}
    if any(one.get("method") != "elicitation/create" for one in asked.values()):
        raise ToolCallFailed(f"{request.server} asks for what the soul does not offer, such as sampling.")
    return InputNeeded(requests=storable_value(asked), state=result.request_state)


def _urls_needed(data: Any) -> InputNeeded | None:
    """Return the pages that an older server wants people to open before a call."""
    try:
        urls = types.ElicitationRequiredErrorData.model_validate(data).elicitations
    except (ValidationError, RecursionError):
        return None
    asked = {str(n): {"method": "elicitation/create", "params": _as_json(one)} for n, one in enumerate(urls)}
    return InputNeeded(requests=storable_value(asked)) if asked else None
