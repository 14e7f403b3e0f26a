"""Slack's error answers."""

from __future__ import annotations


class ApiError(Exception):
    """Slack's `{"ok": false, "error": …}` with further fields."""

    def __init__(self, error: str, **fields: object) -> None:
        super().__init__(error)
        self.body: dict[str, object] = {"ok": False, "error": error, **fields}


def missing(name: str) -> ApiError:
    """Return the error for a missing argument."""
    return ApiError(
        "invalid_arguments", response_metadata={"messages": [f"[ERROR] missing required field: {name}"]}
    )
