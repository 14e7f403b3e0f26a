"""Downloads of shared files, with any fault."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import traceback
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from daemon.errors import FileTemporarilyUnavailable, FileUnavailable
from daemon.kinds import SharedFile
from daemon.slack.shared_files import MOST, SLACK_FILES, url_origin
from tests.attention import PATIENCE, until
from tests.slack.shelf import TOKEN, Shelf, claims, floods, garbles, hangs_up, says, shelf

SIGN_IN = "<!DOCTYPE html><html><title>Sign in to Slack</title></html>"


@pytest.fixture
async def here() -> AsyncIterator[Shelf]:
    async with shelf() as here:
        yield here


async def refusal(here: Shelf, file: SharedFile) -> FileUnavailable:
    """Return the refusal of a file, without the token in any cause."""
    with pytest.raises(FileUnavailable) as refused:
        await here.files.fetch(file)
    failure: BaseException | None = refused.value
    while failure:
        assert TOKEN not in "".join(traceback.format_exception(failure)) + repr(vars(failure))
        assert TOKEN not in repr(failure.args)
        failure = failure.__cause__ or failure.__context__
    return refused.value


async def test_a_file_is_fetched_with_the_bots_token(here: Shelf) -> None:
    here.answers = [says(b"\x00the plan\xff", content_type="application/pdf")]
    assert await here.files.fetch(here.file(size=10)) == b"\x00the plan\xff"
    (asked,) = here.asked
    assert asked["Authorization"] == f"Bearer {TOKEN}"
    assert here.calls == []


async def test_an_empty_file_is_a_file(here: Shelf) -> None:
    here.answers = [says(b"")]
    assert await here.files.fetch(here.file(size=0)) == b""


async def test_what_is_said_to_be_large_is_not_asked_for() -> None:
    async with shelf(most=MOST) as here:
        refused = await refusal(here, here.file(size=200_000_000))
        assert str(refused) == (
            "It has 200 MB, and files of more than 50 MB are not read: share the part that matters."
        )
        assert (here.asked, here.calls) == ([], [])


async def test_a_large_answer_is_not_read_where_its_length_is_known(here: Shelf) -> None:
    here.answers = [claims(2_000_000)]
    assert "It has 2 MB" in str(await refusal(here, here.file()))
    assert len(here.asked) == 1


async def test_reading_stops_where_a_file_is_too_large_after_all(here: Shelf) -> None:
    here.answers = [floods]
    assert "It has more than 0.001 MB" in str(await refusal(here, here.file(size=3)))


async def test_what_is_packed_small_is_measured_as_it_is_unpacked() -> None:
    async with shelf(most=1_000_000) as here:
        here.answers = [says(gzip.compress(bytes(20_000_000)), content_encoding="gzip")]
        assert "It has more than 1 MB" in str(await refusal(here, here.file()))
        assert here.asked[0]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    "url",
    [
        "https://files.slack.com.example.com/files-pri/T1-F1/plan.txt",
        "https://example.com/files.slack.com/plan.txt",
        "https://files.slack.com@127.0.0.1/plan.txt",
        "https://files.slack.com\\@127.0.0.1/plan.txt",
        "https://files.slack.com:8443/plan.txt",
        "http://files.slack.com/plan.txt",
        "http://127.0.0.1/plan.txt",
        "http://127.0.0.1:{port}0/plan.txt",
        "http://localhost:{port}/plan.txt",
        "https://127.0.0.1:{port}/plan.txt",
        "http://user@127.0.0.1:{port}/plan.txt",
        "//127.0.0.1:{port}/plan.txt",
        "file:///etc/passwd",
        "http://127.0.0.1:{port}/plan .txt",
        "http://[::1",
    ],
)
async def test_the_token_goes_nowhere_else(here: Shelf, url: str) -> None:
    here.answers = [says()]
    elsewhere = url.replace("{port}", here.url.rpartition(":")[2])
    assert "the app's token goes nowhere else" in str(await refusal(here, here.file(id="", url=elsewhere)))
    assert here.asked == []


def test_it_goes_to_slacks_own_server_of_files() -> None:
    assert url_origin("https://files.slack.com/files-pri/T1-F1/plan.txt") == SLACK_FILES
    assert url_origin("https://FILES.slack.com:443/x?pub_secret=1") == SLACK_FILES


async def test_what_opens_our_own_port_is_not_shown_to_slack() -> None:
    async with shelf(headers={"X-Console-Token": "ours"}) as here:
        here.answers = [says()]
        await here.files.fetch(here.file())
        assert here.asked[0]["X-Console-Token"] == "ours"
        async with here.files._session("https://files.slack.com/files-pri/x") as session:
            assert "X-Console-Token" not in session.headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(status: int) -> None:
    async with shelf() as here, shelf() as elsewhere:
        elsewhere.answers = [says()]
        here.answers = [says(b"", status=status, location=elsewhere.file().url)]
        assert "lacks the scope files:read" in str(await refusal(here, here.file()))
        assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ({"mimetype": "application/pdf"}, "text/html; charset=utf-8"),
        ({"mimetype": "text/html", "size": 3}, "text/html"),
        ({"mimetype": "text/html"}, "text/html"),
        ({"mimetype": "text/plain"}, ""),
    ],
)
async def test_a_page_in_place_of_the_file_is_said_as_such(
    here: Shelf, file: dict[str, Any], kind: str
) -> None:
    here.answers = [says(SIGN_IN, content_type=kind) if kind else bare(SIGN_IN)]
    said = str(await refusal(here, here.file(**file)))
    assert "Slack asks to sign in where the file should be" in said
    assert "files:read" in said
    assert "install the app again" in said


def bare(body: str) -> Any:
    """Return an answer without a content type."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        request.transport.write((head + body).encode())
        request.transport.close()
        return web.Response()

    return answer


