"""What a command of the inner life is given, and what it comes to. The commands stand in daemon/actions/.

Carries out the commands of a tick, each once: what came of it is an entry, done or refused.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from daemon.actions.action import ActionArguments, ActionDefinition, Perform
from daemon.engine.event import Entry
from daemon.engine.exceptions import EngineError
from daemon.inner_life.grammar import CommandFault, ParsedCommand
from daemon.ism import ActionRefused
from daemon.kinds import CommandRan
from daemon.knowledge.visibility import Visibility
from daemon.turn.turn import Turn


def command(name: str, description: str, perform: Perform, args: type[ActionArguments]) -> ActionDefinition:
    """Define a command of the inner life."""
    return ActionDefinition(name=name, description=description, perform=perform, args=args, inner=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What a command came to: what the model is told, and which notes and records its next tick is to see.

    `text` may hold what is private to the view of the tick: it is told only where that may be known.
    """

    text: str
    shows: Sequence[int] = field(default=())


class TickContext(Protocol):
    """The tick that a command is part of."""

    @property
    def turn(self) -> Turn: ...
    @property
    def id(self) -> int:
        """The seq that this tick is known by."""

    @property
    def view(self) -> str:
        """The thread of the conversation in its sight; empty: public things only."""

    @property
    def views(self) -> Visibility: ...
    @property
    def now(self) -> float:
        """When the tick began, in Unix seconds: the only time that a command may look at."""


log = logging.getLogger(__name__)


WENT_WRONG = "It went wrong in the daemon, and nothing of it is certain. Try it another way."


@dataclass(frozen=True, slots=True, kw_only=True)
class TickCommands:
    """The tick whose commands these are. Implements inner.carrying_out.Tick."""

    turn: Turn
    id: int
    view: str
    views: Visibility
    now: float
    definitions: Mapping[str, ActionDefinition]

    async def carry_out(self, command: ParsedCommand) -> Entry[CommandRan]:
        """Do this, as far as it may be done now."""
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
                done = _done(await perform(replace(self, turn=turn), command.args))
            except ActionRefused as refused:
                return replace(ran, ok=False, text=str(refused), stays_open=True)
            except EngineError:
                raise
            except Exception as error:  # the boundary of a command: the tick goes on
                log.warning("The command %s went wrong.", command.name, exc_info=error)
                return replace(ran, ok=False, text=WENT_WRONG, stays_open=True)
            return replace(ran, text=done.text, shows=tuple(done.shows))

        asks = [self.id, command.cmd_id, command.name, args]
        return await self.turn.step("command", asks, do, CommandRan)

    async def refuse(self, fault: CommandFault) -> Entry[CommandRan]:
        """Nothing is done; the next tick sees why, and how it is written. A mere warning refuses nothing."""
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


def _done(came: Any) -> CommandResult:
    """What a command came to. Raises TypeError for what says nothing of it."""
    if isinstance(came, CommandResult):
        return came
    raise TypeError(f"it returned a {type(came).__name__}: it has to return a Done")
