"""Speech that cannot ping: what would call a channel or a person is broken by an invisible space. Pure.

The model's text is not trusted to leave people alone. Safe on whole texts and on growing ones.
"""

from __future__ import annotations

import re

ZERO_WIDTH = "\u200b"
REFERENCE = re.compile(r"<(?=[@#]|!(?!--|doctype))", re.IGNORECASE)
"""`<@…>`, `<#…>`, `<!…>`; a comment or a doctype of HTML is left as it is, to be copied whole."""
GROUP = re.compile(r"@(?=channel|here|everyone)", re.IGNORECASE)
WORDS = ("<!--", "<!doctype", "@channel", "@here", "@everyone")
UNFINISHED = frozenset(word[:length] for word in WORDS for length in range(1, len(word)))
LONGEST = max(map(len, UNFINISHED))


def quiet(text: str) -> str:
    """The whole text, unable to ping."""
    return GROUP.sub(f"@{ZERO_WIDTH}", REFERENCE.sub(f"<{ZERO_WIDTH}", text))


def quiet_so_far(text: str) -> str:
    """As much of a growing text as is settled: what `quiet` makes of any continuation begins with it."""
    tail = next((n for n in range(min(LONGEST, len(text)), 0, -1) if text[-n:].lower() in UNFINISHED), 0)
    return quiet(text[: len(text) - tail])
