"""The final answer of open thought, in any form."""

from __future__ import annotations

import pytest

from daemon.open_thought.thought import FinalAnswerReader, final_answer_in

SAID = {
    "alone": ("<ada-response>Yes.</ada-response>", "Yes."),
    "after a thought": ("Hm. <thought>No.</thought>\n<ada-response>Yes.</ada-response>", "Yes."),
    "with code in it": (
        "<ada-response>So:\n```\nx > 1\n```\n> quoted</ada-response>",
        "So:\n```\nx > 1\n```\n> quoted",
    ),
    "with code in its first line": ("By `x`: <ada-response>Run `ls`<br/>.</ada-response>", "Run `ls`<br/>."),
    "after code": ("```\n<ada-response>No.</ada-response>\n```\n<ada-response>Yes.</ada-response>", "Yes."),
    "in code within code": ("````\n```\n<ada-response>No.</ada-response>\n```\n````\n", ""),
    "in code in a list": ("- ```\n  <ada-response>No.</ada-response>\n  ```\n", ""),
    "in code after a tag": ("</thought>```\n<ada-response>No.</ada-response>\n```\n", ""),
    "in a comment": ("<!-- <ada-response>No.</ada-response> -->", ""),
    "after a comment": (
        "<!--\n<ada-response>No.</ada-response>\n--> <ada-response>Yes.</ada-response>",
        "Yes.",
    ),
    "after a comment's begin in code": ("By `<!--`:\n<ada-response>Yes.</ada-response>", "Yes."),
    "with code at its beginning": ("<ada-response>```\nx\n```\n</ada-response>", "```\nx\n```"),
    "after code that is no block": ("```x``` <ada-response>Yes.</ada-response>", "Yes."),
    "after code in a line": ("I write `<ada-response>`. <ada-response>Yes.</ada-response>", "Yes."),
    "in code between two backticks": ("I write ``<ada-response>`` <br/> here.", ""),
    "after a quotation": ("> <ada-response>No.</ada-response>\n<ada-response>Yes.</ada-response>", "Yes."),
    "beside what holds nothing": ('<set-timer in="9s"/><ada-response>Yes.</ada-response>', "Yes."),
    "after a plan": ("<todo-until><step>a</step></todo-until><ada-response>Yes.</ada-response>", "Yes."),
    "in a thought": ("<thought><ada-response>No.</ada-response></thought>", ""),
    "in a call to itself": ("<ada><ada-response>No.</ada-response></ada>", ""),
    "in a branch's task": ("<spawn-thread><ada-response>No.</ada-response></spawn-thread>", ""),
    "in code alone": ("```\n<ada-response>No.</ada-response>\n```", ""),
    "of another model's thoughts": ("<ada-response><think>No.</think>Yes.</ada-response>", "Yes."),
    "about sections in code": (
        "<ada-response>`<say>`, `<aside>a</aside>`:\n```\n<say>b</say>\n<next>c</next>\n```\n</ada-response>",
        "`<say>`, `<aside>a</aside>`:\n```\n<say>b</say>\n<next>c</next>\n```",
    ),
    "about itself in code": (
        "<ada-response>`</ada-response>` ends, `<thought>` hides:\n```\n<ada-response>a</ada-response>\n"
        "<send>b</send>\n```\n</ada-response><thought>No.</thought>",
        "`</ada-response>` ends, `<thought>` hides:\n```\n<ada-response>a</ada-response>\n"
        "<send>b</send>\n```",
    ),
    "not at all": ("Nothing is said here.", ""),
}


@pytest.mark.parametrize("name", SAID)
def test_only_what_stands_in_it_is_said(name: str) -> None:
    text, said = SAID[name]
    assert final_answer_in(text, "ada") == said


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_in_pieces_of_any_size_nothing_else_is_ever_read(name: str, size: int) -> None:
    text, said = SAID[name]
    final, shown = FinalAnswerReader("ada"), ""
    for start in range(0, len(text), size):
        final.feed(text[start : start + size])
        assert final.text.startswith(shown), "it only grows"
        shown = final.text
        assert said.startswith(shown) or shown.startswith(said)
    final.end()
    assert final.text == said


def test_asked_for_alone_it_may_stand_in_no_tag() -> None:
    assert final_answer_in("Yes.", "ada", alone=True) == "Yes."
    assert final_answer_in("<thought>No.</thought>Yes.", "ada", alone=True) == "Yes."
    assert final_answer_in("<thought>No.", "ada", alone=True) == ""
