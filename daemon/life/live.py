"""The heart: a thread takes one turn, and its transitions are followed. The waker calls `live`."""

from __future__ import annotations

import logging
from collections import Counter

from daemon.errors import Fenced, JournalError, ModelFailed, Parked
from daemon.life.begin import Blueprint, attempts, begin
from daemon.life.ending import abandon, begin_afresh, fail, hopeless, let_go, postpone, speechless
from daemon.life.scope import World
from daemon.life.turn import Turn
from daemon.memory import WorkingMemory
from daemon.process import Process, Transition

log = logging.getLogger(__name__)

MAX_TRANSITIONS = 10
MAX_ATTEMPTS = 5
MAX_BACKOFF = 300.0
"""Seconds between two attempts at a turn, at the most."""


class Life:
    """A soul in a world: what happens when one of its threads has open perceptions."""

    def __init__(self, world: World, soul: Blueprint, max_attempts: int = MAX_ATTEMPTS) -> None:
        self._world = world
        self._soul = soul
        self._max_attempts = max_attempts
        self._turns: dict[str, Turn] = {}
        """The turns that are taken now, by thread."""
        self._spared: Counter[str] = Counter()
        """How often the journal, and nobody else, ended an attempt at a body."""

    async def live(self, thread: str) -> bool:
        """Take one turn; False when nothing waits. Raises Fenced when another attempt has taken over."""
        turn = await begin(self._world, self._soul, thread)  # fixes what it answers; takes up a half turn
        if turn is None:
            return False
        try:
            await self._take(turn)
        except Fenced:
            raise
        except JournalError:
            self._spared[turn.id] += 1
            raise
        except Exception as error:  # noqa: BLE001  the turn boundary: a failed attempt, tried again
            await self._failed(turn, error)
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
        if speechless(turn):
            await abandon(turn)
            return
        turn.load()
        self._turns[turn.thread] = turn
        if hopeless(turn, self._max_attempts + self._spared[turn.id]):
            await fail(turn)
        elif turn.first.body["code"] != self._soul.code:
            await let_go(turn)
        else:
            try:
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

    async def _failed(self, turn: Turn, error: Exception) -> None:
        log.warning(
            "A turn of %s failed at %s; it is tried again.", turn.thread, turn.reached, exc_info=error
        )
        await turn.append(
            "failure",
            {"at": turn.reached, "error": error.__class__.__name__},
            key=f"{turn.id}/failure#{turn.epoch}",
        )
        await self._world.clock.sleep(min(2.0 ** attempts(self._world, turn.id), MAX_BACKOFF))
