"""The parts of a mental process: the one import for whoever writes one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.ism import FORM, parse_process_return
from daemon.memory import WorkingMemory
from daemon.prompts.prompt_catalogue import Placeholders
from daemon.turn.questions import Question, ask
from daemon.turn.speech import say
from daemon.turn.turn import Transition, Turn

__all__ = [
    "MentalProcess",
    "Placeholders",
    "ProcessFunction",
    "Question",
    "Transition",
    "Turn",
    "ask",
    "parse_process_result",
    "say",
]

ProcessFunction = Callable[[Turn], Awaitable["WorkingMemory | Transition | Sequence[Any]"]]
"""A mental process as it is written: it may also return what the seed on the ISM does (ProcessReturn)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MentalProcess:
    """One mode of behaviour, and everything that is known of it.

    `when` is a sentence for the model that says when to go there; it becomes the text `prompts/when/{name}`
    unless the owner has written that file, and without it the process is not offered. `leads_to`: the
    processes that it names itself. `commands`: the words after a `!` that it answers; `called` says what else
    leads to it. `texts`: the owner's texts that it needs, by their paths.
    """

    name: str
    run: ProcessFunction
    when: str = ""
    leads_to: Sequence[str] = ()
    commands: Sequence[str] = ()
    called: str = ""
    texts: Mapping[str, Placeholders] = field(default_factory=dict)

    async def __call__(self, turn: Turn) -> WorkingMemory | Transition:
        """Run the process. Raises TypeError for a return that names no process."""
        returned = await self.run(turn)
        try:
            return parse_process_result(returned)
        except TypeError as error:
            raise TypeError(f"the process {self.name} returned {error}") from None


def parse_process_result(returned: object) -> WorkingMemory | Transition:
    """Read what a mental process returned. Raises TypeError, which says what was expected."""
    if isinstance(returned, WorkingMemory | Transition):
        return returned
    if not isinstance(returned, list | tuple):
        kind = type(returned).__name__
        raise TypeError(f"{kind}: expected its memory, a Transition, or {FORM}")
    try:
        one = parse_process_return(returned)
    except TypeError as error:
        raise TypeError(f"a {type(returned).__name__}: {error}") from None
    if not isinstance(one.memory, WorkingMemory):
        kind = type(one.memory).__name__
        raise TypeError(f"{kind} where its memory belongs: write {FORM}")
    return Transition(to=one.to, memory=one.memory, execute_now=one.execute_now, params=one.params)
