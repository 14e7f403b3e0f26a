"""Tour for a first try without a key.

Clicking a stop posts its words, nothing more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from aiohttp import web

from rehearsal.people import ALICE, SOUL
from rehearsal.workspace import RehearsedWorkspace

SAMPLES = "examples"
"""Folder of sample actions and files."""
FILES = f"{SAMPLES}/cafe"
OWNER = ALICE.id
"""Default owner of the soul."""

SAID = """
select 1 from message where json_extract(body, '$.user') = ? and json_extract(body, '$.text') = ? limit 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TourStop:
    """Tour stop: `words` to post at a place (channel name; "": DM), with a `file`.

    `watch` says what to look for; `inner` requires an inner life.
    """

    id: str
    title: str
    words: str
    watch: str
    place: str = ""
    file: str = ""
    inner: bool = False


def sample(name: str) -> Path:
    return Path(__file__).resolve().parent.parent / SAMPLES / name


def stops(name: str) -> Sequence[TourStop]:
    """Return all stops; `name` is the soul's."""
    written = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    found = []
    for id, one in written.items():
        stop = TourStop(id=id, **one)
        found.append(replace(stop, words=stop.words.replace("$name", name)))
    return found


class GuidedTour:
    def __init__(self, workspace: RehearsedWorkspace) -> None:
        self._workspace = workspace
        self._files = {stop.file: sample(stop.file) for stop in stops(workspace.soul) if stop.file}

    def mount(self, router: web.UrlDispatcher) -> None:
        router.add_get("/rehearsal/tour", self.tour)
        router.add_get("/rehearsal/tour/{name}", self.file)

    async def tour(self, _request: web.Request) -> web.Response:
        """Return the owner, and stops with `done`."""
        name = self._workspace.soul
        told = [asdict(stop) | {"done": self._was_said(stop, name)} for stop in stops(name)]
        return web.json_response({"person": OWNER, "stops": told})

    async def file(self, request: web.Request) -> web.StreamResponse:
        path = self._files.get(request.match_info["name"])
        if path is None or not path.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(path)

    def _was_said(self, stop: TourStop, name: str) -> bool:
        text = stop.words.replace(f"@{name}", f"<@{SOUL.user}>")
        return self._workspace.db.execute(SAID, (OWNER, text)).fetchone() is not None
