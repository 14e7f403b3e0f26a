"""The suffix of the tags of sections (`<say-k7>`): drawn once for a journal; no model writes it by chance.

An execution asks for sections with the suffix as of its begin; one of before the draw asks for bare tags.
"""

from __future__ import annotations

from contextlib import suppress
from secrets import choice
from typing import cast

from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.journal import Journal
from daemon.engine.reading import JournalReader
from daemon.kinds import SuffixDrawn
from daemon.soul.texts import JOURNAL_THREAD

KEY = "tag-suffix"
LETTERS = "bcdfghjkmnpqrtvwxz"
DIGITS = "23456789"
"""Signs that are hard to mistake for others, and make no word."""


async def draw_tag_suffix(journal: Journal) -> None:
    """Draw the suffix of this journal, unless it has one. Raises JournalError."""
    with suppress(JournalDamaged):  # what cannot be read is not drawn anew: its key stands
        if journal.get(KEY) is None:
            drawn = SuffixDrawn(suffix=choice(LETTERS) + choice(DIGITS))
            await journal.append(JOURNAL_THREAD, drawn, key=KEY, author="core")


class TagSuffixHistory:
    """The suffix of a journal as of any entry."""

    def __init__(self, journal: JournalReader) -> None:
        self._journal = journal
        self._drawn: Entry[SuffixDrawn] | None = None

    def suffix_at(self, before: int) -> str:
        """Return the suffix as it was before an entry; empty where none was drawn yet, or it is damaged."""
        if self._drawn is None:
            with suppress(JournalDamaged):
                self._drawn = cast("Entry[SuffixDrawn] | None", self._journal.get(KEY))
        if self._drawn is None or self._drawn.seq >= before:
            return ""
        return self._drawn.event.suffix
