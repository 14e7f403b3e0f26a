"""What an attempt owes to the one that was cut off before it: each rule taken out. Run by soak.py."""

from __future__ import annotations

from tests.core.mutant import rule

AGAIN = "tests/stories/test_again.py::"

CUT_OFF = (
    rule(
        "what an earlier attempt left half said stays as it stands",
        "soul/utterance.py",
        "if not text and await self._is_legible():",
        "if False:",
        AGAIN + "test_what_breaks_off_says_so_once_however_often_it_is_ended",
    ),
    rule(
        "only what grows is too old to grow",
        "soul/utterance.py",
        "self._grows_since: float | None = None",
        "self._grows_since: float | None = 0.0",
        AGAIN + "test_what_was_killed_long_ago_is_told_anew_in_one_message",
    ),
    rule(
        "what was heard and what is said are compared without white space",
        "soul/speech.py",
        "if not cuts and text.startswith(self._heard.rstrip()):",
        "if not cuts and text.startswith(self._heard):",
        AGAIN + "test_a_message_that_ended_for_its_age_stays_as_it_is",
    ),
    rule(
        "what was paid for is kept while the journal cannot be written",
        "engine/unawaited.py",
        "range(PATIENCE)",
        "range(0)",
        AGAIN + "test_an_answer_that_the_journal_could_not_take_is_not_paid_again",
    ),
    rule(
        "the journal does not end an answer that is being heard",
        "soul/utterance.py",
        "with suppress(JournalError):",
        "with suppress():",
        AGAIN + "test_an_answer_that_the_journal_could_not_take_is_not_paid_again",
    ),
    rule(
        "after an outage nothing is shown before it is whole",
        "soul/calls.py",
        "        if execution.down:\n            hear = None  #",
        "        if False:\n            hear = None  #",
        AGAIN + "test_half_answers_do_not_pile_up_while_an_outage_lasts",
    ),
)
