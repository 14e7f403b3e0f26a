"""What Slack still holds of who was forgotten: it does not come back. For whoever reads Slack."""

from __future__ import annotations

from daemon.engine.reading import Reading
from daemon.kinds import Spoken, ToForget


def forgotten_until(journal: Reading, person: str) -> float:
    """Until when this person was forgotten, in Unix seconds; 0 for who was not."""
    found = [one for one in journal.kind(ToForget) if one.event.person == person and not one.event.seqs]
    return max((one.at for one in found), default=0.0)


def unsaid(journal: Reading) -> frozenset[str]:
    """The ts of all that the soul said and has forgotten."""
    if not journal.kind(ToForget):
        return frozenset()
    return frozenset(one.event.ts for one in journal.kind(Spoken) if one.forgotten)
