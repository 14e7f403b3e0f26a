"""What a thread's next turn takes of all that waits, and which execution it goes on with.

See "Taking" in docs/ARCHITECTURE.md. What is decided here is written into `turn-began`, for ever.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from daemon.engine.event import Entry, Input, Rank, only
from daemon.engine.kinds import Spawned
from daemon.engine.program import Taken as EngineTaken
from daemon.engine.program import question_of
from daemon.engine.reading import Reading
from daemon.kinds import (
    INNER,
    Afterthought,
    Asked,
    DeleteDone,
    ForgetDone,
    Heard,
    InnerMessage,
    Message,
    Press,
    Relayed,
    Said,
    SelfCall,
    Spoken,
    StopAsked,
    Timer,
    ToSay,
    Wish,
    moment,
)

Inputs = Sequence[Entry[Input]]
REMEMBERING = "remembering"
UNKNOWN = "unknown"
"""The command of a `!word` that only a process may know; else the process of this name answers it."""
FULL_WIDTH = "\uff01"
"""An exclamation mark as some keyboards write it."""
THINKING = "deliberation"
"""The process in which the soul hears what comes from within; branches know no other."""
ONWARD = frozenset(
    {"go on", "continue", "carry on", "resume", "go ahead", "proceed", "weiter", "mach weiter", "continua"}
)
"""Whole messages that mean no more than this."""
POLITE = frozenset({"please", "bitte", "now"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken(EngineTaken):
    """What is taken. `process` is empty for the one that the thread is in; else it is beside what the thread
    is about, and `params` are told to it: why it refuses, what to learn.
    """

    process: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


def taking(
    journal: Reading, waiting: Inputs, owners: Collection[str], commands: Mapping[str, str]
) -> Taken | None:
    """A stop; one answer; one wish; all messages together; one thing that the inner life wants said; one end
    of a wait; one afterthought. `commands` names the process that answers each command."""
    if not waiting:
        return None
    thread = waiting[0].thread
    if thread == INNER:
        return Taken(inputs=waiting, process="inner_life")
    under_way: list[Entry[Any]] = journal.pending_entries(Asked, Spawned, thread=thread)
    stops = _ranked(waiting, Rank.STOP)
    if stops:
        return Taken(inputs=_ended_by(stops, waiting), process="stopping")
    answers = _ranked(waiting, Rank.ANSWER)
    if answers:
        return _answered(journal, answers[0], owners)
    wishes = only(Wish, waiting)
    if wishes:
        return Taken(inputs=wishes[:1], process="relaying")
    messages = [entry for entry in waiting if _is_message(entry)]
    if messages:
        asked = _command(messages, commands)
        return asked or _said(journal, only(Asked, under_way), messages, waiting, owners)
    unasked = only(ToSay, waiting)
    if unasked:
        return _unasked(unasked[0])
    return _left(journal, waiting)


def _ranked(waiting: Inputs, rank: Rank) -> list[Entry[Input]]:
    return [entry for entry in waiting if entry.event.rank is rank]


def _words(entry: Entry[Input]) -> str:
    """What somebody said with it; empty where nobody said anything."""
    if isinstance(entry.event, Said):
        return entry.event.text
    return ""


def _ts(entry: Entry[Input]) -> str:
    if isinstance(entry.event, Said):
        return entry.event.ts
    return "0"


def _is_message(entry: Entry[Input]) -> bool:
    """Is it taken with all others of its kind?"""
    return entry.event.rank is Rank.MESSAGE and not isinstance(entry.event, ToSay)


def _ended_by(stops: Inputs, waiting: Inputs) -> list[Entry[Input]]:
    """What these stops end, with them: of messages only what their author said before."""
    return [entry for entry in waiting if entry in stops or _is_ended(entry, stops)]


def _is_ended(entry: Entry[Input], stops: Inputs) -> bool:
    """Answers, ends of waits and what came from within have nothing to go on with any more."""
    if isinstance(entry.event, SelfCall | InnerMessage) or entry.event.rank not in (Rank.STOP, Rank.MESSAGE):
        return True
    return any(entry.author == stop.author and said_before(entry, stop) for stop in stops)


def _answered(journal: Reading, given: Entry[Input], owners: Collection[str]) -> Taken:
    """A press by somebody who may not answer is answered itself, and the question stays open."""
    question = cast(Entry[Asked] | None, question_of(journal, given))
    if question is None:
        return Taken(inputs=[given], process="refusing", params={"why": "stale"})
    if isinstance(given.event, Relayed) or may_answer(question, given.author, owners):
        return Taken(inputs=[given], resumes=question)
    return Taken(inputs=[given], process="refusing", params={"why": "stranger"})


def _command(messages: Inputs, commands: Mapping[str, str]) -> Taken | None:
    """Take the first command alone, for the process that answers it; None where there is no command."""
    for message in only(Message, messages):
        command = message.event.command
        if command == UNKNOWN:
            command = command_word(message.event.text).removeprefix("!").casefold()
        if command:
            return Taken(inputs=[message], process=commands.get(command) or commands[UNKNOWN])
    return None


def command_word(text: str) -> str:
    """Return the first `!word` of a message, which a mention may precede; "!" if there is none."""
    words = text.replace(FULL_WIDTH, "!").replace("`", " ").split()
    return next((word for word in words if word.startswith("!")), "!")


def _said(
    journal: Reading,
    questions: Sequence[Entry[Asked]],
    messages: Inputs,
    waiting: Inputs,
    owners: Collection[str],
) -> Taken:
    """ "Go on", an answer in words; else all messages together, for which afterthoughts drop."""
    first = messages[0]
    for question in reversed(questions):
        theirs = [entry for entry in messages if may_answer(question, entry.author, owners)]
        theirs = [entry for entry in theirs if is_newer(journal, question, _ts(entry))]
        if question.event.resumes and first in theirs and onward(_words(first)):
            return Taken(inputs=[first], resumes=question)
        if question.event.words and theirs:
            return Taken(inputs=theirs, resumes=question)
    return Taken(inputs=[*messages, *_ranked(waiting, Rank.AFTER)])


def _unasked(wanted: Entry[ToSay]) -> Taken:
    """What the inner life wants said is said by itself, or first an owner is asked."""
    if wanted.event.leave:
        return Taken(inputs=[wanted], process="asking_leave")
    return Taken(inputs=[wanted], process="saying")


def _left(journal: Reading, waiting: Inputs) -> Taken:
    """Where nobody has said anything: the end of a wait, or an afterthought."""
    for ended in _ranked(waiting, Rank.RESUME):
        if isinstance(ended.event, ForgetDone | DeleteDone):
            return Taken(inputs=[ended], process=REMEMBERING)
        return Taken(inputs=[ended], resumes=question_of(journal, ended))
    first = waiting[0]
    assert isinstance(first.event, Afterthought), first.kind
    return Taken(inputs=[first], process=first.event.process, params=first.event.params)


def may_answer(question: Entry[Asked], person: str, owners: Collection[str]) -> bool:
    """May this person answer now? It was put to them; and if that was as to an owner, they still are one."""
    if person not in question.event.to:
        return False
    return person in owners or person not in question.event.owners


def is_newer(journal: Reading, question: Entry[Asked], ts: str) -> bool:
    """Was what was written then written after the question was said? What was before answers nothing, and
    nothing answers a question that is damaged."""
    if not question.event.said:
        return True
    asked = journal.readable_entries(question.event.said[:1])
    if not asked:
        return False
    first = asked[0].event
    return not isinstance(first, Spoken) or moment(ts) > moment(first.ts)


def said_before(said: Entry[Any], stop: Entry[Any]) -> bool:
    """Was this said before the stop, whichever of them came first?"""
    if isinstance(said.event, Said) and isinstance(stop.event, Said):
        return moment(said.event.ts) < moment(stop.event.ts)
    return said.seq < stop.seq


def is_awaited(journal: Reading, message: Entry[Input], owners: Collection[str]) -> bool:
    """Does a question of its thread wait for it, so that no other execution should take it for itself?"""
    for question in journal.pending_entries(Asked, thread=message.thread):
        waits = question.event.words or (question.event.resumes and onward(_words(message)))
        theirs = may_answer(question, message.author, owners)
        if waits and theirs and is_newer(journal, question, _ts(message)):
            return True
    return False


def onward(text: str) -> bool:
    """Does it say no more than "go on"?"""
    words = re.sub(r"<@\w+>|[^\w\s]", " ", text).casefold().split()
    said = [word for word in words if word not in POLITE]
    return " ".join(said) in ONWARD


def yields(inputs: Inputs) -> bool:
    """Are they afterthoughts alone, for which nobody waits?"""
    return all(entry.event.rank is Rank.AFTER for entry in inputs)


def from_within(inputs: Inputs) -> list[Entry[SelfCall | InnerMessage]]:
    """What nobody said to the soul: its own thoughts, and what came of them."""
    found: list[Entry[Any]] = [one for one in inputs if isinstance(one.event, SelfCall | InnerMessage)]
    return found


def to_answer(inputs: Inputs) -> list[Entry[Said]]:
    """The messages to answer among these, in Slack's order, whatever the order in which they came."""
    said = [entry for entry in inputs if isinstance(entry.event, Message | Timer | Press) or _words(entry)]
    return in_order(said)


def asked_last(journal: Reading, root: str, before: int) -> list[Entry[Said]]:
    """What was said last to the soul in this conversation; one may begin with no more than "stop"."""
    said: Entry[Any] | None = journal.latest_of_kind(root, Message, before=before)
    if said is None:
        said = journal.latest_of_kind(root, StopAsked, before=before)
    if said is None:
        return []
    return [said]


def in_order(messages: Iterable[Entry[Any]]) -> list[Entry[Said]]:
    """Messages in Slack's order; what was changed about one stands after it."""
    return sorted(messages, key=_when)


def _when(entry: Entry[Any]) -> tuple[Decimal, bool, int]:
    is_change = isinstance(entry.event, Heard) and bool(entry.event.note)
    return moment(entry.event.ts), is_change, entry.seq
