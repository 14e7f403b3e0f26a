"""Speech that cannot ping: what would call a channel or a person is broken by an invisible space. Pure.

The model's text is not trusted to leave people alone. Safe on whole texts and on growing ones. Those in
`keep` may be mentioned: the owners, so that a sentence can call one. A model could call them, too, if it were
talked into it; but whoever can talk it into that stands in the same channel and may mention them there.
"""

from __future__ import annotations

import re
from collections.abc import Set

from daemon.engine.writable import writable

ZERO_WIDTH = "\u200b"
REFERENCE = re.compile(r"<(?=[@#]|!(?!--|doctype))", re.IGNORECASE)
"""`<@…>`, `<#…>`, `<!…>`; a comment or a doctype of HTML is left as it is, to be copied whole."""
GROUP = re.compile(r"@(?=channel|here|everyone)", re.IGNORECASE)
WORDS = ("<!--", "<!doctype", "@channel", "@here", "@everyone")
NOBODY: Set[str] = frozenset()


def mention(person: str) -> str:
    """What calls someone, by id."""
    return f"<@{person}>"


def quiet(text: str, keep: Set[str] = NOBODY) -> str:
    """The whole text, unable to ping anybody but those in `keep`, in characters that Slack takes."""
    text = writable(text)
    kept = tuple(map(mention, keep))

    def broken(found: re.Match[str]) -> str:
        if text.startswith(kept, found.start()):
            return "<"
        return f"<{ZERO_WIDTH}"

    return GROUP.sub(f"@{ZERO_WIDTH}", REFERENCE.sub(broken, text))


def quiet_so_far(text: str, keep: Set[str] = NOBODY) -> str:
    """As much of a growing text as is settled: what `quiet` makes of any continuation begins with it."""
    words = [*WORDS, *(mention(person).lower() for person in keep)]
    settled = len(text)
    for word in words:
        for length in range(1, len(word)):
            if text[-length:].lower() == word[:length]:
                settled = min(settled, len(text) - length)
    return quiet(text[:settled], keep)
