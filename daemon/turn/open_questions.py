"""Questions to people in the middle of a step that cannot be suspended, such as an open call.

The turn waits for the answer while it holds its thread, so each question has a time limit. If the daemon dies
meanwhile, the step is over; its questions are withdrawn when the execution goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import PART, Entry, Input, fingerprint, of_kind, part_key, seqs_of
from daemon.engine.kinds import InputsReceived
from daemon.kinds import BranchAnswer, QuestionAnswered, QuestionAsked
from daemon.turn.input_policy import may_answer
from daemon.turn.questions import (
    NO_ANSWER,
    Answer,
    Question,
    answer_event,
    answer_with_memories,
    check_question,
    question_event,
    remove_buttons,
    say_question,
)
from daemon.turn.speech import say
from daemon.turn.turn import Turn

WITHIN = f"{PART}in/"
"""Part of the keys of steps within a step."""


class StepQuestions:
    """Questions of one step of a turn. The step begins before the first question."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._ctx: Context | None = None

    async def ask(self, name: str, question: Question, seconds: float) -> Answer:
        """Put a question to people; return NO_ANSWER after `seconds`, or if the execution is stopped.

        `name` differs for each question of the step.
        """
        turn = self._within_step()
        check_question(turn, question)
        asked = await _put(turn, name, question)
        answer = turn.ctx.read_back(part_key(asked.key, "answer"))
        if answer is None:
            answer = await _await_answer(turn, asked, question, seconds)
        if answer is None:
            if turn.journal.is_pending(asked.seq):
                await _withdraw(turn, [asked])
            return NO_ANSWER
        await remove_buttons(turn, asked, answer.event.text)
        return answer_with_memories(turn, asked, answer)

    async def tell(self, name: str, text: str) -> None:
        """Say something in the conversation, if there is one; `name` is as in `ask`."""
        turn = self._within_step()
        if turn.addressed:
            await say(turn, text, name, answers=False)

    def _within_step(self) -> Turn:
        if self._ctx is None:
            self._ctx = self._turn.ctx.context_in_step(self._turn.ctx.current_key)
        return self._turn.at(self._ctx, alone=False)


async def _put(turn: Turn, name: str, question: Question) -> Entry[QuestionAsked]:
    key = turn.ctx.next_key(name)
    asks = question_event(question)
    mark = fingerprint(name, asks, question.wait)
    found = turn.ctx.read_or_begin(key, mark)
    if found:
        return found
    said = await say_question(turn, key, question, mark)
    labels = tuple(choice.label for choice in question.choices)
    event = replace(asks, said=said, labels=labels, execution=turn.execution.id, fingerprint=mark)
    return await turn.execution.append(event, key)


async def _await_answer(
    turn: Turn, asked: Entry[QuestionAsked], question: Question, seconds: float
) -> Entry[QuestionAnswered] | None:
    given = await _first_answer(turn, asked, seconds)
    if given is None:
        return None
    turn.accept_inputs([given])
    event = replace(await answer_event(turn, asked, given, question), fingerprint=asked.event.fingerprint)
    closes = turn.journal.still_pending([asked.seq])
    return await turn.execution.append(event, part_key(asked.key, "answer"), cause=given.seq, closes=closes)


async def _first_answer(turn: Turn, asked: Entry[QuestionAsked], seconds: float) -> Entry[Input] | None:
    """Return the first answer by somebody who may give it; None if none comes in time, or may any more."""
    over = [
        asyncio.create_task(turn.deps.clock.sleep(seconds)),
        asyncio.create_task(turn.execution.stopping.wait()),
    ]
    try:
        while True:
            changed = turn.journal.next_change
            given = _answer_among(turn, asked, turn.execution.untaken_inputs())
            is_over = any(task.done() for task in over) or not turn.journal.is_pending(asked.seq)
            if given or is_over:
                return given
            change = asyncio.create_task(changed.wait())
            try:
                await asyncio.wait([change, *over], return_when=asyncio.FIRST_COMPLETED)
            finally:
                change.cancel()
    finally:
        for task in over:
            task.cancel()
        await asyncio.gather(*over, return_exceptions=True)


def _answer_among(
    turn: Turn, asked: Entry[QuestionAsked], inputs: Sequence[Entry[Input]]
) -> Entry[Input] | None:
    for entry in inputs:
        if entry.event.answers != asked.key:
            continue
        if isinstance(entry.event, BranchAnswer) or may_answer(asked, entry.author, turn.owners):
            return entry
    return None


async def withdraw_questions_of_steps(turn: Turn) -> None:
    """Withdraw what steps of this execution asked and left open when they ended."""

    def look() -> InputsReceived | None:
        left = _left_open(turn)
        return InputsReceived(inputs=tuple(seqs_of(left))) if left else None

    found = await turn.ctx.record_if_found("left-open", look)
    if found:
        await _withdraw(turn, of_kind(QuestionAsked, turn.journal.entries_at(found.event.inputs)))


def _left_open(turn: Turn) -> list[Entry[Any]]:
    pending = turn.journal.pending_entries(QuestionAsked, thread=turn.thread)
    return [entry for entry in pending if entry.event.execution == turn.execution.id and WITHIN in entry.key]


async def _withdraw(turn: Turn, questions: Sequence[Entry[QuestionAsked]]) -> None:
    await turn.ctx.unwatch(seqs_of(questions))
    for asked in questions:
        await remove_buttons(turn, asked, "")
