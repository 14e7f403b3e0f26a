"""An index that finds the lines of a document in which a quotation stands, whatever place it was given."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from daemon.documents.document import Document
from daemon.documents.quotation import normal_form, passage_holds, quotation_starts


class QuotationIndex:
    """The text of a document as quotations are compared, and where each of its lines begins in that.

    What stands between pages, or messages, is no text of theirs. Takes time as the document is long.
    """

    def __init__(self, document: Document) -> None:
        self._starts: list[int] = []
        self._numbers: list[int] = []
        pieces: list[str] = []
        size = 0
        for number, line in _lines(document):
            piece = normal_form(line)
            if not piece:
                continue
            if pieces and _goes_on(pieces[-1], piece):
                pieces[-1] = pieces[-1][:-1]
                size -= 1
            elif pieces:
                pieces.append(" ")
                size += 1
            self._starts.append(size)
            self._numbers.append(number)
            pieces.append(piece)
            size += len(piece)
        self._text = "".join(pieces)

    def lines_with(self, quote: str, run: int) -> Iterator[int]:
        """Each line in which this quotation begins, if all of it stands there and in `run` lines more."""
        before = 0
        for begins in quotation_starts(self._text, quote):
            at = bisect_right(self._starts, begins) - 1
            end = len(self._text)
            if at + run + 1 < len(self._starts):
                end = self._starts[at + run + 1]
            if self._numbers[at] != before and passage_holds(self._text[begins:end], quote, 1):
                before = self._numbers[at]
                yield before


def _lines(document: Document) -> Iterator[tuple[int, str]]:
    """The lines of a document with their numbers; of one with parts, those of the parts."""
    spans = [(part.first, part.last) for part in document.parts] or [(1, document.line_count)]
    for first, last in spans:
        text = document.passage(first, last).removesuffix("\n")
        yield from enumerate(text.split("\n"), first)


def _goes_on(before: str, after: str) -> bool:
    """True if a hyphen at the end of the first line parts a word."""
    return before[-1:] == "-" and before[-2:-1].isalpha() and after[:1].isalpha()
