"""Execution of inner commands: each command runs once, and its result is recorded."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from daemon.actions.action import ActionArguments, ActionDefinition, Perform, StrictArguments
from daemon.engine.event import Entry
from daemon.engine.exceptions import EngineError
from daemon.inner_life.grammar import CommandFault, ParsedCommand
from daemon.ism import ActionRefused
from daemon.kinds import CommandRan
from daemon.knowledge.visibility import Visibility
from daemon.turn.turn import Turn

log = logging.getLogger(__name__)

__all__ = [
    "ActionDefinition",
    "ActionRefused",
    "CommandResult",
    "StrictArguments",
    "TickCommands",
    "TickContext",
    "command",
]


def command(name: str, description: str, perform: Perform, args: type[ActionArguments]) -> ActionDefinition:
    return ActionDefinition(name=name, description=description, perform=perform, args=args, inner=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """Result of a command. The next tick shows the notes and records with the ids `shows`.

    `text` may be private to the tick's view.
    """

    text: str
    shows: Sequence[int] = field(default=())


def ids_in_words(ids: Iterable[int]) -> str:
    return ", ".join(map(str, dict.fromkeys(ids)))


class TickContext(Protocol):
    @property
    def turn(self) -> Turn: ...
    @property
    def id(self) -> int: ...

    @property
    def view(self) -> str:
        """The thread whose private content the tick may use; empty if the tick uses public content only."""

    @property
    def views(self) -> Visibility: ...
    @property
    def now(self) -> float:
        """The start of the tick in Unix seconds: the only time that a command may read."""


WENT_WRONG = "It went wrong in the daemon, and nothing of it is certain. Try it another way."


@dataclass(frozen=True, slots=True, kw_only=True)
class TickCommands:
    turn: Turn
    id: int
    view: str
    views: Visibility
    now: float
    definitions: Mapping[str, ActionDefinition]

    async def carry_out(self, command: ParsedCommand) -> Entry[CommandRan]:
        """Run a command and record its result. An unexpected error is recorded as the command's failure."""
        args = dict[str, Any]()
        if command.args:
            args = command.args.model_dump(mode="json", by_alias=True, exclude_unset=True)
        ran = CommandRan(
            tick=self.id,
            cmd_id=command.cmd_id,
            name=command.name,
            args=args,
            description=command.description,
            view=self.view,
        )

        async def do(turn: Turn) -> CommandRan:
            perform = self.definitions[command.name].perform
            try:
                done = _checked_result(await perform(replace(self, turn=turn), command.args))
            except ActionRefused as refused:
                return replace(ran, ok=False, text=str(refused), stays_open=True)
            except EngineError:
                raise
            except Exception as error:
                log.warning("The inner command %s failed.", command.name, exc_info=error)
                return replace(ran, ok=False, text=WENT_WRONG, stays_open=True)
            return replace(ran, text=done.text, shows=tuple(done.shows))

        asks = [self.id, command.cmd_id, command.name, args]
        return await self.turn.step("command", asks, do, CommandRan)

    async def refuse(self, fault: CommandFault) -> Entry[CommandRan]:
        """Record a fault, which the next tick shows; a mere warning counts as done."""
        name = fault.name
        if fault.repaired:
            name = ""
        event = CommandRan(
            tick=self.id,
            cmd_id=fault.cmd_id,
            name=name,
            ok=fault.repaired,
            text=fault.line(),
            view=self.view,
            stays_open=not fault.repaired,
        )
        return await self.turn.record(event)


def _checked_result(result: Any) -> CommandResult:
    if isinstance(result, CommandResult):
        return result
    raise TypeError(f"expected a CommandResult, got a {type(result).__name__}")
