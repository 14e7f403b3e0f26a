"""Access to the console: no foreign page, nobody without token or session."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.console.site import Site, console

TOKEN = "open sesame"


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8765", "localhost"])
async def test_a_local_name_with_any_port_is_let_in(tmp_path: Path, host: str) -> None:
    async with console(tmp_path) as site, site.http.get(f"{site.url}/", headers={"Host": host}) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.nip.io", "[", ""]
)
async def test_a_foreign_host_is_refused_also_on_loopback(tmp_path: Path, host: str) -> None:
    async with (
        console(tmp_path) as site,
        site.http.get(f"{site.url}/console/state", headers={"Host": host}) as answer,
    ):
        assert answer.status in (400, 403)
        assert "Claudius" not in await answer.text()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
async def test_another_web_page_is_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    async with (
        console(tmp_path) as site,
        site.http.get(f"{site.url}/console/state", headers=headers) as answer,
    ):
        assert answer.status == 403
        assert (await answer.json())["error"].startswith("Another web page")


async def test_the_pages_own_requests_and_programs_pass(site: Site) -> None:
    own = {"Origin": site.url, "Sec-Fetch-Site": "same-origin"}
    async with site.http.get(f"{site.url}/console/state", headers=own) as answer:
        assert answer.status == 200
    async with site.http.get(f"{site.url}/console/state") as answer:
        assert answer.status == 200


async def test_a_link_on_another_page_may_lead_to_the_console(tmp_path: Path) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    async with console(tmp_path) as site:
        async with site.http.get(f"{site.url}/", headers=followed) as answer:
            assert answer.status == 200
        async with site.http.get(f"{site.url}/console/state", headers=followed) as answer:
            assert answer.status == 403


async def raw(port: int, path: str) -> str:
    """Request this exact path, which a client would normalize."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    said = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    return said


@pytest.mark.parametrize("closed", [True, False])
async def test_without_the_token_nothing_of_the_soul_is_shown(tmp_path: Path, closed: bool) -> None:
    async with console(tmp_path, token=TOKEN, closed=closed) as site:
        for path in (
            *("/console/state", "/console/journal", "/console/threads", "/metrics", "/nowhere"),
            *("/%63onsole/state", "/static/../console/state", "//console/state", "/api/../console/state"),
        ):
            said = await raw(site.port, path)
            assert said.startswith(("HTTP/1.1 401 ", "HTTP/1.1 404 ")), path
            assert "Claudius" not in said
        async with site.http.get(f"{site.url}/console/state") as answer:
            said = (await answer.json())["error"]
            assert all(how in said for how in ("CONSOLE_TOKEN", "SOUL_HOME/console-token", "daemon link"))


