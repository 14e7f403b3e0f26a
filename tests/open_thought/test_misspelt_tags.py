"""Unknown tags: misspelt payloads, or plain text."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from daemon.open_thought.markup import MOST_MISSPELT
from daemon.open_thought.payloads import parse_payloads

ACTIONS = ("SearchMemory", "ReadThread")
ON = "<claudius>On.</claudius>"
LONGEST = 3.0
"""Seconds of CPU for 200,000 characters."""


def misspelt(text: str) -> list[tuple[str, str]]:
    return [(one.tag, one.nearest) for one in parse_payloads(text, slug="claudius", actions=ACTIONS).misspelt]


NEAR = {
    "an action with underscores": ("<search_memory>ferry</search_memory>", "SearchMemory"),
    "an action in small letters": ("<readthread/>", "ReadThread"),
    "letters that changed places": ("<SearchMemroy>ferry</SearchMemroy>", "SearchMemory"),
    "a payload with an underscore": (
        '<spawn_thread suggested_sub_id="a"><initial-payload>b</initial-payload></spawn_thread>',
        "spawn-thread",
    ),
    "a payload in capitals": ("<Spawn-Thread>a</Spawn-Thread>", "spawn-thread"),
    "a payload without its hyphen": ('<settimer in="90s"/>', "set-timer"),
    "a plan": ('<todo_until condition="c"><step>a</step></todo_until>', "todo-until"),
    "its own tag": ("<Claudius>On.</Claudius>", "claudius"),
    "its final answer": ("<claudius_response>Yes.</claudius_response>", "claudius-response"),
    "one that is never closed": ('<spawn_thread suggested_sub_id="a">b\n', "spawn-thread"),
    "one amid words": ("I look: <search_memory>ferry</search_memory> and wait. ", "SearchMemory"),
}


@pytest.mark.parametrize(("text", "meant"), NEAR.values(), ids=NEAR.keys())
def test_a_misspelt_tag_is_named_with_the_nearest_one(text: str, meant: str) -> None:
    for answer in (f"{text}{ON}", f"{ON}\n{text}", f"Hm.\n{text}\n{ON}", f"<claudius>On.{text}</claudius>"):
        [(tag, near)] = misspelt(answer)
        assert f"<{tag}" in text
        assert near == meant
        payloads = parse_payloads(answer, slug="claudius", actions=ACTIONS).payloads
        assert [one.tag for one in payloads] == ["claudius"], "what is valid counts, and nothing else"


LIKE_NONE = (
    f"<Fly>to the moon</Fly>{ON}",
    f"{ON}<Fly/>",
    f"{ON}<Fly>",
    f"Hm.\n<Fly>\n{ON}",
    f"One.<Fly>moon</Fly>{ON}",
    f'Words.\n<Fly to="moon">now</Fly>\nMore words.\n{ON}',
    f"- <Fly>moon</Fly>\n{ON}",
    "<claudius><Fly>moon</Fly></claudius>",
    f"I cannot walk. Let me fly: <Fly>moon</Fly>\nThen I shall see.\n{ON}",
    f"{ON}\nThat is all. <Fly>moon</Fly>",
    "<claudius-response>Yes.</claudius-response>\n<Fly/>",
    "<Fly/>",
)


@pytest.mark.parametrize("text", LIKE_NONE)
def test_a_tag_that_is_like_no_known_one_is_named_alone(text: str) -> None:
    assert misspelt(text) == [("Fly", "")]


WORDS = (
    "Use `<Fly>` and ``<search_memory/>``.",
    "```\n<Fly>moon</Fly>\n<search_memory>a</search_memory>\n```\n",
    "~~~xml\n<Fly/>\n~~~\n",
    "    <Fly>moon</Fly>\n",
    "> <Fly>moon</Fly>\n",
    "<!-- <Fly/> -->",
    "<![CDATA[<Fly/>]]>",
    "List<int>, Map<String> and Option<SearchMemory>",
    "Write to <a@b.example>, see <https://a.example/x?y> and <http://a.example|there>.",
    "<@U123> said it in <#C123|general>, <!here>.",
    "<b>bold</b><br/><div><my-part>x</my-part></div>",
    "<table>\n<row>x</row>\n</table>\n",
    "<thinking>Hm. <Fly>moon</Fly></thinking>",
    "<thinking>\n<search_memory>a</search_memory>\n</thinking>",
    "<think>",
    "<my_reasoning>a</my_reasoning>",
    "<aside>a</aside>",
    "<thougth>a</thougth>",
    "<thought>I could <Fly>moon</Fly>.</thought>",
    "</Fly>",
    "Write <your name> here, press <Enter>, then git checkout <branch>.",
    "I think <foo>bar</foo> is XML.",
    "I think of <foo>bar</foo>\nas of XML.",
    "It reads so: <foo>bar</foo>, which is XML.",
    "#include <vector>\n",
    "Dear Sir,\n<Name>\n<Address>\nYours.\n",
    "I could write <search_memory> next.",
    "if a <b and c> d then x <y",
    "<step>a</step><item>b</item><huh>c</huh>",
    "&lt;Fly&gt;",
    '<send to="sess-1">Use <search_memory>a</search_memory>.</send>',
    "<claudius-response>Use <Fly>moon</Fly>.</claudius-response>",
    "<Claudius-Response>Yes.</Claudius-Response>",
    "<SearchMemory><querry>a</querry></SearchMemory>",
    "<todo-until><step>Use <foo>a</foo>.</step><b>c</b><thinking>Hm.</thinking></todo-until>",
    "<spawn-thread><report>a</report></spawn-thread>",
    "<fo",
)


@pytest.mark.parametrize("text", WORDS)
def test_other_brackets_are_only_words(text: str) -> None:
    assert not misspelt(f"{text} {ON}")
    assert not misspelt(f"Hm.\n{text}")


@pytest.mark.parametrize(
    ("text", "tag", "part"),
    [
        ("<todo-until><stpe>a</stpe><step>b</step></todo-until>", "stpe", "step"),
        ("<todo-until><stepp>a</stepp></todo-until>", "stepp", "step"),
        ("<fan-out><item>a</item>\n<itme><x>b</x></itme><itme>c</itme></fan-out>", "itme", "item"),
    ],
)
def test_a_misspelt_step_or_item_is_named(text: str, tag: str, part: str) -> None:
    assert misspelt(text) == misspelt(f"{ON}{text}") == [(tag, part)]


def test_each_is_named_once_where_it_first_stands_and_not_too_many() -> None:
    [one] = parse_payloads(f"{ON}<Fly/><Fly/>", slug="claudius", actions=ACTIONS).misspelt
    assert one.position == len(ON)
    assert len(misspelt("\n".join(f"<Fly{number}/>" for number in range(50)))) == MOST_MISSPELT


@pytest.mark.parametrize(
    "text",
    [
        lambda n: "x <a1/> " * n,
        lambda n: "".join(f"x <a{number}/> y " for number in range(n)),
        lambda n: "<Fly>" * n,
        lambda n: "".join(f"<b{number}>" for number in range(n)),
        lambda n: " " * n + "<x>" * n,
    ],
)
def test_a_long_answer_is_read_at_once(text: Callable[[int], str]) -> None:
    began = time.process_time()
    misspelt(text(40_000))
    assert time.process_time() - began < LONGEST
