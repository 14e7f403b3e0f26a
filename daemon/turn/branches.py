"""The threads under one root, as one of them sees them: its branches, its timers, and to whom it may write.

What it asks of the journal it asks as of the begin of its execution, so that each replay sees the same.

What the end of a wait becomes for a thread of the soul: a reminder, a branch's answer, a timer's time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from daemon.engine.event import Entry, Event, Input, in_seq_order, of_kind, seqs_of
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import (
    EntryMatch,
    InputsReceived,
    QuestionWithdrawn,
    ThreadEnded,
    ThreadSpawned,
    WaitBegan,
    WaitEnded,
)
from daemon.kinds import (
    INNER,
    INNER_WAIT,
    REMINDER,
    InternalMessage,
    QuestionAnswered,
    ReminderFired,
    SelfCall,
    SharedFile,
    SystemMessage,
    TickDue,
)
from daemon.kinds.conversation_kinds import TIMER_FIRED
from daemon.prompts.elements import make_element
from daemon.settings.limits import ITERATIONS
from daemon.turn.input_policy import last_message_seq
from daemon.turn.turn import Turn
from daemon.turn.usage_limits import resets_limit

E = TypeVar("E", bound=Event)


MOST_CHILDREN = 50
"""Branches of one thread, in all its time."""


MOST_BRANCHES = 100
"""Branches of a root with all under it, in all its time."""


LABEL = re.compile(r"[^a-z0-9]+")


LONGEST_LABEL = 40


class Branches:
    """The threads under one root, as the thread of a turn sees them: its branches, timers and messages."""

    def __init__(self, turn: Turn) -> None:
        self._ctx = turn.ctx
        self._journal = turn.journal
        self._depth = turn.deps.depth
        self.thread = turn.thread
        self.root = turn.root
        self.parent = turn.execution.parent_thread
        """The thread above this one; empty in a root."""
        self._since = turn.began_seq
        self._spawned = turn.spawned

    # What there is

    @property
    def open(self) -> Sequence[Entry[ThreadSpawned]]:
        """Those of this thread that had not ended, and those that it has begun since."""
        return [*self._pending(ThreadSpawned), *self._spawned]

    @property
    def timers(self) -> Sequence[Entry[WaitBegan]]:
        """Its timers that had not fired."""
        return [wait for wait in self._pending(WaitBegan) if "timer" in _note(wait)]

    @property
    def has_pending_waits(self) -> bool:
        """Will something come by itself: a branch's answer, or the time of a timer?"""
        return bool(self._watches or self.timers)

    @property
    def _watches(self) -> Sequence[Entry[WaitBegan]]:
        """Its waits for the answers of branches that had not come."""
        return [wait for wait in self._pending(WaitBegan) if "branches" in _note(wait)]

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

    def _pending(self, kind: type[E]) -> list[Entry[E]]:
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
            if len(self.open) + wanted > MOST_CHILDREN:
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
        branches = self.open
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


COMPLETED = "completed"


def input_of_ended_wait(journal: JournalReader, waiting: Entry[WaitBegan], woke: WaitEnded) -> Input:
    """The input of this wait's thread; `woke` tells what has come."""
    note: Mapping[str, Any] = waiting.event.note
    if INNER_WAIT in note:
        notes = woke.matched or tuple(note.get("woke", ()))
        return TickDue(why=_why(journal, waiting, woke), notes=notes)
    if "branches" in note:
        ended = results_of_branches(journal, waiting)
        if note["collect"]:
            return InternalMessage(code="fan-out-complete", text=_collected(ended))
        return _answer(note["branches"][0], ended[0])
    if "timer" in note:
        fired = make_element(TIMER_FIRED, id=timer_id(waiting), label=note["timer"])
        return InternalMessage(code=TIMER_FIRED, text=fired)
    return _timer(note)


def reminder_as_json(reminder: ReminderFired) -> Mapping[str, Any]:
    """A reminder as JSON, to be kept in the wait for its time."""
    note = asdict(reminder)
    for name in ("chosen", "owner"):  # the note of a wait that an older version began has none of them
        if not note[name]:
            del note[name]
    return note


def _timer(note: Mapping[str, Any]) -> ReminderFired:
    """The reminder that was noted; what an older version noted of it said that it was a message."""
    files = tuple(SharedFile(**file) for file in note["files"])
    return ReminderFired(**{**note, "files": files, "note": REMINDER})


