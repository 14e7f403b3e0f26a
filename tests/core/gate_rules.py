"""Mutants of the gate, and of what keeps halves of characters out."""

from __future__ import annotations

from tests.core.mutant import rule

THOUGHTS = "tests/stories/test_thoughts.py::"
HALVES = "tests/stories/test_halves.py::"

GATE = (
    rule(
        "thoughts: a tag of another model's kind opens one",
        "mind/marks.py",
        "if any(word in THOUGHTS or word in hidden for word in words):",
        "if any(word in hidden for word in words):",
        f"{THOUGHTS}test_nobody_ever_reads_it[7-after words]",
    ),
    rule(
        "thoughts: a lone mark takes back what stood before it",
        "mind/sections.py",
        "        if mark.closing:\n            self._take_back()",
        "        if mark.closing:\n            pass",
        f"{THOUGHTS}test_nobody_ever_reads_it[7-closed and never opened]",
    ),
    rule(
        "thoughts: channels are known without their marks",
        "mind/unmarked.py",
        "return first.isalpha() and not first.islower()",
        "return False",
        f"{THOUGHTS}test_nobody_ever_reads_it[7-channels without their marks]",
    ),
    rule(
        "thoughts: what was shown of one is replaced at once",
        "soul/speech.py",
        "if self._heard and not text:",
        "if False:",
        f"{THOUGHTS}test_what_was_shown_before_it_proved_a_thought_is_replaced_at_once",
    ),
    rule(
        "halves of characters never reach a request",
        "claude/request.py",
        '"text": writable(text)',
        '"text": text',
        f"{HALVES}test_a_tool_that_finds_half_a_character[False]",
    ),
)
"""Each is shown by a story over the wire."""
