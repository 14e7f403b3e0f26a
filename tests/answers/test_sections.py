"""Sections at every chunk size."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.answers.speech_gate import SpeechGate, split_sections

TAGS, PRIVATE = ("aside", "say", "mood"), ("aside",)
TAGGED = "<aside> </aside> <say> </say> <mood> </mood> < > </ <sa y> <SAY> <aside secret <b> &lt; é 🙂"
PIECES = st.sampled_from([*TAGGED.split(), " ", "\n", "1 < 2", "< say >", '<say verb="x">'])


def split(text: str, size: int) -> SpeechGate:
    parsed = SpeechGate(TAGS, PRIVATE)
    for start in range(0, len(text), size):
        parsed.feed(text[start : start + size])
    parsed.end()
    return parsed


CASES: Sequence[tuple[str, dict[str, str]]] = [
    ("<aside>a</aside><say>b</say><mood>c</mood>", {"aside": "a", "say": "b", "mood": "c"}),
    ("before <say>b</say> after", {"say": "b"}),
    ("<say>1 < 2 and <b>bold</b></say>", {"say": "1 < 2 and <b>bold</b>"}),
    ("<Say>b</SAY >", {"say": "b"}),
    ('<say verb="snapped">b</say>', {"say": "b"}),
    ("<say>never closed", {"say": "never closed"}),
    ("<say>cut in a tag</sa", {"say": "cut in a tag"}),
    ("<say>b<mood>c</mood>", {"say": "b", "mood": "c"}),
    ("<aside>a <say>s</say></aside><say>b</say>", {"aside": "a s", "say": "b"}),
    ("<aside>a <say>b</say>", {"aside": "a b"}),
    ("<say>b <aside>a</aside>c</say>", {"say": "b c", "aside": "a"}),
    ("<say>b <aside>a", {"say": "b ", "aside": "a"}),
    ("<say>b <aside>1<aside>2</aside>3</aside>c</say>", {"say": "b c", "aside": "123"}),
    ("<aside>1<aside>2</aside><say>3</say>", {"aside": "123"}),
    ("<say>one</say><say>two</say>", {"say": "one"}),
    ("nothing at all", {}),
    ("", {}),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_sections_at_any_chunk_size(text: str, expected: dict[str, str], size: int) -> None:
    assert split(text, size).text == expected


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(1, 9))
@settings(max_examples=3 * settings().max_examples)
def test_the_size_of_the_chunks_changes_nothing(text: str, size: int) -> None:
    assert split(text, size).text == split_sections(text, TAGS, PRIVATE).text


@given(st.lists(PIECES, max_size=30).map("".join))
@settings(max_examples=3 * settings().max_examples)
def test_what_was_heard_of_a_section_only_grows(text: str) -> None:
    parsed, before = SpeechGate(TAGS, PRIVATE), ""
    for char in text:
        parsed.feed(char)
        said = parsed.text.get("say", "")
        assert said.startswith(before) or (parsed.foreign and not said), "only a lone mark takes it back"
        before = said


@given(st.recursive(st.just("SECRET"), lambda inner: inner.map("<aside>SECRET{}SECRET</aside>".format)))
def test_asides_within_asides_within_the_dialogue_are_private(private: str) -> None:
    said = split(f"<say>a <aside>{private}</aside>b</say>", 4).text["say"]
    assert said == "a b"


@given(st.lists(PIECES, max_size=20).map("".join), st.text(max_size=20))
@settings(max_examples=3 * settings().max_examples)
def test_after_an_aside_opens_nothing_is_said_until_it_closes(before: str, after: str) -> None:
    text = f"{before}<aside>TOP-SECRET{after.replace('<', '')}"
    assert "TOP-SECRET" not in split(text, 3).text.get("say", "")
