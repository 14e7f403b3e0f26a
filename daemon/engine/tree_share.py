"""Share of the trees of threads (a root and its branches) whose turns a worker takes.

One worker alone takes all. Where several share a journal, each tree is one worker's at a time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import NamedTuple, Protocol

RunTree = Callable[[str], Awaitable[int]]
"""Take the turns of the tree with this root until none of its threads can go on.

Returns the id of a worker that keeps the tree in memory, if another one does; else 0.
"""


class WorkerName(NamedTuple):
    """Name of a worker beside others: its machine, and its id there."""

    machine: str
    id: int


class TreeShare(Protocol):
    """Share of one worker.

    `name` is None for a worker that takes all trees. `follows`: others write to the journal, too. `is_sure`:
    nobody can count this worker as dead now.
    """

    @property
    def name(self) -> WorkerName | None: ...

    @property
    def follows(self) -> bool: ...

    @property
    def is_sure(self) -> bool: ...

    def may_take(self, thread: str) -> bool:
        """True if this worker may take turns of the thread's tree now."""

    def note_busy(self, thread: str, *, keeps: bool = False) -> None:
        """Note that a tree that this worker does not hold can go on; `keeps`: in this worker's memory."""

    def take_no_more(self) -> None:
        """Leave further trees to others: this worker ends."""

    def serve(self, run_tree: RunTree) -> AbstractAsyncContextManager[object]:
        """Run the trees of this share until the end of the context."""

    async def find_dead(self, workers: Collection[WorkerName]) -> Collection[WorkerName]:
        """Return those of these workers that were counted as dead."""


def always_sure() -> bool:
    return True


class AllTrees:
    """Share of a worker that takes the turns of all trees."""

    name: WorkerName | None = None

    def __init__(self, is_sure: Callable[[], bool] = always_sure, *, follows: bool = False) -> None:
        self._is_sure = is_sure
        self.follows = follows

    @property
    def is_sure(self) -> bool:
        return self._is_sure()

    def may_take(self, thread: str) -> bool:
        return True

    def note_busy(self, thread: str, *, keeps: bool = False) -> None:
        """Do nothing: this worker starts what it finds."""

    def take_no_more(self) -> None:
        """Do nothing: there are no others."""

    def serve(self, run_tree: RunTree) -> AbstractAsyncContextManager[object]:
        return nullcontext()

    async def find_dead(self, workers: Collection[WorkerName]) -> Collection[WorkerName]:
        return ()
