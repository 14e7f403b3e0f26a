"""Report on a survey: figures, then citations that readers can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rehearsal.claude.phrasing import several, together
from rehearsal.claude.wanted import COMMON, WORD

HOW = "I looked for these words alone, in singular and plural."
GLANCED = "I looked it over, and counted its words."
PART = re.compile(r"# (?P<name>'.*'|\".*\"): (?P<lines>\d+) lines, (?P<words>\d+) words")
COUNT = re.compile(r"“(?P<word>[^“”]+)”: (?P<times>\d+) times in (?P<lines>\d+) lines")
ALL = re.compile(r"all: (?P<lines>\d+) lines")
OFTEN = re.compile(r"often: (?P<words>.*)")
SAMPLE = re.compile(r"(?P<number>\d+)(?: \[(?P<place>.+)\])?: (?P<text>.*)")
LEFT_OUT = re.compile(r"\[… \d+ characters left out …\]")
NAMED = re.compile(r'https?://[^\s\[\]"“”„«»<>]+|[^\[\]"“”„«»<>]+ p\.\d+')
"""Message or page, cited by address or number."""
MARKS = re.compile(r"&\w{1,8};|[\[\]<>&*]")
"""Characters that a quotation cannot contain."""
QUOTES = re.compile('["“”„«»`]')
"""Quotation marks, all alike when checked."""
UNCITED = re.compile(r'[\[\]"“”„«»<>\n]')
GAP = " … "
LONGEST = 110
THE_TEXT = "the text"
MOST_OFTEN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCount:
    word: str
    times: int
    lines: int


@dataclass(slots=True, kw_only=True)
class PartSurvey:
    """Results for one part. `samples` are citations; `together` counts lines with all words."""

    name: str
    lines: int
    words: int
    counts: list[WordCount] = field(default_factory=list)
    together: int = 0
    often: list[str] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)


def findings(report: str) -> str:
    """Return the report with citations and method; "" for other texts."""
    parts: list[PartSurvey] = []
    for line in report.split("\n"):
        begun = PART.fullmatch(line)
        if begun:
            parts.append(_begun(begun))
        elif parts:
            _note(parts[-1], line)
    if not parts:
        return ""
    said = [_told(part) for part in parts]
    if LEFT_OUT.search(report):
        said.append("This is not all: more was found than I am shown.")
    counted = any(part.counts for part in parts)
    said.append(HOW if counted else GLANCED)
    return "\n".join(said)


def _begun(found: re.Match[str]) -> PartSurvey:
    try:
        name = str(ast.literal_eval(found["name"]))
    except (ValueError, SyntaxError):
        name = ""
    return PartSurvey(name=name, lines=int(found["lines"]), words=int(found["words"]))


def _note(part: PartSurvey, line: str) -> None:
    count = COUNT.fullmatch(line)
    if count:
        word, times, lines = count.groups()
        part.counts.append(WordCount(word=word, times=int(times), lines=int(lines)))
    every = ALL.fullmatch(line)
    if every:
        part.together = int(every["lines"])
    often = OFTEN.fullmatch(line)
    if often:
        part.often = MARKS.sub("", often["words"]).split(", ")
    sample = SAMPLE.fullmatch(line)
    if sample:
        _note_sample(part, *sample.groups())


def _note_sample(part: PartSurvey, number: str, named: str | None, text: str) -> None:
    place = f"{part.name}:{number}"
    if named and NAMED.fullmatch(named):
        place = named
    quote = _quotable(text, [count.word for count in part.counts])
    if quote and not UNCITED.search(place):
        part.samples.append(f'[{place} "{quote}"]')


def _told(part: PartSurvey) -> str:
    told = _counted(part) if part.counts else _looks(part)
    return "\n- ".join([told, *part.samples])


def _counted(part: PartSurvey) -> str:
    name, whole = _shown(part.name), several(part.lines, "line")
    found = [count for count in part.counts if count.times]
    missing = [f"“{count.word}”" for count in part.counts if not count.times]
    if not found:
        every = "its one line" if part.lines == 1 else f"all {part.lines:,} lines"
        return f"No line of {name} holds {' or '.join(missing)}: I looked through {every}."
    if len(part.counts) == 1:
        [count] = found
        holds = "holds" if count.lines == 1 else "hold"
        told = f"{count.lines:,} of {whole} in {name} {holds} “{count.word}”"
        if count.lines == count.times:
            return f"{told}."
        return f"{told}: {count.times:,} times in all."
    figures = [f"“{one.word}” {_times(one.times)} in {several(one.lines, 'line')}" for one in found]
    said = [f"In {name}, of {whole}: {together(figures)}."]
    if missing:
        said.append(f"{together(missing)}: nowhere.")
    elif part.together:
        said.append(f"{several(part.together, 'line')} with all of them.")
    return " ".join(said)


def _looks(part: PartSurvey) -> str:
    """Describe a part without search words."""
    name = _shown(part.name)
    if name == THE_TEXT:
        name = THE_TEXT.capitalize()
    size = f"{name} has {several(part.lines, 'line')} and {several(part.words, 'word')}."
    often = [one for one in part.often if one.split(" ")[0] not in COMMON]
    if not often:
        return size
    return f"{size} Often in it: {', '.join(often[:MOST_OFTEN])}."


def _quotable(text: str, words: Sequence[str]) -> str:
    """Return a line's quotation around a search word; "…" marks omissions."""
    parts = [part for part in MARKS.split(QUOTES.sub("'", text)) if WORD.search(part)]
    pieces = [" ".join(part.split()) for part in parts]
    if not pieces:
        return ""
    held = [_held(piece.lower(), words) for piece in pieces]
    first = last = held.index(max(held))
    while last + 1 < len(pieces) and len(GAP.join(pieces[first : last + 2])) <= LONGEST:
        last += 1
    while first > 0 and len(GAP.join(pieces[first - 1 : last + 1])) <= LONGEST:
        first -= 1
    quote = GAP.join(pieces[first : last + 1])
    if len(quote) <= LONGEST:
        return quote
    whole_words, _, _ = quote[:LONGEST].rpartition(" ")
    return whole_words or quote[:LONGEST]


def _held(piece: str, words: Sequence[str]) -> int:
    """Count these words, without their last letter for plurals."""
    beginnings = [word[:-1] or word for word in words]
    return sum(beginning in piece for beginning in beginnings)


def _shown(name: str) -> str:
    if name == "context":
        return THE_TEXT
    return UNCITED.sub("_", name) or "a part"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
