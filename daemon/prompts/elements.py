"""The sections of a pipeline: its cognitive steps, and the tags that they have on the wire.

The one table of tags: worded as fiction, so that no model takes it for a request to show its reasoning. On
the wire each name has the suffix of the installation, so that no model writes one by chance.
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
    """A fixed question to the model. Its wording is the owner's file `prompts/steps/{name}.md`."""

    name: str
    tag: str
    private: bool = False

    @property
    def prompt(self) -> str:
        """The name of its text."""
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
"""A tag of a section in a text of the owner's, which knows no suffix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionTags:
    """The tags of sections as one installation writes them: `<say-k7>`; without a suffix `<say>`."""

    suffix: str = ""

    def name(self, tag: str) -> str:
        """Return the name that stands between the brackets."""
        if not self.suffix:
            return tag
        return f"{tag}-{self.suffix}"

    def opening(self, tag: str) -> str:
        """Return the mark that begins this section."""
        return f"<{self.name(tag)}>"

    def closing(self, tag: str) -> str:
        """Return the mark that ends this section."""
        return f"</{self.name(tag)}>"

    def wrapped(self, tag: str, text: str) -> str:
        """Return this section with this text; nothing for an empty one."""
        if not text:
            return ""
        return f"{self.opening(tag)}{text}{self.closing(tag)}"

    def marked(self, text: str) -> str:
        """Return a text of the owner's with the suffix in each tag of a section."""
        if not self.suffix:
            return text
        return _marked(text, self.suffix)


@functools.lru_cache
def _marked(text: str, suffix: str) -> str:
    return BARE_TAG.sub(rf"\g<opens>\g<tag>-{suffix}", text)


UNSUFFIXED_TAGS = SectionTags()
"""The tags of journals from before the suffix was drawn, and those that are no section's."""


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
"""Tags that are as public as plain words."""


NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Half surrogates and control characters: XML knows none of them."""


def xml_writable(text: str) -> str:
    """The text with a replacement for each character that XML does not know."""
    return NOT_XML.sub("\ufffd", text)


MOST = 8_000
"""Characters of an observation at the most."""


def cut_middle(text: str, most: int = MOST) -> str:
    """A text with its middle left out where it is too long; it says how much that was."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}\n[… {len(text) - most} characters left out …]\n{text[head - most :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """One mood of the soul, and the verbs that it lends to thoughts, speech and the status line."""

    name: str
    thinks: str
    says: str
    status: str


def fill_placeholders(text: str, /, **words: object) -> str:
    """A text with its placeholders filled."""
    return Template(text).substitute(words).strip()


def parse_labels(text: str) -> dict[str, str]:
    """Short words for buttons and the status line: lines `- meaning: label`; all others are notes."""
    return {meaning: label for meaning, label in _listed(text) if label}


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """The lines `- name: value` of a text."""
    for line in text.splitlines():
        if line.startswith("- "):
            name, _, value = line.removeprefix("- ").partition(":")
            yield name.strip(), value.strip()


@functools.lru_cache
def parse_moods(text: str) -> Mapping[str, Mood]:
    """The moods of a moods file: lines `- mood: thinks | says | is thinking…`; all others are notes."""
    found = {}
    for name, verbs in _listed(text):
        parts = [part.strip() for part in verbs.split("|")]
        if len(parts) == 3 and all(parts):
            thinks, says, status = parts
            found[name] = Mood(name=name, thinks=thinks, says=says, status=status)
    return found


def soul_name_in(soul: str) -> str:
    """The soul's name: the first heading of its character."""
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
"""What the soul may write, besides its own two tags and the actions that are offered."""


PARTS = {TODO_UNTIL: "step", SPAWN_THREAD: "initial-payload", FAN_OUT: "item"}
"""What these hold; words beside it are only words."""


WORDS = (THOUGHT_TAG, SEND, PARTS[TODO_UNTIL])
"""What holds words alone, as the final answer does."""


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
"""What the core says to the soul."""


PAYLOAD_NAMES = (*ROOT_TAGS, *PARTS.values(), *SYSTEM_TAGS)
"""All names that mean something in open thought."""


def make_element(tag: str, text: str = "", **attributes: str | int) -> str:
    """A well-formed element with escaped text, as the core writes it to the soul."""
    made = etree.Element(tag, {name: xml_writable(str(value)) for name, value in attributes.items()})
    made.text = xml_writable(text) or None
    return etree.tostring(made, encoding="unicode")


NAME_LENGTH = 40


MARKED = rf"(?:{'|'.join(SECTION_NAMES)})(?:-\w{{1,4}})?"
"""A tag of a section, perhaps with a suffix."""


OUR_TAG_PATTERN = "|".join((MARKED, *PAYLOAD_NAMES))


FENCE = re.compile(
    rf"""
    <(?=[^\w<]*(?:message|reminder|context\W?cleared|notes|result))
  | <(?=[^\w<]*(?:{OUR_TAG_PATTERN})(?:\s+[\w.:-]+\s*=[^<>]*|[\s/]*)>)
  | <(?=/?(?P<name>[^\W\d][\w.-]*(?::[\w.-]+)?)(?:[\s/>]|\Z))
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Where what somebody wrote would begin or end a frame, or anything else that has a meaning as a tag.

The soul's own tag and the actions have any name; those of HTML alone mean nothing, as they are written there.
"""


def names_in_words(names: Iterable[str]) -> str:
    """Names for a sentence, each once: Alice, or Alice and Bob."""
    *most, last = dict.fromkeys(map(clean_name_text, names))
    if not most:
        return last
    return f"{', '.join(most)} and {last}"


def clean_name_text(name: str) -> str:
    """A name that somebody chose, as it may stand in a sentence of the owner's: short, without a tag."""
    return re.sub(r'[<>"\s]+', " ", name).strip()[:NAME_LENGTH]


def escape_tags(text: str) -> str:
    """What somebody wrote, or what was made of it, so that it cannot pose as anything else."""
    return FENCE.sub(_fence, text)


def truncate(text: str, most: int) -> str:
    """No more of it than so many characters."""
    if len(text) <= most:
        return text
    return f"{text[:most]} […]"


def in_element(tag: str, text: str, **attributes: str) -> str:
    """What somebody wrote, in a frame of ours."""
    begun = make_element(tag, **attributes).removesuffix("/>")
    return f"{begun}>\n{escape_tags(text)}\n</{tag}>"


def _fence(found: re.Match[str]) -> str:
    name = found["name"] or ""
    if name in HTML_TAGS and name.isalpha():
        return "<"
    return "&lt;"


def _message(sender: str, text: str, **about: str) -> str:
    """A message in its frame, which says this about it, where there is anything to say."""
    attributes = "".join(f' {name}="{value}"' for name, value in about.items() if value)
    return f'<message from="{sender}"{attributes}>\n{escape_tags(text)}\n</message>'
