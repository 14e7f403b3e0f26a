"""The words of a plain answer that may be said: the soul's own alone, once.

A weak model goes on as somebody else, repeats itself, writes tags and broken JSON, or tells about itself what
it should say. A pure function of the answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from daemon.mind.json_answer import CODE_PATTERN, JSON_KEY, SECTION_TAGS, blank_code
from daemon.mind.payloads import PAYLOAD_NAMES
from daemon.mind.recall import OUR_TAG_PATTERN
from daemon.mind.wording import Mood

ROLES = ("user", "human", "system", "person", "customer")
OWN_ROLES = ("assistant", "ai", "bot", "model", "answer", "response", "reply")
CONTROL = re.compile(r"<\|[^|<>\n]{1,40}\|?>|<\uff5c[^<>\n]{1,40}>|<(?:start|end)_of_turn>|\[/?INST\]|</s>")
FRAME = re.compile(rf"</?\s*(?:message|{'|'.join(PAYLOAD_NAMES)})\b", re.IGNORECASE)
"""The beginning of a frame of ours that a model goes on with: what follows is nobody's answer."""
TAG = re.compile(rf"</?\s*(?:{OUR_TAG_PATTERN})(?:-\w*)?(?:\s[^<>]*)?/?>", re.IGNORECASE)
"""Our tags, with all of our suffix, a part of it, or none."""
FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
QUOTED = re.compile(r"[\"“„«](?P<words>[^\"“”„«»]+)[\"”“»]")
LONGEST_UNIT = 60
"""Words of what is looked at as one that may be repeated."""
MOST_WORDS = 2_000
TIMES = {1: 6, 2: 4}
"""Times that so many words in a row make a repetition; for more words it is three."""
OUR_KEYS = frozenset({*SECTION_TAGS, "actions", "why", "args", "statement", "is_true"})
"""Keys of the JSON that other calls ask for."""
FEW = 4
"""Words that an answer may repeat whole: a greeting is answered with a greeting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSurroundings:
    """The surroundings of an answer: names, what was said, and the owner's moods.

    `name` is the soul's, `people` are those of the others; `asked` is the newest message, `said` what the
    soul said before.
    """

    name: str
    people: Collection[str] = ()
    asked: str = ""
    said: Collection[str] = ()
    moods: Mapping[str, Mood]


def extract_own_words(text: str, around: AnswerSurroundings) -> str:
    """Return what may be said of the words of an answer; empty where that is no answer."""
    text = CONTROL.split(text.strip(), maxsplit=1)[0]
    frame = FRAME.search(blank_code(text))
    if frame:
        text = text[: frame.start()]
    text = _own_turn(text, around)
    text = _without_tags(text)
    text = _without_broken_json(text)
    text = cut_repetition(_first_person(text.strip(), around))
    if not _says_something(text) or _is_repeated(text, [around.asked, *around.said]):
        return ""
    return text.strip()


def _own_turn(text: str, around: AnswerSurroundings) -> str:
    """Return the soul's own turn of a conversation that the model goes on with by itself."""
    own = _names([around.name, *OWN_ROLES])
    begun = re.match(own, text, re.IGNORECASE)
    if begun:
        text = text[begun.end() :]
    others = _names([*around.people, *ROLES])
    turn = re.compile(rf"^{others}", re.IGNORECASE | re.MULTILINE)
    mine = re.compile(rf"^{own}", re.IGNORECASE | re.MULTILINE)
    first = turn.search(text)
    if first is None:
        again = mine.search(text)
        return text[: again.start()] if again and text[: again.start()].strip() else text
    answer = mine.search(text, first.end())
    before = text[: first.start()]
    if not before.strip():
        if answer is None:
            return ""
        return _own_turn(text[answer.start() :], around)
    if answer or before.endswith("\n\n"):
        return before
    return text


def _names(names: Collection[str]) -> str:
    """Return a pattern for one of these at the beginning of a line, perhaps in bold, before its colon."""
    known = "|".join(re.escape(name) for name in names if name)
    return rf"[ \t]*(?:#+[ \t]*)?[*_]{{0,2}}(?:{known})[*_]{{0,2}}[ \t]*[:\uff1a][*_]{{0,2}}[ \t]*"


def _without_tags(text: str) -> str:
    """Take tags of ours out of what is no code."""
    places = [code.span() for code in CODE_PATTERN.finditer(text)]

    def taken(tag: re.Match[str]) -> str:
        return tag[0] if any(begin <= tag.start() < end for begin, end in places) else ""

    return TAG.sub(taken, text)


def _without_broken_json(text: str) -> str:
    """Cut a text where JSON begins outside of code that never ends, or that another call would ask for."""
    blank = blank_code(text)
    for key in JSON_KEY.finditer(blank):
        rest = blank[key.start() :]
        if text[key.start()] == ",":
            continue
        if key["name"].strip().casefold() in OUR_KEYS or not _closes(rest):
            return text[: key.start()]
    return text


def _closes(text: str) -> bool:
    """True if the first bracket of this is closed in it."""
    depth = 0
    for char in re.sub(r'"(?:[^"\\\n]|\\.)*"', "", text):
        depth += (char in "{[") - (char in "}]")
        if depth == 0:
            return True
    return False


def _first_person(text: str, around: AnswerSurroundings) -> str:
    """Return what the soul says, if the model tells of it in the third person; nothing of its thoughts."""
    told = re.match(rf"[*_(]{{0,2}}{re.escape(around.name)}\s+(?P<verb>\w+)(?:\s+(?P<more>\w+))?", text)
    if told is None:
        return text
    verb, more = told["verb"].casefold(), (told["more"] or "").casefold()
    moods = around.moods.values()
    if verb in {mood.thinks.casefold() for mood in moods} or f"{verb} {more}" in _states(around):
        return ""
    if verb in {mood.says.split()[0].casefold() for mood in moods}:
        quoted = [found["words"].strip() for found in QUOTED.finditer(text)]
        return " ".join(quoted) or text
    return text


def _states(around: AnswerSurroundings) -> Collection[str]:
    """Return the first two words of each status line: "is musing"."""
    return {" ".join(mood.status.rstrip("….").split()[:2]).casefold() for mood in around.moods.values()}


def cut_repetition(text: str) -> str:
    """Return a text up to where it begins to repeat itself; nothing of a word that stands there alone."""
    words = [(found[0].casefold(), found.end()) for found in re.finditer(r"\S+", text)][:MOST_WORDS]
    bare = [word for word, _ in words]
    for at in range(len(bare)):
        for size in range(1, min(LONGEST_UNIT, (len(bare) - at) // 2) + 1):
            if bare[at] != bare[at + size]:
                continue
            times = max(TIMES.get(size, 3), 6 if "```" in text else 0)
            unit = bare[at : at + size]
            if bare[at : at + size * times] == unit * times:
                if at == 0 and size == 1:
                    return ""
                return text[: words[at + size - 1][1]]
    return text


def _says_something(text: str) -> bool:
    """True if it has a letter, a digit or a sign like an emoji, besides the marks of code."""
    return any(char.isalnum() or unicodedata.category(char) == "So" for char in FENCE_LINE.sub("", text))


def _is_repeated(text: str, earlier: Collection[str]) -> bool:
    """True if it only says again what was asked, or said before."""
    words = re.findall(r"\w+", text.casefold())
    return len(words) > FEW and any(re.findall(r"\w+", one.casefold()) == words for one in earlier)
