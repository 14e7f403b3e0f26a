"""Leak protection: runs of eight words from private sections or instructions are never said.

The text stops before a run is complete. Words that people, results or the soul's speech contain are allowed.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from unicodedata import normalize

from daemon.answers.marks import INVISIBLE_CHARACTERS
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.prompts.elements import ASIDE_TAG, SAY_TAG, THOUGHT_TAG

ECHO_RUN_LENGTH = 8
"""Length in words of a run that nobody repeats by chance."""


ECHO_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


TO_THE_SOUL = frozenset({"you", "your", "yours", "yourself"})
"""Words by which the character addresses the soul."""


WordRun = tuple[str, ...]


def repeats_instructions(
    said: str, instructions: Iterable[str], character: str = "", heard: Iterable[str] = ()
) -> bool:
    """True if the text repeats a run of the instructions, or of the character's words to the soul.

    Other words of the character, and words `heard` from people, are allowed.
    """
    mine = word_runs(said)
    if not mine:
        return False
    ours = frozenset[WordRun]().union(*map(word_runs, instructions))
    told = {run for run in mine & word_runs(character) if TO_THE_SOUL.intersection(run)}
    found = (mine & ours) | told
    return bool(found) and not found <= frozenset[WordRun]().union(*map(word_runs, heard))


@functools.lru_cache
def word_runs(text: str) -> frozenset[WordRun]:
    words = ECHO_WORD.findall(text.casefold().replace("\u2019", "'"))
    return frozenset(
        tuple(words[at : at + ECHO_RUN_LENGTH]) for at in range(len(words) - ECHO_RUN_LENGTH + 1)
    )


HIDDEN_RUN_LENGTH = 8
"""Length in words of a run that reveals a private thought."""


BEGINS = 2
"""Words of a run that may be shown before it is recognised."""


DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts without spaces; one of their letters counts as half a word."""


HIDDEN = "".join(map(re.escape, INVISIBLE_CHARACTERS))


ACCENTS = "\u0300-\u036f"


COMPARED_WORD = re.compile(rf"[{DENSE}]|[^\W_{DENSE}]+(?:[{HIDDEN}{ACCENTS}]+[^\W_{DENSE}]+)*[{ACCENTS}]*")


DENSE_LETTER = re.compile(f"[{DENSE}]")


UNSEEN = min(INVISIBLE_CHARACTERS)


INVISIBLES = re.compile(f"[{HIDDEN}]")


LONGEST_ENTITY = 34


ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


HALF_ENTITY = re.compile(r"&#?[A-Za-z0-9]{0,32}\Z")


MARK = r"(?P<mark>-\w+)?[^<>]*>"


ENDS = r"(?:(?(mark)</(?P=tag)(?P=mark)\s*>|</(?P=tag)\s*>)|\Z)"


PRIVATE_SECTION = re.compile(rf"<(?P<tag>{ASIDE_TAG}|{THOUGHT_TAG}){MARK}(?P<text>.*?){ENDS}", re.DOTALL)
"""Pattern of a private section in a remembered answer, with or without suffix."""


SPOKEN = rf"{SAY_TAG}|[\w.-]+-response"


SECTION = re.compile(
    rf"<(?P<tag>(?P<said>{SPOKEN})|{ASIDE_TAG}|{THOUGHT_TAG}){MARK}(?P<text>.*?){ENDS}", re.DOTALL
)
"""Pattern of a private or spoken section; speech drafted in a private one was not said."""


def without_private_sections(memory: WorkingMemory) -> WorkingMemory:
    return working_memory(map(_without_private, memory.memories))


def _without_private(one: Memory) -> Memory:
    if one.role != "assistant":
        return one
    return replace(one, content=PRIVATE_SECTION.sub("", one.content).strip())


class HiddenWords:
    """Texts of which no run may be said, unless `known` contains the run."""

    def __init__(self, texts: Iterable[str], known: Callable[[], Iterable[str]]) -> None:
        self._words, self._places = _indexed(tuple(texts))
        self._known_texts = known
        self._known: str | None = None

    def __bool__(self) -> bool:
        return bool(self._words)

    def are_in(self, text: str) -> bool:
        watch = HiddenWordsGuard(self)
        watch.safe_part(f"{text}\n")
        return watch.found

    def text_before_run(self, text: str) -> str:
        """Return the text before the first possible run."""
        return HiddenWordsGuard(self).safe_part(text)

    def places(self, first: str, second: str) -> Sequence[int]:
        return self._places.get((first, second), ())

    def word(self, place: int) -> str:
        return self._words[place] if place < len(self._words) else ""

    def run(self, place: int) -> Sequence[str]:
        """Return the run from this position; empty if the section ends first or the run is known."""
        run: list[str] = []
        size = 0.0
        while size < HIDDEN_RUN_LENGTH:
            word = self.word(place + len(run))
            if not word:
                return ()
            run.append(word)
            size += 0.5 if DENSE_LETTER.match(word) else 1.0
        if self._known is None:
            self._known = " ".join(["", *comparable_words("\n".join(self._known_texts())), ""])
        return () if f" {' '.join(run)} " in self._known else run