async def test_a_page_that_somebody_shared_is_a_file(here: Shelf) -> None:
    here.answers = [says(SIGN_IN, content_type="text/html")]
    page = here.file(mimetype="text/html", size=len(SIGN_IN))
    assert await here.files.fetch(page) == SIGN_IN.encode()


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ({"mode": "external"}, "kept by another service"),
        ({"mode": "tombstone"}, "deleted from Slack"),
        ({"mode": "hidden_by_limit"}, "limit of its plan"),
        ({"mode": "post"}, "a post, a canvas or a list"),
        ({"mode": "space"}, "a post, a canvas or a list"),
        ({"mode": "quip"}, "a post, a canvas or a list"),
        ({"access": "access_denied"}, "Slack does not let this app have it"),
        ({"access": "file_not_found"}, "deleted from Slack"),
        ({"id": "", "url": ""}, "Slack does not say where"),
    ],
)
async def test_what_cannot_be_had_is_not_asked_for(here: Shelf, described: dict[str, Any], said: str) -> None:
    here.answers = [says()]
    assert said in str(await refusal(here, here.file(**described)))
    assert (here.asked, here.calls) == ([], [])


async def test_a_snippet_is_fetched_as_any_file(here: Shelf) -> None:
    here.answers = [says("print()")]
    assert await here.files.fetch(here.file(mode="snippet")) == b"print()"


@pytest.mark.parametrize(
    "described", [{"access": "check_file_info"}, {"url": ""}, {"url": "http://x.y/plan"}]
)
async def test_slack_is_asked_where_a_file_is_that_came_without_its_place(
    here: Shelf, described: dict[str, Any]
) -> None:
    here.answers = [says()]
    there = {"id": "F1", "name": "plan.txt", "mode": "hosted", "url_private_download": here.file().url}
    here.told = {"ok": True, "file": {**there, "file_access": "visible"}}
    assert await here.files.fetch(here.file(**described)) == b"the plan"
    assert [call["file"] for call in here.calls] == ["F1"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"ok": False, "error": "file_not_found"}, "It was deleted, or this app is not in the conversation"),
        ({"ok": False, "error": "file_deleted"}, "It was deleted"),
        ({"ok": False, "error": "missing_scope", "needed": "files:read"}, "lacks the scope files:read"),
        ({"ok": False, "error": "a_word_of_tomorrow"}, "Slack does not show it (a_word_of_tomorrow)."),
        ({"ok": False, "error": "internal_error"}, "Try again in a moment."),
        ({"ok": True}, "Slack does not say where its content is."),
        ({"ok": True, "file": {"id": "F1", "name": "x"}}, "Slack does not say where its content is."),
        ({"ok": True, "file": {"id": "F1", "file_access": "check_file_info"}}, "Slack does not say where"),
        (
            {"ok": True, "file": {"url_private": "HERE", "file_access": "check_file_info"}},
            "does not say where",
        ),
        ({"ok": True, "file": {"id": "F1", "mode": "tombstone"}}, "deleted from Slack"),
        ({"ok": True, "file": {"id": "F1", "size": 5_000_000}}, "It has 5 MB"),
        (
            {"ok": True, "file": {"id": "F1", "url_private": "http://x.y/"}},
            "the app's token goes nowhere else",
        ),
    ],
)
async def test_slack_may_not_say_where_it_is(here: Shelf, told: dict[str, Any], said: str) -> None:
    here.answers, here.told = [says()], json.loads(json.dumps(told).replace("HERE", here.file().url))
    assert said in str(await refusal(here, here.file(access="check_file_info")))
    assert here.asked == []


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "Slack does not let this app have it"),
        (403, "It needs the scope files:read, too."),
        (404, "It was deleted, or this app is not in the conversation"),
        (410, "It was deleted, or this app is not in the conversation"),
        (204, "Slack answered with the status 204"),
        (418, "Slack answered with the status 418"),
    ],
)
async def test_what_is_refused_is_asked_for_once(here: Shelf, status: int, said: str) -> None:
    here.answers = [says(b"", status=status)]
    refused = await refusal(here, here.file())
    assert said in str(refused)
    assert not isinstance(refused, FileTemporarilyUnavailable)
    assert len(here.asked) == 1


