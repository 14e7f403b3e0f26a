"""Standing approvals as people see them: numbered, listed, taken back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from daemon.engine.event import Entry
from daemon.kinds import StandingApproval
from daemon.tools.tool_catalogue import ToolCatalogue

TAKEN_BACK = "taken back"
"""Reason for which a standing approval ends: a meaning of a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedApproval:
    """A standing approval in force. Its number never changes, and no other one gets it."""

    number: int
    entry: Entry[StandingApproval]

    @property
    def tool(self) -> str:
        return self.entry.event.tool

    @property
    def channel(self) -> str:
        return self.entry.event.channel

    @property
    def by(self) -> str:
        return self.entry.event.by


def numbered_approvals(catalogue: ToolCatalogue) -> Sequence[NumberedApproval]:
    """Return the standing approvals in force; the first one ever given has the number 1."""
    return [
        NumberedApproval(number=catalogue.number_of(entry), entry=entry)
        for entry in catalogue.standing_approvals()
    ]


def visible_approvals(
    catalogue: ToolCatalogue, person: str, channel: str, owners: Collection[str]
) -> Sequence[NumberedApproval]:
    """Return what a person may see in a channel: its approvals and the person's own; owners see all."""
    return [
        one
        for one in numbered_approvals(catalogue)
        if person in owners or one.by == person or one.channel == channel
    ]


def may_take_back(approval: NumberedApproval, person: str, owners: Collection[str]) -> bool:
    """True for owners and whoever gave the approval."""
    return person in owners or approval.by == person


async def take_back(catalogue: ToolCatalogue, approval: NumberedApproval, by: str) -> None:
    """Record that somebody took a standing approval back."""
    await catalogue.end_standing(approval.entry, TAKEN_BACK, by)
