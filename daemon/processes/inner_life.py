"""The inner life: ticks of thought in a thread of its own (HMP seed)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from daemon.actions.action import ActionDefinition
from daemon.answers.speech_gate import strip_thoughts
from daemon.engine.clock import DAY
from daemon.engine.event import Entry, of_kind, root_of, seqs_of
from daemon.engine.kinds import EntryMatch, WaitBegan
from daemon.inner_life.commands.command import TickCommands
from daemon.inner_life.contexts import InnerLifeSetup, TickContexts, TickMoment
from daemon.inner_life.grammar import ParsedCommands, parse_commands
from daemon.inner_life.note import Note
from daemon.inner_life.reflex import TickReflex, is_only_waiting
from daemon.inner_life.tick_log import successful_commands, unseen_dms
from daemon.inner_life.tick_tools import TOOLS_TEXT, TickTools, tools_of_tick
from daemon.kinds import (
    INNER_WAIT,
    AmbientMessage,
    CommandRan,
    IncomingMessage,
    InnerLifeStarted,
    InternalMessage,
    ModelCall,
    OverheardMessage,
    ProgramEnded,
    ReactionChanged,
    TickDue,
    TickLogged,
)
from daemon.knowledge.visibility import PUBLIC
from daemon.memory import WorkingMemory, working_memory
from daemon.process import MentalProcess, Placeholders, Turn
from daemon.prompts.elements import fill_placeholders, soul_name_in
from daemon.prompts.prompt_catalogue import SOUL_TEXT
from daemon.turn.branches import begin_wait, current_waits
from daemon.turn.input_policy import INNER_LIFE_PROCESS
from daemon.turn.model_calls import call_interruptibly

INNER_SYSTEM_TEXT = "prompts/inner_life"


COMMANDS_TEXT = "prompts/inner/commands"


TICK_TEXT = "prompts/inner/tick"


NOTE_KINDS = (
    IncomingMessage.kind,
    OverheardMessage.kind,
    AmbientMessage.kind,
    ReactionChanged.kind,
    InternalMessage.kind,
)
"""Kinds of entries that make notes."""


STARTED_REASON = "the daemon was started"


SEEN_REASON = "what you asked for before your sleep is here"


LOOKING_COMMANDS = ("help", ".read", ".search", ".list", ".neighbours")
"""Endings of names of commands that ask to see something."""


CLOCK_TOLERANCE = 0.5
"""Seconds by which a wait may seem too short, as the clock is read twice."""


RETRY_PAUSE = 300.0
"""Least seconds before a failed tick is repeated."""


class TickRun:
    """An execution of the inner life: a tick, or an event between two ticks."""

    def __init__(self, turn: Turn, life: InnerLifeSetup) -> None:
        self._turn = turn
        self._life = life
        self._state = life.state
        self._now = turn.began_at
        self._due = of_kind(TickDue, turn.inputs)
        self._why = STARTED_REASON
        self._woke = list[int]()
        for entry in self._due:
            self._why = entry.event.why
            self._woke += entry.event.notes

    async def run(self) -> None:
        system = await self._system()
        await self._state.update(self._turn.began_seq)
        if of_kind(InnerLifeStarted, self._turn.inputs):
            await self._begins()
        elif not self._due:
            await self._asleep(self._what_came())
            if not await current_waits(self._turn):
                await self._pause(self._life.limits.pause)
        elif self._too_early():
            await self._later(self._life.limits.pause - self._since_last)
        else:
            await self._think(system)

    async def _begins(self) -> None:
        """Resume after the daemon's start: wait on, or tick after a pause.

        A wait begun by a fast clock keeps its length.
        """
        waits = await current_waits(self._turn)
        await self._asleep(STARTED_REASON)
        pause = self._life.limits.pause
        for wait in waits:
            if wait.event.note.get("idle"):
                return
            if wait.event.due:
                pause = max(pause, wait.event.due - max(self._now, wait.at))
        await self._later(pause, waits)

    async def _asleep(self, why: str) -> None:
        view = self._state.log.last.tick.view
        await self._turn.record(TickLogged(tick=self._turn.began_seq, outcome="asleep", why=why, view=view))

    def _what_came(self) -> str:
        came = list[str]()
        for entry in self._turn.inputs:
            if isinstance(entry.event, ProgramEnded):
                ended = entry.event
                came.append(f"process {ended.process} ({ended.name}) ended: {ended.status}")
            else:
                came.append(f"{entry.kind} {entry.seq}")
        return "; ".join(came)

    @property
    def _since_last(self) -> float:
        return self._now - self._state.log.last_at

    def _too_early(self) -> bool:
        """True if the last tick ended less than a pause ago; a date in the future does not count."""
        return 0 <= self._since_last < self._life.limits.pause - CLOCK_TOLERANCE

    async def _later(self, seconds: float, waits: Sequence[Entry[WaitBegan]] = ()) -> None:
        why, woke = self._why, self._woke
        for wait in waits:
            note = wait.event.note
            if note.get("woke") or note.get(INNER_WAIT) == SEEN_REASON:
                why, woke = note[INNER_WAIT], note.get("woke", woke)
        await begin_wait(self._turn, within=seconds, note={INNER_WAIT: why, "woke": woke})

    async def _pause(self, seconds: float) -> None:
        await begin_wait(self._turn, within=seconds, note={INNER_WAIT: "the pause is over"})

    async def _system(self) -> WorkingMemory:
        turn = self._turn
        texts = [
            await turn.record_text(SOUL_TEXT, turn.text(SOUL_TEXT)),
            await turn.record_text(INNER_SYSTEM_TEXT, turn.text(INNER_SYSTEM_TEXT)),
            await turn.record_text(
                COMMANDS_TEXT, fill_placeholders(turn.text(COMMANDS_TEXT), help=self._life.help)
            ),
        ]
        return working_memory(texts)

    def _view(self, unseen: Sequence[Note]) -> str:
        """Choose the view: the conversation of the last note that woke the soul or was read, else of the
        first unseen DM; after another sleep, public content.
        """
        if self._woke:
            return self._thread_of(self._woke[-1])
        last = self._state.log.last
        read = successful_commands(last.commands, "notes.read")
        if read and read[-1].shows and not self._slept:
            return self._thread_of(read[-1].shows[-1])
        if unseen:
            return root_of(unseen[0].thread)
        if self._slept:
            return PUBLIC
        return last.tick.view

    @property
    def _sees_first(self) -> bool:
        """True if requested content is shown in a tick before the sleep."""
        return SEEN_REASON in self._why

    @property
    def _slept(self) -> bool:
        """True if the soul slept since its last answer, by its cycle.idle or the one before."""
        last = self._state.log.last
        if (
            SEEN_REASON in last.tick.why
            and last.tick.outcome == "waiting"
            and not successful_commands(last.commands, "cycle.")
        ):
            return True
        return bool(successful_commands(last.commands, "cycle.idle")) and not self._sees_first

    def _thread_of(self, seq: int) -> str:
        note = self._state.notes.get(seq)
        if note is None:
            return PUBLIC
        return root_of(note.thread)

    def _unseen(self) -> Sequence[Note]:
        if not self._life.limits.reads_dms:
            return ()
        return unseen_dms(self._state)

    def _contexts(self) -> TickContexts:
        life, turn = self._life, self._turn
        unseen = self._unseen()
        now = TickMoment(
            tick=turn.began_seq,
            at=self._now,
            why=self._why,
            view=self._view(unseen),
            unseen=tuple(one.id for one in unseen),
            name=soul_name_in(turn.text(SOUL_TEXT)),
            owners=turn.owners,
            limits=life.limits,
            programs=life.programs,
            neighbours=life.neighbours,
        )
        return TickContexts(state=self._state, now=now, said=life.said)

    async def _think(self, system: WorkingMemory) -> None:
        contexts = self._contexts()
        if await self._turn.limit():
            await self._over(contexts)
            return
        memory = system
        if self._turn.restart_log:  # work of this tick before a restart, which no context shows yet
            memory = memory.with_memory(self._turn.restart_log)
        tools = await tools_of_tick(
            self._turn,
            self._life.tools,
            contexts.now.view,
            self._life.definitions.keys(),
            self._life.open_dm,
        )
        for region, text in contexts.regions().items():
            memory = memory.with_region(region, text)
        memory = memory.with_region("tools", tools.text)
        memory = memory.with_region("instruction", self._turn.text(TICK_TEXT).strip())
        _, call = await call_interruptibly(self._turn, "tick", memory, "speak")
        if call.event.outcome == "refused":
            _, call = await call_interruptibly(self._turn, "tick", memory, "fallback")
        if call.event.outcome == "over-budget":
            await self._over(contexts)
        elif call.event.outcome in ("ok", "cut"):
            await self._follow(contexts, call, tools)
        else:
            await self._fail(contexts, call.event.outcome)

    async def _fail(self, contexts: TickContexts, why: str) -> None:
        line = TickLogged(tick=contexts.now.tick, outcome="failed")
        if why == "refused":
            line = replace(line, outcome="refused")
        await self._write_line(contexts, line)
        await self._later(max(RETRY_PAUSE, self._least_pause))

    async def _over(self, contexts: TickContexts) -> None:
        await self._write_line(contexts, TickLogged(tick=contexts.now.tick, outcome="over-budget"))
        why = "a new day has begun"
        if self._woke or self._sees_first:
            why = f"{self._why}; {why}"
        within = max(DAY - self._now % DAY, self._life.limits.pause)
        await begin_wait(self._turn, within=within, note={INNER_WAIT: why, "woke": self._woke})

    async def _write_line(self, contexts: TickContexts, line: TickLogged) -> None:
        now = contexts.now
        saw = tuple(dict.fromkeys(contexts.saw))
        await self._turn.record(replace(line, why=now.why, view=now.view, saw=saw))

    async def _follow(self, contexts: TickContexts, call: Entry[ModelCall], tools: TickTools) -> None:
        definitions = {**tools.commands, **self._life.definitions}
        known = {name: one.args for name, one in definitions.items()}
        answer = strip_thoughts(call.event.text)
        written = parse_commands(answer, known)
        wrong = [fault for fault in written.faults if not fault.repaired]
        idle = successful_commands(self._state.log.last.commands, "cycle.idle")
        sleeps_on = bool(idle) and self._sees_first and not (written.commands or wrong)
        waits = sleeps_on or (is_only_waiting([one.name for one in written.commands]) and not wrong)
        reflex = TickReflex(turn=self._turn, contexts=contexts, known=known)
        repeated, found = await reflex.judge_answer(answer, written, waits)
        line = TickLogged(tick=contexts.now.tick, outcome="thought", answer=call.seq, novelty=found.novelty)
        if waits:
            line = replace(line, outcome="waiting")
        if repeated:
            await self._break_out(contexts, line, reflex, answer)
            return
        ran = await self._carry_out(contexts, written, definitions)
        await self._write_line(contexts, replace(line, commands=tuple(seqs_of(ran))))
        if sleeps_on:
            await self._sleep(idle[-1])
        else:
            await self._wait_for(ran, tools)

    async def _break_out(
        self, contexts: TickContexts, line: TickLogged, reflex: TickReflex, answer: str
    ) -> None:
        """Change the next tick instead of running repeated commands."""
        effect, advice = reflex.choose_effect(answer, self._least_pause)
        line = replace(line, outcome="repeated", reflex=effect.name, advice=advice, shows=effect.shows)
        await self._write_line(contexts, line)
        await self._pause(max(self._least_pause, effect.pause or 0.0))

    async def _carry_out(
        self, contexts: TickContexts, written: ParsedCommands, definitions: Mapping[str, ActionDefinition]
    ) -> list[Entry[CommandRan]]:
        now = contexts.now
        commanding = TickCommands(
            turn=self._turn,
            id=now.tick,
            view=now.view,
            views=self._state.views,
            now=now.at,
            definitions=definitions,
        )
        await self._state.update()
        ran = list[Entry[CommandRan]]()
        for command in written.commands:
            ran.append(await commanding.carry_out(command))
            await self._state.update()
        for fault in written.faults:
            ran.append(await commanding.refuse(fault))
        return ran

    async def _wait_for(self, ran: Sequence[Entry[CommandRan]], tools: TickTools) -> None:
        """Pause or sleep, but first show requested content."""
        idle = successful_commands(ran, "cycle.idle")
        if not idle:
            await self._pause(self._least_pause)
        elif any(_is_to_be_seen(one.event) or one.event.name in tools.commands for one in ran):
            await begin_wait(self._turn, within=self._life.limits.pause, note={INNER_WAIT: SEEN_REASON})
        else:
            await self._sleep(idle[-1])

    async def _sleep(self, idle: CommandRan) -> None:
        args = idle.args
        processes, about, seconds = args.get("processes", ()), args.get("notes"), args.get("seconds")
        if not processes and about is None and seconds is None:
            processes, about = idle.shows, {}
        matching = None
        if about is not None:
            matching = EntryMatch(kinds=NOTE_KINDS, anywhere=True, about=about, after=self._turn.began_seq)
        why = "the time of your sleep is over"
        await begin_wait(self._turn, processes, matching, seconds, note={INNER_WAIT: why, "idle": True})

    @property
    def _least_pause(self) -> float:
        return max(self._state.log.settings.pause.value or 0.0, self._life.limits.pause)


def _is_to_be_seen(command: CommandRan) -> bool:
    return not command.ok or command.name.endswith(LOOKING_COMMANDS)


async def live(turn: Turn, life: InnerLifeSetup | None = None) -> WorkingMemory:
    """Think, if it is time to. Without a life nothing is asked of anybody, and nothing is waited for."""
    if life:
        await TickRun(turn, life).run()
    return turn.memory


PROCESS = MentalProcess(
    name=INNER_LIFE_PROCESS,
    run=live,
    called="the inner life is to think, or something has come for it",
    texts={
        INNER_SYSTEM_TEXT: Placeholders(None),
        TICK_TEXT: Placeholders(None),
        TOOLS_TEXT: Placeholders({"tools", "name"}, "tools"),
    },
)
