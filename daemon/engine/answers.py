"""Which of the inputs of an execution answers which of its questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from daemon.engine.event import Entry, Input
from daemon.engine.kinds import AnswerAwaited, AnswerReceived, TurnBegan
from daemon.engine.reading import JournalReader


class AnswerMatcher:
    """Of one attempt. Each input answers once; `answered` are the answers that are recorded already."""

    def __init__(
        self, journal: JournalReader, began: Entry[TurnBegan], answered: Iterable[Entry[AnswerReceived]]
    ) -> None:
        self._journal = journal
        self._began = began
        self._used = {entry.event.input for entry in answered}

    def find_answer(self, waits: Entry[Any], inputs: Sequence[Entry[Input]]) -> Entry[Input] | None:
        """The first of these inputs that answers this question or wait.

        One that names the question of an abandoned execution counts where the same is asked again.
        """
        for entry in inputs:
            if entry.seq not in self._used and self._answers(entry, waits):
                self._used.add(entry.seq)
                return entry
        return None

    def unasked_answers(self, inputs: Sequence[Entry[Input]]) -> list[Entry[Input]]:
        """Those of these that answer a question which is not asked any more."""
        found = []
        for entry in inputs:
            asked = self.question_answered_by(entry)
            if asked and entry.seq not in self._used and not self._journal.is_pending(asked.seq):
                found.append(entry)
        return found

    def question_answered_by(self, given: Entry[Input]) -> Entry[AnswerAwaited] | None:
        """The question that this input answers."""
        key = self._named(given)
        if not key:
            return None
        named = self._journal.get(key)
        if named is None or not isinstance(named.event, AnswerAwaited):
            return None
        return cast(Entry[AnswerAwaited], named)

    def _answers(self, given: Entry[Input], waits: Entry[Any]) -> bool:
        if self._named(given) == waits.key:
            return True
        asked = self.question_answered_by(given)
        if asked is None:
            return False
        same = asked.event.asks_the_same(waits.event)
        return same and asked.event.execution == self._began.event.execution and asked.kind == waits.kind

    def _named(self, given: Entry[Input]) -> str:
        """The key of the question that this input answers: it says so itself, or its turn does."""
        if given.event.answers or given.seq not in self._began.event.inputs:
            return given.event.answers
        return self._began.event.answers
