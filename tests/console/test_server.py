"""The console's routes over a real journal."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.console.journal_view import TAIL
from daemon.console.server import url_of
from daemon.kinds import ConversationOpened
from tests.attention import PATIENCE, rest
from tests.console.site import Site, called, console, frames


async def test_the_journal_is_shown_as_it_grows(tmp_path: Path) -> None:
    async with console(tmp_path) as site:
        await site.remember("before")
        async with site.http.get(f"{site.url}/console/journal") as stream:
            assert stream.headers["Content-Type"] == "text/event-stream"
            [(first_id, first)] = await frames(stream, 1)
            await site.remember("after")
            [(_, second)] = await frames(stream, 1)
    assert first_id == str(first["seq"])
    assert (first["body"]["text"], second["body"]["text"]) == ("before", "after")
    assert set(first) == {"seq", "thread", "kind", "author", "body", "key", "cause", "closes", "at"}


async def test_a_page_that_reconnects_goes_on_where_it_was(tmp_path: Path) -> None:
    async with console(tmp_path) as site:
        seqs = [(await site.remember(text)).seq for text in ("one", "two", "three")]
        again = {"Last-Event-ID": str(seqs[1])}
        async with site.http.get(f"{site.url}/console/journal?since=0", headers=again) as stream:
            [(_, entry)] = await frames(stream, 1)
    assert entry["body"]["text"] == "three"


async def test_a_page_may_say_where_to_begin(site: Site) -> None:
    await site.remember("one")
    await site.remember("two")
    async with site.http.get(f"{site.url}/console/journal?since=0") as stream:
        assert [entry["body"]["text"] for _, entry in await frames(stream, 2)] == ["one", "two"]


async def test_a_new_page_sees_the_last_few_hundred_entries(tmp_path: Path) -> None:
    async with console(tmp_path) as site:
        await asyncio.gather(*(site.remember(f"thought {n}") for n in range(TAIL + 20)))
        async with site.http.get(f"{site.url}/console/journal") as stream:
            [(first, _), *_] = await frames(stream, TAIL)
    assert first == "21"


async def test_a_page_goes_on_at_a_daemon_whose_copy_is_behind_what_the_page_has(tmp_path: Path) -> None:
    async with console(tmp_path, lag=PATIENCE) as site:
        last = (await site.remember("one")).seq
        ahead = {"Last-Event-ID": str(last + 1)}
        asked = asyncio.create_task(site.http.get(f"{site.url}/console/journal", headers=ahead))
        await rest()
        for text in ("two", "three"):
            await site.remember(text)
        async with await asked as stream:
            [(_, entry)] = await frames(stream, 1)
    assert entry["body"]["text"] == "three"


async def test_a_page_that_remembers_another_journal_begins_anew(tmp_path: Path) -> None:
    async with console(tmp_path) as site:
        await site.remember("one")
        async with site.http.get(f"{site.url}/console/journal", headers={"Last-Event-ID": "4711"}) as stream:
            [(_, entry)] = await frames(stream, 1)
    assert entry["body"]["text"] == "one"


async def test_a_place_that_is_no_number_is_a_plain_sentence(site: Site) -> None:
    for since in ("yesterday", "-1", "9" * 5000):
        async with site.http.get(f"{site.url}/console/journal?since={since}") as answer:
            assert answer.status == 400
            assert "whole number" in (await answer.json())["error"]


async def test_the_server_ends_while_a_page_is_open(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        async with console(tmp_path) as site:
            stream = await site.http.get(f"{site.url}/console/journal")
            await site.remember("one")
            await frames(stream, 1)
        stream.close()


async def test_a_call_shows_what_claude_saw(tmp_path: Path) -> None:
    async with console(tmp_path) as site:
        call = await site.remember_call("hello")
        async with site.http.get(f"{site.url}/console/calls/{call.seq}") as answer:
            shown = await answer.json()
    assert shown["entry"]["seq"] == call.seq
    assert shown["request"]["messages"] == [{"role": "user", "content": "hello"}]
    assert shown["agrees"] is True


async def test_a_long_prompt_is_sent_whole_only_to_who_looks_at_it(tmp_path: Path) -> None:
    async with console(tmp_path) as site:
        asked = replace(called("llm_query", text="yes"), trailing="long " * 10_000)
        call, _ = await site.journal.append("sess-00000001", asked, key="call:long")
        async with site.http.get(f"{site.url}/console/journal?since=0") as stream:
            [(_, sent)] = await frames(stream, 1)
        async with site.http.get(f"{site.url}/console/calls/{call.seq}") as answer:
            shown = (await answer.json())["entry"]
    assert len(sent["body"]["trailing"]) < 2_100
    assert sent["body"]["trailing"].startswith("long long")
    assert sent["body"]["text"] == "yes"
    assert shown["body"]["trailing"] == "long " * 10_000


async def test_a_call_whose_hash_disagrees_says_so(site: Site) -> None:
    call = await site.remember_call("forged")
    async with site.http.get(f"{site.url}/console/calls/{call.seq}") as answer:
        assert (await answer.json())["agrees"] is False


async def test_what_is_no_call_is_not_found(site: Site) -> None:
    message = await site.remember("hello")
    for path in (f"calls/{message.seq}", "calls/4711", "calls/abc", "nowhere"):
        async with site.http.get(f"{site.url}/console/{path}") as answer:
            assert answer.status == 404
            assert (await answer.json())["error"].endswith(".")


async def test_a_thread_is_found_by_its_place_in_slack(tmp_path: Path) -> None:
    async with console(tmp_path) as site:
        place = ConversationOpened(
            team="T1",
            channel="C1",
            ts="17.000100",
            where="channel",
            place="#general",
            audience="public",
            user="U1",
            called_by="17.000100",
        )
        opened, _ = await site.journal.open_thread("thread:T1:C1:17.000100", place)
        await site.remember("hello", thread=opened.thread)
        await site.remember("in a branch", thread=f"{opened.thread}.branch")
        await site.remember("elsewhere")
        async with site.http.get(f"{site.url}/console/threads/T1:C1:17.000100") as answer:
            known = await answer.json()
        async with site.http.get(f"{site.url}/console/threads/T1:C1:18.000100") as answer:
            unknown = await answer.json()
    assert known["thread"] == opened.thread
    assert [entry["kind"] for entry in known["entries"]] == ["thread", "message", "message"]
    assert known["entries"][-1]["thread"] == f"{opened.thread}.branch"
    assert unknown == {"thread": None, "entries": []}


async def test_health_is_told_by_the_status(site: Site) -> None:
    async with site.http.get(f"{site.url}/healthz") as answer:
        assert (answer.status, await answer.json()) == (200, {"ok": True})
    site.health["ok"] = False
    async with site.http.get(f"{site.url}/healthz") as answer:
        assert answer.status == 503


async def test_the_page_and_its_parts_are_served(tmp_path: Path) -> None:
    async with console(tmp_path) as site:
        async with site.http.get(f"{site.url}/") as answer:
            page = await answer.text()
        for part in ("main.js", "base/base.css", "icon.svg"):
            assert f"/static/{part}" in page
            async with site.http.get(f"{site.url}/static/{part}") as answer:
                assert answer.status == 200
    assert "style=" not in page
    assert "onclick" not in page


async def test_what_is_no_part_of_the_page_is_not_found(site: Site) -> None:
    for name in ("nothing.js", "", "a" * 5000, "%00", "..%2fserver.py", "main.js/", "base", "base.css"):
        async with site.http.get(f"{site.url}/static/{name}") as answer:
            assert answer.status == 404, name
            assert (await answer.json())["error"] == "There is nothing under this address."


async def test_a_page_that_is_far_behind_begins_anew(site: Site) -> None:
    await asyncio.gather(*(site.remember(f"thought {n}") for n in range(TAIL + 20)))
    for most, first in ((TAIL + 10, "21"), (TAIL + 20, "2")):
        async with site.http.get(f"{site.url}/console/journal?since=1&most={most}") as stream:
            assert (await frames(stream, 1))[0][0] == first
    async with site.http.get(f"{site.url}/console/journal?most=x") as answer:
        assert answer.status == 400


@pytest.mark.parametrize(
    ("host", "reached"),
    [("0.0.0.0", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("::", "[::1]"), ("fd00::2", "[fd00::2]")],
)
def test_this_machine_reaches_what_listens_on_any_of_its_addresses(host: str, reached: str) -> None:
    assert url_of(host, 80) == f"http://{reached}:80"
