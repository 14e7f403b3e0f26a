"""Questions to people in the middle of a step that cannot be suspended, such as an open call.

The turn waits for the answer while it holds its thread, so each question has a time limit. If the daemon dies
meanwhile, the step is over; its questions are withdrawn when the execution goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
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
    """Questions of one step of a turn, which begins before the first question and ends after `end`."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._ctx: Context | None = None
        self._over = asyncio.Event()
        self._open = set[asyncio.Event]()
        """Questions being asked; each is set when its asking has ended."""

    async def ask(self, name: str, question: Question, seconds: float) -> Answer:
        """Put a question to people; return NO_ANSWER after `seconds`, or if the step or the turn ends.

        `name` differs for each question of the step.
        """
        async with self._while_open() as turn:
            if turn is None:
                return NO_ANSWER
            check_question(turn, question)
            asked = await _put(turn, name, question)
            answer = turn.ctx.read_back(part_key(asked.key, "answer"))
            if answer is None:
                answer = await _await_answer(turn, asked, question, seconds, self._over)
            if answer is None:
                if turn.journal.is_pending(asked.seq):
                    await _withdraw(turn, [asked])
                return NO_ANSWER
            await remove_buttons(turn, asked, answer.event.text)
            return answer_with_memories(turn, asked, answer)

    async def tell(self, name: str, text: str) -> None:
        """Say something in the conversation, if there is one; `name` is as in `ask`."""
        async with self._while_open() as turn:
            if turn and turn.addressed:
                await say(turn, text, name, answers=False)

    async def end(self) -> None:
        """End what is being asked: nobody needs the answers any more. No step follows afterwards."""
        self._over.set()
        for one in [*self._open]:
            await one.wait()

    @asynccontextmanager
    async def _while_open(self) -> AsyncIterator[Turn | None]:
        """Yield the turn for steps within the step; None if that has ended."""
        if self._over.is_set():
            yield None
            return
        ended = asyncio.Event()
        self._open.add(ended)
        try:
            yield self._within_step()
        finally:
            self._open.discard(ended)
            ended.set()

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
    turn: Turn, asked: Entry[QuestionAsked], question: Question, seconds: float, ended: asyncio.Event
) -> Entry[QuestionAnswered] | None:
    given = await _first_answer(turn, asked, seconds, ended)
    if given is None:
        return None
    turn.accept_inputs([given])
    turn.execution.answer_to(asked)  # it is used: nobody is told that it came in vain
    event = replace(await answer_event(turn, asked, given, question), fingerprint=asked.event.fingerprint)
    closes = turn.journal.still_pending([asked.seq])
    return await turn.execution.append(event, part_key(asked.key, "answer"), cause=given.seq, closes=closes)


async def _first_answer(
    turn: Turn, asked: Entry[QuestionAsked], seconds: float, ended: asyncio.Event
) -> Entry[Input] | None:
    """Return the first answer by somebody who may give it; None if none comes in time, or may any more."""
    over = [
        asyncio.create_task(turn.deps.clock.sleep(seconds)),
        asyncio.create_task(turn.execution.stopping.wait()),
        asyncio.create_task(ended.wait()),
    ]
    try:
        while True:
            changed = turn.journal.next_change
            given = _answer_among(turn, asked, turn.execution.untaken_inputs())
            if given or any(task.done() for task in over):
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
