"""Words to a person who waits long for the first word: first a status, then once a sentence.

The sentence stands beside the steps of the execution, under the turn's key: so it is said once in each turn,
whoever is killed when.
"""

from __future__ import annotations

import asyncio
import logging

from daemon.engine.context import Context
from daemon.engine.exceptions import FencedError, JournalError
from daemon.engine.execution import Execution
from daemon.engine.keys import part_key
from daemon.errors import PostFailed
from daemon.kinds import QuestionAnswered
from daemon.mind.wording import fill_prompt
from daemon.soul.first_word_waits import SECONDS_TO_STATUS, FirstWordWait
from daemon.soul.turn import Turn
from daemon.soul.world import TurnDependencies

STATUS = "prompts/sentences/still_thinking"
WAITING = "prompts/sentences/waiting"

log = logging.getLogger(__name__)


async def watch_long_waits(world: TurnDependencies) -> None:
    """Tell whoever waits long, until cancelled. While nobody waits, this sleeps."""
    waits, clock = world.waits, world.clock
    while True:
        await waits.any.wait()
        if waits.next_sign_at is None:
            waits.any.clear()
            continue
        left = waits.next_sign_at - clock.steady()
        await clock.sleep(min(left, SECONDS_TO_STATUS))  # who comes meanwhile is not due before that
        for execution, wait in waits.overdue(clock.steady()).items():
            _act(world, execution, wait)


def _act(world: TurnDependencies, execution: Execution, wait: FirstWordWait) -> None:
    """Show the status; at the second time, begin to say the sentence."""
    wait.signs += 1
    if (
        execution.is_shown or execution.is_in_outage
    ):  # people see an answer, or were told that the model is away
        return
    turn = _turn(world, execution)
    if wait.signs == 1:
        turn.show_status(fill_prompt(turn, STATUS))
    elif _is_waited_for(turn):
        wait.telling = asyncio.create_task(_tell(turn, wait), name=f"the wait of {execution.id}")


def _turn(world: TurnDependencies, execution: Execution) -> Turn:
    """A turn whose steps stand beside those of the execution."""
    return Turn(world, Context(execution, part_key(execution.turn, "wait")))


def _is_waited_for(turn: Turn) -> bool:
    """True if somebody expects words here, who was not told yet in this turn."""
    expects = turn.must_answer or bool(turn.execution.recorded_entries(QuestionAnswered))
    return expects and turn.addressed and turn.ctx.read_back(_told(turn)) is None


def _told(turn: Turn) -> str:
    return f"{turn.ctx.path}/told#1"


async def _tell(turn: Turn, wait: FirstWordWait) -> None:
    try:
        await turn.speech_at(_told(turn)).finish(fill_prompt(turn, WAITING), answers=False)
        turn.show_status(fill_prompt(turn, STATUS))  # Slack takes the status away with each message
    except PostFailed as error:
        wait.failed = True
        log.info("A person who waits could not be told so: %s.", error)
    except (FencedError, JournalError):
        wait.failed = True  # the turn meets the same at its next step


async def settle_wait_sentence(world: TurnDependencies, execution: Execution) -> None:
    """Leave what was half said of a wait as it stands in Slack; unsay what never stood there."""
    turn = _turn(world, execution)
    if execution.pending_about(turn.ctx.path):
        await turn.speech_at(_told(turn)).settle()
