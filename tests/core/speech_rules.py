"""The rules of speech, and how each is taken out; the others are in rules.py."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

SPEECH: tuple[Mutant, ...] = (
    rule(
        "speech is looked for in Slack before it is repeated",
        "soul/message.py",
        "        known = with_key(own, [self._key])",
        "        own.clear()\n        known = with_key(own, [self._key])",
        "dm",
    ),
    rule(
        "a speech is known again by its key",
        "soul/message.py",
        "        if known:\n            return known",
        "        if known:\n            pass",
        "repeatable/kills",
    ),
    rule(
        "what an entry claims is not adopted",
        "soul/message.py",
        "if not posted.key and posted.ts not in claimed",
        "if not posted.key",
        "dm/kills",
    ),
    rule(
        "an attempt that did not write the intent never streams",
        "soul/message.py",
        "if not self.fresh:",
        "if False:",
        "dm",
    ),
    rule(
        "what is told anew in fewer words leaves no message as it was",
        "soul/speech.py",
        "while len(pages) < least:",
        "while False:",
        "shorter",
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
)
