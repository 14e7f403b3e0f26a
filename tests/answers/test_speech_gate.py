"""The speech gate, for any model's answer, in linear time."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

from daemon.answers.choice import ChoiceUnreadable, parse_choice
from daemon.answers.plain_answer import parse_json_sections, spoken_part, spoken_part_so_far
from daemon.answers.speech_gate import SpeechGate, split_sections, spoken_text
from daemon.engine.event import Entry
from daemon.kinds import ModelCall
from daemon.prompts.elements import PRIVATE_TAGS, SAY_TAG, SECTION_NAMES, escape_tags
from daemon.slack.block_text import spell_out_references
from daemon.slack.markdown import escape_mentions, escape_settled_mentions
from daemon.slack.message_policy import is_stop_word
from daemon.slack.pages import page_break, pages
from daemon.turn.recall import PipelineAnswer, entry_as_memory, is_spoken
from rehearsal.claude.asked import MESSAGE, RESULT
from tests.answers.random_gate import K7, garbled, problem
from tests.soak import later, shared

SIZE = 100_000
SHARE = 2_000
"""Random answers tried here; `make soak` tries 100,000."""
EACH = 9
"""Every ninth hard text is tried here."""

PUBLIC = [
    "a < b and c > d",
    "I <3 you",
    "See <https://example.org/think|the link>, <@U1> and <#C1|general>.",
    "<b>bold</b> and <br/> and <!-- a comment -->",
    "Write `<think>` to think, and `</think>` to end it.",
    "Like so:\n```\n<think>\nhm\n</think>\n```\nThat is all.",
    "~~~xml\n<thinking>hm</thinking>\n~~~\nThat is all.",
    "Call `git clone <repo>` or git clone <repo>, then List<String>.",
    "Next: press **Save**.\n**Mood:** good.\nSay: cheese.",
    "[Thoughts](https://example.org) and [1] and [x]",
    "As an aside: it's fine. Aside from that, too.",
    "if i <| f then <name> is what you called it",
    "<name> is a placeholder.",
    "It`s 5 o`clock < noon",
    "analysis is what assistantfinal ends, they say.",
    "analysis2024.csv",
    "analysis",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_ordinary_words_are_said_as_they_are(text: str) -> None:
    assert (
        split_sections(f"<say>{text}</say><mood>fine</mood>", SECTION_NAMES, PRIVATE_TAGS).section_text(
            SAY_TAG
        )
        == text
    )
    assert split_sections(text, SECTION_NAMES, PRIVATE_TAGS).text_outside == text


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_what_a_channel_says_beside_its_name_is_read_alike_at_any_cut(size: int) -> None:
    said = "<|channel|>final to=user<|message|>Hello<|return|>"
    parsed = SpeechGate(SECTION_NAMES, PRIVATE_TAGS)
    for start in range(0, len(said), size):
        parsed.feed(said[start : start + size])
    parsed.end()
    assert parsed.text_outside == "Hello"


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_a_page_in_a_block_of_code_is_said_whole(size: int) -> None:
    page = (
        "Like so:\n```html\n<main>\n<aside class='note'>\n  by the way\n</aside>\n</main>\n```\nThat is all."
    )
    said = f"<aside>S</aside><say>{page}<aside>S</aside></say><aside>S</aside>"
    parsed = SpeechGate(SECTION_NAMES, PRIVATE_TAGS)
    for start in range(0, len(said), size):
        parsed.feed(said[start : start + size])
    parsed.end()
    assert parsed.section_text(SAY_TAG) == page
    for untold in (
        f"```xml\n<aside>S</aside>\n<say>{page}</say>\n```",
        f"<aside>x\n```\n<aside>S</aside>\n```\nS</aside><say>{page}</say>",
        f"<think><say></think>\n```\n<aside>S</aside>\n```\n<say>{page}</say>",
        f"<say>{page}\n```\nx\n``` <aside>S</aside></say>",
    ):
        assert "S" not in split_sections(untold, SECTION_NAMES, PRIVATE_TAGS).section_text(SAY_TAG)
        assert "S" not in str(PipelineAnswer(entry("pipeline", untold)).speakable_dialogue)


@pytest.mark.parametrize(
    "block",
    [
        "```html\n<main>\n<think>x</think>\n<aside>x</aside>\n```",
        "```xml\n<aside>x</aside>\n```",
        "```\na\n``` <think>x</think>\n```",
        "```html <think>x</think>\na\n```",
        "~~~ <think>x</think>\na\n~~~",
    ],
)
@pytest.mark.parametrize("before", ["<say>", "", "<aside>x</aside><say><think>x</think>"])
def test_a_mark_that_counts_in_a_block_of_code_does_not_turn_the_rest_into_code(
    before: str, block: str
) -> None:
    parsed = split_sections(
        f"{before}Well:\n{block}\n<think>S</think>\n`<think>`", SECTION_NAMES, PRIVATE_TAGS
    )
    said = parsed.section_text(SAY_TAG) if before else parsed.text_outside
    assert "S" not in said
    assert said.endswith("`<think>`")


@pytest.mark.parametrize(
    "text",
    [
        "<think>S</think>Hello",
        "S</think>Hello",
        "<ponder>S</ponder>Hello",
        "[THINK]S[/THINK]Hello",
        "<|channel|>analysis<|message|>S<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
        "S<|end|><|start|>assistant<|channel|>final<|message|>Hello",
        "analysisThe user says <say>S</say>assistantcommentary to=x S assistantfinalHello",
        "assistantanalysis\n\nThe user S assistantfinalHello",
        "**Aside:** S\n**Say:** Hello\n**Mood:** S",
        "## Aside\nS\n\n## Say\nHello",
        "<aside S</aside>Hello",
        "<think>I write `</think>` S</think>Hello",
        "<answer>Hello</answer>",
    ],
)
def test_of_an_untagged_answer_only_what_is_proven_is_said(text: str) -> None:
    call = entry("plainly", text)
    assert PipelineAnswer(call).speakable_dialogue == "Hello"
    assert entry_as_memory(call).content == "<say>Hello</say>", "and nothing else is remembered as said"


def test_channels_without_their_marks_are_known_at_any_cut() -> None:
    text = " analysisS <say>S</say> assistantassistantfinal<aside>a</aside><say>Hello</say>"
    for size in range(1, len(text) + 1):
        coming = SpeechGate(SECTION_NAMES, PRIVATE_TAGS)
        for at in range(0, len(text), size):
            coming.feed(text[at : at + size])
            assert "Hello".startswith(coming.section_text(SAY_TAG))
        coming.end()
        assert (coming.section_text(SAY_TAG), coming.foreign) == ("Hello", True)
    assert PipelineAnswer(entry("plainly", "analysisThe user S")).speakable_dialogue == "", (
        "it broke off before it was said"
    )


def test_what_stands_outside_of_a_fused_answer_was_not_said() -> None:
    assert not is_spoken(entry("pipeline", "I should not tell her."))
    assert is_spoken(entry("plainly", "Good morning."))


def test_an_answer_that_ends_in_a_thought_is_asked_for_again() -> None:
    for text in ("<say>The <think> S</say><mood>x</mood>", "<say>Hi<think>S", "<say>```<think>S</say>"):
        assert PipelineAnswer(entry("pipeline", text)).speakable_dialogue is None
    assert PipelineAnswer(entry("pipeline", "<say>Hello<|im_end|>")).speakable_dialogue == "Hello"
    assert PipelineAnswer(entry("pipeline", "<say>Hello</say><think>S")).speakable_dialogue == "Hello"


ABOUT_TAGS = [
    "Prompts often use tags: the <thinking> tag holds the draft and the <answer> tag the result. Close both.",
    "Write a <think> tag before and a </think> tag after it, then your answer.",
    'Some models write "<thinking>" first and "</thinking>" last.',
    "It uses the tags <reasoning> and <answer>, in that order.",
    "Close it with a </thinking> tag. Then go on.",
    "They use <thinking> and <scratchpad> tags.",
    "Der <thinking>-Tag steht vorn, und der Tag </thinking> schließt ihn.",
]
UNTOLD_FROM_THOUGHTS = [
    "I start with <thinking> and then go on to the point.",
    "Open with <thinking> and close with </thinking>, then answer.",
    "Well, <think>S</think> then.",
]


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("text", ABOUT_TAGS)
def test_a_sentence_about_the_tags_of_thoughts_is_said_whole(text: str, size: int) -> None:
    raw = f"<aside>a</aside><say>{text}</say><mood>fine</mood>"
    parsed = SpeechGate(SECTION_NAMES, PRIVATE_TAGS)
    for start in range(0, len(raw), size):
        parsed.feed(raw[start : start + size])
    parsed.end()
    assert (parsed.section_text(SAY_TAG), parsed.section_text("mood"), parsed.own_text) == (text, "fine", raw)
    assert PipelineAnswer(entry("pipeline", raw)).speakable_dialogue == text
    assert PipelineAnswer(entry("plainly", raw)).speakable_dialogue == text
    assert PipelineAnswer(entry("plainly", text)).speakable_dialogue == text, "in no section, too"
    assert entry_as_memory(entry("pipeline", raw)).content == raw


@pytest.mark.parametrize("text", UNTOLD_FROM_THOUGHTS)
def test_a_sentence_that_may_hold_a_thought_is_not_said_in_part(text: str) -> None:
    raw = f"<say>{text}</say><mood>fine</mood>"
    assert PipelineAnswer(entry("pipeline", raw)).speakable_dialogue is None
    assert PipelineAnswer(entry("plainly", raw)).speakable_dialogue == ""
    assert PipelineAnswer(entry("plainly", text)).speakable_dialogue == ""


@pytest.mark.parametrize(
    "text",
    [
        "Hello. <think>S tag</think>",
        "<think>tags S</think>Hello.",
        "S</think>Hello.",
        "Hello.\n<thinking>the tag S</thinking>",
        "<aside>S</aside>Hello.",
        "S, the tag </think>Hello. <think>S</think>",
    ],
)
def test_a_thought_with_words_about_tags_is_none_the_less_private(text: str) -> None:
    for name, raw in (
        ("pipeline", f"<say>{text}</say>"),
        ("plainly", f"<say>{text}</say>"),
        ("plainly", text),
    ):
        assert "S" not in str(PipelineAnswer(entry(name, raw)).speakable_dialogue)


LONE_MARKS = [
    "</aside>",
    "</asides>",
    "<!-- /aside -->",
    "<!--/think-->",
    "&lt;/aside&gt;",
    "&#60;/think&#62;",
    "</as\u200bide>",
    "<\u2060/aside>",
    "\uff1c/aside\uff1e",
    "\uff1c\uff0f\uff41\uff53\uff49\uff44\uff45\uff1e",
    "\\</aside\\>",
    "<\\/aside>",
    "\\u003c/aside\\u003e",
]


@pytest.mark.parametrize("size", [1, 1_000])
@pytest.mark.parametrize("mark", LONE_MARKS)
def test_what_stands_before_a_lone_private_mark_in_any_notation_is_not_said(mark: str, size: int) -> None:
    raw = f"<say>SECRET {mark}Hello</say><mood>fine</mood>"
    parsed = SpeechGate(SECTION_NAMES, PRIVATE_TAGS)
    for start in range(0, len(raw), size):
        parsed.feed(raw[start : start + size])
    parsed.end()
    assert (parsed.section_text(SAY_TAG), parsed.section_text("mood")) == ("Hello", "fine")
    assert PipelineAnswer(entry("plainly", f"SECRET {mark}Hello")).speakable_dialogue == "Hello"


@pytest.mark.parametrize("size", [1, 1_000])
@pytest.mark.parametrize(
    "form",
    ["&lt;{}&gt;", "\\<{}\\>", "\uff1c{}\uff1e", "\\u003c{}\\u003e", "&amp;lt;{}&amp;gt;", "<\u200b{}>"],
)
def test_sections_with_other_brackets_are_sections(form: str, size: int) -> None:
    raw = "".join(
        form.format(tag) + text
        for tag, text in (("aside", "SECRET"), ("/aside", ""), ("say", "Hello"), ("/say", ""))
    )
    parsed = SpeechGate(SECTION_NAMES, PRIVATE_TAGS)
    for start in range(0, len(raw), size):
        parsed.feed(raw[start : start + size])
    parsed.end()
    assert parsed.section_text(SAY_TAG) == "Hello"
    assert "SECRET" not in parsed.text_outside


ORDINARY = [
    "Write &lt;say&gt; and &amp; in XML, R&D, a\\b and x &lt; y, \\n too.",
    "`</aside>` ends it, as `&lt;/aside&gt;` does.",
    "```html\n<aside>x</aside>\n```",
    "Hello <!-- a note --> Ben.",
    "5 \uff1c 6 and \uff1cb\uff1e",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_other_brackets_without_a_private_name_are_said_as_they_are(text: str) -> None:
    assert PipelineAnswer(entry("pipeline", f"<aside>a</aside><say>{text}</say>")).speakable_dialogue == text


def test_a_comment_with_the_name_of_a_thought_is_private() -> None:
    for comment in ("<!-- aside: SECRET -->", "<!--thinking SECRET-->", "<!--aside-->SECRET<!--/aside-->"):
        assert PipelineAnswer(entry("pipeline", f"<say>{comment}Hello</say>")).speakable_dialogue == "Hello"
    assert PipelineAnswer(entry("pipeline", "<say>Hello.</say></aside>")).speakable_dialogue == "Hello.", (
        "it closes nothing"
    )


FULL = '{"aside": "SECRET", "next": "conversation", "say": "Hello", "mood": "fine"}'
IN_JSON = [
    FULL,
    f"```json\n{FULL}\n```",
    f"Sure!\n{FULL}",
    f"Sure!\n```json\n{FULL}\n```\nDone.",
    f"<say>{FULL}</say>",
    f"<say>```json\n{FULL}\n```</say>",
    f"<say>Look: {FULL}</say>",
    '{"thought": "SECRET", "response": "Hello"}',
    '{"answer": {"Aside": "SECRET", "Say": "Hello"}}',
    '{"internal_monologue": "SECRET", "external_dialogue": "Hello"}',
    '[{"tag": "aside", "content": "SECRET"}, {"tag": "say", "content": "Hello"}]',
    '<aside>SECRET</aside>{"say": "<think>SECRET</think>Hello"}',
]
NEVER_SAID = [
    '{"thought": "SECRET"}',
    '{"aside": "SECRET", "say": "Hel',
    "{'aside': 'SECRET', 'say': 'Hello'}",
    '<say>{"thought": "SECRET"}</say>',
    '<say>{"aside": "SECRET", "say": "Hel</say>',
    "{}",
    "[]",
    "null",
    "```json\n{}\n```",
    '{"a": 1',
]


@pytest.mark.parametrize("text", IN_JSON)
def test_of_an_answer_in_json_the_speech_alone_is_said(text: str) -> None:
    for name in ("pipeline", "plainly"):
        assert PipelineAnswer(entry(name, text)).speakable_dialogue == "Hello"


@pytest.mark.parametrize("text", NEVER_SAID)
def test_json_that_is_private_broken_or_empty_is_never_an_answer(text: str) -> None:
    assert PipelineAnswer(entry("pipeline", text)).speakable_dialogue is None
    assert PipelineAnswer(entry("plainly", text)).speakable_dialogue == ""


@pytest.mark.parametrize("text", [*IN_JSON, *NEVER_SAID])
def test_private_json_is_not_shown_while_it_comes(text: str) -> None:
    coming = SpeechGate(SECTION_NAMES, PRIVATE_TAGS)
    for char in text:
        coming.feed(char)
        assert "SECRET" not in spoken_part_so_far(coming.section_text(SAY_TAG))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '```json\n{"a": [1, 2]}\n```',
        'Use this:\n```json\n{"thought": "x", "b": 2}\n```\nThat is all.',
        "{placeholder} is what you write, and [1] a note.",
        "if x { y } else { z }",
    ],
)
def test_json_without_a_private_part_is_an_ordinary_text(text: str) -> None:
    assert PipelineAnswer(entry("pipeline", f"<say>{text}</say>")).speakable_dialogue == text
    assert PipelineAnswer(entry("plainly", text)).speakable_dialogue == text


def test_an_answer_in_json_is_remembered_as_its_sections() -> None:
    remembered = "<aside>SECRET</aside><next>conversation</next><say>Hello</say><mood>fine</mood>"
    assert entry_as_memory(entry("pipeline", FULL)).content == remembered
    assert PipelineAnswer(entry("pipeline", FULL)).values["emotional_state"] == "fine"


def test_what_is_remembered_of_an_answer_holds_no_foreign_thought() -> None:
    raw = "<think>S</think><aside>a</aside><say>Hello [THINK]S[/THINK]you</say>"
    assert entry_as_memory(entry("pipeline", raw)).content == "<aside>a</aside><say>Hello you</say>"
    plain = "<aside>a <say>b</say></aside><say>Hello `<think>`</say>"
    assert entry_as_memory(entry("pipeline", plain)).content == plain


def test_a_choice_is_read_behind_thoughts_of_any_kind() -> None:
    draft, choice = '{"actions": ["A"]}', '{"actions": ["B"], "why": "I use <think> here"}'
    for before in ("<think>{}</think>", "{}</think>", "[THINK]{}[/THINK]", "<reasoning>{}</reasoning>"):
        if not before.startswith("{"):
            assert parse_choice(before.format(draft) + choice.replace("<think>", "it")).actions[0].name == "B"
    assert parse_choice(choice).why == "I use <think> here"
    with pytest.raises(ChoiceUnreadable):
        parse_choice(f"{draft}</think>" + choice)


@pytest.mark.parametrize("share", shared(range(4), 4))
def test_a_share_of_the_fuzz(share: int) -> None:
    seeds = range(share * SHARE // 4, (share + 1) * SHARE // 4)
    found = [one for seed in seeds for one in (problem(seed), garbled(seed))]
    assert [one for one in found if one] == []


def entry(name: str, text: str) -> Entry[ModelCall]:
    call = ModelCall(
        name=name,
        role="speak",
        saw="",
        texts=(),
        seqs=(),
        trailing="",
        wording=(),
        people=(),
        outcome="ok",
        model="m",
        text=text,
    )
    return Entry(seq=1, thread="t", author="soul", key="k", cause=None, closes=(), at=0.0, event=call)


def stream(text: str) -> None:
    streamed(text, SpeechGate(SECTION_NAMES, PRIVATE_TAGS), "<say>")


def stream_marked(text: str) -> None:
    streamed(text, SpeechGate(SECTION_NAMES, PRIVATE_TAGS, K7), "<say-k7>")


def streamed(text: str, coming: SpeechGate, begins: str) -> None:
    coming.feed(begins)
    for at in range(0, len(text), 64):
        coming.feed(text[at : at + 64])
        coming.section_text(SAY_TAG)
    coming.end()


def choose(text: str) -> None:
    with pytest.raises(ChoiceUnreadable):
        parse_choice(text[:20_000])


def paged(text: str) -> None:
    ended = list(pages(text[: len(text) // 2]))[:-1]
    pages(text, [page.upto for page in ended], ended)
    page_break(text, max(0, len(text) - 9_000))


HOSTILE = [
    "</say>",
    "<say>\n",
    "`<next>",
    "<aside> `",
    "```\n<say>\n",
    "```\n</say>",
    "<say-k7> ",
    "&amp;",
    "&#1",
    "< ",
    "<\n",
    "<",
    "<<<<a",
    "</",
    "<t",
    "<aside ",
    "<say ",
    "<think>",
    "</think>",
    "`<think>",
    "` `` ``` ",
    "```\n",
    "[",
    "[THINK",
    "<|",
    "<|channel|>",
    "**Aside",
    "#*_(",
    "<x>",
    "<x><y",
    '\\"',
    '{"a":"\\\\',
    ", ",
    "{[",
    "<message ",
    "@here<@",
    "| - |\n",
    "- ```\n",
    "> ",
    ":a",
    "\n",
    "please ",
    '<result of="a">',
    '<m from="x">',
    '<m from="x" ',
]
ALONE = ["<", "</", "<aside", "<say", "`<think>", '"a":', "<message", "analysis", "analysisA"]
ALONE += ['<result of="a">', '<m from="x">']
WORK: list[Callable[[str], object]] = [
    stream,
    stream_marked,
    spoken_text,
    choose,
    parse_json_sections,
    spoken_part,
    spoken_part_so_far,
    escape_tags,
    escape_mentions,
    escape_settled_mentions,
    lambda text: spell_out_references(text, {}),
    is_stop_word,
    paged,
    RESULT.findall,
    MESSAGE.findall,
]


DEAR = (stream, stream_marked, spoken_text, choose)
"""Functions that get only the quick texts in `make test`."""


@pytest.mark.parametrize("each", [EACH, later(1)])
@pytest.mark.parametrize(
    ("number", "work"), [later(*one) if one[1] in DEAR else one for one in enumerate(WORK)]
)
def test_no_text_takes_longer_than_it_is_long(number: int, work: Callable[[str], object], each: int) -> None:
    for piece in HOSTILE[number % each :: each]:
        assert grows_with(work, piece * (SIZE // len(piece))), f"{piece!r} takes longer than it is long"
    for piece in ALONE[number % each :: each]:
        assert grows_with(work, piece + " " * SIZE), f"{piece!r} and white space"


def grows_with(work: Callable[[str], object], text: str) -> bool:
    return any(taken(work, text) < 8 * taken(work, text[: SIZE // 4]) + 0.05 for _ in range(3))


def taken(work: Callable[[str], object], text: str) -> float:
    began = process_time()
    work(text)
    return process_time() - began
