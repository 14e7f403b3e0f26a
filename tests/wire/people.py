"""The people of a story: they say their lines in Slack, each once, and know under which ts they said them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from daemon.rehearsal.channels import channel_of
from daemon.rehearsal.messages import find
from daemon.rehearsal.people import CALLERS, TEAM
from daemon.rehearsal.posts import post
from daemon.rehearsal.workspace import Workspace
from tests.wire.story import Line

MISSED = "update delivery set acked = ? where acked is null"
AGAIN = "update delivery set attempts = 1 where acked is null and attempts > 1"


class People:
    """All who speak in one workspace."""

    def __init__(self, workspace: Workspace, lines: Sequence[Line]) -> None:
        self._space = workspace
        self._lines = lines
        self._said: dict[int, str] = {}

    @property
    def silent(self) -> int:
        """How many lines were not said yet."""
        return len(self._lines) - len(self._said)

    @property
    def keys(self) -> list[str]:
        """What the journal must hold of what was said."""
        return [f"msg:{TEAM}:{self._lines[n].channel}:{ts}" for n, ts in self._said.items()]

    def tell(self, now: Callable[[Line], bool]) -> int:
        """Let the lines be said whose time this is, if they were not; returns how many those were."""
        left = [n for n, line in enumerate(self._lines) if n not in self._said and now(line)]
        for number in left:
            self.say(number)
        return len(left)

    def say(self, number: int) -> None:
        """Let this line be said."""
        line, space = self._lines[number], self._space
        caller = CALLERS[f"xoxp-{line.who}"]
        with space.db:
            channel = channel_of(space.db, line.channel, caller.id)
            root = None if line.root is None else find(space.db, line.channel, self._said[line.root]).stamp
            self._said[number] = post(space, channel, caller, {"text": line.text}, root).ts
            if line.missed:
                space.db.execute(MISSED, (space.clock.now(),))

    def insist(self) -> None:
        """What Slack would give up to bring comes again: what went to a stopped daemon finds the next one."""
        with self._space.db as db:
            if db.execute(AGAIN).rowcount:
                self._space.courier.wake()
