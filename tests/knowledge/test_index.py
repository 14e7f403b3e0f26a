"""Queries of an index: any text is valid."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.answers.repetition import normalized_text
from daemon.knowledge.search import MOST_TERMS, TOKENS, as_indexed, from_indexed, fts_query
from daemon.slack.message_policy import is_stop_word
from tests.answers.test_speech_gate import SIZE, grows_with

SCHEMA = f"create virtual table words using fts5 (text, {TOKENS})"


def finds(query: str, *texts: str) -> list[str]:
    database = sqlite3.connect(":memory:")
    try:
        database.execute(SCHEMA)
        database.executemany("insert into words values (?)", [(as_indexed(text),) for text in texts])
        asked = fts_query(query)
        rows = database.execute("select text from words where words match ?", (asked,)) if asked else ()
        return [from_indexed(text) for (text,) in rows]
    finally:
        database.close()


@given(st.text(st.characters(), max_size=200))
def test_no_text_is_a_wrong_question(query: str) -> None:
    finds(query, "anything")


@given(
    st.lists(st.sampled_from(["AND", "OR", "NOT", "NEAR(", ")", '"', "*", "^", "text:", "-", "+", "\0", "a"]))
)
def test_the_words_of_its_syntax_mean_nothing(words: list[str]) -> None:
    finds(" ".join(words), "anything")
    finds("".join(words), "anything")


@given(st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd"]), min_size=1, max_size=30))
def test_a_word_finds_itself(word: str) -> None:
    assert len(finds(word, f"before {word} after")) == bool(fts_query(word))


@given(st.text(max_size=100))
def test_a_text_is_unindexed_as_it_was_indexed(text: str) -> None:
    assert as_indexed(from_indexed(as_indexed(text))) == as_indexed(text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("secrets", "It is a secret."),
        ("SECRET", "secrets"),
        ("which secret, please?", "a secret"),
        ("cafe", "un café"),
        ("cafe\u0301", "un café"),
        ("секрет", "наши секреты"),
        ("天気", "東京の天気はどうですか"),
        ("東京の天気", "天気"),
        ("max_loops", "ISM_MAX_LOOPS=5 and max_loops too"),
        ("daemon/ism.py", "see daemon/ism.py:12"),
        ('"NEAR( a"', "a"),
        ("text:NOT", "text not"),
    ],
)
def test_it_finds_what_a_reader_would_expect(query: str, text: str) -> None:
    assert finds(query, text, "nothing of the kind") == [text]


def test_no_text_takes_longer_than_it_is_long() -> None:
    accents = "a" + "\u0301\u0316" * (SIZE // 2)
    for work in (as_indexed, fts_query, normalized_text, lambda text: is_stop_word(text, "Claudius")):
        assert grows_with(work, accents)


def test_a_question_has_an_end() -> None:
    assert fts_query(" ".join(f"word{n}" for n in range(10_000))).count(" OR ") == MOST_TERMS - 1


@pytest.mark.parametrize("query", ["", "   ", "***", '""', "🍰 🎂", "\0"])
def test_without_a_word_there_is_no_question(query: str) -> None:
    assert fts_query(query) == ""
