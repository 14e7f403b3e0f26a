"""Modals that apps opened for people, and the triggers that open them, in memory."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from rehearsal.people import InstalledApp
from rehearsal.refusal import ApiError
from rehearsal.timekeeping import RehearsalClock

LASTS = 3.0
"""Seconds for which a trigger opens a modal."""

MOST = 200
"""Triggers and modals kept."""


@dataclass(slots=True, kw_only=True)
class ModalTrigger:
    """Trigger of a press by a person in a channel, for one modal of one app."""

    app: str
    user: str
    channel: str
    until: float
    used: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenView:
    """Modal that an app shows to a person; `channel` is where its button was pressed."""

    app: InstalledApp
    user: str
    channel: str
    view: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.view["id"])


class OpenViews:
    def __init__(self, clock: RehearsalClock) -> None:
        self._clock = clock
        self._triggers = OrderedDict[str, ModalTrigger]()
        self._views = OrderedDict[str, OpenView]()

    def trigger(self, stamp: str, app: InstalledApp, user: str, channel: str) -> str:
        """Return a new trigger_id for a press at `stamp`."""
        id = f"{stamp.replace('.', '')}.{secrets.token_hex(16)}"
        until = self._clock.now() + LASTS
        self._triggers[id] = ModalTrigger(app=app.id, user=user, channel=channel, until=until)
        if len(self._triggers) > MOST:
            self._triggers.popitem(last=False)
        return id

    def redeem(self, id: str, app: InstalledApp) -> ModalTrigger:
        """Use a trigger, which works once. Raises ApiError as Slack does."""
        trigger = self._triggers.get(id)
        if trigger is None or trigger.app != app.id:
            raise ApiError("invalid_trigger_id")
        if trigger.used:
            raise ApiError("exchanged_trigger_id")
        if trigger.until < self._clock.now():
            raise ApiError("expired_trigger_id")
        trigger.used = True
        return trigger

    def show(self, view: OpenView) -> None:
        self._views[view.id] = view
        if len(self._views) > MOST:
            self._views.popitem(last=False)

    @property
    def shown(self) -> list[OpenView]:
        """Open modals, the latest last."""
        return list(self._views.values())

    def of(self, id: str, user: str) -> OpenView:
        """Return a person's open modal. Raises ApiError."""
        view = self._views.get(id)
        if view is None or view.user != user:
            raise ApiError("view_not_found")
        return view

    def close(self, id: str) -> None:
        self._views.pop(id, None)
