"""Search in the journal or one thread, in parts."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from daemon.console.entry_text import like_pattern, search_words
from daemon.console.journal_view import JournalPager, PageRequest
from tests.console.site import Site, called, message
from tests.console.test_pages import said, told


async def found(site: Site, words: str, more: str = "") -> list[str]:
    return [*said(await told(site, f"search?words={quote(words)}{more}"))]


async def test_an_entry_is_found_by_all_of_its_words_in_capitals_or_not(site: Site) -> None:
    for text in ('The "fox" in Kraków', "a fox, 100 % red", "ВЕЧЕРОМ в саду", "under_score C:\\new"):
        await site.remember(text)
    assert await found(site, "FOX") == ['The "fox" in Kraków', "a fox, 100 % red"]
    assert await found(site, "red fox") == ["a fox, 100 % red"]
    assert await found(site, "KRAKÓW") == ['The "fox" in Kraków']
    assert await found(site, "вечером") == ["ВЕЧЕРОМ в саду"]
    assert await found(site, '"fox"') == ['The "fox" in Kraków']
    assert await found(site, "100 %") == ["a fox, 100 % red"]
    assert await found(site, "r_s c:\\new") == ["under_score C:\\new"]
    for nowhere in ("rxs", "1%0", "text", "f~ox", "user name"):
        assert await found(site, nowhere) == [], nowhere


async def test_a_thread_is_searched_with_its_branches(site: Site) -> None:
    for thread in ("sess-1", "sess-1.branch", "sess-2", "sess-11"):
        await site.remember(f"a fox in {thread}", thread=thread)
    assert await found(site, "fox", "&thread=sess-1") == ["a fox in sess-1", "a fox in sess-1.branch"]


async def test_what_a_model_answered_is_found_and_not_what_it_saw(site: Site) -> None:
    await site.journal.append("sess-1", called(text="An owl."), key="one")
    saw = replace(called(text="Nothing."), trailing="an owl was seen")
    await site.journal.append("sess-1", saw, key="two")
    page = await told(site, "search?words=owl")
    assert [entry["body"]["text"] for entry in page["entries"]] == ["An owl."]


async def test_what_is_forgotten_is_not_found(site: Site) -> None:
    entry, _ = await site.journal.append("sess-1", message("owl"), key="msg:1")
    assert await found(site, "owl") == ["owl"]
    await site.journal.forget([entry.seq], thread="sess-1", key="forget", why="asked")
    assert await found(site, "owl") == []


async def test_the_newest_are_found_first_and_one_asks_on(site: Site) -> None:
    for n in range(7):
        await site.remember(f"fox {n}")
        await site.remember(f"owl {n}")
    page = await told(site, "search?words=fox&limit=3")
    assert said(page) == ["fox 4", "fox 5", "fox 6"]
    page = await told(site, f"search?words=fox&limit=3&before={page['older']}")
    assert said(page) == ["fox 1", "fox 2", "fox 3"]
    page = await told(site, f"search?words=fox&limit=3&before={page['older']}")
    assert (said(page), page["older"]) == (["fox 0"], None)


async def test_one_answer_looks_through_a_part_of_the_journal(site: Site) -> None:
    await site.remember("the only fox")
    for n in range(10):
        await site.remember(f"owl {n}")
    few = JournalPager(site.journal, searched=4)
    page, asked = await few.page(PageRequest(words="fox")), 1
    while page.older:
        assert not page.entries
        page, asked = await few.page(PageRequest(words="fox", before=page.older)), asked + 1
    assert (len(page.entries), asked) == (1, 3)


async def test_what_looks_like_it_and_is_not_is_bounded_too(site: Site) -> None:
    for n in range(10):
        await site.remember(f"owl {n}")
    page = await JournalPager(site.journal, looked_at=3).page(PageRequest(words="address"))
    assert (page.entries, page.older) == ([], 8)


async def test_no_words_are_a_plain_sentence(site: Site) -> None:
    for asked in ("", "words=", "words=%20"):
        assert "looked for" in (await told(site, f"search?{asked}", 400))["error"]


@given(st.text(min_size=1, max_size=8))
def test_a_pattern_is_like_every_body_with_the_word(text: str) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        for word in search_words(text):
            for written in (word, word.upper(), word.title(), word.lower()):
                body = json.dumps({"text": written})
                [[like]] = db.execute("select ? like ? escape '~'", (body, like_pattern(word)))
                assert like or word not in written.casefold(), (word, written)
