"""The inner life wants something said here. It is said, if anything of it is fit to be, and remembered.

What the thread is about, and the soul's mood in it, stay as they are.
"""

from __future__ import annotations

from daemon.engine.event import only
from daemon.kinds import Spoken
from daemon.memory import WorkingMemory
from daemon.mind.recall import remember
from daemon.mind.sections import spoken
from daemon.process import MentalProcess, Turn


async def saying(turn: Turn) -> WorkingMemory:
    """Say it, if it may still be known here, and let the inner life know."""
    wanted = turn.to_say
    assert wanted is not None
    text = spoken(wanted.text) if await turn.may_say() else ""
    receipts = await turn.say(text) if text else ()
    said = only(Spoken, receipts)
    await turn.became("said" if said else "refused")
    return turn.memory.with_memory(*map(remember, said))


PROCESS = MentalProcess(name="saying", run=saying, called="the inner life wants something said here")
