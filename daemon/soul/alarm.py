"""An owner is told in a direct message that something of the soul's needs mending, or that a model is away.

Who meets it leaves an afterthought in the owner's conversation, whose own turn says it: so it is said once,
whoever is killed when. Its key names the one before it, so that two turns leave one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from daemon.claude.account import ACCOUNT, AccountFault
from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalError
from daemon.engine.execution import Execution
from daemon.errors import PostFailed
from daemon.kinds import BackgroundTask, ConversationOpened, ModelCall, SoulTurnBegan
from daemon.ports import Hold
from daemon.soul.model_report import ModelReport
from daemon.soul.reach import USABLE_REPLIES, failure_of_call
from daemon.soul.scope import Scope
from daemon.soul.world import TurnDependencies

NOTICING = "noticing"
"""The process that tells it."""
AGAIN = 86_400.0
"""Seconds after which an owner is told again, while nothing is mended."""
REFUSED = "refused"
"""What it is about, and the text that says it, where Slack took no form of something."""
QUIET = 600.0
"""Seconds in which an owner is told of the same fault once, however often it comes and goes."""
LASTING = 300.0
"""Seconds for which a report on a model must stand before owners are told of it."""
LOOK = 10.0
"""Seconds between two looks at the reports."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNotice:
    """What owners are to know `about` a subject. `text` is the owner's text that says it around `what`.

    `is_news` says whether an owner who was told at a time, by a given afterthought, must be told again.
    """

    about: str
    what: str
    text: str
    is_news: Callable[[Entry[BackgroundTask]], bool]
    cause: int | None = None


async def alert_owners(world: TurnDependencies, execution: Execution, call: Entry[ModelCall]) -> None:
    """Let the owners know what a failed call tells of the account, if it does, and they do not know yet."""
    fault = failure_of_call(call.event)
    if fault.failure not in ACCOUNT:
        return
    notice = OwnerNotice(
        about=fault.subject,
        what=world.reach.advice(fault),
        text="mend",
        is_news=partial(_is_mended, world, fault),
        cause=call.seq,
    )
    await _tell_owners(world, notice, execution.check_lease)


async def watch_models(world: TurnDependencies) -> None:
    """Tell the owners of each model that has been away, or slow, for some minutes, until cancelled."""
    while world.owners:
        await world.clock.sleep(LOOK)
        try:
            lasting = [one for one in world.reach.reports if one.seen - one.since >= LASTING]
            for notice in _notices(world, lasting):
                await _tell_owners(world, notice, _free)
        except JournalError as error:
            log.info("The owners are told of the model later: %s", error)  # the journal said why


def _notices(world: TurnDependencies, reports: Sequence[ModelReport]) -> Iterator[OwnerNotice]:
    """One notice of all models that are away, and one of all that are slow. The account has its own."""
    now = world.clock.now()
    away = [one for one in reports if not one.slow and one.failure not in ACCOUNT]
    slow = [one for one in reports if one.slow and not one.is_usual]
    for text, alike in (("away", away), ("slow", slow)):
        if alike:
            newest = max(one.since for one in alike)
            what = " ".join(one.sentence(now) for one in alike)
            yield OwnerNotice(about=text, what=what, text=text, is_news=partial(_began_since, newest))


def _began_since(began: float, last: Entry[BackgroundTask]) -> bool:
    """Did it begin after the owner was told last?"""
    return began > last.at


def _free() -> None:
    """Hold nothing: the afterthought that follows has a key of its own."""


async def _tell_owners(world: TurnDependencies, notice: OwnerNotice, hold: Hold) -> None:
    reach = world.reach
    now = world.clock.steady()
    for owner in world.owners:
        if not reach.may_tell_owner(owner, notice.about):
            continue
        reach.mark_owner_told(owner, notice.about, until=now + QUIET)
        try:
            thread = await world.speaker.open_dm(owner, hold)
        except PostFailed as error:
            log.warning("The owner %s could not be told: %s.", owner, error)
        else:
            hold()
            await _leave(world, notice, thread)


async def report_slack_refusal(scope: Scope, word: str) -> None:
    """Let the owners know that Slack refused, with this word, every form of something.

    That it cannot say this to an owner is no news for owners.
    """
    world, first = scope.world, scope.execution.first.event
    world.speaker.report_left_out(scope.thread, word)
    if isinstance(first, SoulTurnBegan) and first.process == NOTICING:
        return
    opened = world.journal.latest_of_kind(scope.thread, ConversationOpened)
    place = opened.event.place if opened else scope.thread
    notice = OwnerNotice(about=REFUSED, what=f"in {place} ({word}).", text=REFUSED, is_news=lambda _: True)
    await _tell_owners(world, notice, scope.hold)


async def _leave(world: TurnDependencies, notice: OwnerNotice, thread: str) -> None:
    """An afterthought for the owner's conversation, if there is none about this yet."""
    journal = world.journal
    last = None
    before = 0
    for entry in journal.thread_entries(thread, BackgroundTask):
        told = entry.event
        if told.process == NOTICING and told.params.get("about") == notice.about:
            last, before = entry, entry.seq
    if last is None or _is_news(world, notice, last):
        params = {"about": notice.about, "what": notice.what, "text": notice.text}
        event = BackgroundTask(process=NOTICING, params=params)
        key = f"alarm:{thread}:{notice.about}:{before}"
        await journal.append(thread, event, key=key, author="core", cause=notice.cause)


def _is_news(world: TurnDependencies, notice: OwnerNotice, last: Entry[BackgroundTask]) -> bool:
    """Was it mended since the owner was told last, or was that long ago?"""
    past = world.clock.now() - last.at
    if not 0 <= past < AGAIN:  # long ago, or dated by a clock that was ahead
        return True
    if past < QUIET:
        return False
    return notice.is_news(last)


def _is_mended(world: TurnDependencies, fault: AccountFault, last: Entry[BackgroundTask]) -> bool:
    """Has a model answered since then that shows this fault to be over?"""
    for call in world.journal.entries_of_kind(ModelCall, since=last.seq):
        if call.event.outcome in USABLE_REPLIES and fault.is_mended_by(call.event.model):
            return True
    return False
