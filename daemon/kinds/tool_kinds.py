"""Kinds for tools of MCP servers: their recorded lists, and what people allow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from daemon.engine.event import Event, StepEvent

TOOLS = "tools"
"""The thread of everything about tools that belongs to no conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTool:
    """A tool as its server defined it; `name` is `server.tool`, made safe, `tool` the server's own name.

    The description has no invisible characters; `invisible` counts those removed. `digest` covers name,
    description, both schemas and annotations as the server sent them. `sent` is all that as text, with the
    invisible characters as escapes; empty if there are none.
    """

    name: str
    tool: str
    description: str
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)
    digest: str
    invisible: int = 0
    sent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsListed(Event):
    """The tools of an MCP server, sorted by name; its key is `tools:{server}:{digest}`, with a number if it
    comes again.

    `rules` are the owner's as of then: trusted, approval, approvers, channels, outsiders, timeout.
    `left_out`: names of tools that cannot be offered, with the reason.
    """

    kind = "tools-listed"
    stays: ClassVar[tuple[str, ...]] = ("server", "protocol", "rules", "tools", "left_out")
    server: str
    protocol: str = ""
    rules: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[RecordedTool, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    def line(self) -> str:
        return f"{self.server}: {len(self.tools)} tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServerPlaced(Event):
    """The machine that runs a tool server from now on, and the worker id of its daemon."""

    kind = "server-placed"
    stays: ClassVar[tuple[str, ...]] = ("server", "machine", "daemon")
    server: str
    machine: str
    daemon: int

    def line(self) -> str:
        return f"{self.server} on {self.machine}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAccepted(Event):
    """An owner's consent to a tool that an untrusted server added or changed."""

    kind = "tool-accepted"
    stays: ClassVar[tuple[str, ...]] = ("tool", "digest", "by")
    tool: str
    digest: str
    by: str

    def line(self) -> str:
        return self.tool


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingApproval(Event):
    """A tool with this digest that may be called in this channel without asking, as `by` allowed."""

    kind = "tool-allowed"
    stays: ClassVar[tuple[str, ...]] = ("tool", "digest", "channel", "by")
    tool: str
    digest: str
    channel: str
    by: str

    def line(self) -> str:
        return f"{self.tool} in {self.channel}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingApprovalEnded(Event):
    """The end of a standing approval (its seq); `by` is empty if nobody took it back."""

    kind = "tool-allowance-ended"
    stays: ClassVar[tuple[str, ...]] = ("approval", "why", "by")
    approval: int
    why: str
    by: str = ""

    def line(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInDoubt(StepEvent):
    """A call of a tool for `people` with an unknown outcome. `settled`: a later call has a known one."""

    kind = "tool-in-doubt"
    stays: ClassVar[tuple[str, ...]] = ("tool", "people", "settled")
    tool: str
    people: tuple[str, ...] = ()
    settled: bool = False

    def line(self) -> str:
        return f"{self.tool}: {'settled' if self.settled else 'outcome unknown'}"


ToolRefusal = Literal["away", "changed", "gone", "not linked"]
"""Reason for which a chosen tool is not called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNotCalled(StepEvent):
    """A chosen tool that was not called, as of then: its server is away, its definition was changed or taken
    back, or the resource was never linked. `text` is for the model.
    """

    kind = "tool-not-called"
    stays: ClassVar[tuple[str, ...]] = ("tool", "code")
    tool: str
    code: ToolRefusal
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCallBegan(Event):
    """A call of a tool that the soul offers as an MCP server. `client` is what the client calls itself."""

    kind = "mcp-call"
    stays: ClassVar[tuple[str, ...]] = ("tool", "client")
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    client: str = ""

    def line(self) -> str:
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False)}"


ServedOutcome = Literal["ok", "unfinished", "cancelled", "refused", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCallEnded(Event):
    """The end of a call of an MCP client, which got `characters`; `thread` is the conversation of an `ask`.

    `unfinished`: its time was over, and the soul goes on.
    """

    kind = "mcp-call-ended"
    stays: ClassVar[tuple[str, ...]] = ("thread",)
    outcome: ServedOutcome
    thread: str = ""
    characters: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        return f"{self.outcome}, {self.characters} characters"
