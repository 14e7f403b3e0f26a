"""People of a scenario, who post each line once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rehearsal.api.call import MethodCall
from rehearsal.api.reactions import add
from rehearsal.blocks import buttons
from rehearsal.channels import StoredChannel, channel_of
from rehearsal.events import changed, post
from rehearsal.gestures import press
from rehearsal.messages import StoredMessage, find, message_json, put
from rehearsal.people import CALLERS, ECHO, TEAM
from rehearsal.workspace import RehearsedWorkspace
from rehearsal.workspace_store import ts_of
from tests.wire.scenario import WireInput

MISSED = "update delivery set acked = ? where acked is null"
AGAIN = "update delivery set attempts = 1 where acked is null and attempts > 1"


class People:
    def __init__(self, workspace: RehearsedWorkspace, lines: Sequence[WireInput]) -> None:
        self._space = workspace
        self._lines = lines
        self._said: dict[int, str] = {}
        self._pressed: list[str] = []

    @property
    def keys(self) -> list[str]:
        """Keys that the journal must have; a late reaction has none."""
        done = [(self._lines[n], ts) for n, ts in self._said.items()]
        said = [
            f"{'heard' if line.aside else 'msg'}:{TEAM}:{line.channel}:{ts}"
            for line, ts in done
            if line.does == "says"
        ]
        return [*said, *self._pressed]

    def left(self, now: Callable[[WireInput], bool]) -> list[WireInput]:
        return [line for n, line in enumerate(self._lines) if n not in self._said and now(line)]

    def tell(self, now: Callable[[WireInput], bool]) -> None:
        """Post due lines once."""
        for number in [n for n, line in enumerate(self._lines) if n not in self._said and now(line)]:
            self.say(number)

    def say(self, number: int) -> None:
        """Post, press or react."""
        line = self._lines[number]
        with self._space.db:
            do = {"says": self._post, "presses": self._press, "reacts": self._react}[line.does]
            self._said[number] = do(line)
            if line.missed:
                self._space.db.execute(MISSED, (self._space.clock.now(),))

    def thread(self, number: int) -> str:
        line = self._lines[number]
        return self._said[number] if line.root is None else self._root(line).ts

    def _post(self, line: WireInput) -> str:
        caller = CALLERS[ECHO.bot_token if line.who == "echo" else f"xoxp-{line.who}"]
        channel = channel_of(self._space.db, line.channel, caller.id)
        root = None if line.root is None else self._root(line).stamp
        if line.who == "echo":
            return self._post_in_pieces(channel, line.text, root)
        return post(self._space, channel, caller, {"text": line.text}, root).ts

    def _post_in_pieces(self, channel: StoredChannel, text: str, root: int | None) -> str:
        piece = post(self._space, channel, CALLERS[ECHO.bot_token], {"text": text[: len(text) // 2]}, root)
        before = message_json(self._space.db, piece)
        body = {**piece.body, "text": text, "edited": {"user": ECHO.user, "ts": ts_of(self._space.mint())}}
        changed(self._space, channel, put(self._space.db, replace(piece, body=body)), before)
        return piece.ts

    def _press(self, line: WireInput) -> str:
        mine = [ts for channel, ts, label in self.offers() if (channel, label) == (line.channel, line.text)]
        return self.press(line.channel, mine[-1], line.text, line.who)

    def offers(self) -> list[tuple[str, str, str]]:
        """Return channel, ts and label of each button."""
        sql = "select stamp, channel from message order by stamp"
        rows = self._space.db.execute(sql).fetchall()
        found = [find(self._space.db, channel, ts_of(stamp)) for stamp, channel in rows]
        return [(m.channel, m.ts, b["text"]["text"]) for m in found for _, b in buttons(m.body)]

    def press(self, channel: str, ts: str, label: str, who: str) -> str:
        """Return the ts of the press."""
        asked = {"user": CALLERS[f"xoxp-{who}"].id, "channel": channel, "ts": ts, "label": label}
        stamp = str(press(self._space, asked, "http://slack")["action_ts"])
        self._pressed.append(f"click:{TEAM}:{channel}:{stamp}")
        return stamp

    def _react(self, line: WireInput) -> str:
        on = self._root(line).ts
        args = {"channel": line.channel, "timestamp": on, "name": line.text}
        add(MethodCall(workspace=self._space, caller=CALLERS[f"xoxp-{line.who}"], args=args, origin=""))
        return on

    def _root(self, line: WireInput) -> StoredMessage:
        assert line.root is not None
        return find(self._space.db, line.channel, self._said[line.root])

    def insist(self) -> None:
        """Redeliver unacked events: a stopped daemon may hold them."""
        with self._space.db as db:
            if db.execute(AGAIN).rowcount:
                self._space.courier.wake()
