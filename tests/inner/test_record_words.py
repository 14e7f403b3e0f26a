"""The index of the records' words: what was changed, deleted or cleared leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from sqlite3 import Connection

import pytest

from daemon.inner.record_words import RecordWords, Worded


@pytest.fixture
def words() -> Iterator[RecordWords]:
    with RecordWords() as words:
        yield words


def worded(number: int, text: str, wrote: int = 0) -> Worded:
    """A diary entry of these words."""
    return Worded(wrote=wrote or number, id=number, family="diary", view="", text=text)


def vocabulary(database: Connection) -> list[str]:
    """Every word that stands in the index."""
    database.execute("create virtual table temp.vocabulary using fts5vocab(main, words, row)")
    terms = [term for (term,) in database.execute("select term from vocabulary")]
    database.execute("drop table vocabulary")
    return terms


async def find(words: RecordWords, query: str) -> list[int]:
    """What is found in sight of public things."""
    return await words.find("diary", query, [""], 9)


async def test_a_record_is_found_by_its_present_words(words: RecordWords) -> None:
    words.put(worded(1, "rain"))
    assert await find(words, "rain") == [1]
    words.put(worded(1, "snow", wrote=2))
    words.put(worded(3, "hail"))
    assert [await find(words, query) for query in ("rain", "snow", "hail")] == [[], [1], [3]]
    words.drop(1)
    words.put(worded(4, "rime"))
    words.put(worded(4, "fog", wrote=5))  # twice before it is written
    words.drop(6)
    assert [await find(words, query) for query in ("snow", "rime", "fog")] == [[], [], [4]]
    assert await words.naming(["hail", "fog", "..."]) == [3, 4]


async def test_no_word_is_left_when_all_is_cleared(words: RecordWords) -> None:
    words.put(worded(1, "a secret"))
    await words.written()
    words.put(worded(2, "another secret"))
    words.clear()
    words.put(worded(3, "rain"))
    assert await find(words, "secret rain") == [3]
    assert await words.ask(vocabulary) == ["rain"]
