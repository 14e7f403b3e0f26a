"""The status when Slack refuses it."""

from __future__ import annotations

import pytest

from tests.slack.office import Office
from tests.slack.signs import LINE, SESSION, called, later, lines, sessions, show


async def test_a_passing_refusal_is_tried_again_at_once(here: Office) -> None:
    here.wire.refuse[LINE] = ["internal_error"]
    here.wire.refuse[SESSION] = ["internal_error"]
    await show(here, await called(here), "is musing…")
    assert lines(here) == ["is musing…"]


async def test_where_slack_has_enough_it_is_told_only_the_newest_after_a_while(here: Office) -> None:
    here.wire.refuse[LINE] = ["ratelimited"]  # for three seconds
    thread = await called(here)
    for n in range(4):
        await show(here, thread, f"is musing ({n})…")
    assert len(here.wire.told(LINE)) == 1
    await later(here, 3)
    assert [args["status"] for args in here.wire.told(LINE)] == ["is musing (0)…", "is musing (3)…"]


@pytest.mark.parametrize("refusal", ["ratelimited", "429", "500", "503", "internal_error"])
async def test_what_slack_does_not_take_away_is_taken_away_as_soon_as_it_does(
    here: Office, refusal: str
) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    for method in (LINE, SESSION):
        here.wire.refuse[method] = [refusal] * 3
    await show(here, thread, "")
    assert lines(here) == ["is musing…"]
    await later(here, 60)
    assert (lines(here), sessions(here)) == ([], [])


async def test_what_nobody_knows_to_be_taken_away_is_taken_away_again(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    for method in (LINE, SESSION):
        here.wire.cut.add(method)
    await show(here, thread, "")
    here.wire.cut.clear()
    await later(here, 60)
    asked = len(here.wire.told(LINE)), len(here.wire.told(SESSION))
    await show(here, thread, "")
    assert (len(here.wire.told(LINE)), len(here.wire.told(SESSION))) == asked
    assert [args["status"] for args in here.wire.told(LINE)][1:] == [""] * (asked[0] - 1)
    assert [args["status"] for args in here.wire.told(SESSION)][1:] == ["active"] * (asked[1] - 1)


async def test_what_nobody_knows_to_stand_there_is_taken_away(here: Office) -> None:
    thread = await called(here)
    for method in (LINE, SESSION):
        here.wire.cut.add(method)
    await show(here, thread, "is musing…")
    here.wire.cut.clear()
    await show(here, thread, "")
    await later(here, 60)
    assert (lines(here), sessions(here)) == ([], [])


async def test_a_thread_that_is_gone_from_slack_is_left_alone(here: Office) -> None:
    thread = await called(here)
    await show(here, thread, "is musing…")
    here.wire.refuse[SESSION] = ["channel_not_found"]
    await show(here, thread, "")
    await later(here, 600)
    assert [args["status"] for args in here.wire.told(SESSION)] == ["processing", "active"]


@pytest.mark.parametrize(
    "word", ["not_authorized", "not_allowed_token_type", "unknown_method", "feature_not_enabled"]
)
async def test_what_slack_takes_of_no_app_like_this_is_told_once_and_not_asked_again(
    here: Office, caplog: pytest.LogCaptureFixture, word: str
) -> None:
    here.wire.refuse[SESSION] = [word] * 9
    for _ in range(3):
        thread = await called(here)
        await show(here, thread, "is musing…")
        assert lines(here)[-1] == "is musing…"
        await show(here, thread, "")
    assert len(here.wire.refuse[SESSION]) == 8
    told = [line for line in caplog.messages if SESSION in line]
    assert len(told) == 1
    assert word in told[0]
    assert "declare the app as an agent" in told[0]


async def test_a_scope_that_is_missing_is_told_once(here: Office, caplog: pytest.LogCaptureFixture) -> None:
    here.wire.refuse[SESSION] = ["missing_scope"] * 9
    for _ in range(2):
        await show(here, await called(here), "is musing…")
    assert len(here.wire.refuse[SESSION]) == 8
    assert len([line for line in caplog.messages if SESSION in line]) == 1
