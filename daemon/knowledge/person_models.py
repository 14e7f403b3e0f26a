"""What people are like, as far as it may be known in a conversation. A turn reads it as of its first begin.

Folded from `PersonLearned` entries: each says what is known now in its channel; and from what people correct.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS
from daemon.kinds import Corrected, PersonLearned, Said
from daemon.knowledge.places import Channel, Places, may_know
from daemon.knowledge.projection import Projection

MOST = 5
"""Models of one person that are used together: this channel's, and the newest of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The models of one person in one channel: their seqs, each made from the one before it."""

    channel: Channel
    seqs: list[int] = field(default_factory=list)


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
        mine = here.before(before)
        found: list[tuple[bool, int]] = []
        for chain in self._chains.get(person, {}).values():
            there = chain.channel
            last = _last(chain.seqs, before)
            if last and may_know(mine, there.before(before)):
                found.append((there is here, last))
        found.sort(reverse=True)
        entries = self.journal.many([seq for _, seq in found[:MOST]])
        return [entry.event.text for entry in entries if entry.event.text]

    def known(
        self, said: Iterable[Entry[Said]], thread: str, before: int = ALWAYS
    ) -> Sequence[tuple[str, str]]:
        """What is known about those who said this, and may be known in this thread: name, and all notes."""
        names = {entry.event.user: entry.event.name for entry in said}
        known = []
        for person, name in names.items():
            notes = self.about(person, thread, before)
            if notes:
                known.append((name, "\n".join(notes)))
        return known

    def all(self) -> Mapping[str, Mapping[int, Chain]]:
        """What was learned about everybody, by person. For the owner, who may see all."""
        self.fold()
        return self._chains

    def chains(self, person: str) -> list[Chain]:
        """What was learned about this person, channel by channel. For themselves, who may see all of it."""
        self.fold()
        return [*self._chains.get(person, {}).values()]

    def base(self, person: str, thread: str, before: int = ALWAYS) -> tuple[int, str]:
        """The model that a new one is made from in this thread: its seq, for `since`, and its text."""
        seq = _last(self._learned(person, thread), before)
        if not seq:
            return 0, ""
        return seq, self.journal.at(seq).event.text

    def stands(self, entry: Entry[PersonLearned]) -> bool:
        """Does this model count? Not if another was learned in its channel since the one it was made from.

        Such a one is dropped; whoever wrote it may learn again from the newer base.
        """
        return entry.seq in self._learned(entry.event.person, entry.thread)

    async def update(self, before: int = ALWAYS) -> None:
        await self.places.update()
        await super().update(before)

    def fold(self, before: int = ALWAYS) -> None:
        self.places.fold()
        super().fold(before)

    def _clear(self) -> None:
        """What was learned before counts again where what came after it is forgotten."""
        self._chains: dict[str, dict[int, Chain]] = {}
        """By person, and by the number of the channel."""

    def _learned(self, person: str, thread: str) -> Sequence[int]:
        """The models of this person in this thread's channel."""
        self.fold()
        channel = self.places.of(thread)
        chains = self._chains.get(person, {})
        if channel is None or channel.number not in chains:
            return ()
        return chains[channel.number].seqs

    def _take(self, entry: Entry[PersonLearned | Corrected]) -> None:
        if isinstance(entry.event, Corrected):
            self._correct(entry.seq, entry.event)
        else:
            self._learn(entry, entry.event)

    def _correct(self, seq: int, right: Corrected) -> None:
        """The person says how it is to read: that counts where the model did."""
        if not right.text:  # it was forgotten
            return
        for chain in self._chains.get(right.person, {}).values():
            if chain.seqs[-1] == right.of:
                chain.seqs.append(seq)

    def _learn(self, entry: Entry[Any], learned: PersonLearned) -> None:
        channel = self.places.of(entry.thread)
        if channel is None or not learned.text:  # no text: it was forgotten
            return
        chains = self._chains.setdefault(learned.person, {})
        chain = chains.setdefault(channel.number, Chain(channel=channel))
        if not chain.seqs or learned.since >= chain.seqs[-1]:  # larger: made from one that was forgotten
            chain.seqs.append(entry.seq)


def _last(seqs: Sequence[int], before: int) -> int:
    """The last one before an entry; 0: there is none."""
    last = bisect_left(seqs, before)
    if not last:
        return 0
    return seqs[last - 1]
