"""Branches, timers and internal messages of a thread.

An execution sees the journal as of its begin, so that a replay sees the same.
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
"""Most branches of one thread, ended ones included."""


MOST_BRANCHES = 100
"""Most branches below one root, ended ones included."""


OTHER_CHARACTERS = re.compile(r"[^a-z0-9]+")


LONGEST_LABEL = 40


class Branches:
    """Branches seen by one context of an execution; `depth` limits their levels."""

    def __init__(self, turn: Turn) -> None:
        self._ctx = turn.ctx
        self._journal = turn.journal
        self._depth = turn.deps.depth
        self.thread = turn.thread
        self.root = turn.root
        self.parent = turn.execution.parent_thread
        self._since = turn.began_seq
        self._spawned = turn.spawned

    @property
    def open(self) -> Sequence[Entry[ThreadSpawned]]:
        return [*self._pending(ThreadSpawned), *self._spawned]

    @property
    def timers(self) -> Sequence[Entry[WaitBegan]]:
        return [wait for wait in self._pending(WaitBegan) if "timer" in _note(wait)]

    @property
    def has_pending_waits(self) -> bool:
        """True if a branch's answer or a timer is still to come."""
        return bool(self._watches or self.timers)

    @property
    def _watches(self) -> Sequence[Entry[WaitBegan]]:
        return [wait for wait in self._pending(WaitBegan) if "branches" in _note(wait)]

    def has_thread(self, thread: str) -> bool:
        """True if the thread belongs to the same tree; for the inner life, the same branch."""
        if thread in (self.root, self.thread):
            return True
        if self.root == INNER and branch_of(thread) != branch_of(self.thread):
            return False
        begun = self._begun(self._journal.tree_entries(self.root, ThreadSpawned))
        return thread in [spawned.event.thread for spawned in begun]

    def _begun(self, spawned: Sequence[Entry[ThreadSpawned]]) -> list[Entry[ThreadSpawned]]:
        before = [entry for entry in spawned if entry.seq < self._since]
        return [*before, *self._spawned]

    def _pending(self, kind: type[E]) -> list[Entry[E]]:
        closed = set[int]()
        for end in self._journal.tree_entries(
            self.root, ThreadEnded, QuestionWithdrawn, InternalMessage, since=self._since
        ):
            closed.update(end.closes)
        ended_since = of_kind(kind, self._journal.entries_at(sorted(closed)))
        here = [entry for entry in ended_since if entry.thread == self.thread]
        found = in_seq_order([*here, *self._journal.pending_entries(kind, thread=self.thread)])
        return [entry for entry in found if entry.seq < self._since]

    def refusal(self, count: int = 1) -> str:
        """Return what forbids more branches: "depth", "children" or "branches"; empty if nothing does."""
        if self.thread.count(".") >= self._depth:
            return "depth"
        if self.thread == INNER:  # the inner life's thread never ends, so only its open branches count
            if len(self.open) + count > MOST_CHILDREN:
                return "children"
            return ""
        children = self._begun(self._journal.thread_entries(self.thread, ThreadSpawned))
        if len(children) + count > MOST_CHILDREN:
            return "children"
        branches = self._begun(self._journal.tree_entries(self.root, ThreadSpawned))
        if len(branches) + count > MOST_BRANCHES:
            return "branches"
        return ""

    async def spawn(self, label: str, first: InternalMessage) -> Entry[ThreadSpawned]:
        spawned = await self._ctx.spawn(clean_label(label), first)
        self._spawned.append(spawned)
        return spawned

    async def await_answers(self, branches: Sequence[Entry[ThreadSpawned]], *, collect: bool) -> None:
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
        branches = self.open
        watches = seqs_of(self._watches)
        if watches:
            await self._ctx.unwatch(watches)
        if branches:
            await self._ctx.cancel(branches, reason=f"{self.thread} has answered")
        return [branch.event.thread for branch in branches]

    async def end(self, text: str, status: str = "completed") -> None:
        await self._ctx.end_thread(text, status)

    async def send(self, name: str, to: str, message: InternalMessage) -> bool:
        sent = await self._ctx.send(name, to, message)
        return sent.event.delivered

    async def set_timer(self, label: str, seconds: float) -> str:
        wait = await self._ctx.watch(within=seconds, note={"timer": label}, name="timer")
        return timer_id(wait)

    async def cancel_timer(self, id: str) -> bool:
        found = [entry for entry in self.timers if timer_id(entry) == id]
        if found:
            await self._ctx.unwatch(seqs_of(found))
        return bool(found)


def branch_of(thread: str) -> str:
    """Return the first-level branch that contains a thread; for a root, the root."""
    return ".".join(thread.split(".")[:2])


def clean_label(label: str) -> str:
    """Return a label with only characters allowed in ids; "branch" if none is left."""
    words = OTHER_CHARACTERS.sub("-", label.casefold()).strip("-")
    return words[:LONGEST_LABEL].strip("-") or "branch"


