"""Differences between the machines of a workspace that its daemons should have alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daemon.cluster.daemon_facts import DaemonRow


def find_differences(rows: Sequence[DaemonRow]) -> Iterator[str]:
    """Yield a sentence for each thing that all machines should have alike, and do not."""
    stated: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        given: Mapping[str, Any] = {"version": row.version, **row.digests}
        for name, digest in given.items():
            stated.setdefault(name, {}).setdefault(digest, []).append(row.machine)
    for name, machines in stated.items():
        if len(machines) > 1:
            sides = " and ".join(", ".join(some) for some in machines.values())
            yield f"{name} differs between {sides}: make it the same, or they answer differently"
