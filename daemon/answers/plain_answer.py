"""Speech in answers without sections: JSON instead of sections, and plain text of weak models.

`{"aside": "…", "say": "…"}` is parsed like sections; of JSON with a private part only its speech is said.
Plain text loses foreign turns, repetitions, tags and broken JSON.
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
"""Pattern of a text's end that may become a JSON key."""


BEGINS = re.compile(r"\s*(?:`{3,}\w*\s*)?(?:\{\s*(?:[\"'}]|$)|\[\s*(?:[{\"\]]|$)|$)")
"""Pattern of a text that begins as JSON, with or without a fence, or is empty."""


FENCED_JSON = re.compile(
    r"\s*(?P<run>`{3,}|~{3,})[ \t]*\w*[ \t]*\n(?P<body>.*?)\n?[ \t]*(?P=run)\s*", re.DOTALL
)


CODE_PATTERN = re.compile(r"(?P<run>`{3,}|~{3,}).*?(?:(?P=run)|\Z)|(?<!`)`[^`\n]+`(?!`)", re.DOTALL)


NOTHING = ("null", '""', "''")


OURS = {*PRIVATE_TAGS, *(f"{name}s" for name in PRIVATE_TAGS)}
"""Keys that name private sections; outside sections, even code with such a key is private."""


SECTION_TAGS = {
    **{tag: tag for tag in SECTION_NAMES},
    **{step.name: step.tag for step in STEPS_BY_NAME.values()},
}
"""Section tags by the names that are accepted for them."""


SUFFIX = re.compile(r"-[a-z]\d$")


NAMED_BY = ("tag", "name", "type", "section", "role")


HELD_BY = ("content", "text", "value", "body")
"""Keys of the text in an object that names its section: `{"tag": "say", "content": "…"}`."""


DEEPEST = 10


MOST = 50
"""Most JSON objects read in a text."""


DECODER = json.JSONDecoder(strict=False)


def parse_json_sections(text: str) -> Mapping[str, str] | None:
    """Return the sections of an answer in JSON; empty if nothing may be said, None for ordinary text."""
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
    """Return the speech in a spoken section, without private JSON."""
    if "{" not in said:
        return said
    body = _unfenced(said)
    if not _has_private(body if BEGINS.match(body) else blank_code(said)):
        return said
    return (parse_json_sections(said) or {}).get(SAY_TAG, "")


def spoken_part_so_far(said: str) -> str:
    """Return the part of an unfinished spoken section that cannot become private JSON."""
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
    """Replace code by spaces, so that positions stay the same."""
    return CODE_PATTERN.sub(lambda code: " " * len(code[0]), text)


def _has_private(text: str) -> bool:
    return any(_is_private(key["name"]) for key in JSON_KEY.finditer(text))


def _is_private(name: str) -> bool:
    plain = name.strip().lower().replace(" ", "_")
    return plain in PRIVATE_TAGS or tag_kind(plain, SECTION_NAMES, PRIVATE_TAGS) == "thought"


def _embedded(text: str) -> Mapping[str, str]:
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
    names = [str(value[key]).strip().lower() for key in NAMED_BY if key in value]
    texts = [value[key] for key in HELD_BY if key in value]
    tag = _tag_of(names[0]) if names else ""
    if tag and texts:
        yield tag, _text_of(texts[0])


def _tag_of(name: str) -> str:
    return SECTION_TAGS.get(name) or SECTION_TAGS.get(SUFFIX.sub("", name), "")


def _text_of(value: object) -> str:
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
"""Pattern of the message frame of our prompts, which a model may wrongly continue."""


TAG = re.compile(rf"</?\s*(?:{OUR_TAG_PATTERN})(?:-\w*)?(?:\s[^<>]*)?/?>", re.IGNORECASE)
"""Pattern of section tags with the suffix, a part of the suffix or none."""


FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}).*$", re.MULTILINE)


QUOTED = re.compile(r"[\"“„«](?P<words>[^\"“”„«»]+)[\"”“»]")


LONGEST_UNIT = 60


MOST_WORDS = 2_000


TIMES = {1: 6, 2: 4}
"""Repetitions from which a phrase counts, by its words; three for longer phrases."""


OUR_KEYS = frozenset({*SECTION_TAGS, "actions", "why", "args", "statement", "is_true"})
"""JSON keys that only belong in answers to other model calls."""


FEW = 4
"""Most words of an answer that may repeat a whole message, as greetings do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSurroundings:
    """Context of an answer.

    `name`: the soul's. `people`: names of others. `asked`: the newest message. `said`: the soul's earlier
    messages. `moods`: the owner's words for moods.
    """

    name: str
    people: Collection[str] = ()
    asked: str = ""
    said: Collection[str] = ()
    moods: Mapping[str, Mood]


def extract_own_words(text: str, around: AnswerSurroundings) -> str:
    """Return the part of an answer that may be said; empty if there is none."""
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
    known = "|".join(re.escape(name) for name in names if name)
    return rf"[ \t]*(?:#+[ \t]*)?[*_]{{0,2}}(?:{known})[*_]{{0,2}}[ \t]*[:\uff1a][*_]{{0,2}}[ \t]*"


def _without_tags(text: str) -> str:
    places = [code.span() for code in CODE_PATTERN.finditer(text)]

    def taken(tag: re.Match[str]) -> str:
        return tag[0] if any(begin <= tag.start() < end for begin, end in places) else ""

    return TAG.sub(taken, text)


def _without_broken_json(text: str) -> str:
    """Cut the text before JSON that never closes or belongs to another call."""
    blank = blank_code(text)
    for key in JSON_KEY.finditer(blank):
        rest = blank[key.start() :]
        if text[key.start()] == ",":
            continue
        if key["name"].strip().casefold() in OUR_KEYS or not _closes(rest):
            return text[: key.start()]
    return text


def _closes(text: str) -> bool:
    depth = 0
    for char in re.sub(r'"(?:[^"\\\n]|\\.)*"', "", text):
        depth += (char in "{[") - (char in "}]")
        if depth == 0:
            return True
    return False


def _first_person(text: str, around: AnswerSurroundings) -> str:
    """Return the quoted speech of an answer in the third person; empty for thoughts."""
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
    return {" ".join(mood.status.rstrip("….").split()[:2]).casefold() for mood in around.moods.values()}


def cut_repetition(text: str) -> str:
    """Cut the text after the first occurrence of a repeated phrase; empty for a single repeated word."""
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
    return any(char.isalnum() or unicodedata.category(char) == "So" for char in FENCE_LINE.sub("", text))


def _is_repeated(text: str, earlier: Collection[str]) -> bool:
    words = re.findall(r"\w+", text.casefold())
    return len(words) > FEW and any(re.findall(r"\w+", one.casefold()) == words for one in earlier)
