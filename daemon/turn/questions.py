"""Questions of a turn to people, also for branches, with buttons and answers.

A branch has no conversation: its root's turn asks its question and passes the answer on once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

from daemon.engine.event import PART, Entry, Input, fingerprint, of_kind, parent_of, part_key, seqs_of
from daemon.engine.exceptions import FencedError
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import CancelRequest, InputsReceived, ThreadEnded, ThreadSpawned, WaitBegan
from daemon.errors import ContentRefused, PostFailed
from daemon.kinds import (
    BranchAnswer,
    BranchQuestion,
    ButtonPress,
    ContextCleared,
    PersonMessage,
    ProgramEnded,
    QuestionAnswered,
    QuestionAsked,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
    Status,
    ToolErrand,
    UnpromptedMessage,
    UnpromptedOutcome,
)
from daemon.kinds.inner_life_kinds import Became
from daemon.knowledge.visibility import Visibility
from daemon.memory import Memory
from daemon.ports import Button, ButtonRow
from daemon.prompts.elements import clean_name_text, parse_labels
from daemon.turn.branches import watches_of_thread
from daemon.turn.forms import SUBMITTED
from daemon.turn.recall import entry_as_memory, recall_kept
from daemon.turn.speech import is_broken_off, speech_at, speech_key_of
from daemon.turn.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question for which an execution waits without holding anything.

    `text` is said, if any. `to` may answer (ids of people), those in `owners` as long as they own the soul.
    With `choices` a press answers, else the next message of one of them; with `resumes`, a message that says
    no more than "go on". After `wait` seconds nobody can answer any more. `about` is recorded with it.
    """

    text: str = ""
    to: Sequence[str] = ()
    owners: Sequence[str] = ()
    choices: Sequence[Button] = ()
    resumes: bool = False
    wait: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a question: the value of a choice, or the words, and by whom; both empty if by nobody.

    `at` is its time (Unix seconds). `memories` are the question, everything that the thread kept meanwhile,
    and the answer. `more`: something else was said meanwhile. `fields` are the values of a form.
    """

    value: str
    by: str
    at: float
    memories: tuple[Memory, ...] = ()
    more: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)


NO_ANSWER = Answer(value="", by="", at=0.0)
"""The answer if nobody may give one, or can any more."""


def first_input(journal: JournalReader, execution: str) -> Entry[Any]:
    """Return the first of the inputs that this execution was begun for."""
    began = cast(Entry[SoulTurnBegan], journal.get(f"{execution}/began"))
    return journal.entry(began.event.inputs[0])


# Messages of the inner life


def unprompted_message(turn: Turn) -> UnpromptedMessage | None:
    """Return the message that the inner life wants said here, if that is what this turn is about.

    Then the turn says it, or asks an owner whether it may.
    """
    message = _unprompted_message_of(turn.journal, turn.execution.id)
    if message is None:
        return None
    return message.event


def _unprompted_message_of(journal: JournalReader, execution: str) -> Entry[UnpromptedMessage] | None:
    first = first_input(journal, execution)
    if isinstance(first.event, UnpromptedMessage):
        return first
    return None


async def may_still_say(turn: Turn) -> bool:
    """Return True if that message may still be known where it is to be said: others can read there by now."""
    message = unprompted_message(turn)
    assert message
    there = message.to or turn.thread

    async def judged() -> str:
        await turn.deps.people.places.update()
        views = Visibility(turn.deps.people.places)
        if views.may_know(there, message.view, wrote=message.by):
            return "yes"
        return "no"

    said = await turn.effect("may-say", {"to": there}, judged, repeatable=True)
    return said.event.text == "yes"


async def report_unprompted_outcome(turn: Turn, outcome: Became, execution: str = "") -> None:
    """Tell the inner life the outcome of its message: the first report counts.

    `execution` is the one that was to say it, if not this turn's. No step: whoever ends that execution has
    steps of its own, and finds here that it was done.
    """
    message = _unprompted_message_of(turn.journal, execution or turn.execution.id)
    if message is None:
        return
    if isinstance(message.event, ToolErrand):
        await report_tool_call(turn, message.event, "error", outcome)
        return
    key = f"said-out:{message.key}"
    if turn.journal.get(key) is None:
        there = message.event.to or turn.thread
        told = UnpromptedOutcome(by=message.event.by, to=there, outcome=outcome)
        await turn.execution.append(told, key, cause=message.seq)


async def report_tool_call(turn: Turn, errand: ToolErrand, status: Status, result: str) -> None:
    """Tell the inner life what came of its tool call: the first report counts."""
    journal = turn.journal
    request = journal.entry(errand.call)
    if not journal.is_pending(request.seq):
        return
    ended = ProgramEnded(process=request.seq, name=request.event.tool, status=status, result=result)
    with suppress(FencedError):  # it was reported, or forgotten, meanwhile
        await journal.append(
            request.thread,
            ended,
            key=part_key(request.key, "ended"),
            author="core",
            cause=request.seq,
            closes=[request.seq],
            requires=request.seq,
        )


# Questions


def two_buttons(text: str, yes: str, no: str) -> tuple[Button, Button]:
    """Return two buttons, labelled by the owner's file of labels."""
    known = parse_labels(text)
    agree = Button(label=known.get(yes, yes), value=yes, style="primary")
    decline = Button(label=known.get(no, no), value=no, style="danger")
    return agree, decline


