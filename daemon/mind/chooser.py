"""Who chooses in a run: what it is shown, and what it is asked between its choices."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.engine.writable import writable
from daemon.mind.acting import Bound, ISMResult, Part, answer
from daemon.mind.choosing import Wording, fenced
from daemon.mind.wording import fill

MOST_LINES = 50
"""Lines of the internal log that are shown."""
LONGEST_LINE = 200
"""Characters of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """All that the chooser is shown: the context, the parts, and the question.

    The next prompt of a run begins with these parts; the question begins with the internal log. `schema` is
    the JSON schema that the answer is to be held to; `round`, of `rounds`, counts from 1.
    """

    context: str
    parts: tuple[Part, ...]
    question: str
    schema: Mapping[str, Any]
    round: int
    rounds: int
    wording: Wording

    @property
    def text(self) -> str:
        """It as one text, in which `wording.chose` marks what the chooser itself said.

        The next one of a run begins with this one less its question, byte for byte.
        """
        texts = [self.context]
        for part in self.parts:
            text = part.text
            if part.role == "assistant":
                text = fill(self.wording.chose, choice=text)
            texts.append(text)
        return "\n\n".join([*texts, self.question])


def internal_log(lines: Sequence[str], wording: Wording) -> str:
    """Return the internal log for the chooser: its newest lines, each short and harmless."""
    if not wording.log:
        return ""
    shown = [_log_line(line) for line in lines[-MOST_LINES:]]
    left = len(lines) - len(shown)
    if left:
        shown.insert(0, f"… ({left})")
    return fill(wording.log, log="\n".join(shown) or wording.nothing_yet)


def _log_line(line: str) -> str:
    """Return it as one line: so what was found in the world cannot pose as a heading or as ours."""
    return fenced(" ".join(line.split()), LONGEST_LINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meanwhile:
    """What came since the run last looked: a stop, or more context, which the chooser is shown as it is."""

    stopped: bool = False
    parts: tuple[Part, ...] = ()


class Chooser(ABC):
    """Who chooses in a run, where that is more than a function of a text."""

    @abstractmethod
    async def choose(self, prompt: Prompt) -> str | None:
        """The answer to this; None where there is none to be had, and asking again is of no use."""

    async def interrupt(self) -> Meanwhile:
        """Asked before each choice, when it is made, before each action and before DONE."""
        return Meanwhile()

    async def reached_limit(self) -> Bound | None:
        """The limit that stands in the way of another choice, or nothing."""
        return None

    async def may_continue(self, result: ISMResult) -> bool:
        """The run would end like this: may it go on, for as many rounds again?"""
        return False


Invoke = Callable[[str], Awaitable[str]]
Interrupt = bool | str | Part | tuple[str | Part, ...] | None
"""What interrupts a run: nothing, a stop (True), or more context."""
CheckInterrupt = Callable[[], Interrupt | Awaitable[Interrupt]]


class FunctionChooser(Chooser):
    """A function from a text to a text that chooses, and one that interrupts, as the seed has them."""

    def __init__(self, invoke: Invoke, check: CheckInterrupt | None = None) -> None:
        self._invoke = invoke
        self._check = check

    async def choose(self, prompt: Prompt) -> str:
        return await asked(self._invoke, prompt.text)

    async def interrupt(self) -> Meanwhile:
        if self._check is None:
            return Meanwhile()
        return meanwhile(await answer(self._check()))


def meanwhile(came: Interrupt) -> Meanwhile:
    """What a function said that came."""
    if isinstance(came, str | Part):
        came = (came,)
    if not isinstance(came, tuple):
        return Meanwhile(stopped=bool(came))
    return Meanwhile(parts=tuple(map(_part, came)))


def _part(text: str | Part) -> Part:
    if isinstance(text, str):
        return Part("user", text)
    return text


async def asked(invoke: Invoke, prompt: str) -> str:
    """What the model says to this, both without halves of characters, which no request can hold.

    Raises TypeError where `invoke` is no async function to a str.
    """
    came: object = invoke(writable(prompt))
    if not inspect.isawaitable(came):
        gave = type(came).__name__
        raise TypeError(f"invoke_llm has to be an async function from str to str; a call of it gave {gave}")
    reply = await came
    if not isinstance(reply, str):
        raise TypeError(f"invoke_llm has to return a str; it returned {type(reply).__name__}")
    return writable(reply)
