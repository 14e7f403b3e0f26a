"""The command `help`: which commands there are, and how one is written."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from daemon.actions.action import ActionDefinition, StrictArguments, command
from daemon.inner.carrying_out import CommandResult, TickContext
from daemon.inner.helping import help_text
from daemon.ism import ActionRefused


class HelpArguments(StrictArguments):
    """What to say more of."""

    type: str = Field(
        default="", max_length=100, description="a command, or a family of them as `notes`; without it: all"
    )


def help_command(commands: Sequence[ActionDefinition]) -> ActionDefinition:
    """Explains these commands, and itself."""

    async def perform(_: TickContext, about: HelpArguments) -> CommandResult:
        try:
            return CommandResult(text=help_text([itself, *commands], about.type))
        except LookupError as error:
            raise ActionRefused(str(error)) from None

    description = "Explain the commands, a line each, or one of them with all of its arguments."
    itself = command("help", description, perform, HelpArguments)
    return itself
