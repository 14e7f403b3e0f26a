"""The chooser's prompt, which only grows."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from daemon.prompts.chooser import ChooserTexts, PromptPart
from tests.ism.chooser import CONTEXT, Chooser, Deeds, choose, grows, in_turn, run

NAMES = st.sampled_from(["A", "B", "DONE", "Unknown"])
PIECES = st.sampled_from([*'{}[]",<>/ \n$éx🙂', "result", "DONE", "message", '"actions":'])
TEXT = st.lists(PIECES, max_size=12).map("".join)
REPLIES = st.lists(st.one_of(st.lists(NAMES, max_size=4).map(lambda names: choose(*names)), TEXT), min_size=1)
CAME = st.lists(st.one_of(st.none(), st.none(), TEXT), max_size=12)


@given(REPLIES, st.lists(TEXT, min_size=8, max_size=8), CAME)
async def test_each_prompt_begins_with_the_one_before(
    replies: list[str], found: list[str], came: list[str | None]
) -> None:
    deeds = Deeds()
    actions = [deeds.action("A", found), deeds.action("B", OSError("away"))]
    chooser = Chooser(*replies)
    result = await run(chooser, actions, check_interrupt=in_turn(*came), max_loops=8)
    assert grows(chooser.prompts)
    last = chooser.prompts[-1].parts if chooser.prompts else ()
    assert result.parts[: len(last)] == last
    assert result.loops <= 8
    assert result.calls <= 8 * 4
    assert result.stop_reason


async def test_the_first_prompt_holds_everything() -> None:
    chooser = Chooser(choose("DONE"))
    await run(chooser, Deeds().actions("B", "A"))
    [prompt] = chooser.prompts
    assert isinstance(prompt.text, str)
    assert prompt.text.startswith(CONTEXT)
    for part in ("find out why", "look before you speak", "- **B**: what B does\n- **A**: what A does"):
        assert part in prompt.parts[0].text
        assert part in prompt.text
    assert len(prompt.parts) == 1
    assert prompt.text.endswith(prompt.question)
    assert "DONE" in prompt.text


async def test_an_answer_stands_in_the_next_prompt_as_it_came() -> None:
    reply = f"Well:\n{choose('A')}\n"
    chooser = Chooser(reply, choose("DONE"))
    await run(chooser, Deeds().actions("A"))
    assert chooser.prompts[1].parts[1] == PromptPart("assistant", reply)
    assert f"You chose:\n{reply.strip()}" in chooser.prompts[1].text


async def test_a_bare_function_is_shown_the_same_as_one_text() -> None:
    chooser = Chooser(choose("A"), choose("DONE"))
    texts: list[str] = []

    async def invoke_llm(prompt: str) -> str:
        texts.append(prompt)
        return choose("A") if len(texts) == 1 else choose("DONE")

    await run(chooser, Deeds().actions("A"))
    await run(invoke_llm, Deeds().actions("A"))
    assert texts == [prompt.text for prompt in chooser.prompts]


async def test_a_round_costs_what_it_added_however_many_there_were() -> None:
    chooser = Chooser(choose("A"))
    await run(chooser, Deeds().actions("A"), max_loops=10)
    sizes = [len("".join(part.text for part in prompt.parts)) for prompt in chooser.prompts]
    assert len({now - before for before, now in pairwise(sizes)}) == 1


def test_nothing_on_the_wire_asks_for_reasoning() -> None:
    words = json.dumps([getattr(ChooserTexts(), name) for name in ChooserTexts.__dataclass_fields__]).lower()
    for word in ("reasoning", "thinking", "scratchpad", "chain of thought"):
        assert word not in words
