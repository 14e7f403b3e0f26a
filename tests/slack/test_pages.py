"""Long texts as messages: complete, bounded and stable."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from daemon.ports import MessagePage
from daemon.slack.markdown import escape_mentions, escape_settled_mentions, mask_code
from daemon.slack.pages import MOST, PARAGRAPH, page_break, pages
from tests.slack.prose import CODE, PROSE, ROW, TABLE, long

LIMIT = 11_000
LINES = [PROSE, f"{PROSE}\n", "\n", "\n\n", CODE, ROW, "- item\n", "## Title\n\n", "As follows:\n", "x" * 700]
OPENINGS = ["```python\n", "~~~\n", "   ```\n", "- ```js\n", "> ```\n", "````md\n", "```\n", TABLE]
CLOSINGS = ["```\n", "~~~\n", "   ```\n\n", "````\n", "\n> ```\n"]
SIGNS = [
    "<@U1>",
    "<!channel>",
    "@here ",
    "`code` ",
    "[label](https://x.y/z) ",
    "👩‍👩‍👧",
    "🇩🇪🇫🇷",
    "é́",
    "字。",
    "<",
    "`",
]
PIECES = [*LINES, *OPENINGS, *CLOSINGS, *SIGNS]
PING = re.compile(r"<@U1>|<!channel>|(?<![\w\u0300-\u036f@./+-])@here(?= )")
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""Shrinking long texts takes minutes."""
FAR = st.builds(long, st.sampled_from([*LINES, *SIGNS]), st.integers(9_500, 11_000))
"""Text near the end of a page."""
PLACES = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
PARTS = st.lists(st.tuples(PLACES, FAR, PLACES).map("".join), min_size=1, max_size=2)
TEXTS = PARTS.map("".join).filter(str.strip)
CUTS = st.lists(st.integers(0, 25_000), max_size=3, unique=True).map(sorted)


def bare(text: str) -> str:
    """Remove white space, which cuts may drop."""
    return "".join(text.split())


def between(found: Sequence[MessagePage]) -> list[tuple[int, MessagePage]]:
    return list(zip([0, *(page.upto for page in found)], found, strict=False))


def repeated(text: str, found: Sequence[MessagePage]) -> int:
    """Check each page's text; return the surplus characters of all."""
    more = 0
    for since, page in between(found):
        own, shown = bare(text[since : page.upto]), bare(page.text)
        held = own in shown or re.sub(r"^>?[`~]{1,20}|>?[`~]{1,20}$", "", own) in shown
        assert held, (own[:60], shown[:60])
        more += len(shown) - len(own)
    return more


@settings(max_examples=40, phases=PHASES)
@given(TEXTS, CUTS)
def test_nothing_is_lost_empty_or_too_long(text: str, cuts: list[int]) -> None:
    found = pages(text, cuts)
    assert found[-1].upto == len(text)
    assert all(page.text.strip() and len(escape_mentions(page.text)) < LIMIT for page in found)
    assert not any(PING.search(mask_code(escape_mentions(page.text)).text) for page in found)
    assert abs(repeated(text, found)) <= 300 * len(found)
    assert pages(text, [page.upto for page in found[:-1]])[:-1] == found[:-1]


