"""How a turn ends: what its thread keeps of it, and which process the thread is in from then on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daemon.engine.event import Entry, StepEvent, in_seq_order, of_kind, seqs_of
from daemon.engine.keys import last_words_path
from daemon.engine.kinds import InputsReceived
from daemon.engine.reading import JournalReader
from daemon.errors import PostRefused
from daemon.kinds import (
    PersonMessage,
    ProcessChanged,
    QuestionAnswered,
    QuestionAsked,
    SoulTurnEnded,
    SpeechBegan,
    SpeechDropped,
    SpeechFinished,
)
from daemon.memory import WorkingMemory, working_memory
from daemon.mind.recall import recall_kept
from daemon.soul import questions
from daemon.soul.aloud import visible_messages
from daemon.soul.edits import without_replaced_versions
from daemon.soul.taking import THINKING_PROCESS, in_slack_order
from daemon.soul.turn import Turn
from daemon.soul.utterance import is_broken_off


def end_completed(turn: Turn) -> SoulTurnEnded:
    """What its memory holds that no turn has kept is kept."""
    return _ended(turn, "completed", turn.memory)


def end_failed(turn: Turn) -> SoulTurnEnded:
    """It was given up: of the messages nothing is kept, one of them may be the poison.

    One that was answered, and that the daemon died of afterwards, has not failed.
    """
    for taken in of_kind(ProcessChanged, turn.journal.entries_under(turn.ctx.path)):  # where its end led it
        turn.process, turn.params = taken.event.to, taken.event.params
    if is_refused_by_slack(turn):
        return _ended(turn, "abandoned", WorkingMemory())
    said = recall_kept(turn.execution.recorded_entries(SpeechFinished), turn.tag_suffix)
    if has_said_everything(turn):
        return _ended(turn, "completed", turn.memory.with_memory(*said))
    return _ended(turn, "failed", working_memory(said[-1:]))


def end_suspended(turn: Turn) -> SoulTurnEnded:
    """Its execution waits: what was said aloud is kept; the thread is free."""
    execution = turn.execution
    recorded: list[Entry[Any]] = execution.recorded_entries()
    seen: list[Entry[Any]] = [*turn.internal_inputs, *visible_messages(recorded)]
    for answer in of_kind(QuestionAnswered, recorded):
        seen += turn.journal.entries_at(answer.event.seqs)
        if answer.event.text:
            seen.append(answer)
    accepted = execution.inputs[len(turn.inputs) :]
    seen += of_kind(PersonMessage, accepted)
    said = in_slack_order(without_replaced_versions([*turn.heard, *turn.said]))
    memory = working_memory(recall_kept([*said, *in_seq_order(seen)], turn.tag_suffix))
    return SoulTurnEnded(outcome="suspended", keep=_new(turn, memory))


def is_refused_by_slack(turn: Turn) -> bool:
    """Did Slack take nothing in this conversation before its last words? Then it has none."""
    told = last_words_path(turn.execution.id, "")
    failures = [failed.event for failed in turn.execution.failed_attempts]
    errors = [failure.error for failure in failures if not failure.at.startswith(told)]
    return bool(errors) and errors[-1] == PostRefused.recorded_name


def has_said_everything(turn: Turn) -> bool:
    """Was all said that it began to say since it last heard anything, and does it ask nothing?

    Then, if nothing failed, it was only killed after that.
    """
    journal = turn.journal
    done = journal.execution_entries(turn.execution.id)
    if turn.execution.failed_attempts or questions.orphan_questions(done):
        return False
    begun = [entry for entry in done if isinstance(entry.event, SpeechBegan | QuestionAsked)]
    if journal.still_pending(seqs_of(begun)):
        return False
    heard = [turn.execution.began, *of_kind(InputsReceived, done)]
    last_heard = max(seqs_of(heard))
    receipts = [entry for entry in done if isinstance(entry.event, SpeechFinished | SpeechDropped)]
    since = [entry for entry in receipts if entry.seq > last_heard]
    return bool(of_kind(SpeechFinished, since)) and not is_broken_off(since[-1])


def _ended(turn: Turn, outcome: str, memory: WorkingMemory) -> SoulTurnEnded:
    """The entry that says so: it names the process, unless the thread stays in the one in which it is."""
    ended = SoulTurnEnded(outcome=outcome, keep=_new(turn, memory))
    if _stays(turn):
        return ended
    return replace(ended, process=turn.process, params=turn.params)


def _stays(turn: Turn) -> bool:
    """Does the thread stay where it is?

    A turn apart leaves it there, unless it goes over into another process itself. So does an execution that
    goes on after an answer, if the thread has begun to think in the open meanwhile.
    """
    if turn.apart is not None:
        return turn.process == turn.first.event.process
    return _thinks_meanwhile(turn)


def _thinks_meanwhile(turn: Turn) -> bool:
    """Has another execution of this thread begun to think in the open since this one first began?"""
    began = turn.execution.began.seq
    if began == turn.began_seq or turn.first.event.process == THINKING_PROCESS:
        return False
    turned_to = [taken.event.to for taken in turn.execution.recorded_entries(ProcessChanged)]
    if THINKING_PROCESS in turned_to:
        return False
    return turn.world.pasts.history_of(turn.thread, began).process == THINKING_PROCESS


def _new(turn: Turn, memory: WorkingMemory) -> tuple[int, ...]:
    """The entries of this memory that no turn has kept."""
    journal, seqs = turn.journal, memory.seqs
    if turn.execution.restarts:
        seqs = tuple(_original(journal, seq) for seq in seqs)
    kept = set[int]()
    for ended in journal.thread_entries(turn.thread, SoulTurnEnded, since=turn.began_seq):
        kept.update(ended.event.keep)
    new = [seq for seq in seqs if seq not in kept and turn.is_unseen(seq)]
    return tuple(dict.fromkeys(new))


def _original(journal: JournalReader, seq: int) -> int:
    """The entry that this was taken over from, before a restart; or it itself."""
    entry: Entry[Any] = journal.entry(seq)
    while isinstance(entry.event, StepEvent) and entry.event.taken_from:
        before = journal.get(entry.event.taken_from)
        assert before
        entry = before
    return entry.seq
