"""What people are like, as far as it may be known in a conversation. A turn reads it as of its first begin.

Folded from entries of kind `person` {person, text, since}: each says what is known now in its channel.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from daemon.entry import Entry, who
from daemon.journal.journal import Journal
from daemon.journal.reading import ALWAYS
from daemon.knowledge.places import Channel, Places, fresh, may_know

MOST = 5
"""Models of one person that are used together: this channel's, and the newest of others."""


class PersonModels:
    """The models of all people, one for each channel in which something was learned about them."""

    def __init__(self, journal: Journal, places: Places) -> None:
        self._journal = journal
        self._places = places
        self._folded = 0
        self._chains: dict[str, dict[int, tuple[Channel, list[int]]]] = {}
        """Person, channel: the seqs of its models, each made from the one before it."""

    def about(self, person: str, thread: str, before: int = ALWAYS) -> list[str]:
        """What is known about a person and may be known in this thread: this channel's model comes first."""
        self.update()
        if not (here := self._places.of(thread)):
            return []
        mine, found = here.before(before), list[tuple[bool, int]]()
        for there, chain in self._chains.get(person, {}).values():
            last = bisect_left(chain, before)
            if last and may_know(mine, there.before(before)):
                found.append((there is here, chain[last - 1]))
        entries = self._journal.many([seq for _, seq in sorted(found, reverse=True)[:MOST]])
        return [text for entry in entries if (text := _text(entry))]

    def known(self, said: Iterable[Entry], thread: str, before: int = ALWAYS) -> Sequence[tuple[str, str]]:
        """What is known about those who said this, and may be known in this thread: name, and all notes."""
        names = {who(entry): entry.body["name"] for entry in said}
        found = [(name, "\n".join(self.about(person, thread, before))) for person, name in names.items()]
        return [(name, notes) for name, notes in found if notes]

    def base(self, person: str, thread: str, before: int = ALWAYS) -> tuple[int, str]:
        """The model that a new one is made from in this thread: its seq, for `since`, and its text."""
        self.update()
        chain = self._chain(person, self._places.of(thread))
        last = bisect_left(chain, before)
        return (chain[last - 1], _text(self._journal.at(chain[last - 1]))) if last else (0, "")

    def stands(self, entry: Entry) -> bool:
        """Does this model count? Not if another was learned in its channel since the one it was made from.

        Such a one is dropped; whoever wrote it may learn again from the newer base.
        """
        self.update()
        return entry.seq in self._chain(entry.body["person"], self._places.of(entry.thread))

    def update(self) -> None:
        """Fold what came since."""
        self._places.update()
        entries, self._folded = fresh(self._journal, ("person",), self._folded)
        for entry in entries:
            self._fold(entry)

    def _fold(self, entry: Entry) -> None:
        channel = self._places.of(entry.thread)
        if not (channel and _text(entry)):
            return
        models = self._chains.setdefault(entry.body["person"], {})
        chain = models.setdefault(channel.number, (channel, []))[1]
        if entry.body["since"] >= (chain[-1] if chain else 0):  # larger: made from one that was forgotten
            chain.append(entry.seq)

    def _chain(self, person: str, channel: Channel | None) -> list[int]:
        chain = self._chains.get(person, {}).get(channel.number) if channel else None
        return chain[1] if chain else []


def _text(model: Entry) -> str:
    """What it says; nothing, where that was forgotten."""
    return str(model.body.get("text", ""))
