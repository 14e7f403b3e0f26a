"""Tags of pipelines and open thought; escaping of other people's text.

Section tags are words of fiction, so that no model takes them for a request for its reasoning. A suffix per
installation prevents their use by chance.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from string import Template

from lxml import etree


@dataclass(frozen=True, slots=True, kw_only=True)
class CognitiveStep:
    name: str
    tag: str
    private: bool = False

    @property
    def prompt(self) -> str:
        return f"prompts/steps/{self.name}"


DIALOGUE = CognitiveStep(name="external_dialogue", tag="say")


MONOLOGUE = CognitiveStep(name="internal_monologue", tag="aside", private=True)


_ALL = (
    MONOLOGUE,
    DIALOGUE,
    CognitiveStep(name="emotional_state", tag="mood"),
    CognitiveStep(name="next_process", tag="next"),
    CognitiveStep(name="learned", tag="learned"),
)


STEPS_BY_NAME = {step.name: step for step in _ALL}


SECTION_NAMES = tuple(step.tag for step in _ALL)


ASIDE_TAG = MONOLOGUE.tag


SAY_TAG = DIALOGUE.tag


PRIVATE_TAGS = frozenset({ASIDE_TAG})


BARE_TAG = re.compile(rf"(?P<opens><\s*/?\s*)(?P<tag>{'|'.join(SECTION_NAMES)})(?=\s*/?>)")
"""Section tag without suffix, as owners write it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionTags:
    """Section tags: `<say-k7>` with a suffix, `<say>` with an empty one."""

    suffix: str = ""

    def name(self, tag: str) -> str:
        if not self.suffix:
            return tag
        return f"{tag}-{self.suffix}"

    def opening(self, tag: str) -> str:
        return f"<{self.name(tag)}>"

    def closing(self, tag: str) -> str:
        return f"</{self.name(tag)}>"

    def wrapped(self, tag: str, text: str) -> str:
        if not text:
            return ""
        return f"{self.opening(tag)}{text}{self.closing(tag)}"

    def marked(self, text: str) -> str:
        if not self.suffix:
            return text
        return _marked(text, self.suffix)


@functools.lru_cache
def _marked(text: str, suffix: str) -> str:
    return BARE_TAG.sub(rf"\g<opens>\g<tag>-{suffix}", text)


UNSUFFIXED_TAGS = SectionTags()
"""Tags without suffix, for older journals and for other elements."""


HTML_TAGS = frozenset(
    """
    a abbr acronym address area article audio b base bdi bdo big blockquote body br button canvas
    caption center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed
    fieldset figcaption figure font footer form frame h1 h2 h3 h4 h5 h6 head header hr html i iframe img
    input ins kbd label legend li link main map mark math menu meta meter nav noscript object ol
    optgroup option p param picture pre progress q rp rt ruby s samp script section select slot small
    source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead
    time title tr track tt u ul var video wbr
    """.split()  # noqa: SIM905
)
"""HTML tags, which mean nothing in an answer."""


NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_writable(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)


MOST = 8_000


def cut_middle(text: str, most: int = MOST) -> str:
    """Return a text; a note replaces the middle if it is longer than `most`."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}\n[… {len(text) - most} characters left out …]\n{text[head - most :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    name: str
    thinks: str
    says: str
    status: str


def fill_placeholders(text: str, /, **words: object) -> str:
    return Template(text).substitute(words).strip()


def parse_labels(text: str) -> dict[str, str]:
    """Return labels by meaning from lines `- meaning: label`; other lines are notes."""
    return {meaning: label for meaning, label in parse_list_lines(text) if label}


def parse_list_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of each line `- name: value`; other lines are notes."""
    for line in text.splitlines():
        if line.startswith("- "):
            name, _, value = line.removeprefix("- ").partition(":")
            yield name.strip(), value.strip()


@functools.lru_cache
def parse_moods(text: str) -> Mapping[str, Mood]:
    """Return moods by name from lines `- mood: thinks | says | is thinking…`; other lines are notes."""
    found = {}
    for name, verbs in parse_list_lines(text):
        parts = [part.strip() for part in verbs.split("|")]
        if len(parts) == 3 and all(parts):
            thinks, says, status = parts
            found[name] = Mood(name=name, thinks=thinks, says=says, status=status)
    return found


