"""Who is met for the first time. Asked by the processes that greet."""

from __future__ import annotations

from daemon.process import Turn


async def newcomers(turn: Turn) -> list[str]:
    """The names of those who spoke and were never met before; each is claimed, once, across all threads."""
    people = {entry.author: entry.body["name"] for entry in turn.answers if not entry.body["bot"]}
    return [name for person, name in people.items() if await turn.claim(f"greeted:{person}")]
