"""Answers that a model writes as JSON in place of sections: what of them is said, and what is private.

`{"aside": "…", "say": "…"}` is read like the sections of these names. JSON that is broken or empty is never
an answer, and of JSON with a private part nothing is said but its speech.

The words of a plain answer that may be said: the soul's own alone, once.

A weak model goes on as somebody else, repeats itself, writes tags and broken JSON, or tells about itself what
it should say. A pure function of the answer.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from daemon.answers.marks import tag_kind
from daemon.answers.speech_gate import FRAME_TAGS, split_sections
from daemon.prompts.elements import (
    OUR_TAG_PATTERN,
    PAYLOAD_NAMES,
    PRIVATE_TAGS,
    SAY_TAG,
    SECTION_NAMES,
    STEPS_BY_NAME,
    Mood,
)

JSON_KEY = re.compile(r"[{,\[]\s*\\?[\"'](?P<name>[\w -]{1,40})\\?[\"']\s*:")


PARTIAL_KEY = re.compile(r"[{,\[]\s*(?:\\?[\"'][\w -]{0,40}(?:\\?[\"']\s*)?)?$")
"""What may yet become a key."""


BEGINS = re.compile(r"\s*(?:`{3,}\w*\s*)?(?:\{\s*(?:[\"'}]|$)|\[\s*(?:[{\"\]]|$)|$)")
"""How JSON begins, perhaps in a block of code; as little as nothing may become so."""


FENCED_JSON = re.compile(
    r"\s*(?P<run>`{3,}|~{3,})[ \t]*\w*[ \t]*\n(?P<body>.*?)\n?[ \t]*(?P=run)\s*", re.DOTALL
)
"""A text that is one block of code."""


CODE_PATTERN = re.compile(r"(?P<run>`{3,}|~{3,}).*?(?:(?P=run)|\Z)|(?<!`)`[^`\n]+`(?!`)", re.DOTALL)


NOTHING = ("null", '""', "''")


OURS = {*PRIVATE_TAGS, *(f"{name}s" for name in PRIVATE_TAGS)}
"""Names of our private sections: outside of any section they are private in code, too."""


SECTION_TAGS = {
    **{tag: tag for tag in SECTION_NAMES},
    **{step.name: step.tag for step in STEPS_BY_NAME.values()},
}
"""The tag of a section, by what it may be called."""


SUFFIX = re.compile(r"-[a-z]\d$")
"""The suffix that may stand behind the name of a section, as behind its tag."""


NAMED_BY = ("tag", "name", "type", "section", "role")


HELD_BY = ("content", "text", "value", "body")
"""Keys of a part that names its section in a value: `{"tag": "say", "content": "…"}`."""


DEEPEST = 10
"""So many objects and lists within each other are looked into."""


MOST = 50
"""Objects within a text that are looked at."""


DECODER = json.JSONDecoder(strict=False)


def parse_json_sections(text: str) -> Mapping[str, str] | None:
    """Return what an answer in JSON says, by section; None for an answer that is an ordinary text.

    Empty where nothing of it may be said.
    """
    body = _unfenced(text).strip()
    if body in NOTHING:
        return {}
    if body and BEGINS.match(body):
        try:
            value, _ = DECODER.raw_decode(body)
        except (ValueError, RecursionError):
            return {}
        if not value:
            return {}
        found = _sections_of(value)
        if found or _has_private(body):
            return found
    if _has_private(blank_code(text)) or OURS & {key["name"].lower() for key in JSON_KEY.finditer(text)}:
        return _embedded(text)
    return None


def spoken_part(said: str) -> str:
    """Return what may be said of the spoken section of an answer: of JSON with a private part, its speech."""
    if "{" not in said:
        return said
    body = _unfenced(said)
    if not _has_private(body if BEGINS.match(body) else blank_code(said)):
        return said
    return (parse_json_sections(said) or {}).get(SAY_TAG, "")


def spoken_part_so_far(said: str) -> str:
    """Return what of a spoken section that still grows is sure to be speech: no JSON that may be private."""
    if BEGINS.match(said):
        return ""
    if "{" not in said:
        return said
    plain = blank_code(said)
    for key in JSON_KEY.finditer(plain):
        if _is_private(key["name"]):
            return said[: key.start()]
    partial = PARTIAL_KEY.search(plain)
    if partial:
        return said[: partial.start()]
    return said


def _unfenced(text: str) -> str:
    fenced = FENCED_JSON.fullmatch(text)
    return fenced["body"] if fenced else text


def blank_code(text: str) -> str:
    """Return the text with blanks in place of code, so that places stay the same."""
    return CODE_PATTERN.sub(lambda code: " " * len(code[0]), text)


def _has_private(text: str) -> bool:
    return any(_is_private(key["name"]) for key in JSON_KEY.finditer(text))


def _is_private(name: str) -> bool:
    """Return True if a thought stands under a key of this name."""
    plain = name.strip().lower().replace(" ", "_")
    return plain in PRIVATE_TAGS or tag_kind(plain, SECTION_NAMES, PRIVATE_TAGS) == "thought"


def _embedded(text: str) -> Mapping[str, str]:
    """The sections of all objects in a text."""
    values: list[object] = []
    at = text.find("{")
    while at >= 0 and len(values) < MOST:
        try:
            value, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = None, at + 1
        values.append(value)
        at = text.find("{", end)
    return _sections_of(values)


def _sections_of(value: object) -> Mapping[str, str]:
    """What stands under the names of our sections, however deep; several parts of one are joined."""
    found: dict[str, str] = {}
    for name, text in _parts(value, 0):
        found[name] = "\n\n".join(filter(None, [found.get(name, ""), text.strip()]))
    return found


def _parts(value: object, depth: int) -> Iterator[tuple[str, str]]:
    if depth == DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from _parts(one, depth + 1)
    if not isinstance(value, Mapping):
        return
    yield from _named_part(value)
    for key, inner in value.items():
        name = key.strip().lower()
        tag = _tag_of(name)
        if tag:
            yield tag, _text_of(inner)
        elif name in FRAME_TAGS and isinstance(inner, str) and SAY_TAG not in value:
            yield SAY_TAG, _text_of(inner)
        elif not _is_private(name):
            yield from _parts(inner, depth + 1)


def _named_part(value: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The part that names its section in a value."""
    names = [str(value[key]).strip().lower() for key in NAMED_BY if key in value]
    texts = [value[key] for key in HELD_BY if key in value]
    tag = _tag_of(names[0]) if names else ""
    if tag and texts:
        yield tag, _text_of(texts[0])


def _tag_of(name: str) -> str:
    """The tag of the section of this name, with a suffix or without; nothing for any other name."""
    return SECTION_TAGS.get(name) or SECTION_TAGS.get(SUFFIX.sub("", name), "")


def _text_of(value: object) -> str:
    """The text of a section, of which a thought within it is no part."""
    match value:
        case str():
            parsed = split_sections(value, SECTION_NAMES, PRIVATE_TAGS)
            return parsed.text.get(SAY_TAG, parsed.text_outside)
        case list():
            return "\n".join(map(_text_of, value))
        case None:
            return ""
        case Mapping():
            return _sections_of(value).get(SAY_TAG, "")
    return str(value)


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
