"""Catalogue of the tools of MCP servers: recorded lists, consents and standing approvals, as of an entry.

The journal alone says which tools there are, so that a replay sees those of its turn. The first list of a
server is taken as it is; later, a tool that an untrusted server adds or changes waits for an owner.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Any

from daemon.engine.event import Entry, Event, digest
from daemon.engine.journal.journal import Journal, Projection
from daemon.engine.journal.reader import ALWAYS
from daemon.kinds import (
    TOOLS,
    RecordedTool,
    StandingApproval,
    StandingApprovalEnded,
    ToolAccepted,
    ToolsListed,
)
from daemon.settings.mcp_servers import APPROVE_WRITES, ApprovalRule, ToolServerSettings
from daemon.tools.tool_definitions import is_allowed_by, read_tool_list

CHANGED = "definition changed"
REMOVED = "server removed"
"""Reasons for which a standing approval ends: meanings of labels."""

MOST_CACHED = 8
"""States of the catalogue that are kept at hand."""

READ_ONLY, IDEMPOTENT = "readOnlyHint", "idempotentHint"
"""Annotations of a tool, by their names in the protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """The owner's rules for the tools of a server, as recorded with its list."""

    trusted: bool = False
    approval: Sequence[tuple[str, ApprovalRule]] = APPROVE_WRITES
    approvers: Sequence[str] = ("owner",)
    channels: Sequence[str] = ()
    outsiders: bool = False
    timeout: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool that may be offered, as recorded with the entry `seq`."""

    server: str
    tool: RecordedTool
    rules: ToolRules
    seq: int

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def is_read_only(self) -> bool:
        """True if a trusted server says that the tool changes nothing."""
        return self.rules.trusted and self.tool.annotations.get(READ_ONLY) is True

    @property
    def is_repeatable(self) -> bool:
        """True if a trusted server says that a second call does no harm."""
        return self.is_read_only or (self.rules.trusted and self.tool.annotations.get(IDEMPOTENT) is True)

    @property
    def approval(self) -> ApprovalRule:
        """The owner's rule for this tool; the first glob that fits it decides."""
        for glob, rule in self.rules.approval:
            if fnmatchcase(self.tool.tool, glob):
                return rule
        return "writes"

    @property
    def asks_first(self) -> bool:
        """True if a call needs somebody's approval."""
        match self.approval:
            case "always":
                return True
            case "never":
                return False
        return not self.is_read_only


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingTool:
    """A tool that waits for an owner; `before` is the definition last offered, None for a new one."""

    offered: OfferedTool
    before: RecordedTool | None


def rules_as_json(settings: ToolServerSettings) -> Mapping[str, Any]:
    return {
        "trusted": settings.trusted,
        "approval": [[glob, rule] for glob, rule in settings.approval],
        "approvers": list(settings.approvers),
        "channels": list(settings.channels),
        "outsiders": settings.outsiders,
        "timeout": settings.timeout,
    }


def read_rules(recorded: Mapping[str, Any]) -> ToolRules:
    """Return recorded rules; those that are missing have their defaults."""
    names = [field.name for field in fields(ToolRules)]
    known: dict[str, Any] = {name: recorded[name] for name in names if name in recorded}
    if "approval" in known:
        known["approval"] = tuple((glob, rule) for glob, rule in known["approval"])
    return ToolRules(**known)


