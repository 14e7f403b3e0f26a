"""Instructions of ours that a model sends back in place of an answer: runs of their words.

Words of earlier private sections and of our instructions are never said: a run of eight of them is found
before it is whole.

What people said, what was found, and what the soul said aloud is not private: it stands in the same memory.
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
"""Words in a row that nobody repeats by chance."""


ECHO_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


TO_THE_SOUL = frozenset({"you", "your", "yours", "yourself"})
"""Words of which one stands in a sentence that is said to the soul, in the owner's text about it."""


WordRun = tuple[str, ...]


def repeats_instructions(
    said: str, instructions: Iterable[str], character: str = "", heard: Iterable[str] = ()
) -> bool:
    """True if these words repeat a run of our instructions, or of what the character tells the soul.

    What the character says without speaking to the soul may be said, and so may what people said before.
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
    """Return all runs of so many words, whatever stands between the words."""
    words = ECHO_WORD.findall(text.casefold().replace("\u2019", "'"))
    return frozenset(
        tuple(words[at : at + ECHO_RUN_LENGTH]) for at in range(len(words) - ECHO_RUN_LENGTH + 1)
    )


HIDDEN_RUN_LENGTH = 8
"""Words in a row that give a private thought away."""


BEGINS = 2
"""Words in a row that may be read of a run, until it breaks off."""


DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts without spaces between words: each letter counts as half a word."""


HIDDEN = "".join(map(re.escape, INVISIBLE_CHARACTERS))


ACCENTS = "\u0300-\u036f"
"""Signs on the letter before them, where that is not one sign with it."""


COMPARED_WORD = re.compile(rf"[{DENSE}]|[^\W_{DENSE}]+(?:[{HIDDEN}{ACCENTS}]+[^\W_{DENSE}]+)*[{ACCENTS}]*")


DENSE_LETTER = re.compile(f"[{DENSE}]")


UNSEEN = min(INVISIBLE_CHARACTERS)


INVISIBLES = re.compile(f"[{HIDDEN}]")


LONGEST_ENTITY = 34


ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


HALF_ENTITY = re.compile(r"&#?[A-Za-z0-9]{0,32}\Z")
"""The end of a text that may yet become an entity."""


MARK = r"(?P<mark>-\w+)?[^<>]*>"


ENDS = r"(?:(?(mark)</(?P=tag)(?P=mark)\s*>|</(?P=tag)\s*>)|\Z)"


PRIVATE_SECTION = re.compile(rf"<(?P<tag>{ASIDE_TAG}|{THOUGHT_TAG}){MARK}(?P<text>.*?){ENDS}", re.DOTALL)
"""As it stands in a remembered answer, with the suffix of an installation or without."""


SPOKEN = rf"{SAY_TAG}|[\w.-]+-response"


SECTION = re.compile(
    rf"<(?P<tag>(?P<said>{SPOKEN})|{ASIDE_TAG}|{THOUGHT_TAG}){MARK}(?P<text>.*?){ENDS}", re.DOTALL
)
"""A private or spoken section: what is drafted in a private one was not said."""


def without_private_sections(memory: WorkingMemory) -> WorkingMemory:
    """Return the same memory without the private sections of the soul's earlier answers."""
    return working_memory(map(_without_private, memory.memories))


def _without_private(one: Memory) -> Memory:
    if one.role != "assistant":
        return one
    return replace(one, content=PRIVATE_SECTION.sub("", one.content).strip())


class HiddenWords:
    """Texts of which no run may be said, unless it stands in what is `known`."""

    def __init__(self, texts: Iterable[str], known: Callable[[], Iterable[str]]) -> None:
        self._words, self._places = _indexed(tuple(texts))
        self._known_texts = known
        self._known: str | None = None
        """All words that may be said."""

    def __bool__(self) -> bool:
        return bool(self._words)

    def are_in(self, text: str) -> bool:
        """Return True if a run of them stands in this text."""
        watch = HiddenWordsGuard(self)
        watch.safe_part(f"{text}\n")
        return watch.found

    def text_before_run(self, text: str) -> str:
        """Return the text up to where it may begin to give one of them away."""
        return HiddenWordsGuard(self).safe_part(text)

    # What a Watch asks

    def places(self, first: str, second: str) -> Sequence[int]:
        """Return the places where these two words stand, one after the other."""
        return self._places.get((first, second), ())

    def word(self, place: int) -> str:
        """Return the word at this place; empty where a section has ended."""
        return self._words[place] if place < len(self._words) else ""

    def run(self, place: int) -> Sequence[str]:
        """Return the run that begins here; none where its section ends before it, or where it is known."""
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
    """The private sections of earlier answers in a memory.

    Where the soul thinks in the open, its answer is made of its thoughts (`thinks`): they may be said.
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
    """Return the words of these texts, with an empty one after each text, and where two of them stand."""
    found = [word for text in texts for word in (*comparable_words(text), "")]
    places: dict[tuple[str, str], list[int]] = {}
    for place, pair in enumerate(pairwise(found)):
        places.setdefault(pair, []).append(place)
    return found, places


@dataclass(slots=True, kw_only=True)
class HiddenRun:
    """A run that a text is in: its words, how many of them have come, and where the third one begins."""

    words: Sequence[str]
    third: int
    came: int = BEGINS + 1


class HiddenWordsGuard:
    """One text that is to be said, as it grows: what of it may be read, and if it gives a hidden run away."""

    def __init__(self, hidden: HiddenWords) -> None:
        self._hidden = hidden
        self._begin()

    def _begin(self) -> None:
        self.found = False
        """True if a whole run stands in it."""
        self._text = ""
        self._read = 0
        """Up to where it is taken apart."""
        self._last = ""
        """Its last whole word."""
        self._places: Sequence[int] = ()
        """Places of its last two words in what is private."""
        self._runs: list[HiddenRun] = []

    def safe_part(self, text: str) -> str:
        """Return what of the text so far may be read: all but what may become a run."""
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
        """May the word that begins so be the third one of a run?"""
        return any(self._hidden.word(place + BEGINS).startswith(beginning) for place in self._places)

    def _take(self, word: str, at: int) -> None:
        """Take its next word, which begins at this place."""
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
    """Return the words of a text as they are compared."""
    return [comparable_word(word) for word in COMPARED_WORD.findall(decode_entities(text))]


def decode_entities(text: str) -> str:
    """Return a text of the same length in which people read no entity, but the character it stands for."""
    if "&" not in text:
        return text
    return ENTITY.sub(lambda found: html.unescape(found[0]).ljust(len(found[0]), UNSEEN), text)


def comparable_word(word: str) -> str:
    """Return a word as it is compared: without case, or characters that nobody sees."""
    return normalize("NFKC", INVISIBLES.sub("", word)).casefold()
