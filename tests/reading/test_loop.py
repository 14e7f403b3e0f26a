"""Cells and final answers in any model's text: no errors, linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.reading.loop import ReaderAnswer, parse_reader_answer
from tests.soak import but

TICKS = "```"
ANY = st.text(st.characters(exclude_categories=()))
"""Any text, surrogates included."""
PIECES = st.sampled_from(
    [
        "```",
        "````",
        "~~~",
        "```repl",
        "```python",
        "``` py ",
        "```js",
        "```repl title",
        "```repl x = 1```",
        "Final Answer:",
        "**Final answer**",
        "FINAL(",
        "FINAL_VAR(",
        "SUBMIT(",
        ")",
        "'",
        '"""',
        "\\",
        "\n",
        "\r\n",
        "\r",
        "\x0c",
        "\u2028",
        "\ud800",
        " ",
        "    ",
        "x = 1",
        "print('a')",
        "answer",
    ]
)
QUOTES = re.compile("\"{3}|'{3}")
"""Start of a multi-line string, in which fences are text."""
ODD = st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join)
CODE = st.text(st.characters(exclude_characters="`\r\n", exclude_categories=["Cs"]), min_size=1).filter(
    str.strip
)


def test_a_fence_may_be_of_tildes() -> None:
    for code in ("print('a')", "print('''\n```\n''')", "x = '~~~'"):
        assert parse_reader_answer(f"Hm.\n~~~python\n{code}\n~~~\nThat is all.") == ReaderAnswer(
            cells=(code,)
        )
    assert parse_reader_answer("~~~repl\nprint(1)~~~\nHm.") == ReaderAnswer(cells=("print(1)",))
    assert parse_reader_answer("~~~text\n```repl\nprint(1)\n```\n~~~") == ReaderAnswer(), (
        "code that it only quotes"
    )
    assert parse_reader_answer("```repl\nx = 1\n~~~\n```") == ReaderAnswer(cells=("x = 1\n~~~",)), (
        "each ends with its own"
    )
    assert parse_reader_answer("~~~\nFINAL(1)\n~~~~\nFINAL(2)") == ReaderAnswer(final="2", finals=1)


def fenced(code: str, language: str = "repl") -> str:
    return f"{TICKS}{language}\n{code}\n{TICKS}"


@given(text=ANY | ODD)
def test_any_text_is_something(text: str) -> None:
    found = parse_reader_answer(text)
    assert all(cell.strip() for cell in found.cells)
    assert not (found.cells and (found.final is not None or found.variable or found.finals))
    assert (found.final is not None) + bool(found.variable) <= 1
    assert (found.final is not None or bool(found.variable)) <= (found.finals == 1)


@given(
    codes=st.lists(CODE.filter(lambda code: not QUOTES.search(code)), min_size=1, max_size=4),
    language=st.sampled_from(["repl", "python", "py", "Python3"]),
)
def test_cells_come_as_they_were_written(codes: list[str], language: str) -> None:
    text = "\nand then\n".join(fenced(code, language) for code in codes)
    assert parse_reader_answer(text).cells == tuple(codes)


PROMPT = f'''part = context[:200]
prompt = f"""Which piers are named?
{TICKS}
{{part}}
{TICKS}
Answer like this:
{TICKS}python
[1, 2]
{TICKS}
"""
said = llm_query(prompt)'''


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_a_fence_in_a_string_does_not_end_the_cell(quotes: str) -> None:
    code = PROMPT.replace('"""', quotes)
    assert parse_reader_answer(f"I ask.\n{fenced(code)}\nThen:\n{fenced('x = 1')}").cells == (code, "x = 1")
    assert parse_reader_answer(f"I ask.\n{TICKS}repl\n{code}").cells == (code,), "not closed, and whole"
    windows = fenced(code).replace("\n", "\r\n")
    assert parse_reader_answer(windows).cells == (code,)


def test_a_string_that_is_never_closed_ends_with_its_cell() -> None:
    code = 'x = """open'
    assert parse_reader_answer(f"{fenced(code)}\nand\n{fenced('y = 2')}").cells == (code, "y = 2")