async def send_branch_question(turn: Turn, key: str, question: Question) -> None:
    """Have the root thread ask a branch's question. It is recorded with the question, so it needs no step."""
    request_key = part_key(key, "wish")
    if turn.journal.get(request_key):
        return
    request = BranchQuestion(
        branch=turn.thread,
        text=question.text,
        asks=key,
        to=tuple(question.to),
        owners=tuple(question.owners),
        choices=tuple((choice.label, choice.value, choice.style) for choice in question.choices),
        wait=question.wait,
        about=question.about,
    )
    await turn.execution.append(request, request_key, thread=turn.root)


def branch_question_of(journal: JournalReader, execution: str) -> BranchQuestion | None:
    first = first_input(journal, execution).event
    if isinstance(first, BranchQuestion):
        return first
    return None


def branch_question(turn: Turn) -> Question | None:
    """Return the branch's question that this turn asks readers of its conversation."""
    request = branch_question_of(turn.journal, turn.execution.id)
    if request is None:
        return None
    return Question(
        text=request.text,
        to=turn.readers_among(request.to),
        owners=turn.readers_among(request.owners),
        choices=[Button(label=label, value=value, style=style) for label, value, style in request.choices],
        wait=request.wait,
        about=request.about,
    )


def asking_branch(turn: Turn) -> Sequence[int]:
    """Return the spawn entry of the asking branch, whose end cancels the question."""
    request = branch_question_of(turn.journal, turn.execution.id)
    if request is None:
        return ()
    begun = turn.journal.thread_entries(parent_of(request.branch), ThreadSpawned)
    return seqs_of([entry for entry in begun if entry.event.thread == request.branch])


async def wait_for_earlier_questions(turn: Turn) -> bool:
    """Wait until earlier questions of branches are answered; return False if the asking branch has ended.

    Raises ExecutionSuspended.
    """
    while True:
        earlier = await turn.ctx.record_if_found("earlier", lambda: _earlier_questions(turn))
        if earlier is None:
            break
        await turn.ctx.wait(closed=earlier.event.inputs, name="earlier-wish")
    return await turn.ctx.record_if_found("forlorn", lambda: _end_of_asking_branch(turn)) is None


def _earlier_questions(turn: Turn) -> InputsReceived | None:
    journal = turn.journal
    pending: list[Entry[Any]] = []
    pending += journal.pending_entries(QuestionAsked, thread=turn.thread)
    pending += journal.pending_entries(WaitBegan, thread=turn.thread)
    earlier = [entry for entry in pending if _is_earlier(turn, entry.event.execution)]
    if not earlier:
        return None
    return InputsReceived(inputs=tuple(seqs_of(earlier)))


def _is_earlier(turn: Turn, execution: str) -> bool:
    journal = turn.journal
    began = journal.get(f"{execution}/began")
    return (
        began is not None
        and began.seq < turn.began_seq
        and branch_question_of(journal, execution) is not None
    )


def _end_of_asking_branch(turn: Turn) -> InputsReceived | None:
    journal = turn.journal
    request = branch_question_of(journal, turn.execution.id)
    assert request
    thread = request.branch
    while parent_of(thread):
        ends = journal.thread_entries(thread, CancelRequest, ThreadEnded)
        if ends:
            return InputsReceived(inputs=(ends[0].seq,))
        thread = parent_of(thread)
    return None


async def answered_since(turn: Turn, question: Question) -> Answer | None:
    """Return an answer about the same limit that was given after this question was sent."""
    found = await turn.ctx.record_if_found("answered", lambda: _answer_since(turn, question))
    if found is None:
        return None
    given: Entry[QuestionAnswered] = turn.journal.entry(found.event.inputs[0])
    return Answer(value=given.event.value, by=given.event.by, at=given.at)


def _answer_since(turn: Turn, question: Question) -> InputsReceived | None:
    if "resets" not in question.about:
        return None
    for entry in turn.journal.thread_entries(turn.thread, QuestionAnswered, since=turn.inputs[0].seq):
        if entry.event.about == question.about and entry.event.by:
            return InputsReceived(inputs=(entry.seq,))
    return None


