"""Detection of repetition in runs, self-calls and the inner life.

Texts are normalised before they are compared, in linear time.
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
"""Characters that are replaced by their equivalent; invisible ones by nothing."""


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
"""Pattern of times with seconds or a day, and of Slack's `ts`; values that fill quotation marks are kept."""


TICK = re.compile(r"(tick|iteration|тик|итерация)\W{1,3}\d+\b")


CMD_ID = re.compile(r"""cmd_id["']?\s*[:=]\s*["']?[\w./-]+""")
"""Pattern of command ids; like tick numbers, they change while a thought repeats."""


MARKS = """!"'(),.:;?[]_{}|~`\u00b4·…¡¿§¶†‡•‣\u2043、。〈〉《》「」『』【】・।॥،؛؟"""
"""Characters that only separate words."""


SIGNS = "%&@\\$+<=>^"
"""Characters that count as words."""


NO_SIGN = re.compile(r"-(?<=\w-)|-(?!\d)|\#(?<!\w\#)|[*/](?!\d)|[*/](?<!\d[*/])")
"""Pattern of signs without meaning, unlike those in -5, c# and 2*3."""


IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"


IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")


WORD = re.compile(rf"[{IDEOGRAPHS}]|[^\s{IDEOGRAPHS}]+")
"""Pattern of a word; each ideograph counts as one."""


NEWS = ("timer-fired", "fan-out-complete")


TOLD = ("<sent", *(f"<{name}" for name in SYSTEM_TAGS if name not in NEWS))
"""Beginnings of messages that only report the soul's own texts."""


FRAME = '<message from="'
"""Beginning of messages from actions, threads and people."""


THREAD = f"{FRAME}sess-"


Seen = Literal["", "nudge", "end"]
"""Result of a round: none, a nudge at a repetition, the end if the repetition continues."""


def normalized_text(text: str) -> str:
    """Return the text without layout, times and counters, to be compared.

    NFKC and case are folded, separators become one space; other numbers stay. A text of separators only is
    unchanged.
    """
    return " ".join(_words(text))


def _words(text: str) -> Sequence[str]:
    """Return the significant words and signs; replacing single characters is fastest."""
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
    return hashlib.sha256(normalized_text(text).encode("utf-8", "surrogatepass")).hexdigest()


def reads_the_same(one: str, other: str) -> bool:
    return one == other or text_hash(one) == text_hash(other)


@dataclass(frozen=True, slots=True)
class TextProfile:
    """Words and pairs of adjacent words in a text."""

    words: Set[str]
    pairs: Set[tuple[str, str]]

    def similarity_to(self, other: TextProfile) -> float:
        """Return the similarity, symmetric and from 0 to 1.

        Words and pairs weigh half each, since all texts of a language share words. Frequency is ignored, or
        small words would dominate.
        """
        words = _shared(self.words, other.words)
        if not (self.pairs or other.pairs):
            return words
        return (words + _shared(self.pairs, other.pairs)) / 2


def make_text_profile(text: str) -> TextProfile:
    words = _words(text)
    return TextProfile(set(words), set(pairwise(words)))


def _shared(one: Set[Any], other: Set[Any]) -> float:
    whole = len(one) + len(other)
    if not whole:
        return 1.0
    return 2 * len(one & other) / whole


class RepetitionDetector:
    """Detector of repeated rounds; each round is a text.

    `exact`: compare every character, as for programs.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self._exact = exact
        self._rounds: list[str] = []
        self._nudged = False

    def observe_round(self, this: str) -> Seen:
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
        """Forget the rounds: after a change, a repetition is legitimate."""
        self._rounds.clear()
        self._nudged = False

    def _circles(self) -> bool:
        lengths = range(1, len(self._rounds) // 2 + 1)
        return any(self._come_twice(length) for length in lengths)

    def _come_twice(self, length: int) -> bool:
        before = self._rounds[-2 * length : -length]
        return self._rounds[-length:] == before


def repeats_last_answer(answer: str, conversation: Sequence[Memory]) -> bool:
    """True if the answer repeats the soul's last one, and no new message came in between.

    Reports of the soul's own words and repeated results do not count as new; a repeated message of a person
    does.
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
    from_within = memory.content.startswith(FRAME) and not memory.name
    return from_within and not memory.content.startswith(THREAD)