def test_code_that_is_wrong_otherwise_ends_at_its_first_fence() -> None:
    code = 'x = (1\ny = """a"""'
    assert parse_reader_answer(f"{fenced(code)}\nand\n{fenced('z = )')}").cells == (code, "z = )")


@given(code=CODE)
def test_a_cell_may_end_its_lines_as_windows_does(code: str) -> None:
    assert parse_reader_answer(fenced(f"{code}\n{code}").replace("\n", "\r\n")).cells == (f"{code}\n{code}",)


@given(before=CODE, code=CODE, ticks=st.integers(4, 9))
def test_a_longer_fence_holds_shorter_ones(before: str, code: str, ticks: int) -> None:
    longer = "`" * ticks
    assert parse_reader_answer(f"{longer}\n{fenced(code)}\n{longer}\n{fenced(before)}").cells == (before,)
    assert parse_reader_answer(f"{longer}repl\n{before}\n{TICKS}\n{longer}").cells == (f"{before}\n{TICKS}",)


@pytest.mark.parametrize("language", ["", "js", "text", "replica", "json"])
def test_blocks_of_other_languages_do_not_run(language: str) -> None:
    assert parse_reader_answer(f"{fenced('FINAL(no)', language)}\nFINAL(yes)") == ReaderAnswer(
        final="yes", finals=1
    )


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("```repl print(1)```", ["print(1)"]),
        ("```python x=1```", ["x=1"]),
        ("  ```Python3  x = 1; print(x)  ```  ", ["x = 1; print(x)"]),
        ("````py s = '```'````", ["s = '```'"]),
        (
            "I will write code to solve sub-problem Y. ```python result = llm_query('Solve Y') ```",
            ["result = llm_query('Solve Y')"],
        ),
        ("**Code:** ```repl x```", ["x"]),
        ("- ```repl x```\n2. ```repl y```\n3) ```repl z```", ["x", "y", "z"]),
        ("```repl x``` ```python y```", ["x", "y"]),
        ("Then:\n```repl x```\nand that is all.", ["x"]),
        ("```repl x```\n```repl\ny\n```\n```repl z```", ["x", "y", "z"]),
        ("```repl x```\r\n", ["x"]),
    ],
)
def test_a_block_on_one_line_is_a_cell(text: str, cells: list[str]) -> None:
    assert parse_reader_answer(text).cells == tuple(cells)
    assert parse_reader_answer(text, whole=False).cells == tuple(cells)


@pytest.mark.parametrize(
    "text",
    [
        "You could write ```python x = 1``` there.",
        "That is what I mean by ```python x = 1```",
        "```python x = 1``` sets it.",
        "> ```python x = 1```",
        "`python x = 1`",
        "``python x = 1``",
        "```print(1)```",
        "``` print(1) ```",
        "```js print(1)```",
        "```repl```",
        "```repl print(1)````",
        "```text\n```repl print(1)```\n```",
    ],
)
def test_code_within_a_sentence_or_in_another_block_does_not_run(text: str) -> None:
    assert parse_reader_answer(text) == ReaderAnswer()


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("```python x = 1\nprint(x)\n```", ["x = 1\nprint(x)"]),
        ("```repl print(1)\n```", ["print(1)"]),
        ("```python x=1\n```", ["x=1"]),
        ("```python x=f(1)\nx\n```", ["x=f(1)\nx"]),
        ("```python import os\nprint(os)\n```", ["import os\nprint(os)"]),
        ("```repl\nprint(1)```", ["print(1)"]),
        ("```repl\nx = 1\nprint(x)``` \nThen:\n```repl\nprint(2)\n```", ["x = 1\nprint(x)", "print(2)"]),
    ],
)
def test_a_cell_may_share_its_lines_with_its_fences(text: str, cells: list[str]) -> None:
    assert parse_reader_answer(text).cells == tuple(cells)


@pytest.mark.parametrize(
    "title", ["title", "look.py", "{.numbered}", "(first part)", "step 1: look", "title=look n='a b'"]
)
def test_a_title_of_a_block_is_no_code(title: str) -> None:
    assert parse_reader_answer(fenced("x = 1", f"python {title}")).cells == ("x = 1",)


