"""The sections of a pipeline: its cognitive steps, and the tags that they have on the wire.

The one table of tags: worded as fiction, so that no model takes it for a request to show its reasoning. On
the wire each name has the suffix of the installation, so that no model writes one by chance.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass


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
