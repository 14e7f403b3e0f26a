"""The tour: what somebody who has no key may try, in the order of tour.toml, and what to watch for.

The page shows it as chips; whoever clicks one says its words in the rehearsed workspace, no more.
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
"""The folder of samples, in the project: actions, and files to look things up in."""
FILES = f"{SAMPLES}/cafe"
OWNER = ALICE.id
"""Who owns the soul where nobody else does: the first one of whom one posts as."""

SAID = """
select 1 from message where json_extract(body, '$.user') = ? and json_extract(body, '$.text') = ? limit 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TourStop:
    """One thing to try: whoever is `person` says `words` in the place (a channel's name; "": their DM).

    `file` goes with it, `watch` says what to look for. With `inner` it is for a soul that has an inner life.
    """

    id: str
    title: str
    words: str
    watch: str
    place: str = ""
    file: str = ""
    inner: bool = False


def sample(name: str) -> Path:
    """Where the sample file of this name is."""
    return Path(__file__).resolve().parent.parent / SAMPLES / name


def stops(name: str) -> Sequence[TourStop]:
    """All of them, as tour.toml has them; `name` is the soul's."""
    written = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    found = []
    for id, one in written.items():
        stop = TourStop(id=id, **one)
        found.append(replace(stop, words=stop.words.replace("$name", name)))
    return found


class GuidedTour:
    """The stops over one workspace, which knows what was said there."""

    def __init__(self, workspace: RehearsedWorkspace) -> None:
        self._workspace = workspace
        self._files = {stop.file: sample(stop.file) for stop in stops(workspace.soul) if stop.file}

    def mount(self, router: web.UrlDispatcher) -> None:
        """Add the tour, and the files that go with it."""
        router.add_get("/rehearsal/tour", self.tour)
        router.add_get("/rehearsal/tour/{name}", self.file)

    async def tour(self, _request: web.Request) -> web.Response:
        """Who takes it, and each stop with whether its words were said."""
        name = self._workspace.soul
        told = [asdict(stop) | {"done": self._was_said(stop, name)} for stop in stops(name)]
        return web.json_response({"person": OWNER, "stops": told})

    async def file(self, request: web.Request) -> web.StreamResponse:
        """A file that goes with a stop."""
        path = self._files.get(request.match_info["name"])
        if path is None or not path.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(path)

    def _was_said(self, stop: TourStop, name: str) -> bool:
        text = stop.words.replace(f"@{name}", f"<@{SOUL.user}>")
        return self._workspace.db.execute(SAID, (OWNER, text)).fetchone() is not None
