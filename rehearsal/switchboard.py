"""Switches of the faults, one board each for Slack and Claude.

`GET /rehearsal/faults` returns {"ok": true, "faults": […]}. POST takes {"name": …, "on": true, …} with
parameters, {"name": …, "on": false}, or {"on": false} for all, and returns the same.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from aiohttp import web

from rehearsal.faults import FaultParameter, InjectedFault, Value
from rehearsal.wire import json_object

TARGETS = ("method", "model", "scope")
"""Parameters that select targets."""


class UnknownFault(ValueError):
    """Invalid fault, parameter or value; the text is shown to the client."""


@dataclass(slots=True, kw_only=True)
class ActiveFault:
    values: Mapping[str, Value]
    chance: random.Random
    strikes: int = 0

    @property
    def spent(self) -> bool:
        """True if it struck the maximum number of times."""
        return 0 < float(self.values.get("times", 0)) <= self.strikes


class FaultSwitchboard:
    """Switches of a table of faults, initially off. `of` names its target."""

    def __init__(self, of: str, table: Sequence[InjectedFault]) -> None:
        self._of = of
        self._table = {fault.name: fault for fault in table}
        self._on: dict[str, ActiveFault] = {}
        self._heeds: list[Callable[[str, Mapping[str, Value]], None]] = []
        self._changed = asyncio.Event()

    def knows(self, name: str) -> bool:
        return name in self._table

    def heed(self, heed: Callable[[str, Mapping[str, Value]], None]) -> None:
        """Call a function after each switch, with the fault's name and parameters."""
        self._heeds.append(heed)

    def switch(self, name: str, /, on: bool = True, **told: Value) -> None:
        """Switch a fault on or off, or trigger it once; `told` overrides default parameters.

        Raises UnknownFault.
        """
        fault = self._table.get(name)
        if fault is None:
            raise UnknownFault(f"There is no fault {name!r}. GET /rehearsal/faults names them all.")
        values = {}
        for param in fault.params:
            values[param.name] = _checked(param, told.pop(param.name, param.default))
        if told:
            known = ", ".join(values) or "nothing"
            raise UnknownFault(f"{name} cannot be told {', '.join(map(repr, told))}, only {known}.")
        if not on and fault.once:
            raise UnknownFault(f"{name} happens once: there is nothing to switch off.")
        self._on.pop(name, None)
        if on and not fault.once:
            self._on[name] = ActiveFault(values=values, chance=random.Random(f"{name} {values.get('seed')}"))
        self._tell(name, values)

    def all_off(self) -> None:
        for name in list(self._on):
            self.switch(name, on=False)

    def on(self, name: str) -> Mapping[str, Value] | None:
        """Return a fault's parameters if it is on."""
        switched = self._on.get(name)
        return switched.values if switched else None

    def strikes(self, name: str, target: str = "") -> Mapping[str, Value] | None:
        """Return a fault's parameters if it strikes now; call once per occasion."""
        switched = self._on.get(name)
        if switched is None or switched.spent or not _meant(switched.values, target):
            return None
        if switched.chance.random() >= float(switched.values.get("chance", 1)):
            return None
        switched.strikes += 1
        return switched.values

    async def over(self, name: str) -> None:
        """Wait until a fault is off."""
        while name in self._on:
            await self._changed.wait()

    def json(self) -> list[dict[str, Any]]:
        """Return the table and its switches for the page."""
        return [self._shown(fault) for fault in self._table.values()]

    def _shown(self, fault: InjectedFault) -> dict[str, Any]:
        shown = {"name": fault.name, "of": self._of, "line": fault.line, "once": fault.once}
        switched = self._on.get(fault.name)
        if switched is None:
            return shown | {"on": False, "strikes": 0, "params": _shown_params(fault, {})}
        params = _shown_params(fault, switched.values)
        return shown | {"on": True, "strikes": switched.strikes, "params": params}

    def _tell(self, name: str, values: Mapping[str, Value]) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        for heed in self._heeds:
            heed(name, values)


def _shown_params(fault: InjectedFault, told: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [asdict(param) | {"value": told.get(param.name, param.default)} for param in fault.params]


def _meant(values: Mapping[str, Value], target: str) -> bool:
    return all(fnmatchcase(target, str(values.get(name, "*"))) for name in TARGETS)


def _checked(param: FaultParameter, value: object) -> Value:
    """Return a valid value. Raises UnknownFault."""
    if isinstance(param.default, str):
        if isinstance(value, str) and value and value in (param.of or (value,)):
            return value
        raise UnknownFault(f"{param.name} is {' or '.join(param.of) or 'a text'}, not {value!r}.")
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= param.most:
        return float(value)
    raise UnknownFault(f"{param.name} is a number from 0 to {param.most:g}, not {value!r}.")


BOARDS = web.AppKey("faults", list[FaultSwitchboard])


def expose(app: web.Application, board: FaultSwitchboard) -> None:
    """Add a board to this application."""
    if BOARDS not in app:
        app[BOARDS] = []
        app.router.add_get("/rehearsal/faults", _look)
        app.router.add_post("/rehearsal/faults", _switch)
        app.on_shutdown.append(_end)
    app[BOARDS].append(board)


async def _look(request: web.Request) -> web.Response:
    faults: list[dict[str, Any]] = []
    for board in request.app[BOARDS]:
        faults += board.json()
    return web.json_response({"ok": True, "faults": faults})


async def _end(app: web.Application) -> None:
    """Release waiting requests, which would block the shutdown."""
    for board in app[BOARDS]:
        board.all_off()


async def _switch(request: web.Request) -> web.Response:
    try:
        asked = await json_object(request)
        if asked is None:
            raise UnknownFault('A JSON object is wanted, like {"name": "delay", "on": true, "seconds": 5}.')
        _follow(request.app[BOARDS], asked)
    except UnknownFault as nonsense:
        return web.json_response({"ok": False, "error": str(nonsense)}, status=400)
    return await _look(request)


def _follow(boards: list[FaultSwitchboard], asked: dict[str, Any]) -> None:
    on = asked.pop("on", True)
    if not isinstance(on, bool):
        raise UnknownFault(f"on is true or false, not {on!r}.")
    if not asked and not on:
        for board in boards:
            board.all_off()
        return
    name = str(asked.pop("name", None))
    board = next((board for board in boards if board.knows(name)), boards[0])
    board.switch(name, on, **asked)
