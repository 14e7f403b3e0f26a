"""The context of an action that a run and open thought share: the owner's words, and what is new."""

from __future__ import annotations

from daemon.memory import WorkingMemory
from daemon.mind.recall import escape_tags
from daemon.mind.wording import LABELS_TEXT, fill_prompt, parse_labels
from daemon.process import Turn


class BaseActionContext:
    """The part of an ActionContext that is the same everywhere.

    The owner's words are those of the turn's begin, whatever the owner writes meanwhile. `shown` are the
    results of actions so far: one list for all that go on beside each other.
    """

    def __init__(self, turn: Turn, memory: WorkingMemory, shown: list[str] | None = None) -> None:
        self.turn = turn
        self.memory = memory
        self._shown = [] if shown is None else shown
        self._labels = parse_labels(turn.text(LABELS_TEXT))

    def prompt(self, name: str, **words: str) -> str:
        """A text of the owner's, filled; `name` (the soul's) is known."""
        return fill_prompt(self.turn, name, **words)

    def label(self, meaning: str) -> str:
        """The owner's short words for it (prompts/labels.md); where there are none, the meaning itself."""
        return self._labels.get(meaning, meaning)

    def is_new(self, text: str) -> bool:
        """True if neither a result of an action here nor a memory holds this text; from now on one does."""
        told = escape_tags(text)
        is_remembered = any(told in one.content for one in self.memory.memories)
        if is_remembered or any(text in one for one in self._shown):
            return False
        self._shown.append(text)
        return True
