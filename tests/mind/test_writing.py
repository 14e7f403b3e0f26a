"""Cells and final answers are found in whatever a model writes: never an error, and never a long wait."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.mind.writing import Written, written
from tests.soak import but

TICKS = "```"
ANY = st.text(st.characters(exclude_categories=()))
"""Half characters and all."""
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
"""What begins a string of several lines, in which a fence is text."""
ODD = st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join)
CODE = st.text(st.characters(exclude_characters="`\r\n", exclude_categories=["Cs"]), min_size=1).filter(
    str.strip
)


def fenced(code: str, language: str = "repl") -> str:
    return f"{TICKS}{language}\n{code}\n{TICKS}"


@given(text=ANY | ODD)
def test_any_text_is_something(text: str) -> None:
    found = written(text)
    assert all(cell.strip() for cell in found.cells)
    assert not (found.cells and (found.final is not None or found.variable or found.finals))
    assert (found.final is not None) + bool(found.variable) <= 1
    assert (found.final is not None or bool(found.variable)) <= (found.finals == 1)


@given(
    codes=st.lists(CODE.filter(lambda code: not QUOTES.search(code)), min_size=1, max_size=4),
    language=st.sampled_from(["repl", "python", "py", "Python3"]),
)
def test_cells_come_as_they_were_written(codes: list[str], language: str) -> None:
    """Whatever stands in them: a line ends where it ends for Python, and nowhere else."""
    text = "\nand then\n".join(fenced(code, language) for code in codes)
    assert written(text).cells == tuple(codes)


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
    assert written(f"I ask.\n{fenced(code)}\nThen:\n{fenced('x = 1')}").cells == (code, "x = 1")
    assert written(f"I ask.\n{TICKS}repl\n{code}").cells == (code,), "not closed, and whole"
    windows = fenced(code).replace("\n", "\r\n")
    assert written(windows).cells == (code,)


def test_a_string_that_is_never_closed_ends_with_its_cell() -> None:
    code = 'x = """open'
    assert written(f"{fenced(code)}\nand\n{fenced('y = 2')}").cells == (code, "y = 2")


def test_code_that_is_wrong_otherwise_ends_at_its_first_fence() -> None:
    code = 'x = (1\ny = """a"""'
    assert written(f"{fenced(code)}\nand\n{fenced('z = )')}").cells == (code, "z = )")


@given(code=CODE)
def test_a_cell_may_end_its_lines_as_windows_does(code: str) -> None:
    assert written(fenced(f"{code}\n{code}").replace("\n", "\r\n")).cells == (f"{code}\n{code}",)


@given(before=CODE, code=CODE, ticks=st.integers(4, 9))
def test_a_longer_fence_holds_shorter_ones(before: str, code: str, ticks: int) -> None:
    """What it holds is shown, and not meant to run; a cell may be fenced so, too."""
    longer = "`" * ticks
    assert written(f"{longer}\n{fenced(code)}\n{longer}\n{fenced(before)}").cells == (before,)
    assert written(f"{longer}repl\n{before}\n{TICKS}\n{longer}").cells == (f"{before}\n{TICKS}",)


@pytest.mark.parametrize("language", ["", "js", "text", "replica", "json"])
def test_blocks_of_other_languages_do_not_run(language: str) -> None:
    assert written(f"{fenced('FINAL(no)', language)}\nFINAL(yes)") == Written(final="yes", finals=1)


@given(code=CODE)
def test_a_cell_that_is_not_closed_counts_where_the_answer_is_whole(code: str) -> None:
    text = f"I will look.\n{TICKS}repl\n{code}"
    assert written(text).cells == (code,)
    assert written(text, whole=False).cells == ()
    assert written(f"{fenced('first')}\n{text}", whole=False).cells == ("first",)


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
    assert written(text) == Written(final=final, finals=1)


@pytest.mark.parametrize(
    "text",
    ["So FINAL(77)", "`FINAL(77)`", "FINALLY(77)", "FINAL (77)", "final(77)", "> FINAL(77)", "FINAL 77", ""],
)
def test_what_only_speaks_of_one_is_none(text: str) -> None:
    assert written(text) == Written()


def test_two_different_ones_are_none() -> None:
    assert written("FINAL(77)\nFINAL(78)") == Written(finals=2)
    assert written("FINAL(x)\nFINAL_VAR(x)") == Written(finals=2)


@pytest.mark.parametrize("name", ["found", "'found'", '"found"'])
def test_a_variable_is_named_with_quotes_or_without(name: str) -> None:
    assert written(f"FINAL_VAR({name})") == Written(variable="found", finals=1)


def test_with_a_cell_no_final_beside_it_counts() -> None:
    """The code has not run yet, so it was written without knowing."""
    assert written(f"{fenced('n = 1')}\nFINAL(77)") == Written(cells=("n = 1",))
    assert written(f"FINAL(77)\n{fenced('n = 1')}") == Written(cells=("n = 1",))


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
    "lines": "\n" * LONG,
    "carriage returns": "\r" * LONG,
}


@pytest.mark.parametrize(
    "text", but(LONG_ONES.values(), [LONG_ONES["finals that end"]]), ids=LONG_ONES.keys()
)
def test_a_long_answer_takes_no_longer_than_it_is(text: str) -> None:
    """What takes the square of it would not end while anybody waits."""
    found = written(text)
    assert len(found.cells) <= LONG
