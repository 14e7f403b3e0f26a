"""The command `help`: which commands there are, and how one is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import ConfigDict, Field

from daemon.actions.action import Args, Definition
from daemon.actions.registry import described
from daemon.inner.carrying_out import Done, Tick
from daemon.inner.helping import help_text
from daemon.ism import Refused


class About(Args):
    """What to say more of."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(default="", description="a command, or a family of them as `notes`; without it: all")


def help_command(definitions: Callable[[], Sequence[Definition]]) -> Definition:
    """Explains the commands, itself among them; they are asked for when it is called."""

    async def perform(_: Tick, about: About) -> Done:
        try:
            return Done(text=help_text(described(definitions()), about.type))
        except LookupError as error:
            raise Refused(str(error)) from None

    return Definition(
        name="help",
        description="Explain the commands, a line each, or one of them with all of its arguments.",
        perform=perform,
        args=About,
        effect=True,
        inner=True,
    )
