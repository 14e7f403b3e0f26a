"""Messages of one place, absent from prompts of others without the same readers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from daemon.app.journal_commands import verify_journal
from rehearsal.people import BOB as BOB_HIMSELF
from rehearsal.people import SOUL
from tests.stories.choosing import FAST
from tests.stories.stage import ALICE, BOB, GENERAL, ME, RANDOM, Stage, reply
from tests.stories.test_learning import ASKED, learning


@dataclass(frozen=True, kw_only=True)
class Place:
    """Place of a talk; `public`: known everywhere."""

    name: str
    channel: str
    people: tuple[str, ...]
    public: bool = False

    def words(self, text: str) -> str:
        return text if self.channel.startswith("D") else f"{ME} {text}"

    def secrets(self, person: str) -> tuple[str, str]:
        return f"said by {person} in {self.name}", f"noted of {person} in {self.name}"


async def places(stage: Stage) -> list[Place]:
    alice, both = stage.client("alice"), ("alice", "bob")
    group = (await alice.conversations_open(users=f"{BOB_HIMSELF.id},{SOUL.user}"))["channel"]["id"]
    private = (await alice.conversations_create(name="cellar", is_private=True))["channel"]["id"]
    await alice.conversations_invite(channel=private, users=f"{SOUL.user},{BOB_HIMSELF.id}")
    return [
        Place(name="her DM", channel=ALICE, people=("alice",)),
        Place(name="his DM", channel=BOB, people=("bob",)),
        Place(name="a group DM", channel=group, people=both),
        Place(name="a private channel", channel=private, people=both),
        Place(name="a public channel", channel=GENERAL, people=both, public=True),
        Place(name="another public channel", channel=RANDOM, people=both, public=True),
    ]


def told(everywhere: list[Place]) -> Iterator[tuple[Place, str]]:
    return ((place, person) for place in everywhere for person in place.people)


async def tell_all(stage: Stage, everywhere: list[Place]) -> None:
    for place, person in told(everywhere):
        said, noted = place.secrets(person)
        stage.model.say(learning(f"I heard what was {said}."))
        stage.model.say(f"- {noted}", asks=ASKED.replace("Alice", person.title()), model=FAST)
        await stage.say(person, place.channel, place.words(f"This is {said}."))
    assert len(stage.entries("person")) == len([*told(everywhere)])


async def known(stage: Stage, place: Place, person: str) -> str:
    before = len(stage.model.requests)
    stage.model.say(reply("So?"))
    await stage.say(person, place.channel, place.words("What do you know?"))
    asked = str([*stage.model.requests][before:])
    assert "What do you know?" in asked
    return asked


def misplaced(asked: str, here: Place, everywhere: list[Place]) -> list[str]:
    secret = [(place, person) for place, person in told(everywhere) if place != here and not place.public]
    return [words for place, person in secret for words in place.secrets(person) if words in asked]


async def test_of_each_place_only_what_may_be_known_is_known_in_each_other(stage: Stage) -> None:
    everywhere = await places(stage)
    await tell_all(stage, everywhere)
    for here, person in told(everywhere):
        asked = await known(stage, here, person)
        assert misplaced(asked, here, everywhere) == [], f"{person} in {here.name}"
        said, noted = here.secrets(person)
        assert noted in asked
        assert said in asked, "it is the same place"
        for place in everywhere:
            if place.public:
                assert place.secrets(person)[1] in asked, "everybody could have read it"
    assert not verify_journal(stage.soul.journal).violations


async def test_nor_is_what_waits_there_for_an_answer(stage: Stage) -> None:
    everywhere, held = await places(stage), asyncio.Event()
    for here, person in told(everywhere):
        before = len(stage.model.requests)
        stage.model.say(reply("Wait."), until=held)
        await stage.post(person, here.channel, here.words(f"This was {here.secrets(person)[0]}."))
        await stage.until(lambda before=before: len(stage.model.requests) > before)  # type: ignore[misc]
        assert misplaced(stage.asked()[-1], here, everywhere) == []
    for here, person in told(everywhere):
        before = len(stage.model.requests)
        stage.model.say(reply("Wait, too."), until=held)
        await stage.post(person, here.channel, here.words("And what do you know?"))
        await stage.until(lambda before=before: len(stage.model.requests) > before)  # type: ignore[misc]
        assert misplaced(stage.asked()[-1], here, everywhere) == []
    assert ALICE in {place.channel for place in everywhere}
    held.set()
    await stage.settled()
