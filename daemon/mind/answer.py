"""A model's answer to a pipeline: the recorded call, and what its sections say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from daemon.engine.event import Entry
from daemon.kinds import ModelCall
from daemon.mind.json_answer import FENCED_JSON, parse_json_sections, spoken_part
from daemon.mind.private_words import PrivateWords
from daemon.mind.sections import SpeechGate, split_sections
from daemon.mind.tags import ASIDE_TAG, PRIVATE_TAGS, SAY_TAG, SECTION_NAMES, STEPS_BY_NAME, SectionTags
from daemon.reply import ENDED, REPEATING

DIALOGUE_ALONE_CALL = "plainly"
PLAIN_CALL = "plain"
"""The name of calls that ask for words without sections: what came of them is remembered as it was said."""
SPOKEN_CALLS = frozenset({"pipeline", DIALOGUE_ALONE_CALL})
"""The names of calls whose dialogue is spoken; all others are thoughts, whatever stands in them."""
DELIBERATE = "deliberate"
"""The name of calls in open thought, whose final answer is spoken."""
FINAL = "-response>"
"""How the tag ends in which a final answer of open thought stands, whatever the soul is called."""
OPEN_BLOCK = re.compile(r"\s*(?P<run>`{3,}|~{3,})[ \t]*\w*[ \t]*\n(?P<body>.*)", re.DOTALL)
"""An answer that begins with a block of code."""
FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE)
BEGINS = re.compile(rf"\s*<\s*(?:{'|'.join(SECTION_NAMES)})\b", re.IGNORECASE)
"""The beginning of a block of code that is an answer in sections."""
LAST_MARK = re.compile(r".*</[\w-]+\s*>", re.DOTALL)
"""All up to the last mark that closes something."""
MONOLOGUE = "internal_monologue"
"""The name of a call that asks for nothing but this."""


class PipelineAnswer:
    """One answer of a model: a pure function of the call's entry and of these arguments.

    `suffix` is that of the tags where it is remembered; without one it is that of the call. `private` is what
    was private when it was asked for. `echo`: it repeats an instruction of ours, and nothing of it is
    said or remembered.
    """

    def __init__(
        self,
        call: Entry[ModelCall],
        suffix: str = "",
        *,
        private: PrivateWords | None = None,
        echo: bool = False,
    ) -> None:
        self.call = call
        self._tags = SectionTags(suffix=suffix or call.event.suffix)
        self.outcome = call.event.outcome
        self.remembered = True
        """True if it is remembered as it was written, and not by the messages that said it."""
        self._echo = echo
        self.too_long = call.event.is_too_long
        self._private = private
        self._sections = _parsed(call.event.text, self._tags)
        self._json: Mapping[str, str] | None = None
        """What its sections say, where it is written in JSON in place of them."""
        if SAY_TAG not in self._sections.text:
            self._json = parse_json_sections(self._sections.text_outside)

    @cached_property
    def repeats_private_words(self) -> bool:
        """True if it says again what the soul thought earlier, word for word."""
        return self._private is not None and self._private.are_in(self._words)

    @property
    def is_usable(self) -> bool:
        """True if the model answered, in words that can be used."""
        goes_in_circles = self.is_unfinished and self.call.event.stop_reason == REPEATING
        return self.call.event.is_usable and not (goes_in_circles or self.repeats_private_words or self._echo)

    @property
    def continues_after_end(self) -> bool:
        """True if it began again, or had to be closed, after its end."""
        event = self.call.event
        closed = event.stop_reason == ENDED and self.is_usable and self._ended(event.text) != event.text
        return closed or self._sections.repeats

    @property
    def is_unfinished(self) -> bool:
        """Is its dialogue cut, because the whole was too long?"""
        return self.outcome == "cut" and (self._sections.is_open(SAY_TAG) or not self._has_dialogue)

    @property
    def _has_dialogue(self) -> bool:
        return SAY_TAG in self._texts

    @property
    def _texts(self) -> Mapping[str, str]:
        """What stands in each section."""
        return {**self._sections.text, **(self._json or {})}

    @property
    def _words(self) -> str:
        """All that could be said of it."""
        if self.is_untagged:
            return self._sections.text_outside
        return self.received_dialogue

    @property
    def received_dialogue(self) -> str:
        """The dialogue that came, also of an answer that broke off."""
        return spoken_part(self._texts.get(SAY_TAG, "")).strip()

    @property
    def speakable_dialogue(self) -> str | None:
        """What may be said of it: the dialogue; None where there is no such section, or it ends in a thought.

        Where nothing private was asked, what stands in no section is dialogue, too.
        """
        if self.call.event.name in (DIALOGUE_ALONE_CALL, PLAIN_CALL):
            return self._plainly
        if (
            not self.is_usable
            or not self._has_dialogue
            or self._sections.ends_in_open_thought
            or self._sections.may_lack_words
        ):
            return None
        if self._texts[SAY_TAG].strip() and not self.received_dialogue:
            return None  # all that is marked as speech is a thought
        return self.received_dialogue

    @property
    def _plainly(self) -> str:
        """The dialogue, or what stands in no section; nothing, where a sentence may lack a part."""
        if not self.is_usable or self._sections.may_lack_words:
            return ""
        if self._has_dialogue or self._json is not None:
            return self.received_dialogue
        return self._sections.text_outside.strip()

    @property
    def text_outside(self) -> str:
        """The text that stands in no section."""
        return self._sections.text_outside

    @property
    def is_untagged(self) -> bool:
        """True if the dialogue alone was asked for, and came without the mark of its section."""
        return self.call.event.name == DIALOGUE_ALONE_CALL and not self._has_dialogue

    @property
    def monologue(self) -> str:
        """The monologue, or what stands in no section: where nothing but a monologue was asked."""
        return self._texts.get(ASIDE_TAG, self._sections.text_outside).strip()

    @property
    def remembered_text(self) -> str:
        """The answer as it is remembered: without foreign thoughts, and what was said in its section."""
        if self.call.event.name == MONOLOGUE:
            return self._tags.wrapped(ASIDE_TAG, self.monologue)
        if self.is_untagged:
            return self._tags.wrapped(SAY_TAG, self._plainly)
        if self._json is not None:
            return "".join(self._tags.wrapped(name, text) for name, text in self._texts.items())
        if self._sections.foreign or self._sections.repeats or self._tags.suffix:
            return self._ended(self._sections.own_text)
        return self._ended(self.call.event.text)

    def _ended(self, text: str) -> str:
        """This without the beginning of what was not wanted any more."""
        end = LAST_MARK.match(text)
        if end and self.call.event.stop_reason in (ENDED, REPEATING):
            return end[0]
        return text

    @property
    def values(self) -> Mapping[str, str]:
        """What each step came to, by its name."""
        found = self._texts
        return {step.name: found[step.tag].strip() for step in STEPS_BY_NAME.values() if step.tag in found}


def _parsed(text: str, tags: SectionTags) -> SpeechGate:
    """The sections of an answer; where all of it is one block of code, those in it."""
    parsed = split_sections(text, SECTION_NAMES, PRIVATE_TAGS, tags)
    if parsed.text:
        return parsed
    body = _in_one_block(text)
    within = split_sections(body, SECTION_NAMES, PRIVATE_TAGS, tags)
    is_answer = BEGINS.match(body) or not within.text.keys().isdisjoint(PRIVATE_TAGS)
    if SAY_TAG in within.text and is_answer and not FENCE_LINE.search(within.text_outside):
        return within
    return parsed


def _in_one_block(text: str) -> str:
    """Return the body of an answer that is one block of code, closed or not; empty for any other."""
    closed = FENCED_JSON.fullmatch(text)
    if closed:
        return closed["body"]
    found = OPEN_BLOCK.fullmatch(text)
    if found and not FENCE_LINE.search(found["body"]):
        return found["body"]
    return ""


def is_spoken(call: Entry[ModelCall]) -> bool:
    """Was what the model answered said, and not only thought?"""
    if call.event.name == DELIBERATE:
        return FINAL in call.event.text
    return call.event.name in SPOKEN_CALLS and bool(PipelineAnswer(call).speakable_dialogue)
