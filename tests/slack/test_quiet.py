"""What the soul says cannot ping anyone, however it comes in pieces."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daemon.engine.writable import writable
from daemon.slack.quiet import ZERO_WIDTH, quiet, quiet_so_far

PING = re.compile(r"<!(?:channel|here|everyone|subteam|date)|<[@#]|@(?:channel|here|everyone)", re.IGNORECASE)
OWNERS = frozenset({"U1", "U22"})
PIECES = [
    "<@U1>",
    "U22",
    "<@",
    "u1",
    "<",
    "!",
    "@",
    "#",
    "--",
    "here",
    "HERE",
    "channel",
    "everyone",
    "doctype",
    "subteam^S1",
    ">",
    "U1",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


@given(TEXTS)
def test_no_ping_is_left(text: str) -> None:
    assert not PING.search(quiet(text))


@given(TEXTS)
def test_nothing_but_the_ping_is_changed(text: str) -> None:
    assert quiet(text).replace(ZERO_WIDTH, "") == writable(text).replace(ZERO_WIDTH, "")


@given(TEXTS, st.data())
def test_each_piece_of_a_growing_text_continues_the_last(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6).map(sorted))
    shown = ""
    for cut in cuts:
        now = quiet_so_far(text[:cut])
        assert now.startswith(shown)
        assert not PING.search(now)
        shown = now
    assert quiet(text).startswith(shown)


@given(TEXTS)
def test_at_every_boundary_the_whole_begins_with_what_was_shown(text: str) -> None:
    for cut in range(len(text) + 1):
        assert quiet(text).startswith(quiet_so_far(text[:cut]))


@given(TEXTS)
@example("<@<@U1>here")
def test_of_all_pings_only_those_for_an_owner_are_left(text: str) -> None:
    said = quiet(text, OWNERS)
    assert not PING.search(re.sub(r"<@(U1|U22)>", "(an owner)", said))
    assert said.count("<@U1>") == text.count("<@U1>")


@given(TEXTS)
def test_with_owners_too_the_whole_begins_with_what_was_shown(text: str) -> None:
    for cut in range(len(text) + 1):
        assert quiet(text, OWNERS).startswith(quiet_so_far(text[:cut], OWNERS))


@pytest.mark.parametrize("text", ["<@U1|al>", "<@U12>", "<@u1>", "<@U1", "<!U1>", "<@W1>"])
def test_what_is_not_quite_an_owner_is_broken(text: str) -> None:
    assert quiet(text, OWNERS) == f"<{ZERO_WIDTH}{text[1:]}"


@pytest.mark.parametrize(
    "text", ["<!doctype html>", "<!DOCTYPE html>", "<!-- why -->", "a < b", "me@home.org"]
)
def test_what_pings_nobody_is_left_as_it_is(text: str) -> None:
    assert quiet(text) == text
    assert quiet_so_far(text + " ") == text + " "


def test_what_is_settled_is_not_held_back() -> None:
    assert quiet_so_far("Hi @here") == f"Hi @{ZERO_WIDTH}here"
    assert quiet_so_far("Hi <@U1>", OWNERS) == "Hi <@U1>"
    assert quiet_so_far("Hi <@U1", OWNERS) == "Hi "
