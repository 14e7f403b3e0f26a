"""How a turn asks people and goes on with their answer: the buttons, who is asked, what was said meanwhile.

A branch has no address: its question becomes a wish of its root, whose own turn asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from daemon.engine.event import Entry, Input, fingerprint, only, seqs_of
from daemon.engine.keys import PART, parent_of, part
from daemon.engine.kinds import Cancel, Received, Spawned, ThreadEnded, Waiting
from daemon.engine.reading import Reading
from daemon.errors import SpeechFailed
from daemon.kinds import (
    Answered,
    Asked,
    ContextCleared,
    Press,
    Relayed,
    Said,
    SharedFile,
    Spoken,
    Timer,
    TurnBegan,
    TurnEnded,
    Wish,
)
from daemon.memory import Memory
from daemon.mind.recall import plain, recall, remember
from daemon.ports import Choice, Choices
from daemon.process import NO_ANSWER, Answer, Question
from daemon.soul.errand import errand_of, report
from daemon.soul.message import speech_of
from daemon.soul.tree import watches_of
from daemon.soul.voice import Voice

SAY = "say"
"""The part of a question that says it."""
PATIENT = 8
"""Failures of a turn, some minutes, after which buttons are left standing."""


async def ask(turn: Voice, name: str, question: Question) -> Answer:
    """Ask; read the answer back, or take it from what this turn took, or suspend."""
    if question.to and not question.resumes and not question.text.strip():
        raise ValueError("a question that someone is to answer needs words")
    if question.to and not question.choices and not turn.alone:
        raise RuntimeError(
            "beside other steps a question needs choices: nobody could tell which one words answer"
        )

    async def say(key: str) -> Asked:
        """Say it under the key of the question, before anybody can answer it."""
        said = await _put(turn, key, name, question)
        return _asked(question, said)

    async def keep(asked: Entry[Asked], given: Entry[Input]) -> Answered:
        return await _answered(turn, asked, given, question)

    answer = await turn.ctx.ask_for(
        name,
        _asked(question, ()),
        answered=keep,
        kind=Answered,
        first=say,
        within=question.wait,
        until=_wisher(turn),
    )
    asked: Entry[Asked] = turn.world.journal.at(answer.event.asked)
    await settle(turn, asked, answer.event.text)
    return _remembered(turn, asked, answer)


async def _put(turn: Voice, key: str, name: str, question: Question) -> Sequence[int]:
    """Say the question, with its buttons; the receipts."""
    if not question.text:
        return ()
    if not turn.addressed:
        await _wish(turn, key, question)
        return ()
    buttons = None
    if question.choices:
        about = fingerprint(name, _asked(question, ()), question.wait)
        buttons = Choices(asked=key, choices=tuple(question.choices), question=about)
    spoken = await turn.speech_at(part(key, SAY)).close(question.text, buttons)
    return tuple(seqs_of(spoken))


async def _wish(turn: Voice, key: str, question: Question) -> None:
    """The root is to ask it. Part of the question, and no step: where that is recorded, so is this."""
    wished = part(key, "wish")
    if turn.world.journal.get(wished):
        return
    wish = Wish(
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


def wished(wish: Wish, readers: Callable[[Sequence[str]], Sequence[str]]) -> Question:
    """What a branch wants to be asked: of those who can read the conversation in which it is."""
    return Question(
        text=wish.text,
        to=readers(wish.to),
        owners=readers(wish.owners),
        choices=tuple(Choice(label=label, value=value, style=style) for label, value, style in wish.choices),
        wait=wish.wait,
        about=wish.about,
    )


def _asked(question: Question, said: Sequence[int]) -> Asked:
    return Asked(
        text=question.text,
        to=tuple(question.to),
        owners=tuple(question.owners),
        choices=tuple(choice.value for choice in question.choices),
        words=bool(question.to) and not (question.choices or question.resumes),
        resumes=question.resumes,
        about=question.about,
        said=tuple(said),
    )


async def _answered(turn: Voice, asked: Entry[Asked], given: Entry[Input], question: Question) -> Answered:
    """The answer as it is recorded, with what the thread kept meanwhile."""
    answer = Answered(
        input=given.seq, asked=asked.seq, about=asked.event.about, meanwhile=tuple(_meanwhile(turn, asked))
    )
    event = given.event
    if isinstance(event, Press):
        name = await turn.world.speaker.name(given.author) or event.name
        return replace(answer, value=event.value, by=given.author, text=_chose(name, question, event.value))
    if isinstance(event, Relayed):
        return replace(answer, value=event.value, by=event.by, text=event.text)
    if isinstance(event, Said):
        inputs = turn.world.journal.many(turn.execution.began.event.inputs)
        seqs = tuple(entry.seq for entry in inputs if isinstance(entry.event, Said))
        return replace(answer, value=event.text, by=event.user, seqs=seqs)
    return answer


def _chose(name: str, question: Question, value: str) -> str:
    labels = {choice.value: choice.label for choice in question.choices}
    return f"[{plain(name)} chose “{labels.get(value, value)}”]"


def _meanwhile(turn: Voice, asked: Entry[Asked]) -> list[int]:
    """What other executions kept in this thread since the question, and what was heard."""
    journal = turn.world.journal
    past = turn.world.pasts.of(turn.thread, turn.execution.began.seq)
    theirs = set[int]()
    for ended in journal.of(turn.thread, TurnEnded, since=asked.seq):
        began: Entry[TurnBegan] = journal.at(ended.cause or 0)
        if began.event.execution != turn.execution.id:
            theirs.update(ended.event.keep)
    kept = [memory.seq for memory in past.kept if memory.seq]
    newer = [journal.at(seq) for seq in kept if seq > asked.seq]
    summed_up = [entry.seq for entry in only(ContextCleared, newer) if not entry.event.seqs]
    said = [seq for seq in kept if seq in theirs]
    heard = seqs_of(past.heard)
    return [*summed_up, *said, *heard]


def _remembered(turn: Voice, asked: Entry[Asked], answer: Entry[Answered]) -> Answer:
    event = answer.event
    told = recall(turn.world.journal.many([*asked.event.said, *event.meanwhile, *event.seqs]))
    words: tuple[Memory, ...] = (remember(answer),) if event.text else ()
    return Answer(
        value=event.value,
        by=event.by,
        at=answer.at,
        memories=(*told, *words),
        more=bool(event.meanwhile),
    )


def settling(asked: Entry[Any]) -> str:
    """What the deed is called by which its buttons go."""
    return f"settle-{asked.seq}"


def half_asked(recorded: Sequence[Entry[Any]]) -> list[Entry[Spoken]]:
    """The last messages of questions that were said, and not recorded before their execution was killed."""
    spoken = only(Spoken, recorded)
    asked = {entry.key for entry in recorded if isinstance(entry.event, Asked)}
    taken_over = {entry.event.taken_from for entry in spoken}
    said = dict[str, Entry[Spoken]]()
    for entry in spoken:
        question, _, name = speech_of(entry.key).rpartition(PART)
        if name == SAY and question not in asked and entry.key not in taken_over:
            said[question] = entry
    return list(said.values())


async def settle(turn: Voice, asked: Entry[Asked], answer: str) -> None:
    """The buttons of a question go, and who chose what stands there instead. A nicety: it holds up nobody."""
    if not (asked.event.choices and asked.event.said):
        return
    spoken = turn.world.journal.at(asked.event.said[-1])
    if not isinstance(spoken.event, Spoken):
        return
    await take_buttons(turn, spoken, settling(asked), answer)


async def take_buttons(turn: Voice, spoken: Entry[Spoken], name: str, answer: str = "") -> None:
    """The last message of a question reads so without them, and says the answer, if there was one."""
    text, ts = f"{spoken.event.text}\n{answer}".strip(), spoken.event.ts

    async def rewrite() -> str:
        try:
            return await turn.world.speaker.finish(turn.thread, ts, text, speech_of(spoken.key), turn.hold)
        except SpeechFailed as failure:
            if len(turn.execution.failed) < PATIENT:
                raise
            return str(failure)

    await turn.effect(name, {"ts": ts}, rewrite, repeatable=True)


async def withdraw(turn: Voice) -> tuple[int, int]:
    """Nobody needs to answer what waits in this thread, and what goes on under it ends. How many questions
    were let go of, and how many branches? A branch that is stopped ends those under it by its own end.
    """
    under = watches_of(turn.world.journal, turn.thread)
    withdrawn = await turn.ctx.withdraw(seqs_of(under))
    root = not turn.execution.parent
    branches = await turn.ctx.cancel_all(f"{turn.thread} was stopped") if root else ()
    await see_off(turn, withdrawn)
    return len(only(Asked, withdrawn)), len(branches)


async def see_off(turn: Voice, withdrawn: Sequence[Entry[Asked | Waiting]]) -> None:
    """Whoever wanted these asked hears that nobody answers, and their buttons go."""
    journal = turn.world.journal
    for waits in withdrawn:
        if isinstance(waits.event, Waiting) and not waits.event.resumes:
            continue
        wish = wish_of(journal, waits.event.execution)
        if wish:
            await relay(turn, wish, NO_ANSWER)
        wanted = errand_of(journal, waits.event.execution)
        if wanted:
            await report(turn, wanted, "declined")
        for question in only(Asked, [waits]):
            await settle(turn, question, "")


async def wait_for_other_wishes(turn: Voice) -> bool:
    """Until nothing is asked here any more for a branch that wished it earlier. Does this one's branch still
    want it then? Raises Suspended."""
    earlier = await turn.ctx.notice("earlier", lambda: _earlier_wishes(turn))
    while earlier:
        await turn.ctx.wait(closed=earlier.event.inputs, name="earlier-wish")
        earlier = await turn.ctx.notice("earlier", lambda: _earlier_wishes(turn))
    return await turn.ctx.notice("forlorn", lambda: _forlorn(turn)) is None


def _forlorn(turn: Voice) -> Received | None:
    """Has the branch that wished this ended, or is it told to?"""
    journal = turn.world.journal
    wish = wish_of(journal, turn.execution.id)
    thread = wish.branch if wish else ""
    while parent := parent_of(thread):
        if ends := journal.of(thread, Cancel, ThreadEnded):
            return Received(inputs=(ends[0].seq,))
        thread = parent
    return None


def _wisher(turn: Voice) -> Sequence[int]:
    """The branch that wished to ask this: where it ends, nobody needs to answer any more."""
    wish = wish_of(turn.world.journal, turn.execution.id)
    if wish is None:
        return ()
    begun = turn.world.journal.of(parent_of(wish.branch), Spawned)
    return [entry.seq for entry in begun if entry.event.thread == wish.branch]


def _earlier_wishes(turn: Voice) -> Received | None:
    """What executions wait for that were begun earlier for a branch."""
    journal, thread = turn.world.journal, turn.thread
    pending: list[Entry[Any]] = [*journal.pending(Asked, thread=thread)]
    pending += journal.pending(Waiting, thread=thread)
    seqs = []
    for entry in pending:
        execution = entry.event.execution
        began = journal.get(f"{execution}/began")
        if began and began.seq < turn.first.seq and wish_of(journal, execution):
            seqs.append(entry.seq)
    return Received(inputs=tuple(seqs)) if seqs else None


async def answered_since(turn: Voice, question: Question) -> Answer | None:
    """How the same bound was answered for another branch, after this one wished to ask."""
    found = await turn.ctx.notice("answered", lambda: _given_since(turn, question))
    if found is None:
        return None
    given: Entry[Answered] = turn.world.journal.at(found.event.inputs[0])
    return Answer(value=given.event.value, by=given.event.by, at=given.at)


def _given_since(turn: Voice, question: Question) -> Received | None:
    if "resets" not in question.about:
        return None
    wished = turn.execution.first_inputs[0].seq
    for entry in turn.world.journal.of(turn.thread, Answered, since=wished):
        if entry.event.about == question.about and entry.event.by:
            return Received(inputs=(entry.seq,))
    return None


def wish_of(journal: Reading, execution: str) -> Wish | None:
    """What a branch wants to ask, if this execution is to do that."""
    began = cast(Entry[TurnBegan], journal.get(f"{execution}/began"))
    first = journal.at(began.event.inputs[0]).event
    return first if isinstance(first, Wish) else None


async def relay(turn: Voice, wish: Wish, answer: Answer) -> None:
    """Hand on what people answered to the branch that wished to ask it: the first answer, and no other.

    No step: whoever ends the execution that asks has steps of its own, and finds here that it was done.
    """
    key = f"relayed:{wish.asks}"
    if turn.world.journal.get(key):
        return
    words = answer.memories[-1].content if answer.memories else ""
    relayed = Relayed(answers=wish.asks, value=answer.value, by=answer.by, text=words)
    await turn.execution.append(relayed, key, thread=wish.branch)


def noted(reminder: Timer) -> Mapping[str, Any]:
    """A reminder as JSON, to be kept in the wait for its time; `reminded` makes it again."""
    return asdict(reminder)


def reminded(note: Mapping[str, Any]) -> Timer:
    """The reminder that was noted."""
    files = tuple(SharedFile(**file) for file in note["files"])
    return Timer(**{**note, "files": files})
