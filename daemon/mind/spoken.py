"""What is left of an answer of which no sections were asked: a choice, a thought, a summary."""

from __future__ import annotations

import json

from daemon.mind.sections import sections


def spoken(text: str) -> str:
    """What is left of a whole answer, of which no sections were asked, without the thoughts in it.

    JSON stays as it is: no mark in its strings is one.
    """
    return text.strip() if _is_json(text) else sections(text, ()).outside.strip()


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
