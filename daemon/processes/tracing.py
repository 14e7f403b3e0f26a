"""Answer `!trace` privately; not remembered."""

from __future__ import annotations

from daemon.memory import WorkingMemory, working_memory
from daemon.process import MentalProcess, Placeholders, Turn
from daemon.turn.execution_figures import REHEARSED_TEXT, trace_text
from daemon.turn.speech import whisper


async def tracing(turn: Turn) -> WorkingMemory:
    """Answer `!trace` with figures of the last execution."""
    for asked in turn.answers:
        await whisper(turn, "trace", asked.event.user, trace_text(turn))
    return working_memory(())


PROCESS = MentalProcess(
    name="tracing",
    run=tracing,
    commands=("trace",),
    called="someone asks with `!trace`",
    texts={REHEARSED_TEXT: Placeholders({"worth"}, "worth")},
)
