"""The id of a journal, which messages of ours name in their metadata. A restored copy has the same one."""

from __future__ import annotations

from secrets import token_hex

from daemon.engine.journal import Journal
from daemon.kinds import JournalNamed
from daemon.slack.place import record_workspace_note, workspace_thread


async def ensure_journal_id(journal: Journal, team: str) -> str:
    """The id of this journal, which is given one at its first start in a workspace. Raises JournalError."""
    for known in journal.latest_first(workspace_thread(team), JournalNamed):
        return known.event.id
    named = JournalNamed(id=token_hex(4))
    await record_workspace_note(journal, team, named)
    return named.id