def _why(journal: JournalReader, waiting: Entry[WaitBegan], woke: WaitEnded) -> str:
    """What has come of that for which the inner life waited."""
    if woke.matched:
        return f"notes came: {', '.join(map(str, woke.matched))}"
    ended = [str(seq) for seq in waiting.event.closed if seq not in woke.missing]
    if ended:
        return f"processes ended: {', '.join(ended)}"
    return str(waiting.event.note[INNER_WAIT])


def _answer(branch: str, ended: Entry[ThreadEnded] | None) -> InternalMessage:
    """What one branch came to."""
    if ended is None:
        return InternalMessage(sender=branch, text="", status="missing")
    status = ended.event.status
    if status == COMPLETED:
        status = ""
    return InternalMessage(sender=branch, text=str(ended.event.result or ""), status=status)


def _collected(ended: Sequence[Entry[ThreadEnded] | None]) -> str:
    """What all branches of a fan-out came to, in their order."""
    lines = []
    successful = 0
    for index, one in enumerate(ended, 1):
        if one is None:
            lines.append(make_element("missing", index=index, reason="missing"))
        elif one.event.status == COMPLETED:
            successful += 1
            lines.append(make_element("result", str(one.event.result or ""), index=index))
        else:
            lines.append(make_element("missing", index=index, reason=one.event.status))
    inside = "\n".join(lines)
    return f'<fan-out-complete total="{len(ended)}" successful="{successful}">\n{inside}\n</fan-out-complete>'


# Reminders, and the wait of the inner life


async def send_to_self(turn: Turn, name: str, event: Input) -> None:
    """Send an input to this very thread: anything that goes on after this turn."""
    await turn.ctx.send(name, turn.thread, event)


async def set_reminder(turn: Turn, reminder: ReminderFired, seconds: float) -> None:
    """Make this an input of the thread so many seconds after the turn began, or last heard an answer."""
    note = reminder_as_json(reminder)
    await turn.ctx.watch(within=seconds, since=turn.began_at, note=note, name="remind")


async def begin_wait(
    turn: Turn,
    closed: Sequence[int] = (),
    matching: EntryMatch | None = None,
    within: float | None = None,
    *,
    note: Any,
) -> None:
    """Begin the one wait of this thread that no execution is suspended on, in place of the one before.

    The thread hears of it when one of the entries `closed` is closed, one that is `matching` has come, or so
    many seconds are over.
    """
    before = await turn.ctx.record_if_found("waits", lambda: _seqs_of_waits(turn))
    if before:
        await turn.ctx.unwatch(before.event.inputs)
    await turn.ctx.watch(closed=closed, want="any", matching=matching, within=within, note=note)


async def current_waits(turn: Turn) -> Sequence[Entry[WaitBegan]]:
    """Return the waits of this thread that were begun so."""
    found = await turn.ctx.record_if_found("waits", lambda: _seqs_of_waits(turn))
    if found is None:
        return ()
    return turn.journal.entries_at(found.event.inputs)


def _seqs_of_waits(turn: Turn) -> InputsReceived | None:
    waits = turn.journal.pending_entries(WaitBegan, thread=turn.thread)
    mine = [entry for entry in waits if not entry.event.resumes and INNER_WAIT in entry.event.note]
    if not mine:
        return None
    return InputsReceived(inputs=tuple(seqs_of(mine)))


# Bounds


def count_self_calls(turn: Turn) -> int:
    """Return how often the soul had called itself in this tree since a person spoke, or an owner let it."""
    tree, since = turn.root, last_message_seq(turn.journal, turn.root, turn.began_seq)
    if tree == INNER:
        tree = branch_of(turn.thread)
    calls = 0
    for entry in turn.journal.tree_entries(tree, SelfCall, QuestionAnswered, since=since):
        if entry.seq >= turn.began_seq:
            break
        if isinstance(entry.event, SelfCall):
            calls += 1
        elif resets_limit(entry.event, turn.owners) == ITERATIONS:
            calls = 0
    return calls


async def budget_warning(turn: Turn) -> Entry[SystemMessage] | None:
    """Return the warning that a bound of this tree is near: once at each share, for each consent."""
    warning = None
    if not turn.execution.record.is_replaying:
        warning = await _new_warning(turn)
    return await turn.ctx.record_if_found("budget", lambda: warning)


async def _new_warning(turn: Turn) -> SystemMessage | None:
    gauge = turn.deps.gauge
    share = gauge.closest(turn.root)
    if share is None or not share.warning:
        return None
    which = f"{share.resets}:{share.bound}:{share.warning}"
    since = f"{last_message_seq(turn.journal, turn.root)}:{gauge.count_approvals(turn.root)}"
    if await turn.claim(f"warned:{turn.root}:{which}:{since}"):
        return SystemMessage(text=share.in_words)
    return None
