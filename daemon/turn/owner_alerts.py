"""Alerts to owners: faults of the provider account, models that are away or slow, refusals of Slack.

An alert is a background task in the owner's DM; its key names the alert before, so that it is sent once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from daemon.claude.availability import USABLE_REPLIES, ModelReport, failure_of_call
from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalError
from daemon.engine.execution import Execution, Hold, no_lease_check
from daemon.errors import PostFailed
from daemon.kinds import BackgroundTask, ConversationOpened, ModelCall, SoulTurnBegan
from daemon.model import ACCOUNT, AccountFault
from daemon.turn.turn import Turn, TurnDependencies

log = logging.getLogger(__name__)

NOTICING = "noticing"
"""Process that tells an owner."""


REFUSED = "refused"
"""Subject of the alerts about Slack's refusals, and name of their text."""


SECONDS_TO_REPEAT = 86_400.0
"""Seconds after which owners are alerted again of a lasting fault."""


MIN_PAUSE = 600.0
"""Least seconds between two alerts about a fault."""


SECONDS_TO_ALERT = 300.0
"""Seconds until owners learn that a model is slow or cannot be reached."""


CHECK_INTERVAL = 10.0
"""Seconds between two looks at the models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerAlert:
    """An alert for owners `about` a subject; `text` names the owner's text, filled with `what`.

    `is_news` returns whether to send it, given the last alert.
    """

    about: str
    what: str
    text: str
    is_news: Callable[[Entry[BackgroundTask]], bool]
    cause: int | None = None


async def alert_owners(deps: TurnDependencies, execution: Execution, call: Entry[ModelCall]) -> None:
    """Alert the owners if a failed call shows a new fault of the provider account."""
    fault = failure_of_call(call.event)
    if fault.failure not in ACCOUNT:
        return
    alert = OwnerAlert(
        about=fault.subject,
        what=deps.reach.advice(fault),
        text="mend",
        is_news=partial(_is_mended, deps, fault),
        cause=call.seq,
    )
    await _send(deps, alert, execution.check_lease)


async def watch_models(deps: TurnDependencies) -> None:
    """Alert the owners of models that are slow or cannot be reached, until cancelled."""
    while deps.owners:
        await deps.clock.sleep(CHECK_INTERVAL)
        try:
            lasting = [
                report for report in deps.reach.reports if report.seen - report.since >= SECONDS_TO_ALERT
            ]
            for alert in _alerts_about(deps, lasting):
                await _send(deps, alert, no_lease_check)
        except JournalError as error:
            log.info("Could not alert the owners of a slow or absent model, which is tried again: %s", error)


def _alerts_about(deps: TurnDependencies, reports: Sequence[ModelReport]) -> Iterator[OwnerAlert]:
    now = deps.clock.now()
    away = [one for one in reports if not one.slow and one.failure not in ACCOUNT]
    slow = [one for one in reports if one.slow and not one.is_usual]
    for text, alike in (("away", away), ("slow", slow)):
        if alike:
            newest = max(one.since for one in alike)
            what = " ".join(one.sentence(now) for one in alike)
            yield OwnerAlert(about=text, what=what, text=text, is_news=partial(_began_since, newest))


def _began_since(began: float, last: Entry[BackgroundTask]) -> bool:
    return began > last.at


async def _send(deps: TurnDependencies, alert: OwnerAlert, hold: Hold) -> None:
    reach = deps.reach
    now = deps.clock.steady()
    for owner in deps.owners:
        if not reach.may_tell_owner(owner, alert.about):
            continue
        reach.mark_owner_told(owner, alert.about, until=now + MIN_PAUSE)
        try:
            thread = await deps.speaker.open_dm(owner, hold)
        except PostFailed as error:
            log.warning("Could not open the DM with the owner %s, who is not alerted: %s.", owner, error)
        else:
            await hold()
            await _record_in_dm(deps, alert, thread)


async def report_slack_refusal(turn: Turn, error_code: str) -> None:
    """Alert the owners that Slack refused every form of a message; `error_code` is Slack's.

    If Slack refuses the alert, no further alert follows.
    """
    deps, first = turn.deps, turn.execution.first.event
    deps.speaker.report_left_out(turn.thread, error_code)
    if isinstance(first, SoulTurnBegan) and first.process == NOTICING:
        return
    opened = deps.journal.latest_of_kind(turn.thread, ConversationOpened)
    place = opened.event.place if opened else turn.thread
    alert = OwnerAlert(
        about=REFUSED, what=f"in {place} ({error_code}).", text=REFUSED, is_news=lambda _: True
    )
    await _send(deps, alert, turn.check_lease)


async def _record_in_dm(deps: TurnDependencies, alert: OwnerAlert, thread: str) -> None:
    journal = deps.journal
    last = None
    before = 0
    for entry in journal.thread_entries(thread, BackgroundTask):
        task = entry.event
        if task.process == NOTICING and task.params.get("about") == alert.about:
            last, before = entry, entry.seq
    if last is None or _is_news(deps, alert, last):
        params = {"about": alert.about, "what": alert.what, "text": alert.text}
        event = BackgroundTask(process=NOTICING, params=params)
        key = f"alarm:{thread}:{alert.about}:{before}"
        await journal.append(thread, event, key=key, author="core", cause=alert.cause)


def _is_news(deps: TurnDependencies, alert: OwnerAlert, last: Entry[BackgroundTask]) -> bool:
    past = deps.clock.now() - last.at
    if not 0 <= past < SECONDS_TO_REPEAT:  # `past` is negative if the clock was ahead before
        return True
    if past < MIN_PAUSE:
        return False
    return alert.is_news(last)


def _is_mended(deps: TurnDependencies, fault: AccountFault, last: Entry[BackgroundTask]) -> bool:
    for call in deps.journal.entries_of_kind(ModelCall, since=last.seq):
        if call.event.outcome in USABLE_REPLIES and fault.is_mended_by(call.event.model):
            return True
    return False
