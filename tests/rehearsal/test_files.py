"""Files in the rehearsed Slack: upload by slack_sdk, restricted download."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from slack_sdk.errors import SlackRequestError
from slack_sdk.web.async_client import AsyncWebClient

from rehearsal.people import ALICE, BOB, CAROL, ECHO, SOUL
from tests.clock import FakeClock
from tests.rehearsal.place import DM, PATIENCE, Place, refused, served

GENERAL, RANDOM, BACKROOM, WORKSHOP = "C0GENERAL01", "C0RANDOM002", "C0BACKROOM4", "C0WORKSHOP3"
BINARY = bytes(range(256)) * 300


async def shared(place: Place, channel: str = DM, token: str = ALICE.token, **more: Any) -> dict[str, Any]:
    """Share a file; return it as its sender sees it."""
    given: dict[str, Any] = {"filename": "plan.pdf", "content": BINARY, "channel": channel, **more}
    completed = await place.client(token).files_upload_v2(**given)
    file: dict[str, Any] = completed["files"][0]
    return file


async def got(place: Place, url: str, token: str = SOUL.bot_token) -> tuple[int, str, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with place.session.get(url, headers=headers, allow_redirects=False) as response:
        return response.status, response.content_type, await response.read()


async def test_a_shared_file_is_a_message_and_its_bytes_are_there(place: Place) -> None:
    file = await shared(place, initial_comment="Look at this")
    (event,) = await place.events()
    assert (event["type"], event["subtype"], event["text"]) == ("message", "file_share", "Look at this")
    assert event["user"] == ALICE.id
    (told,) = event["files"]
    assert {name: told[name] for name in ("id", "name", "mimetype", "filetype", "size", "mode")} == {
        "id": file["id"],
        "name": "plan.pdf",
        "mimetype": "application/pdf",
        "filetype": "pdf",
        "size": len(BINARY),
        "mode": "hosted",
    }
    assert file["shares"] == {"private": {DM: [{"ts": event["ts"]}]}}
    for url in (told["url_private"], told["url_private_download"]):
        assert await got(place, url) == (200, "application/pdf", BINARY)


@pytest.mark.parametrize(
    ("name", "mimetype", "filetype", "mode"),
    [
        ("notes.txt", "text/plain", "text", "snippet"),
        ("table.csv", "text/csv", "csv", "snippet"),
        ("read.me.md", "text/markdown", "markdown", "snippet"),
        ("data.json", "application/json", "json", "hosted"),
        (
            "a letter.DOCX",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "docx",
            "hosted",
        ),
        ("README", "application/octet-stream", "binary", "hosted"),
    ],
)
async def test_its_type_is_told_by_its_name(
    place: Place, name: str, mimetype: str, filetype: str, mode: str
) -> None:
    file = await shared(place, filename=name, content="words")
    assert (file["name"], file["mimetype"], file["filetype"], file["mode"]) == (
        name,
        mimetype,
        filetype,
        mode,
    )
    assert await got(place, file["url_private"]) == (200, mimetype, b"words")


async def test_several_files_are_one_message_in_a_thread(place: Place) -> None:
    alice = place.client(ALICE.token)
    root = (await alice.chat_postMessage(channel=GENERAL, text="About the plan"))["ts"]
    files = [{"filename": "a.txt", "content": "one"}, {"filename": "b.txt", "content": "", "title": "B"}]
    await alice.files_upload_v2(file_uploads=files, channel=GENERAL, thread_ts=root, initial_comment="both")
    _, reply = (await place.client(SOUL.bot_token).conversations_replies(channel=GENERAL, ts=root))[
        "messages"
    ]
    assert (reply["thread_ts"], reply["subtype"], reply["text"]) == (root, "file_share", "both")
    assert [(one["name"], one["title"], one["size"]) for one in reply["files"]] == [
        ("a.txt", "a.txt", 3),
        ("b.txt", "B", 0),
    ]
    assert (await got(place, reply["files"][1]["url_private"]))[2] == b""


async def test_history_shows_files_and_the_app_mention_does_not(place: Place) -> None:
    await shared(place, GENERAL, initial_comment=f"<@{SOUL.user}> what is this?")
    message, mention = await place.events()
    assert (message["type"], mention["type"]) == ("message", "app_mention")
    assert "files" not in mention
    (said,) = (await place.client(SOUL.bot_token).conversations_history(channel=GENERAL))["messages"]
    assert said["files"] == message["files"]


async def test_an_app_shares_files_too(place: Place) -> None:
    file = await shared(place, token=SOUL.bot_token)
    assert await got(place, file["url_private"], ALICE.token) == (200, "application/pdf", BINARY)


@pytest.mark.parametrize(
    ("channel", "token", "status"),
    [
        (DM, ALICE.token, 200),
        (DM, BOB.token, 404),
        (GENERAL, CAROL.token, 200),
        (BACKROOM, BOB.token, 200),
        (BACKROOM, CAROL.token, 404),
        (BACKROOM, SOUL.bot_token, 200),
        (DM, "", 302),
        (DM, "xoxb-nobody", 302),
        (DM, SOUL.app_token, 302),
    ],
)
async def test_who_may_read_it(place: Place, channel: str, token: str, status: int) -> None:
    file = await shared(place, channel)
    answer = await got(place, file["url_private"], token)
    assert (answer[0], answer[2] == BINARY) == (status, status == 200)
    if token.startswith(("xoxp", SOUL.bot_token)):
        info = place.client(token).files_info(file=file["id"])
        if status == 200:
            assert (await info)["file"] == file
        else:
            assert await refused(info) == "file_not_found"


async def test_a_file_that_is_shared_nowhere_is_ones_own(place: Place) -> None:
    file = (await place.client(ALICE.token).files_upload_v2(filename="diary.txt", content="dear"))["files"][0]
    assert file["shares"] == {}
    assert (await got(place, file["url_private"], ALICE.token))[0] == 200
    assert (await got(place, file["url_private"], SOUL.bot_token))[0] == 404


async def test_a_file_goes_with_its_message(place: Place) -> None:
    file = await shared(place)
    ts = file["shares"]["private"][DM][0]["ts"]
    await place.client(ALICE.token).chat_delete(channel=DM, ts=ts)
    assert (await got(place, file["url_private"]))[0] == 404
    assert await refused(place.client(SOUL.bot_token).files_info(file=file["id"])) == "file_not_found"


async def test_a_file_goes_with_its_message_that_has_replies(place: Place) -> None:
    file = await shared(place)
    ts = file["shares"]["private"][DM][0]["ts"]
    alice = place.client(ALICE.token)
    await alice.chat_postMessage(channel=DM, text="See above", thread_ts=ts)
    await alice.chat_delete(channel=DM, ts=ts)
    assert (await got(place, file["url_private"]))[0] == 404


async def test_an_app_without_the_scope_gets_a_page_to_sign_in(place: Place) -> None:
    file = await shared(place, GENERAL)
    status, kind, page = await got(place, file["url_private"], ECHO.bot_token)
    assert (status, kind) == (200, "text/html")
    assert b"Sign in" in page
    await place.send("/rehearsal/faults", name="missing-scope", on=True, scope="files:read")
    assert (await got(place, file["url_private"]))[1] == "text/html"
    assert await refused(place.client(SOUL.bot_token).files_info(file=file["id"])) == "missing_scope"


async def test_what_strikes_the_methods_can_strike_a_download(place: Place) -> None:
    file = await shared(place)
    await place.send("/rehearsal/faults", name="rate-limit", on=True, method="files.*", times=1)
    assert (await got(place, file["url_private"]))[0] == 429
    await place.send("/rehearsal/faults", name="broken", on=True, method="files.*", times=1)
    assert (await got(place, file["url_private"]))[0] == 500
    assert (await got(place, file["url_private"], ALICE.token))[0] == 200


async def test_what_is_uploaded_is_as_long_as_was_said(place: Place) -> None:
    alice = place.client(ALICE.token)
    opened = await alice.files_getUploadURLExternal(filename="a.txt", length=3)
    for content in (b"no", b"no no"):
        async with place.session.post(opened["upload_url"], data=content) as answer:
            assert answer.status == 400
    assert await refused(complete(alice, opened["file_id"])) == "file_not_found"
    async with place.session.put(opened["upload_url"], data=b"yes") as answer:
        assert answer.status == 200
    async with place.session.post(opened["upload_url"], data=b"yes") as answer:
        assert answer.status == 404
    assert await refused(complete(place.client(BOB.token), opened["file_id"])) == "file_not_found"
    await complete(alice, opened["file_id"])
    assert await refused(complete(alice, opened["file_id"])) == "file_not_found"


async def complete(client: AsyncWebClient, id: str) -> None:
    await client.files_completeUploadExternal(files=[{"id": id}], channel_id=GENERAL)


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"filename": "a", "length": 64_000_001}, "file_upload_size_restricted"),
        ({"filename": "a", "length": "some"}, "invalid_arguments"),
        ({"filename": "a", "length": "9" * 5_000}, "invalid_arguments"),
        ({"filename": "", "length": 1}, "invalid_arguments"),
    ],
)
async def test_what_is_too_large_or_nonsense_is_not_taken(
    place: Place, told: dict[str, Any], error: str
) -> None:
    assert (
        await refused(place.client(ALICE.token).api_call("files.getUploadURLExternal", params=told)) == error
    )


@pytest.mark.parametrize("files", ["", "[]", "{", "[1]", '[{"id": "F0NOWHERE"}]', "[" + "{}," * 10 + "{}]"])
async def test_what_completes_nothing_is_refused(place: Place, files: str) -> None:
    call = place.client(ALICE.token).api_call("files.completeUploadExternal", params={"files": files})
    assert await refused(call) in ("invalid_arguments", "file_not_found")


async def test_a_share_that_is_refused_leaves_the_file_to_be_shared(place: Place) -> None:
    bob = place.client(BOB.token)
    opened = await bob.files_getUploadURLExternal(filename="a.txt", length=3)
    async with place.session.post(opened["upload_url"], data=b"yes"):
        pass
    call = bob.files_completeUploadExternal(files=[{"id": opened["file_id"]}], channel_id=DM)
    assert await refused(call) == "channel_not_found"
    await complete(bob, opened["file_id"])


async def test_there_is_room_for_so_much_in_all(place: Place) -> None:
    with place.world.workspace.db as db:
        db.execute(
            "insert into file (id, user, name, title, size, created, content) "
            "values ('F9', 'U', 'x', 'x', 256000000, 0, 'x')"
        )
    assert await refused(shared(place)) == "storage_limit_reached"


async def test_files_outlive_the_world(tmp_path: Path) -> None:
    async with served(tmp_path / "rehearsal.db", FakeClock()) as place:
        id = (await shared(place))["id"]
    async with served(tmp_path / "rehearsal.db", FakeClock()) as place:
        file = (await place.client(SOUL.bot_token).files_info(file=id))["file"]
        assert (await got(place, file["url_private"]))[2] == BINARY


async def test_an_upload_without_end_is_not_read_to_its_end(place: Place) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(10_000)

    opened = await place.client(ALICE.token).files_getUploadURLExternal(filename="a.txt", length=6)
    sending = place.session.post(opened["upload_url"], data=endless())
    async with asyncio.timeout(PATIENCE), sending as answer:
        assert answer.status == 400


async def test_an_upload_that_breaks_off_is_none(place: Place) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"yes"
        raise ConnectionError

    opened = await place.client(ALICE.token).files_getUploadURLExternal(filename="a.txt", length=6)
    async with ClientSession() as session:
        with pytest.raises((ConnectionError, OSError, SlackRequestError)):
            await session.post(opened["upload_url"], data=half())
    assert await refused(complete(place.client(ALICE.token), opened["file_id"])) == "file_not_found"
