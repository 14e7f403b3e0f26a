"""The action that a person's words ask for: one that they call by its name, or that they describe.

Without a key that is all that leads to an action which the owner has added.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rehearsal.claude.matching import parts_of, shared

END = "DONE"
LOOKS = ("Research", "SearchMemory", "ReadThread")
TALKS = frozenset({"Think", "Respond", "AskPerson", "ReadDeeply", "Remember", "Schedule", "Escalate"})
"""Actions besides looks; any other one is a deed, which its owner has added."""
POLITELY = r"^\W*(?:@\S+\s+)?(?:(?:please|can you|could you|will you|would you)\s+)*"
"""The beginning of a sentence that wants something."""
LOOKS_UP = re.compile(
    r"(?:look|tell|get|find|show|read|fetch|check|search|say|list|count|return|give|calculate|compute"
    r"|convert|translate|measure|compare|what|how)\w*\b",
    re.I,
)
"""The beginning of the description of an action that changes nothing: a question may ask for it."""
USE, WORDS_APART = r"(?:(?:use|call|run|take|try|do)\s+)?", r"\W*"
QUESTION = re.compile(r"\?\W*$")
WISH = re.compile(r"^\W*(?:@\S+\s+)?(?:please|can you|could you|will you|would you)\b", re.I)
"""The beginning of a question that wants something done."""
ENOUGH = 2
"""Words that a wish shares with a deed, where it does not call it; those of a name count for two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedAction:
    """The action that is asked for; `rest` is what is said after its name, where it was called by that."""

    name: str
    rest: str = ""


def is_deed(name: str) -> bool:
    """Return True for the name of an action that is neither a look nor talk: its owner has added it."""
    return name not in (*LOOKS, *TALKS, END) and not name.startswith("To_")


def called(words: str, names: Iterable[str]) -> RequestedAction | None:
    """Return the action that these words call by its name, with what they say after that.

    As one word, LookUpDeploys or look_up_deploys, it may stand anywhere; else it begins the sentence.
    """
    for name in sorted(names, key=len, reverse=True):  # OrderRope before Order
        parts = parts_of(name)
        spelt = [rf"{POLITELY}{USE}{WORDS_APART.join(parts)}"] if is_deed(name) else []
        if len(parts) > 1 and not name.startswith("To_"):
            spelt.append(rf"(?<!\w){'[_-]?'.join(parts)}")
        for one in spelt:
            found = re.search(rf"{one}(?!\w)(?P<what>.*)", words, re.I | re.S)
            if found:
                return RequestedAction(name=name, rest=found["what"].strip(" .!?:()"))
    return None


def meant(words: str, known: Mapping[str, str], *, enough: int = 1) -> RequestedAction | None:
    """Return the action of the owner's that these words describe best, if they describe one well enough.

    `known` has the description of each. For one that changes nothing a word of its name, or `enough` words
    in all, will do.
    """
    score = {name: _score(words, name, about) for name, about in known.items()}
    best = max(score, key=score.__getitem__, default=None)
    if best is None:
        return None
    if LOOKS_UP.match(known[best]):
        named = shared(words, " ".join(parts_of(best)))
        return RequestedAction(name=best) if named or score[best] >= enough else None
    may_be = not QUESTION.search(words) or WISH.search(words)
    return RequestedAction(name=best) if may_be and score[best] >= ENOUGH else None


def _score(words: str, name: str, about: str) -> int:
    parts = parts_of(name)
    named = shared(words, " ".join(parts))
    weight = 2 if len(parts) > 1 else 1
    return weight * len(named) + len([word for word in shared(words, about) if word not in named])
