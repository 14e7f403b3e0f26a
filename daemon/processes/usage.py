"""Answer `!help` and unknown commands without a model; not remembered."""

from __future__ import annotations

from daemon.kinds import IncomingMessage
from daemon.memory import WorkingMemory, working_memory
from daemon.process import MentalProcess, Placeholders, Turn
from daemon.turn.input_policy import UNKNOWN_COMMAND, command_word
from daemon.turn.speech import say_privately

HELP = "prompts/sentences/help"


UNKNOWN = "prompts/sentences/unknown_command"


async def usage(turn: Turn) -> WorkingMemory:
    """Answer `!help`, and name commands that do not exist."""
    for asked in turn.answers:
        event = asked.event
        if event.bot or not isinstance(event, IncomingMessage):
            continue
        if event.command == "help":
            words = turn.prompt(HELP)
        else:
            words = turn.prompt(UNKNOWN, command=command_word(event.text))
        await say_privately(turn, "usage", event.user, words)
    return working_memory(())


PROCESS = MentalProcess(
    name="usage",
    run=usage,
    commands=("help", UNKNOWN_COMMAND),
    called="someone asks with `!help`, or writes an unknown command",
    texts={HELP: Placeholders(), UNKNOWN: Placeholders({"command"}, "command")},
)
