"""Answers about single things, from search results or their names, and their combination.

Pure functions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from rehearsal.claude.hits import best
from rehearsal.claude.phrasing import several, together
from rehearsal.claude.task import ScriptTask
from rehearsal.claude.wanted import looked_for

BY_UNIT = re.compile(r"(?:How many|Which) (letters|vowels|consonants|words) are in “([^“”]+)”\?")
SPEAKS = re.compile(r"What speaks (for|against) “([^“”]+)”\?")
QUOTED = re.compile(r"“([^“”]+)”")
HAS = re.compile(r"“([^“”]+)” has (\d+) (letter|vowel|consonant|word)s?\b")
SHOWN = 24
PLACE = re.compile(r"\([^()\s]+:\d+\)")
"""Place of a found line."""
BEYOND = {"compare": "Which of them is better is yours to say."}


def can_be_looked_up(question: str) -> bool:
    """True if a search may tell more than the question's words."""
    return not (BY_UNIT.search(question) or SPEAKS.search(question)) and bool(looked_for(question))


def found_out(question: str, found: str = "") -> str:
    """Answer a question about one thing from search results, else its own words."""
    hits = best(found, question)
    if hits:
        return "\n".join([f"{hit.words} ({hit.place})" for hit in hits])
    return _finding(question)


def put_together(task: ScriptTask, answers: Sequence[str]) -> str:
    """Combine answers to a task's parts, in their order; "" is missing."""
    lines = []
    for part, answer in zip(task.parts, answers, strict=True):
        lines.append(f"- {answer or f'{part.name}: no answer has come.'}")
    if task.left_out:
        lines.append(f"- Left out, for it was too much: {together(task.left_out)}.")
    said = [_opening(task, answers), "\n".join(lines), _sum(task, answers), BEYOND.get(task.kind, "")]
    return "\n\n".join(text for text in said if text)


def alone(task: ScriptTask) -> str:
    """Answer a task of at most one part."""
    if not task.parts:
        return "I see nothing to think about in that."
    [part] = task.parts
    if task.kind != "think":
        return _finding(part.question)
    words = [word.strip(".,;:?!") for word in part.name.split()]
    longest = max(words, key=len)
    opening = f"I have thought about it in two steps: “{part.name}”"
    first = f"- What is it made of? {several(len(words), 'word')}, of which “{longest}” is the longest."
    second = "- What do I know of it? Nothing but these words."
    return f"{opening}\n\n{first}\n{second}"


def spelt(unit: str, thing: str) -> list[str]:
    """Return a thing's letters, vowels, consonants or words."""
    if unit == "words":
        return thing.split()
    letters = [letter for letter in thing.casefold() if letter.isalpha()]
    if unit == "vowels":
        return [letter for letter in letters if _is_vowel(letter)]
    if unit == "consonants":
        return [letter for letter in letters if not _is_vowel(letter)]
    return letters


def _finding(question: str) -> str:
    by_unit = BY_UNIT.search(question)
    if by_unit:
        unit, thing = by_unit.groups()
        found = spelt(unit, thing)
        finding = f"“{thing}” has {several(len(found), unit.removesuffix('s'))}"
        if 0 < len(found) <= SHOWN:
            finding += f" ({', '.join(found)})"
        return f"{finding}."
    speaks = SPEAKS.search(question)
    if speaks:
        return _side(*speaks.groups())
    quoted = QUOTED.search(question)
    return _looks(quoted[1] if quoted else question.strip())


def _looks(thing: str) -> str:
    letters, vowels = spelt("letters", thing), spelt("vowels", thing)
    if not letters:
        return f"“{thing}” has 0 letters."
    begins = f"begins with {letters[0].upper()}"
    return f"“{thing}” has {several(len(letters), 'letter')}, {len(vowels)} of them vowels, and {begins}."


def _side(side: str, thing: str) -> str:
    count = len(spelt("letters", thing))
    if side == "for":
        return f"For “{thing}”: it takes {several(count, 'letter')} to write."
    return f"Against “{thing}”: its {several(count, 'letter')} do not say what it is good for."


def _opening(task: ScriptTask, answers: Sequence[str]) -> str:
    if task.kind == "count":
        return "I have counted."
    if task.kind != "compare":
        return "Here is the list."
    names = together([part.name for part in task.parts])
    if any(PLACE.search(answer) for answer in answers):
        return f"I have compared {names}, side by side, as our files have them."
    return f"I have compared {names}, word by word."


def _sum(task: ScriptTask, answers: Sequence[str]) -> str:
    counts: dict[str, int] = {}
    unit = ""
    for answer in answers:
        found = HAS.match(answer)
        if found:
            thing, count, unit = found.groups()
            counts[thing] = int(count)
    if len(counts) < 2:
        return ""
    if task.kind == "count":
        return f"That makes {several(sum(counts.values()), unit)} in all."
    return _extremes(counts) if task.kind == "compare" else ""


def _extremes(counts: Mapping[str, int]) -> str:
    alphabet = f"{min(counts, key=str.casefold)} comes first in the alphabet"
    least, most = min(counts.values()), max(counts.values())
    if least == most:
        return f"They are equally long, and {alphabet}."
    short = together([thing for thing, count in counts.items() if count == least])
    long = together([thing for thing, count in counts.items() if count == most])
    return f"The shortest is {short}, the longest is {long}, and {alphabet}."


def _is_vowel(letter: str) -> bool:
    return unicodedata.normalize("NFKD", letter)[0] in "aeiou"
