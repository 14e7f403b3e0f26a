"""Passages of a search: whole paragraphs, marked cuts, no duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.documents.citations import check_citations
from daemon.documents.document import Document
from daemon.knowledge.library import (
    HITS,
    LONGEST,
    MOST_LETTERS,
    MOST_LINES,
    FolderLibrary,
    format_passage,
    split_lines,
    split_passages,
)

SENTENCES = " ".join(
    f"This is sentence {n} of one long line, and it says what {n} is for." for n in range(30)
)
"""One-line paragraph, longer than a passage."""
WRAPPED = "\n".join(f"Line {n} of a paragraph that was wrapped by hand, as in a mail." for n in range(12))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def library(docs: Path) -> Iterator[FolderLibrary]:
    with FolderLibrary([docs]) as folders:
        yield folders


async def test_a_paragraph_is_shown_whole_however_its_lines_are_broken(
    docs: Path, library: FolderLibrary
) -> None:
    line = SENTENCES[:1_400].rpartition(" ")[0]
    (docs / "private.md").write_text(f"# What is private\n\n{line}\n\n{WRAPPED}\n")
    assert f"docs/private.md:3: {line}" in (await library.search("sentence 11")).split("\n")
    found = await library.search("wrapped by hand")
    assert [row.partition(": ")[2] for row in found.split("\n")] == WRAPPED.split("\n")


def test_a_line_that_is_cut_says_so_at_the_end_of_a_sentence() -> None:
    first, second = [*split_passages(SENTENCES)]
    [head] = format_passage("one.txt", *first).split("\n")
    [rest] = format_passage("one.txt", *second).split("\n")
    assert head.startswith("one.txt:1: This is sentence 0 ")
    assert head.endswith("is for. …")
    assert rest.startswith("one.txt:1: … This is sentence ")
    assert rest.endswith("what 29 is for.")
    cut = f"{head.removeprefix('one.txt:1: ')}{rest.removeprefix('one.txt:1: ')}"
    assert cut.replace(" …… ", " ") == SENTENCES


def test_a_line_without_any_place_to_cut_it_is_cut_all_the_same() -> None:
    found = [*split_passages("x" * 5_000)]
    assert [line for line, _ in found] == [1] * 4
    assert "".join(format_passage("a", *one) for one in found).count("x") == 5_000
    assert all(len(text) <= LONGEST + 4 for _, text in found)


TABLE = "| boat | berth |\n|---|---|\n" + "".join(f"| boat {n} | berth {n} |\n" for n in range(100))
CODE = "\n\n".join(f"def step_{n}(a):\n    b = a + {n}\n\n    return b" for n in range(60))
LOG = "".join(f"2026-11-{n % 28 + 1:02} 10:00 something happened to {n}\n" for n in range(300))
JSON = '{"rows": [' + ", ".join(f'{{"n": {n}, "name": "row {n}"}}' for n in range(400)) + "]}"
KINDS = {
    "table": TABLE,
    "code": CODE,
    "log": LOG,
    "json in one line": JSON,
    "prose": f"{SENTENCES}\n\n{WRAPPED}\n\n\n{SENTENCES}",
    "carriage returns": TABLE.replace("\n", "\r\n"),
    "blank lines": "\n\n\n  \n",
    "heading alone": "# Only this",
    "emoji and Chinese": "你好。" * 900,
    "marks of its own": "\x1e\n…\n\n… and so on …\n",
}


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS.keys())
def test_passages_have_each_line_once_at_its_place_and_a_bound(text: str) -> None:
    lines = [*split_lines(text)]
    shown_lines: dict[int, str] = {}
    for line, passage in split_passages(text):
        assert len(passage) <= LONGEST + MOST_LINES + 8
        assert passage.count("\n") <= MOST_LINES + 1
        for row in format_passage("a", line, passage).split("\n"):
            path, _, rest = row.partition(":")
            if path != "a":
                assert row == "…"
                continue
            number, _, words = rest.partition(": ")
            before = shown_lines.get(int(number), "")
            shown_lines[int(number)] = before + words
    for place, words in shown_lines.items():
        assert words.replace(" …… ", "").replace(" ", "") == lines[place - 1].replace(" ", "").rstrip()
    assert shown_lines.keys() == {n for n, line in enumerate(lines, 1) if line.strip()}


async def test_a_table_that_is_cut_has_its_rows_whole(docs: Path, library: FolderLibrary) -> None:
    (docs / "boats.md").write_text(TABLE)
    found = await library.search("berth 50")
    row = next(part for part in found.split("\n\n") if "| boat 50 |" in part)
    first, *rows, last = row.split("\n")
    assert (first, last) == ("…", "…")
    assert all(one.endswith(" |") for one in rows)


def test_what_is_shown_of_a_line_can_be_cited() -> None:
    document = Document(name="docs/one.txt", text=SENTENCES)
    for line, passage in split_passages(SENTENCES):
        path, number, words = format_passage("docs/one.txt", line, passage).split(":", 2)
        cited = f'It says so [{path}:{number} "{words.strip()}"].'
        assert check_citations(cited, [document]).held == 1


async def test_no_passage_comes_twice_for_two_queries(docs: Path, library: FolderLibrary) -> None:
    for n in range(20):
        (docs / f"page-{n:02}.md").write_text(f"Needle and thread number {n}.")
    known: list[str] = []

    def is_new(passage: str) -> bool:
        known.append(passage)
        return known.count(passage) == 1

    first = (await library.search("needle", is_new)).split("\n\n")
    second = (await library.search("needle thread", is_new)).split("\n\n")
    assert len(first) == len(second) == HITS
    assert not {*first} & {*second}


async def test_a_copy_that_was_named_is_not_shown_for_the_next_query(
    docs: Path, library: FolderLibrary
) -> None:
    for n in range(2):
        (docs / f"copy-{n}.md").write_text(f"# Copies\n\n{WRAPPED}\n")
    known = set[str]()

    def is_new(passage: str) -> bool:
        return passage not in known and not known.add(passage)  # type: ignore[func-returns-value]

    assert await library.search("paragraph", is_new)
    assert await library.search("wrapped by hand", is_new) == ""


async def test_what_stands_in_two_files_alike_is_shown_once(docs: Path, library: FolderLibrary) -> None:
    for n in range(3):
        (docs / f"copy-{n}.md").write_text(f"# Copies\n\n{WRAPPED}\n")
    found = (await library.search("paragraph")).split("\n\n")
    assert len(found[0].split("\n")) == 13
    assert found[1:] == [f"docs/copy-{n}.md:1: … (the same as docs/copy-0.md:1)" for n in (1, 2)]


async def test_all_that_is_found_has_a_bound_with_the_longest_paths(
    docs: Path, library: FolderLibrary
) -> None:
    folder = docs / ("p" * 200)
    folder.mkdir()
    for n in range(9):
        (folder / f"{'f' * 200}{n}").write_text(f"needle {n}\n" * 300)
    found = await library.search("needle")
    assert found
    assert len(found) <= MOST_LETTERS + MOST_LINES * 500