async def answer_branch(turn: Turn, answer: Answer, execution: str = "") -> None:
    """Send the first answer to the branch that asked.

    No step, since any step that ends the asking execution may call it.
    """
    request = branch_question_of(turn.journal, execution or turn.execution.id)
    if request is None:
        return
    key = f"relayed:{request.asks}"
    if turn.journal.get(key):
        return
    words = ""
    if answer.memories:
        words = answer.memories[-1].content
    relayed = BranchAnswer(
        answers=request.asks, value=answer.value, by=answer.by, text=words, fields=answer.fields
    )
    await turn.execution.append(relayed, key, thread=request.branch)


SAY = "say"


MOST_FAILED_ATTEMPTS = 8
"""Failed attempts, over some minutes, after which buttons stay."""


async def ask(turn: Turn, name: str, question: Question) -> Answer:
    """Put a question to people. Return the answer, or suspend the execution until it comes.

    A client of the soul's MCP server cannot press a button, so nobody answers a question with choices there.
    """
    check_question(turn, question)
    if turn.is_served and question.choices:
        return NO_ANSWER
    asks = question_event(question)

    async def say(key: str) -> QuestionAsked:
        about = fingerprint(name, asks, question.wait)
        labels = tuple(choice.label for choice in question.choices)
        return replace(asks, said=await say_question(turn, key, question, about), labels=labels)

    async def keep(asked: Entry[QuestionAsked], given: Entry[Input]) -> QuestionAnswered:
        return await answer_event(turn, asked, given, question)

    answer = await turn.ctx.ask_for(
        name,
        asks,
        answered=keep,
        kind=QuestionAnswered,
        first=say,
        within=question.wait,
        until=asking_branch(turn),
    )
    asked: Entry[QuestionAsked] = turn.journal.entry(answer.event.asked)
    await remove_buttons(turn, asked, answer.event.text)
    turn.resume_at(answer.at, was_told=bool(question.to))
    return answer_with_memories(turn, asked, answer)


def check_question(turn: Turn, question: Question) -> None:
    """Raise an error for a question that nobody could answer."""
    if not question.to:
        return
    if not question.resumes and not question.text.strip():
        raise ValueError("a question that someone is to answer needs words")
    if not question.choices and not turn.alone:
        raise RuntimeError(
            "beside other steps a question needs choices: nobody could tell which one words answer"
        )


def question_event(question: Question) -> QuestionAsked:
    """Return the entry of a question, without what its asking brings."""
    return QuestionAsked(
        text=question.text,
        to=tuple(question.to),
        owners=tuple(question.owners),
        choices=tuple(choice.value for choice in question.choices),
        words=bool(question.to) and not (question.choices or question.resumes),
        resumes=question.resumes,
        about=question.about,
    )


async def say_question(turn: Turn, key: str, question: Question, about: str) -> tuple[int, ...]:
    """Post a question, or have the root post it; return the seqs of its receipts."""
    if not question.text:
        return ()
    if not turn.addressed:
        await send_branch_question(turn, key, question)
        return ()
    buttons = None
    if question.choices:
        buttons = ButtonRow(asked=key, choices=tuple(question.choices), question=about)
    speech = speech_at(turn, part_key(key, SAY))
    spoken = await speech.finish(question.text, buttons)
    return tuple(seqs_of(spoken))


async def answer_event(
    turn: Turn, asked: Entry[QuestionAsked], given: Entry[Input], question: Question
) -> QuestionAnswered:
    """Return what an input answers, and what the thread kept meanwhile."""
    meanwhile = tuple(_meanwhile(turn, asked))
    answer = QuestionAnswered(input=given.seq, asked=asked.seq, about=asked.event.about, meanwhile=meanwhile)
    event = given.event
    if isinstance(event, ButtonPress):
        name = await turn.speaker.name(given.author) or event.name
        text = _choice_in_words(name, question, event)
        return replace(answer, value=event.value, by=given.author, text=text, fields=event.fields)
    if isinstance(event, BranchAnswer):
        return replace(answer, value=event.value, by=event.by, text=event.text, fields=event.fields)
    if isinstance(event, PersonMessage):
        said = of_kind(PersonMessage, turn.journal.entries_at(turn.execution.began.event.inputs))
        return replace(answer, value=event.text, by=event.user, seqs=tuple(seqs_of(said)))
    return answer


def _choice_in_words(name: str, question: Question, press: ButtonPress) -> str:
    label = press.value
    if press.value == SUBMITTED:
        label = press.text
    for choice in question.choices:
        if choice.value == press.value:
            label = choice.label
    return f"[{clean_name_text(name)} chose “{label}”]"


