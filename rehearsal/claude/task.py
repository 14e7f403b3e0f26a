"""Tasks to think through, from people's words in English or German: count, compare, list or think."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rehearsal.claude.phrasing import together

MOST = 12
"""Parts worked on; others are named as omitted."""
LONGEST = 60
OUTRIGHT = re.compile(
    r"""[,;]?\s*\b(?:(?:can|could|would|will)\s+you\s+)?(?:please\s+)?(?:and\s+)?(?<!do\syou\s)(?<!I\s)
    (?:think\s+(?:it|this|that|them)\s+(?:through|over)
      |think\s+(?:carefully|hard)(?:\s+about\s+(?:it|this|that))?
      |think\s+about\s+(?:it|this|that)\b
      |(?:think\s+)?step\s+by\s+step
      |think\s+(?:through|about)\s*:
      |denke?n?\s+(?:Sie\s+)?(?:bitte\s+)?(?:es|das|darüber|drüber)\s+(?:mal\s+)?(?:gut\s+)?(?:durch|nach)
    )(?:,?\s+(?:please|bitte))?""",
    re.I | re.X,
)
"""Explicit requests to think."""
UNITS = {
    "letter": "letters",
    "buchstabe": "letters",
    "vowel": "vowels",
    "vokal": "vowels",
    "consonant": "consonants",
    "konsonant": "consonants",
    "word": "words",
    "wort": "words",
    "wört": "words",
}
"""Countable units by beginning."""
UNIT = r"(?P<unit>(?:letter|vowel|consonant|word|buchstabe|vokal|konsonant|wort|wört)\w*)"
COUNT = re.compile(
    rf"\b(?:count|how\s+many|zähle?|wie\s*viele)\s+(?:of\s+)?(?:the\s+|die\s+)?{UNIT}"
    r"\s+(?:are\s+there\s+|are\s+|sind\s+)?(?:in|of|do|does|has|have|hat|haben|von)\s+(?P<things>.+)",
    re.I | re.S,
)
LIST_UNIT = re.compile(rf"\blist\s+(?:all\s+)?(?:the\s+)?{UNIT}\s+(?:in|of)\s+(?P<things>.+)", re.I | re.S)
SIDES = re.compile(
    r"\b(?:pros\s+(?:and|&)\s+cons|advantages\s+and\s+disadvantages|vor-?\s*und\s+nachteile)"
    r"\s+(?:of|for|von)\s+(?P<things>.+)",
    re.I | re.S,
)
LIST = re.compile(r"(?:^|[.!?,;]\s+|\bplease\s+|@\S+\s+)list\s+(?P<things>.+)", re.I | re.S)
COMPARE = re.compile(
    r"\b(?:compare|vergleiche?|differences?\s+between|unterschied\w*\s+zwischen)\s+(?P<things>.+)",
    re.I | re.S,
)
AGAINST = re.compile(r"(?P<things>(?:[\w'-]+\s+){1,3}(?:vs|versus)\s+.+)", re.I | re.S)
EITHER = re.compile(
    r"(?P<things>(?:(?!better|best)[\w'-]+,\s+)*[\w'-]+\s+(?:or|oder)\s+(?:by\s+)?[^,]+)", re.I | re.S
)
"""Used only with an explicit request."""
SENTENCE = re.compile(r"[.?!;:](?:\s|$)|\n")
BETWEEN = re.compile(
    r"\s*,\s*(?:(?:and|or|und|oder)\s+)?|\s+(?:and|or|with|to|vs|versus|und|oder|mit)\s+", re.I
)
ARTICLE = re.compile(r"^(?:the|a|an|by|der|die|das|words?|wörter)\s+(?=\S)", re.I)
TAIL = re.compile(
    r"[,\s]+(?:have|has|contain|contains|haben|hat|instead|please|for me|for us|for our\b.*|bitte)$", re.I
)
"""Sentence ends that belong to no thing."""
QUOTED = re.compile(r"[“\"„]([^“”\"„]+)[”\"“]")
MENTION = re.compile(r"^\s*@\S+\s+")
MARKS = re.compile(r"[<>\"“”„`*]")

Kind = Literal["count", "list", "compare", "think"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPart:
    """Thing to find out."""

    step: str
    name: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptTask:
    """Task. `goal` is its final condition; `left_out` are excess parts."""

    kind: Kind
    goal: str
    parts: tuple[TaskPart, ...]
    left_out: tuple[str, ...] = ()


def task_of(words: str) -> ScriptTask | None:
    """Return the task in these words; None if an ordinary answer suffices."""
    plain = re.sub(r"([.?!])\s*\.", r"\1", OUTRIGHT.sub("", words)).strip()
    asked_outright = plain != words.strip()
    for read in (_count, _sides, _list_units, _list, _compare):
        found = read(plain)
        if found:
            return found
    if not asked_outright:
        return None
    things = _things(EITHER.search(plain))
    return _compared(things) if len(things) > 1 else thinking(plain)


def thinking(words: str) -> ScriptTask:
    """Return a task about these words as one thing; no part without words."""
    thing = " ".join(MARKS.sub("", MENTION.sub("", words)).split()).lstrip(" .,;:!?").rstrip(" .,;:")
    parts = []
    if thing:
        question = f"What is there to say to “{thing}”?"
        parts.append(TaskPart(step="Think about it", name=thing, question=question))
    return _task("think", "Thought through", parts)


def _things(found: re.Match[str] | None) -> list[str]:
    return named_in(found["things"]) if found else []


def _count(words: str) -> ScriptTask | None:
    return _by_unit("count", COUNT.search(words), "Count", "How many", "Counted")


def _list_units(words: str) -> ScriptTask | None:
    return _by_unit("list", LIST_UNIT.search(words), "Find", "Which", "Listed")


def _by_unit(kind: Kind, found: re.Match[str] | None, verb: str, asks: str, done: str) -> ScriptTask | None:
    things = _things(found)
    if not found or not things:
        return None
    named = found["unit"].casefold()
    unit = next(unit for sign, unit in UNITS.items() if named.startswith(sign))
    parts = [
        TaskPart(
            step=f"{verb} the {unit} in {thing}", name=thing, question=f"{asks} {unit} are in “{thing}”?"
        )
        for thing in things
    ]
    return _task(kind, f"{done}: the {unit} in {together(things[:MOST])}", parts)


def _sides(words: str) -> ScriptTask | None:
    things = _things(SIDES.search(words))
    if not things:
        return None
    parts = []
    for thing in things:
        for side, what in (("pros", "for"), ("cons", "against")):
            name = f"{side} of {thing}"
            parts.append(
                TaskPart(step=f"Find the {name}", name=name, question=f"What speaks {what} “{thing}”?")
            )
    return _task("list", f"Listed: the pros and cons of {together(things[:MOST])}", parts)


def _list(words: str) -> ScriptTask | None:
    things = _things(LIST.search(words))
    if len(things) < 2:
        return None
    return _task("list", f"Listed: {together(things[:MOST])}", list(map(_looked_at, things)))


def _compare(words: str) -> ScriptTask | None:
    things = _things(COMPARE.search(words) or AGAINST.search(re.sub(r"\bvs\.", "vs", words)))
    return _compared(things) if len(things) > 1 else None


def _compared(things: Sequence[str]) -> ScriptTask:
    return _task("compare", f"Compared: {together(things[:MOST])}", list(map(_looked_at, things)))


def _looked_at(thing: str) -> TaskPart:
    return TaskPart(step=f"Look at {thing}", name=thing, question=f"What is there to say of “{thing}”?")


def _task(kind: Kind, goal: str, parts: Sequence[TaskPart]) -> ScriptTask:
    left_out = tuple(part.name for part in parts[MOST:])
    return ScriptTask(kind=kind, goal=goal, parts=tuple(parts[:MOST]), left_out=left_out)


def named_in(words: str) -> list[str]:
    """Return things named up to the sentence's end; quotation marks group words."""
    words = re.sub(r"\bvs\.", "vs", words)
    named = TAIL.sub("", SENTENCE.split(words, maxsplit=1)[0].rstrip(" .?!").replace("&", " and "))
    things: dict[str, str] = {}
    for one in QUOTED.findall(words) or BETWEEN.split(named):
        thing = ARTICLE.sub("", " ".join(MARKS.sub("", one).split())).strip(" .,?!")[:LONGEST].strip()
        if thing:
            things.setdefault(thing.casefold(), thing)
    return list(things.values())
