"""The owner's words, as an action may use them: texts, and short labels of them."""

from __future__ import annotations

from daemon.mind.wording import LABELS, labels, worded
from daemon.process import Turn


class OwnersWords:
    """They are those of this turn's begin, whatever the owner writes meanwhile."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._labels = labels(turn.text(LABELS))

    def words(self, name: str, **words: str) -> str:
        """A text of the owner's, filled; `name` (the soul's) is known."""
        return worded(self.turn, name, **words)

    def label(self, meaning: str) -> str:
        """The owner's short words for it (prompts/labels.md); where there are none, the meaning itself."""
        return self._labels.get(meaning, meaning)