def _meanwhile(turn: Turn, asked: Entry[QuestionAsked]) -> list[int]:
    journal = turn.journal
    past = turn.deps.pasts.history_of(turn.thread, turn.execution.began.seq)
    theirs = set[int]()
    for ended in journal.thread_entries(turn.thread, SoulTurnEnded, since=asked.seq):
        its: Entry[SoulTurnBegan] = journal.entry(ended.cause or 0)
        if its.event.execution != turn.execution.id:
            theirs.update(ended.event.keep)
    kept = [memory.seq for memory in past.kept if memory.seq]
    newer = journal.entries_at([seq for seq in kept if seq > asked.seq])
    summed_up = [cleared for cleared in of_kind(ContextCleared, newer) if not cleared.event.seqs]
    said = [seq for seq in kept if seq in theirs]
    return [*seqs_of(summed_up), *said, *seqs_of(past.overheard)]


def answer_with_memories(turn: Turn, asked: Entry[QuestionAsked], answer: Entry[QuestionAnswered]) -> Answer:
    """Return an answer with everything that is to be remembered of it."""
    event = answer.event
    seqs = [*asked.event.said, *event.meanwhile, *event.seqs]
    memories: list[Memory] = [*recall_kept(turn.journal.entries_at(seqs), turn.tag_suffix)]
    if event.text:
        memories.append(entry_as_memory(answer))
    return Answer(
        value=event.value,
        by=event.by,
        at=answer.at,
        memories=tuple(memories),
        more=bool(event.meanwhile),
        fields=event.fields,
    )


async def remove_buttons(turn: Turn, asked: Entry[QuestionAsked], answer: str) -> None:
    """Show the choice in place of a question's buttons; ignore failures."""
    if not (asked.event.choices and asked.event.said):
        return
    last = turn.journal.entry(asked.event.said[-1])
    if isinstance(last.event, SpeechFinished):
        await _replace_buttons(turn, last, f"settle-{asked.seq}", answer)


async def remove_orphan_buttons(turn: Turn, spoken: Entry[SpeechFinished]) -> None:
    await _replace_buttons(turn, spoken, f"settle-{spoken.seq}", "")


def orphan_questions(recorded: Sequence[Entry[Any]]) -> list[Entry[SpeechFinished]]:
    """Return the last messages of questions that were posted, but not recorded before a crash.

    Messages that broke off have no buttons and are left out.
    """
    spoken = [entry for entry in of_kind(SpeechFinished, recorded) if not is_broken_off(entry)]
    asked = {entry.key for entry in of_kind(QuestionAsked, recorded)}
    taken_over = {entry.event.taken_from for entry in spoken}
    said = dict[str, Entry[SpeechFinished]]()
    for entry in spoken:
        question, _, name = speech_key_of(entry.key).rpartition(PART)
        if name == SAY and question not in asked and entry.key not in taken_over:
            said[question] = entry
    return list(said.values())


async def _replace_buttons(turn: Turn, spoken: Entry[SpeechFinished], name: str, answer: str) -> None:
    ts, speech = spoken.event.ts, speech_key_of(spoken.key)
    text = f"{spoken.event.text}\n{answer}".strip()

    async def rewrite() -> str:
        finish = turn.speaker.finish
        try:
            with suppress(ContentRefused):
                return await finish(turn.thread, ts, text, speech, turn.check_lease)
            return await finish(turn.thread, ts, text, speech, turn.check_lease, plain=True)
        except ContentRefused as refusal:
            return str(refusal)
        except PostFailed as failure:
            if len(turn.execution.failed_attempts) < MOST_FAILED_ATTEMPTS:
                raise
            return str(failure)

    await turn.effect(name, {"ts": ts}, rewrite, repeatable=True)


async def withdraw_questions(turn: Turn) -> tuple[int, int]:
    """Withdraw the questions of this thread, and stop its branches; return how many of each.

    A branch that is stopped ends those under it by its own end.
    """
    under = watches_of_thread(turn.journal, turn.thread)
    withdrawn = await turn.ctx.withdraw(seqs_of(under))
    branches: Sequence[Entry[Any]] = ()
    if not turn.execution.parent_thread:
        branches = await turn.ctx.cancel_all(f"{turn.thread} was stopped")
    await report_withdrawn(turn, withdrawn)
    return len(of_kind(QuestionAsked, withdrawn)), len(branches)


async def report_withdrawn(turn: Turn, withdrawn: Sequence[Entry[QuestionAsked | WaitBegan]]) -> None:
    for waits in withdrawn:
        if isinstance(waits.event, WaitBegan) and not waits.event.resumes:
            continue
        await answer_branch(turn, NO_ANSWER, waits.event.execution)
        await report_unprompted_outcome(turn, "declined", waits.event.execution)
        for question in of_kind(QuestionAsked, [waits]):
            await remove_buttons(turn, question, "")
