"""The rules of speech, and how each is taken out; the others are in rules.py."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

SPEECH: tuple[Mutant, ...] = (
    rule(
        "speech is looked for in Slack before it is repeated",
        "life/message.py",
        "        if keyed := next(",
        "        own.clear()\n        if keyed := next(",
        "dm",
    ),
    rule(
        "a speech is known again by its key",
        "life/message.py",
        "            return keyed\n",
        "            pass\n",
        "repeatable/kills",
    ),
    rule(
        "what an entry claims is not adopted",
        "life/message.py",
        "if not posted.key and posted.ts not in claimed",
        "if not posted.key",
        "dm/kills",
    ),
    rule(
        "an attempt that did not write the intent never streams",
        "life/message.py",
        "if not self.fresh:",
        "if False:",
        "dm",
    ),
    rule(
        "what is told anew in fewer words leaves no message as it was",
        "life/speech.py",
        "while len(pages) < least:",
        "while False:",
        "shorter",
    ),
    rule(
        "a speech goes on where its receipts end",
        "life/speech.py",
        'if entry and entry.kind == "spoken"]',
        'if entry and entry.kind == "never"]',
        "slow/kills",
    ),
    rule(
        "a message that was begun, of which nothing came, gets the owner's sentence",
        "life/speech.py",
        " if text or standing else []",
        " if text else []",
        "fickle",
    ),
)
