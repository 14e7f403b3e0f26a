"""What the doctor found out about one thing that the daemon needs. Made by the checks, shown by doctor.py."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was looked at, what is to be said of it, and whether it is well; if it is not, with the fix."""

    name: str
    said: str
    ok: bool = True


def ill(name: str, said: str) -> Finding:
    """Something to mend."""
    return Finding(name=name, said=said, ok=False)
