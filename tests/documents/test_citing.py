"""Checks of citations, in linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.documents.citations import (
    LONGEST_QUOTE,
    MOST_TRIES,
    ROUNDS,
    CheckedAnswer,
    CitationIndex,
    check_citations,
    check_citations_in,
)
from daemon.documents.document import Document, document_of_pages, document_of_parts
from tests.answers.test_speech_gate import grows_with

REPORT = Document(
    name="report.txt",
    text=(
        "Alpha came first.\n"
        "The costs rose to 1,500 dollars,\n"
        "they say, in the “last” year \u2013 and the well-\n"
        "known end came.\n"
        "It is 5 degrees.\n"
        "Six.\n"
        "Seven.\n"
        "日本語の文です。\n"
    ),
)
PAPER = document_of_parts(
    "A paper (2).pdf",
    document_of_pages(
        "A paper (2).pdf", ["The first page", "", "The third page ends in", "the ﬁrst line of another"]
    ),
    kind="pdf",
)
LINK = "https://team.slack.com/archives/C1/p17"
OTHER = "https://team.slack.com/archives/C1/p18?thread_ts=17&cid=C1"
THREAD = document_of_parts("thread", [(LINK, "Ann: hello there"), (OTHER, "Bob: good\nbye")], kind="thread")
SHELF = (REPORT, PAPER, THREAD)

HELD = [
    '[report.txt:1 "Alpha came first."]',
    '[report.txt:1 "alpha CAME   first"]',
    "[report.txt:1 “Alpha came first”]",
    '[Report.txt:L1 "alpha"]',
    '[report.txt line 1 "alpha"]',
    '[report.txt, lines 1-3 "dollars"]',
    '[report.txt:2 "rose to 1,500 dollars, they say"]',
    '[report.txt:2 "The costs … 1,500 … year"]',
    '[report.txt:2 "The costs [...] year"]',
    "[report.txt:3 \"the 'last' year - and\"]",
    '[report.txt:3 "the "last" year"]',
    '[report.txt:3 "the wellknown end"]',
    '[report.txt:3 "the well-known end"]',
    '[report.txt:1: "alpha"]',
    '[report.txt:8 "本語の文"]',
    '[A paper (2).pdf p.1 "first page"]',
    '[A paper (2).pdf p. 3 "third page"]',
    '[A paper (2).pdf, page 3 "ends in the first line"]',
    '[A paper (2).pdf p.4 "first line"]',
    '[A paper (2).pdf:2 "first page"]',
    f'[{LINK} "hello there"]',
    f'[<{LINK}> "Ann: hello"]',
    f'[{OTHER} "good bye"]',
]
DROPPED = [
    '[report.txt:1 "Beta came first"]',
    '[report.txt:2 "500 dollars"]',
    '[report.txt:2 "rose to 1"]',
    '[report.txt:1 "lpha came"]',
    '[report.txt:1 "Alpha cam"]',
    '[report.txt:2 "dollars … costs"]',
    '[report.txt:1 ""]',
    '[report.txt:1 "…"]',
    '[report.txt:1 "."]',
    "[report.txt:1]",
    "[report.txt:1 'Alpha']",
    '[other.txt:1 "Alpha"]',
    '[A paper (2).pdf p.2 "page"]',
    '[A paper (2).pdf p.9 "page"]',
    '[A paper (2).pdf p.2 "page ends in … page"]',
    '[context:1 "hello nobody"]',
    f"[{LINK}]",
    '[https://evil.example/archives/C1/p17 "hello there"]',
    '[report.txt:1 "Alpha',
    f'[report.txt:1 "{"Alpha … " * LONGEST_QUOTE}"]',
]
CORRECTED = {
    '[report.txt:1 "Six"]': '[report.txt:6 "Six"]',
    '[report.txt:5 "Six. Seven"]': '[report.txt:6 "Six. Seven"]',
    '[report.txt:5 "Seven"]': '[report.txt:7 "Seven"]',
    '[report.txt:7 "Six"]': '[report.txt:6 "Six"]',
    '[report.txt:2 "they say"]': '[report.txt:3 "they say"]',
    '[report.txt:1-2, "they say"]': '[report.txt:3 "they say"]',
    '[report.txt:1 or so "Alpha"]': '[report.txt:1 "Alpha"]',
    "[REPORT.txt:9 “Alpha”]": "[report.txt:1 “Alpha”]",
    '[report.txt:0 "Alpha"]': '[report.txt:1 "Alpha"]',
    '[report.txt:3-1 "Alpha"]': '[report.txt:1 "Alpha"]',
    '[report.txt:99999999999999999999 "Alpha"]': '[report.txt:1 "Alpha"]',
    '[report.txt "Alpha"]': '[report.txt:1 "Alpha"]',
    '[report.txt:7 "the well-known end"]': '[report.txt:3 "the well-known end"]',
    '[report.txt:8 "costs … they say … year"]': '[report.txt:2 "costs … they say … year"]',
    '[report.txt:1 "6│ Six. 7│ Seven."]': '[report.txt:6 "Six. Seven."]',
    '[report.txt:6│ "Six."]': '[report.txt:6 "Six."]',
    '[3│ "It is 5 degrees"]': '[report.txt:5 "It is 5 degrees"]',
    '[9 "It is 5 degrees"]': '[report.txt:5 "It is 5 degrees"]',
    '[context:3 "It is 5 degrees"]': '[report.txt:5 "It is 5 degrees"]',
    '[context:3 "hello there"]': f'[{LINK} "hello there"]',
    '[A paper (2).pdf p.1 "third page"]': '[A paper (2).pdf p.3 "third page"]',
    '[A paper (2).pdf:1 "third page"]': '[A paper (2).pdf p.3 "third page"]',
    '[A paper (2).pdf p.1 "ends in the first line"]': '[A paper (2).pdf p.3 "ends in the first line"]',
    f'[{LINK} "good bye"]': f'[{OTHER} "good bye"]',
    '[report.txt:1 "Six"; report.txt:2 "nothing"; report.txt:1 "Alpha"]': (
        '[report.txt:6 "Six"; report.txt:1 "Alpha"]'
    ),
}
PLAIN = [
    "[x](https://example.org) and [1], [x] and [ ]",
    'a["x"] = b["y:1"]; see [the "big" one] at [12:30]',
    "[report.txt] is what I read.",
    "- [ ] a task",
    "[https://example.org]",
    'He said "no" (twice); f(x)[0] = "a"',
    "",
]


@pytest.mark.parametrize("citation", HELD)
def test_what_the_place_holds_is_said(citation: str) -> None:
    text = f"It is so {citation}, they say."
    assert check_citations(text, SHELF) == CheckedAnswer(text=text, held=1, dropped=0)


@pytest.mark.parametrize(("citation", "right"), CORRECTED.items())
def test_what_stands_there_once_is_cited_with_its_place(citation: str, right: str) -> None:
    checked = check_citations(f"It is so {citation}, they say.", SHELF)
    assert checked.text == f"It is so {right}, they say."
    assert checked.held == right.count(";") + 1


TWICE = Document(name="twice.txt", text="One and one.\nTwo, and one.\nOne and one.\nthe end the end\n")


@pytest.mark.parametrize("quote", ["One and one", "and one", "one"])
def test_what_stands_there_twice_needs_its_own_line(quote: str) -> None:
    assert check_citations(f'So [twice.txt:4 "{quote}"].', [TWICE]) == CheckedAnswer(
        text="So.", held=0, dropped=1
    )
    assert check_citations(f'So [twice.txt:3 "{quote}"].', [TWICE]).held == 1


def test_what_stands_twice_in_one_line_has_one_place() -> None:
    assert check_citations('So [twice.txt:1 "the end"].', [TWICE]).text == 'So [twice.txt:4 "the end"].'


def test_what_two_files_of_one_name_both_hold_has_no_one_place() -> None:
    both = [Document(name="a.txt", text=f"{n}\nThe same words.\n") for n in "12"]
    assert check_citations('So [a.txt:9 "The same words"].', both).dropped == 1
    assert check_citations('So [a.txt:2 "The same words"].', both).held == 1


def test_no_place_is_looked_for_in_more_than_it_may_be() -> None:
    library = CitationIndex([REPORT], most_corrected=10)
    assert check_citations_in('So [report.txt:1 "Six"].', library).dropped == 1
    assert check_citations_in('So [report.txt:6 "Six"].', library).held == 1


@pytest.mark.parametrize("citation", DROPPED)
def test_what_the_place_does_not_hold_is_left_out(citation: str) -> None:
    expected = "It is so, they say." if citation.endswith("]") else "It is so"
    text = f"It is so {citation}, they say." if citation.endswith("]") else f"It is so {citation}"
    assert check_citations(text, SHELF) == CheckedAnswer(text=expected, held=0, dropped=1)


@pytest.mark.parametrize("text", PLAIN)
def test_what_cites_nothing_stays_as_it_is(text: str) -> None:
    assert check_citations(text, SHELF) == CheckedAnswer(text=text, held=0, dropped=0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is so X.", "It is so."),
        ("It is so X and so X.", "It is so and so."),
        ("It is so X X X.", "It is so."),
        ("It is so (X).", "It is so."),
        ("It is so (X, X; X) and so on.", "It is so and so on."),
        ("It is so ((X)).", "It is so."),
        ("It is so (see X).", "It is so (see)."),
        ("X It is so.", "It is so."),
        ("It is so.X", "It is so."),
        ("It is so.X\nAnd so.", "It is so.\nAnd so."),
        ("a\n- X\n- b", "a\n- b"),
        ("a\n- X", "a\n"),
        ("a\n1. b X\n2. X X\n", "a\n1. b\n"),
        ("a\nX\nb", "a\nb"),
        ("**a X** b", "**a** b"),
        ("a X— b", "a — b"),
        ("X", ""),
        ("a _b X_ ~c X~", "a _b_ ~c~"),
        ("aXb", "ab"),
        ("a X(https://example.org/x) b", "a b"),
    ],
)
def test_nobody_sees_where_something_was_left_out(text: str, expected: str) -> None:
    checked = check_citations(text.replace("X", '[report.txt:7 "nothing"]'), SHELF)
    assert (checked.text, checked.held, checked.dropped) == (expected, 0, text.count("X"))


def test_of_several_in_a_bracket_those_that_hold_stay() -> None:
    text = 'So [report.txt:1 "alpha"; report.txt:1 "omega", report.txt:6 "six"; A paper (2).pdf p.1 "page"].'
    held = 'So [report.txt:1 "alpha"; report.txt:6 "six"; A paper (2).pdf p.1 "page"].'
    assert check_citations(text, SHELF) == CheckedAnswer(text=held, held=3, dropped=1)


def test_a_quotation_may_hold_what_parts_citations() -> None:
    code = Document(name="a.py", text='x = {"a": ["b", "c"]; "d", e [0]}\n')
    text = 'So [a.py:1 "x = {"a": ["b", "c"]; "d", e"].'
    assert check_citations(text, [code]) == CheckedAnswer(text=text, held=1, dropped=0)


def test_documents_of_one_name_are_both_looked_at() -> None:
    twins = [Document(name="a.txt", text="one"), Document(name="a.txt", text="two")]
    assert check_citations('[a.txt:1 "two"] [a.txt:1 "one"] [a.txt:1 "six"]', twins).held == 2


def test_what_is_looked_through_is_bounded() -> None:
    long = Document(name="a.txt", text="word " * 38_000 + "end")
    checked = check_citations("".join(f'[a.txt:1 "{"word " * more}end"]' for more in range(1_000)), [long])
    assert (checked.held + checked.dropped, checked.held > 50, checked.dropped > 50) == (1_000, True, True)
    assert checked.text.count("[") == checked.held
    often = Document(name="a.txt", text="11 " * MOST_TRIES + "1")
    assert check_citations('[a.txt:1 "1"]', [often]).dropped == 1
    quoted = "Alpha " * LONGEST_QUOTE
    assert check_citations(f'[a.txt:1 "{quoted}"]', [Document(name="a.txt", text=quoted)]).dropped == 1


def test_a_citation_that_hides_in_another_is_found() -> None:
    wrong = '[report.txt:7 "nothing"]'
    checked = check_citations(f'a [other.txt:1 {wrong}"x"] b', SHELF)
    assert (checked.text, checked.dropped) == ("a b", 2)
    deep = "[other.txt:1 " * (ROUNDS + 2) + wrong + '"x"]' * (ROUNDS + 2)
    assert "[" not in check_citations(deep, SHELF).text


PIECES = st.sampled_from(
    [
        *HELD,
        *DROPPED[:20],
        *PLAIN,
        "[",
        "]",
        "(",
        ")",
        '"',
        "”",
        ";",
        ", ",
        " ",
        "\n",
        "- ",
        "[report.txt:1 ",
        '"alpha"',
        "word",
        "…",
        "[other.txt:1 ",
        "p.3",
        ":1",
        LINK,
        '"]',
        '[a:1 "',
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
@settings(max_examples=3 * settings().max_examples)
def test_whatever_is_written_what_is_said_holds(text: str) -> None:
    checked = check_citations(text, SHELF)
    again = check_citations(checked.text, SHELF)
    assert (again.dropped, again.held) == (0, checked.held)
    assert not checked.dropped or len(checked.text) < len(text)
    if not checked.dropped:
        assert checked.text == text


@given(
    st.lists(st.sampled_from(["word", "so it is", "a (b)", "c, d", "e; f"]), min_size=1, max_size=8),
    st.data(),
)
@settings(max_examples=2 * settings().max_examples)
def test_a_text_with_wrong_citations_in_it_reads_as_the_text(words: list[str], data: st.DataObject) -> None:
    wrong = ' [report.txt:7 "nothing"]'
    cited = [word + wrong * data.draw(st.integers(0, 3)) for word in words]
    assert check_citations(" ".join(cited), SHELF).text == " ".join(words)


HOSTILE = [
    "[",
    "[report.txt:1 ",
    '[report.txt:1 "',
    '[report.txt:1 "alpha"]',
    '[report.txt:1 "beta"]',
    '[report.txt:1 "a',
    '[a:1 "b"; ',
    '"; a:1 "b',
    '"]',
    '["',
    '", ',
    '"; ',
    "p.1",
    ":1",
    ": 1-",
    "[ ",
    "<",
    " ",
    "\n",
    "- \n",
    '([a:1 "b"])',
    '([a:1 "b"], ',
    "(",
    "…",
    "a-",
    "a- ",
    "\u0301\u0316",
    '[report.txt:1 "' + "a…" * 50 + '"]',
    '[report.txt:1 "' + "\u0301\u0316" * 50 + '"]',
]


@pytest.mark.parametrize("start", ["", '[report.txt:1 "', "[other.txt:1 "])
def test_no_answer_takes_longer_than_it_is_long(start: str) -> None:
    def work(text: str) -> object:
        return check_citations(text, SHELF)

    for piece in HOSTILE:
        text = start + piece * (50_000 // len(piece))
        assert grows_with(work, text), f"{piece!r} takes longer than it is long"


def test_no_document_takes_longer_than_it_is_long() -> None:
    for piece in ("a", "ab ", "\u0301\u0316", "a-", "a- ", "1 11 ", " ", "\n", "'"):

        def work(text: str) -> object:
            return check_citations(
                '[x:1 "b a a"] [x:1 "1 … 111"] [x:2 "zz"]' * 20, [Document(name="x", text=text)]
            )

        assert grows_with(work, piece * (200_000 // len(piece))), f"{piece!r} takes longer than it is long"


def test_the_mark_of_a_part_shows_how_it_is_cited() -> None:
    [mark] = re.findall(r"^\[(.*p17)\]$", THREAD.text, re.MULTILINE)
    assert check_citations(f'[{mark} "hello"]', SHELF).held == 1
    assert [PAPER.place(line) for line in (1, 2, 4)] == [
        "A paper (2).pdf:1",
        *(part.name for part in PAPER.parts[:2]),
    ]
