"""HTML entities, decoded except in code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.slack.markdown import ZERO_WIDTH, escape_mentions, escape_settled_mentions

SHOWN = {
    "AT&amp;T &lt;3": "AT&T <3",
    "&quot;Caf&eacute;&quot;, it&#39;s 5&#x2014;6": '"Café", it\'s 5\u20146',
    "`AT&amp;T` is AT&amp;T": "`AT&amp;T` is AT&T",
    "```\nAT&amp;T\n```\nAT&amp;T": "```\nAT&amp;T\n```\nAT&T",
    "~~~\n&lt;b&gt;\n~~~\n&lt;b&gt;": "~~~\n&lt;b&gt;\n~~~\n<b>",
    "R&D, a & b, &foo; &amp &#0; &#55296;": "R&D, a & b, &foo; &amp &#0; &#55296;",
    "&amp;lt;": "&lt;",
    "https://a.org/?b=1&amp;c=2": "https://a.org/?b=1&c=2",
    "&#96;AT&amp;T&#96;": "\\`AT&T\\`",
    "| a &#124; b |\n|---|\n| &amp; |": "| a \\| b |\n|---|\n| & |",
    "&lt;!channel&gt; &#60;@U1&#62;": f"<{ZERO_WIDTH}!channel> <{ZERO_WIDTH}@U1>",
    "it`s AT&amp;T\nhe`s &amp;": "it`s AT&T\nhe`s &",
}
PIECES = [*"`&;#x\n| <>", "```", "&amp;", "&lt;", "&#39;", "amp;", "AT&", "lt", "!here", "\n|---|\n", "~~~\n"]


@pytest.mark.parametrize("text", SHOWN)
def test_an_entity_outside_code_is_shown_as_its_character(text: str) -> None:
    assert escape_mentions(text) == SHOWN[text]


@pytest.mark.parametrize("text", SHOWN)
def test_a_growing_text_shows_no_part_of_an_entity_that_changes_later(text: str) -> None:
    for upto in range(len(text) + 1):
        assert SHOWN[text].startswith(escape_settled_mentions(text[:upto]))


def test_ordinary_words_with_an_ampersand_are_not_held_back() -> None:
    assert escape_settled_mentions("R&D and a & b ") == "R&D and a & b "


@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
def test_what_is_shown_of_any_growing_text_with_entities_stays(text: str) -> None:
    whole = escape_mentions(text)
    for upto in range(len(text) + 1):
        assert whole.startswith(escape_settled_mentions(text[:upto]))