@given(code=CODE)
def test_a_cell_that_is_not_closed_counts_where_the_answer_is_whole(code: str) -> None:
    text = f"I will look.\n{TICKS}repl\n{code}"
    assert parse_reader_answer(text).cells == (code,)
    assert parse_reader_answer(text, whole=False).cells == ()
    assert parse_reader_answer(f"{fenced('first')}\n{text}", whole=False).cells == ("first",)


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("FINAL(77)", "77"),
        ("  FINAL( 77 )  ", "77"),
        ("FINAL('77')", "77"),
        ('FINAL("""77\n78""")', "77\n78"),
        ("FINAL(It is 77 (or so).)", "It is 77 (or so)."),
        ("FINAL(It is 77,\nas said on line 3\n(see there).)", "It is 77,\nas said on line 3\n(see there)."),
        ("FINAL(It is 77,\nand that is all.", "It is 77,\nand that is all."),
        ("FINAL('it''s)", "'it''s"),
        ("FINAL()", ""),
        ("SUBMIT(77)", "77"),
        ("I know it.\nFINAL(77)\nThat is all.", "77"),
        ("FINAL(77)\nand again\nFINAL(77)", "77"),
        ("FINAL(77)\r\nThat is all.\r\n", "77"),
    ],
)
def test_a_final_answer_stands_on_a_line_of_its_own(text: str, final: str) -> None:
    assert parse_reader_answer(text) == ReaderAnswer(final=final, finals=1)


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("Final Answer: 77", "77"),
        ("I looked at all of it.\n\nfinal answer:\n77", "77"),
        ("FINAL ANSWER\uff1a 77", "77"),
        ("**Final Answer:** 77", "77"),
        ("**Final Answer**: **77**", "**77**"),
        ("**Final Answer: 77**", "77"),
        ("__Final answer:__ a_b_", "a_b_"),
        ("### Final Answer\n\n77\n\n- as said on line 3", "77\n\n- as said on line 3"),
        ("**Final Answer**\n77", "77"),
        ("   Final Answer: It is 77,\r\nor so.\r\n", "It is 77,\nor so."),
        ("Final Answer:\n```json\n[77]\n```\nas asked.", "```json\n[77]\n```\nas asked."),
        ("Final Answer: 'it''s", "'it''s"),
        ("Final Answer: FINAL(77)", "77"),
        ("Final Answer:\nFINAL('77')\nThat is all.", "77"),
        ("Final Answer: 77\nFinal Answer: 77", "77"),
        ("The final answer: 77", "77"),
        ("My final answer: 77", "77"),
        ("Here is my final answer:\n\n77", "77"),
        ("Final answer is: 77", "77"),
        ("**The final answer is:** 77", "77"),
        ("## The Final Answer\n77", "77"),
        ("Final Answer:\n~~~json\n[77]\n~~~\nas asked.", "~~~json\n[77]\n~~~\nas asked."),
    ],
)
def test_a_final_answer_may_stand_in_prose_after_its_label(text: str, final: str) -> None:
    assert parse_reader_answer(text) == ReaderAnswer(final=final, finals=1)


def test_a_label_may_lead_to_a_variable() -> None:
    assert parse_reader_answer("Final Answer: FINAL_VAR(found)") == ReaderAnswer(variable="found", finals=1)


@pytest.mark.parametrize(
    "text",
    [
        "I will say Final Answer: 77 when I know it.",
        'It said "Final Answer: 77"',
        "> Final Answer: 77",
        "`Final Answer: 77`",
        "    Final Answer: 77",
        "```\nFinal Answer: 77\n```",
        "```text\nFinal Answer: 77",
        "~~~\nFinal Answer: 77\n~~~",
        "~~~text\n```\nFinal Answer: 77\n```\n~~~",
        "The final answer is near.",
        "The final answer: ",
        "Is the final answer: 77",
        "Final Answer",
        "Final Answer:",
        "Final Answers: 77",
        "Final Answer is near.",
        "Semifinal Answer: 77",
    ],
)
def test_a_label_in_a_block_or_a_sentence_begins_no_answer(text: str) -> None:
    assert parse_reader_answer(text) == ReaderAnswer()


