"""Errors of the SDK and of transports as sentences, and as what they mean for a call."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import anyio
import httpx2
import mcp_types as types
from mcp.shared.exceptions import MCPError

from daemon.sandbox.foreign_output import mask_secrets, strip_control_text
from daemon.tools.connection import ConnectionFailed, ConsentNeeded
from daemon.tools.http_faults import FaultCode
from daemon.tools.http_transport import MOST_RESPONSE_BYTES, too_long
from daemon.tools.stdio_transport import OVERSIZED
from daemon.tools.tool_call import StateExpired, ToolCallFailed, ToolOutcomeUnknown, ToolRequest, ToolResult
from daemon.web.address_policy import AddressRefused

TOO_LARGE = (
    "The tool was called, but its result is too large (over 10 MB, or very many values) and was refused: "
    "ask for less at once."
)
LIST_TOO_LARGE = "Its list of tools is too large, and was refused."
NO_COMMAND = "Its command is not on this machine: install it, or correct mcp.json."

MOST_SAID = 500
"""Most characters of a server's own error text."""

REFUSALS = frozenset(
    {
        types.PARSE_ERROR,
        types.INVALID_REQUEST,
        types.METHOD_NOT_FOUND,
        types.INVALID_PARAMS,
        types.HEADER_MISMATCH,
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        types.UNSUPPORTED_PROTOCOL_VERSION,
    }
)
"""Codes with which a server refuses a request before it does anything."""

FAILURES = (
    *(ExceptionGroup, MCPError, ConnectionFailed, OSError, ValueError, RuntimeError, RecursionError),
    *(httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, anyio.BrokenResourceError),
    *(anyio.ClosedResourceError, AddressRefused),
)
"""Errors of the SDK and of transports that end a connection."""

UNREADABLE = (
    *("Failed to parse", "Unexpected content type", "server answered a request with 202"),
    "SSE stream failed",
)
"""Beginnings of the SDK's own errors for an answer that it cannot read; their codes are those of refusals."""

NO_ANSWER = frozenset({types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT})
"""Codes of the SDK for a call without an answer."""


def read_error(error: MCPError, request: ToolRequest, secrets: Collection[str]) -> ToolResult:
    """Return an error as a result, if the server answered with it after it began.

    Raises ToolCallFailed, StateExpired, ToolOutcomeUnknown.
    """
    said = quote(error.message, secrets)
    if error.code == OVERSIZED or too_long(request.server, MOST_RESPONSE_BYTES) in error.message:
        return ToolResult(text=TOO_LARGE, is_error=True)
    if error.code in (FaultCode.NOT_DONE, FaultCode.NEEDS_CONSENT):
        raise ToolCallFailed(said)
    if error.code == FaultCode.UNCLEAR:
        raise ToolOutcomeUnknown(said)
    if error.message.startswith(UNREADABLE):
        raise ToolOutcomeUnknown(f"{request.server} answered with what cannot be read.")
    if error.code in NO_ANSWER:
        raise ToolOutcomeUnknown(f"The connection to {request.server} was lost before it answered.")
    if error.code in REFUSALS and is_about_state(error, request):
        raise StateExpired(f"{request.server} no longer knows this call, so it has to begin anew.")
    if error.code in REFUSALS:
        raise ToolCallFailed(f"{request.server} refused the call: {said}")
    return ToolResult(text=f"{request.server} answered with an error ({error.code}): {said}", is_error=True)


def is_about_state(error: MCPError, request: ToolRequest) -> bool:
    """True if a server refuses the state with which a call goes on."""
    if request.state is None:
        return False
    return "state" in error.message.lower() or "request_state" in str(error.data)


def quote(text: str, secrets: Collection[str]) -> str:
    """Return a server's own text for a sentence: one line, bounded, without secrets."""
    line = " ".join(strip_control_text(text).split())
    return mask_secrets(line, secrets)[:MOST_SAID] or "without a reason"


def explain_failure(error: BaseException, why: str, secrets: Collection[str]) -> ConnectionFailed:
    """Return why a connection could not be opened or was lost; `why` is known of its end, or empty."""
    for one in leaves(error):
        match one:
            case ConnectionFailed():
                return one
            case FileNotFoundError():
                return ConnectionFailed(NO_COMMAND)
            case TimeoutError():
                return ConnectionFailed("It did not answer in time.")
            case MCPError() if one.code == FaultCode.NEEDS_CONSENT:
                return ConsentNeeded(quote(one.message, secrets))
            case MCPError() if one.code in (FaultCode.NOT_DONE, FaultCode.UNCLEAR):
                return ConnectionFailed(quote(one.message, secrets))
            case MCPError() if one.code == OVERSIZED:
                return ConnectionFailed(LIST_TOO_LARGE)
            case MCPError() if one.code in NO_ANSWER:
                return ConnectionFailed(why or "It ended the connection.")
            case MCPError():
                return ConnectionFailed(f"It refused: {quote(one.message, secrets)}")
            case httpx2.TransportError():
                return ConnectionFailed(f"It cannot be reached ({type(one).__name__}).")
            case OSError():
                return ConnectionFailed(f"It cannot be started ({one.strerror}).")
    return ConnectionFailed(why or "It does not speak MCP as expected: see its log.")


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group, or the error itself."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from leaves(one)
    else:
        yield error
