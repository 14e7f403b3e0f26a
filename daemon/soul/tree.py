"""The threads under one root, as one of them sees them: its branches, its timers, and to whom it may write.

What it asks of the journal it asks as of the begin of its execution, so that each replay sees the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from daemon.engine.context import Context
from daemon.engine.event import Entry, Event, in_seq_order, of_kind, seqs_of
from daemon.engine.keys import root_of
from daemon.engine.kinds import QuestionWithdrawn, ThreadEnded, ThreadSpawned, WaitBegan
from daemon.engine.reading import JournalReader
from daemon.kinds import INNER, InternalMessage

E = TypeVar("E", bound=Event)
MOST_CHILDREN = 50
"""Branches of one thread, in all its time."""
MOST_BRANCHES = 100
"""Branches of a root with all under it, in all its time."""
LABEL = re.compile(r"[^a-z0-9]+")
LONGEST_LABEL = 40


class Branches:
    """Implements process.Tree, for one context of one execution. `depth`: how deep branches may go."""

    def __init__(self, ctx: Context, depth: int) -> None:
        self._ctx = ctx
        self._journal = ctx.execution.journal
        self._depth = depth
        self.thread = ctx.execution.thread
        self.root = root_of(self.thread)
        self.parent = ctx.execution.parent_thread
        self._since = ctx.execution.first.seq
        self._spawned: list[Entry[ThreadSpawned]] = []
        """Those that this run has begun, or read back."""

    # What there is

    @property
    def branches(self) -> Sequence[Entry[ThreadSpawned]]:
        """Those of this thread that had not ended, and those that it has begun since."""
        return [*self._open(ThreadSpawned), *self._spawned]

    @property
    def timers(self) -> Sequence[Entry[WaitBegan]]:
        """Its timers that had not fired."""
        return [wait for wait in self._open(WaitBegan) if "timer" in _note(wait)]

    @property
    def has_pending_waits(self) -> bool:
        """Will something come by itself: a branch's answer, or the time of a timer?"""
        return bool(self._watches or self.timers)

    @property
    def _watches(self) -> Sequence[Entry[WaitBegan]]:
        """Its waits for the answers of branches that had not come."""
        return [wait for wait in self._open(WaitBegan) if "branches" in _note(wait)]

    def has_thread(self, thread: str) -> bool:
        """Is there such a thread in this tree? Under the inner life each branch is a tree of its own."""
        if thread in (self.root, self.thread):
            return True
        if self.root == INNER and branch_of(thread) != branch_of(self.thread):
            return False  # begun in another view: what is known here may not be known there
        begun = self._begun(self._journal.tree_entries(self.root, ThreadSpawned))
        return thread in [spawned.event.thread for spawned in begun]

    def _begun(self, spawned: Sequence[Entry[ThreadSpawned]]) -> list[Entry[ThreadSpawned]]:
        """Those of these that were there as this execution began, and those that it has begun."""
        before = [entry for entry in spawned if entry.seq < self._since]
        return [*before, *self._spawned]

    def _open(self, kind: type[E]) -> list[Entry[E]]:
        """What of this thread was pending as its execution began."""
        closed = set[int]()
        for end in self._journal.tree_entries(
            self.root, ThreadEnded, QuestionWithdrawn, InternalMessage, since=self._since
        ):
            closed.update(end.closes)
        ended_since = of_kind(kind, self._journal.entries_at(sorted(closed)))
        here = [entry for entry in ended_since if entry.thread == self.thread]
        found = in_seq_order([*here, *self._journal.pending_entries(kind, thread=self.thread)])
        return [entry for entry in found if entry.seq < self._since]

    # Branches

    def refusal(self, wanted: int = 1) -> str:
        """Why so many more branches cannot be begun: "depth", "children", "branches"; empty: they can."""
        if self.thread.count(".") >= self._depth:
            return "depth"
        if self.thread == INNER:  # it has no end: only those count that are at work
            if len(self.branches) + wanted > MOST_CHILDREN:
                return "children"
            return ""
        children = self._begun(self._journal.thread_entries(self.thread, ThreadSpawned))
        if len(children) + wanted > MOST_CHILDREN:
            return "children"
        branches = self._begun(self._journal.tree_entries(self.root, ThreadSpawned))
        if len(branches) + wanted > MOST_BRANCHES:
            return "branches"
        return ""

    async def spawn(self, label: str, first: InternalMessage) -> Entry[ThreadSpawned]:
        """Begin a branch with this message. The core assigns its id, from this label where that is free."""
        spawned = await self._ctx.spawn(clean_label(label), first)
        self._spawned.append(spawned)
        return spawned

    async def await_answers(self, branches: Sequence[Entry[ThreadSpawned]], *, collect: bool) -> None:
        """What they come to will be a message to this thread: one each, or collected in one."""
        if collect:
            await self._watch(branches, collect)
            return
        for branch in branches:
            await self._watch([branch], collect)

    async def _watch(self, branches: Sequence[Entry[ThreadSpawned]], collect: bool) -> None:
        seqs = seqs_of(branches)
        note = {"branches": [branch.event.thread for branch in branches], "collect": collect}
        await self._ctx.watch(closed=seqs, note=note, name="answers")

    async def cancel(self) -> Sequence[str]:
        """Stop its branches, whose answers nobody waits for any more; the ids of these."""
        branches = self.branches
        watches = seqs_of(self._watches)
        if watches:
            await self._ctx.unwatch(watches)
        if branches:
            await self._ctx.cancel(branches, reason=f"{self.thread} has answered")
        return [branch.event.thread for branch in branches]

    async def end(self, text: str, status: str = "completed") -> None:
        """This branch has come to this; all under it is stopped."""
        await self._ctx.end_thread(text, status)

    # Messages and timers

    async def send(self, name: str, to: str, message: InternalMessage) -> bool:
        """A message to a thread of this tree; False where that has ended."""
        sent = await self._ctx.send(name, to, message)
        return sent.event.delivered

    async def set_timer(self, label: str, seconds: float) -> str:
        """This thread will hear of it in so many seconds; the id of the timer."""
        wait = await self._ctx.watch(within=seconds, note={"timer": label}, name="timer")
        return timer_id(wait)

    async def cancel_timer(self, id: str) -> bool:
        """Will it not fire? Not where there is none of this id."""
        found = [entry for entry in self.timers if timer_id(entry) == id]
        if found:
            await self._ctx.unwatch(seqs_of(found))
        return bool(found)


