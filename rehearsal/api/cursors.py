"""Slack's ways to ask for a part: a page of a list by cursor, a span of messages by time and cursor."""

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
    """Messages strictly between two stamps, going on after `cursor`, at most `limit` of them."""

    oldest: int
    latest: int
    cursor: int | None
    limit: int

    @staticmethod
    def after(stamp: int) -> str:
        """The cursor of the page that goes on after this message."""
        return _cursor(stamp)


def span(call: MethodCall) -> MessageSpan:
    """The span that a call asks for; `inclusive` takes the two ends in."""
    oldest = micros_of(call.text("oldest") or "0", "invalid_ts_oldest")
    latest = END_OF_TIME
    if call.text("latest"):
        latest = micros_of(call.text("latest"), "invalid_ts_latest")
    more = int(call.flag("inclusive"))
    cursor, limit = _place(call.text("cursor")), call.number("limit", 100, MOST)
    return MessageSpan(oldest=oldest - more, latest=latest + more, cursor=cursor, limit=limit)


def page(call: MethodCall, items: Sequence[T]) -> tuple[Sequence[T], dict[str, Any]]:
    """The items that a call asks for, and the response_metadata that goes with them."""
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
