"""State of a tool server in one line, for the doctor, the health and the list of tools."""

from __future__ import annotations

from daemon.tools.tool_call import ServerState


def state_line(state: ServerState, *more: str) -> str:
    """Return state, protocol, `more`, and the calls so far; or what is wrong."""
    if state.state != "ready":
        return f"{state.state}: {state.why}".rstrip(": ")
    parts = [state.state, f"MCP {state.protocol}", *more]
    if state.calls:
        parts.append(f"{state.calls:,} calls, {state.failures:,} of them failed")
    if state.latency is not None:
        parts.append(f"the last one took {state.latency:.2g} s")
    return ", ".join(parts)
