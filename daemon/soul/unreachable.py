"""Claude cannot be reached: who is told, and how long is waited."""

from __future__ import annotations

from daemon.claude.account import ACCOUNT, AccountFault
from daemon.engine.event import Entry
from daemon.engine.kinds import OutageBegan
from daemon.kinds import QuestionAnswered
from daemon.mind.wording import fill_prompt
from daemon.soul import settling
from daemon.soul.reach import ModelAvailability
from daemon.soul.turn import Turn

WAITS = (60.0, 300.0, 1800.0)
"""Seconds until it is tried again; the last one repeats."""
MAX_TRIES = 50
"""About a day of trying."""
FEWER_TRIES = {"bad-request": 2}
"""What Claude does not understand today it hardly will tomorrow."""


def retry_pause_of(reach: ModelAvailability, reason: str, subject: str, tries: int) -> float | None:
    """Seconds until the next try, after so many; None where it was tried often enough.

    While somebody has to mend the account it is tried for ever, by one thread at a time.
    """
    if reason in ACCOUNT:
        return reach.next_probe(AccountFault(failure=reason, model=subject))
    if tries >= FEWER_TRIES.get(reason, MAX_TRIES):
        return None
    return WAITS[min(tries, len(WAITS) - 1)]


async def announce_outage(turn: Turn, waiting: Entry[OutageBegan]) -> None:
    """Say once in this conversation that the model does not answer; what was half said stays as it is."""
    turn.show_status("")
    await settling.finish_open_messages(turn)
    waits = turn.must_answer or bool(
        turn.execution.recorded_entries(QuestionAnswered)
    )  # this turn begins at the outage
    if waits and turn.addressed:
        name = "unreachable"
        if waiting.event.reason in ACCOUNT:
            name = "account"
        sentence = fill_prompt(turn, f"prompts/sentences/{name}")
        await turn.say(sentence, "told", answers=False)
