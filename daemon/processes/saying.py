"""The inner life wants something said here. It is said, if anything of it is fit to be, and remembered.

What the thread is about, and the soul's mood in it, stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.engine.event import Entry, only
from daemon.kinds import Spoken
from daemon.memory import WorkingMemory
from daemon.mind.recall import remember
from daemon.mind.sections import spoken
from daemon.process import MentalProcess, Turn


async def saying(turn: Turn) -> WorkingMemory:
    """Say it, if it may still be known here, and let the inner life know."""
    wanted = turn.unprompted_message
    assert wanted is not None
    may_say = await turn.may_still_say()
    text = spoken(wanted.text)
    said: Sequence[Entry[Spoken]] = ()
    if may_say and text:
        said = only(Spoken, await turn.say(text))
    if said:
        await turn.report_unprompted_outcome("said")
    else:
        await turn.report_unprompted_outcome("refused")
    return turn.memory.with_memory(*map(remember, said))


PROCESS = MentalProcess(name="saying", run=saying, called="the inner life wants something said here")
