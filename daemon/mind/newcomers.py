"""Who is met for the first time. Asked by the processes that greet."""

from __future__ import annotations

from daemon.process import Turn


async def newcomers(turn: Turn) -> list[str]:
    """The names of those who spoke and were never met before; each is claimed, once, across all threads."""
    said = [e for e in turn.answers if not e.body["bot"] and e.body["address"] != "timer"]
    people = {entry.author: entry.body["name"] for entry in said}
    return [name for person, name in people.items() if await turn.claim(f"greeted:{person}")]
