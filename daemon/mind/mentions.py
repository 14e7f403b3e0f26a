"""Sentences about tags: a `<thinking>` that is only spoken of is text, not the begin of a thought.

Private until proven spoken: each mark of the section has to stand within a sentence, in quotation marks or
beside a word for "tag". Where one does not, all of them count as marks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from daemon.mind.marks import AnswerMark, Token

MOST = 40
"""Marks of one section that are looked at."""
NEAR = 200
"""Characters on each side of a mark that are looked at."""
QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "\u2018": "\u2019", "«": "»", "(": ")", "「": "」"}
SENTENCE_ENDS = re.compile("(?:[.!?…。！？:][\"'”\u2019»)\\]*_]*|\n)\\s*$")  # noqa: RUF001
AND = r"(?:[,/&]|(?:and|or|und|oder|et|ou|y|o|e|и|или)\b)"
TAG_WORD = r"(?:tags?|elements?|elementen?|balises?|étiquettes?|etiquetas?|тег\w*|标签|標籤|タグ|태그)"
OTHER = r"</?[\w:.-]+>"
AFTER_WORD = re.compile(rf"(?:\b|(?<=\W)){TAG_WORD}[\s:]*(?:{OTHER}\s*{AND}?\s*)*$", re.IGNORECASE)
BEFORE_WORD = re.compile(rf"[\s-]*(?:{AND}\s*{OTHER}\s*)*{TAG_WORD}(?!\w)", re.IGNORECASE)


class SectionTranscript:
    """What stands in a section whose text is said, as it was written.

    `before` is what all texts of the answer were as it began, by section. `hidden` are our private tags.
    """

    def __init__(self, before: Mapping[str, str], kept: str, hidden: Collection[str]) -> None:
        self.before = before
        self.kept = kept
        """The answer as it is remembered, up to here."""
        self._hidden = hidden
        self._parts: list[str] = []
        self._thoughts: list[int] = []
        """The places of the parts that may begin or end a thought."""
        self._may_speak_of_tags = True

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    def append(self, token: Token) -> None:
        """It goes on so."""
        if isinstance(token, AnswerMark):
            if token.kind == "thought":
                self._thoughts.append(len(self._parts))
            elif token.kind == "stray":
                pass
            elif token.kind in ("token", "label") or token.name in self._hidden:
                self._may_speak_of_tags = False  # there is a mark in it beyond doubt
            token = token.raw
        self._parts.append(token)

    def speaks_of_tags(self) -> bool:
        """Return True if it ends here, holds marks of thoughts, and all of them are only spoken of."""
        marks, self._thoughts = self._thoughts, []
        if not marks or not self._may_speak_of_tags or len(marks) > MOST:
            return False
        self._may_speak_of_tags = all(map(self._is_mention, marks))
        return self._may_speak_of_tags

    def _is_mention(self, place: int) -> bool:
        before, after = self._parts[:place], self._parts[place + 1 :]
        return is_tag_mention("".join(before)[-NEAR:], "".join(after)[:NEAR])


def is_tag_mention(before: str, after: str) -> bool:
    """Return True if a tag between these texts is spoken of: it is quoted, or beside a word for "tag"."""
    if before and after and QUOTES.get(before[-1]) == after[0]:
        return True
    line = before.rpartition("\n")[2]
    if AFTER_WORD.search(line):
        return True
    return not ends_sentence(line) and BEFORE_WORD.match(after) is not None


def ends_sentence(text: str) -> bool:
    """Return True if nothing stands in the text, or it ends with a sentence or a line."""
    return not text.strip() or SENTENCE_ENDS.search(text) is not None
