"""Sample commands of the inner life."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import ConfigDict, Field

from daemon.actions.action import ActionArguments, ActionDefinition
from daemon.actions.registry import ActionRegistry
from daemon.inner_life.commands.command import CommandResult, TickContext
from daemon.inner_life.commands.cycle_commands import help_command
from daemon.inner_life.grammar import ParsedCommand


class Closed(ActionArguments):
    """Arguments that take nothing else."""

    model_config = ConfigDict(extra="forbid", populate_by_name=False)


class Ids(Closed):
    """Some notes or records."""

    ids: list[int] = Field(description="which", min_length=1)


class Entry(Closed):
    """An entry of the diary."""

    text: str = Field(description="what to keep", min_length=1)
    tags: list[str] = Field(default=[], description="words to find it by")


class Concept(Closed):
    """A concept."""

    name: str = Field(description="what it is called")
    description: str = Field(description="what it is")


class Link(Closed):
    """A link of two concepts."""

    origin: int = Field(alias="from", description="the concept that it goes from")
    to: int = Field(description="the concept that it goes to")
    relation: str = Field(description="how they hang together")


class Start(Closed):
    """A program to start."""

    name: str = Field(description="which of the owner's list")
    slots: dict[str, str] = Field(default={}, description="values for its slots")


class Which(Closed):
    """A filter of notes."""

    priority: Literal["low", "normal", "important", "urgent"] | None = None
    tags: list[str] | None = None


class Idle(Closed):
    """The end of a sleep."""

    notes: Which | None = Field(default=None, description="a note of this sort")
    seconds: float | None = Field(default=None, description="so many seconds")


class Message(Closed):
    """A message."""

    to: str = Field(description="where")
    text: str = Field(description="what")


async def nothing(tick: TickContext, args: Any) -> CommandResult:
    """Do nothing."""
    return CommandResult(text="")


def command(name: str, args: type[ActionArguments] | None = None) -> ActionDefinition:
    return ActionDefinition(
        name=name, description=f"Do {name}.", perform=nothing, args=args, effect=True, inner=True
    )


COMMANDS = (
    command("notes.list"),
    command("notes.read", Ids),
    command("diary.add", Entry),
    command("concepts.add", Concept),
    command("links.add", Link),
    command("process.start", Start),
    command("cycle.idle", Idle),
    command("message.send", Message),
)
REGISTRY = ActionRegistry([help_command(COMMANDS), *COMMANDS])
KNOWN = REGISTRY.known


def rendered(commands: Iterable[ParsedCommand]) -> str:
    lines = [
        json.dumps(
            {"cmd_id": one.cmd_id, "type": one.name, "args": one.given, "description": one.description},
            ensure_ascii=False,
        )
        for one in commands
    ]
    return "\n".join(("# Commands:", *lines, "# End of commands"))
