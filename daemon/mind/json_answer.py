"""Answers that a model writes as JSON in place of sections: what of them is said, and what is private.

`{"aside": "…", "say": "…"}` is read like the sections of these names. JSON that is broken or empty is never
an answer, and of JSON with a private part nothing is said but its speech.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from daemon.mind.marks import tag_kind
from daemon.mind.sections import FRAME_TAGS, split_sections
from daemon.mind.tags import PRIVATE_TAGS, SAY_TAG, SECTION_NAMES, STEPS_BY_NAME

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
