"""An execution that begins again, because what it asks has changed: what it knows of what it had done.

Its log is one memory, and after it stands what was said in the thread since its first begin. What it does
not ask any more loses its buttons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daemon.engine.event import Entry, Input, in_seq_order, of_kind
from daemon.engine.kinds import ExecutionRestarted
from daemon.kinds import (
    ActionObserved,
    ButtonPress,
    CommandRan,
    ModelCall,
    PersonMessage,
    QuestionAnswered,
    QuestionAsked,
    RestartLog,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
)
from daemon.mind.recall import entry_as_memory, escape_tags
from daemon.mind.wording import fill_prompt
from daemon.soul import questions
from daemon.soul.turn import Turn


async def recall_restart_log(turn: Turn) -> None:
    """What was done before is one memory, and what was said since stands after it."""
    if not turn.execution.restarts:
        return
    lines = [_done(entry) for entry in turn.execution.restart_log if not entry.event.taken_from]
    done = "\n".join([line for line in lines if line])
    words = fill_prompt(turn, "prompts/interrupted", log=done or "nothing yet")
    log = await turn.record(RestartLog(text=words))
    turn.restart_log = entry_as_memory(log)
    said = [entry_as_memory(entry, turn.tag_suffix) for entry in _said_since(turn)]
    turn.memory = turn.memory.with_memory(turn.restart_log, *said)


def _done(entry: Entry[Any]) -> str:
    """What an entry tells of what was done, in a line; empty where it tells nothing."""
    match entry.event:
        case ModelCall(outcome="ok" | "cut", text=text):
            return f"thought: {text}"
        case SpeechFinished(text=text):
            return f"said: {text}"
        case QuestionAnswered(text=text) if text:
            return f"heard: {text}"
        case CommandRan(name=name, ok=True, args=args):
            return f"did: {name} {escape_tags(str(args))}"
        case ActionObserved(name=name, text=text):
            return f"{name}: {escape_tags(text)}"
    return ""


def _said_since(turn: Turn) -> Sequence[Entry[Any]]:
    """What people said to it after its first begin, and what others kept here, up to the restart."""
    journal, execution = turn.journal, turn.execution
    restart = journal.get(f"{execution.abandoned[-1]}/restarted")
    assert restart
    began: Entry[SoulTurnBegan] = journal.entry(restart.cause or 0)
    own = set(began.event.inputs)
    others = set[int]()
    for ended in journal.thread_entries(turn.thread, SoulTurnEnded, since=turn.began_seq):
        its: Entry[SoulTurnBegan] = journal.entry(ended.cause or 0)
        if ended.seq > restart.seq:
            break
        if its.event.execution == execution.id:
            own.update(ended.closes)
        else:
            others.update(ended.event.keep)
    own.difference_update(turn.first.event.inputs)
    said = of_kind(PersonMessage, journal.entries_at(sorted(own)))
    words = [entry for entry in said if not isinstance(entry.event, ButtonPress)]
    kept = journal.entries_at(sorted(others))
    return in_seq_order([*words, *kept])


async def report_void_answers(turn: Turn, answers: Sequence[Entry[Input]]) -> None:
    """Whoever pressed what nobody asks any more is told so, and the buttons of that go."""
    for given in of_kind(ButtonPress, answers):
        sentence = fill_prompt(turn, "prompts/sentences/changed")
        await turn.whisper(f"void-{given.seq}", given.event.user, sentence)
    for asked in _left(turn):
        await questions.remove_buttons(turn, asked, "")


def _left(turn: Turn) -> Sequence[Entry[QuestionAsked]]:
    """The questions that were left with a restart in this turn, and whose messages serve no other one."""
    journal = turn.journal
    left = list[Entry[QuestionAsked]]()
    for restart in journal.thread_entries(turn.thread, ExecutionRestarted, since=turn.execution.began.seq):
        left += of_kind(QuestionAsked, journal.entries_at(restart.closes))
    now = of_kind(SpeechFinished, journal.entries_under(turn.execution.path))
    taken_over = {entry.event.ts for entry in now if entry.event.taken_from}
    found = []
    for asked in left:
        said = of_kind(SpeechFinished, journal.entries_at(asked.event.said))
        messages = {entry.event.ts for entry in said}
        if messages.isdisjoint(taken_over):
            found.append(asked)
    return found
