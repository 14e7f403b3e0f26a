"""What Slack shows while the soul thinks: words on a status line, and the session's own sign of work.

Slack has two calls. `assistant.threads.setStatus` shows words and clears itself with the answer;
`agents.sessions.setStatus` takes no words (it refuses them) and stays until it is set back.
"""

from __future__ import annotations

import asyncio
import logging

from slack_sdk.errors import SlackApiError

from daemon.ports import Hold
from daemon.slack.order import Order
from daemon.slack.place import Place
from daemon.slack.web import OUT_OF_REACH, Method, Web, error_of

LACKING = frozenset(
    [
        "unknown_method",
        "method_deprecated",
        "missing_scope",
        "not_allowed_token_type",
        "not_agent_app",
        "feature_not_enabled",
        "access_denied",
        "no_permission",
    ]
)
"""Refusals that will not change while this process lives."""

log = logging.getLogger(__name__)


class Status:
    """The status of each thread; a nicety, so no refusal of it ever reaches a turn."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._lacking: set[Method] = set()
        self._lines: set[Place] = set()
        self._working: set[Place] = set()
        self._order = Order()

    async def show(self, place: Place, text: str, hold: Hold) -> None:
        """Show these words, and that the session is at work."""
        async with self._order.of(place):
            await asyncio.gather(self._line(place, text, hold), self._session(place, hold, working=True))

    async def clear(self, place: Place, hold: Hold) -> None:
        """Show nothing any more. Costs nothing where nothing is shown."""
        async with self._order.of(place):
            await asyncio.gather(self._line(place, "", hold), self._session(place, hold, working=False))

    def replied(self, place: Place) -> None:
        """A new message stands there: with it Slack takes the words away."""
        self._lines.discard(place)

    async def _line(self, place: Place, text: str, hold: Hold) -> None:
        if not text and place not in self._lines:
            return
        self._lines.discard(place)
        if await self._set(hold, self._web.client.assistant_threads_setStatus, place, text) and text:
            self._lines.add(place)

    async def _session(self, place: Place, hold: Hold, *, working: bool) -> None:
        if working == (place in self._working):
            return
        self._working.discard(place)
        status = "processing" if working else "active"
        if await self._set(hold, self._web.client.agents_sessions_setStatus, place, status) and working:
            self._working.add(place)

    async def _set(self, hold: Hold, method: Method, place: Place, status: str) -> bool:
        """Set it, if this workspace has it; was it done?"""
        if method in self._lacking:
            return False
        try:
            await self._web.once(hold, method, channel_id=place.channel, thread_ts=place.root, status=status)
        except SlackApiError as refusal:
            if (word := error_of(refusal)) in LACKING:
                self._lacking.add(method)
            log.info("Slack refused a status (%s).", word)
            return False
        except OUT_OF_REACH:
            return False
        return True