async def test_the_pages_own_files_and_its_health_are_open_and_tell_nothing(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        for path in ("/", "/static/main.js", "/static/base/base.css", "/?token=wrong", "/healthz"):
            async with site.http.get(site.url + path) as answer:
                assert answer.status == 200, path
                assert "Claudius" not in await answer.text()


@pytest.mark.parametrize(("closed", "status"), [(False, 200), (True, 401)])
async def test_the_rehearsed_world_is_open_where_there_is_no_console_token(
    tmp_path: Path, closed: bool, status: int
) -> None:
    shown = {"X-Console-Token": TOKEN}
    async with console(tmp_path, token=TOKEN, closed=closed) as site:
        for path, headers, expected in (
            ("/rehearsal/state", {}, status),
            ("/rehearsal/state", shown, 200),
            ("/console/state", {}, 401),
        ):
            async with site.http.get(site.url + path, headers=headers) as answer:
                assert answer.status == expected


async def test_a_program_shows_the_token_in_a_header(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        for shown, status in ((TOKEN, 200), (TOKEN + "!", 401), ("sésame", 401)):
            async with site.http.get(
                f"{site.url}/console/state", headers={"X-Console-Token": shown}
            ) as answer:
                assert answer.status == status


async def test_a_token_may_hold_any_bytes_and_is_only_wrong(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        asks = b"GET /console/state HTTP/1.1"
        lines = (asks, b"Host: localhost", b"X-Console-Token: s\xe9same", b"Connection: close")
        writer.write(b"\r\n".join((*lines, b"", b"")))
        assert b" 401 " in await reader.readline()
        writer.close()
        await writer.wait_closed()


async def test_the_former_cookie_lets_nobody_in_and_is_taken_away(tmp_path: Path) -> None:
    former = {"Cookie": f"other=1; console_token={TOKEN}"}
    async with console(tmp_path, token=TOKEN) as site:
        for path, status in (("/", 200), ("/console/state", 401)):
            async with site.http.get(site.url + path, headers=former) as answer:
                assert answer.status == status
                assert 'console_token=""; Max-Age=0' in answer.headers["Set-Cookie"]
        async with site.http.get(f"{site.url}/") as answer:
            assert "Set-Cookie" not in answer.headers


async def test_the_token_in_an_address_opens_no_data(tmp_path: Path) -> None:
    asked = {"token": TOKEN}
    async with (
        console(tmp_path, token=TOKEN) as site,
        site.http.get(f"{site.url}/console/state", params=asked) as answer,
    ):
        assert answer.status == 401


async def test_bound_elsewhere_any_host_is_good_with_the_token(tmp_path: Path) -> None:
    async with console(tmp_path, host="0.0.0.0", token=TOKEN) as site:
        named = {"Host": "soul.example"}
        async with site.http.get(f"{site.url}/console/state", headers=named) as answer:
            assert answer.status == 401
        async with site.http.get(
            f"{site.url}/console/state", headers=named | {"X-Console-Token": TOKEN}
        ) as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    ("host", "named"), [("soul.example", True), ("127.0.0.1:8765", True), ("evil.example", False)]
)
async def test_behind_a_proxy_the_page_is_where_its_owner_says(
    tmp_path: Path, host: str, named: bool
) -> None:
    async with console(tmp_path, token=TOKEN, page="https://soul.example/") as site:
        for origin, own in (("https://soul.example", True), ("https://evil.example", False), ("null", False)):
            sent = {"Host": host, "Origin": origin}
            async with site.http.post(
                f"{site.url}/console/session", headers=sent, json={"token": TOKEN}
            ) as answer:
                assert answer.status == (200 if named and own else 403), (origin, await answer.text())


@pytest.mark.parametrize(
    ("page", "origin"),
    [
        ("https://Soul.example:443", "https://soul.example"),
        ("http://soul.example:80/", "http://soul.example"),
        ("https://soul.example:80", "https://soul.example:80"),
    ],
)
async def test_a_browser_does_not_name_the_usual_port(tmp_path: Path, page: str, origin: str) -> None:
    async with console(tmp_path, token=TOKEN, page=page) as site:
        sent = {"Host": "127.0.0.1:8765", "Origin": origin, "X-Console-Token": TOKEN}
        async with site.http.get(f"{site.url}/console/state", headers=sent) as answer:
            assert answer.status == 200, await answer.text()


async def test_another_loopback_address_is_a_name_of_ours_but_no_other_is(tmp_path: Path) -> None:
    async with console(tmp_path, host="127.0.0.2") as site:
        for name, status in (("127.0.0.2:8765", 200), ("localhost", 200), ("evil.example", 403)):
            async with site.http.get(f"{site.url}/console/state", headers={"Host": name}) as answer:
                assert answer.status == status, name


async def test_a_health_check_needs_no_token(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site, site.http.get(f"{site.url}/healthz") as answer:
        assert answer.status == 200


async def test_a_socket_opens_with_its_ticket_but_not_under_a_foreign_host(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        async with site.http.ws_connect(f"{site.url}/link/?ticket=1") as socket:
            assert await socket.receive_str() == "hello"
        for foreign in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            async with site.http.get(f"{site.url}/link/?ticket=1", headers=foreign) as answer:
                assert answer.status == 403


async def test_every_answer_forbids_what_the_page_does_not_need(site: Site) -> None:
    for path in ("/", "/console/state", "/nowhere"):
        async with site.http.get(site.url + path) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
    async with site.http.get(f"{site.url}/console/state") as answer:
        assert answer.headers["Cache-Control"] == "no-store"
