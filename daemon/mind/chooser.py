"""Who chooses in a run: what it is shown, and what it is asked between its choices."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.engine.writable import storable_text
from daemon.mind.acting import Bound, ISMResult, PromptPart, await_result
from daemon.mind.choosing import ChooserTexts, fence_result
from daemon.mind.wording import fill_placeholders

MOST_LINES = 50
"""Lines of the internal log that are shown."""
LONGEST_LINE = 200
"""Characters of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooserPrompt:
    """All that the chooser is shown: the context, the parts, and the question.

    The next prompt of a run begins with these parts; the question begins with the internal log. `schema` is
    the JSON schema that the answer is to be held to; `round`, of `rounds`, counts from 1.
    """

    context: str
    parts: tuple[PromptPart, ...]
    question: str
    schema: Mapping[str, Any]
    round: int
    rounds: int
    wording: ChooserTexts

    @property
    def text(self) -> str:
        """It as one text, in which `wording.chose` marks what the chooser itself said.

        The next one of a run begins with this one less its question, byte for byte.
        """
        texts = [self.context]
        for part in self.parts:
            text = part.text
            if part.role == "assistant":
                text = fill_placeholders(self.wording.chose, choice=text)
            texts.append(text)
        return "\n\n".join([*texts, self.question])


def internal_log(lines: Sequence[str], wording: ChooserTexts) -> str:
    """Return the internal log for the chooser: its newest lines, each short and harmless."""
    if not wording.log:
        return ""
    shown = [_log_line(line) for line in lines[-MOST_LINES:]]
    left = len(lines) - len(shown)
    if left:
        shown.insert(0, f"… ({left})")
    return fill_placeholders(wording.log, log="\n".join(shown) or wording.nothing_yet)


def _log_line(line: str) -> str:
    """Return it as one line: so what was found in the world cannot pose as a heading or as ours."""
    return fence_result(" ".join(line.split()), LONGEST_LINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInterruption:
    """What came since the run last looked: a stop, or more context, which the chooser is shown as it is."""

    stopped: bool = False
    parts: tuple[PromptPart, ...] = ()


class Chooser(ABC):
    """Who chooses in a run, where that is more than a function of a text."""

    @abstractmethod
    async def choose(self, prompt: ChooserPrompt) -> str | None:
        """The answer to this; None where there is none to be had, and asking again is of no use."""

    async def interrupt(self) -> RunInterruption:
        """Asked before each choice, when it is made, before each action and before DONE."""
        return RunInterruption()

    async def reached_limit(self) -> Bound | None:
        """The limit that stands in the way of another choice, or nothing."""
        return None

    async def may_continue(self, result: ISMResult) -> bool:
        """The run would end like this: may it go on, for as many rounds again?"""
        return False


Invoke = Callable[[str], Awaitable[str]]
Interrupt = bool | str | PromptPart | tuple[str | PromptPart, ...] | None
"""What interrupts a run: nothing, a stop (True), or more context."""
CheckInterrupt = Callable[[], Interrupt | Awaitable[Interrupt]]


class FunctionChooser(Chooser):
    """A function from a text to a text that chooses, and one that interrupts, as the seed has them."""

    def __init__(self, invoke: Invoke, check: CheckInterrupt | None = None) -> None:
        self._invoke = invoke
        self._check = check

    async def choose(self, prompt: ChooserPrompt) -> str:
        return await ask_function_chooser(self._invoke, prompt.text)

    async def interrupt(self) -> RunInterruption:
        if self._check is None:
            return RunInterruption()
        return as_interruption(await await_result(self._check()))


def as_interruption(came: Interrupt) -> RunInterruption:
    """What a function said that came."""
    if isinstance(came, str | PromptPart):
        came = (came,)
    if not isinstance(came, tuple):
        return RunInterruption(stopped=bool(came))
    return RunInterruption(parts=tuple(map(_part, came)))


def _part(text: str | PromptPart) -> PromptPart:
    if isinstance(text, str):
        return PromptPart("user", text)
    return text


async def ask_function_chooser(invoke: Invoke, prompt: str) -> str:
    """What the model says to this, both without halves of characters, which no request can hold.

    Raises TypeError where `invoke` is no async function to a str.
    """
    came: object = invoke(storable_text(prompt))
    if not inspect.isawaitable(came):
        gave = type(came).__name__
        raise TypeError(f"invoke_llm has to be an async function from str to str; a call of it gave {gave}")
    reply = await came
    if not isinstance(reply, str):
        raise TypeError(f"invoke_llm has to return a str; it returned {type(reply).__name__}")
    return storable_text(reply)