class ToolCatalogue(Projection):
    """Tools that may be offered as of an entry, and what people allow."""

    kinds = (ToolsListed, ToolAccepted, StandingApproval, StandingApprovalEnded)
    holds_words = False

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self._recording = asyncio.Lock()
        """Held while a list is compared with the recorded one, and recorded."""
        self.recorded = asyncio.Event()
        """Set when a list or a consent was recorded."""

    def _reset(self) -> None:
        self._lists: dict[str, list[Entry[ToolsListed]]] = {}
        """Recorded lists by server, in the order of the journal."""
        self._definitions: dict[str, list[tuple[int, RecordedTool]]] = {}
        """Definitions of each tool, with the seq of the first of the lists in which they stood in a row."""
        self._accepted: dict[tuple[str, str], int] = {}
        """Seq since which a tool with this digest may be offered, by (name, digest)."""
        self._standing: dict[int, Entry[StandingApproval]] = {}
        """Standing approvals in force by seq."""
        self._numbers: dict[int, int] = {}
        """Numbers of all that were ever given, by seq."""
        self._changes: list[int] = []
        """Seqs of entries that change which tools are offered."""
        self._offered: dict[int, Mapping[str, OfferedTool]] = {}
        """Tools offered after so many of these changes."""

    def _fold_entry(self, entry: Entry[Any]) -> None:
        match entry.event:
            case ToolsListed() as listed:
                self._changes.append(entry.seq)
                known = self._lists.setdefault(listed.server, [])
                if not known or read_rules(listed.rules).trusted:
                    for tool in listed.tools:
                        self._accepted.setdefault((tool.name, tool.digest), entry.seq)
                known.append(entry)
                for tool in listed.tools:
                    definitions = self._definitions.setdefault(tool.name, [])
                    if not definitions or definitions[-1][1].digest != tool.digest:
                        definitions.append((entry.seq, tool))
            case ToolAccepted(tool=tool, digest=accepted):
                self._changes.append(entry.seq)
                self._accepted.setdefault((tool, accepted), entry.seq)
            case StandingApproval():
                self._standing[entry.seq] = entry
                self._numbers[entry.seq] = len(self._numbers) + 1
            case StandingApprovalEnded(approval=seq):
                self._standing.pop(seq, None)

    # Tools

    def offered(self, seq: int = ALWAYS) -> Mapping[str, OfferedTool]:
        """Return the tools that may be offered to a turn that began with the entry `seq`, by safe name."""
        self.fold()
        changes = bisect_left(self._changes, seq)
        if changes not in self._offered:
            if len(self._offered) >= MOST_CACHED:
                self._offered.pop(next(iter(self._offered)))
            tools = [tool for tool in self._listed(seq) if self._is_accepted(tool, seq)]
            self._offered[changes] = {tool.name: tool for tool in tools}
        return self._offered[changes]

    def newest(self, name: str) -> OfferedTool | None:
        """Return the tool of this safe name as offered now."""
        return self.offered().get(name)

    def lists(self, seq: int = ALWAYS) -> Sequence[Entry[ToolsListed]]:
        """Return the last list of each server before the entry `seq`; that of a removed one has no rules."""
        self.fold()
        found = []
        for server in sorted(self._lists):
            place = bisect_left(self._lists[server], seq, key=attrgetter("seq"))
            if place:
                found.append(self._lists[server][place - 1])
        return found

    def waiting(self, server: str = "") -> Sequence[WaitingTool]:
        """Return the tools, of one server or all, that wait for an owner's consent."""
        return [
            WaitingTool(offered=tool, before=self.last_accepted(tool.name, tool.seq))
            for tool in self._listed(ALWAYS)
            if server in ("", tool.server) and not self._is_accepted(tool, ALWAYS)
        ]

    def last_accepted(self, name: str, before: int) -> RecordedTool | None:
        """Return the definition of a tool as last offered before an entry; None if it never was."""
        self.fold()
        for seq, tool in reversed(self._definitions.get(name, ())):
            if seq < before and self._accepted.get((name, tool.digest), ALWAYS) < before:
                return tool
        return None

    def has_server_of(self, name: str) -> bool:
        """True if a name begins with that of a server that is known."""
        self.fold()
        return name.partition(".")[0] in self._lists

    def first_list(self, server: str) -> int:
        """Return the seq of the first list of a server that is known."""
        self.fold()
        return self._lists[server][0].seq

    def list_at(self, server: str, seq: int) -> Entry[ToolsListed] | None:
        """Return the list of a server that this entry is; None if it is none."""
        self.fold()
        found = [entry for entry in self._lists.get(server, ()) if entry.seq == seq]
        return found[0] if found else None

    def _listed(self, seq: int) -> Iterator[OfferedTool]:
        for listed in self.lists(seq):
            rules = read_rules(listed.event.rules)
            for tool in listed.event.tools:
                yield OfferedTool(server=listed.event.server, tool=tool, rules=rules, seq=listed.seq)

    def _is_accepted(self, tool: OfferedTool, seq: int) -> bool:
        return self._accepted.get((tool.name, tool.tool.digest), ALWAYS) < seq

    # Standing approvals

    def standing_approvals(self) -> Sequence[Entry[StandingApproval]]:
        """Return the standing approvals in force, in order."""
        self.fold()
        return [self._standing[seq] for seq in sorted(self._standing)]

    def number_of(self, approval: Entry[StandingApproval]) -> int:
        """Return the number of a standing approval, from 1 in the order in which they were given."""
        self.fold()
        return self._numbers[approval.seq]

    def standing_for(self, tool: OfferedTool, channel: str) -> Sequence[Entry[StandingApproval]]:
        """Return the standing approvals of a tool, as it is now, in a channel."""
        asked = (tool.name, tool.tool.digest, channel)
        return [
            entry
            for entry in self.standing_approvals()
            if (entry.event.tool, entry.event.digest, entry.event.channel) == asked
        ]

    async def end_standing(self, approval: Entry[StandingApproval], why: str, by: str = "") -> None:
        """Record the end of a standing approval; `by` took it back."""
        event = StandingApprovalEnded(approval=approval.seq, why=why, by=by)
        await self._append(event, f"allowance-ended:{approval.seq}", cause=approval.seq)

    async def accept(self, tool: str, digest: str, by: str, cause: int | None = None) -> None:
        """Record an owner's consent to a tool with this digest."""
        event = ToolAccepted(tool=tool, digest=digest, by=by)
        await self._append(event, f"accepted:{tool}:{digest}", cause=cause)
        self.recorded.set()

    # Recording

    async def record_list(self, settings: ToolServerSettings, protocol: str, raw: Sequence[Any]) -> None:
        """Record a server's tools, given as JSON, unless the last list of the server says the same."""
        listing = await asyncio.to_thread(read_tool_list, settings, raw)
        listed = ToolsListed(
            server=settings.name,
            protocol=protocol,
            rules=rules_as_json(settings),
            tools=tuple(listing.tools),
            left_out=listing.left_out,
        )
        await self._record(listed)

    async def record_settings(self, servers: Mapping[str, ToolServerSettings]) -> None:
        """Record changed rules for servers that may be away, and the removal of those not in `servers`."""
        for entry in self.lists():
            known = entry.event
            settings = servers.get(known.server)
            if settings is None:
                await self._record(ToolsListed(server=known.server))
            elif known.rules:  # a server that was removed and is back has to list its tools first
                tools = tuple(tool for tool in known.tools if is_allowed_by(settings, tool.tool))
                await self._record(replace(known, rules=rules_as_json(settings), tools=tools))

    async def _record(self, listed: ToolsListed) -> None:
        async with self._recording:
            self.fold()
            known = self._lists.get(listed.server, [])
            key = f"tools:{listed.server}:{_digest_of(listed)}"
            same = [entry for entry in known if entry.key == key or entry.key.startswith(f"{key}:")]
            if same and same[-1] is known[-1]:
                return
            await self._append(listed, f"{key}:{len(same) + 1}" if same else key)
            for approval in self.standing_approvals():
                why = _why_ended(approval.event, listed)
                if why:
                    await self.end_standing(approval, why)
        self.recorded.set()

    async def _append(self, event: Event, key: str, cause: int | None = None) -> None:
        await self.journal.append(TOOLS, event, key=key, author="core", cause=cause)


def _digest_of(listed: ToolsListed) -> str:
    """Return a digest of a list by the digests of its tools: the whole of a long one takes a second."""
    tools = [(tool.name, tool.tool, tool.digest) for tool in listed.tools]
    return digest([listed.protocol, listed.rules, listed.left_out, tools])


def _why_ended(approval: StandingApproval, listed: ToolsListed) -> str:
    """Return the reason for which a new list ends a standing approval; empty if it does not."""
    if approval.tool.partition(".")[0] != listed.server:
        return ""
    if not listed.rules:
        return REMOVED
    for tool in listed.tools:
        if tool.name == approval.tool and tool.digest != approval.digest:
            return CHANGED
    return ""
