"""JSON that comes from outside, read so that nothing in it can hurt. For the lines and the buttons."""

from __future__ import annotations

import json
import re

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A string of JSON, or the beginning or end of an object or list. One that breaks off is read once, too."""


def parsed(text: object) -> object:
    """What this JSON says; None where it is none, or nested too deeply to be read."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def value_of(text: str, name: str) -> str:
    """The string under this name in an object that cannot be read whole; empty if there is none.

    However deeply its other parts are nested, they are passed over.
    """
    depth, last = 0, ""
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif depth == 1 and last == f'"{name}"':
            return str(parsed(sign) or "")
        last = sign
    return ""
