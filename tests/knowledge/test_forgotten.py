"""The notice about forgotten messages that Slack still holds."""

from __future__ import annotations

from pathlib import Path

from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, ForgetRequested
from daemon.knowledge.visibility import ForgottenPeople
from tests.clock import FakeClock
from tests.knowledge.office import Office


async def test_who_was_forgotten_is_so_until_they_last_wanted_it(tmp_path: Path) -> None:
    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:
        office, forgotten = Office(journal), ForgottenPeople(journal)
        assert forgotten.forgotten_until("UAlice") == 0.0
        for _ in range(2):
            asked = await office.write("sess-1", ForgetRequested(person="UAlice"))
            await clock.advance(60)
            await office.write("sess-2", ForgetRequested(person="UAlice", seqs=(asked.seq,)))
            await office.write("sess-3", ForgetRequested(person="UBob", seqs=(asked.seq,)))
            for one in (forgotten, ForgottenPeople(journal)):
                assert one.forgotten_until("UAlice") == asked.at
                assert one.forgotten_until("UBob") == 0.0, "only a note about them was"


async def test_only_what_the_soul_said_and_has_forgotten_is_unsaid(office: Office) -> None:
    forgotten = ForgottenPeople(office.journal)
    thread = await office.open("C1")
    asked = await office.say(thread, "Alice", "What is a dulcian?")
    gone = [await office.speak(thread, text) for text in ("A bassoon.", "An old one.")]
    await office.speak(thread, "Anything else?")
    assert forgotten.forgotten_messages() == frozenset()
    for number, one in enumerate(gone, 1):
        seqs = [asked.seq, one.seq]
        await office.journal.forget(seqs, thread="soul", key=f"wish#{number}", why="Alice wants it")
        assert forgotten.forgotten_messages() == {said.event.ts for said in gone[:number]}
