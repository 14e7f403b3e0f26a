"""A model's answer to a pipeline: the recorded call, and what its sections say."""

from __future__ import annotations

from collections.abc import Mapping

from daemon.engine.event import Entry
from daemon.kinds import ModelCall
from daemon.mind.json_answer import json_sections, speech_of
from daemon.mind.sections import sections
from daemon.mind.tags import ASIDE, PRIVATE, SAY, STEPS, TAGS

PLAINLY = "plainly"
ALOUD = frozenset({"pipeline", PLAINLY})
"""The names of calls whose dialogue is spoken; all others are thoughts, whatever stands in them."""
DELIBERATE = "deliberate"
"""The name of calls in open thought, whose final answer is spoken."""
FINAL = "-response>"
"""How the tag ends in which a final answer of open thought stands, whatever the soul is called."""
MONOLOGUE = "internal_monologue"
"""The name of a call that asks for nothing but this."""


class Answer:
    """A pure function of the call's entry."""

    def __init__(self, call: Entry[ModelCall]) -> None:
        self.call = call
        self.outcome = call.event.outcome
        self.usable = call.event.usable
        self.too_long = call.event.too_long
        self._sections = sections(call.event.text, TAGS, PRIVATE)
        self._json: Mapping[str, str] | None = None
        """What its sections say, where it is written in JSON in place of them."""
        if SAY not in self._sections.text:
            self._json = json_sections(self._sections.outside)

    @property
    def unfinished(self) -> bool:
        """Is its dialogue cut, because the whole was too long?"""
        return self.outcome == "cut" and (self._sections.is_open(SAY) or not self._has_dialogue)

    @property
    def _has_dialogue(self) -> bool:
        return SAY in self._texts

    @property
    def _texts(self) -> Mapping[str, str]:
        """What stands in each section."""
        return {**self._sections.text, **(self._json or {})}

    @property
    def heard(self) -> str:
        """The dialogue that came, also of an answer that broke off."""
        return speech_of(self._texts.get(SAY, "")).strip()

    @property
    def said(self) -> str | None:
        """What may be said of it: the dialogue; None where there is no such section, or it ends in a thought.

        Where nothing private was asked, what stands in no section is dialogue, too.
        """
        if self.call.event.name == PLAINLY:
            return self._plainly
        if not self.usable or not self._has_dialogue or self._sections.muted or self._sections.breaks_off:
            return None
        if self._texts[SAY].strip() and not self.heard:
            return None  # all that is marked as speech is a thought
        return self.heard

    @property
    def _plainly(self) -> str:
        """The dialogue, or what stands in no section; nothing, where a sentence may lack a part."""
        if not self.usable or self._sections.breaks_off:
            return ""
        if self._has_dialogue or self._json is not None:
            return self.heard
        return self._sections.outside.strip()

    @property
    def thought(self) -> str:
        """The monologue, or what stands in no section: where nothing but a monologue was asked."""
        return self._texts.get(ASIDE, self._sections.outside).strip()

    @property
    def kept(self) -> str:
        """The answer as it is remembered: without foreign thoughts, and what was said in its section."""
        if self.call.event.name == MONOLOGUE:
            return _tagged(ASIDE, self.thought)
        if self.call.event.name == PLAINLY and not self._has_dialogue:
            return _tagged(SAY, self._plainly)
        if self._json is not None:
            return "".join(_tagged(name, text) for name, text in self._texts.items())
        if self._sections.foreign:
            return self._sections.kept
        return self.call.event.text

    @property
    def values(self) -> Mapping[str, str]:
        """What each step came to, by its name."""
        found = self._texts
        return {step.name: found[step.tag].strip() for step in STEPS.values() if step.tag in found}


def _tagged(tag: str, text: str) -> str:
    if not text:
        return ""
    return f"<{tag}>{text}</{tag}>"


def speaks(call: Entry[ModelCall]) -> bool:
    """Was what the model answered said, and not only thought?"""
    if call.event.name == DELIBERATE:
        return FINAL in call.event.text
    return call.event.name in ALOUD and bool(Answer(call).said)
