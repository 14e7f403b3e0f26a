"""Checks what an answer cites before it is said: the quoted words stand in the text, at that place.

A model is told to cite so: [report.txt:120 "the quoted words"], [report.txt:120-124 "…"], [paper.pdf p.3 "…"]
or [https://team.slack.com/archives/C1/p17 "…"]; several in one bracket are parted by semicolons. A quotation
may leave out words by "…", and run on. What stands there once, at another place, is cited with that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from daemon.documents.document import Document
from daemon.documents.line_index import QuotationIndex
from daemon.documents.numbered import BAR, without_line_numbers
from daemon.documents.quotation import normal_form, passage_holds
from daemon.documents.seam import TextSplicer

NEAR = 1
"""Lines after its place at which a quotation may begin, and is cited there: programs count from 0."""
RUN = 4
"""So many lines after its place a quotation may run on."""
MOST_LINES = 200
"""Lines that one citation may name."""
LONGEST_PASSAGE = 200_000
"""Characters of a passage that are looked through: a file may be one line."""
MOST_CORRECTED = 20_000_000
"""Characters of the documents in which a quotation is looked for that does not stand at its place."""
MOST_SEARCHED = 100_000_000
"""Characters that are looked through for all citations of an answer; those after that do not hold."""
ROUNDS = 4
"""What is left out may leave a citation that was hidden in it; nobody but an attacker nests them deeper."""

OPEN, CLOSE = '"“„«', '"”“»'
HEAD = re.compile(rf'\[([^\[\]"“”„«»\n]{{1,400}})([{OPEN}\]])')
NEXT = re.compile(rf'\s?[;,]\s?([^\[\]"“”„«»\n]{{1,400}})([{OPEN}])')
END = re.compile(rf"[{CLOSE}]\s?([\];,])")
LINES = re.compile(r"(.+?)(?::l?|#l|,? lines? )(\d+)(?:[-\u2013]l?(\d+))?")
PAGE = re.compile(r"(.+?),? (?:p|pp|page|pages)\.? ?(\d+)(?:[-\u2013]\d+)?")
LINK = re.compile(r"https?://\S+")
NAMELESS = "context"
"""The name of a text that a reading was given without one: a part of any of the documents."""
BARE = re.compile(r"l?\d+(?:[-\u2013]l?\d+)?")
"""A place that is the number of a line alone, as it stands before the lines that a model reads."""
AROUND = f" <>,:-\u2013{BAR}"
"""What may stand around the name of a place."""
TARGET = re.compile(r"\([^()\s]{0,500}\)")
"""What makes a link of the bracket before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    """An answer whose citations all hold; how many do, and how many were left out."""

    text: str
    held: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One place of a bracket: what it names, what it quotes, and how it is written."""

    head: str
    quote: str
    raw: str

    def at(self, place: str) -> str:
        """Return it as it is written with this place, without the numbers that were copied with its lines."""
        marks = self.raw[len(self.head) :].replace(self.quote, without_line_numbers(self.quote))
        if _lookup_key(place) == _lookup_key(self.head):
            return self.head.replace(BAR, "") + marks
        return f"{place} {marks}"


def check_citations(text: str, documents: Sequence[Document]) -> CheckedAnswer:
    """The answer, without the citations that do not hold.

    What is in brackets and cites nothing stays as it is. Takes time as the answer is long, and as what is
    cited is: where that is much, call it in a thread.
    """
    return check_citations_in(text, CitationIndex(documents))


def check_citations_in(text: str, library: CitationIndex) -> CheckedAnswer:
    """The same, where the library is at hand: what was looked up in it already is not looked up again."""
    dropped = 0
    for _ in range(ROUNDS):
        checked = _check_round(text, library)
        dropped += checked.dropped
        if not checked.dropped:
            return CheckedAnswer(text=checked.text, held=checked.held, dropped=dropped)
        text = checked.text
    text = text.replace("[", "(").replace("]", ")")
    return CheckedAnswer(text=text, held=0, dropped=dropped + checked.held)


def _check_round(text: str, library: CitationIndex) -> CheckedAnswer:
    starts = [one for one in HEAD.finditer(text) if library.is_cited(one[1], quoted=one[2] != "]")]
    bounds = [start.start() for start in starts[1:]]
    bounds.append(len(text))
    kept = TextSplicer()
    at = held = dropped = 0
    for start, bound in zip(starts, bounds, strict=False):
        found, end = _bracket(text, start, bound, library)
        good = [right for one in found if (right := library.correct(one))]
        kept.add(text[at : start.start()])
        at = end
        held += len(good)
        dropped += max(len(found), 1) - len(good)
        if good:
            kept.add(f"[{'; '.join(good)}]")
        else:
            target = TARGET.match(text, end)
            if target:
                at = target.end()
            kept.leave_out()
    kept.add(text[at:])
    return CheckedAnswer(text=kept.text(), held=held, dropped=dropped)


def _bracket(
    text: str, start: re.Match[str], bound: int, library: CitationIndex
) -> tuple[list[Citation], int]:
    """The citations of a bracket, and where it ends; without a quotation, or an end, it has none."""
    if start[2] == "]":
        return [], start.end()
    found: list[Citation] = []
    head = start
    for end in END.finditer(text, start.end(), bound):
        if end.start() < head.end():
            continue
        more = NEXT.match(text, end.start() + 1, bound)
        if more is None and end[1] != "]":
            continue
        if more and not library.is_cited(more[1], quoted=True):
            continue
        quote = text[head.end() : end.start()]
        raw = text[head.start(1) : end.start() + 1]
        found.append(Citation(head=head[1], quote=quote, raw=raw))
        if more is None:
            return found, end.end()
        head = more
    return [], _end_of_unclosed(text, start.end(), bound)


def _end_of_unclosed(text: str, since: int, bound: int) -> int:
    """What ends a bracket whose last quotation never ends: a bracket's end, or that of its line."""
    closed = text.find("]", since, bound)
    if closed >= 0:
        return closed + 1
    line = text.find("\n", since, bound)
    if line >= 0:
        return line
    return bound


