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
from daemon.slack.web import LIMITED, LONGEST_WAIT, OUT_OF_REACH, Method, Web, error_of, retry_after

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

REFRESH = 90.0
"""Seconds after which words that have not changed are shown again: Slack takes them away after 120."""

log = logging.getLogger(__name__)


class Status:
    """The status of each thread; a nicety, so no refusal of it ever reaches a turn."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._lacking: set[Method] = set()
        self._rests = dict[Method, float]()
        """Until when a method shows nothing new: Slack had enough of it."""
        self._lines = dict[Place, tuple[str, float]]()
        """The words that stand somewhere, and since when."""
        self._working: set[Place] = set()
        self._order = Order()

    async def show(self, place: Place, text: str, hold: Hold) -> None:
        """Show these words, and that the session is at work. Words that stand there already cost nothing."""
        async with self._order.of(place):
            await asyncio.gather(self._line(place, text, hold), self._session(place, hold, working=True))

    async def clear(self, place: Place, hold: Hold) -> None:
        """Show nothing any more. Costs nothing where nothing is shown."""
        async with self._order.of(place):
            await asyncio.gather(self._line(place, "", hold), self._session(place, hold, working=False))

    def replied(self, place: Place) -> None:
        """A new message stands there: with it Slack takes the words away."""
        self._lines.pop(place, None)

    async def _line(self, place: Place, text: str, hold: Hold) -> None:
        stands, since = self._lines.get(place, ("", 0.0))
        now, method = self._web.clock.steady(), self._web.client.assistant_threads_setStatus
        if text == stands and (not text or now - since < REFRESH):
            return
        if await self._set(hold, method, place, text, showing=bool(text)):
            self._lines.pop(place, None)
            if text:
                self._lines[place] = text, now

    async def _session(self, place: Place, hold: Hold, *, working: bool) -> None:
        method = self._web.client.agents_sessions_setStatus
        if working == (place in self._working):
            return
        if await self._set(hold, method, place, "processing" if working else "active", showing=working):
            (self._working.add if working else self._working.discard)(place)

    async def _set(self, hold: Hold, method: Method, place: Place, status: str, *, showing: bool) -> bool:
        """Set it, if this workspace has it; is it so now?

        Where nobody knows, what was to be shown stands there, and so does what was to be taken away.
        """
        if method in self._lacking or (showing and self._web.clock.steady() < self._rests.get(method, 0.0)):
            return False
        try:
            await self._web.once(hold, method, channel_id=place.channel, thread_ts=place.root, status=status)
        except SlackApiError as refusal:
            self._refused(method, refusal)
            return False
        except OUT_OF_REACH:
            return showing
        return True

    def _refused(self, method: Method, refusal: SlackApiError) -> None:
        if (word := error_of(refusal)) in LACKING:
            self._lacking.add(method)
        elif word == LIMITED:
            self._rests[method] = self._web.clock.steady() + (retry_after(refusal) or LONGEST_WAIT)
        log.info("Slack refused a status (%s).", word)
