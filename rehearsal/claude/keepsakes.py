"""Facts that people tell about themselves or want remembered, found by rules."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rehearsal.claude.wanted import looked_for

OWN = (
    "birthday|name|nickname|dog|cat|pet|wife|husband|partner|son|daughter|child|children|kids?"
    r"|mother|father|brother|sister|team|job|hobby|(?:favou?rite|preferred)(?:\s+\w+){1,2}"
)
"""Nouns for lasting facts."""
SELF = re.compile(
    r"\b(I (like|live|love|hate|prefer|never eat|work|play|speak)\b"
    r"|(I am|I.m) (?!sure|not sure|sorry|afraid|looking|trying|going|just)"
    rf"|my (?:{OWN})(?: is| are|['\u2019]s)\b)",
    re.I,
)
SUBJECT = re.compile(r"\b(?:my|your) (?:[\w-]+ ){1,3}?(?:is|are)\b")
"""Subject of a fact; a later fact about it replaces the earlier one."""
CALL = re.compile(r"^\s*(?:@\S+[,:]?\s+)+")
"""Mentions at the start."""
ASKS = r"(?:(?:and|also|please|can you|could you|will you|would you|I(?:'d| would) like you to)\s+)*"
KEEP = r"(?:remember|note|keep in mind|do(?:n['\u2019]?t| not) forget|make a note)"
BEFORE = re.compile(
    rf"^\W*(?:(?:hi|hello|hey)\b[\s,!.]*)?{ASKS}{KEEP}\b"
    r"(?!\s+(?:when|what|who|where|how|if|whether|me\b|about|(?:it|this|that)\W*$))"
    r"(?:\s*(?:that|this|for me)\b)*\s*[,:]?\s*(\S.*)",
    re.I | re.S,
)
"""Example: Remember that my birthday is on 3 March."""
AFTER = re.compile(
    rf"^(.+?)\s*[,.;:!\u2013-]*\s*{ASKS}"
    rf"(?:{KEEP}\s+(?:it|this|that)|keep (?:it|this|that) in mind)(?:\s+(?:please|for me))*\W*$",
    re.I | re.S,
)
"""Example: My dog is called Rex, please remember it."""
SENTENCE = re.compile(r"(?:[^.!?]|[.!?](?=\S))+[.!?]?")


def wanted_kept(words: str) -> str:
    """Return the text to be remembered; "" without such a request."""
    bare = CALL.sub("", words).strip()
    found = BEFORE.match(bare) or AFTER.match(bare)
    if not found:
        return ""
    return found[1].strip(' ,.!?"“”')


def facts_in(words: str) -> list[str]:
    """Return facts, a sentence each; questions have none."""
    kept = wanted_kept(words)
    if kept:
        return [kept]
    sentences = [one.strip() for one in SENTENCE.findall(CALL.sub("", words))]
    return [one for one in sentences if SELF.search(one) and not one.endswith("?")]


def is_own_question(words: str) -> bool:
    """True for questions about the speaker, such as “When is my birthday?”."""
    return words.rstrip(" .!").endswith("?") and re.search(r"\b(my|I|me|mine)\b", words, re.I) is not None


def answering(question: str, facts: Iterable[str]) -> list[str]:
    """Return facts that share a word with the question."""
    patterns = [re.compile(pattern, re.I) for pattern in looked_for(question).values()]
    return [fact for fact in facts if any(pattern.search(fact) for pattern in patterns)]


def each_once(facts: Iterable[str]) -> list[str]:
    """Remove facts that a later one repeats or corrects."""
    unique = dict[str, str]()
    for fact in facts:
        plain = fact.casefold().strip(" .!\u201d")
        found = SUBJECT.search(plain)
        unique[found[0] if found else plain] = fact
    return list(unique.values())
