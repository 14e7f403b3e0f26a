"""Worker run of the core, with a world of files."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

from daemon.app.discovery import PROCESSES, ProcessDependencies, bind_processes, prompt_catalogue
from daemon.claude.availability import ModelAvailability
from daemon.claude.request_queue import RequestQueue
from daemon.engine.journal.journal import Journal
from daemon.engine.worker import SWEEP_SECONDS, Worker
from daemon.inner_life.notes import Notes
from daemon.kinds import (
    INNER,
    SOUL_KINDS,
    ButtonPress,
    ConversationOpened,
    IncomingMessage,
    OverheardMessage,
    PersonMessage,
    QuestionAsked,
    StopRequest,
)
from daemon.knowledge.person_notes import PersonModels
from daemon.knowledge.visibility import KnownChannels
from daemon.lifetime import in_background
from daemon.mind.steps import STEP_TEXTS
from daemon.settings.limits import PERSON, THREAD, TURN
from daemon.slack.incoming import BotIdentity
from daemon.slack.incoming import SlackMessage as ShownMessage
from daemon.slack.message_policy import resolve_thread
from daemon.turn.history import ThreadHistories
from daemon.turn.input_policy import DELIBERATION_PROCESS
from daemon.turn.input_policy import INNER_LIFE_PROCESS as INNER_LIFE
from daemon.turn.prompt_files import PromptFiles
from daemon.turn.soul_program import SoulProgram, watch_long_waits
from daemon.turn.turn import Process, TurnDependencies
from daemon.turn.usage_limits import DailyBudget, LimitChecker
from tests.core.file_world import LOST, CoreInput, FileModel, FileSlack, PhaseClock
from tests.core.inner_life import PAUSE, begin_inner_life, end_programs, is_asleep, make_life, scripted_life
from tests.core.inner_life_checks import check_projections
from tests.core.reading_processes import READINGS
from tests.core.scenario import CoreScenario
from tests.crashes.json_lines import append_line, read_lines
from tests.crashes.kill_points import CrashingWriter
from tests.crashes.worker_runs import count_runs, fork
from tests.machine import MEMORY, folder
from tests.made_before import make_before_a_fork
from tests.texts import copied

ME, OWNERS = BotIdentity(team="T", user="U0", bot="", name="soul"), ("U9",)
OFFERED = frozenset(
    {"asking_leave", "closing", "conversation", "deep_reading", "deliberation", "greeting", "inner_life"}
    | {"learns_about_the_person", "noticing", "problem_solving", "refusing", "relaying", "remembering"}
    | {"saying", "stopping", "summarizes_conversation", "tracing"}
)
"""Processes that calls name, as golden journals recorded them; a scenario's own are added."""
MANY = 100
"""Concurrent model requests."""
MANY_TICKS = 60
"""Most ticks in a phase: more mean that the inner life never sleeps."""
ROOT = Path(__file__).resolve().parents[2]


class InputSender:
    """Senders that retry until the journal has their input."""

    def __init__(self, home: Path, journal: Journal, *, abroad: bool) -> None:
        self._home = home
        self._journal = journal
        self._abroad = abroad
        """True if nobody knows who can read it."""

    async def send(self, events: Sequence[CoreInput]) -> list[str]:
        """Return threads with news that no other worker brought."""
        acked = read_lines(self._home / "acks.jsonl")
        threads = [await self._send(event) for event in events if event.ts not in acked]
        return [thread for thread in threads if thread]

    async def _send(self, event: CoreInput) -> str:
        where = self._where(event)
        opens = f"thread:T:{event.thread}:{where.ts}"
        key = f"{'heard' if event.heard else 'msg'}:T:{event.thread}:{event.ts}"
        if event.edits:
            key = f"msg:T:{event.thread}:{event.edits}:edited:{event.ts}"
        known = self._journal.get(opens)
        said = self._said(event, known.thread if known else "")
        if known:
            _, is_new = await self._journal.append(
                known.thread, said, key=key, author=event.user, cause=known.seq
            )
            thread = known.thread if is_new else ""
        else:
            opened, _ = await self._journal.open_with(opens, where, said, first_key=key, author=event.user)
            thread = opened.thread
        append_line(self._home / "acks.jsonl", event.ts)
        return thread

    def _where(self, event: CoreInput) -> ConversationOpened:
        place = "channel" if event.heard else "dm"
        is_known = bool(event.root) or not self._abroad
        return ConversationOpened(
            team="T",
            channel=event.thread,
            ts=resolve_thread(self._journal, _shown(event), ME, OWNERS).root if event.root else "1",
            where=place if is_known else "",
            place="a direct message",
            audience={"channel": "public", "dm": "dm"}[place] if is_known else "",
            user=event.user if event.root else "",
            called_by="",
        )

    def _said(self, event: CoreInput, thread: str) -> PersonMessage:
        said: dict[str, Any] = {"user": event.user, "name": "Alice", "text": event.text, "ts": event.ts}
        if event.edits:
            return OverheardMessage(**{**said, "ts": event.edits}, note="edited")
        if event.heard:
            return OverheardMessage(**said)
        if event.answers:
            waiting = self._journal.pending_entries(QuestionAsked, thread=thread)
            asked = [entry.key for entry in waiting if f"/{event.answers}#" in entry.key]
            return ButtonPress(**said, answers=asked[0] if asked else "", value=event.text)
        if event.stops:
            return StopRequest(**said, address=event.address)
        return IncomingMessage(**said, address=event.address)


