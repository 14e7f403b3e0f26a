"""How a turn asks people and goes on with their answer: its buttons, and what was said meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from daemon.engine.event import Entry, Input, fingerprint, only, seqs_of
from daemon.engine.keys import PART, part
from daemon.engine.kinds import Waiting
from daemon.errors import ContentRefused, SpeechFailed
from daemon.kinds import Answered, Asked, ContextCleared, Press, Relayed, Said, Spoken, TurnBegan, TurnEnded
from daemon.memory import Memory
from daemon.mind.recall import plain, recall, remember
from daemon.ports import Choices
from daemon.process import NO_ANSWER, Answer, Question
from daemon.soul import errand, wishes
from daemon.soul.tree import watches_of
from daemon.soul.utterance import is_broken_off, speech_of
from daemon.soul.voice import Voice

SAY = "say"
"""The part of a question that says it."""
PATIENT = 8
"""Failures of a turn, some minutes, after which buttons are left standing."""


async def ask(turn: Voice, name: str, question: Question) -> Answer:
    """Ask; read the answer back, or take it from what this turn took, or suspend."""
    _check(turn, question)
    asks = _asked(question)

    async def say(key: str) -> Asked:
        """Say it under the key of the question, before anybody can answer it."""
        about = fingerprint(name, asks, question.wait)
        labels = tuple(choice.label for choice in question.choices)
        return replace(asks, said=await _put(turn, key, question, about), labels=labels)

    async def keep(asked: Entry[Asked], given: Entry[Input]) -> Answered:
        return await _answered(turn, asked, given, question)

    answer = await turn.ctx.ask_for(
        name,
        asks,
        answered=keep,
        kind=Answered,
        first=say,
        within=question.wait,
        until=wishes.wisher(turn),
    )
    asked: Entry[Asked] = turn.journal.entry(answer.event.asked)
    await settle(turn, asked, answer.event.text)
    return _remembered(turn, asked, answer)


def _check(turn: Voice, question: Question) -> None:
    """Raises ValueError or RuntimeError where nobody could answer it."""
    if not question.to:
        return
    if not question.resumes and not question.text.strip():
        raise ValueError("a question that someone is to answer needs words")
    if not question.choices and not turn.alone:
        raise RuntimeError(
            "beside other steps a question needs choices: nobody could tell which one words answer"
        )


def _asked(question: Question) -> Asked:
    """What is recorded of it, before it is said."""
    return Asked(
        text=question.text,
        to=tuple(question.to),
        owners=tuple(question.owners),
        choices=tuple(choice.value for choice in question.choices),
        words=bool(question.to) and not (question.choices or question.resumes),
        resumes=question.resumes,
        about=question.about,
    )


async def _put(turn: Voice, key: str, question: Question, about: str) -> tuple[int, ...]:
    """Say the question, with its buttons, which stand for `about`; the receipts."""
    if not question.text:
        return ()
    if not turn.addressed:
        await wishes.make(turn, key, question)
        return ()
    buttons = None
    if question.choices:
        buttons = Choices(asked=key, choices=tuple(question.choices), question=about)
    speech = turn.speech_at(part(key, SAY))
    spoken = await speech.finish(question.text, buttons)
    return tuple(seqs_of(spoken))


async def _answered(turn: Voice, asked: Entry[Asked], given: Entry[Input], question: Question) -> Answered:
    """The answer as it is recorded, with what the thread kept meanwhile."""
    meanwhile = tuple(_meanwhile(turn, asked))
    answer = Answered(input=given.seq, asked=asked.seq, about=asked.event.about, meanwhile=meanwhile)
    event = given.event
    if isinstance(event, Press):
        name = await turn.speaker.name(given.author) or event.name
        text = _chose(name, question, event.value)
        return replace(answer, value=event.value, by=given.author, text=text)
    if isinstance(event, Relayed):
        return replace(answer, value=event.value, by=event.by, text=event.text)
    if isinstance(event, Said):
        said = only(Said, turn.journal.entries_at(turn.execution.began.event.inputs))
        return replace(answer, value=event.text, by=event.user, seqs=tuple(seqs_of(said)))
    return answer


def _chose(name: str, question: Question, value: str) -> str:
    label = value
    for choice in question.choices:
        if choice.value == value:
            label = choice.label
    return f"[{plain(name)} chose “{label}”]"


def _meanwhile(turn: Voice, asked: Entry[Asked]) -> list[int]:
    """What other executions kept in this thread since the question, and what was heard."""
    journal = turn.journal
    past = turn.world.pasts.history_of(turn.thread, turn.execution.began.seq)
    theirs = set[int]()
    for ended in journal.thread_entries(turn.thread, TurnEnded, since=asked.seq):
        its: Entry[TurnBegan] = journal.entry(ended.cause or 0)
        if its.event.execution != turn.execution.id:
            theirs.update(ended.event.keep)
    kept = [memory.seq for memory in past.kept if memory.seq]
    newer = journal.entries_at([seq for seq in kept if seq > asked.seq])
    summed_up = [cleared for cleared in only(ContextCleared, newer) if not cleared.event.seqs]
    said = [seq for seq in kept if seq in theirs]
    return [*seqs_of(summed_up), *said, *seqs_of(past.overheard)]


def _remembered(turn: Voice, asked: Entry[Asked], answer: Entry[Answered]) -> Answer:
    event = answer.event
    seqs = [*asked.event.said, *event.meanwhile, *event.seqs]
    memories: list[Memory] = [*recall(turn.journal.entries_at(seqs), turn.tag_suffix)]
    if event.text:
        memories.append(remember(answer))
    return Answer(
        value=event.value,
        by=event.by,
        at=answer.at,
        memories=tuple(memories),
        more=bool(event.meanwhile),
    )


# Its buttons


async def settle(turn: Voice, asked: Entry[Asked], answer: str) -> None:
    """The buttons of a question go, and who chose what stands there instead. A nicety: it holds up nobody."""
    if not (asked.event.choices and asked.event.said):
        return
    last = turn.journal.entry(asked.event.said[-1])
    if isinstance(last.event, Spoken):
        await _take_buttons(turn, last, f"settle-{asked.seq}", answer)


async def settle_half_asked(turn: Voice, spoken: Entry[Spoken]) -> None:
    """The buttons go under the last message of a question that was said, and never recorded."""
    await _take_buttons(turn, spoken, f"settle-{spoken.seq}", "")


def half_asked(recorded: Sequence[Entry[Any]]) -> list[Entry[Spoken]]:
    """The last messages of questions that were said, and not recorded before their execution was killed.

    One that broke off has lost its buttons with that.
    """
    spoken = [entry for entry in only(Spoken, recorded) if not is_broken_off(entry)]
    asked = {entry.key for entry in only(Asked, recorded)}
    taken_over = {entry.event.taken_from for entry in spoken}
    said = dict[str, Entry[Spoken]]()
    for entry in spoken:
        question, _, name = speech_of(entry.key).rpartition(PART)
        if name == SAY and question not in asked and entry.key not in taken_over:
            said[question] = entry
    return list(said.values())


async def _take_buttons(turn: Voice, spoken: Entry[Spoken], name: str, answer: str) -> None:
    """The last message of a question reads so without them, and says the answer, if there was one."""
    ts, speech = spoken.event.ts, speech_of(spoken.key)
    text = f"{spoken.event.text}\n{answer}".strip()

    async def rewrite() -> str:
        finish = turn.speaker.finish
        try:
            with suppress(ContentRefused):
                return await finish(turn.thread, ts, text, speech, turn.hold)
            return await finish(turn.thread, ts, text, speech, turn.hold, plain=True)
        except ContentRefused as refusal:
            return str(refusal)
        except SpeechFailed as failure:
            if len(turn.execution.failed_attempts) < PATIENT:
                raise
            return str(failure)

    await turn.effect(name, {"ts": ts}, rewrite, repeatable=True)


# It is let go of


async def withdraw(turn: Voice) -> tuple[int, int]:
    """Nobody needs to answer what waits in this thread, and what goes on under it ends. How many questions
    were let go of, and how many branches? A branch that is stopped ends those under it by its own end.
    """
    under = watches_of(turn.journal, turn.thread)
    withdrawn = await turn.ctx.withdraw(seqs_of(under))
    branches: Sequence[Entry[Any]] = ()
    if not turn.execution.parent_thread:
        branches = await turn.ctx.cancel_all(f"{turn.thread} was stopped")
    await see_off(turn, withdrawn)
    return len(only(Asked, withdrawn)), len(branches)


async def see_off(turn: Voice, withdrawn: Sequence[Entry[Asked | Waiting]]) -> None:
    """Whoever wanted these asked hears that nobody answers, and their buttons go."""
    for waits in withdrawn:
        if isinstance(waits.event, Waiting) and not waits.event.resumes:
            continue
        await wishes.relay(turn, waits.event.execution, NO_ANSWER)
        await errand.report(turn, waits.event.execution, "declined")
        for question in only(Asked, [waits]):
            await settle(turn, question, "")