def soul_name_in(soul: str) -> str:
    """Return the soul's name: the first heading of soul.md."""
    for line in soul.splitlines():
        if line.startswith("# "):
            return line.removeprefix("# ").strip()
    return "Soul"


THOUGHT_TAG = "thought"


TODO_UNTIL, SPAWN_THREAD, FAN_OUT = "todo-until", "spawn-thread", "fan-out"


SEND, SET_TIMER, CANCEL_TIMER, CLEAR_CONTEXT = "send", "set-timer", "cancel-timer", "clear-context"


EXPLAIN_TAG = "explain"


ROOT_TAGS = (
    THOUGHT_TAG,
    TODO_UNTIL,
    SPAWN_THREAD,
    FAN_OUT,
    SEND,
    SET_TIMER,
    CANCEL_TIMER,
    CLEAR_CONTEXT,
    EXPLAIN_TAG,
)
"""Tags of the soul, besides its own tag and those of actions."""


PARTS = {TODO_UNTIL: "step", SPAWN_THREAD: "initial-payload", FAN_OUT: "item"}
"""Tag of an element's parts, by the element's tag; text between them is ignored."""


WORDS = (THOUGHT_TAG, SEND, PARTS[TODO_UNTIL])


SYSTEM_TAGS = (
    "thread-spawned",
    "system-thread-error",
    "context-cleared",
    "timer-set",
    "timer-fired",
    "timer-cancelled",
    "fan-out-started",
    "fan-out-complete",
    "budget",
    "huh",
    "system-note",
)


PAYLOAD_NAMES = (*ROOT_TAGS, *PARTS.values(), *SYSTEM_TAGS)


def make_element(tag: str, text: str = "", **attributes: str | int) -> str:
    made = etree.Element(tag, {name: xml_writable(str(value)) for name, value in attributes.items()})
    made.text = xml_writable(text) or None
    return etree.tostring(made, encoding="unicode")


NAME_LENGTH, TOOL_NAME_LENGTH = 40, 64


MARKED = rf"(?:{'|'.join(SECTION_NAMES)})(?:-\w{{1,4}})?"


OUR_TAG_PATTERN = "|".join((MARKED, *PAYLOAD_NAMES))


FENCE = re.compile(
    rf"""
    <(?=[^\w<]*(?:message|reminder|context\W?cleared|notes|result))
  | <(?=[^\w<]*(?:{OUR_TAG_PATTERN})(?:\s+[\w.:-]+\s*=[^<>]*|[\s/]*)>)
  | <(?=/?(?P<name>[^\W\d][\w.-]*(?::[\w.-]+)?)(?:[\s/>]|\Z))
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Beginning of tags that are escaped in other people's text.

The tags of the soul and of actions may have any name, so only HTML is exempt.
"""


def names_in_words(names: Iterable[str]) -> str:
    """Return distinct names for a sentence: "Alice and Bob"."""
    *most, last = dict.fromkeys(map(clean_name_text, names))
    if not most:
        return last
    return f"{', '.join(most)} and {last}"


def clean_name_text(name: str) -> str:
    """Return a name that a person chose, for use in a sentence: short, without tags."""
    return re.sub(r'[<>"\s]+', " ", name).strip()[:NAME_LENGTH]


def action_name_text(name: str) -> str:
    """Return the name of an action or tool (`server.tool`) that a model wrote, for use in a sentence."""
    most = TOOL_NAME_LENGTH if "." in name else NAME_LENGTH
    return re.sub(r'[<>"\s]+', " ", name).strip()[:most]


def escape_tags(text: str) -> str:
    return FENCE.sub(_fence, text)


def truncate(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]} […]"


def in_element(tag: str, text: str, **attributes: str) -> str:
    begun = make_element(tag, **attributes).removesuffix("/>")
    return f"{begun}>\n{escape_tags(text)}\n</{tag}>"


def _fence(found: re.Match[str]) -> str:
    name = found["name"] or ""
    if name in HTML_TAGS and name.isalpha():
        return "<"
    return "&lt;"


def message_element(sender: str, text: str, **about: str) -> str:
    attributes = "".join(f' {name}="{value}"' for name, value in about.items() if value)
    return f'<message from="{sender}"{attributes}>\n{escape_tags(text)}\n</message>'
