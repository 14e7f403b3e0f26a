"""Notes by person. A note holds the name of whom it is about, and names are not unique, and change."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence, Set

from daemon.console.conversation_list import ConversationFold
from daemon.console.noted import NotesFold


class NotesByPerson:
    """The notes about people, by their ids, as far as both folds have read."""

    def __init__(self, noted: NotesFold, conversations: ConversationFold) -> None:
        self._noted = noted
        self._conversations = conversations

    def notes_about(self, person: str) -> Sequence[int]:
        """Return the entries that hold the notes about this person, as they read now.

        They stand in the order in which each was first noted: a corrected note keeps its place.
        """
        notes: list[tuple[int, int]] = []
        for name in self._conversations.names_of(person):
            notes += self._about(person, name).items()
        return [now for _, now in sorted(notes)]

    def count(self, person: str) -> int:
        """Return how many notes there are about this person."""
        return sum(len(self._about(person, name)) for name in self._conversations.names_of(person))

    def notes_about_others(self, people: Set[str], most: int) -> Sequence[int]:
        """Return the newest notes about none of these people, in order: about somebody else, or nobody."""
        return [now for _, now in sorted(heapq.nlargest(most, self._about_others(people)))]

    def count_others(self, people: Set[str]) -> int:
        """Return how many notes are about none of these people."""
        return self._noted.count - sum(map(self.count, people))

    def _about(self, person: str, name: str) -> Mapping[int, int]:
        """Return the notes about this name that mean this person."""
        notes = self._noted.notes_about(name)
        if len(self._conversations.people_called(name)) == 1:
            return notes
        return {note: now for note, now in notes.items() if self._whose(name, note) == person}

    def _about_others(self, people: Set[str]) -> Iterator[tuple[int, int]]:
        for name in self._noted.subject_names():
            called = self._conversations.people_called(name)
            if len(called) == 1 and people & called:
                continue
            for note, now in self._noted.notes_about(name).items():
                if self._whose(name, note) not in people:
                    yield note, now

    def _whose(self, name: str, note: int) -> str:
        return self._conversations.person_named(name, self._noted.thread_of_note(note))
