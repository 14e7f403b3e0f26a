"""The process log: what runs, what has ended and how, which commands failed, until it is dealt with.

A fold over commands, programs and branches of the inner life's own thread. HMP seed, section 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from daemon.engine.event import Entry, Event
from daemon.engine.keys import execution_of
from daemon.engine.kinds import ThreadEnded, ThreadSpawned
from daemon.kinds import INNER, CommandRan, ProgramEnded, ProgramStarted, ProgramStopRequested, Status
from daemon.knowledge.projection import Projection

MARK_COMMAND = "process.mark"
CLEANUP_COMMAND = "cleanup.process_log"
MOST_FAILED = 100
"""Failed commands that wait to be dealt with; of more, the oldest are let go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A program or a branch. `id` is the seq of the entry that began it, `view` in whose sight that was.

    `ended` is None as long as it runs, `ended_by` the seq of the entry that ended it; `result` is all of its
    output that anybody is shown. `stopping`: it was asked to end. The view of a branch is its own thread, in
    whose sight nobody is, until the command that began it is recorded.
    """

    id: int
    name: str
    status: Status = "in_progress"
    view: str = ""
    began: float
    ended: float | None = None
    ended_by: int = 0
    result: str = ""
    slots: Mapping[str, str] = field(default_factory=dict)
    branch: bool = False
    stopping: bool = False


class ProgramLog(Projection):
    """All processes but those that were dealt with and cleaned up, and branches that were forgotten; and the
    commands that failed, each kind of failure once, until they are dealt with."""

    kinds: ClassVar[tuple[type[Event], ...]] = (
        ProgramStarted,
        ProgramEnded,
        ProgramStopRequested,
        CommandRan,
        ThreadSpawned,
        ThreadEnded,
    )

    def processes(self, knows: Callable[[str, int], bool]) -> Sequence[ProgramRun]:
        """Those that were not dealt with yet, in order, of those that may be known."""
        return [one for one in self._all.values() if one.status != "close" and knows(one.view, one.id)]

    def failed(self, knows: Callable[[str, int], bool]) -> Sequence[Entry[CommandRan]]:
        """The commands that failed and were not dealt with yet, in order, of those that may be known."""
        return [one for one in self._failed.values() if knows(one.event.view, one.seq)]

    def get(self, id: int) -> ProgramRun | None:
        """The process of this id, also one that was dealt with; None where there is none any more."""
        return self._all.get(id)

    def all(self) -> Sequence[ProgramRun]:
        """Those that were dealt with, too."""
        return [*self._all.values()]

    def _reset(self) -> None:
        self._all: dict[int, ProgramRun] = {}
        self._unplaced: dict[str, list[int]] = {}
        """Branches whose view is not known yet, by the execution that began them."""
        self._failed: dict[int, Entry[CommandRan]] = {}

    def _fold_entry(self, entry: Entry[Any]) -> None:
        match entry.event:
            case ProgramStarted() as started:
                self._all[entry.seq] = ProgramRun(
                    id=entry.seq,
                    name=started.name,
                    view=started.view,
                    began=entry.at,
                    slots=started.slots,
                )
            case ProgramEnded() as ended:
                self._end(entry, ended.process, ended.status, ended.result)
            case ProgramStopRequested() as stop:
                self._change(stop.process, stopping=True)
            case ThreadSpawned() as spawned if entry.thread == INNER and not entry.forgotten:
                self._branch(entry, spawned)
            case ThreadEnded() as thread_ended:
                self._end_branch(entry, thread_ended)
            case CommandRan() as ran:
                self._command(entry, ran)

    def _branch(self, entry: Entry[Any], spawned: ThreadSpawned) -> None:
        seq = entry.seq
        name = spawned.thread.removeprefix(f"{INNER}.")
        self._all[seq] = ProgramRun(id=seq, name=name, view=spawned.thread, began=entry.at, branch=True)
        self._unplaced.setdefault(execution_of(entry.key), []).append(seq)

    def _end_branch(self, entry: Entry[Any], ended: ThreadEnded) -> None:
        status: Status = "error"
        if ended.status == "completed":
            status = "ok"
        result = ""
        if isinstance(ended.result, str):
            result = ended.result
        for seq in entry.closes:
            if seq in self._all and self._all[seq].branch:
                self._end(entry, seq, status, result)

    def _end(self, entry: Entry[Any], seq: int, status: Status, result: str) -> None:
        self._change(seq, status=status, ended=entry.at, ended_by=entry.seq, result=result)

    def _command(self, entry: Entry[Any], ran: CommandRan) -> None:
        for seq in self._unplaced.pop(execution_of(entry.key), ()):
            self._change(seq, view=ran.view)
        if not ran.ok:
            if ran.stays_open and not (ran.taken_from or entry.forgotten):
                self._fail(entry)
            return
        if ran.name == MARK_COMMAND:
            self._mark(ran.args.get("id"))
        elif ran.name == CLEANUP_COMMAND:
            self._all = {seq: one for seq, one in self._all.items() if one.status != "close"}

    def _fail(self, entry: Entry[CommandRan]) -> None:
        """Add a failed command, in the place of one that failed before in the very same way."""
        for seq, one in [*self._failed.items()]:
            if _alike(one.event, entry.event):
                del self._failed[seq]
        self._failed[entry.seq] = entry
        while len(self._failed) > MOST_FAILED:
            self._failed.pop(min(self._failed))

    def _mark(self, id: object) -> None:
        """This one is dealt with, if it is one that has ended or failed: a later version may name others."""
        if isinstance(id, int):
            self._failed.pop(id, None)
        if isinstance(id, int) and id in self._all and self._all[id].ended is not None:
            self._change(id, status="close")

    def _change(self, seq: int, **fields: Any) -> None:
        if seq in self._all:
            self._all[seq] = replace(self._all[seq], **fields)


def _alike(one: CommandRan, other: CommandRan) -> bool:
    """Return True if both failed in the very same way, in sight of the same conversation."""
    return (one.view, one.name, one.args, one.text) == (other.view, other.name, other.args, other.text)
