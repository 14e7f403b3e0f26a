"""Post a message of the inner life; the thread keeps its process and mood."""

from __future__ import annotations

from collections.abc import Sequence

from daemon.answers.speech_gate import spoken_text
from daemon.engine.event import Entry, of_kind
from daemon.kinds import SpeechFinished
from daemon.memory import WorkingMemory
from daemon.process import MentalProcess, Turn, say
from daemon.turn.questions import may_still_say, report_unprompted_outcome, unprompted_message
from daemon.turn.recall import entry_as_memory


async def saying(turn: Turn) -> WorkingMemory:
    """Post the message, if this conversation may still know its view."""
    message = unprompted_message(turn)
    assert message is not None
    may_say = await may_still_say(turn)
    text = spoken_text(message.text)
    said: Sequence[Entry[SpeechFinished]] = ()
    if may_say and text:
        said = of_kind(SpeechFinished, await say(turn, text))
    if said:
        await report_unprompted_outcome(turn, "said")
    else:
        await report_unprompted_outcome(turn, "refused")
    return turn.memory.with_memory(*map(entry_as_memory, said))


PROCESS = MentalProcess(name="saying", run=saying, called="the inner life wants something said here")
