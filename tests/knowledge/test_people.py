"""Models of people: visibility, precedence, time."""

from __future__ import annotations

import pytest

from daemon.engine.event import Entry
from daemon.kinds import PersonModelWritten
from daemon.knowledge.person_notes import MOST, PersonModels
from daemon.knowledge.visibility import KnownChannels
from tests.knowledge.office import Office, forget


@pytest.fixture
def models(office: Office) -> PersonModels:
    return PersonModels(office.journal, KnownChannels(office.journal))


def alice(text: str, since: int) -> PersonModelWritten:
    return PersonModelWritten(person="UAlice", name="Alice", text=text, since=since)


async def learn(office: Office, models: PersonModels, thread: str, text: str) -> Entry[PersonModelWritten]:
    since, _ = models.base_model("UAlice", thread)
    return await office.write(thread, alice(text, since))


async def test_what_was_learned_in_a_dm_is_used_in_that_dm_alone(
    office: Office, models: PersonModels
) -> None:
    dm, public = await office.open("D1", "dm"), await office.open("C1", "public")
    await learn(office, models, dm, "Alice is ill.")
    await learn(office, models, public, "Alice leads the project.")
    assert models.known_lines("UAlice", dm) == ["Alice is ill.", "Alice leads the project."]
    assert models.known_lines("UAlice", await office.open("D1", "dm"))[0] == "Alice is ill."
    for channel, audience in (("C1", "public"), ("C2", "private"), ("D2", "dm"), ("G1", "group")):
        thread = await office.open(channel, audience)
        assert models.known_lines("UAlice", thread) == ["Alice leads the project."]
    assert models.known_lines("UAlice", await office.open("C3", "shared")) == []
    assert models.known_lines("UAlice", await office.open("C4", "")) == []
    assert models.known_lines("UBob", dm) == []
    assert models.known_lines("UAlice", "core") == []


async def test_the_latest_of_a_channel_counts_as_of_when_it_is_asked(
    office: Office, models: PersonModels
) -> None:
    thread = await office.open("C1")
    first = await learn(office, models, thread, "one")
    second = await learn(office, models, thread, "two")
    assert models.known_lines("UAlice", thread) == ["two"]
    assert models.known_lines("UAlice", thread, before=second.seq) == ["one"]
    assert models.known_lines("UAlice", thread, before=first.seq) == []
    assert models.base_model("UAlice", thread, before=second.seq) == (first.seq, "one")
    assert models.base_model("UAlice", thread) == (second.seq, "two")
    assert models.base_model("UBob", thread) == (0, "")


async def test_of_two_that_were_learned_at_once_the_first_counts_and_the_second_is_told(
    office: Office, models: PersonModels
) -> None:
    one, other = await office.open("D1", "dm"), await office.open("D1", "dm")
    base = await learn(office, models, one, "base")
    first = await office.write(one, alice("first", base.seq))
    stale = await office.write(other, alice("stale", base.seq))
    assert (models.is_current(first), models.is_current(stale)) == (True, False)
    assert models.known_lines("UAlice", one) == ["first"]
    again = await learn(office, models, other, "first and stale")
    assert models.is_current(again)
    assert models.known_lines("UAlice", one) == ["first and stale"]
    assert PersonModels(office.journal, KnownChannels(office.journal)).known_lines("UAlice", one) == [
        "first and stale"
    ]


async def test_this_channels_model_comes_first_then_the_newest(office: Office, models: PersonModels) -> None:
    here = await office.open("C0")
    await learn(office, models, here, "here")
    for n in range(1, 10):
        await learn(office, models, await office.open(f"C{n}"), f"in C{n}")
    assert models.known_lines("UAlice", here) == ["here", "in C9", "in C8", "in C7", "in C6"]
    assert MOST == 5


async def test_a_model_that_was_forgotten_says_nothing(office: Office, models: PersonModels) -> None:
    thread = await office.open("C1")
    model = await learn(office, models, thread, "Alice lives in Elm Street.")
    assert models.known_lines("UAlice", thread)
    await forget(office.journal, model)
    assert models.known_lines("UAlice", thread) == []
    assert models.base_model("UAlice", thread) == (0, "")
    again = await learn(office, models, thread, "Alice is called Alice.")
    for one in (models, PersonModels(office.journal, KnownChannels(office.journal))):
        assert one.is_current(again)
        assert one.known_lines("UAlice", thread) == ["Alice is called Alice."]
