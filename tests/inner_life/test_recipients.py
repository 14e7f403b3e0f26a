"""Conversations that the inner life knows by name."""

from __future__ import annotations

from pathlib import Path

from daemon.engine.journal.journal import Journal
from daemon.inner_life.recipients import AddressBook
from daemon.kinds import SOUL_KINDS
from tests.clock import FakeClock
from tests.knowledge.office import Office


async def test_a_channel_keeps_its_name_where_slack_does_not_say_it(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        office, addresses = Office(journal), AddressBook(journal)
        for place in ("a channel", "#attic", "a channel"):
            last = await office.open("C1", place=place)
        await addresses.update()
        assert (addresses.channels, addresses.threads) == ({"C1": "#attic"}, {"C1": last})
