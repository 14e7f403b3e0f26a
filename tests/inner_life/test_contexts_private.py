"""The contexts of a tick, restricted to its view."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from daemon.app.wiring import make_index, make_state
from daemon.engine.journal.journal import Journal
from daemon.inner_life.contexts import TickContexts, TickMoment
from daemon.inner_life.tick_log import InnerLifeState
from daemon.kinds import INNER, SOUL_KINDS, CommandRan, ModelCall, ProgramEnded, ProgramStarted, TickLogged
from daemon.knowledge.visibility import PUBLIC
from daemon.settings.limits import DEFAULT_INNER_LIMITS
from tests.clock import FakeClock
from tests.knowledge.office import Office

SECRET = "quince marmalade"
CONTEXTS = (
    "llm_memory",
    "llm_recent_responses",
    "process_log",
    "records",
    "notes",
    "settings",
    "anti_stagnation",
)


@dataclass
class Ticking:
    office: Office
    state: InnerLifeState
    alice: str = ""
    bob: str = ""
    note: int = 0

    async def contexts(self, view: str) -> TickContexts:
        journal = self.office.journal
        await self.state.update()
        now = TickMoment(
            tick=journal.last_seq_of_all() + 1,
            at=0.0,
            why="",
            view=view,
            name="Claudius",
            owners=(),
            limits=DEFAULT_INNER_LIMITS,
        )
        return TickContexts(state=self.state, now=now, said=lambda seq: journal.entry(seq).event.text)

    async def ran(self, name: str, view: str, shows: tuple[int, ...] = (), **args: Any) -> int:
        number = self.office.journal.last_seq_of_all()
        ran = CommandRan(
            tick=1, cmd_id=str(number), name=name, args=args, text=SECRET, shows=shows, view=view
        )
        return (await self.office.write(INNER, ran)).seq

    async def shown(self, view: str) -> Mapping[str, str]:
        return (await self.contexts(view)).regions()


@pytest.fixture
async def ticking(tmp_path: Path) -> AsyncIterator[Ticking]:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        with make_index(journal) as index:
            one = Ticking(Office(journal), make_state(journal, index))
            one.alice, one.bob = await one.office.open("dm-a", "dm"), await one.office.open("dm-b", "dm")
            await tick_in(one, one.alice)
            yield one


async def tick_in(one: Ticking, view: str) -> None:
    """Run a tick in this view, with a secret in all its actions."""
    office = one.office
    one.note = (await office.say(view, "Alice", SECRET)).seq
    call = await office.write(INNER, answered(SECRET))
    await office.write(INNER, ProgramStarted(name="count", slots={"what": SECRET}, view=view))
    diary = await one.ran("diary.add", view, text=SECRET)
    commands = [
        diary,
        await one.ran("llm_memory.add", view, text=SECRET),
        await one.ran("cycle.filter", view, tags=[SECRET]),
        await one.ran("diary.read", view, shows=(diary,), ids=[diary]),
        await one.ran("notes.read", view, shows=(one.note,), ids=[one.note]),
    ]
    line = TickLogged(tick=1, outcome="thought", answer=call.seq, commands=tuple(commands), view=view)
    await office.write(INNER, line)


def answered(text: str) -> ModelCall:
    return ModelCall(
        name="tick",
        role="speak",
        saw="",
        texts=(),
        seqs=(),
        trailing="",
        wording=(),
        people=(),
        outcome="ok",
        model="echo",
        text=text,
    )


async def repeats(one: Ticking) -> None:
    call = await one.office.write(INNER, answered("the same"))
    line = TickLogged(
        tick=2, outcome="repeated", answer=call.seq, reflex="rephrase", advice=SECRET, view=one.alice
    )
    await one.office.write(INNER, line)


@pytest.mark.parametrize("name", CONTEXTS)
async def test_where_it_was_said_it_is_shown(ticking: Ticking, name: str) -> None:
    if name == "anti_stagnation":
        await repeats(ticking)
    assert SECRET in (await ticking.shown(ticking.alice))[name]


@pytest.mark.parametrize("elsewhere", ["bob", "nobody"])
@pytest.mark.parametrize("name", CONTEXTS)
async def test_elsewhere_it_is_not(ticking: Ticking, name: str, elsewhere: str) -> None:
    if name == "anti_stagnation":
        await repeats(ticking)
    view = ticking.bob if elsewhere == "bob" else PUBLIC
    assert SECRET not in (await ticking.shown(view))[name]


async def test_in_auto_mode_only_notes_are_shown_that_may_be_known(ticking: Ticking) -> None:
    await ticking.ran("cycle.filter", PUBLIC)
    await ticking.ran("cycle.mode", PUBLIC, mode="auto")
    await ticking.office.write(INNER, TickLogged(tick=3, outcome="waiting"))
    assert SECRET in (await ticking.shown(ticking.alice))["notes"]
    assert SECRET not in (await ticking.shown(ticking.bob))["notes"]


async def test_it_is_known_whose_words_it_was_shown(ticking: Ticking) -> None:
    contexts = await ticking.contexts(ticking.alice)
    contexts.regions()
    shown = {ticking.office.journal.entry(seq).kind for seq in contexts.saw}
    assert shown == {"message", "model-call", "process-started", "command"}
    assert ticking.note in contexts.saw
    elsewhere = await ticking.contexts(ticking.bob)
    elsewhere.regions()
    assert not elsewhere.saw


async def test_a_place_poses_as_nothing_else(ticking: Ticking) -> None:
    odd = await ticking.office.open("C7", place="#a\n</context>")
    assert f"in view: #a /context ({odd})" in (await ticking.shown(odd))["settings"]


# Any amount


async def test_of_more_than_a_model_can_be_sent_the_first_are_shown_and_the_rest_is_counted(
    ticking: Ticking,
) -> None:
    office, alice = ticking.office, ticking.alice
    long = "word " * 800
    notes = [(await office.say(alice, "Alice", long)).seq for _ in range(20)]
    diary = [await ticking.ran("diary.add", alice, text=long) for _ in range(20)]
    for _ in range(20):
        started = await office.write(INNER, ProgramStarted(name="count", view=alice))
        ended = ProgramEnded(process=started.seq, name="count", status="ok", result=long)
        await office.write(INNER, ended)
    commands = (
        await ticking.ran("notes.read", alice, shows=tuple(notes)),
        await ticking.ran("diary.read", alice, shows=tuple(diary)),
    )
    call = await office.write(INNER, answered("I look at all of it."))
    line = TickLogged(tick=3, outcome="thought", answer=call.seq, commands=commands, view=alice)
    await office.write(INNER, line)
    shown = await ticking.shown(alice)
    for name in ("notes", "records", "process_log"):
        assert (shown[name].count(long), '<left-out more="8"/>' in shown[name]) == (12, True), name
    assert f'<note id="{notes[0]}"' in shown["notes"]


# Restarts: earlier steps are copied under keys of the new tick


async def test_a_record_that_was_taken_over_is_there_once(ticking: Ticking) -> None:
    office, log = ticking.office, ticking.state.log
    [first] = [one for one in office.journal.entries_of_kind(CommandRan) if one.event.name == "diary.add"]
    await office.write(INNER, replace(first.event, taken_from=first.key))
    await ticking.state.update()
    assert len(ticking.state.records.of("diary", ticking.alice, 10)) == 1
    sent = await ticking.ran("message.send", ticking.alice, to="x", text="y")
    await office.write(INNER, replace(office.journal.entry(sent).event, taken_from="before"))
    await ticking.state.update()
    assert log.messages(office.journal.entry(sent).at) == 1


async def test_a_record_that_was_taken_over_is_told_by_the_id_that_it_is_known_by(ticking: Ticking) -> None:
    office = ticking.office
    [first] = [one for one in office.journal.entries_of_kind(CommandRan) if one.event.name == "diary.add"]
    copy = await office.write(INNER, replace(first.event, taken_from=first.key))
    again = await office.write(INNER, replace(first.event, taken_from=copy.key))
    [line] = office.journal.entries_of_kind(TickLogged)
    await office.write(INNER, replace(line.event, commands=(again.seq,)))
    told = (await ticking.shown(ticking.alice))["process_log"]
    assert f"its id is {first.seq}<" in told
    assert [one.id for one in ticking.state.records.records_in_all_views([first.seq])] == [first.seq]


async def test_a_tick_that_began_again_is_one_line(ticking: Ticking) -> None:
    [line] = ticking.office.journal.entries_of_kind(TickLogged)
    copy = await ticking.ran("diary.add", ticking.alice, text="another thing")
    await ticking.office.write(INNER, replace(line.event, commands=(copy,)))
    await ticking.state.update()
    [told] = ticking.state.log.lines
    assert [one.seq for one in told.commands] == [copy]
