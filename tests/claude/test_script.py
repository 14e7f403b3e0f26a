"""The honest script: reading, memory, no pretence."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehearsal.claude.script import answer

FORM = """It is Friday.

Answer in these sections:

<musing>…</musing> what she feels just now, that nobody else reads.
<line>…</line> what she says to them.
<mood>…</mood> how she feels after this, one word of: neutral, engaged or sardonic.
<memo>…</memo> something to note down; it may be left empty."""


def body(*turns: str, form: str = FORM, **more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": "assistant" if i % 2 else "user", "content": [{"type": "text", "text": text}]}
        for i, text in enumerate(turns)
    ]
    messages[-1]["content"].append({"type": "text", "text": form})
    return {"model": "claude-haiku-5-5", "max_tokens": 500, "messages": messages, **more}


def said(name: str, words: str) -> str:
    return f'<message from="{name}">\n{words}\n</message>'


def sections(text: str) -> dict[str, str]:
    return dict(re.findall(r"<(\w+)>(.*?)</\1>", text, re.S))


def test_each_section_gets_what_it_asks_for() -> None:
    got = sections(answer(body(said("Alice", "Trees are green."))))
    assert list(got) == ["musing", "line", "mood", "memo"]
    assert got["line"] == "I hear you, Alice. You said: “Trees are green.”"
    assert got["musing"] == "Alice speaks. A plain answer will do."
    assert (got["mood"], got["memo"]) == ("neutral", "")


@pytest.mark.parametrize(
    ("words", "opening"),
    [
        ("hello there", "Hello, Alice!"),
        ("@Claudius good morning!", "Hello, Alice!"),
        ("Thanks a lot", "You are welcome, Alice"),
        ("Is it late?", "A good question, Alice, and I cannot know the answer."),
        ("It is late.", "I hear you, Alice."),
    ],
)
def test_it_answers_in_the_manner_of_what_was_said(words: str, opening: str) -> None:
    assert sections(answer(body(said("Alice", words))))["line"].startswith(opening)


GREET = f"First greet them briefly.\n\n{FORM}"


def test_whoever_it_is_told_to_greet_hears_that_it_is_a_script() -> None:
    line = sections(answer(body(said("Alice", "Trees are green."), form=GREET)))["line"]
    assert line.startswith("Hello, Alice! I am a rehearsal script, not a mind")
    assert "ANTHROPIC_API_KEY" not in line, "the banner says so"


def test_it_says_so_once() -> None:
    first = answer(body(said("Alice", "hello"), form=GREET))
    second = sections(answer(body(said("Alice", "hello"), first, said("Alice", "well?"))))["line"]
    assert "script" not in second


def test_it_keeps_what_it_is_told_and_tells_it_again() -> None:
    words = "I am allergic to nuts. I like my tea strong!"
    first = answer(body(said("Alice", words)))
    got = sections(first)
    assert got["line"] == "I will remember, Alice: you are allergic to nuts and you like your tea strong."
    assert got["mood"] == "engaged"
    asks = said("Alice", "What do you know about me?")
    known = sections(answer(body(said("Alice", words), first, asks)))["line"]
    assert known == "You told me that you are allergic to nuts and you like your tea strong."
    notes = '<notes about="Alice">\n- Alice said: “I live with a cat.”\n</notes>'
    noted = sections(answer(body(asks, form=f"{notes}\n\n{FORM}")))["line"]
    assert noted == "You told me that you live with a cat."


def test_a_scrap_of_the_instructions_is_no_section() -> None:
    system = "A long conversation begins with `<context-cleared>…</context-cleared>`: your own summary."
    think = "Think about this by yourself; nobody else reads it."
    thought = answer({**body(said("Alice", "Why is it late?"), form=think), "system": system})
    assert "<" not in thought
    assert thought.startswith("Alice wants: “Why is it late?”")


def test_what_stands_below_the_form_is_not_about_its_last_section() -> None:
    form = "<line>…</line> her reply.\n<mood>…</mood> one of: calm, cross.\n\nThe line may be left empty."
    assert sections(answer(body(said("Alice", "Well."), form=form)))["mood"] == "calm"


def test_it_picks_the_mood_that_somebody_wishes_for() -> None:
    assert sections(answer(body(said("Alice", "Be sardonic, please."))))["mood"] == "sardonic"


def test_it_remembers_what_the_same_person_said() -> None:
    turns = (said("Alice", "My cat is Tom."), "Aha.", said("Bob", "My dog is Rex."), "Oho.")
    line = sections(answer(body(*turns, said("Alice", "What did I say?"))))["line"]
    assert "You said before: “My cat is Tom.”" in line
    assert "Rex" not in line


def test_it_remembers_how_it_began() -> None:
    turns = ("Alice: one", "Aha.", "Alice: two", "Oho.")
    line = sections(answer(body(*turns, "Alice: what was my first message?")))["line"]
    assert "You began with: “one”" in line


def test_it_does_not_make_up_a_past() -> None:
    line = sections(answer(body(said("Alice", "Do you remember?"))))["line"]
    assert "This is the first that I hear from you." in line


def test_sections_described_apart_from_where_they_are_named() -> None:
    system = (
        "Write <a></a><b></b><c></c>.\n- <a>: one of: red, green\n"
        "- <b>: your reply to the user\n- <c>: private thoughts, never said"
    )
    got = sections(answer({"messages": [{"role": "user", "content": "Green?"}], "system": system}))
    assert got["a"] == "green"
    assert got["b"].endswith("You asked: “Green?”")
    assert "Green" not in got["c"]


def test_one_text_may_hold_both_the_words_and_the_form() -> None:
    content = "Bob: good evening\n\nAnswer like this:\n<x>the last word</x>"
    got = sections(answer({"messages": [{"role": "user", "content": content}]}))
    assert got["x"].startswith("Hello, Bob!")


def test_notes_to_the_model_are_nobodys_words() -> None:
    spoken = answer(body(said("Alice", "one"), "Aha.", "<note>You were interrupted.</note>"))
    assert "You said: “one”" in sections(spoken)["line"]
    alone = body(said("Alice", "one"), "Aha.", "Someone is waiting.")
    alone["messages"][-1]["content"].pop(0)
    assert "You said: “one”" in sections(answer(alone))["line"]


def test_tags_that_a_person_types_are_no_form() -> None:
    content = said("Alice", "Look:\n\n<b>bold</b>\n\nNice?")
    assert answer({"messages": [{"role": "user", "content": content}]}).startswith("A good question, Alice")


def test_without_a_form_it_just_speaks() -> None:
    spoken = answer(body(said("Alice", "hello"), form="It is Friday."))
    assert spoken.startswith("Hello, Alice!")
    assert "Friday" not in spoken


def test_nothing_was_said() -> None:
    spoken = answer({"messages": [{"role": "user", "content": [{"type": "text", "text": FORM}]}]})
    assert sections(spoken)["line"].startswith("I hear you.")


@given(st.text(alphabet=st.sampled_from("<>/lineay \n"), max_size=40))
def test_no_words_break_out_of_their_section(words: str) -> None:
    got = answer(body(said("Alice", words)))
    assert re.findall(r"</?\w+>", got) == [f"<{slash}{n}>" for n in sections(got) for slash in ("", "/")]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "enum": ["a", "b"]}, "b"),
        ({"const": 3}, 3),
        ({"type": "boolean"}, False),
        ({"type": ["integer", "null"]}, 0),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"type": "array", "items": {"$ref": "#/$defs/x"}, "minItems": 2}, ["b", "b"]),
        ({"type": "object", "properties": {"why": {"type": "string"}}}, {"why": "take b"}),
    ],
)
def test_a_schema_gets_an_instance(schema: dict[str, Any], value: object) -> None:
    form = {"format": {"type": "json_schema", "schema": {**schema, "$defs": {"x": {"enum": ["a", "b"]}}}}}
    assert json.loads(answer(body("Alice: take b", output_config=form))) == value


def test_in_a_schema_too_only_the_spoken_field_speaks() -> None:
    properties = {"why": {"type": "string"}, "reply": {"type": "string", "description": "for the person"}}
    form = {"format": {"type": "json_schema", "schema": {"type": "object", "properties": properties}}}
    got = json.loads(answer(body("Alice: hello", output_config=form)))
    assert got["why"] == "hello"
    assert got["reply"].startswith("Hello, Alice!")
