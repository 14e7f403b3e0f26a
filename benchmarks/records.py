"""Costs of a long diary: fold and search. Floor: a bare FTS5 table."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import accumulate
from pathlib import Path

from benchmarks.figure import Figure, seconds, side_by_side
from daemon.app.wiring import make_index
from daemon.engine.clock import SystemClock
from daemon.engine.journal.journal import Journal
from daemon.inner_life.records import DIARY, HITS, InnerRecords
from daemon.kinds import INNER, SOUL_KINDS, CommandRan, ConversationOpened
from daemon.knowledge.search import TOKENS, fts_query
from daemon.knowledge.visibility import KnownChannels, Visibility

AIM = 30.0
"""Maximum milliseconds per search."""
WORDS = 20_000
"""Vocabulary; frequencies follow Zipf's law."""
LENGTH = 40
"""Words per entry."""
AT_ONCE = 2_000
"""Appends per commit."""
QUERIES = ((100, 400), (1_500,), (3_000, 9_000, 30), (15_000,))
"""Words by number: the 30th is in every tenth entry, the 15,000th in one of five thousand."""
CONSONANTS, VOWELS = "bdfgklmnpr", "aeiou"
FIND = "select rowid from words where words match ? order by rank limit ?"


async def records(
    folder: Path, *, entries: int = 100_000, conversations: int = 100, rounds: int = 10
) -> Sequence[Figure]:
    """Measure a diary visible in many conversations, searched from one."""
    texts, queries = texts_of(entries), queries_of()
    async with Journal(folder / "journal.db", SystemClock(), SOUL_KINDS) as journal:
        views = [await open_one(journal, number) for number in range(conversations)]
        for start in range(0, entries, AT_ONCE):
            part = range(start, min(start + AT_ONCE, entries))
            await asyncio.gather(*(_add(journal, n, texts[n], views[n % conversations]) for n in part))
        with make_index(journal) as index, closing(sqlite3.connect(folder / "bare.db")) as bare:
            diary = InnerRecords(journal, Visibility(KnownChannels(journal)), index)

            async def fill() -> None:
                fill_bare(bare, texts)

            async def search() -> None:
                for query in queries:
                    await diary.search(DIARY, query, views[0])

            async def find() -> None:
                for query in queries:
                    bare.execute(FIND, (fts_query(query), HITS)).fetchall()

            while not await index.update():
                pass
            filled, folded = await seconds(fill), await seconds(diary.update)
            assert len(diary.of(DIARY, views[0], entries)) > entries // 3
            found = await side_by_side(rounds, find, search)
    floor, ours = (each / len(QUERIES) * 1e3 for each in found)
    name = f"{entries:,} diary entries"
    return [
        Figure(name=f"{name}, folded after a start", value=folded, unit="s", floor=filled),
        Figure(
            name=f"{name}, a search",
            value=ours,
            unit="ms",
            floor=floor,
            aim=f"under {AIM:g} ms",
            met=ours < AIM,
        ),
    ]


def texts_of(entries: int) -> Sequence[str]:
    """Return equal texts in each run."""
    chance = random.Random(1)
    words = [_word(number) for number in range(1, WORDS + 1)]
    weights = [*accumulate(1 / number for number in range(1, WORDS + 1))]
    return [" ".join(chance.choices(words, cum_weights=weights, k=LENGTH)) for _ in range(entries)]


def queries_of() -> Sequence[str]:
    return [" ".join(map(_word, numbers)) for numbers in QUERIES]


def _word(number: int) -> str:
    """Return a word of four syllables; none is a prefix of another."""
    return "".join(f"{CONSONANTS[digit % 10]}{VOWELS[digit // 10]}" for digit in _digits(number))


def _digits(number: int) -> Iterator[int]:
    for _ in range(4):
        number, digit = divmod(number, 50)
        yield digit


async def open_one(journal: Journal, number: int) -> str:
    """Open a DM or a conversation in a public channel."""
    audience = "dm" if number % 2 else "public"
    opened = ConversationOpened(
        team="T",
        channel=f"C{number}",
        ts="1",
        where="channel",
        place=f"#c{number}",
        audience=audience,
        user="U1",
        called_by="1",
    )
    entry, _ = await journal.open_thread(f"thread:T:C{number}:1", opened)
    return entry.thread


async def _add(journal: Journal, number: int, text: str, view: str) -> None:
    ran = CommandRan(tick=1, cmd_id="1", name="diary.add", args={"text": text, "tags": ["day"]}, view=view)
    await journal.append(INNER, ran, key=f"{INNER}@{number}/command#1")


def fill_bare(bare: sqlite3.Connection, texts: Sequence[str]) -> None:
    bare.execute(f"create virtual table words using fts5 (text, {TOKENS})")
    with bare:
        bare.executemany("insert into words (text) values (?)", ([text] for text in texts))
