"""An owner is told at once, in a direct message, that something of the soul's needs mending.

The turn that meets the fault leaves an afterthought in the owner's conversation, whose own turn says it: so
it is said once, whoever is killed when. Its key names the one before it, so that two turns leave one.
"""

from __future__ import annotations

import logging

from daemon.claude.account import ACCOUNT, Fault
from daemon.engine.event import Entry
from daemon.engine.execution import Execution
from daemon.errors import SpeechFailed
from daemon.kinds import Afterthought, ModelCall
from daemon.soul.reach import USABLE, fault_of
from daemon.soul.world import World

NOTICING = "noticing"
"""The process that tells it."""
AGAIN = 86_400.0
"""Seconds after which an owner is told again, while nothing is mended."""
QUIET = 600.0
"""Seconds in which an owner is told of the same fault once, however often it comes and goes."""

log = logging.getLogger(__name__)


async def alarm(world: World, execution: Execution, call: Entry[ModelCall]) -> None:
    """Let the owners know what a failed call tells of the account, if it does, and they do not know yet."""
    fault = fault_of(call.event)
    if fault.failure not in ACCOUNT:
        return
    reach = world.reach
    now = world.clock.steady()
    for owner in world.owners:
        if not reach.may_tell(owner, fault):
            continue
        reach.told(owner, fault, until=now + QUIET)
        try:
            thread = await world.speaker.direct(owner, execution.check_lease)
        except SpeechFailed as error:
            log.warning("The owner %s could not be told: %s.", owner, error)
        else:
            execution.check_lease()
            await _leave(world, call, fault, thread)


async def _leave(world: World, call: Entry[ModelCall], fault: Fault, thread: str) -> None:
    """An afterthought for the owner's conversation, if there is none about this yet."""
    journal = world.journal
    last = None
    before = 0
    for entry in journal.of(thread, Afterthought):
        told = entry.event
        if told.process == NOTICING and told.params.get("about") == fault.subject:
            last, before = entry, entry.seq
    if last is None or _is_news(world, fault, last):
        params = {"about": fault.subject, "what": world.reach.advice(fault)}
        event = Afterthought(process=NOTICING, params=params)
        key = f"alarm:{thread}:{fault.subject}:{before}"
        await journal.append(thread, event, key=key, author="core", cause=call.seq)


def _is_news(world: World, fault: Fault, last: Entry[Afterthought]) -> bool:
    """Was it mended since the owner was told last, or was that long ago?"""
    past = world.clock.now() - last.at
    if not 0 <= past < AGAIN:  # long ago, or dated by a clock that was ahead
        return True
    if past < QUIET:
        return False
    for call in world.journal.kind(ModelCall, since=last.seq):
        if call.event.outcome in USABLE and fault.mended_by(call.event.model):
            return True
    return False
