"""Code fences and tables cut across messages."""

from __future__ import annotations

import pytest

from daemon.slack.pages import PARAGRAPH, page_end, pages
from tests.slack.prose import CODE, PROSE, ROW, TABLE, long


@pytest.mark.parametrize(
    ("opening", "again", "end"),
    [
        ("```python", "```python\n", "\n```"),
        ("~~~", "~~~\n", "\n~~~"),
        ("  ````md x=1", "  ````md x=1\n", "\n  ````"),
        ("- ```sh", "  ```sh\n", "\n  ```"),
        ("12. ```", "    ```\n", "\n    ```"),
        ("> ```", "> ```\n", "\n> ```"),
        (f"```{'x' * 200}", "```\n", "\n```"),
    ],
)
def test_a_fence_goes_on_in_the_next_message(opening: str, again: str, end: str) -> None:
    text = f"Look:\n\n{opening}\n{long(CODE, 15_000)}{end[1:]}\n\nThat is all."
    first, second = pages(text)
    assert first.text.endswith(f"# again{end}")
    assert second.text.startswith(f"{again}    value")
    assert second.text.endswith("That is all.")


def test_a_page_does_not_end_in_a_fence_that_is_nearly_over() -> None:
    step = f"\n{CODE}"
    text = f"```\n{long(CODE, 9_900)}{step * 8}```\n\n{PROSE}"
    first, second = pages(text)
    assert first.text.endswith(f"\n{CODE}```")
    assert second.text == PROSE.strip()


def test_a_fence_that_ends_where_the_message_ends_is_not_opened_again() -> None:
    code = long(CODE, PARAGRAPH)
    end = page_end(f"```\n{code * 2}")
    assert end
    for closing in ("```", "`````", "\n   ```  "):
        text = f"```\n{(code * 2)[: end - 4]}\n{closing}\n\nThat is all."
        first, second = pages(text)
        assert first.text.endswith("# again\n```")
        assert second.text == "That is all."
        for length in range(text.index(closing.strip(), end), text.index("That") + 1):
            assert [page.text for page in pages(text[:length])] == [first.text]


def test_code_that_is_indented_without_end_comes_to_one() -> None:
    text = f"```\n{long(CODE, 10_390)}{' ' * 30_000}x"
    assert [page.text for page in pages(text)][1:] == ["```\nx"]


def test_blank_lines_without_end_are_no_message() -> None:
    text = f"```\n{CODE * 2}" + "\n" * 30_000
    first = f"{text.rstrip()}\n```"
    assert [page.text for page in pages(text)] == [first]
    assert [page.text for page in pages(f"{text}x")] == [first, "```\nx"]


def test_what_looks_like_a_fence_within_one_is_code() -> None:
    text = f"````md\n```python\n```\n{long(CODE, 15_000)}````"
    _, second = pages(text)
    assert second.text.startswith("````md\n    value")


def test_a_table_that_is_cut_repeats_its_header() -> None:
    text = f"{long(PROSE, 2_000)}\n\n{TABLE}{long(ROW, 12_000)}\nThat is all."
    first, second = pages(text)
    assert first.text.endswith("| one | two |")
    assert second.text.startswith(TABLE)
    assert second.text.endswith("| one | two |\n\nThat is all.")


def test_a_table_that_ends_where_the_message_ends_does_not() -> None:
    table = TABLE + long(ROW, 15_000)
    end = page_end(table)
    assert end
    first, second = pages(f"{table[:end]}\n\nThat is all.")
    assert (first.text, second.text) == (table[:end], "That is all.")


def test_a_message_does_not_end_between_a_table_and_its_header() -> None:
    for ahead in range(10_330, 10_420):
        text = f"{'x' * ahead}\n{TABLE}{ROW * 40}"
        first, second = pages(text)
        has_header, has_rows = TABLE.splitlines()[1] in first.text, ROW.strip() in first.text
        assert has_header == has_rows
        assert second.text.startswith(TABLE)
