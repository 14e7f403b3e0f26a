"""Sessions of the page: opening by link, secrets, ends."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import pytest
from aiohttp import ClientError

from daemon.console.access import LINK_SECONDS, SESSION_IDLE_SECONDS, PageCredentials
from tests.attention import PATIENCE
from tests.clock import FakeClock
from tests.console.flood import OWNER, house
from tests.console.site import Site, console

TOKEN = "open sesame, and be quick"


async def sign_in(site: Site, token: str) -> str:
    """Return the secret of a new session; empty if refused."""
    async with site.http.post(f"{site.url}/console/session", json={"token": token}) as answer:
        told = await answer.json()
        assert (answer.status == 200) is told["ok"]
        return str(told.get("session", ""))


async def status(site: Site, secret: str, path: str = "/console/state") -> int:
    async with site.http.get(site.url + path, headers={"X-Console-Token": secret}) as answer:
        return answer.status


async def sign_out(site: Site, secret: str) -> int:
    shown = {"X-Console-Token": secret}
    async with site.http.delete(f"{site.url}/console/session", headers=shown) as answer:
        return answer.status


async def test_a_link_opens_one_session_once(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        link = await site.credentials.make_link()
        secret = await sign_in(site, link)
        assert await status(site, secret) == 200
        assert await status(site, link) == 401, "it opens a session, and nothing else"
        assert await sign_in(site, link) == ""
        assert await sign_in(site, secret) == "", "a session opens no other one"
        other = await sign_in(site, await site.credentials.make_link())
        assert other not in ("", secret)


async def test_a_link_that_is_only_looked_at_is_not_used_up(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        link = await site.credentials.make_link()
        for ask in (site.http.get, site.http.head):
            async with ask(f"{site.url}/", params={"token": link}) as answer:
                assert answer.status == 200
                assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert await sign_in(site, link)


async def test_a_link_ends_after_ten_minutes(tmp_path: Path) -> None:
    clock = FakeClock()
    async with console(tmp_path, token=TOKEN, clock=clock) as site:
        links = [await site.credentials.make_link() for _ in range(2)]
        await clock.advance(LINK_SECONDS - 1)
        assert await sign_in(site, links[0])
        await clock.advance(1)
        assert await sign_in(site, links[1]) == ""
        await site.credentials.make_link()
        assert len([*(tmp_path / "console-links").iterdir()]) == 1, "what has ended is removed"


async def test_of_two_who_open_a_link_at_once_one_is_let_in(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        link = await site.credentials.make_link()
        opened = await asyncio.gather(*(sign_in(site, link) for _ in range(4)))
        assert len([secret for secret in opened if secret]) == 1


async def test_a_session_ends_after_seven_days_without_use(tmp_path: Path) -> None:
    clock = FakeClock()
    async with console(tmp_path, token=TOKEN, clock=clock) as site:
        secret = await sign_in(site, TOKEN)
        for _ in range(3):
            await clock.advance(SESSION_IDLE_SECONDS - 1)
            assert await status(site, secret) == 200
        await clock.advance(SESSION_IDLE_SECONDS)
        assert await status(site, secret) == 401


async def test_a_restart_ends_no_session_and_no_link(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        secret, link = await sign_in(site, TOKEN), await site.credentials.make_link()
    async with console(tmp_path, token=TOKEN) as site:
        assert await status(site, secret) == 200
        assert await sign_in(site, link)


async def test_another_token_ends_all_sessions_and_links(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        secret, link = await sign_in(site, TOKEN), await site.credentials.make_link()
    async with console(tmp_path, token=f"{TOKEN}, again") as site:
        assert await status(site, secret) == 401
        assert await sign_in(site, link) == ""
        assert await sign_in(site, TOKEN) == ""


async def test_a_link_of_another_home_opens_nothing(tmp_path: Path) -> None:
    clock, other = FakeClock(), tmp_path / "other"
    other.mkdir()
    async with console(tmp_path, token=TOKEN, clock=clock) as site:
        assert await sign_in(site, await PageCredentials.open_home(other, TOKEN, clock.now).make_link()) == ""


async def test_who_signs_out_is_out_and_nobody_else(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        mine, theirs = await sign_in(site, TOKEN), await sign_in(site, TOKEN)
        assert await sign_out(site, mine) == 200
        assert (await status(site, mine), await status(site, theirs)) == (401, 200)
        for shown in (mine, TOKEN, "wrong", ""):
            assert await sign_out(site, shown) == 401
        assert await status(site, TOKEN) == 200


async def test_the_streams_of_a_session_end_with_it_and_those_of_others_go_on(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        told = await here.http.post(f"{here.url}/console/session", json={"token": OWNER["X-Console-Token"]})
        mine = {"X-Console-Token": (await told.json())["session"]}
        streams = [await here.http.get(f"{here.url}/console/journal", headers=each) for each in (mine, OWNER)]
        async with here.http.delete(f"{here.url}/console/session", headers=mine) as ended:
            assert ended.status == 200
        with pytest.raises(ClientError):
            await asyncio.wait_for(streams[0].read(), PATIENCE)
        assert not streams[1].content.at_eof()
        streams[1].close()


async def test_a_stream_ends_now_and_then_so_that_who_reads_on_shows_that_they_may(tmp_path: Path) -> None:
    async with console(tmp_path, longest=0.05) as site, asyncio.timeout(PATIENCE):
        await site.remember("hello")
        async with site.http.get(f"{site.url}/console/journal?since=0") as stream:
            assert (await stream.content.read()).startswith(b"id: 1\n")


async def test_no_secret_is_kept_and_nobody_else_can_read_what_is(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        link = await site.credentials.make_link()
        secret = await sign_in(site, TOKEN)
        folders = [tmp_path / "console-links", tmp_path / "console-sessions"]
        for folder in folders:
            assert folder.stat().st_mode & 0o777 == 0o700
            [file] = folder.iterdir()
            assert file.stat().st_mode & 0o777 == 0o600
            kept = file.name.encode() + file.read_bytes()
            assert not any(one.encode() in kept for one in (link, secret, TOKEN))


async def test_a_copy_of_the_home_without_its_times_brings_no_session_back(tmp_path: Path) -> None:
    clock, copy = FakeClock(time.time()), tmp_path / "copy"
    async with console(tmp_path, token=TOKEN, clock=clock) as site:
        secret = await sign_in(site, TOKEN)
    kept = tmp_path / "console-sessions"
    shutil.copytree(kept, copy / kept.name, copy_function=shutil.copyfile)
    await clock.advance(60)
    async with console(copy, token=TOKEN, clock=clock) as site:
        assert await status(site, secret) == 401


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"token": 7}', b'{"token": ""}', b"\xff", b"[" * 5_000, b"x" * 100_000]
)
async def test_what_is_no_token_is_refused(tmp_path: Path, body: bytes) -> None:
    async with (
        console(tmp_path, token=TOKEN) as site,
        site.http.post(f"{site.url}/console/session", data=body) as answer,
    ):
        assert answer.status == 400
        assert "token" in (await answer.json())["error"]


@pytest.mark.parametrize("token", ["\\ud800", "\\u0000", "../console-token", "é" * 30, "x" * 8_000])
async def test_a_token_may_hold_any_character_and_is_only_wrong(tmp_path: Path, token: str) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        sent = f'{{"token": "{token}"}}'.encode()
        async with site.http.post(f"{site.url}/console/session", data=sent) as answer:
            assert answer.status == (400 if len(sent) > 8_192 else 401)


async def test_another_web_page_opens_and_ends_no_session(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        secret = await sign_in(site, TOKEN)
        for origin in ("https://evil.example", "http://127.0.0.1:1", "null"):
            sent = {"Origin": origin, "X-Console-Token": secret}
            for ask in (site.http.post, site.http.delete):
                async with ask(f"{site.url}/console/session", headers=sent, json={"token": TOKEN}) as answer:
                    assert answer.status == 403
        assert await status(site, secret) == 200


async def test_where_no_session_can_be_kept_the_link_still_holds_and_the_token_too(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        link = await site.credentials.make_link()
        sessions = tmp_path / "console-sessions"
        sessions.write_text("no folder")
        async with site.http.post(f"{site.url}/console/session", json={"token": link}) as answer:
            assert answer.status == 503
            assert "console-sessions cannot be used" in (await answer.json())["error"]
        assert await status(site, TOKEN) == 200
        sessions.unlink()
        assert await sign_in(site, link)
