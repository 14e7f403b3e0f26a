"""How Slack says no: an error code, sometimes more. Raised by the methods, answered by the dispatch."""

from __future__ import annotations


class ApiError(Exception):
    """Slack's `{"ok": false, "error": …}`, with what else stands in it."""

    def __init__(self, error: str, **fields: object) -> None:
        super().__init__(error)
        self.body: dict[str, object] = {"ok": False, "error": error, **fields}


def missing(name: str) -> ApiError:
    """A required argument is not there."""
    return ApiError(
        "invalid_arguments", response_metadata={"messages": [f"[ERROR] missing required field: {name}"]}
    )