@settings(max_examples=settings().max_examples // 5, phases=PHASES)
@given(TEXTS, CUTS, st.lists(st.integers(0, 25_000), max_size=20))
def test_of_a_growing_text_only_the_last_page_grows(text: str, cuts: list[int], lengths: list[int]) -> None:
    near = {page.upto + n for page in pages(text, cuts) for n in range(-4, 16)}
    before = list[MessagePage]()
    for length in sorted({n for n in (*near, *lengths, len(text)) if 0 < n <= len(text)}):
        now = pages(text[:length], cuts)
        assert len(now) >= len(before)
        assert [page.text for page in now[: len(before) - 1]] == [page.text for page in before[:-1]]
        if before:
            assert now[len(before) - 1].text.startswith(before[-1].text)
            assert escape_mentions(now[len(before) - 1].text).startswith(
                escape_settled_mentions(before[-1].text)
            )
        before = now


@settings(max_examples=60, phases=PHASES)
@given(TEXTS, st.integers(0, 25_000))
def test_a_text_can_always_be_broken_off(text: str, since: int) -> None:
    end = page_break(text, since)
    assert end <= len(text)
    if text[since:].strip():
        assert text[since:end].strip()


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_no_text_is_no_message(text: str) -> None:
    assert pages(text) == []


def test_a_short_text_is_one_message() -> None:
    assert pages("\n Good morning. \n") == [MessagePage(text="Good morning.", upto=17)]
    assert pages("Good morning. \n", [13]) == [MessagePage(text="Good morning.", upto=15)]


def test_marks_without_end_in_a_fence_are_code() -> None:
    text = "```\n" + "`" * 15_000
    assert abs(repeated(text, pages(text))) < 20


def test_a_page_ends_with_a_paragraph() -> None:
    text = (PROSE * 10 + "\n\n") * 40
    first, *_ = pages(text)
    assert first.text.endswith("minds.")
    assert text.startswith("\n\n", first.upto + 1)
    assert PARAGRAPH <= len(first.text) < PARAGRAPH + 700


def test_a_page_does_not_end_with_a_heading_or_a_colon() -> None:
    for ahead in ("## Next", "**Next:**", "Such as these:"):
        text = long(PROSE, PARAGRAPH) + f"\n\n{ahead}\n\n" + (PROSE * 2 + "\n\n") * 20
        first, second = pages(text)
        assert first.text.endswith("minds."), ahead
        start = long(PROSE, PARAGRAPH).rstrip()
        assert first.text == start or ahead in first.text.removesuffix(ahead)
        assert second.text.startswith("The quick") or second.text.startswith(ahead)


@pytest.mark.parametrize("sign", ["👩‍👩‍👧", "🇩🇪", "👍🏽", "e\u0301", "🏴\U000e0067\U000e007f"])
def test_a_sign_of_several_characters_is_not_cut(sign: str) -> None:
    for ahead in range(len(sign)):
        for before in ("x" * ahead, "`" + "x" * ahead):
            first, *_ = pages(before + sign * (15_000 // len(sign)))
            assert (len(first.text) - len(before)) % len(sign) == 0


@pytest.mark.parametrize(
    "span", ["`a bit of code` ", "[a label here](https://x.org) ", "<https://x.org|a label> "]
)
def test_a_link_is_not_cut(span: str) -> None:
    for ahead in range(len(span)):
        first, second = pages("x" * ahead + " " + span * (15_000 // len(span)))
        assert second.text.startswith(span)
        assert first.text.endswith(span.strip())


def test_what_is_made_quiet_is_counted_as_it_is_posted() -> None:
    for text in ("<@U1>" * 3_000, "@here" * 3_000, "<@here" * 3_000):
        assert all(len(escape_mentions(page.text)) <= MOST for page in pages(text))


def test_the_first_pages_end_where_they_are_told_to() -> None:
    text = f"One.\n\n```js\na()\nb()\n```\n\n{PROSE}"
    found = pages(text, [4, text.index("\nb()")])
    assert [page.text for page in found] == ["One.", "```js\na()\n```", f"```js\nb()\n```\n\n{PROSE.strip()}"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("One. Two.\n\nThree. Fo", "One. Two."),
        ("One. Two.\nThree. Fo", "One. Two."),
        ("One. Two. Th", "One. Two."),
        ("one two th", "one two"),
        ("onetwo", "onetwo"),
        ("One.\n\n## Two\n\nth", "One."),
        ("one `two three` [a b](c d", "one `two three`"),
        ("One. " + "x" * 500, "One. " + "x" * 500),
    ],
)
def test_a_text_is_broken_off_at_the_last_good_place_nearby(text: str, kept: str) -> None:
    assert text[: page_break(text, 0)] == kept
