"""Slack's pagination of lists and messages."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rehearsal.api.call import MethodCall
from rehearsal.refusal import ApiError
from rehearsal.workspace_store import micros_of

T = TypeVar("T")
MOST = 999
END_OF_TIME = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSpan:
    """At most `limit` messages strictly between two stamps, after `cursor`."""

    oldest: int
    latest: int
    cursor: int | None
    limit: int

    @staticmethod
    def after(stamp: int) -> str:
        """Return the cursor of the next page."""
        return _cursor(stamp)


def span(call: MethodCall) -> MessageSpan:
    """Return the requested span; `inclusive` includes both ends."""
    oldest = micros_of(call.text("oldest") or "0", "invalid_ts_oldest")
    latest = END_OF_TIME
    if call.text("latest"):
        latest = micros_of(call.text("latest"), "invalid_ts_latest")
    more = int(call.flag("inclusive"))
    cursor, limit = _place(call.text("cursor")), call.number("limit", 100, MOST)
    return MessageSpan(oldest=oldest - more, latest=latest + more, cursor=cursor, limit=limit)


def page(call: MethodCall, items: Sequence[T]) -> tuple[Sequence[T], dict[str, Any]]:
    """Return the requested page, and its response_metadata."""
    start = _place(call.text("cursor")) or 0
    end = start + call.number("limit", 100, MOST)
    following = _cursor(end) if end < len(items) else ""
    return items[start:end], {"response_metadata": {"next_cursor": following}}


def _cursor(place: int) -> str:
    return base64.b64encode(f"next:{place}".encode()).decode()


def _place(cursor: str) -> int | None:
    if not cursor:
        return None
    try:
        place = int(base64.b64decode(cursor, validate=True).decode().removeprefix("next:"))
    except ValueError:
        raise ApiError("invalid_cursor") from None
    return max(0, min(place, END_OF_TIME))