def branch_of(thread: str) -> str:
    """The branch of its root that a thread is, or stands under; of a root itself, the root."""
    return ".".join(thread.split(".")[:2])


def clean_label(label: str) -> str:
    """A label as it may stand in an id; one that leaves nothing is "branch"."""
    words = LABEL.sub("-", label.casefold()).strip("-")
    return words[:LONGEST_LABEL].strip("-") or "branch"


def timer_id(wait: Entry[WaitBegan]) -> str:
    """What a timer is called."""
    return f"timer-{wait.seq}"


def _note(wait: Entry[WaitBegan]) -> Mapping[str, Any]:
    """What is noted of a wait that nobody is suspended on."""
    note = wait.event.note
    if wait.event.resumes or not isinstance(note, Mapping):
        return {}
    return note


def watches_of_thread(journal: JournalReader, thread: str) -> Sequence[Entry[WaitBegan]]:
    """What a thread waits for beside its executions: answers of branches, and timers."""
    waits = journal.pending_entries(WaitBegan, thread=thread)
    return [wait for wait in waits if {"branches", "timer"} & _note(wait).keys()]


def results_of_branches(
    journal: JournalReader, wait: Entry[WaitBegan]
) -> Sequence[Entry[ThreadEnded] | None]:
    """How the branches that this waited for have ended, in their order."""
    return [journal.latest_of_kind(thread, ThreadEnded) for thread in wait.event.note["branches"]]
