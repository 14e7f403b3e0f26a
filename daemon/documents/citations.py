"""Checks that the quoted words of each citation stand in a document at the cited place.

A citation is [report.txt:120 "words"], [report.txt:120-124 "…"], [paper.pdf p.3 "…"] or
[https://team.slack.com/archives/C1/p17 "…"]; semicolons separate several in one bracket. "…" in a quotation
skips words. A wrong place is corrected if the words occur only once. Case, spaces and dashes need not match.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from daemon.documents.document import BAR, Document, without_line_numbers
from daemon.engine.event import normalized

SPACE = " \t"


OPENED = {"(": ")", "[": "]"}


PARTING = (",", ";")


CLOSING = ".,;:!?)]}\n"


EMPHASIS = "*_~"


DEEPEST = 3


BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,4}[.)])?[ \t]*")


class TextSplicer:
    """Builder of a text from pieces. It closes the gap that an omitted piece leaves."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._gap = False
        self._spaced = False

    def add(self, piece: str) -> None:
        if self._gap:
            piece = self._closed(piece)
        if piece:
            self._pieces.append(piece)

    def leave_out(self) -> None:
        self._spaced = self._strip() or (self._gap and self._spaced)
        self._gap = True

    def text(self) -> str:
        if self._gap:
            self._without_bullet()
        return "".join(self._pieces)

    def _closed(self, piece: str) -> str:
        """Return the piece after an omission, with spaces and brackets adjusted; empty if nothing is left."""
        rest = piece.lstrip(SPACE)
        self._spaced = self._spaced or len(rest) < len(piece)
        for _ in range(DEEPEST):
            rest = self._without_brackets(rest)
        if not rest:
            return ""
        self._gap = False
        if rest[0] == "\n" and self._without_bullet():
            return rest[1:]
        closing = CLOSING
        if piece[0] not in SPACE:
            closing += EMPHASIS
        if self._last_piece() in ("", "\n", *OPENED) or rest[0] in closing or not self._spaced:
            return rest
        return f" {rest}"

    def _without_brackets(self, rest: str) -> str:
        if self._last_piece() in OPENED and rest.startswith(PARTING):
            rest = rest[1:].lstrip(SPACE)
        if self._last_piece() in PARTING and rest.startswith((")", "]")):
            self._cut(1)
            self._strip()
        if rest and OPENED.get(self._last_piece()) == rest[0]:
            self._cut(1)
            self._spaced = self._strip()
            after = rest[1:].lstrip(SPACE)
            self._spaced = self._spaced or len(after) < len(rest) - 1
            return after
        return rest

    def _without_bullet(self) -> bool:
        last = ""
        if self._pieces:
            last = self._pieces[-1].rpartition("\n")[2]
        if not BULLET.fullmatch(last):
            return False
        if last:
            self._cut(len(last))
        return True

    def _last_piece(self) -> str:
        if not self._pieces:
            return ""
        return self._pieces[-1][-1]

    def _cut(self, letters: int) -> None:
        self._pieces[-1] = self._pieces[-1][:-letters]
        if not self._pieces[-1]:
            self._pieces.pop()

    def _strip(self) -> bool:
        stripped = False
        while self._pieces and self._pieces[-1][-1] in SPACE:
            self._pieces[-1] = self._pieces[-1].rstrip(SPACE)
            stripped = True
            if not self._pieces[-1]:
                self._pieces.pop()
        return stripped


LONGEST_QUOTE = 4_000


MOST_TRIES = 200
"""Most occurrences of a quotation's part that are tried."""


QUOTES = re.compile('["\u201c-\u201f\u00ab\u00bb\u2033\u2018-\u201b`\u00b4\u2032]')


DASHES = re.compile("[\u2010-\u2015\u2212]")


UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
"""Invisible characters, ignored in comparisons."""


BROKEN = re.compile(r"(?<=[^\W\d_])-\s*(?=[^\W\d_])")


ELLIPSIS = re.compile(r"\[\s?\.{3,}\s?\]|\(\s?\.{3,}\s?\)|\.{3,}")


EDGES = " .,;:!?"