@pytest.mark.parametrize("trouble", [says("oops", status=503), hangs_up, claims(8)])
async def test_a_stumble_is_no_end(here: Shelf, trouble: Any) -> None:
    here.answers = [trouble, says()]
    assert await here.files.fetch(here.file()) == b"the plan"


@pytest.mark.parametrize(
    ("trouble", "said", "requests"),
    [
        (says("oops", status=500), "failed (500)", 1),
        (claims(900), "broke", 1),
        (garbles, "broke", 1),
        (hangs_up, "broke", 2),
    ],
)
async def test_after_some_tries_it_is_given_up(here: Shelf, trouble: Any, said: str, requests: int) -> None:
    here.answers = [trouble]
    fetching = asyncio.create_task(refusal(here, here.file()))
    await until(lambda: here.clock.sleepers)
    assert len(here.asked) == 2 * requests
    await here.clock.advance(10)
    refused = await fetching
    assert said in str(refused)
    assert isinstance(refused, FileTemporarilyUnavailable)
    assert len(here.asked) == 3 * requests


async def test_a_rate_limit_is_waited_for(here: Shelf) -> None:
    here.answers = [says(b"", status=429, retry_after="20"), says()]
    fetching = asyncio.create_task(here.files.fetch(here.file()))
    await until(lambda: here.clock.sleepers)
    await here.clock.advance(19)
    assert len(here.asked) == 1
    await here.clock.advance(1)
    assert await fetching == b"the plan"


@pytest.mark.parametrize("after", ["31", "9" * 5_000, "Thu, 01 Jan 2099 00:00:00 GMT", "-1"])
async def test_a_long_rate_limit_is_not(here: Shelf, after: str) -> None:
    here.answers = [says(b"", status=429, retry_after=after)]
    refused = await refusal(here, here.file())
    assert str(refused) == ("Slack takes no more requests from this app for now. Try again in some minutes.")
    assert isinstance(refused, FileTemporarilyUnavailable)
    assert len(here.asked) == 1


async def test_rate_limits_are_not_waited_for_without_end(here: Shelf) -> None:
    here.answers = [says(b"", status=429, retry_after="20")]
    fetching = asyncio.create_task(refusal(here, here.file()))
    await until(lambda: here.clock.sleepers)
    await here.clock.advance(20)
    assert "Slack takes no more requests" in str(await fetching)
    assert len(here.asked) == 2


async def test_what_never_ends_is_given_up_in_time() -> None:
    came = asyncio.Event()

    async def drips(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        await response.write(b"x")
        await came.wait()
        return response

    async with shelf(patience=0.2) as here:
        here.answers = [drips]
        async with asyncio.timeout(PATIENCE):
            refused = await refusal(here, here.file())
        came.set()
        assert str(refused) == "It did not come within 0.2 seconds. Try again in a moment."
        assert isinstance(refused, FileTemporarilyUnavailable)


async def test_no_log_holds_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with shelf() as here:
        here.answers = [says()]
        await here.files.fetch(here.file())
        here.answers = [hangs_up, says(b"", status=403)]
        await refusal(here, here.file())
        await refusal(here, here.file(access="check_file_info"))
    assert TOKEN not in caplog.text
