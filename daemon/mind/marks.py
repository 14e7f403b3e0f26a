"""The marks in an answer: our tags, and those by which models fence off their thoughts."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

LONGEST_NAME = 64
PARTS = re.compile(r"[a-z]+")
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
THOUGHT_TAGS = frozenset(
    """
    think thinks thinking thinker thought thoughts reasoning reflect reflects reflecting reflection
    reflections ponder pondering ponderings musing musings contemplate contemplation deliberate
    deliberation rationale scratchpad monologue analysis analyzing analysing cot innervoice
    """.split()  # noqa: SIM905
)
"""Words of which one in the name of a tag says that a thought stands in it."""
ADDRESSES = frozenset({"http", "https", "mailto"})
BRACKETED = frozenset({"think", "thinking", "thought", "thoughts", "reasoning"})
"""What `[NAME]` and `[/NAME]` fence off."""
LINKED = frozenset({"thought", "thoughts", "reasoning", "Thought", "Thoughts", "Reasoning"})
"""What of it may be a link: `[Thoughts](https://…)`."""
HTML_TAGS = frozenset(
    """
    a abbr acronym address area article audio b base bdi bdo big blockquote body br button canvas
    caption center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed
    fieldset figcaption figure font footer form frame h1 h2 h3 h4 h5 h6 head header hr html i iframe img
    input ins kbd label legend li link main map mark math menu meta meter nav noscript object ol
    optgroup option p param picture pre progress q rp rt ruby s samp script section select slot small
    source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead
    time title tr track tt u ul var video wbr
    """.split()  # noqa: SIM905
)
"""Tags that are as public as plain words."""


Kind = Literal["tag", "stray", "thought", "token", "label", "other"]
TagKind = Literal["tag", "stray", "thought", "other", "text"]
"""What a tag is, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMark:
    """One mark. `raw` is how it was written; `broken`: its last bracket is missing.

    `tag` is one of ours, `thought` another model's, `token` a control token, `label` a heading with the name
    of one of our tags, `other` a tag that nobody knows. `stray` is a tag of ours without the suffix in an
    answer that has tags with it: text, unless it ends a section by mistake. `exact`: it has the suffix.
    """

    kind: Kind
    name: str
    raw: str
    closing: bool = False
    broken: bool = False
    exact: bool = False

    @property
    def begins_section(self) -> bool:
        """True for the tag, with the suffix or without, that begins a section of ours."""
        return self.kind in ("tag", "stray") and not self.closing


Token = str | AnswerMark

OPENERS = frozenset("<◁\uff1c\ufe64")
CLOSERS = frozenset(">▷\uff1e\ufe65")
WIDE_OPENERS = frozenset("\uff1c\ufe64")
"""What stands for `<` in full width, and as a small form."""
SLASHES = frozenset("/\uff0f")
INVISIBLE_CHARACTERS = frozenset(
    "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
)
"""What nobody sees in the name of a tag."""
ESCAPED_OPENERS = ("&lt;", "&#60;", "&#x3c;", "&amp;lt;", "\\u003c", "\\x3c", "\\<")
ESCAPED_CLOSERS = ("&gt;", "&#62;", "&#x3e;", "&amp;gt;", "\\u003e", "\\x3e", "\\>")
"""Other ways to write the brackets of a tag, in small letters."""


def begins_any_name(text: str, names: Collection[str]) -> bool:
    """Does one of these names begin so?"""
    return any(name.startswith(text) for name in names)


def tag_kind(name: str, tags: Collection[str], hidden: Collection[str]) -> TagKind:
    """What a tag of this name is, where these are ours; a namespace or a compound changes nothing."""
    lower = name.lower()
    if lower in tags:
        return "tag"
    if not name[:1].isalpha() or len(name) > LONGEST_NAME or name.endswith(":"):
        return "text"
    words = PARTS.findall(HUMP.sub(" ", name).lower())
    if any(word in THOUGHT_TAGS or word in hidden or word.removesuffix("s") in hidden for word in words):
        if words[0] in ADDRESSES:
            return "text"
        return "thought"
    if lower in HTML_TAGS:
        return "text"
    return "other"
