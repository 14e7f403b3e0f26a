"""What people are like, as far as it may be known in a conversation. A turn reads it as of its first begin.

Folded from `PersonLearned` entries: each says what is known now in its channel; and from what people correct.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS
from daemon.kinds import Corrected, PersonLearned, Said
from daemon.knowledge.places import Channel, Places, may_know
from daemon.knowledge.projection import Projection

MOST = 5
"""Models of one person that are used together: this channel's, and the newest of others."""


class PersonModels(Projection):
    """The models of all people, one for each channel in which something was learned about them."""

    kinds = (PersonLearned, Corrected)

    def __init__(self, journal: Journal, places: Places) -> None:
        super().__init__(journal)
        self.places = places

    def about(self, person: str, thread: str, before: int = ALWAYS) -> list[str]:
        """What is known about a person and may be known in this thread: this channel's model comes first."""
        self.fold()
        here = self.places.of(thread)
        if here is None:
            return []
        mine, found = here.before(before), list[tuple[bool, int]]()
        for there, chain in self._chains.get(person, {}).values():
            last = bisect_left(chain, before)
            if last and may_know(mine, there.before(before)):
                found.append((there is here, chain[last - 1]))
        entries = self.journal.many([seq for _, seq in sorted(found, reverse=True)[:MOST]])
        return [entry.event.text for entry in entries if entry.event.text]

    def known(
        self, said: Iterable[Entry[Said]], thread: str, before: int = ALWAYS
    ) -> Sequence[tuple[str, str]]:
        """What is known about those who said this, and may be known in this thread: name, and all notes."""
        names = {entry.event.user: entry.event.name for entry in said}
        found = [(name, "\n".join(self.about(person, thread, before))) for person, name in names.items()]
        return [(name, notes) for name, notes in found if notes]

    def all(self) -> Mapping[str, Sequence[tuple[Channel, int]]]:
        """Every model that counts, by person: its channel and its seq. For the owner, who may see all."""
        self.fold()
        return {
            person: [(channel, chain[-1]) for channel, chain in chains.values() if chain]
            for person, chains in self._chains.items()
        }

    def base(self, person: str, thread: str, before: int = ALWAYS) -> tuple[int, str]:
        """The model that a new one is made from in this thread: its seq, for `since`, and its text."""
        self.fold()
        chain = self._chain(person, self.places.of(thread))
        last = bisect_left(chain, before)
        if not last:
            return 0, ""
        seq = chain[last - 1]
        return seq, self.journal.at(seq).event.text

    def stands(self, entry: Entry[PersonLearned]) -> bool:
        """Does this model count? Not if another was learned in its channel since the one it was made from.

        Such a one is dropped; whoever wrote it may learn again from the newer base.
        """
        self.fold()
        return entry.seq in self._chain(entry.event.person, self.places.of(entry.thread))

    async def update(self, before: int = ALWAYS) -> None:
        await self.places.update()
        await super().update(before)

    def fold(self, before: int = ALWAYS) -> None:
        self.places.fold()
        super().fold(before)

    def _clear(self) -> None:
        """What was learned before counts again where what came after it is forgotten."""
        self._chains: dict[str, dict[int, tuple[Channel, list[int]]]] = {}
        """Person, channel: the seqs of its models, each made from the one before it."""

    def _take(self, entry: Entry[PersonLearned | Corrected]) -> None:
        if isinstance(entry.event, Corrected):
            self._correct(entry, entry.event)
        else:
            self._learn(entry, entry.event)

    def _correct(self, entry: Entry[Any], right: Corrected) -> None:
        """The person says how it is to read: that counts where the model did."""
        for _, chain in self._chains.get(right.person, {}).values():
            if right.text and chain[-1] == right.of:
                chain.append(entry.seq)

    def _learn(self, entry: Entry[Any], learned: PersonLearned) -> None:
        channel = self.places.of(entry.thread)
        if not (channel and learned.text):  # no text: it was forgotten
            return
        models = self._chains.setdefault(learned.person, {})
        chain = models.setdefault(channel.number, (channel, []))[1]
        if not chain or learned.since >= chain[-1]:  # larger: made from one that was forgotten
            chain.append(entry.seq)

    def _chain(self, person: str, channel: Channel | None) -> list[int]:
        if channel is None:
            return []
        _, chain = self._chains.get(person, {}).get(channel.number, (channel, []))
        return chain