LETTER = re.compile(r"[^\W_]")


INSIDE = re.compile(r"[.,']?\d")


def normal_form(text: str) -> str:
    """Return the text as compared: case, white space, and kinds of quotes and dashes do not matter.

    Models are shown `<` as `&lt;`, so both are equal.
    """
    text = text.replace("&lt;", "<")
    text = QUOTES.sub("'", text)
    text = DASHES.sub("-", text)
    text = UNSEEN.sub("", text)
    text = normalized("NFKC", text).casefold()
    return " ".join(BROKEN.sub("", text).split())


def passage_holds(passage: str, quote: str, begins: int) -> bool:
    """True if the passage has the quotation's parts in order, as whole words, the first before index
    `begins`.

    The passage must be in normal form. A quotation without letters or digits is never found.
    """
    parts = _parts(quote)
    at = 0
    for number, part in enumerate(parts):
        at = _find_whole(passage, part, at)
        if at < 0 or (number == 0 and at - len(part) >= begins):
            return False
    return bool(parts)


def quotation_starts(passage: str, quote: str) -> Iterator[int]:
    at = 0
    for first in _parts(quote)[:1]:
        for _ in range(MOST_TRIES):
            end = _find_whole(passage, first, at)
            if end < 0:
                return
            yield end - len(first)
            at = end


def _parts(quote: str) -> list[str]:
    if len(quote) > LONGEST_QUOTE:
        return []
    parts = [part.strip(EDGES) for part in ELLIPSIS.split(normal_form(quote))]
    return [part for part in parts if LETTER.search(part)]


def _find_whole(passage: str, part: str, at: int) -> int:
    """Return the index after the part's first occurrence as whole words; -1 if none."""
    for _ in range(MOST_TRIES):
        found = passage.find(part, at)
        if found < 0:
            return -1
        end = found + len(part)
        if not (_cuts_word_before(passage, found) or _cuts_word_after(passage, end)):
            return end
        at = found + 1
    return -1


def _cuts_word_before(passage: str, at: int) -> bool:
    """True if a word or number continues across index `at`. Words of scripts without case never do."""
    first = passage[at]
    before = passage[max(at - 2, 0) : at]
    if first.isdigit():
        return bool(re.search(r"\d[.,']?$", before))
    return first.islower() and before[-1:].islower()


def _cuts_word_after(passage: str, end: int) -> bool:
    if passage[end - 1].isdigit():
        return INSIDE.match(passage, end) is not None
    return passage[end - 1].islower() and passage[end : end + 1].islower()


class QuotationIndex:
    """A document in normal form, without the names of its pages or messages, with the start index of each
    line.
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
        """Yield the numbers of lines where the quotation begins, if it ends at most `run` lines later."""
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
    spans = [(part.first, part.last) for part in document.parts] or [(1, document.line_count)]
    for first, last in spans:
        text = document.passage(first, last).removesuffix("\n")
        yield from enumerate(text.split("\n"), first)


def _goes_on(before: str, after: str) -> bool:
    return before[-1:] == "-" and before[-2:-1].isalpha() and after[:1].isalpha()


NEAR = 1
"""Lines after the cited one where a quotation may begin: programs count lines from 0."""


RUN = 4
"""Lines after the cited ones into which a quotation may continue."""


MOST_LINES = 200


LONGEST_PASSAGE = 200_000
"""Most characters of a passage that are searched: a file may be one line."""


MOST_CORRECTED = 20_000_000
"""Most characters of documents indexed per answer to correct places."""


MOST_SEARCHED = 100_000_000
"""Most characters searched per answer; after that, citations count as invalid."""


ROUNDS = 4
"""Rounds of checks per answer: a removal may form a new citation, and only attackers nest deeper."""


OPEN, CLOSE = '"“„«', '"”“»'


HEAD = re.compile(rf'\[([^\[\]"“”„«»\n]{{1,400}})([{OPEN}\]])')


NEXT = re.compile(rf'\s?[;,]\s?([^\[\]"“”„«»\n]{{1,400}})([{OPEN}])')


END = re.compile(rf"[{CLOSE}]\s?([\];,])")


LINES = re.compile(r"(.+?)(?::l?|#l|,? lines? )(\d+)(?:[-\u2013]l?(\d+))?")


PAGE = re.compile(r"(.+?),? (?:p|pp|page|pages)\.? ?(\d+)(?:[-\u2013]\d+)?")


LINK = re.compile(r"https?://\S+")


NAMELESS = "context"
"""Name that stands in citations for a text without a name; any document may be meant."""


BARE = re.compile(r"l?\d+(?:[-\u2013]l?\d+)?")


AROUND = f" <>,:-\u2013{BAR}"


TARGET = re.compile(r"\([^()\s]{0,500}\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    """An answer without invalid citations; `held` counts valid ones, `dropped` removed ones."""

    text: str
    held: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One citation: its place (`head`), its quotation, and both as written (`raw`)."""

    head: str
    quote: str
    raw: str

    def at(self, place: str) -> str:
        """Return the citation's text with this place, and without line numbers copied into the quotation."""
        marks = self.raw[len(self.head) :].replace(self.quote, without_line_numbers(self.quote))
        if _lookup_key(place) == _lookup_key(self.head):
            return self.head.replace(BAR, "") + marks
        return f"{place} {marks}"


