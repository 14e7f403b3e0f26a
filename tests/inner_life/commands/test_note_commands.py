"""The note commands: effects, refusals, visibility."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from daemon.inner_life.note import NoteFilter
from daemon.ism import ActionRefused
from daemon.kinds import AudienceChanged, IncomingMessage
from daemon.knowledge.visibility import always_visible
from tests.inner_life.noting import Inbox

EACH = ("notes.read", "notes.hide", "notes.tag", "notes.mark")
MORE: dict[str, dict[str, Any]] = {"notes.tag": {"tags": ["ops"]}, "notes.mark": {"read": True}}


async def three(here: Inbox) -> list[int]:
    general = await here.open("C1", ts="")
    return [(await here.notice(general, text)).seq for text in ("one", "two", "three")]


def open_ids(here: Inbox) -> list[int]:
    return sorted(id for id, _ in here.notes.list_open().ids)


async def test_what_was_read_is_shown_next_and_counts_no_more(here: Inbox) -> None:
    first, second, third = await three(here)
    done = await here.do("notes.read", ids=[second, third, second])
    assert list(done.shows) == [second, third]
    assert open_ids(here) == [first]
    await here.do("notes.mark", ids=[third], read=False)
    assert here.notes.list_open().ids == ((third, "normal"), (first, "normal"))
    await here.do("notes.mark", ids=[first, third])
    assert open_ids(here) == []


async def test_what_was_hidden_counts_no_more(here: Inbox) -> None:
    first, second, third = await three(here)
    await here.do("notes.hide", ids=[first, third])
    assert open_ids(here) == [second]
    assert here.notes.counts()["normal"] == 1
    done = await here.do("notes.list", unread=False)
    assert f"{first}: normal, channel, in #C1, hidden" in done.text


async def test_tags_are_set_in_place_of_those_before(here: Inbox) -> None:
    first, second, _ = await three(here)
    await here.do("notes.tag", ids=[first, second], tags=["#Ops", "later"])
    await here.do("notes.read", ids=[second])
    assert f"\n{second}:" not in (await here.do("notes.list", tags=["ops"])).text
    assert f"\n{second}:" in (await here.do("notes.list", tags=["ops"], unread=False)).text
    assert f"{first}: normal, channel, in #C1, #ops, #later" in (await here.do("notes.list")).text
    await here.do("notes.tag", ids=[first], tags=["done"])
    await here.do("notes.tag", ids=[second], tags=[])
    found = {
        tag: here.notes.matching(NoteFilter(tags=(tag,)), always_visible) for tag in ("ops", "later", "done")
    }
    assert found == {"ops": [], "later": [], "done": [first]}


async def test_a_hashtag_stays_while_its_words_stand(here: Inbox) -> None:
    talk = await here.open("C1")
    said = await here.hear(talk, "look #here")
    await here.do("notes.tag", view=talk, ids=[said.seq], tags=[])
    assert here.notes.matching(NoteFilter(tags=("here",)), always_visible) == [said.seq]


async def test_old_ones_leave_the_notes_and_never_the_journal(here: Inbox) -> None:
    first, second, third = await three(here)
    await here.do("notes.hide", ids=[second])
    done = await here.do("cleanup.notes")
    assert "1" in done.text
    assert here.notes.get(second) is None
    await here.clock.advance(3 * 86_400.0)
    late = (await here.notice(await here.open("C1", ts=""), "late")).seq
    await here.do("cleanup.notes", older_than_days=2)
    assert here.notes.new_since(0) == [late] == open_ids(here)
    assert [entry.event.text for entry in here.journal.entries_at([first, third])] == ["one", "three"]
    with pytest.raises(ActionRefused):
        await here.do("notes.read", ids=[first])


async def test_a_list_goes_on_where_it_ended(here: Inbox) -> None:
    general = await here.open("C1", ts="")
    seqs = [(await here.notice(general, f"{number}")).seq for number in range(60)]
    first = await here.do("notes.list")
    second = await here.do("notes.list", more=50)
    assert "more=50" in first.text
    assert "more=" not in second.text
    listed = [line.partition(":")[0] for done in (first, second) for line in done.text.splitlines()]
    assert [int(id) for id in listed if id.isdigit()] == seqs[::-1]


@pytest.mark.parametrize("name", EACH)
async def test_ids_that_are_none_are_named_and_nothing_is_done(here: Inbox, name: str) -> None:
    seqs = await three(here)
    with pytest.raises(ActionRefused, match="no note 9998, 9999"):
        await here.do(name, ids=[9998, seqs[0], 9999], **MORE.get(name, {}))
    assert open_ids(here) == seqs


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("ids", [[], list(range(51)), ["one"]])
async def test_no_ids_and_too_many_are_bad_arguments(here: Inbox, name: str, ids: list[Any]) -> None:
    with pytest.raises(ValidationError):
        await here.do(name, ids=ids, **MORE.get(name, {}))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("notes.list", {"colour": "red"}),
        ("notes.list", {"priority": "big"}),
        ("notes.read", {"ids": [1], "also": 2}),
        ("notes.tag", {"ids": [1], "tags": ["two words"]}),
        ("notes.tag", {"ids": [1], "tags": ["<b>"]}),
        ("cleanup.notes", {"older_than_days": -1}),
    ],
)
async def test_arguments_that_mean_nothing_are_bad(here: Inbox, name: str, args: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await here.do(name, **args)


# Visibility


async def test_a_list_tells_of_what_may_not_be_known_in_view_nothing(here: Inbox) -> None:
    alice, bob = await here.open("D1"), await here.open("D2")
    secret = await here.say(alice, "the secret #plan")
    other = await here.say(bob, "hello")
    public = await here.notice(await here.open("C1", ts=""), "lunch?")
    await here.do("notes.tag", ids=[secret.seq], tags=["done"])
    for wanted in ({}, {"source": "dm"}, {"tags": ["plan"]}, {"tags": ["done"]}, {"priority": "important"}):
        for view in (bob, ""):
            text = (await here.do("notes.list", view, **wanted)).text
            assert str(secret.seq) not in text
            assert "plan" not in text
    assert str(other.seq) in (await here.do("notes.list", bob)).text
    assert str(public.seq) in (await here.do("notes.list", bob)).text
    assert str(secret.seq) in (await here.do("notes.list", alice, tags=["plan"])).text
    assert "2 important" in (await here.do("notes.list")).text  # counts, ids and priorities are not secret


async def test_a_tag_shows_only_where_the_view_it_was_set_in_may_be_known(here: Inbox) -> None:
    alice, bob = await here.open("D1"), await here.open("D2")
    public = await here.notice(await here.open("C1", ts=""), "lunch?")
    note = public.seq
    await here.do("notes.tag", alice, ids=[note], tags=["alice-is-ill"])
    await here.do("notes.tag", bob, ids=[note], tags=["bobs"])
    await here.do("notes.tag", "", ids=[note], tags=["food"])
    in_alices = (await here.do("notes.list", alice)).text
    in_bobs = (await here.do("notes.list", bob)).text
    in_public = (await here.do("notes.list")).text
    assert in_alices.endswith(f"{note}: normal, channel, in #C1, #alice-is-ill, #food")
    assert in_bobs.endswith(f"{note}: normal, channel, in #C1, #bobs, #food")
    assert in_public.endswith(f"{note}: normal, channel, in #C1, #food")
    assert str(note) not in (await here.do("notes.list", bob, tags=["alice-is-ill"])).text
    found = here.notes.get(note)
    assert found
    words = here.notes.words(found, here.views.make_check(bob))
    assert 'tags="bobs food"' in words


async def test_a_tag_is_hidden_in_its_channel_when_others_come_to_read_there(here: Inbox) -> None:
    board = await here.open("C9", "private")
    note = (await here.notice(board, "lunch?")).seq
    await here.do("notes.tag", board, ids=[note], tags=["before-the-merger"])
    shared = AudienceChanged(team="T1", channel="C9", audience="shared")
    await here.write("slack:T1", shared, "others came")
    assert "merger" not in (await here.do("notes.list", board)).text
    await here.do("notes.tag", board, ids=[note], tags=["food"])
    assert "#food" in (await here.do("notes.list", board)).text


async def test_what_may_not_be_known_beside_the_last_one_is_withheld_and_stays_unread(here: Inbox) -> None:
    alice, bob = await here.open("D1"), await here.open("D2")
    secret, last = await here.say(alice, "the secret"), await here.say(bob, "hello")
    public = await here.notice(await here.open("C1", ts=""), "lunch?")
    done = await here.do("notes.read", ids=[secret.seq, public.seq, last.seq])
    assert list(done.shows) == [public.seq, last.seq]
    assert f"Withheld, as it may not be known where {last.seq} was said: {secret.seq}." in done.text
    assert open_ids(here) == [secret.seq]


async def test_what_becomes_private_is_no_longer_told_elsewhere(here: Inbox) -> None:
    bob = await here.open("D2")
    public = await here.notice(await here.open("C1", ts=""), "lunch?")
    assert str(public.seq) in (await here.do("notes.list", bob)).text
    await here.write("slack:T1", AudienceChanged(team="T1", channel="C1", audience="private"), "closed")
    assert str(public.seq) not in (await here.do("notes.list", bob)).text


async def test_nothing_that_was_said_is_ever_told_by_a_command(here: Inbox) -> None:
    dm = await here.open("D1")
    said: IncomingMessage = (await here.say(dm, "xyzzy")).event
    seq = here.journal.last_seq_of_all()
    for name in ("notes.list", *EACH):
        args = {"ids": [seq], **MORE.get(name, {})} if name in EACH else {"unread": False}
        assert said.text not in (await here.do(name, dm, **args)).text
