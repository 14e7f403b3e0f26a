"""`recurse`: how a handler says that its run goes on, with these memories. As in the seed's first example."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from daemon.memory import WorkingMemory

WORKING = ("workingMemory", "working_memory")
INTERNAL = ("internalMemory", "internal_memory")
KNOWN = (*WORKING, *INTERNAL)


@dataclass(frozen=True, slots=True)
class RunContinuation:
    """The run goes on; None leaves a memory as it is. May be awaited, which comes to the same."""

    working: str | WorkingMemory | None = None
    internal: tuple[str, ...] = ()

    def __await__(self) -> Generator[None, None, RunContinuation]:
        yield from ()
        return self


@dataclass(frozen=True, slots=True)
class FinalMemory:
    """The working memory, as a text, with which a handler ended its run."""

    memory: str


class RecurseFunction:
    """The function that a handler is given to let its run go on.

    A handler writes `return recurse({"workingMemory": memory, "internalMemory": memory})`.
    The memories may also be given by keyword, or one after the other. `asked` is what was asked for last.
    """

    def __init__(self) -> None:
        self.asked: RunContinuation | None = None

    def __call__(self, *memories: Any, **named: Any) -> RunContinuation:
        """Let the run go on. Raises TypeError for what is no memory."""
        given = dict(named)
        if len(memories) == 1 and isinstance(memories[0], Mapping):
            given |= memories[0]
        else:
            given |= dict(zip(("workingMemory", "internalMemory"), memories, strict=False))
        unknown = [str(name) for name in given if name not in KNOWN]
        if unknown or len(memories) > 2:
            got = ", ".join(unknown) or f"{len(memories)} values"
            raise TypeError(f"recurse takes workingMemory and internalMemory, not {got}")
        self.asked = RunContinuation(
            _working(_first(given, WORKING)), tuple(_internal(_first(given, INTERNAL)))
        )
        return self.asked


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _working(memory: object) -> str | WorkingMemory | None:
    if memory is None or isinstance(memory, str | WorkingMemory):
        return memory
    raise TypeError(f"expected a text or a WorkingMemory as workingMemory, got a {type(memory).__name__}")


def _internal(memory: object) -> list[str]:
    """The lines of an internal memory."""
    if memory is None:
        return []
    if isinstance(memory, str | WorkingMemory):
        return [memory_as_text(memory)]
    if isinstance(memory, list | tuple) and all(isinstance(line, str) for line in memory):
        return [*memory]
    raise TypeError(
        f"expected lines, a text or a WorkingMemory as internalMemory, got a {type(memory).__name__}"
    )


def memory_as_text(memory: str | WorkingMemory) -> str:
    """The memory as one text."""
    if isinstance(memory, str):
        return memory
    return "\n\n".join(one.content for one in memory.conversation)


def added_memory(before: str | WorkingMemory, now: str | WorkingMemory) -> tuple[str, bool]:
    """Return the part of a memory that was not there before, and True if the rest is what was there."""
    old, new = memory_as_text(before), memory_as_text(now)
    if new.startswith(old):
        return new.removeprefix(old).strip(), True
    return new.strip(), False