def timer_id(wait: Entry[WaitBegan]) -> str:
    return f"timer-{wait.seq}"


def _note(wait: Entry[WaitBegan]) -> Mapping[str, Any]:
    note = wait.event.note
    if wait.event.resumes or not isinstance(note, Mapping):
        return {}
    return note


def watches_of_thread(journal: JournalReader, thread: str) -> Sequence[Entry[WaitBegan]]:
    waits = journal.pending_entries(WaitBegan, thread=thread)
    return [wait for wait in waits if {"branches", "timer"} & _note(wait).keys()]


def results_of_branches(
    journal: JournalReader, wait: Entry[WaitBegan]
) -> Sequence[Entry[ThreadEnded] | None]:
    """Return how the branches of a wait ended, in order; None for an unknown end."""
    return [journal.latest_of_kind(thread, ThreadEnded) for thread in wait.event.note["branches"]]


COMPLETED = "completed"


def input_of_ended_wait(journal: JournalReader, waiting: Entry[WaitBegan], woke: WaitEnded) -> Input:
    note: Mapping[str, Any] = waiting.event.note
    if INNER_WAIT in note:
        notes = woke.matched or tuple(note.get("woke", ()))
        return TickDue(why=_tick_reason(journal, waiting, woke), notes=notes)
    if "branches" in note:
        ended = results_of_branches(journal, waiting)
        if note["collect"]:
            return InternalMessage(code="fan-out-complete", text=_collected_results(ended))
        return _branch_answer(note["branches"][0], ended[0])
    if "timer" in note:
        fired = make_element(TIMER_FIRED, id=timer_id(waiting), label=note["timer"])
        return InternalMessage(code=TIMER_FIRED, text=fired)
    return _reminder(note)


def reminder_as_json(reminder: ReminderFired) -> Mapping[str, Any]:
    note = asdict(reminder)
    for name in ("chosen", "owner"):  # older versions did not record these fields
        if not note[name]:
            del note[name]
    return note


def _reminder(note: Mapping[str, Any]) -> ReminderFired:
    """Restore a reminder from a wait's note, which had another form in older versions."""
    files = tuple(SharedFile(**file) for file in note["files"])
    return ReminderFired(**{**note, "files": files, "note": REMINDER})


def _tick_reason(journal: JournalReader, waiting: Entry[WaitBegan], woke: WaitEnded) -> str:
    if woke.matched:
        return f"notes came: {', '.join(map(str, woke.matched))}"
    ended = [str(seq) for seq in waiting.event.closed if seq not in woke.missing]
    if ended:
        return f"processes ended: {', '.join(ended)}"
    return str(waiting.event.note[INNER_WAIT])


def _branch_answer(branch: str, ended: Entry[ThreadEnded] | None) -> InternalMessage:
    if ended is None:
        return InternalMessage(sender=branch, text="", status="missing")
    status = ended.event.status
    if status == COMPLETED:
        status = ""
    return InternalMessage(sender=branch, text=str(ended.event.result or ""), status=status)


def _collected_results(ended: Sequence[Entry[ThreadEnded] | None]) -> str:
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
    """Send an input to this thread, for a later turn."""
    await turn.ctx.send(name, turn.thread, event)


async def set_reminder(turn: Turn, reminder: ReminderFired, seconds: float) -> None:
    """Have the reminder become an input `seconds` after the turn began, or was last answered."""
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
    """Begin the wait of the inner life, in place of the one before; no execution is suspended on it.

    It ends when one of the entries `closed` is closed, a `matching` one comes, or `within` seconds are over.
    """
    before = await turn.ctx.record_if_found("waits", lambda: _seqs_of_waits(turn))
    if before:
        await turn.ctx.unwatch(before.event.inputs)
    await turn.ctx.watch(closed=closed, want="any", matching=matching, within=within, note=note)


async def current_waits(turn: Turn) -> Sequence[Entry[WaitBegan]]:
    """Return the pending waits of this thread that `begin_wait` began."""
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


# Limits


def count_self_calls(turn: Turn) -> int:
    """Return the number of self-calls in this tree since a person's message or an owner's approval."""
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
    """Return a warning if a limit of this tree is nearly reached: once for each percentage and approval."""
    warning = None
    if not turn.execution.record.is_replaying:
        warning = await _new_warning(turn)
    return await turn.ctx.record_if_found("budget", lambda: warning)


async def _new_warning(turn: Turn) -> SystemMessage | None:
    gauge = turn.deps.gauge
    share = gauge.closest(turn.root)
    if share is None or not share.warning:
        return None
    limit = f"{share.resets}:{share.bound}:{share.warning}"
    since = f"{last_message_seq(turn.journal, turn.root)}:{gauge.count_approvals(turn.root)}"
    if await turn.claim(f"warned:{turn.root}:{limit}:{since}"):
        return SystemMessage(text=share.in_words)
    return None
