"""Speech that cannot ping: what would call a channel or a person is broken by an invisible space. Pure.

The model's text is not trusted to leave people alone. Safe on whole texts and on growing ones. Those in
`keep` may be mentioned: the owners, so that a sentence can call one. A model could call them, too, if it were
talked into it; but whoever can talk it into that stands in the same channel and may mention them there.
"""

from __future__ import annotations

import re
from collections.abc import Set

from daemon.writable import writable

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
        return "<" if text.startswith(kept, found.start()) else f"<{ZERO_WIDTH}"

    return GROUP.sub(f"@{ZERO_WIDTH}", REFERENCE.sub(broken, text))


def quiet_so_far(text: str, keep: Set[str] = NOBODY) -> str:
    """As much of a growing text as is settled: what `quiet` makes of any continuation begins with it."""
    words = (*WORDS, *(mention(person).lower() for person in keep))
    longest = min(max(map(len, words)) - 1, len(text))
    tail = next((n for n in range(longest, 0, -1) if _unfinished(text[-n:].lower(), words)), 0)
    return quiet(text[: len(text) - tail], keep)


def _unfinished(tail: str, words: tuple[str, ...]) -> bool:
    """Is it the beginning of one of these, and not the whole?"""
    return any(word.startswith(tail) and word != tail for word in words)
