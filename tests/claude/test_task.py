"""The script's recognition of tasks, in English or German."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rehearsal.claude.deliberating import deliberated
from rehearsal.claude.findings import found_out, spelt
from rehearsal.claude.task import MOST, task_of

WORDS = ["compare", "list", "tea", "coffee", "<b>", "“", "&", "and", ",", "or", "?", "think it through"]
ASKS = "Think in the open. `<ada>next</ada>`, `<ada-response>your answer</ada-response>`."


@pytest.mark.parametrize(
    ("words", "kind", "names"),
    [
        ("Compare tea, coffee and mate. Think it through.", "compare", ["tea", "coffee", "mate"]),
        ("tea vs. coffee", "compare", ["tea", "coffee"]),
        ("What is the difference between a cat and the dog?", "compare", ["cat", "dog"]),
        ("Should I take the train or the bike? Think it over, please.", "compare", ["train", "bike"]),
        ("Denk es durch: Zug oder Bus?", "compare", ["Zug", "Bus"]),
        ("vergleiche Tee mit Kaffee", "compare", ["Tee", "Kaffee"]),
        ("Count the vowels in banana & papaya!", "count", ["banana", "papaya"]),
        ("How many letters do tea and tea have?", "count", ["tea"]),
        ("How many words are in “to be or not to be”?", "count", ["to be or not to be"]),
        ("Zähle die Vokale in Banane und Papaya", "count", ["Banane", "Papaya"]),
        ("list the consonants in tea and coffee", "list", ["tea", "coffee"]),
        ("List the pros and cons of tea, please.", "list", ["pros of tea", "cons of tea"]),
        ("Why is the sky blue? Think it through.", "think", ["Why is the sky blue?"]),
        ("Can you think about it?", "think", []),
        ("Denk darüber nach.", "think", []),
    ],
)
def test_a_task_and_its_parts(words: str, kind: str, names: list[str]) -> None:
    task = task_of(words)
    assert task is not None
    assert (task.kind, [part.name for part in task.parts]) == (kind, names)


@pytest.mark.parametrize(
    "words",
    [
        "What do you think about it?",
        "I think about it a lot.",
        "Tea or coffee?",
        "Count to five.",
        "Compare it.",
        "I have a list of apples and pears",
        "List three colours",
    ],
)
def test_what_is_none(words: str) -> None:
    assert task_of(words) is None


def test_what_is_too_much_is_named() -> None:
    task = task_of(f"Compare {', '.join(f'thing{n}' for n in range(MOST + 2))}")
    assert task is not None
    assert len(task.parts) == MOST
    assert task.left_out == (f"thing{MOST}", f"thing{MOST + 1}")


def test_it_counts_what_there_is() -> None:
    assert found_out("How many vowels are in “Käse”?").startswith("“Käse” has 2 vowels (ä, e).")
    assert found_out("How many letters are in “茶”?").startswith("“茶” has 1 letter (茶).")
    assert spelt("consonants", "Oh, my!") == ["h", "m", "y"]
    assert found_out("Who are you?").startswith("“Who are you?” has 9 letters")


def test_what_was_looked_up_says_more_than_a_word() -> None:
    found = "a/b.md:3: - The Mill: 14 beds.\na/b.md:4: - The Barn: no stove."
    assert found_out("What is there to say of “Mill”?", found) == "The Mill: 14 beds. (a/b.md:3)"
    assert found_out("What is there to say of “Inn”?", found).startswith("“Inn” has 3 letters")


@given(
    st.lists(st.sampled_from(["compare", "tea", "<b>", "“", "&", "and", ",", "or", "?", "think it through"]))
)
@example(words=["compare", "“", "compare", "“", "“", "<b>", "“"])
def test_whatever_is_asked_it_writes_what_can_be_read(words: list[str]) -> None:
    said = f'<message from="Alice">\n{" ".join(words)}\n</message>'
    content = [{"type": "text", "text": text} for text in (said, ASKS)]
    written = deliberated({"messages": [{"role": "user", "content": content}]})
    for tag in ("ada", "ada-response", "step", "initial-payload"):
        assert len(re.findall(rf"<{tag}[ >]", written)) == written.count(f"</{tag}>")
    assert "<b>" not in written
    assert json.dumps(written)