def check_citations(text: str, documents: Sequence[Document]) -> CheckedAnswer:
    """Remove an answer's invalid citations, and correct wrong places.

    Slow for long texts: call it in a thread.
    """
    return check_citations_in(text, CitationIndex(documents))


def check_citations_in(text: str, library: CitationIndex) -> CheckedAnswer:
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
    closed = text.find("]", since, bound)
    if closed >= 0:
        return closed + 1
    line = text.find("\n", since, bound)
    if line >= 0:
        return line
    return bound


class CitationIndex:
    """Documents by name and part, to check one answer.

    `most_corrected`: most characters indexed to correct places.
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
        self._indexed: dict[int, QuotationIndex] = {}
        self._left_to_index = most_corrected

    def is_cited(self, head: str, *, quoted: bool) -> bool:
        """True if `head` begins a citation, valid or not. `quoted`: a quotation follows."""
        key = self._cited(head) if quoted else _lookup_key(head)
        found = LINES.match(key) or PAGE.match(key)
        known = key in self._parts or (found is not None and found[1] in self._named)
        if not quoted:
            return known
        place = LINES.fullmatch(key) or PAGE.fullmatch(key) or LINK.fullmatch(key)
        return known or place is not None or key in self._named

    def correct(self, citation: Citation) -> str:
        """Return the citation's text with the right place; empty if it is invalid."""
        key, quote = self._cited(citation.head), without_line_numbers(citation.quote)
        if (key, quote) not in self._places:
            self._places[key, quote] = self._place(key, quote)
        place = self._places[key, quote]
        return place and citation.at(place)

    def _cited(self, head: str) -> str:
        """Return the key of the cited place; a line number alone belongs to NAMELESS."""
        key = _lookup_key(head)
        if BARE.fullmatch(key) and key not in self._named and key not in self._parts:
            return f"{NAMELESS}:{key}"
        return key

    def _place(self, key: str, quote: str) -> str:
        """Return the cited place if the words are there, else the only place that has them, else ""."""
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
        place = LINES.match(key) or PAGE.match(key)
        name = place[1] if place else key
        if name == NAMELESS:
            return self._documents
        parts = [document for document, _ in self._parts.get(key, ())]
        return self._named.get(name) or parts

    def _lines(self, document: Document, quote: str) -> Sequence[int]:
        """Return the first two lines where the words begin; none if the document is too long to index."""
        known = id(document)
        if known not in self._indexed:
            if len(document.text) > self._left_to_index:
                return ()
            self._left_to_index -= len(document.text)
            self._indexed[known] = QuotationIndex(document)
        return [*islice(self._indexed[known].lines_with(quote, RUN), 2)]

    def _named_passages(self, key: str) -> Iterator[tuple[str, str, int]]:
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
    return " ".join(name.strip(AROUND).split()).casefold()
