"""The rules of questions and of what a thread takes next, and how each is taken out; see looking_rules.py."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

ASKING: tuple[Mutant, ...] = (
    rule(
        "a body first hears what its thread kept meanwhile",
        "life/question.py",
        '"meanwhile": _meanwhile(turn, asked),',
        '"meanwhile": [],',
        "approved/kills",
    ),
    rule(
        "a stranger's press leaves the question open",
        "life/taking.py",
        "if question and may_answer(question, press.author, owners):",
        "if question:",
        "approved/kills",
    ),
    rule(
        "an answer pays the watch of its question",
        "life/question.py",
        "(asked.seq, *_watches(turn, asked))",
        "(asked.seq,)",
        "looked/kills",
    ),
    rule(
        "a stop lets go of what waits",
        "life/taking.py",
        'and (held or not e.body["text"])',
        'and not e.body["text"]',
        "withdrawn/kills",
    ),
    rule(
        "what was let go of is recorded at once",
        "life/question.py",
        "if not (withdrawn := turn.read(key)):",
        "if True:",
        "withdrawn/kills",
    ),
    rule(
        "a turn that was stopped pays what it has taken once",
        "life/question.py",
        '("carries" in watch.body and watch.seq not in mine)',
        '"carries" in watch.body',
        "put-off-and-stopped/kills",
    ),
    rule(
        "an answer comes before messages",
        "life/taking.py",
        'if presses := [e for e in waiting if rank(e) == "answer"]:',
        'if presses := [e for e in waiting if {*map(rank, waiting)} == {"answer"}]:',
        "woken-beside/kills",
    ),
    rule(
        "a stop comes before an answer",
        "life/taking.py",
        'if rank(e) == "stop" and (held',
        'if rank(e) == "stop" and all(rank(w) != "answer" for w in waiting) and (held',
        "withdrawn-first/kills",
    ),
    rule(
        "a stop is for all that came before it",
        "life/taking.py",
        "took=[e for e in waiting if e in stops or _ended_by(stops, e)]",
        "took=stops",
        "withdrawn-first/kills",
    ),
    rule(
        "only who was asked answers in words",
        "life/taking.py",
        "asked = question.body, [e for e in messages if may_answer(question, e.author, owners)]",
        "asked = question.body, messages",
        "asked/kills",
    ),
    rule(
        "whoever says go on brings back what was set aside",
        "life/taking.py",
        'if body["resumes"] and first in asked and onward(first.body["text"]):',
        "if False:",
        "looked-late/kills",
    ),
    rule(
        "what says more than go on leaves aside what was set aside",
        "life/taking.py",
        'first in asked and onward(first.body["text"])',
        "first in asked",
        "looked-late/kills",
    ),
    rule(
        "a time that comes too late brings nothing back",
        "life/taking.py",
        "process=None if question else REFUSING",
        "process=None",
        "looked-late/kills",
    ),
    rule(
        "an answer answers the one question that it was for",
        "life/question.py",
        '    if turn.began.body.get("asked") != asked.seq:\n        return None\n',
        "",
        "asked/kills",
    ),
    rule(
        "a question that was answered has no buttons any more",
        "life/question.py",
        'await settle(turn, asked, answer.body["text"])',
        "pass",
        "approved/kills",
    ),
    rule(
        "a question that was let go has no buttons any more",
        "life/question.py",
        '        await settle(turn, asked, "")',
        "        pass",
        "withdrawn/kills",
    ),
    rule(
        "of a long question the last message has the buttons",
        "life/speech.py",
        "[None] * (len(pages) - 1) + [choices]",
        "[choices] * len(pages)",
        "approved-at-length/kills",
    ),
)
