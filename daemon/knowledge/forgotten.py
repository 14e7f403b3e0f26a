"""What Slack still holds of what was forgotten: it does not come back. For whoever reads Slack."""

from __future__ import annotations

from daemon.engine.erasing import Forgotten
from daemon.engine.event import only
from daemon.engine.reading import Reading
from daemon.kinds import Spoken, ToForget


class ForgottenWords:
    """Whose words are forgotten, and which of the soul's: a projection, folded on whenever it is asked."""

    def __init__(self, journal: Reading) -> None:
        self._journal = journal
        self._folded = 0
        """The seq of the last wish to forget, as of `until`."""
        self._until: dict[str, float] = {}
        self._blanked = 0
        """The seq of the last entry that says what was forgotten, as of `unsaid`."""
        self._unsaid = set[str]()

    def until(self, person: str) -> float:
        """Until when this person was forgotten, in Unix seconds; 0 for who was not."""
        for asked in self._journal.kind(ToForget, since=self._folded):
            self._folded = asked.seq
            whose = asked.event.person
            if not asked.event.seqs:
                self._until[whose] = max(asked.at, self._until.get(whose, 0.0))
        return self._until.get(person, 0.0)

    def unsaid(self) -> frozenset[str]:
        """The ts of all that the soul said and has forgotten."""
        for forgotten in self._journal.kind(Forgotten, since=self._blanked):
            entries = self._journal.sound(forgotten.event.seqs)
            self._unsaid.update(said.event.ts for said in only(Spoken, entries))
            self._blanked = forgotten.seq
        return frozenset(self._unsaid)
