"""Payloads of open thought, and errors told to the soul."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.open_thought.payloads import (
    DEEPEST,
    LONGEST,
    MOST_CHILDREN,
    MOST_NOTES,
    MOST_PAYLOADS,
    ParsedAnswer,
    Payload,
    parse_payloads,
    tag_slug,
)
from daemon.prompts.elements import make_element
from tests.soak import later

ACTIONS = ("Research", "ReadThread")
RESEARCH = "<Research><question>Why?</question></Research>"


def read(text: str) -> ParsedAnswer:
    return parse_payloads(text, slug="claudius", actions=ACTIONS)


def shown(payload: Payload) -> str:
    attributes = "".join(f" {name}={value}" for name, value in payload.attributes.items())
    children = f" [{', '.join(map(shown, payload.children))}]" if payload.children else ""
    return f"{payload.tag}{attributes}: {payload.text}{children}"


COUNTS = {
    "an answer may hold several payloads beside free text": (
        f"First. <claudius>I go on.</claudius> And: {RESEARCH}",
        ["claudius: I go on.", "Research: Why? [question: Why?]"],
        "First.\n\nAnd:",
    ),
    "payloads stand in the self-call, too, and its text is what is left": (
        f'<claudius convo_id="sess-1">One. {RESEARCH} Two. <todo-until condition="c"/></claudius>',
        [
            "claudius convo_id=sess-1: One.  Two.",
            "Research: Why? [question: Why?]",
            "todo-until condition=c: ",
        ],
        "",
    ),
    "a final answer may stand beside a self-call": (
        "<claudius-response>Yes.</claudius-response><claudius/>",
        ["claudius-response: Yes.", "claudius: "],
        "",
    ),
    "a slash too many is none": ("<claudius//> <ReadThread//>", ["claudius: ", "ReadThread: "], ""),
    "a thought is kept as thought, wherever it stands": (
        "<thought>a &lt; b</thought><claudius>Go. <thought>c</thought></claudius>",
        ["claudius: Go."],
        "a < b\n\nc",
    ),
    "a plan holds steps": (
        '<todo-until condition="a > b">Mine:<step done="true">One</step>\n'
        "<step>List<int></step></todo-until>",
        ["todo-until condition=a > b: Mine:One\nList<int> [step done=true: One, step: List<int>]"],
        "",
    ),
    "a fan-out holds items": (
        '<fan-out collect="true"><item>a <b>1</b></item><item>2</item></fan-out>',
        ["fan-out collect=true: a <b>1</b>2 [item: a <b>1</b>, item: 2]"],
        "",
    ),
    "the first payload of a branch may be an action": (
        f'<spawn-thread suggested_sub_id="r"><initial-payload>{RESEARCH}</initial-payload></spawn-thread>',
        ["spawn-thread suggested_sub_id=r: Why? [initial-payload: Why? [Research: Why? [question: Why?]]]"],
        "",
    ),
    "tags amid words are words": (
        "<Research><question>Is List<int> a <b>list</b>?</question></Research>",
        ["Research: Is List<int> a <b>list</b>? [question: Is List<int> a <b>list</b>?]"],
        "",
    ),
    "stray signs are words": (
        "<Research><question>a < b && c <<< d &foo; &#0; &</question></Research>",
        ["Research: a < b && c <<< d &foo; &#0; & [question: a < b && c <<< d &foo; &#0; &]"],
        "",
    ),
    "the five entities and numbers are decoded": (
        '<send to="&quot;&#65;">&lt;&gt;&amp;&quot;&apos; &#x41;&#233;</send>',
        ['send to="A: <>&"\' Aé'],
        "",
    ),
    "what names stand for is not looked up": (
        '<send xmlns="urn:a b" xmlns:x="urn:x" x:to="a" label="&lol;">&lol;</send>',
        ["send to=a label=&lol;: &lol;"],
        "",
    ),
    "CDATA is words, and a comment is nothing": (
        "<send><![CDATA[<send>&amp;]]><!-- no -- </send> -->!</send>",
        ["send: <send>&amp;!"],
        "",
    ),
    "code in a payload is words, and does not end it": (
        "<claudius-response>```\n</claudius-response>\n```\nand `</claudius-response>`.</claudius-response>",
        ["claudius-response: ```\n</claudius-response>\n```\nand `</claudius-response>`."],
        "",
    ),
    "code that is never closed does not hide the end of a payload": (
        "<claudius-response>`a\n```python\nb</claudius-response>",
        ["claudius-response: `a\n```python\nb"],
        "",
    ),
    "a quotation at the end of a payload does not hide it": (
        "<send>\n> as you said</send>",
        ["send: > as you said"],
        "",
    ),
    "payloads are known by the exact case": (
        "<research>a</research><SEND>b</SEND><Claudius>c</Claudius><Readthread/><x:send/>",
        [],
        "<research>a</research><SEND>b</SEND><Claudius>c</Claudius><Readthread/><x:send/>",
    ),
}


@pytest.mark.parametrize(("text", "payloads", "thought"), COUNTS.values(), ids=COUNTS.keys())
def test_what_an_answer_holds(text: str, payloads: list[str], thought: str) -> None:
    parsed = read(text)
    assert ([*map(shown, parsed.payloads)], parsed.thought, parsed.faults) == (payloads, thought, ())


WORDS = (
    "a < b && b > c, List<int>, <- and <3",
    "**bold** <b>bold</b> <br> <https://a.example/?b&c> <a@b.example>",
    "<<<<< &&& &lt;send&gt; <?xml version='1.0'?> <![CDATA[ <!-- </ <",
    "# Title\n- [ ] step\n| a | b |\n|--|--|",
    "<sending>x</sending> <send-to/> <Researcher>",
    f"`{RESEARCH}` and ``a ` {RESEARCH}``",
    f"```xml\n{RESEARCH}\n```",
    f"- ~~~~\n  {RESEARCH}\n  ```\n  ~~~~~\n",
    f"> {RESEARCH}",
    f"   > a\n> {RESEARCH} b",
    f"<!-- {RESEARCH} -->",
    f"<![CDATA[{RESEARCH}]]>",
)


@pytest.mark.parametrize("text", WORDS)
def test_all_else_is_thought_and_no_fault(text: str) -> None:
    parsed = read(text)
    assert (parsed.thought, parsed.payloads, parsed.faults) == (text.strip(), (), ())


def test_no_payload_counts_in_a_thought_or_in_another_payload() -> None:
    for tag in ("thought", "send", "claudius-response", "todo-until", "ReadThread"):
        parsed = read(f"<{tag}>I say {RESEARCH}</{tag}>")
        assert "Research" not in [payload.tag for payload in parsed.payloads]
        assert RESEARCH in (parsed.thought or parsed.payloads[0].text)


REPAIRED = {
    "a payload ends at the next one": ("<send>a <Research>b</Research>", [(0, "</send>")], ["a", "b"]),
    "it ends with the answer": ("Hm. <send>a", [(4, "</send>")], ["a"]),
    "it ends with the self-call": (
        "<claudius>a <Research>b</claudius>c",
        [(12, "</Research>")],
        ["a", "b"],
    ),
    "two tags cross": (
        "<claudius>a<Research>b</claudius></Research>",
        [(11, "</Research>"), (33, "</Research>")],
        ["a", "b"],
    ),
    "a part ends at the next one": (
        "<todo-until><step>a<step>b</step></todo-until>",
        [(12, "</step>")],
        ["ab"],
    ),
    "a child ends with its payload": ("<Research><question>a</Research>", [(10, "</question>")], ["a"]),
    "an end without a beginning is left out": ("a</send>b", [(1, "</send>")], []),
    "a self-call in a self-call is one": (
        "<claudius>a <claudius>b</claudius> c</claudius>",
        [(12, "<claudius>")],
        ["a b c"],
    ),
}


@pytest.mark.parametrize(("text", "notes", "texts"), REPAIRED.values(), ids=REPAIRED.keys())
def test_what_is_repaired_is_noted(text: str, notes: list[tuple[int, str]], texts: list[str]) -> None:
    parsed = read(text)
    assert [payload.text for payload in parsed.payloads] == texts
    assert [fault.position for fault in parsed.faults] == [position for position, _ in notes]
    assert all(names in fault.what for fault, (_, names) in zip(parsed.faults, notes, strict=True))
    assert all(fault.repaired for fault in parsed.faults)


UNREADABLE = {
    "a value without quotes": ("Hm. <send to=a>b</send>", 4, "<send>"),
    "a quote that is never closed": ('<send to="a>b</send>', 0, "<send>"),
    "an attribute twice": ('<send to="a" to="b">b</send>', 0, "<send>"),
    "a tag that breaks off": ("b <Research", 2, "<Research>"),
    "a broken tag in a payload": ("<todo-until><step done=true>b</step></todo-until>", 12, "<step>"),
    "a broken self-call, with all that is in it": (f"<claudius a=1>b {RESEARCH}</claudius>", 0, "<claudius>"),
    "tags in each other without end": (
        f"<Research>{'<a>' * 5_000}b{'</a>' * 5_000}</Research>",
        10 + 3 * (DEEPEST - 1),
        f"{DEEPEST}",
    ),
    "tags without end": (f"<Research>{'<a>b</a>' * 5_000}</Research>", 10 + 8 * MOST_CHILDREN, "1,000"),
}


@pytest.mark.parametrize(("text", "position", "names"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_a_fault_and_kept_as_thought(text: str, position: int, names: str) -> None:
    parsed = read(f"{text} <send>c</send>")
    assert parsed.payloads[-1].text == "c"
    fault = next(fault for fault in parsed.faults if not fault.repaired)
    assert fault.position == position
    assert names in fault.what
    assert re.findall(r"\bb\b", parsed.thought) == re.findall(r"\bb\b", text)


def test_a_doctype_is_a_fault_and_defines_nothing() -> None:
    parsed = read('<!DOCTYPE a [<!ENTITY b "c">]><send>&b;</send>')
    assert [(fault.position, fault.repaired) for fault in parsed.faults] == [(0, False)]
    assert [payload.text for payload in parsed.payloads] == ["&b;"]


def test_code_that_is_never_closed_hides_no_payload_in_silence() -> None:
    parsed = read(f"So:\n```\n{RESEARCH}")
    assert parsed.payloads == ()
    assert [(fault.position, fault.repaired) for fault in parsed.faults] == [(4, False)]
    assert read("So:\n```\nprint(1)").faults == ()


def test_positions_are_those_of_the_answer() -> None:
    text = f"Hm. <claudius>a {RESEARCH}</claudius>\n<send>b</send>"
    parsed = read(text)
    assert len(parsed.payloads) == 3
    for payload in parsed.payloads:
        assert text[payload.position :].startswith(f"<{payload.tag}>{payload.inner}")
    (question,) = parsed.payloads[1].children
    assert text[question.position :].startswith("<question>Why?")


def test_an_answer_is_read_up_to_a_bound() -> None:
    long = read("x" * LONGEST + RESEARCH)
    assert (long.payloads, [fault.position for fault in long.faults]) == ((), [LONGEST])
    many = read(RESEARCH * 1_000)
    assert len(many.payloads) == MOST_PAYLOADS
    assert [(fault.position, fault.repaired) for fault in many.faults] == [
        (len(RESEARCH) * MOST_PAYLOADS, False)
    ]
    assert read(RESEARCH * MOST_PAYLOADS).faults == ()
    broken = [fault for fault in read("<send x>" * 1_000).faults if not fault.repaired]
    assert len(broken) == MOST_PAYLOADS + 1
    unclosed = "".join(f"<a{number}>" for number in range(DEEPEST))
    noted = [fault for fault in read(f"<Research>{unclosed}b").faults if fault.repaired]
    assert len(noted) == MOST_NOTES


def test_what_xml_cannot_hold_is_replaced() -> None:
    parsed = read("\x00<send to='\ud800'>\x1b&#xD800;\udfff\ufffe</send>")
    assert [*map(shown, parsed.payloads)] == ["send to=\ufffd: \ufffd&#xD800;\ufffd\ufffd"]
    assert (parsed.thought, parsed.faults) == ("\ufffd", ())


TAGS = "<claudius> </claudius> <claudius/> <send> </send> <Research> </Research> <question> </question>"
PLAN = "<thought> </thought> <todo-until> <step> </step> </todo-until> <int> <![CDATA[ ]]> <!-- --> <!DOCTYPE"
SIGNS = "< > & &amp; / ` ``` ~~~ \x00 \ud800 é <send to='a <send to=\"a"
PIECES = [*TAGS.split(), *PLAN.split(), *SIGNS.split(), "\n", "\n> ", " ", "<send to='a'>"]
ANSWERS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(st.one_of(ANSWERS, st.text(max_size=200)))
@settings(max_examples=5 * settings().max_examples)
def test_nothing_raises_and_all_lies_in_the_answer(text: str) -> None:
    parsed = read(text)
    assert all(0 <= payload.position < len(text) for payload in parsed.payloads)
    assert all(0 <= fault.position <= len(text) for fault in parsed.faults)


@given(st.lists(st.sampled_from([piece for piece in PIECES if piece != "-->"]), max_size=40))
@settings(max_examples=5 * settings().max_examples)
def test_no_word_is_lost_and_none_is_doubled(pieces: list[str]) -> None:
    words = [f"w{number};" for number in range(len(pieces))]
    parsed = read("".join(piece + word for piece, word in zip(pieces, words, strict=True)))
    kept = parsed.thought + "".join(payload.text for payload in parsed.payloads)
    assert sorted(re.findall(r"w\d+;", kept)) == sorted(words)


GROWING: dict[str, Callable[[int], str]] = {
    "self-calls that are never closed": lambda size: "<claudius>" * size,
    "self-calls in each other": lambda size: "<claudius>" * size + "</claudius>" * size,
    "brackets": lambda size: "<" * size * 10,
    "quotes that are never closed": lambda size: "<send '\"" * size,
    "steps that are never closed": lambda size: "<todo-until>" + "<step>" * size,
    "comments that are never closed": lambda size: "<!--<![CDATA[" * size,
    "blocks of code that are never closed": lambda size: "<send>" + "```a\n~~~~~~\n" * size,
    "spans of code that are never closed": lambda size: " ".join("`" * n for n in range(int(size**0.5) * 4)),
    "blank lines": lambda size: "\n   " * size,
    "quotations": lambda size: "> a </send>\n" * size,
}
QUICK = {
    "brackets",
    "quotations",
    "blank lines",
    "spans of code that are never closed",
    "self-calls that are never closed",
}


@pytest.mark.parametrize(
    "text", [text if name in QUICK else later(text) for name, text in GROWING.items()], ids=GROWING.keys()
)
def test_a_longer_answer_takes_longer_in_proportion(text: Callable[[int], str]) -> None:
    def spent(size: int) -> float:
        times = []
        for _ in range(3):
            begun = time.process_time()
            read(text(size))
            times.append(time.process_time() - begun)
        return min(times)

    assert spent(8_000) < 30 * spent(1_000) + 0.01, "eight times as much: 64 times would be its square"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Claudius", "claudius"),
        ("Dr. Ada Lovelace", "dr-ada-lovelace"),
        ("Zoë O'Hara", "zoe-ohara"),
        ("Клавдий", "soul"),
        ("", "soul"),
        ("9 Lives", "soul-9-lives"),
        ("Ruby", "soul-ruby"),
        ("Thought", "soul-thought"),
    ],
)
def test_a_soul_has_a_tag_of_its_own(name: str, slug: str) -> None:
    assert tag_slug(name) == slug


def test_the_core_writes_well_formed_elements() -> None:
    assert make_element("context-cleared", kept_messages=10) == '<context-cleared kept_messages="10"/>'
    assert make_element("message", "a < b & c\ud800", **{"from": '<"x">'}) == (
        '<message from="&lt;&quot;x&quot;&gt;">a &lt; b &amp; c\ufffd</message>'
    )
    parsed = parse_payloads(make_element("send", "</send><send>", to='"'), slug="claudius", actions=())
    assert [*map(shown, parsed.payloads)] == ['send to=": </send><send>']
