"""MCP servers that the owner configured in mcp.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

ApprovalRule = Literal["writes", "always", "never"]
"""Rule of asking before a call: unless the tool only reads, each time, or never."""

APPROVE_WRITES: Sequence[tuple[str, ApprovalRule]] = (("*", "writes"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServerSettings:
    """An MCP server as configured: a `url` (streamable HTTP) or a `command` (stdio), and our rules for it.

    `allow` and `deny` are globs over the server's own tool names; deny wins. `approval` maps globs to rules,
    the first match wins. `approvers` are "owner", "asker" and user groups `S…`. `channels` are names or ids,
    or "dm"; all if empty. Timeouts are in seconds. Values of `headers` and `env` are secrets.
    """

    name: str
    url: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    trusted: bool = False
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    approval: Sequence[tuple[str, ApprovalRule]] = APPROVE_WRITES
    approvers: tuple[str, ...] = ("owner",)
    channels: tuple[str, ...] = ()
    outsiders: bool = False
    timeout: float = 60.0
    start_timeout: float = 60.0
    sandbox: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServersFile:
    """The servers of mcp.json by name, remarks about ignored keys, and faults; servers with faults are
    left out.
    """

    servers: Mapping[str, ToolServerSettings] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    faults: Sequence[str] = ()
