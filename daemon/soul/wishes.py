"""What a branch wants to ask of people: it has no address, so it wishes that its root's turn asks it.

A wish is answered once: whoever ends the execution that asks it tells the branch so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daemon.engine.event import Entry, seqs_of
from daemon.engine.keys import parent_of, part_key
from daemon.engine.kinds import CancelRequest, InputsReceived, ThreadEnded, ThreadSpawned, WaitBegan
from daemon.engine.reading import JournalReader
from daemon.kinds import BranchAnswer, BranchQuestion, QuestionAnswered, QuestionAsked
from daemon.ports import Button
from daemon.process import Answer, Question
from daemon.soul.errand import first_input
from daemon.soul.voice import Voice


async def send_branch_question(turn: Voice, key: str, question: Question) -> None:
    """The root is to ask it. Part of the question, and no step: where that is recorded, so is this."""
    wished = part_key(key, "wish")
    if turn.journal.get(wished):
        return
    wish = BranchQuestion(
        branch=turn.thread,
        text=question.text,
        asks=key,
        to=tuple(question.to),
        owners=tuple(question.owners),
        choices=tuple((choice.label, choice.value, choice.style) for choice in question.choices),
        wait=question.wait,
        about=question.about,
    )
    await turn.execution.append(wish, wished, thread=turn.root)


def branch_question_of(journal: JournalReader, execution: str) -> BranchQuestion | None:
    """What a branch wants to ask, if this execution is to do that."""
    first = first_input(journal, execution).event
    if isinstance(first, BranchQuestion):
        return first
    return None


def branch_question(turn: Voice) -> Question | None:
    """The question of the wish that this turn is about, to those who can read this conversation."""
    wish = branch_question_of(turn.journal, turn.execution.id)
    if wish is None:
        return None
    return Question(
        text=wish.text,
        to=turn.readers_among(wish.to),
        owners=turn.readers_among(wish.owners),
        choices=[Button(label=label, value=value, style=style) for label, value, style in wish.choices],
        wait=wish.wait,
        about=wish.about,
    )


def asking_branch(turn: Voice) -> Sequence[int]:
    """The branch that wished to ask this: where it ends, nobody needs to answer any more."""
    wish = branch_question_of(turn.journal, turn.execution.id)
    if wish is None:
        return ()
    begun = turn.journal.thread_entries(parent_of(wish.branch), ThreadSpawned)
    return seqs_of([entry for entry in begun if entry.event.thread == wish.branch])


async def wait_for_earlier_questions(turn: Voice) -> bool:
    """Until nothing is asked here any more for a branch that wished it earlier. Does this one's branch still
    want it then? Raises Suspended."""
    while True:
        earlier = await turn.ctx.record_if_found("earlier", lambda: _earlier(turn))
        if earlier is None:
            break
        await turn.ctx.wait(closed=earlier.event.inputs, name="earlier-wish")
    return await turn.ctx.record_if_found("forlorn", lambda: _end_of_wisher(turn)) is None


def _earlier(turn: Voice) -> InputsReceived | None:
    """What executions wait for that were begun earlier for a branch."""
    journal = turn.journal
    pending: list[Entry[Any]] = []
    pending += journal.pending_entries(QuestionAsked, thread=turn.thread)
    pending += journal.pending_entries(WaitBegan, thread=turn.thread)
    earlier = [entry for entry in pending if _is_earlier(turn, entry.event.execution)]
    if not earlier:
        return None
    return InputsReceived(inputs=tuple(seqs_of(earlier)))


def _is_earlier(turn: Voice, execution: str) -> bool:
    journal = turn.journal
    began = journal.get(f"{execution}/began")
    return (
        began is not None
        and began.seq < turn.began_seq
        and branch_question_of(journal, execution) is not None
    )


def _end_of_wisher(turn: Voice) -> InputsReceived | None:
    """Has the branch that wished this ended, or one above it, or is it told to?"""
    journal = turn.journal
    wish = branch_question_of(journal, turn.execution.id)
    assert wish
    thread = wish.branch
    while parent_of(thread):
        ends = journal.thread_entries(thread, CancelRequest, ThreadEnded)
        if ends:
            return InputsReceived(inputs=(ends[0].seq,))
        thread = parent_of(thread)
    return None


async def answered_since(turn: Voice, question: Question) -> Answer | None:
    """How the same bound was answered for another branch, after this one wished to ask."""
    found = await turn.ctx.record_if_found("answered", lambda: _given_since(turn, question))
    if found is None:
        return None
    given: Entry[QuestionAnswered] = turn.journal.entry(found.event.inputs[0])
    return Answer(value=given.event.value, by=given.event.by, at=given.at)


def _given_since(turn: Voice, question: Question) -> InputsReceived | None:
    if "resets" not in question.about:
        return None
    for entry in turn.journal.thread_entries(turn.thread, QuestionAnswered, since=turn.inputs[0].seq):
        if entry.event.about == question.about and entry.event.by:
            return InputsReceived(inputs=(entry.seq,))
    return None


async def answer_branch(turn: Voice, execution: str, answer: Answer) -> None:
    """Hand on what people answered to the branch that wished this execution to ask it: the first answer, and
    no other.

    No step: whoever ends the execution that asks has steps of its own, and finds here that it was done.
    """
    wish = branch_question_of(turn.journal, execution)
    if wish is None:
        return
    key = f"relayed:{wish.asks}"
    if turn.journal.get(key):
        return
    words = ""
    if answer.memories:
        words = answer.memories[-1].content
    relayed = BranchAnswer(answers=wish.asks, value=answer.value, by=answer.by, text=words)
    await turn.execution.append(relayed, key, thread=wish.branch)