class CitationIndex:
    """The documents that may be cited, by the names of their places. For one answer.

    Quotations at a wrong place are looked for in so many characters of them (`most_corrected`).
    """

    def __init__(self, documents: Sequence[Document], most_corrected: int = MOST_CORRECTED) -> None:
        self._documents = documents
        self._named: dict[str, list[Document]] = {}
        self._parts: dict[str, list[tuple[Document, int]]] = {}
        for document in documents:
            self._named.setdefault(_lookup_key(document.name), []).append(document)
            for number, part in enumerate(document.parts):
                self._parts.setdefault(_lookup_key(part.name), []).append((document, number))
        self._left = MOST_SEARCHED
        self._passages: dict[tuple[int, int, int], str] = {}
        self._places: dict[tuple[str, str], str] = {}
        """What was looked up already, and is not again in the next round."""
        self._indexed: dict[int, QuotationIndex] = {}
        self._left_to_index = most_corrected

    def is_cited(self, head: str, *, quoted: bool) -> bool:
        """Whether a bracket that begins so cites something, rightly or wrongly."""
        key = self._cited(head) if quoted else _lookup_key(head)
        found = LINES.match(key) or PAGE.match(key)
        known = key in self._parts or (found is not None and found[1] in self._named)
        if not quoted:
            return known
        place = LINES.fullmatch(key) or PAGE.fullmatch(key) or LINK.fullmatch(key)
        return known or place is not None or key in self._named

    def correct(self, citation: Citation) -> str:
        """The citation, at the right place where the words stand at another; empty: it does not hold."""
        key, quote = self._cited(citation.head), without_line_numbers(citation.quote)
        if (key, quote) not in self._places:
            self._places[key, quote] = self._place(key, quote)
        place = self._places[key, quote]
        return place and citation.at(place)

    def _cited(self, head: str) -> str:
        """Return the place that a head with a quotation names; a line's number alone is one of NAMELESS."""
        key = _lookup_key(head)
        if BARE.fullmatch(key) and key not in self._named and key not in self._parts:
            return f"{NAMELESS}:{key}"
        return key

    def _place(self, key: str, quote: str) -> str:
        """The place at which these words stand: the given one, or the only one; empty where there is none."""
        for place, passage, begins in self._named_passages(key):
            if self._spend_search(len(passage)) and passage_holds(passage, quote, begins):
                return place
        found: list[str] = []
        for document in self._named_documents(key):
            found += [document.place(line) for line in self._lines(document, quote)]
            if len(found) > 1:
                return ""
        return "".join(found)

    def _named_documents(self, key: str) -> Sequence[Document]:
        """The documents in one of which a quotation is looked for that does not stand at this place."""
        place = LINES.match(key) or PAGE.match(key)
        name = place[1] if place else key
        if name == NAMELESS:
            return self._documents
        parts = [document for document, _ in self._parts.get(key, ())]
        return self._named.get(name) or parts

    def _lines(self, document: Document, quote: str) -> Sequence[int]:
        """The first two lines in which these words begin, wherever; none in what is too long to be looked
        through."""
        known = id(document)
        if known not in self._indexed:
            if len(document.text) > self._left_to_index:
                return ()
            self._left_to_index -= len(document.text)
            self._indexed[known] = QuotationIndex(document)
        return [*islice(self._indexed[known].lines_with(quote, RUN), 2)]

    def _named_passages(self, key: str) -> Iterator[tuple[str, str, int]]:
        """The passages of this name: each with its place, and where in it the quotation has to begin."""
        page = PAGE.fullmatch(key)
        named = f"{page[1]} p.{int(page[2])}" if page else key
        for passage, begins in self._of_part(named):
            yield key, passage, begins
        lines = LINES.fullmatch(key)
        if lines:
            first, last = int(lines[2]), int(lines[3] or lines[2])
            for passage, begins in self._of_lines(lines[1], first, last):
                yield key, passage, begins
            for document in self._named.get(lines[1], ()):
                for passage, begins in self._of_lines(lines[1], last + NEAR, last + NEAR):
                    yield f"{document.name}:{last + NEAR}", passage, begins

    def _of_part(self, key: str) -> Iterator[tuple[str, int]]:
        """A message, or a page: a quotation may run on into the next one."""
        for document, number in self._parts.get(key, ()):
            part = document.parts[number]
            own = self._normal(document, part.first, part.last)
            yield own, len(own)
            if document.kind == "pdf" and number + 1 < len(document.parts):
                after = document.parts[number + 1]
                more = self._normal(document, after.first, min(after.first + RUN, after.last))
                yield f"{own} {more}", len(own)

    def _of_lines(self, name: str, first: int, last: int) -> Iterator[tuple[str, int]]:
        if not 1 <= first <= last:
            return
        last = min(last, first + MOST_LINES)
        for document in self._named.get(name, ()):
            own = self._normal(document, first, last)
            yield self._normal(document, first, last + RUN), len(own)

    def _normal(self, document: Document, first: int, last: int) -> str:
        """These lines as they are compared; nothing, once too much was looked through."""
        key = (id(document), first, last)
        if key not in self._passages:
            raw = document.passage(first, last)[:LONGEST_PASSAGE]
            self._passages[key] = ""
            if self._spend_search(len(raw)):
                self._passages[key] = normal_form(raw)
        return self._passages[key]

    def _spend_search(self, letters: int) -> bool:
        self._left -= letters
        return self._left > 0


def _lookup_key(name: str) -> str:
    """A name as it is looked up."""
    return " ".join(name.strip(AROUND).split()).casefold()
