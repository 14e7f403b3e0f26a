"""The id of a journal, which messages of ours name in their metadata. A restored copy has the same one."""

from __future__ import annotations

from secrets import token_hex

from daemon.engine.journal import Journal
from daemon.kinds import JournalNamed
from daemon.slack.place import home


async def journal_id(journal: Journal, team: str) -> str:
    """The id of this journal, which is given one at its first start in a workspace. Raises JournalError."""
    known = journal.latest(home(team), JournalNamed)
    if known is None:
        named = JournalNamed(id=token_hex(4))
        known, _ = await journal.append(home(team), named, key=f"journal:{team}", author="core")
    return known.event.id
