"""Someone asks with `!help` which commands there are, or writes one that is unknown. No model is asked."""

from __future__ import annotations

from daemon.kinds import Message
from daemon.memory import WorkingMemory, working_memory
from daemon.mind.wording import worded
from daemon.process import MentalProcess, Turn, Words

FULL_WIDTH = "\uff01"
"""An exclamation mark as some keyboards write it."""
HELP = "prompts/sentences/help"
UNKNOWN = "prompts/sentences/unknown_command"


async def usage(turn: Turn) -> WorkingMemory:
    """Tell whoever asked, and nobody else; the thread remembers nothing of it."""
    for asked in turn.answers:
        event = asked.event
        if event.bot or not isinstance(event, Message):
            continue
        if event.command == "help":
            words = worded(turn, HELP)
        else:
            words = worded(turn, UNKNOWN, command=_command_in(event.text))
        await turn.tell_alone("usage", event.user, words)
    return working_memory(())


def _command_in(text: str) -> str:
    """Return the `!word` of a message; what mentions the soul may stand before it."""
    words = text.replace(FULL_WIDTH, "!").replace("`", " ").split()
    return next((word for word in words if word.startswith("!")), "!")


PROCESS = MentalProcess(
    name="usage",
    run=usage,
    called="someone asks with `!help`, or writes an unknown command",
    texts={HELP: Words(), UNKNOWN: Words({"command"}, "command")},
)
