"""What Slack still holds of what was forgotten: it does not come back. For whoever reads Slack."""

from __future__ import annotations

from typing import Any

from daemon.engine.erasing import EntriesForgotten
from daemon.engine.event import Entry, of_kind
from daemon.engine.reading import JournalReader
from daemon.kinds import ButtonPress, DeleteRequested, ForgetRequested, SpeechFinished
from daemon.knowledge.projection import Projection


class ForgottenPeople(Projection):
    """Whose words are forgotten, and which of the soul's."""

    kinds = (ForgetRequested, EntriesForgotten)
    holds_words = False

    def _reset(self) -> None:
        self._until: dict[str, float] = {}
        self._unsaid = set[str]()

    def forgotten_until(self, person: str) -> float:
        """Until when this person was forgotten, as Slack dates it; 0 for who was not."""
        self.fold()
        return self._until.get(person, 0.0)

    def forgotten_messages(self) -> frozenset[str]:
        """The ts of all that the soul said and has forgotten."""
        self.fold()
        return frozenset(self._unsaid)

    def _fold_entry(self, entry: Entry[Any]) -> None:
        wanted = entry.event
        if isinstance(wanted, EntriesForgotten):
            said = of_kind(SpeechFinished, self.journal.readable_entries(wanted.seqs))
            self._unsaid.update(one.event.ts for one in said)
        elif not wanted.seqs:
            known = self._until.get(wanted.person, 0.0)
            since = float(confirmed_at(self.journal, entry))
            self._until[wanted.person] = max(known, since)


def confirmed_at(journal: JournalReader, asked: Entry[ForgetRequested] | Entry[DeleteRequested]) -> str:
    """When they confirmed it, as Slack dates it: the clock of this machine may be wrong."""
    ts = f"{asked.at:.6f}"
    for press in journal.tree_entries(asked.thread, ButtonPress):
        if press.seq < asked.seq:
            ts = press.event.ts
    return ts
