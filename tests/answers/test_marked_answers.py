"""Answers about the format, whose tags have the suffix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daemon.answers.speech_gate import SpeechGate
from daemon.prompts.elements import PRIVATE_TAGS, SAY_TAG, SECTION_NAMES, SectionTags
from daemon.turn.recall import PipelineAnswer, entry_as_memory
from tests.answers.test_speech_gate import entry

K7 = SectionTags(suffix="k7")
ASIDE, MOOD = "<aside-k7>SECRET</aside-k7>\n", "\n<mood-k7>calm</mood-k7>"
ABOUT_THE_FORMAT = [
    "In your own XML `<say>` is simply an element: <say>Hi</say>.",
    "TwiML:\n```xml\n<Response><Say>Hi</Say><Say>Ho</Say></Response>\n```\nThat is all.",
    "<Response><Say>Hi</Say></Response> is TwiML.",
    "```\n<next>x</next>\n<mood>calm</mood>\n```\nis what it writes.",
    "```\n<aside>a</aside>\n<say>b</say>\n<mood>c</mood>\n```\nThat's it.",
    "There are <next>, <mood> and <aside> in prose, and </say>, too.",
    "HTML has <aside class='note'>this</aside>.",
    "A stage direction reads [aside] or [/aside], as [say] and [next] would.",
    "[aside] begins it.",
    "<Gather><Say>Hi</Say></Gather> asks for digits.",
    "<Dial>123</Dial>\nrings.",
    "I write `<say-k7>` first and `</say-k7>` last; `<aside-k7>` is mine.",
    "```\n<say-k7>Hi</say-k7>\n```\nis my own form.",
    "It reads <say>Hello</say>",
    "It ends with </say>",
    "</aside> ends it, as `</aside>` does.",
    "It`s <say> and he`s <mood>.",
    "<SAY>x</SAY>, <Say>, &lt;say&gt; and &lt;/aside&gt; are alike.",
    "Elsewhere it is <say-k8>a</say-k8>, or <say-x>.",
    "The <thinking> tag holds the draft, the <say> tag the result.",
    "Write <say\nlang='en'>, a < b, <next and so on.",
    "```xml\n<say>\n" + "x" * 3_000 + "\n</say>\n<mood>calm</mood>\n```\nSo long.",
]
BARE_IN_CODE = [
    "An `<say>` element and `<aside>note</aside>`; `</say>` ends it.",
    "TwiML:\n```xml\n<Response><Say>Hi</Say><Say>Ho</Say></Response>\n```\nThat is all.",
    "```\n<next>x</next>\n<mood>calm</mood>\n```\nis what it writes.",
    "~~~\n<aside>a</aside>\n<say>b</say>\n<mood>c</mood>\n~~~\nThat's it.",
    "```xml\n<say>\n" + "x" * 3_000 + "\n</say>\n<mood>calm</mood>\n```\nSo long.",
]
HELLO = {
    "half of the suffix": "<aside-k>SECRET</aside-k><say-k>Hello</say-k>",
    "another suffix": "<aside-k8>SECRET</aside-k8><say-k8>Hello</say-k8><mood-k8>calm</mood-k8>",
    "no hyphen": "<asidek7>SECRET</asidek7><sayk7>Hello</sayk7>",
    "underscores": "<aside_k7>SECRET</aside_k7><say_k7>Hello</say_k7>",
    "capitals": "<ASIDE-K7>SECRET</ASIDE-K7><SAY-K7>Hello</SAY-K7>",
    "entities": "&lt;aside-k7&gt;SECRET&lt;/aside-k7&gt;&lt;say-k7&gt;Hello&lt;/say-k7&gt;",
    "square brackets": "[aside-k7]SECRET[/aside-k7][say-k7]Hello[/say-k7]",
    "wide brackets": (
        "\uff1caside-k7\uff1eSECRET\uff1c/aside-k7\uff1e\uff1csay-k7\uff1eHello\uff1c/say-k7\uff1e"
    ),
    "a gap": "< aside-k7 >SECRET</ aside-k7><say-k7 >Hello</say-k7\n>",
    "a bare end": f"{ASIDE}<say-k7>Hello</say>{MOOD}",
    "half an end": f"{ASIDE}<say-k7>Hello</say-k>",
    "a bare end before a bare aside": "<say-k7>Hello</say>\n<aside>SECRET</aside>",
    "no end": f"{ASIDE}<say-k7>Hello{MOOD}",
    "a bracket missing": f"{ASIDE}<say-k7>Hello</say-k7{MOOD}",
    "broken off in its end": f"{ASIDE}<say-k7>Hello</say-k",
    "broken off in the next": f"{ASIDE}<say-k7>Hello\n<mood-k",
    "a bare aside": "<aside>SECRET</aside><say-k7>Hello</say-k7>",
    "bare speech": f"<say>Hello</say>{MOOD}",
    "words before it": f"I may use <say>SECRET</say> here. {ASIDE}<say-k7>Hello</say-k7>",
    "a draft in a thought": f"<think><say-k7>SECRET</say-k7></think>{ASIDE}<say-k7>Hello</say-k7>",
    "a block": f"```xml\n{ASIDE}<say-k7>Hello</say-k7>\n```",
    "a bare block": "```xml\n<aside>SECRET</aside>\n<say>Hello</say>\n```",
    "a block that never ends": "```\n<aside>SECRET</aside>\n<say>Hello</say>",
    "an aside within": "<say-k7>Hello<aside-k7>SECRET</aside-k7></say-k7>",
    "a lone end of an aside": "<say-k7>SECRET </aside-k7>Hello</say-k7>",
    "a lone end of a thought": "<say-k7>SECRET</think>Hello</say-k7>",
    "JSON": '{"aside-k7": "SECRET", "say-k7": "Hello"}',
    "parts in JSON": '[{"tag": "aside-k7", "text": "SECRET"}, {"tag": "say-k7", "text": "Hello"}]',
}
UNTOLD = {
    "an aside only": "<aside-k7>SECRET</aside-k7>",
    "an aside without end": "<aside-k7>SECRET <say-k7>Hello</say-k7>",
    "a bare aside without end": "<aside>SECRET <say-k7>Hello</say-k7>",
    "half an aside within": "<say-k7>Hello, <aside-k8>SECRET</aside-k8>you.</say-k7>",
    "half an aside": "<aside-k>SECRET",
    "nothing but bare tags after it": f"{ASIDE}<say>Hello</say>",
}


def answer(text: str, name: str = "pipeline") -> PipelineAnswer:
    call = entry(name, text)
    return PipelineAnswer(replace(call, event=replace(call.event, suffix="k7")))


def streamed(text: str, size: int) -> tuple[SpeechGate, list[str]]:
    coming, shown = SpeechGate(SECTION_NAMES, PRIVATE_TAGS, K7), list[str]()
    for start in range(0, len(text), size):
        coming.feed(text[start : start + size])
        shown.append(coming.section_text(SAY_TAG))
    coming.end()
    return coming, shown


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("text", ABOUT_THE_FORMAT)
def test_a_bare_tag_in_a_marked_answer_is_said_as_it_is_written(text: str, size: int) -> None:
    raw = f"{ASIDE}<say-k7>{text}</say-k7>{MOOD}"
    coming, shown = streamed(raw, size)
    assert (coming.section_text(SAY_TAG), coming.section_text("mood"), coming.own_text) == (text, "calm", raw)
    assert all(text.startswith(one) for one in shown)
    assert answer(raw).speakable_dialogue == text
    assert answer(raw).remembered_text == raw


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("text", BARE_IN_CODE)
def test_a_tag_in_code_of_a_bare_answer_is_said_as_it_is_written(text: str, size: int) -> None:
    raw = f"<aside>SECRET</aside>\n<say>{text}</say>\n<mood>calm</mood>"
    coming, shown = streamed(raw, size)
    assert (coming.section_text(SAY_TAG), coming.section_text("mood")) == (text, "calm")
    assert all(text.startswith(one) for one in shown)
    assert answer(raw).speakable_dialogue == PipelineAnswer(entry("pipeline", raw)).speakable_dialogue == text
    assert entry_as_memory(entry("pipeline", raw)).content == raw
    assert answer(f"{text} And so on.", "plainly").speakable_dialogue == f"{text} And so on.", "untagged, too"


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize("raw", HELLO.values(), ids=HELLO.keys())
def test_a_marked_answer_with_a_slip_says_its_speech_alone(raw: str, size: int) -> None:
    coming, shown = streamed(raw, size)
    assert "SECRET" not in coming.section_text(SAY_TAG)
    lone = "lone" in next(name for name, text in HELLO.items() if text == raw)
    preamble = raw.startswith("I may")
    assert lone or preamble or not any("SECRET" in one for one in shown)
    for name in ("pipeline", "plainly"):
        assert answer(raw, name).speakable_dialogue == "Hello"


@pytest.mark.parametrize("raw", UNTOLD.values(), ids=UNTOLD.keys())
def test_an_answer_without_speech_that_is_proven_says_nothing(raw: str) -> None:
    assert answer(raw).speakable_dialogue is None
    assert "SECRET" not in str(answer(raw, "plainly").speakable_dialogue)
    for size in (1, 3, 10_000):
        assert not any("SECRET" in one for one in streamed(raw, size)[1])


def test_the_end_of_what_is_said_ends_it_in_a_block_that_was_never_closed() -> None:
    for end in ("</say-k7>\n<mood-k7>calm</mood-k7>", "</say-k7>", "\n<mood-k7>calm</mood-k7>"):
        raw = f"<say-k7>```\nx = 1\n{end}"
        assert answer(raw).speakable_dialogue == "```\nx = 1"
        assert streamed(raw, 3)[0].section_text(SAY_TAG).strip() == "```\nx = 1"
    assert answer("<say-k7>```\nx\n<aside-k7>SECRET</aside-k7></say-k7>").speakable_dialogue == "```\nx"
    assert answer("<say>```\nx\n</say>\n<aside>SECRET\n```\nSECRET</aside>").speakable_dialogue == "```\nx"


def test_speech_is_shown_as_it_comes_though_a_tag_may_follow() -> None:
    _, shown = streamed("<say-k7>Hello, Alice, it`s late. In XML", 4)
    assert shown[-1] == "Hello, Alice, it`s late. In XML"


def test_an_answer_of_before_is_remembered_with_the_suffix() -> None:
    raw = "<aside>SECRET</aside>\n<say>Hello, `<say>` it is</say>\n<mood>calm</mood>"
    marked = "<aside-k7>SECRET</aside-k7>\n<say-k7>Hello, `<say>` it is</say-k7>\n<mood-k7>calm</mood-k7>"
    assert entry_as_memory(entry("pipeline", raw)).content == raw
    assert entry_as_memory(entry("pipeline", raw), "k7").content == marked
    assert entry_as_memory(entry("plainly", "Hello"), "k7").content == "<say-k7>Hello</say-k7>"
    assert entry_as_memory(entry("internal_monologue", "Hm."), "k7").content == "<aside-k7>Hm.</aside-k7>"


def test_the_owners_texts_get_the_suffix_in_their_tags_alone() -> None:
    text = "Between `<say>` and `</say>`, < aside > or <next/>; not <saying>, <b> or <say-k7>, nor a < say."
    marked = (
        "Between `<say-k7>` and `</say-k7>`, < aside-k7 > or <next-k7/>; not <saying>, <b> or <say-k7>, nor"
    )
    assert K7.marked(text) == f"{marked} a < say."
    assert SectionTags().marked(text) == text
