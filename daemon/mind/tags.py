"""The sections of a pipeline: its cognitive steps, and the tags that they have on the wire.

The one table of tags: worded as fiction, so that no model takes it for a request to show its reasoning.
"""

from __future__ import annotations

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


STEPS = {
    step.name: step
    for step in (
        CognitiveStep(name="internal_monologue", tag="aside", private=True),
        CognitiveStep(name="external_dialogue", tag="say"),
        CognitiveStep(name="emotional_state", tag="mood"),
        CognitiveStep(name="next_process", tag="next"),
        CognitiveStep(name="learned", tag="learned"),
    )
}
TAGS = tuple(step.tag for step in STEPS.values())
PRIVATE = frozenset(step.tag for step in STEPS.values() if step.private)
SAY = STEPS["external_dialogue"].tag
ASIDE = STEPS["internal_monologue"].tag
