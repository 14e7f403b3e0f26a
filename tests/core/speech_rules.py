"""The rules of speech, and how each is taken out; the others are in rules.py."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

SPEECH: tuple[Mutant, ...] = (
    rule(
        "speech is looked for in Slack before it is repeated",
        "soul/utterance.py",
        "        known = with_key(own, [self._key])",
        "        own.clear()\n        known = with_key(own, [self._key])",
        "dm",
    ),
    rule(
        "a speech is known again by its key",
        "soul/utterance.py",
        "        if known:\n            return known",
        "        if known:\n            pass",
        "repeatable/kills",
    ),
    rule(
        "what an entry claims is not adopted",
        "soul/utterance.py",
        "if not posted.key and posted.ts not in claimed",
        "if not posted.key",
        "dm/kills",
    ),
    rule(
        "an attempt that did not write the intent never streams",
        "soul/utterance.py",
        "if not self.fresh:",
        "if False:",
        "dm",
    ),
    rule(
        "what is told anew in fewer words leaves no message as it was",
        "soul/speech.py",
        "            receipts.append(await superfluous.retract(asked))\n",
        "            receipts += await self._unsay([superfluous], asked)\n",
        "shorter/kills",
    ),
    rule(
        "a stop leaves what people have read",
        "soul/speech.py",
        "        if not has_broken_off and not await self._is_other(text, left):\n",
        "        if left or text or call:\n",
        "tests/stories/test_shorter_text.py::test_a_stop_after_a_break_leaves_what_was_read_and_is_said_once",
    ),
    rule(
        "a speech goes on where its receipts end",
        "soul/speech.py",
        "if receipt and isinstance(receipt.event, Spoken):",
        "if False:",
        "slow/kills",
    ),
    rule(
        "a message that was begun, of which nothing came, gets the owner's sentence",
        "soul/speech.py",
        "        if text or standing:\n",
        "        if text:\n",
        "fickle",
    ),
    rule(
        "in a parallel context nothing is streamed, and no message without its key is adopted",
        "soul/speech.py",
        "if self._scope.execution.log or not self._scope.alone:",
        "if self._scope.execution.log:",
        "said-beside/kills",
    ),
    rule(
        "the messages of parallel contexts wait for each other",
        "soul/speech.py",
        "        async with self._scope.speaking:\n",
        "        if self._scope:\n",
        "said-beside/kills",
    ),
    rule(
        "a piece of an answer asks the journal nothing",
        "slack/stream.py",
        "        if text == self._said or not text.startswith(self._said):\n",
        "        hold()\n        if text == self._said or not text.startswith(self._said):\n",
        "tests/stories/test_deltas.py::test_no_piece_of_an_answer_asks_the_journal_anything",
    ),
    rule(
        "a thread that began without the soul is fetched",
        "soul/overhearing.py",
        "if (place.is_whole and not unasked) or not _is_wanted(turn):",
        "if not unasked or not _is_wanted(turn):",
        "tests/stories/test_called_in.py::test_what_was_said_before_is_fetched_after_the_turn_has_begun",
    ),
)
