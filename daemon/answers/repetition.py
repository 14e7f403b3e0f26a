"""Notices when a mind goes round in circles: in a run, in its calls to itself, and in its inner life.

Two texts are the same if nothing is different but how they are written: see `normalised`. Pure, and linear in
the length of a text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from daemon.engine.event import normalized
from daemon.memory import Memory
from daemon.prompts.elements import SYSTEM_TAGS

ALIKE = {
    "'": "\u2018\u2019\u201a\u201b",
    '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    "": "\u00ad\u200b\u200e\u200f\u2060\ufe0e\ufe0f\ufeff",
}
"""What means the same, and what cannot be seen."""


STAMP = re.compile(
    r"""
    \d (?<![\w"'.:-].)
    (?: \d{3}-\d\d-\d\d[t\ ]\d\d:\d\d (?: :\d\d (?:\.\d+)? )? (?: \ ?z\b | \ ?utc\b | [+-]\d\d:?\d\d )?
      | \d?:\d\d:\d\d (?:\.\d+)?
      | \d{9}\.\d{6}
    )
    (?! :?\d | [\w"'] )
    """,
    re.VERBOSE,
)
"""Says when something was, and is another one each time: a time to the second, or with its day; Slack's `ts`.
One that fills its quotation marks is a value that somebody chose, and counts.
"""


TICK = re.compile(r"(tick|iteration|тик|итерация)\W{1,3}\d+\b")


CMD_ID = re.compile(r"""cmd_id["']?\s*[:=]\s*["']?[\w./-]+""")
"""The number of a tick, and the name of a command in it: whoever thinks the same again counts on."""


MARKS = """!"'(),.:;?[]_{}|~`\u00b4·…¡¿§¶†‡•‣\u2043、。〈〉《》「」『』【】・।॥،؛؟"""
"""What only divides words, or sets them off."""


SIGNS = "%&@\\$+<=>^"
"""What means something wherever it stands."""


NO_SIGN = re.compile(r"-(?<=\w-)|-(?!\d)|\#(?<!\w\#)|[*/](?!\d)|[*/](?<!\d[*/])")
"""What is no sign here, as in -5, c# and 2*3."""


IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"


IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")


WORD = re.compile(rf"[{IDEOGRAPHS}]|[^\s{IDEOGRAPHS}]+")
"""Where words are written without spaces, each character is taken as one."""


NEWS = ("timer-fired", "fan-out-complete")


TOLD = ("<sent", *(f"<{name}" for name in SYSTEM_TAGS if name not in NEWS))
"""How begins what the core says of what the soul itself wrote."""


FRAME = '<message from="'
"""How begins what came from an action, another thread or a person."""


THREAD = f"{FRAME}sess-"


Seen = Literal["", "nudge", "end"]
"""What a round calls for: nothing, a nudge where it closes a circle, the end where a nudge was in vain."""


def normalized_text(text: str) -> str:
    """The text without what makes no difference: how it is set, and numbers that only count on.

    Letters are folded (NFKC, case), white space and the marks between words become one space, what stands for
    the time or counts the ticks becomes none. All other numbers count: another id or another day is another
    thing. A text of marks alone is taken as it is.
    """
    return " ".join(_words(text))


def _words(text: str) -> Sequence[str]:
    """The words and signs that count. Replacing one character everywhere is by far the fastest there is."""
    plain = normalized("NFKC", text).casefold()
    for one, others in ALIKE.items():
        for other in others:
            plain = plain.replace(other, one)
    plain = CMD_ID.sub(" cmd_id ", TICK.sub(r"\1 ", STAMP.sub(" ", plain)))
    for mark in MARKS:
        plain = plain.replace(mark, " ")
    plain = NO_SIGN.sub(" ", plain)
    for sign in SIGNS:
        plain = plain.replace(sign, f" {sign} ")
    words = plain.split()
    if IDEOGRAPH.search(plain):
        words = WORD.findall(plain)
    return words or text.split()


def text_hash(text: str) -> str:
    """A hash that is the same for the same text, however it is written."""
    return hashlib.sha256(normalized_text(text).encode("utf-8", "surrogatepass")).hexdigest()


def reads_the_same(one: str, other: str) -> bool:
    """Do they read the same?"""
    return one == other or text_hash(one) == text_hash(other)


@dataclass(frozen=True, slots=True)
class TextProfile:
    """What a text is compared by: the words in it, and which of them stand side by side."""

    words: Set[str]
    pairs: Set[tuple[str, str]]

    def similarity_to(self, other: TextProfile) -> float:
        """How alike they are, from 0 (no word in common) to 1 (the same), whichever is asked.

        Half of it are the words that they share, half the pairs, since all texts of a language share words.
        How often a word is used does not count: else the small ones would outweigh all others.
        """
        words = _shared(self.words, other.words)
        if not (self.pairs or other.pairs):
            return words
        return (words + _shared(self.pairs, other.pairs)) / 2


def make_text_profile(text: str) -> TextProfile:
    """What this text is compared by; made once where it is compared with many.

    To compare two texts of 20 kB takes some 4 ms.
    """
    words = _words(text)
    return TextProfile(set(words), set(pairwise(words)))


def _shared(one: Set[Any], other: Set[Any]) -> float:
    """Twice what is in both, of what is in each."""
    whole = len(one) + len(other)
    if not whole:
        return 1.0
    return 2 * len(one & other) / whole


class RepetitionDetector:
    """Is told of each round, as a text that is the same for the same choice, arguments and results.

    With `exact` a round is another one if a single character is: in a program each may count.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self._exact = exact
        self._rounds: list[str] = []
        self._nudged = False

    def observe_round(self, this: str) -> Seen:
        """What this round calls for."""
        if not self._exact:
            this = text_hash(this)
        self._rounds.append(this)
        if not self._circles():
            self._nudged = False
            return ""
        if self._nudged:
            return "end"
        self._nudged = True
        return "nudge"

    def reset(self) -> None:
        """The world has moved on, or may have: doing the same again is not repetition."""
        self._rounds.clear()
        self._nudged = False

    def _circles(self) -> bool:
        """Does any number of the last rounds repeat those before them?"""
        lengths = range(1, len(self._rounds) // 2 + 1)
        return any(self._come_twice(length) for length in lengths)

    def _come_twice(self, length: int) -> bool:
        """Are the last so many rounds the same as those before them?"""
        before = self._rounds[-2 * length : -length]
        return self._rounds[-length:] == before


def repeats_last_answer(answer: str, conversation: Sequence[Memory]) -> bool:
    """Does the soul say again what it said last in this conversation, though nothing new has come since?

    What the core says of the soul's own words is nothing new, and neither is what an action comes to for the
    second time in a row. Whatever else came is: a person may say the same twice, and mean it.
    """
    last: Memory | None = None
    before: list[Memory] = []
    since: list[Memory] = []
    for memory in conversation:
        if memory.role == "assistant":
            last, before, since = memory, since, []
        elif last:
            since.append(memory)
    if last is None or not reads_the_same(answer, last.content):
        return False
    known = {text_hash(memory.content) for memory in before}
    for memory in since:
        is_again = _is_result(memory) and text_hash(memory.content) in known
        if _is_news(memory) and not is_again:
            return False
    return True


def _is_news(memory: Memory) -> bool:
    return bool(memory.content) and not memory.content.startswith(TOLD)


def _is_result(memory: Memory) -> bool:
    """Did an action come to this? What a person said carries a name."""
    from_within = memory.content.startswith(FRAME) and not memory.name
    return from_within and not memory.content.startswith(THREAD)
