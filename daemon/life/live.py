"""The heart: a thread takes one turn, and its transitions are followed. The waker calls `live`."""

from __future__ import annotations

import logging

from daemon.errors import Fenced, JournalError, ModelFailed, Parked, SpeechFailed, SpeechRefused
from daemon.life.begin import Blueprint, begin, unbegun
from daemon.life.ending import (
    abandon,
    begin_afresh,
    fail,
    give_up,
    halt,
    is_halting,
    let_go,
    postpone,
    unsaid,
)
from daemon.life.hopeless import beyond_words, hopeless, suspicious
from daemon.life.overhearing import overhear
from daemon.life.scope import World
from daemon.life.turn import Turn
from daemon.memory import WorkingMemory
from daemon.process import Process, Transition

log = logging.getLogger(__name__)

MAX_TRANSITIONS = 10
MAX_ATTEMPTS = 5
"""Failures of a turn, or deaths that are counted against it, after which it is given up."""


class Life:
    """A soul in a world: what happens when one of its threads has open perceptions."""

    def __init__(self, world: World, soul: Blueprint, max_attempts: int = MAX_ATTEMPTS) -> None:
        self._world = world
        self._soul = soul
        self._max_attempts = max_attempts
        self._turns: dict[str, Turn] = {}
        """The turns that are taken now, by thread."""

    async def live(self, thread: str) -> bool:
        """Take one turn; False when nothing waits. Raises Fenced when another attempt has taken over."""
        turn = None
        try:
            turn = await begin(self._world, self._soul, thread)  # fixes what it answers; takes up a half turn
            if turn is None:
                return False
            await self._take(turn)
        except (Fenced, JournalError):
            raise
        except Exception as error:  # noqa: BLE001  the turn boundary: a failed attempt, tried again
            await self._failed(thread, turn, error)
        finally:
            self._turns.pop(thread, None)
        return True

    def notice(self, thread: str) -> None:
        """Something came for a thread while it takes a turn."""
        if turn := self._turns.get(thread):
            turn.notice()

    async def _take(self, turn: Turn) -> None:
        """One attempt. Whatever ends it, Slack shows nothing of it any more, nor of the one before it."""
        self._world.speaker.status(turn.thread, "", turn.hold)
        try:
            await self._attempt(turn)
        finally:
            self._world.speaker.status(turn.thread, "", turn.hold)

    async def _attempt(self, turn: Turn) -> None:
        if beyond_words(turn, self._max_attempts):
            await abandon(turn)
        elif hopeless(turn, self._max_attempts):
            await give_up(turn)
        else:
            turn.load()
            self._turns[turn.thread] = turn
            await self._go_on(turn)

    async def _go_on(self, turn: Turn) -> None:
        """Run what this body does; or what is done instead, where that must not run any more."""
        if is_halting(turn) or (turn.stopping.is_set() and suspicious(turn)):
            await halt(turn)
        elif turn.first.body["code"] != self._soul.code:
            await let_go(turn)
        else:
            try:
                await overhear(turn, self._soul.surroundings)
                await self._think(turn)
            except ModelFailed as error:
                await postpone(turn, error.failure)
            except Parked:  # a turn never waits for a person
                await turn.park()

    async def _think(self, turn: Turn) -> None:
        """Run the current process, and those that it goes over into at once."""
        for _ in range(MAX_TRANSITIONS):
            outcome = await self._process(turn.process)(turn)
            if isinstance(outcome, WorkingMemory):
                turn.memory = outcome
                break
            if not isinstance(outcome, Transition):
                raise TypeError(f"the process {turn.process} returned {type(outcome).__name__}")
            await turn.record(outcome)  # which process a thread is in is a journal fact
            if not outcome.execute_now:
                break
        else:
            log.warning("%s: %d transitions in one turn; given up.", turn.thread, MAX_TRANSITIONS)
            return await fail(turn)
        if turn.astray:
            return await begin_afresh(turn)
        return await turn.finish("ended", turn.memory)  # closes what it answered

    def _process(self, name: str) -> Process:
        """The process of this name; one that nobody knows is the initial one."""
        known = self._soul.processes
        return known[name if name in known else self._soul.initial]

    async def _failed(self, thread: str, turn: Turn | None, error: Exception) -> None:
        """How long it rests now, and whether it is given up, is read from what is written down here."""
        if turn is None:
            log.warning("A turn of %s failed at its beginning; it is tried again.", thread, exc_info=error)
            await unbegun(self._world, thread, error.__class__.__name__)
        elif isinstance(error, SpeechFailed):  # no fault of the code's: it has no traceback, and is said once
            log.log(unsaid(turn, error), "A turn of %s cannot say what it has to. %s.", thread, error)
            await self._record_failure(turn, error)
        else:
            log.warning("A turn of %s failed at %s; it is tried again.", thread, turn.reached, exc_info=error)
            await self._record_failure(turn, error)
        if turn and isinstance(error, SpeechRefused):
            await abandon(turn)

    async def _record_failure(self, turn: Turn, error: Exception) -> None:
        body = {"at": turn.reached, "error": error.__class__.__name__}
        if isinstance(error, SpeechRefused):
            body["why"] = str(error)
        await turn.append("failure", body, key=f"{turn.id}/failure#{turn.epoch}", cause=turn.epoch)
