"""Share of this daemon in the Slack app that all daemons of the workspace use."""

from __future__ import annotations

from daemon.cluster.log_reach import AWAY_SECONDS
from daemon.cluster.membership import Membership
from daemon.cluster.roles import Roles


class SlackShare:
    """Sockets, rate and roles of this daemon, as the heartbeats of all daemons tell them."""

    is_shared = True

    def __init__(self, membership: Membership, roles: Roles) -> None:
        self._membership = membership
        self._roles = roles

    @property
    def daemon_count(self) -> int:
        """Number of daemons that take turns, this one included."""
        me = self._membership.worker_id
        return sum(row.working for row in self._membership.alive if row.worker_id != me) + 1

    @property
    def sockets_elsewhere(self) -> int:
        me = self._membership.worker_id
        return sum(row.sockets for row in self._membership.alive if row.worker_id != me)

    @property
    def seconds_without_log(self) -> float:
        reach = self._membership.reach
        if reach.reachable:
            return 0.0
        return max(0.0, self._membership.clock.now() - reach.since) + AWAY_SECONDS

    async def allot_sockets(self, wanted: int) -> int:
        return await self._membership.take_sockets(wanted)

    def holds(self, role: str) -> bool:
        return self._roles.holds(role)

    async def hold(self, role: str) -> None:
        await self._roles.hold(role)
