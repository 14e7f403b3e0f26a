"""Approvals of actions by people.

Before an approval, people read the arguments in a code block. No value can end the block, imitate the name of
an argument or hide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from daemon.ism import ActionRefused
from daemon.memory import Memory, WorkingMemory
from daemon.prompts.invisible_text import is_invisible
from daemon.turn.questions import Answer, Question, ask
from daemon.turn.turn import Turn

APPROVE, DECLINE = "approve", "decline"
"""Values of the buttons, and keys of their labels."""


class ApprovalContext(Protocol):
    """The part of an action's context that an approval needs."""

    agreed: set[str]
    """Choices that were approved, but not carried out, since something else was heard first."""

    @property
    def turn(self) -> Turn: ...

    @property
    def memory(self) -> WorkingMemory:
        """Conversation, with messages that came since the turn began."""

    async def is_interrupted(self) -> bool:
        """True if somebody stopped the run; other messages are added to the memory."""

    def add_memories(self, memories: Iterable[Memory], *, news: bool = True) -> None:
        """Add messages to the conversation; with `news`, the chooser's next prompt shows them."""

    def prompt(self, name: str, **words: str) -> str:
        """Return an owner's text, filled; `name` is the soul's."""

    def label(self, meaning: str) -> str:
        """Return the label in prompts/labels.md for a meaning, or else the meaning."""


async def ask_for_approval(run: ApprovalContext, question: Question) -> Answer:
    """Return the answer, or suspend the execution until it comes; the run remembers what was said."""
    answered = await ask(run.turn, "approval", question)
    run.add_memories(answered.memories)
    return answered


async def hear_what_came(run: ApprovalContext, answered: Answer, choice: str) -> None:
    """Return if nothing was said since the question; else the same choice needs no second approval.

    Raises ActionRefused.
    """
    before = run.memory
    if await run.is_interrupted():
        raise ActionRefused(run.label("stopped"))
    if answered.more or run.memory is not before:
        run.agreed.add(choice)
        raise ActionRefused(run.label("hear first"))


FENCE = "```"

TICK = "\u02cb"
"""Replaces backticks, which would end the code block."""

BEGINNING, END = 400, 200
"""Characters of a long value that are shown."""

WIDTH = 160
"""Characters of a piece of a long line."""


def arguments_for_approval(run: ApprovalContext, given: Mapping[str, Any], *, whole: bool = False) -> str:
    """Return a code block with the arguments; empty without arguments.

    Unless `whole`, long values are shortened, and a note says so.
    """
    if not given:
        return ""
    shown = "\n".join(_named(run, given, whole))
    block = f"{FENCE}\n{shown}\n{FENCE}"
    if not whole and _is_long(given):
        block += "\n" + run.prompt("prompts/sentences/left_out")
    return block


def _named(run: ApprovalContext, given: Mapping[str, Any], whole: bool) -> Iterator[str]:
    for name, value in given.items():
        words = name if whole else name.replace("_", " ")
        yield from _lines(run, in_code_block(words) + ":", value, whole)


def _lines(run: ApprovalContext, name: str, value: Any, whole: bool) -> Iterator[str]:
    has_lines = isinstance(value, str) and (len(_split(value, whole)) > 1 or (whole and len(value) > WIDTH))
    if has_lines or isinstance(value, Mapping | list):
        yield name
        for line in _inside(run, value, whole):
            yield f"  {line}"
    else:
        yield f"{name} {_shown_text(run, _word(run, value), whole)}"


def _inside(run: ApprovalContext, value: Any, whole: bool) -> Iterator[str]:
    match value:
        case Mapping():
            yield from _named(run, value, whole)
        case list():
            for one in value:
                yield from _lines(run, "-", one, whole)
        case _:
            for line in _split(_shown_text(run, value, whole), whole):
                yield from _wrapped(line) if whole else [f"| {line}"]


def _wrapped(line: str) -> Iterator[str]:
    """Yield pieces of a line, so that no message ends within one: the rest could read like another name."""
    yield f"| {line[:WIDTH]}"
    for start in range(WIDTH, len(line), WIDTH):
        yield f"… {line[start : start + WIDTH]}"


def _split(text: str, whole: bool) -> list[str]:
    """Return the lines of a text. In the whole one, characters that are rarely meant as breaks are shown."""
    return text.split("\n") if whole else text.splitlines()


def _word(run: ApprovalContext, value: Any) -> str:
    match value:
        case True:
            return run.label("yes")
        case False:
            return run.label("no")
        case None:
            return run.label("none")
    return str(value) or '""'


def _shown_text(run: ApprovalContext, text: str, whole: bool) -> str:
    left_out = len(text) - BEGINNING - END
    if left_out > 0 and not whole:
        text = f"{text[:BEGINNING]} [… {left_out:,} {run.label('characters')} …] {text[-END:]}"
    return "\n".join(in_code_block(line) for line in _split(text, whole))


def in_code_block(line: str) -> str:
    """Return a line that cannot end its code block, and hides nothing."""
    if line.isascii() and line.isprintable():
        return line.replace("`", TICK)
    seen = ""
    for character in line.replace("`", TICK):
        if character.isprintable() and not is_invisible(character):
            seen += character
        else:
            seen += f"\\u{ord(character):04x}"
    return seen


def _is_long(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, list):
        return any(_is_long(one) for one in value)
    return isinstance(value, str) and len(value) > BEGINNING + END