def _shown(event: CoreInput) -> ShownMessage:
    return ShownMessage(
        channel=event.thread,
        kind="dm",
        ts=event.ts,
        root=event.root,
        user=event.user,
        bot="",
        name="Alice",
        text=event.text,
        files=(),
        called=False,
    )


async def work(home: Path, scenario: CoreScenario, phase: int, *, replays: bool) -> None:
    """Work until nothing is left; `replays`: executions run again after each step."""
    clock = PhaseClock(phase)
    async with AsyncExitStack() as stack:
        journal = await stack.enter_async_context(
            Journal(home / "journal.db", clock, SOUL_KINDS, CrashingWriter)
        )
        sender = InputSender(home, journal, abroad=not scenario.plan)

        async def interrupt(events: Sequence[CoreInput]) -> bool:
            threads = await sender.send(events)
            for thread in threads:
                worker.wake(thread)
            return bool(threads)

        processes = scenario.processes(home)
        if scenario.plan:
            clock.not_before(journal.entry(journal.last_seq_of_all()).at)
            within = stack.enter_context(ExitStack())
            rewritten = scenario.restarts and count_runs(home) > 1
            life = make_life(journal, clock, within, rewritten=rewritten)
            processes = bind_processes(
                {**processes, INNER_LIFE: PROCESSES[INNER_LIFE]}, ProcessDependencies(life=life)
            )
        model = FileModel(
            home=home,
            journal=journal,
            script=scripted_life(journal, scenario.plan) if scenario.plan else scenario.script,
            inputs=scenario.inputs,
            deliver=interrupt,
            price=scenario.price,
            clock=clock,
            pace=scenario.pace,
            thinks_for=scenario.thinks_for,
            sees_all=scenario.sees_all,
        )
        world = turn_dependencies(home, scenario, journal, clock, model, processes)
        if scenario.thinks_for:
            await stack.enter_async_context(in_background(watch_long_waits(world)))
        asked = len(read_lines(home / "llm.jsonl"))
        await sender.send([e for e in scenario.inputs if e.phase <= phase and e.during <= asked])
        if scenario.plan:
            await end_programs(journal, clock)
            await begin_inner_life(journal)
        async with Worker(journal, clock, SoulProgram(world), grace=5.0, replays_always=replays) as worker:
            await wait_until_quiet(journal, worker, clock)
            for _ in range(MANY_TICKS if scenario.plan else 0):
                if is_asleep(journal) or worker.has_lost(INNER):
                    break
                await clock.go_on(PAUSE)
                await end_programs(journal, clock)
                await wait_until_quiet(journal, worker, clock)
            for thread in filter(worker.has_lost, journal.busy_threads()):
                append_line(home / LOST, thread)
        if scenario.plan:
            await check_projections(journal, life.state)


def turn_dependencies(
    home: Path,
    scenario: CoreScenario,
    journal: Journal,
    clock: PhaseClock,
    model: FileModel,
    processes: Mapping[str, Process],
) -> TurnDependencies:
    budget = DailyBudget(journal, clock, 1.5 * scenario.price, OWNERS)
    reach = ModelAvailability(journal, clock, {"speak": "echo"})
    return TurnDependencies(
        journal=journal,
        llm=model,
        speaker=FileSlack(home),
        clock=clock,
        budget=budget,
        gauge=LimitChecker(journal, clock, budget, turn=TURN, thread=THREAD, person=PERSON, inner=1.0),
        pasts=ThreadHistories(journal),
        people=PersonModels(journal, KnownChannels(journal)),
        reach=reach,
        texts=PromptFiles(home / "texts", journal, prompt_catalogue(PROCESSES.values(), STEP_TEXTS)),
        surroundings=scenario.surroundings(home),
        processes=processes,
        initial="conversation",
        offered=dict.fromkeys((name for name in processes if name in OFFERED or name not in PROCESSES), ()),
        at_once=[DELIBERATION_PROCESS],
        owners=OWNERS,
        readings=READINGS,
        queue=RequestQueue(MANY),
        fits=Notes(journal).fits,
    )


async def wait_until_quiet(journal: Journal, worker: Worker, clock: PhaseClock) -> None:
    """Wait until no thread is busy; time passes while all rest."""
    while True:
        await worker.wait_until_idle()
        threads = journal.busy_threads()
        if all(worker.is_asleep(thread) or worker.has_lost(thread) for thread in threads):
            return
        await clock.go_on(SWEEP_SECONDS)


@contextlib.contextmanager
def open_home(name: str) -> Iterator[Path]:
    """Yield a home with recorded prompts."""
    with folder(name) as path:
        home = path / "home"
        shutil.copytree(warm_home(), home)
        yield home


@functools.cache
def warm_home() -> Path:
    """Return the template of homes."""
    home = Path(tempfile.mkdtemp(prefix="warm-", dir=MEMORY))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    copied(home / "texts")
    make_before_a_fork(home / "texts")

    async def read_texts() -> None:
        async with Journal(home / "journal.db", PhaseClock(0), SOUL_KINDS) as journal:
            await PromptFiles(
                home / "texts", journal, prompt_catalogue(PROCESSES.values(), STEP_TEXTS)
            ).current_set()

    assert fork(read_texts).wait() == 0
    return home
