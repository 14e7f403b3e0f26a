"""Similarity of texts, and repetition of answers."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.answers.repetition import (
    RepetitionDetector,
    make_text_profile,
    normalized_text,
    reads_the_same,
    repeats_last_answer,
    text_hash,
)
from daemon.memory import Memory

WORDS = ["tea", "note", "5", "the", "of", "A.", "b,", "«c»"]
TEXTS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS)).map(" ".join))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Nothing new today.", "  nothing **NEW** today…\n"),
        ("«Don\u2019t»", '"don\'t"'),
        ("\uff34\uff45\uff41, ﬁne", "tea fine"),
        ("Tick 41, 06:09:07: all quiet", "tick #42 (07:10:08), all quiet"),
        ("As of 2026-11-23T06:09:07Z: quiet", "As of 2026-11-24 08:00: quiet"),
        ("Read 1790000000.000003 again", "Read 1790000061.000009 again"),
        (
            '[{"cmd_id": "c1", "type": "notes.read", "args": {"ids": [5, 6]}}]',
            '[{"cmd_id":"42/c9","type":"notes.read","args":{"ids":[5,6]}}]',
        ),
        ("- one\n- two", "* one\n* two"),
        ("\u4f60\u597d\u3002", "\u4f60\u597d"),
    ],
)
def test_how_it_is_written_makes_no_difference(one: str, other: str) -> None:
    assert reads_the_same(one, other)
    assert text_hash(one) == text_hash(other)
    assert similarity(one, other) == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("notes.read 5", "notes.read 6"),
        ("Remind her on 2026-11-23", "Remind her on 2026-11-24"),
        ("Wake me at 10:30", "Wake me at 11:30"),
        ('{"since": "2026-11-23T06:09:07Z"}', '{"since": "2026-11-24T06:09:07Z"}'),
        ('{"ts": "1790000000.000003"}', '{"ts": "1790000061.000009"}'),
        ("It is -5 outside", "It is 5 outside"),
        ("c", "c#"),
        ("2*3", "2/3"),
        ("a<b", "a>b"),
        ("...", "???"),
        ("\u0915\u093f", "\u0915\u0940"),
    ],
)
def test_what_means_something_else_is_something_else(one: str, other: str) -> None:
    assert not reads_the_same(one, other)


@given(TEXTS, TEXTS)
def test_similarity_is_the_same_either_way_and_a_share(one: str, other: str) -> None:
    alike = similarity(one, other)
    assert 0.0 <= alike <= 1.0
    assert alike == similarity(other, one)
    assert similarity(one, f"  {one.upper().lower()}\n") == similarity(f"  {one.upper().lower()}\n", one)
    if reads_the_same(one, other):
        assert alike == 1.0


@given(TEXTS)
def test_a_text_is_like_itself(text: str) -> None:
    assert similarity(text, text) == 1.0
    assert reads_the_same(text, f"\n {text} ")
    assert normalized_text(text) == " ".join(normalized_text(text).split())


def test_similarity_says_how_much_two_texts_share() -> None:
    said = "I read the note about tea. I shall ask Alice tomorrow which tea she means, and write it down."
    reworded = "I read the note about tea. I will ask Alice later which tea she means, and note it down."
    other = "The graph has no concept of a moose yet, so this may be a day to look at what elk eat in winter."
    assert similarity(said, reworded) > 0.6
    assert similarity(said, other) < 0.2
    assert similarity(said, "") == 0.0
    assert similarity(said * 9, f"{said * 9} Now write to Bob.") > 0.8


def similarity(one: str, other: str) -> float:
    return make_text_profile(one).similarity_to(make_text_profile(other))


def took(one: str, other: str) -> float:
    goes = []
    for _ in range(4):
        began = time.thread_time()
        similarity(one, other)
        goes.append(time.thread_time() - began)
    return min(goes)


@pytest.mark.parametrize("alphabet", ["abcdefghijklmnopqrst", "абвгдежзиклмнопрсту"])
def test_long_texts_are_compared_at_once(alphabet: str) -> None:
    rng = random.Random(7)
    words = ["".join(rng.choices(alphabet, k=rng.randint(2, 9))) for _ in range(900)]

    def text(size: int) -> str:
        return ", ".join(rng.choices(words, k=size // 5)).encode()[:size].decode(errors="ignore")

    assert took(text(20_000), text(20_000)) < 0.015
    assert took(text(200_000), text(200_000)) < 0.3


def test_a_run_is_told_the_same_whatever_the_clock_says() -> None:
    run, program = RepetitionDetector(), RepetitionDetector(exact=True)
    for round_ in (run, program):
        assert round_.observe_round("LOOK\nAs of 06:09:07: red") == ""
    assert run.observe_round("look\nAs of 06:10:11: red.") == "nudge"
    assert program.observe_round("look\nAs of 06:10:11: red.") == ""


def soul(text: str) -> Memory:
    return Memory(role="assistant", content=text)


def told(text: str, name: str = "") -> Memory:
    return Memory(role="user", content=text, name=name)


LOOK = soul("<look/>")
RED = told('<message from="look">\nred\n</message>')
GREEN = told('<message from="look">\ngreen\n</message>')
NOTE = told('<system-note code="few-left">Few steps are left</system-note>')


@pytest.mark.parametrize(
    ("answer", "conversation", "is_one"),
    [
        ("On.", [], False),
        ("On.", [soul("On.")], True),
        ("on", [soul("On."), told(""), NOTE], True),
        ("Off.", [soul("On."), told("")], False),
        ("On.", [soul("On."), soul("Off.")], False),
        ("On.", [soul("On."), told('<message from="Alice">\nAnd?\n</message>', "Alice")], False),
        ("On.", [soul("On."), told('<timer-fired id="1" label="x"/>')], False),
        ("On.", [soul("On."), told('<thread-spawned assigned_id="x"/>')], True),
        ("<look/>", [LOOK, RED], False),
        ("<look/>", [LOOK, RED, LOOK, RED], True),
        ("<look/>", [LOOK, RED, LOOK, GREEN], False),
        ("<look/>", [LOOK, RED, LOOK, GREEN, LOOK, RED], False),
        ("On.", [*[soul("On."), told('<message from="Alice">\nGo on.\n</message>', "Alice")] * 2], False),
        ("On.", [*[soul("On."), told('<message from="sess-1.a">\nStill at it.\n</message>')] * 2], False),
    ],
)
def test_an_answer_repeats_the_last_one_if_nothing_new_came(
    answer: str, conversation: list[Memory], is_one: bool
) -> None:
    assert repeats_last_answer(answer, conversation) is is_one
