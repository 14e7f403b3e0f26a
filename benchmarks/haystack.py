"""Long text with known answers to questions about a sentence, a count and pairs.

It follows S-NIAH, OOLONG (a record's kind must be inferred) and OOLONG-Pairs. Equal sizes give equal texts.
Each question has a cell that answers it.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

LETTERS = 4
"""Characters per token, roughly."""
USERS = 400
ASKS = {
    "place": ("Where is the {} kept?", "In which town was the {} made?"),
    "person": ("Who repaired the {}?", "Whose is the {}?"),
    "number": ("How many {}s were sold?", "How much does a {} weigh?"),
    "time": ("When was the {} found?", "In what year did the {} burn?"),
}
THINGS = ("lantern", "anchor", "ledger", "kettle", "compass", "ladder", "barrel", "violin")
RARE = ("place", "person")
"""Kinds used for pairs; few users have both."""
NOISE = "The tide came in, the tide went out, and the gulls had nothing to say about the {}."
NEEDLE = "The secret number of the {} lighthouse is {}."
LIGHTHOUSES = ("northern", "southern", "eastern", "western")

QUESTIONS: Mapping[str, str] = {
    "needle": "What is the secret number of the western lighthouse?",
    "count": "Of which kind are most records (place, person, number or time), and how many?",
    "pairs": "Which pairs of users have both asked for a place and for a person?",
}
CELLS: Mapping[str, str] = {
    "needle": r"""
import re
found = re.findall(r'The secret number of the western lighthouse is (\d+)\.', context)
FINAL(found[0])
""",
    "count": r"""
import re
from collections import Counter
STARTS = {'Where': 'place', 'In which': 'place', 'Who': 'person', 'How': 'number', 'When': 'time',
          'In what': 'time'}
kinds = Counter()
for start in re.findall(r'\|\| asks: (Where|In which|Who|How|When|In what)', context):
    kinds[STARTS[start]] += 1
kind, number = kinds.most_common(1)[0]
FINAL(f'{kind}: {number}')
""",
    "pairs": r"""
import re
from itertools import combinations
asked = {'place': set(), 'person': set()}
for user, start in re.findall(r'user: (\d+) \|\| asks: (Where|In which|Who)', context):
    asked['person' if start == 'Who' else 'place'].add(int(user))
both = sorted(asked['place'] & asked['person'])
FINAL('; '.join([f'{one}, {other}' for one, other in combinations(both, 2)]))
""",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Haystack:
    text: str
    answers: Mapping[str, str]

    @property
    def tokens(self) -> int:
        """Estimated tokens."""
        return len(self.text) // LETTERS


def haystack(records: int, seed: int = 12) -> Haystack:
    """Return a text of `records` records (about 100 characters each), with noise after every tenth."""
    chance = random.Random(seed)
    kinds = Counter[str]()
    asked = defaultdict[str, set[int]](set)
    lines = []
    for number in range(records):
        user = chance.randrange(USERS)
        kind = _kind(user, chance)
        kinds[kind] += 1
        asked[kind].add(user)
        words = chance.choice(ASKS[kind]).format(chance.choice(THINGS))
        day = f"2025-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        lines.append(f"record {number:06} || day: {day} || user: {user:04} || asks: {words} || state: closed")
        if number % 10 == 9:
            lines.append(NOISE.format(chance.choice(THINGS)))
    secrets = {name: str(chance.randrange(10**6, 10**7)) for name in LIGHTHOUSES}
    for name, secret in secrets.items():
        lines.insert(chance.randrange(len(lines)), NEEDLE.format(name, secret))
    [(most, how_many)] = kinds.most_common(1)
    both = sorted(asked["place"] & asked["person"])
    pairs = "; ".join(f"{one}, {other}" for one, other in combinations(both, 2))
    answers = {"needle": secrets["western"], "count": f"{most}: {how_many}", "pairs": pairs}
    return Haystack(text="\n".join(lines), answers=answers)


def _kind(user: int, chance: random.Random) -> str:
    """Return a record's kind; every tenth user asks for places, every fifteenth for people."""
    rare = [kind for kind, each in zip(RARE, (10, 15), strict=True) if user % each == 0]
    return chance.choice([*rare, "number", "time", "time"])
