"""Who is met for the first time."""

from __future__ import annotations

from daemon.kinds import ReminderFired
from daemon.process import Turn


async def claim_newcomers(turn: Turn) -> list[str]:
    """The names of those who spoke and were never met before; each is claimed, once, across all threads."""
    people = speakers(turn)
    return [name for person, name in people.items() if await turn.claim(f"greeted:{person}")]


def speakers(turn: Turn) -> dict[str, str]:
    """The people who said what this turn answers: id to name. No bot, and nobody whose reminder came."""
    people: dict[str, str] = {}
    for entry in turn.answers:
        if not entry.event.bot and not isinstance(entry.event, ReminderFired):
            people[entry.event.user] = entry.event.name
    return people
