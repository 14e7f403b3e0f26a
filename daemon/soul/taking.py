"""What a thread's next turn takes of all that waits, and which execution it goes on with.

See "Taking" in docs/ARCHITECTURE.md. What is decided here is written into `turn-began`, for ever.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from daemon.engine.event import Entry, Input, InputRank, of_kind
from daemon.engine.kinds import ThreadSpawned
from daemon.engine.program import InputSelection as EngineTaken
from daemon.engine.program import question_answered_by
from daemon.engine.reading import JournalReader
from daemon.kinds import (
    INNER,
    BackgroundTask,
    BranchAnswer,
    BranchQuestion,
    ButtonPress,
    DeletionCompleted,
    ForgetCompleted,
    IncomingMessage,
    InternalMessage,
    OverheardMessage,
    PersonMessage,
    QuestionAsked,
    ReminderFired,
    SelfCall,
    SpeechFinished,
    StopRequest,
    UnpromptedMessage,
    moment_of,
)

Inputs = Sequence[Entry[Input]]
REMEMBERING = "remembering"
UNKNOWN = "unknown"
"""The command of a `!word` that only a process may know; else the process of this name answers it."""
FULL_WIDTH = "\uff01"
"""An exclamation mark as some keyboards write it."""
THINKING_PROCESS = "deliberation"
"""The process in which the soul hears what comes from within; branches know no other."""
ONWARD = frozenset(
    {"go on", "continue", "carry on", "resume", "go ahead", "proceed", "weiter", "mach weiter", "continua"}
)
"""Whole messages that mean no more than this."""
POLITE = frozenset({"please", "bitte", "now"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulInputSelection(EngineTaken):
    """What is taken. `process` is empty for the one that the thread is in; else it is beside what the thread
    is about, and `params` are told to it: why it refuses, what to learn.
    """

    process: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


def select_inputs(
    journal: JournalReader, waiting: Inputs, owners: Collection[str], commands: Mapping[str, str]
) -> SoulInputSelection | None:
    """A stop; one answer; one wish; all messages together; one thing that the inner life wants said; one end
    of a wait; one afterthought. `commands` names the process that answers each command."""
    if not waiting:
        return None
    thread = waiting[0].thread
    if thread == INNER:
        return SoulInputSelection(inputs=waiting, process="inner_life")
    under_way: list[Entry[Any]] = journal.pending_entries(QuestionAsked, ThreadSpawned, thread=thread)
    stops = _ranked(waiting, InputRank.STOP)
    if stops:
        return SoulInputSelection(inputs=_ended_by(stops, waiting), process="stopping")
    answers = _ranked(waiting, InputRank.ANSWER)
    if answers:
        return _answered(journal, answers[0], owners)
    wishes = of_kind(BranchQuestion, waiting)
    if wishes:
        return SoulInputSelection(inputs=wishes[:1], process="relaying")
    messages = [entry for entry in waiting if _is_message(entry)]
    if messages:
        asked = _command(messages, commands)
        return asked or _said(journal, of_kind(QuestionAsked, under_way), messages, waiting, owners)
    unasked = of_kind(UnpromptedMessage, waiting)
    if unasked:
        return _unasked(unasked[0])
    return _left(journal, waiting)


def _ranked(waiting: Inputs, rank: InputRank) -> list[Entry[Input]]:
    return [entry for entry in waiting if entry.event.rank is rank]


def _words(entry: Entry[Input]) -> str:
    """What somebody said with it; empty where nobody said anything."""
    if isinstance(entry.event, PersonMessage):
        return entry.event.text
    return ""


def _ts(entry: Entry[Input]) -> str:
    if isinstance(entry.event, PersonMessage):
        return entry.event.ts
    return "0"


def _is_message(entry: Entry[Input]) -> bool:
    """Is it taken with all others of its kind?"""
    return entry.event.rank is InputRank.MESSAGE and not isinstance(entry.event, UnpromptedMessage)


def _ended_by(stops: Inputs, waiting: Inputs) -> list[Entry[Input]]:
    """What these stops end, with them: of messages only what their author said before."""
    return [entry for entry in waiting if entry in stops or _is_ended(entry, stops)]


def _is_ended(entry: Entry[Input], stops: Inputs) -> bool:
    """Answers, ends of waits and what came from within have nothing to go on with any more."""
    if isinstance(entry.event, SelfCall | InternalMessage) or entry.event.rank not in (
        InputRank.STOP,
        InputRank.MESSAGE,
    ):
        return True
    return any(entry.author == stop.author and was_said_before_stop(entry, stop) for stop in stops)


def _answered(journal: JournalReader, given: Entry[Input], owners: Collection[str]) -> SoulInputSelection:
    """A press by somebody who may not answer is answered itself, and the question stays open."""
    question = cast(Entry[QuestionAsked] | None, question_answered_by(journal, given))
    if question is None:
        return SoulInputSelection(inputs=[given], process="refusing", params={"why": "stale"})
    if isinstance(given.event, BranchAnswer) or may_answer(question, given.author, owners):
        return SoulInputSelection(inputs=[given], resumes=question)
    return SoulInputSelection(inputs=[given], process="refusing", params={"why": "stranger"})


def _command(messages: Inputs, commands: Mapping[str, str]) -> SoulInputSelection | None:
    """Take the first command alone, for the process that answers it; None where there is no command."""
    for message in of_kind(IncomingMessage, messages):
        command = message.event.command
        if command == UNKNOWN:
            command = command_word(message.event.text).removeprefix("!").casefold()
        if command:
            return SoulInputSelection(inputs=[message], process=commands.get(command) or commands[UNKNOWN])
    return None


def command_word(text: str) -> str:
    """Return the first `!word` of a message, which a mention may precede; "!" if there is none."""
    words = text.replace(FULL_WIDTH, "!").replace("`", " ").split()
    return next((word for word in words if word.startswith("!")), "!")


def _said(
    journal: JournalReader,
    questions: Sequence[Entry[QuestionAsked]],
    messages: Inputs,
    waiting: Inputs,
    owners: Collection[str],
) -> SoulInputSelection:
    """ "Go on", an answer in words; else all messages together, for which afterthoughts drop."""
    first = messages[0]
    for question in reversed(questions):
        theirs = [entry for entry in messages if may_answer(question, entry.author, owners)]
        theirs = [entry for entry in theirs if was_written_after(journal, question, _ts(entry))]
        if question.event.resumes and first in theirs and means_continue(_words(first)):
            return SoulInputSelection(inputs=[first], resumes=question)
        if question.event.words and theirs:
            return SoulInputSelection(inputs=theirs, resumes=question)
    return SoulInputSelection(inputs=[*messages, *_ranked(waiting, InputRank.AFTER)])


def _unasked(wanted: Entry[UnpromptedMessage]) -> SoulInputSelection:
    """What the inner life wants said is said by itself, or first an owner is asked."""
    if wanted.event.leave:
        return SoulInputSelection(inputs=[wanted], process="asking_leave")
    return SoulInputSelection(inputs=[wanted], process="saying")


def _left(journal: JournalReader, waiting: Inputs) -> SoulInputSelection:
    """Where nobody has said anything: the end of a wait, or an afterthought."""
    for ended in _ranked(waiting, InputRank.RESUME):
        if isinstance(ended.event, ForgetCompleted | DeletionCompleted):
            return SoulInputSelection(inputs=[ended], process=REMEMBERING)
        return SoulInputSelection(inputs=[ended], resumes=question_answered_by(journal, ended))
    first = waiting[0]
    assert isinstance(first.event, BackgroundTask), first.kind
    return SoulInputSelection(inputs=[first], process=first.event.process, params=first.event.params)


def may_answer(question: Entry[QuestionAsked], person: str, owners: Collection[str]) -> bool:
    """May this person answer now? It was put to them; and if that was as to an owner, they still are one."""
    if person not in question.event.to:
        return False
    return person in owners or person not in question.event.owners


def was_written_after(journal: JournalReader, question: Entry[QuestionAsked], ts: str) -> bool:
    """Was what was written then written after the question was said? What was before answers nothing, and
    nothing answers a question that is damaged."""
    if not question.event.said:
        return True
    asked = journal.readable_entries(question.event.said[:1])
    if not asked:
        return False
    first = asked[0].event
    return not isinstance(first, SpeechFinished) or moment_of(ts) > moment_of(first.ts)


def was_said_before_stop(said: Entry[Any], stop: Entry[Any]) -> bool:
    """Was this said before the stop, whichever of them came first?"""
    if isinstance(said.event, PersonMessage) and isinstance(stop.event, PersonMessage):
        return moment_of(said.event.ts) < moment_of(stop.event.ts)
    return said.seq < stop.seq


def answers_open_question(journal: JournalReader, message: Entry[Input], owners: Collection[str]) -> bool:
    """Does a question of its thread wait for it, so that no other execution should take it for itself?"""
    for question in journal.pending_entries(QuestionAsked, thread=message.thread):
        waits = question.event.words or (question.event.resumes and means_continue(_words(message)))
        theirs = may_answer(question, message.author, owners)
        if waits and theirs and was_written_after(journal, question, _ts(message)):
            return True
    return False


def means_continue(text: str) -> bool:
    """Does it say no more than "go on"?"""
    words = re.sub(r"<@\w+>|[^\w\s]", " ", text).casefold().split()
    said = [word for word in words if word not in POLITE]
    return " ".join(said) in ONWARD


def is_background_only(inputs: Inputs) -> bool:
    """Are they afterthoughts alone, for which nobody waits?"""
    return all(entry.event.rank is InputRank.AFTER for entry in inputs)


def internal_inputs(inputs: Inputs) -> list[Entry[SelfCall | InternalMessage]]:
    """What nobody said to the soul: its own thoughts, and what came of them."""
    found: list[Entry[Any]] = [one for one in inputs if isinstance(one.event, SelfCall | InternalMessage)]
    return found


def messages_to_answer(inputs: Inputs) -> list[Entry[PersonMessage]]:
    """The messages to answer among these, in Slack's order, whatever the order in which they came."""
    said = [
        entry
        for entry in inputs
        if isinstance(entry.event, IncomingMessage | ReminderFired | ButtonPress) or _words(entry)
    ]
    return in_slack_order(said)


def last_message_to_soul(journal: JournalReader, root: str, before: int) -> list[Entry[PersonMessage]]:
    """What was said last to the soul in this conversation; one may begin with no more than "stop"."""
    said: Entry[Any] | None = journal.latest_of_kind(root, IncomingMessage, before=before)
    if said is None:
        said = journal.latest_of_kind(root, StopRequest, before=before)
    if said is None:
        return []
    return [said]


def in_slack_order(messages: Iterable[Entry[Any]]) -> list[Entry[PersonMessage]]:
    """Messages in Slack's order; what was changed about one stands after it."""
    return sorted(messages, key=_when)


def _when(entry: Entry[Any]) -> tuple[Decimal, bool, int]:
    is_change = isinstance(entry.event, OverheardMessage) and bool(entry.event.note)
    return moment_of(entry.event.ts), is_change, entry.seq
