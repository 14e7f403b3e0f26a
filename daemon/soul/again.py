"""An execution that begins again, because what it asks has changed: what it knows of what it had done.

Its log is one memory, and after it stands what was said in the thread since its first begin. What it does
not ask any more loses its buttons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daemon.engine.event import Entry, Input, by_seq, only
from daemon.engine.kinds import Restarted
from daemon.kinds import (
    Answered,
    Asked,
    CommandRan,
    Log,
    ModelCall,
    Observed,
    Press,
    Said,
    Spoken,
    TurnBegan,
    TurnEnded,
)
from daemon.mind.recall import fenced, remember
from daemon.mind.wording import worded
from daemon.soul import questions
from daemon.soul.turn import Turn


async def recall(turn: Turn) -> None:
    """What was done before is one memory, and what was said since stands after it."""
    if not turn.execution.restarts:
        return
    lines = [_done(entry) for entry in turn.execution.restart_log if not entry.event.taken_from]
    done = "\n".join([line for line in lines if line])
    words = worded(turn, "prompts/interrupted", log=done or "nothing yet")
    log = await turn.record(Log(text=words))
    turn.restart_log = remember(log)
    said = [remember(entry, turn.tag_suffix) for entry in _said_since(turn)]
    turn.memory = turn.memory.with_memory(turn.restart_log, *said)


def _done(entry: Entry[Any]) -> str:
    """What an entry tells of what was done, in a line; empty where it tells nothing."""
    match entry.event:
        case ModelCall(outcome="ok" | "cut", text=text):
            return f"thought: {text}"
        case Spoken(text=text):
            return f"said: {text}"
        case Answered(text=text) if text:
            return f"heard: {text}"
        case CommandRan(name=name, ok=True, args=args):
            return f"did: {name} {fenced(str(args))}"
        case Observed(name=name, text=text):
            return f"{name}: {fenced(text)}"
    return ""


def _said_since(turn: Turn) -> Sequence[Entry[Any]]:
    """What people said to it after its first begin, and what others kept here, up to the restart."""
    journal, execution = turn.journal, turn.execution
    restart = journal.get(f"{execution.abandoned[-1]}/restarted")
    assert restart
    began: Entry[TurnBegan] = journal.entry(restart.cause or 0)
    own = set(began.event.inputs)
    others = set[int]()
    for ended in journal.thread_entries(turn.thread, TurnEnded, since=turn.began_seq):
        its: Entry[TurnBegan] = journal.entry(ended.cause or 0)
        if ended.seq > restart.seq:
            break
        if its.event.execution == execution.id:
            own.update(ended.closes)
        else:
            others.update(ended.event.keep)
    own.difference_update(turn.first.event.inputs)
    said = only(Said, journal.entries_at(sorted(own)))
    words = [entry for entry in said if not isinstance(entry.event, Press)]
    kept = journal.entries_at(sorted(others))
    return by_seq([*words, *kept])


async def void(turn: Turn, answers: Sequence[Entry[Input]]) -> None:
    """Whoever pressed what nobody asks any more is told so, and the buttons of that go."""
    for given in only(Press, answers):
        sentence = worded(turn, "prompts/sentences/changed")
        await turn.whisper(f"void-{given.seq}", given.event.user, sentence)
    for asked in _left(turn):
        await questions.settle(turn, asked, "")


def _left(turn: Turn) -> Sequence[Entry[Asked]]:
    """The questions that were left with a restart in this turn, and whose messages serve no other one."""
    journal = turn.journal
    left = list[Entry[Asked]]()
    for restart in journal.thread_entries(turn.thread, Restarted, since=turn.execution.began.seq):
        left += only(Asked, journal.entries_at(restart.closes))
    now = only(Spoken, journal.entries_under(turn.execution.path))
    taken_over = {entry.event.ts for entry in now if entry.event.taken_from}
    found = []
    for asked in left:
        said = only(Spoken, journal.entries_at(asked.event.said))
        messages = {entry.event.ts for entry in said}
        if messages.isdisjoint(taken_over):
            found.append(asked)
    return found
