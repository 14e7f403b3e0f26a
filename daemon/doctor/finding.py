"""What was found out about one thing that the daemon needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.printable import escaped_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was looked at, what is to be said of it, and whether it is well; if it is not, with the fix.

    `doubtful`: it may be well, and nobody can tell.
    """

    name: str
    said: str
    ok: bool = True
    doubtful: bool = False


def well_finding(name: str, said: str) -> Finding:
    """Nothing to mend."""
    return Finding(name=name, said=said)


def ill_finding(name: str, said: str) -> Finding:
    """Something to mend."""
    return Finding(name=name, said=said, ok=False)


def doubtful_finding(name: str, said: str) -> Finding:
    """Something to look at, with which the daemon starts all the same."""
    return Finding(name=name, said=said, doubtful=True)


def finding_line(finding: Finding, width: int = 10) -> str:
    """A finding for a person; its name takes `width` characters."""
    mark = "✓"
    if not finding.ok:
        mark = "✗"
    elif finding.doubtful:
        mark = "!"
    return f"{mark} {escaped_line(finding.name):<{width}} {escaped_line(finding.said)}"


def all_well(findings: Sequence[Finding]) -> bool:
    """Is there nothing to mend?"""
    return all(finding.ok for finding in findings)
