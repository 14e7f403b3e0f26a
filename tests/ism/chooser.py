"""A scripted chooser with a record of prompts, and actions with a record of calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from daemon import ism
from daemon.ism import Action, run_ism
from daemon.prompts.chooser import (
    Bound,
    CheckInterrupt,
    ChooserPrompt,
    FunctionChooser,
    Invoke,
    ISMResult,
    RunInterruption,
)

CONTEXT = "Alice asked why the build is red."


def choose(*actions: object, why: str = "because") -> str:
    return json.dumps({"why": why, "actions": actions})


class Chooser(ism.Chooser):
    """Chooser that repeats its last reply; `prompts`: those received.

    `bounds`: limits that block successive choices; `goings`: permissions to continue; `ends`: ends of the run
    so far.
    """

    def __init__(
        self, *replies: str | None, bounds: Sequence[Bound | None] = (), goings: Sequence[bool] = ()
    ) -> None:
        self._replies = replies
        self._bounds = in_turn(*bounds)
        self._goings = in_turn(*goings)
        self._functions = FunctionChooser(_nobody)
        self.prompts: list[ChooserPrompt] = []
        self.ends: list[ISMResult] = []

    def interrupted_by(self, check: CheckInterrupt) -> None:
        """Check interrupts with this function from now on, as the seed does."""
        self._functions = FunctionChooser(_nobody, check)

    async def interrupt(self) -> RunInterruption:
        return await self._functions.interrupt()

    async def reached_limit(self) -> Bound | None:
        return self._bounds()  # type: ignore[no-any-return]

    async def may_continue(self, result: ISMResult) -> bool:
        self.ends.append(result)
        return bool(self._goings())

    async def choose(self, prompt: ChooserPrompt) -> str | None:
        self.prompts.append(prompt)
        return self._replies[min(len(self.prompts), len(self._replies)) - 1]

    @property
    def added(self) -> list[str]:
        """Return the user's additions before each prompt but the first."""
        shown = [[part.text for part in one.parts if part.role == "user"] for one in self.prompts]
        return ["\n".join(now[len(before) :]) for before, now in pairwise(shown)]


class Deeds:
    """Actions by name, with their outcomes: a value, the next of a list, or an error."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def action(self, name: str, outcome: object = None, **options: Any) -> Action:
        """Make an action that notes its runs in `done`."""
        later = iter(outcome) if isinstance(outcome, list) else None

        async def handler(prompt_context: str, internal_log: list[str], args: Any = None) -> object:
            assert prompt_context == CONTEXT
            self.done.append(name if args is None else f"{name} {args!r}")
            value = next(later) if later else outcome
            if isinstance(value, BaseException):
                raise value
            return value

        return Action(name, f"what {name} does", handler, **options)

    def actions(self, *names: str) -> list[Action]:
        return [self.action(name, [f"{name} found {n}" for n in range(99)]) for name in names]


async def _nobody(_prompt: str) -> str:
    raise AssertionError("it is the scripted chooser that is asked")


async def run(
    chooser: Chooser | Invoke,
    actions: Iterable[Action],
    check_interrupt: CheckInterrupt | None = None,
    **options: Any,
) -> ISMResult:
    if isinstance(chooser, Chooser) and check_interrupt:
        chooser.interrupted_by(check_interrupt)
    elif check_interrupt:
        options["check_interrupt"] = check_interrupt
    return await run_ism(CONTEXT, "find out why", "look before you speak", [*actions], chooser, **options)


def in_turn(*answers: object) -> Callable[[], Any]:
    left: list[Any] = list(answers)
    return lambda: left.pop(0) if left else None


def grows(prompts: Sequence[ChooserPrompt]) -> bool:
    """True if each prompt extends the previous one less its question, in text and parts."""
    return all(
        now.text.startswith(before.text.removesuffix(before.question))
        and before.text.endswith(before.question)
        and all(a is b for a, b in zip(before.parts, now.parts, strict=False))
        and len(now.parts) >= len(before.parts)
        and now.schema == before.schema
        for before, now in pairwise(prompts)
    )
