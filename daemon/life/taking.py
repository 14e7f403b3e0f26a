"""What a thread's next turn takes of all that waits, and which body it goes on with. Asked by begin.py.

See "Taking" in docs/ARCHITECTURE.md. What is decided here is written into `turn-began`, for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.entry import Entry, rank
from daemon.journal.reading import Reading

STOPPING, REFUSING, TRACING = "stopping", "refusing", "tracing"
"""The processes that a thread turns to for these, whatever it was about."""
NEEDS: Mapping[str, Mapping[str, type]] = {
    "stop": {"text": str},
    "answer": {"answers": str, "name": str},
    "message": {"address": str, "name": str, "text": str, "ts": str},
    "resume": {"answers": str},
    "after": {"process": str},
}
"""What a turn reads of a perception of each rank."""
ONWARD = frozenset(
    {"go on", "continue", "carry on", "resume", "go ahead", "proceed", "weiter", "mach weiter", "continua"}
)
"""Whole messages that mean no more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """What is taken. `process` is None for the one that the thread is in; `asked`: the body that goes on;
    `unfit`: nobody can read what is taken, and all that is done about it is to say so.

    `params` are told to a process that is beside what the thread is about: why it refuses, what to learn.
    """

    took: Sequence[Entry]
    process: str | None = None
    asked: Entry | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    unfit: bool = False


def everything(journal: Reading, thread: str) -> Taking | None:
    """All that waits, where it is not known for which of it a turn cannot be begun."""
    waiting = journal.open("perception", thread=thread)
    return Taking(took=waiting, unfit=True) if waiting else None


def fit(perception: Entry) -> bool:
    """Is there all that a turn reads of it? What another version of the daemon wrote may lack it."""
    if "carries" in perception.body:
        return isinstance(perception.body["carries"], list)
    needs = NEEDS.get(rank(perception), {"": str})
    return all(isinstance(perception.body.get(name), kind) for name, kind in needs.items())


def taking(journal: Reading, thread: str, owners: Collection[str]) -> Taking | None:
    """A stop; one answer; all messages together; one resumption; one afterthought. None: nothing waits.

    Before all, and alone, what nobody can read.
    """
    waiting = journal.open("perception", thread=thread)
    if unfit := next((e for e in waiting if not fit(e)), None):
        return Taking(took=[unfit], unfit=True)
    questions = journal.open("asked", thread=thread)
    held = [*questions, *(w for w in journal.open("watch", thread=thread) if "carries" in w.body)]
    if stops := [e for e in waiting if rank(e) == "stop" and (held or not e.body["text"])]:
        return Taking(took=[e for e in waiting if e in stops or _ended_by(stops, e)], process=STOPPING)
    if presses := [e for e in waiting if rank(e) == "answer"]:
        return _pressed(questions, presses[0], owners)
    messages = [e for e in waiting if rank(e) in ("message", "stop")]
    if messages:
        afterthoughts = [e for e in waiting if rank(e) == "after"]
        return _said(journal, questions, messages, afterthoughts, owners)
    if resumptions := [e for e in waiting if rank(e) == "resume"]:
        question = _named(questions, resumptions[0])
        return Taking(took=resumptions[:1], asked=question, process=None if question else REFUSING)
    if waiting:
        return Taking(took=waiting[:1], process=waiting[0].body["process"], params=waiting[0].body)
    return None


def _ended_by(stops: Sequence[Entry], waiting: Entry) -> bool:
    """Presses and resumptions have nothing to answer any more; of messages a stop ends its author's own."""
    if rank(waiting) in ("answer", "resume", "after"):
        return True
    return any(waiting.author == stop.author and waiting.seq < stop.seq for stop in stops)


def _pressed(questions: Sequence[Entry], press: Entry, owners: Collection[str]) -> Taking:
    """A press by somebody who may not answer is answered itself, and the question stays open."""
    question = _named(questions, press)
    if question and may_answer(question, press.author, owners):
        return Taking(took=[press], asked=question)
    why = {"why": "stranger" if question else "stale"}
    return Taking(took=[press], process=REFUSING, params=why)


def _said(
    journal: Reading,
    questions: Sequence[Entry],
    messages: Sequence[Entry],
    afterthoughts: Sequence[Entry],
    owners: Collection[str],
) -> Taking:
    """A command, "go on", an answer; else all messages together, for which afterthoughts are dropped."""
    first = messages[0]
    if command := next((e for e in messages if e.body.get("command")), None):
        return Taking(took=[command], process=TRACING)
    for question in reversed(questions):
        body, asked = question.body, [e for e in messages if may_answer(question, e.author, owners)]
        if body["resumes"] and first in asked and onward(first.body["text"]):
            return Taking(took=[first], asked=question)
        if asked and body["words"]:
            return Taking(took=asked, asked=question)
    postponed = [w for w in journal.open("watch", thread=first.thread) if "carries" in w.body]
    return Taking(took=[*postponed, *messages, *afterthoughts])


def _named(questions: Iterable[Entry], perception: Entry) -> Entry | None:
    return next((q for q in questions if q.key == perception.body["answers"]), None)


def may_answer(question: Entry, person: str, owners: Collection[str]) -> bool:
    """May this person answer now? It was put to them, and if that was as to an owner, they still are one.

    Buttons were for owners alone when questions did not say yet whom they ask as such.
    """
    body = question.body
    as_owners = body.get("owners", body["to"] if body["choices"] else ())
    return person in body["to"] and (person in owners or person not in as_owners)


def awaited(questions: Iterable[Entry], message: Entry, owners: Collection[str]) -> bool:
    """Does one of these questions wait for this message, which no other body should take for itself?"""
    mine = [question.body for question in questions if may_answer(question, message.author, owners)]
    return any(body["words"] or (body["resumes"] and onward(message.body["text"])) for body in mine)


def onward(text: str) -> bool:
    """Does it say no more than "go on"?"""
    words = re.sub(r"<@\w+>|[^\w\s]", " ", text).casefold().split()
    return " ".join(word for word in words if word not in ("please", "bitte", "now")) in ONWARD


def answers(took: Sequence[Entry], many: Callable[[Sequence[int]], list[Entry]]) -> list[Entry]:
    """The messages to answer, in Slack's order, whatever the order in which they arrived."""
    messages = [
        m for entry in took for m in (many(entry.body["carries"]) if "carries" in entry.body else [entry])
    ]
    return in_order([m for m in messages if "ts" in m.body and (m.body["text"] or rank(m) != "stop")])


def in_order(messages: Sequence[Entry]) -> list[Entry]:
    """Messages in Slack's order; what was changed about one stands after it."""
    return sorted(messages, key=lambda entry: (entry.body["ts"].zfill(24), entry.seq))
