"""What the inner life may start besides the owner's programs: a train of thought, and a reading.

Each is a branch of its own thread, in open thought: what it comes to stands in the process log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from daemon.inner.carrying_out import CommandResult, TickContext
from daemon.ism import ActionRefused
from daemon.kinds import InternalMessage
from daemon.mind.payloads import make_element

LONGEST = 8_000
"""Characters of what a branch is begun with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchProgram:
    """One of them: what its slots are, and how a branch of it is begun."""

    slots: Sequence[str]
    first: Callable[[Mapping[str, str]], str]

    async def start(self, tick: TickContext, name: str, slots: Mapping[str, str]) -> CommandResult:
        """Begin it."""
        if set(slots) != set(self.slots):
            raise ActionRefused(f"{name} has the slots {', '.join(self.slots)}, and needs a value for each.")
        if not all(value.strip() for value in slots.values()):
            raise ActionRefused("A slot is empty: write what it is about.")
        if sum(map(len, slots.values())) > LONGEST:
            raise ActionRefused(f"At most {LONGEST:,} characters begin a branch.")
        tree = tick.turn.branches
        if tree.refusal():
            raise ActionRefused("Too many branches are at work. Wait until one of them has ended.")
        message = InternalMessage(sender=tree.thread, text=self.first(slots))
        branch = await tree.spawn(name, message)
        await tree.await_answers([branch], collect=False)
        return CommandResult(
            text=f"Process {branch.seq} ({name}) is started. You hear of it when it has ended."
        )


def _task(slots: Mapping[str, str]) -> str:
    return slots["task"]


def _reading(slots: Mapping[str, str]) -> str:
    """The action with which the branch begins."""
    asked = make_element("question", slots["question"])
    where = make_element("source", "folders") + make_element("names", slots["path"])
    return f"<ReadDeeply>{asked}{where}</ReadDeeply>"


def make_branch_programs(*, folders: bool) -> Mapping[str, BranchProgram]:
    """By name; without the owner's folders nothing can be read."""
    own = {"think": BranchProgram(slots=("task",), first=_task)}
    if folders:
        own["read"] = BranchProgram(slots=("question", "path"), first=_reading)
    return own
