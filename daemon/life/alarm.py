"""An owner is told at once, in a direct message, that something of the soul's needs mending.

The turn that meets the fault leaves a perception in the owner's conversation, whose own turn says it: so it
is said once, whoever is killed when. Its key names the one before it, so that two turns leave one.
"""

from __future__ import annotations

import logging

from daemon.claude.account import ACCOUNT, Fault
from daemon.entry import Entry
from daemon.errors import SpeechFailed
from daemon.life.reach import USABLE, fault_of
from daemon.life.scope import Scope

NOTICING = "noticing"
"""The process that tells it."""
AGAIN = 86_400.0
"""Seconds after which an owner is told again, while nothing is mended."""
QUIET = 600.0
"""Seconds in which an owner is told of the same fault once, however often it comes and goes."""

log = logging.getLogger(__name__)


async def alarm(turn: Scope, call: Entry) -> None:
    """Let the owners know what a failed call tells of the account, if it does, and they do not know yet."""
    fault = fault_of(call.body)
    if fault.failure not in ACCOUNT:
        return
    reach, now = turn.world.reach, turn.world.clock.steady()
    for owner in turn.world.owners:
        if reach.may_tell(owner, fault):
            reach.told(owner, fault, until=now + QUIET)
            try:
                thread = await turn.world.speaker.direct(owner, turn.hold)
            except SpeechFailed as error:
                log.warning("The owner %s could not be told: %s.", owner, error)
            else:
                await _leave(turn, call, fault, thread)


async def _leave(turn: Scope, call: Entry, fault: Fault, thread: str) -> None:
    """A perception for the owner's conversation, if there is none about this yet."""
    before = [e for e in turn.world.journal.of(thread, "perception") if e.body.get("about") == fault.subject]
    last = before[-1] if before else None
    if last is None or _is_news(turn, fault, last):
        body = {
            "rank": "after",
            "process": NOTICING,
            "about": fault.subject,
            "what": turn.world.reach.advice(fault),
        }
        key = f"alarm:{thread}:{fault.subject}:{last.seq if last else 0}"
        turn.hold()
        await turn.world.journal.append(thread, "perception", body, key=key, author="core", cause=call.seq)


def _is_news(turn: Scope, fault: Fault, last: Entry) -> bool:
    """Was it mended since the owner was told last, or was that long ago?"""
    past = turn.world.clock.now() - last.at
    if not 0 <= past < AGAIN:  # long ago, or dated by a clock that was ahead
        return True
    if past < QUIET:
        return False
    calls = turn.world.journal.kind("model-call", since=last.at)
    return any(
        call.seq > last.seq and call.body["outcome"] in USABLE and fault.mended_by(str(call.body["model"]))
        for call in calls
    )
