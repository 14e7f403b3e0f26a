"""Scopes that the app was installed without, as Slack's refusals tell: each is said once. For web.py.

What is a nicety is left out; what is essential is shown until a call of its kind goes well.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

ESSENTIAL = "chat:write"
"""Without it nothing can be said at all."""
SCOPE = re.compile(r"[a-z_.]+:[a-z_:.]+")
FIX = (
    "Add it at https://api.slack.com/apps, OAuth & Permissions (manifest.json names all that are needed), "
    "and install the app again."
)

log = logging.getLogger(__name__)


class Scopes:
    """What is known of them in this life."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._lacking: dict[str, str] = {}
        """What each method was refused for."""

    @property
    def wrong(self) -> Sequence[str]:
        """What is lacking without which the soul cannot speak, and what to do."""
        essential = dict.fromkeys(needed for needed in self._lacking.values() if ESSENTIAL in needed)
        return [
            f"The Slack app lacks the scope {needed}, so nothing can be said. {FIX}" for needed in essential
        ]

    def refused(self, method: str, answer: Mapping[str, Any]) -> None:
        """Slack refused this method for want of a scope; its answer names it, and those that there are."""
        needed = ", ".join(SCOPE.findall(str(answer.get("needed") or ""))) or "one that it does not name"
        self._lacking[method] = needed
        if (method, needed) not in self._told:
            self._told.add((method, needed))
            provided = ", ".join(SCOPE.findall(str(answer.get("provided") or ""))) or "none"
            log.error(
                "Slack refuses %s: the app lacks the scope %s. %s It has: %s.", method, needed, FIX, provided
            )

    def taken(self, method: str) -> None:
        """Slack took a call of this method: what it was refused for is there now, for others, too."""
        if needed := self._lacking.get(method):
            self._lacking = {other: lacks for other, lacks in self._lacking.items() if lacks != needed}
