"""Actions that a person's words call by name or describe: all that leads the script to an owner's action."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rehearsal.claude.matching import parts_of, shared

END = "DONE"
LOOKS = ("Research", "SearchMemory", "ReadThread")
TALKS = frozenset({"Think", "Respond", "AskPerson", "ReadDeeply", "Remember", "Schedule", "Escalate"})
"""Known actions except searches; all others are the owner's."""
POLITELY = r"^\W*(?:@\S+\s+)?(?:(?:please|can you|could you|will you|would you)\s+)*"
"""Polite start of a request."""
LOOKS_UP = re.compile(
    r"(?:look|tell|get|find|show|read|fetch|check|search|say|list|count|return|give|calculate|compute"
    r"|convert|translate|measure|compare|what|how)\w*\b",
    re.I,
)
"""Start of descriptions of read-only actions: questions may call them."""
USE, WORDS_APART = r"(?:(?:use|call|run|take|try|do)\s+)?", r"\W*"
QUESTION = re.compile(r"\?\W*$")
WISH = re.compile(r"^\W*(?:@\S+\s+)?(?:please|can you|could you|will you|would you)\b", re.I)
"""Start of a question that requests an action."""
ENOUGH = 2
"""Minimum score of words shared with an action that changes something; a name's words count twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedAction:
    """Action; `rest` is the text after its name."""

    name: str
    rest: str = ""


def is_deed(name: str) -> bool:
    """True for an owner's action."""
    return name not in (*LOOKS, *TALKS, END) and not name.startswith("To_")


def own_name(name: str) -> str:
    """Return the name without the server of a tool."""
    return name.rpartition(".")[2]


def called(words: str, names: Iterable[str]) -> RequestedAction | None:
    """Return the action named by these words, and the text after its name.

    Names in one word match anywhere, others only at the start.
    """
    for name in sorted(names, key=len, reverse=True):
        parts = parts_of(own_name(name))
        spelt = [rf"{POLITELY}{USE}{WORDS_APART.join(parts)}"] if is_deed(name) else []
        if len(parts) > 1 and not name.startswith("To_"):
            spelt.append(rf"(?<!\w){'[_-]?'.join(parts)}")
        for one in spelt:
            found = re.search(rf"{one}(?!\w)(?P<what>.*)", words, re.I | re.S)
            if found:
                return RequestedAction(name=name, rest=found["what"].strip(" .!?:()"))
    return None


def meant(words: str, known: Mapping[str, str], *, enough: int = 1) -> RequestedAction | None:
    """Return the owner's action that these words describe best, if well enough.

    `known` are descriptions by name. A read-only action needs one word of its name or a score of `enough`.
    """
    score = {name: _score(words, name, about) for name, about in known.items()}
    best = max(score, key=score.__getitem__, default=None)
    if best is None:
        return None
    if LOOKS_UP.match(known[best]):
        named = shared(words, " ".join(parts_of(own_name(best))))
        return RequestedAction(name=best) if named or score[best] >= enough else None
    may_be = not QUESTION.search(words) or WISH.search(words)
    return RequestedAction(name=best) if may_be and score[best] >= ENOUGH else None


def _score(words: str, name: str, about: str) -> int:
    parts = parts_of(own_name(name))
    named = shared(words, " ".join(parts))
    weight = 2 if len(parts) > 1 else 1
    return weight * len(named) + len([word for word in shared(words, about) if word not in named])