class PrivateWords(HiddenWords):
    """Private sections of earlier answers.

    If the soul `thinks` in the open, thoughts may be said: its answers are made of them.
    """

    def __init__(self, memory: WorkingMemory, *, thinks: bool = False) -> None:
        super().__init__(_private_sections(memory, thinks=thinks), lambda: _said(memory))


def _private_sections(memory: WorkingMemory, *, thinks: bool) -> Iterator[str]:
    for one in memory.conversation:
        if one.role == "assistant":
            for section in PRIVATE_SECTION.finditer(one.content):
                if section["tag"] == ASIDE_TAG or not thinks:
                    yield section["text"]


def _said(memory: WorkingMemory) -> Iterator[str]:
    for one in memory.memories:
        if one.role != "assistant":
            yield one.content
        else:
            yield from (section["text"] for section in SECTION.finditer(one.content) if section["said"])


@functools.lru_cache
def _indexed(texts: tuple[str, ...]) -> tuple[Sequence[str], Mapping[tuple[str, str], Sequence[int]]]:
    found = [word for text in texts for word in (*comparable_words(text), "")]
    places: dict[tuple[str, str], list[int]] = {}
    for place, pair in enumerate(pairwise(found)):
        places.setdefault(pair, []).append(place)
    return found, places


@dataclass(slots=True, kw_only=True)
class HiddenRun:
    """A partly matched run: `came` words so far, the third at position `third`."""

    words: Sequence[str]
    third: int
    came: int = BEGINS + 1


class HiddenWordsGuard:
    """Check of a growing text for runs of hidden words."""

    def __init__(self, hidden: HiddenWords) -> None:
        self._hidden = hidden
        self._begin()

    def _begin(self) -> None:
        self.found = False
        self._text = ""
        self._read = 0
        self._last = ""
        self._places: Sequence[int] = ()
        """Positions in the hidden texts at which the last two words occur."""
        self._runs: list[HiddenRun] = []

    def safe_part(self, text: str) -> str:
        """Return the text before the first possible run."""
        if not self._hidden:
            return text
        if not text.startswith(self._text):
            self._begin()
        self._text = text
        begun = self._read
        half = HALF_ENTITY.search(text, max(begun, len(text) - LONGEST_ENTITY))
        end = held = half.start() if half else len(text)
        for word in COMPARED_WORD.finditer(decode_entities(text[begun:end])):
            if self.found:
                break
            if begun + word.end() == end and not DENSE_LETTER.match(word[0]):
                if self._may_go_on(comparable_word(word[0])):
                    held = begun + word.start()
                break
            self._take(comparable_word(word[0]), begun + word.start())
            self._read = begun + word.end()
        return text[: min([held, *(run.third for run in self._runs)])]

    def _may_go_on(self, beginning: str) -> bool:
        return any(self._hidden.word(place + BEGINS).startswith(beginning) for place in self._places)

    def _take(self, word: str, at: int) -> None:
        runs = [run for run in self._runs if run.words[run.came] == word]
        for run in runs:
            run.came += 1
        for place in self._places:
            if self._hidden.word(place + BEGINS) == word:
                run_of_words = self._hidden.run(place)
                if run_of_words:
                    runs.append(HiddenRun(words=run_of_words, third=at))
        self.found = any(run.came == len(run.words) for run in runs)
        self._runs = runs
        self._places = self._hidden.places(self._last, word)
        self._last = word


def comparable_words(text: str) -> list[str]:
    return [comparable_word(word) for word in COMPARED_WORD.findall(decode_entities(text))]


def decode_entities(text: str) -> str:
    """Decode HTML entities, padded so that positions stay the same."""
    if "&" not in text:
        return text
    return ENTITY.sub(lambda found: html.unescape(found[0]).ljust(len(found[0]), UNSEEN), text)


def comparable_word(word: str) -> str:
    """Normalise a word: without case and invisible characters."""
    return normalize("NFKC", INVISIBLES.sub("", word)).casefold()