def test_half_a_labelled_answer_is_none() -> None:
    assert parse_reader_answer("Final Answer: It is 77, as", whole=False) == ReaderAnswer()


@pytest.mark.parametrize(
    "text",
    ["So FINAL(77)", "`FINAL(77)`", "FINALLY(77)", "FINAL (77)", "final(77)", "> FINAL(77)", "FINAL 77", ""],
)
def test_what_only_speaks_of_one_is_none(text: str) -> None:
    assert parse_reader_answer(text) == ReaderAnswer()


def test_two_different_ones_are_none() -> None:
    assert parse_reader_answer("FINAL(77)\nFINAL(78)") == ReaderAnswer(finals=2)
    assert parse_reader_answer("FINAL(x)\nFINAL_VAR(x)") == ReaderAnswer(finals=2)
    assert parse_reader_answer("Final Answer: 77\nFinal Answer: 78") == ReaderAnswer(finals=2)


@pytest.mark.parametrize("name", ["found", "'found'", '"found"'])
def test_a_variable_is_named_with_quotes_or_without(name: str) -> None:
    assert parse_reader_answer(f"FINAL_VAR({name})") == ReaderAnswer(variable="found", finals=1)


def test_with_a_cell_no_final_beside_it_counts() -> None:
    assert parse_reader_answer(f"{fenced('n = 1')}\nFINAL(77)") == ReaderAnswer(cells=("n = 1",))
    assert parse_reader_answer(f"FINAL(77)\n{fenced('n = 1')}") == ReaderAnswer(cells=("n = 1",))
    assert parse_reader_answer(f"Final Answer: 77\n{fenced('n = 1')}") == ReaderAnswer(cells=("n = 1",))
    assert parse_reader_answer("```repl n = 1```\nFinal Answer: 77") == ReaderAnswer(cells=("n = 1",))


LONG = 200_000
LONG_ONES = {
    "white space in a fence": f"```{' ' * LONG}!",
    "ticks": f"{'`' * LONG}!",
    "a language": f"```{'a' * LONG}!",
    "white space before a final": f"{' ' * LONG}FINAL",
    "finals": "FINAL(\n" * (LONG // 7),
    "finals that end": "FINAL(a)\n" * (LONG // 9),
    "brackets": f"FINAL({'(' * LONG}",
    "closed brackets": f"FINAL({'(' * LONG}{')' * LONG}",
    "signs": f"FINAL({'-' * LONG}1)",
    "digits": f"FINAL({'9' * LONG})",
    "quotes": f"FINAL({chr(39) * LONG})",
    "fences": "```\n" * (LONG // 4),
    "cells": "```repl\nx\n```\n" * (LONG // 14),
    "tildes": f"{'~' * LONG}!`",
    "white space in a fence of tildes": f"~~~{' ' * LONG}`",
    "fences that end lines": f"```repl\n{'x```' + chr(10)}" * (LONG // 12),
    "a cell with fences that end its lines": f"```repl\n{'(x```' + chr(10)}" + "(x```\n" * (LONG // 6),
    "blocks on one line": "```repl x``` " * (LONG // 13),
    "such blocks that never end": "".join(f"{'`' * n}repl x" for n in range(600, 3, -1)),
    "labels": "Final Answer: a\n" * (LONG // 16),
    "white space in a label": f"Final Answer{' ' * LONG}!",
    "white space before a block": f"{' ' * LONG}! ```repl x```",
    "lines": "\n" * LONG,
    "carriage returns": "\r" * LONG,
}


@pytest.mark.parametrize(
    "text", but(LONG_ONES.values(), [LONG_ONES["finals that end"]]), ids=LONG_ONES.keys()
)
def test_a_long_answer_takes_no_longer_than_it_is(text: str) -> None:
    found = parse_reader_answer(text)
    assert len(found.cells) <= LONG
