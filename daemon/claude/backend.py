"""The server behind a base URL, as far as it is known: its list of models, and what each can do there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from daemon.claude.capabilities import ModelCapabilities
from daemon.claude.capability_file import NO_FINDINGS, CapabilityFile, CapabilityFindings, ServedModel
from daemon.claude.model_list import ListedModel, is_possible_window
from daemon.claude.models import is_listed
from daemon.claude.name_check import ModelNameCheck, check_names
from daemon.claude.probes import QUESTIONS, Found
from daemon.claude.server_look_up import UNKNOWN_VERSION, ServerDescription, ServerLookUp

MOST_TRIES = 3
"""Tries of a question whose answer is unclear."""

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class KnownModel:
    """Knowledge of one model at its server; `tries` are those of questions that stayed open."""

    served: ServedModel
    found: CapabilityFindings = NO_FINDINGS
    tries: dict[str, int] = field(default_factory=dict)


class ModelBackend:
    """The models that the settings name, and what their server says of them.

    `named` are the settings that name each model. `changed` is told of a model whose server, window or
    identity is another one than before. Without a look-up there is nothing to know.
    """

    def __init__(self, named: Mapping[str, Sequence[str]] | None = None, kept: CapabilityFile | None = None):
        self._named = dict(named or {})
        self._file = kept or CapabilityFile(None)
        self._look_up: ServerLookUp | None = None
        self._known: dict[str, KnownModel] = {}
        self._changed: Callable[[str], None] | None = None
        self.server: ServerDescription | None = None
        """The newest words of the server; None before it said anything."""
        self.check = ModelNameCheck()

    def connect(self, look_up: ServerLookUp, changed: Callable[[str], None]) -> None:
        """Look up there from now on."""
        self._look_up, self._changed = look_up, changed

    @property
    def has_server(self) -> bool:
        """True if there is a server to ask."""
        return self._look_up is not None

    @property
    def address(self) -> str:
        """Return where the server is; empty where there is none."""
        return self._look_up.address if self._look_up else ""

    @property
    def models(self) -> Sequence[str]:
        """The models that the settings name."""
        return list(self._named)

    @property
    def unlisted_models(self) -> Sequence[str]:
        """The models that are asked what they can do: those without a listed price."""
        return [name for name in self._named if not is_listed(name)]

    def capabilities(self, model: str) -> ModelCapabilities:
        """Return what this model can do, as far as it is known."""
        known = self._known.get(model)
        found = known.found.capabilities if known else ModelCapabilities()
        server = self.server
        if server is None:
            return found
        images = found.images
        if images is None and not is_listed(model):
            images = server.images
        return replace(found, window=self.window(model), slots=server.slots, images=images)

    def window(self, model: str) -> int | None:
        """Return how many tokens the server says that this model takes; None where it says nothing."""
        listed = self._listed(model)
        if listed and listed.believed_window:
            return listed.believed_window
        server = self.server
        if server is None:
            return None
        if model in server.windows:
            return server.windows[model]
        return None if is_listed(model) else is_possible_window(server.window)

    @property
    def odd_windows(self) -> Sequence[str]:
        """Sentences on windows that the server names and that cannot be."""
        found = [(name, self._listed(name)) for name in self._named]
        return [
            f"The server says that {name} takes {one.window:,} tokens, which cannot be: that is not believed."
            for name, one in found
            if one and one.window is not None and one.believed_window is None
        ]

    def _listed(self, model: str) -> ListedModel | None:
        if self.server is None or self.server.models is None:
            return None
        return self.server.models.find(model)

    async def look_up(self) -> None:
        """Ask the server what it is and what it lists. A server that is away is known as it was."""
        if self._look_up is None:
            return
        found = await self._look_up.models()
        if self.unlisted_models:
            found = await self._look_up.details(found)
        before = self.server
        if before and before.models and found.models is None and found.version == UNKNOWN_VERSION:
            self.server = replace(before, why=found.why)
            return
        self._report_change(before, found)
        windows = {model: self.window(model) for model in self.unlisted_models}
        self.server = found
        self.check = check_names(found, self._named)
        for sentence in (*self.check.doubtful, *self.odd_windows):
            if before is None:
                log.warning("%s", sentence)
        for model, window in windows.items():
            self._recognise(model, found)
            if before and self._changed and window != self.window(model):
                self._changed(model)

    def _report_change(self, before: ServerDescription | None, found: ServerDescription) -> None:
        if found.models is None and (before is None or before.why != found.why):
            log.info("%s shows no list of models: %s. Every name is accepted.", found.address, found.why)

    def _recognise(self, model: str, server: ServerDescription) -> None:
        """Begin with what the file has of this model, unless it is the one that was known."""
        listed = self._listed(model)
        mark = listed.mark if listed else ""
        served = ServedModel(address=server.address, model=model, version=server.version, mark=mark)
        known = self._known.get(model)
        if known and known.served == served:
            return
        if known:
            log.info(
                "%s serves another %s than before: what it can do is looked up again.", *_served_names(served)
            )
            if self._changed:
                self._changed(model)
        self._known[model] = KnownModel(served=served, found=self._file.find(served))

    def open_questions(self, model: str) -> Sequence[str]:
        """Return the questions to ask of this model, in order."""
        known = self._known.get(model)
        if known is None:
            return ()
        done = known.found.questions
        return [one for one in QUESTIONS if one not in done and known.tries.get(one, 0) < MOST_TRIES]

    def note_finding(self, model: str, question: str, found: Found | None, now: float) -> None:
        """Note what came of a question (None: it is unclear), and keep it."""
        known = self._known[model]
        if found is None:
            known.tries[question] = known.tries.get(question, 0) + 1
            return
        known.found = CapabilityFindings(
            capabilities=replace(known.found.capabilities, **found),
            questions=known.found.questions | {question},
            at=now,
        )
        self._file.keep(known.served, known.found)

    def note_server_statement(self, model: str, question: str, now: float) -> bool:
        """Note what the server said by itself on a question; return False if the model has to be asked."""
        if question != "images" or self.server is None or self.server.images is None:
            return False
        self.note_finding(model, question, {"images": self.server.images}, now)
        return True

    def looked_up_at(self, model: str) -> float | None:
        """Return when this model was last asked what it can do (Unix seconds)."""
        known = self._known.get(model)
        return known.found.at if known and known.found.questions else None


def _served_names(served: ServedModel) -> tuple[str, str]:
    return served.address, served.model
