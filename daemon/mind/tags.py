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


DIALOGUE = CognitiveStep(name="external_dialogue", tag="say")
MONOLOGUE = CognitiveStep(name="internal_monologue", tag="aside", private=True)
_ALL = (
    MONOLOGUE,
    DIALOGUE,
    CognitiveStep(name="emotional_state", tag="mood"),
    CognitiveStep(name="next_process", tag="next"),
    CognitiveStep(name="learned", tag="learned"),
)
STEPS = {step.name: step for step in _ALL}
TAGS = tuple(step.tag for step in _ALL)
ASIDE = MONOLOGUE.tag
SAY = DIALOGUE.tag
PRIVATE = frozenset({ASIDE})


def end_mark(tag: str) -> str:
    """Return the mark that ends the section of this tag."""
    return f"</{tag}>"
