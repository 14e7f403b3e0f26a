"""The server behind a base URL: its model list, version and slots, and its models' capabilities.

Look-ups need no model call and follow no redirects, so the key reaches only the configured address. Findings
are kept in a file without secrets; an unreadable file is replaced.
"""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import httpx2

from daemon.claude.answer_stream import FAILURES, failure_cause
from daemon.claude.capability_probes import QUESTIONS, Found
from daemon.claude.models import LISTED_MODELS, is_listed
from daemon.claude.requests import (
    LEAST_WINDOW,
    UNKNOWN_CAPABILITIES,
    ModelCapabilities,
    capabilities_from,
    is_count,
)
from daemon.settings.home import write_private

LONGEST_NAME = 200


LATEST = ":latest"


DATED = re.compile(r"[-@](?:\d{8}|latest)$")


WINDOW_KEYS = (
    "n_ctx",
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
)
"""Fields for the context window at llama-server, vLLM, LM Studio, OpenRouter and Groq."""


MOST_WINDOW = 100_000_000
"""Largest context window that is believed, in tokens."""


MARKS = ("n_params", "size", "n_vocab", "n_embd", "ftype", "root", "digest")
"""Fields that differ between models of the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model in a server's list; its `window` is what the server says, in tokens.

    `mark`: hash that differs between models of one name.
    """

    name: str
    aliases: tuple[str, ...] = ()
    window: int | None = None
    mark: str = ""

    @property
    def believed_window(self) -> int | None:
        return is_possible_window(self.window)


def is_possible_window(window: int | None) -> int | None:
    """Return `window` if it is believable, else None."""
    if window is not None and LEAST_WINDOW <= window <= MOST_WINDOW:
        return window
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    """Models that a server lists; the list is complete if `is_whole`."""

    models: Sequence[ListedModel] = ()
    is_whole: bool = True
    _by_name: dict[str, ListedModel] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for one in self.models:
            for name in (one.name, *one.aliases):
                for form in _forms(name):
                    self._by_name.setdefault(form, one)

    @property
    def names(self) -> Sequence[str]:
        return list(dict.fromkeys(one.name for one in self.models))

    @property
    def has_claude(self) -> bool:
        """True if the server lists a Claude model with a known price."""
        return any(self.find(one.id) for one in LISTED_MODELS)

    def find(self, name: str) -> ListedModel | None:
        """Return the listed model of this name; `:latest`, a date or the provider may differ."""
        whole, *others = _forms(name)
        if whole in self._by_name:
            return self._by_name[whole]
        for form in others:
            found = self._by_name.get(form)
            if found and any(is_same_model(name, known) for known in (found.name, *found.aliases)):
                return found
        return None


def is_same_model(one: str, other: str) -> bool:
    """True if the names differ only in `:latest`, a date or the provider."""
    first, second = _tagless(one), _tagless(other)
    pairs = [(first, second), (_undated(first), second), (first, _undated(second))]
    return any(a == b or a.endswith(f"/{b}") or b.endswith(f"/{a}") for a, b in pairs)


def _tagless(name: str) -> str:
    return name.strip().removesuffix(LATEST)


def _undated(name: str) -> str:
    return DATED.sub("", name)


def _forms(name: str) -> Sequence[str]:
    bare = _undated(_tagless(name))
    return [name.strip(), bare, bare.rpartition("/")[2]]


def models_in(body: object) -> list[ListedModel] | None:
    """Parse a list of models, under `data` or, from Ollama and Gemini, `models`; return None if there is
    none.
    """
    listings: list[list[Any]] = []
    if isinstance(body, list):
        listings = [body]
    elif isinstance(body, Mapping):
        listings = [body[key] for key in ("data", "models") if isinstance(body.get(key), list)]
    if not listings:
        return None
    return next(filter(None, (_models(listing) for listing in listings)), [])


def _models(listing: Collection[Any]) -> list[ListedModel]:
    return [one for one in map(_model, listing) if one is not None]


def _model(entry: object) -> ListedModel | None:
    if isinstance(entry, str):
        entry = {"id": entry}
    if not isinstance(entry, Mapping):
        return None
    name = next((entry[key] for key in ("id", "name", "model") if _is_name(entry.get(key))), None)
    if name is None:
        return None
    return ListedModel(
        name=name.strip(),
        aliases=_aliases(entry.get("aliases")),
        window=next(_windows(entry), None),
        mark=_mark(entry),
    )


def _aliases(found: object) -> tuple[str, ...]:
    return tuple(filter(_is_name, found)) if isinstance(found, list) else ()


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= LONGEST_NAME and value.strip().isprintable()


def _parts(entry: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    meta = entry.get("meta")
    return [meta, entry] if isinstance(meta, Mapping) else [entry]


def _windows(entry: Mapping[str, Any]) -> Iterator[int]:
    for part in _parts(entry):
        for key in WINDOW_KEYS:
            value = part.get(key)
            if is_count(value) or value == 0:
                yield int(value or 0)


def _mark(entry: Mapping[str, Any]) -> str:
    told = {key: part[key] for part in _parts(entry) for key in MARKS if part.get(key)}
    if not told:
        return ""
    written = json.dumps(told, sort_keys=True, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:12]


MOST_KEPT = 200


MOST_FILE_BYTES = 1_000_000


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """A model on a server; `version` is the server's, `mark` differs between models of one name."""

    address: str
    model: str
    version: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityFindings:
    """Capabilities found by asking `questions`, last at `at` (Unix seconds)."""

    capabilities: ModelCapabilities = UNKNOWN_CAPABILITIES
    questions: frozenset[str] = frozenset()
    at: float = 0.0


NO_FINDINGS = CapabilityFindings()


class CapabilityFile:
    """File of findings at `path`; with None nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def find(self, served: ServedModel) -> CapabilityFindings:
        for row in reversed(self._rows()):
            if _parse_served(row) == served:
                return _parse_findings(row)
        return NO_FINDINGS

    def keep(self, served: ServedModel, found: CapabilityFindings) -> None:
        """Write the findings on this model; a full disk is only logged.

        Nothing is written if the folder is missing, as before the first start.
        """
        if self._path is None or not self._path.parent.is_dir():
            return
        rows = [row for row in self._rows() if _parse_served(row) != served]
        rows.append(_capability_row(served, found))
        text = json.dumps({"models": rows[-MOST_KEPT:]}, ensure_ascii=False, indent=1)
        try:
            write_private(self._path, f"{text}\n")
        except OSError as error:
            log.warning(
                "Could not write %s (%s): the models' capabilities are looked up again at the next start.",
                self._path,
                error.strerror,
            )

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        if self._path is None:
            return ()
        try:
            with self._path.open(encoding="utf-8") as file:
                found = json.loads(file.read(MOST_FILE_BYTES))
        except (OSError, ValueError, RecursionError):
            return ()
        rows = found.get("models") if isinstance(found, dict) else None
        if not isinstance(rows, list):
            return ()
        return [row for row in rows if isinstance(row, dict)]


def _capability_row(served: ServedModel, found: CapabilityFindings) -> Mapping[str, Any]:
    return {
        "address": served.address,
        "model": served.model,
        "server": served.version,
        "mark": served.mark,
        "at": found.at,
        "questions": sorted(found.questions),
        "capabilities": found.capabilities.as_json(),
    }


def _parse_served(row: Mapping[str, Any]) -> ServedModel:
    return ServedModel(
        address=str(row.get("address")),
        model=str(row.get("model")),
        version=str(row.get("server")),
        mark=str(row.get("mark")),
    )


def _parse_findings(row: Mapping[str, Any]) -> CapabilityFindings:
    questions, at = row.get("questions"), row.get("at")
    return CapabilityFindings(
        capabilities=capabilities_from(row.get("capabilities")),
        questions=frozenset(map(str, questions)) if isinstance(questions, list) else frozenset(),
        at=float(at) if isinstance(at, int | float) else 0.0,
    )


MOST_ANSWER_BYTES = 8_000_000
"""Most bytes read of an answer; a list of 10,000 models takes two million."""


PAGE = 1_000


MOST_PAGES = 20


HEADS = {"accept": "application/json"}


UNKNOWN_VERSION = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDescription:
    """A server's description of itself.

    `models`: None without a usable list, for the reason `why`. `version`: the program's. `windows`: context
    windows of loaded models, by name. `images`: accepted by the served model.
    """

    address: str
    models: ModelList | None = None
    why: str = ""
    version: str = UNKNOWN_VERSION
    slots: int | None = None
    window: int | None = None
    images: bool | None = None
    windows: Mapping[str, int] = field(default_factory=dict)


class ServerAnswerMissing(Exception):
    recorded_name = "NoAnswer"


class ServerLookUp:
    """Look-ups at the server `url`, with or without `/v1`; `headers` hold the key."""

    def __init__(self, http: httpx2.AsyncClient, url: str, headers: Mapping[str, str]) -> None:
        self._http = http
        sent = {name: value for name, value in headers.items() if name.lower() != "content-type"}
        self._headers = {**sent, **HEADS}
        self._root = url.rstrip("/").removesuffix("/v1")
        self.address = without_secrets(self._root, headers)

    async def models(self) -> ServerDescription:
        try:
            return ServerDescription(address=self.address, models=await self._list())
        except ServerAnswerMissing as said:
            return ServerDescription(address=self.address, why=str(said))

    async def details(self, server: ServerDescription) -> ServerDescription:
        """Return the description with version, slots, windows and image support."""
        props, ollama, vllm = await asyncio.gather(*map(self._maybe, ("/props", "/api/version", "/version")))
        if "build_info" in props or "total_slots" in props:
            return _llama_server(server, props)
        if isinstance(ollama.get("version"), str):
            loaded = models_in(await self._maybe("/api/ps")) or []
            windows = {one.name: one.believed_window for one in loaded}
            return replace(
                server,
                version=f"Ollama {ollama['version'][:40]}",
                windows={name: window for name, window in windows.items() if window},
            )
        if isinstance(vllm.get("version"), str):
            return replace(server, version=f"vLLM {vllm['version'][:40]}")
        return server

    async def _list(self) -> ModelList:
        found: list[ListedModel] = []
        after = ""
        for _ in range(MOST_PAGES):
            asked = {"limit": PAGE} | ({"after_id": after} if after else {})
            body = await self._ask(f"/v1/models?{urlencode(asked)}")
            page = models_in(body)
            if page is None:
                raise ServerAnswerMissing("it answered with something that is no list of models")
            found += page
            last = body.get("last_id") if isinstance(body, Mapping) else None
            if not (isinstance(body, Mapping) and body.get("has_more") is True) or not page:
                return ModelList(models=found)
            if not isinstance(last, str) or last == after:
                break
            after = last
        return ModelList(models=found, is_whole=False)

    async def _maybe(self, path: str) -> Mapping[str, Any]:
        try:
            body = await self._ask(path)
        except ServerAnswerMissing:
            return {}
        return body if isinstance(body, Mapping) else {}

    async def _ask(self, path: str) -> Any:
        data = bytearray()
        try:
            asked = self._http.stream("GET", self._root + path, headers=self._headers, follow_redirects=False)
            async with asked as response:
                if response.is_redirect:
                    raise ServerAnswerMissing(f"it answered with a redirect (HTTP {response.status_code})")
                if not response.is_success:
                    raise ServerAnswerMissing(f"it answered with HTTP {response.status_code}")
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > MOST_ANSWER_BYTES:
                        raise ServerAnswerMissing(
                            f"its answer is longer than {MOST_ANSWER_BYTES // 1_000_000} MB"
                        )
        except (*FAILURES, OSError) as error:
            raise ServerAnswerMissing(failure_cause(error) or "the connection breaks") from error
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise ServerAnswerMissing("it answered with something that is no JSON") from None


def without_secrets(url: str, headers: Mapping[str, str]) -> str:
    """Return the URL without user, query and the keys in `headers`."""
    parts = urlsplit(url)
    path = parts.path
    for value in headers.values():
        secret = value.rpartition(" ")[2]
        if len(secret) > 3:
            path = path.replace(secret, "…")
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path.rstrip("/"), "", ""))


def _llama_server(server: ServerDescription, props: Mapping[str, Any]) -> ServerDescription:
    build = props.get("build_info")
    settings, modalities = props.get("default_generation_settings"), props.get("modalities")
    window = settings.get("n_ctx") if isinstance(settings, Mapping) else None
    images = modalities.get("vision") if isinstance(modalities, Mapping) else None
    slots = props.get("total_slots")
    return replace(
        server,
        version=f"llama-server {build[:40]}" if isinstance(build, str) and build else "llama-server",
        slots=slots if is_count(slots) else None,
        window=window if is_count(window) else None,
        images=images if isinstance(images, bool) else None,
    )


MOST_SHOWN = 5


LONGEST_SHOWN = 80


LIKE = 0.5
"""Least similarity (0 to 1) at which a name is shown first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNameCheck:
    """Sentences for an owner: `wrong` names prevent the start, `doubtful` models may be missing."""

    wrong: Sequence[str] = ()
    doubtful: Sequence[str] = ()


def check_names(server: ServerDescription, settings: Mapping[str, Sequence[str]]) -> ModelNameCheck:
    """Compare the server's list with `settings`: the keys of settings by model name.

    Without a complete list every name is accepted.
    """
    models = server.models
    if models is None or not models.models or not models.is_whole:
        return ModelNameCheck()
    missing = {name: keys for name, keys in settings.items() if not models.find(name)}
    if not missing:
        return ModelNameCheck()
    if models.has_claude:
        doubtful = {name: keys for name, keys in missing.items() if is_listed(name)}
        wrong = {name: keys for name, keys in missing.items() if not is_listed(name)}
    else:
        doubtful, wrong = {}, missing
    return ModelNameCheck(
        wrong=[*_fatal_sentences(server.address, models, wrong)],
        doubtful=[_doubtful_sentences(server.address, models, name, keys) for name, keys in doubtful.items()],
    )


def _fatal_sentences(address: str, models: ModelList, missing: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name, keys in missing.items():
        first = keys[0] if keys else "CLAUDE_MODEL"
        there = f"{address} has no model {_shortened_name(name)} ({' and '.join(keys) or first})"
        if is_listed(name):
            there += ", and none of Claude's, so nobody could tell what its answers cost"
        best = _closest(models.names, name)
        yield (
            f"{there}. Its list names {sample_names(models.names, name)}. Write one of them into .env, like"
            f" {first}={best}{_price_hint(best)}."
        )


def _price_hint(name: str) -> str:
    if is_listed(name):
        return ""
    return f", and what it costs, like MODEL_PRICES={name}=free"


def _doubtful_sentences(address: str, models: ModelList, name: str, keys: Sequence[str]) -> str:
    return (
        f"{address} does not list {_shortened_name(name)} ({' and '.join(keys)}), so calls of it may fail."
        f" Its list names {sample_names(models.names, name)}."
    )


def sample_names(names: Sequence[str], like: str = "") -> str:
    """Return some names as text, those similar to `like` first, and the number of further names."""
    best = difflib.get_close_matches(like, names, MOST_SHOWN, LIKE) if like else []
    shown = list(dict.fromkeys([*best, *names]))[:MOST_SHOWN]
    said = ", ".join(map(_shortened_name, shown))
    more = len(names) - len(shown)
    if more > 0:
        said += f" and {more:,} more"
    return said


def _closest(names: Sequence[str], like: str) -> str:
    [best, *_] = [*difflib.get_close_matches(like, names, 1, LIKE), *names]
    return _shortened_name(best)


def _shortened_name(name: str) -> str:
    if len(name) > LONGEST_SHOWN:
        return f"{name[: LONGEST_SHOWN - 1]}…"
    return name


MOST_TRIES = 3


@dataclass(slots=True, kw_only=True)
class KnownModel:
    served: ServedModel
    found: CapabilityFindings = NO_FINDINGS
    tries: dict[str, int] = field(default_factory=dict)


class ModelBackend:
    """The configured models and their server; `named` has the keys of settings by model name."""

    def __init__(self, named: Mapping[str, Sequence[str]] | None = None, kept: CapabilityFile | None = None):
        self._named = dict(named or {})
        self._file = kept or CapabilityFile(None)
        self._look_up: ServerLookUp | None = None
        self._known: dict[str, KnownModel] = {}
        self._changed: Callable[[str], None] | None = None
        self.server: ServerDescription | None = None
        """Newest description of the server; None before its first answer."""
        self.check = ModelNameCheck()

    def connect(self, look_up: ServerLookUp, changed: Callable[[str], None]) -> None:
        """Use this look-up; call `changed` with each model that the server exchanges."""
        self._look_up, self._changed = look_up, changed

    @property
    def has_server(self) -> bool:
        return self._look_up is not None

    @property
    def address(self) -> str:
        """Address of the server; empty without one."""
        return self._look_up.address if self._look_up else ""

    @property
    def models(self) -> Sequence[str]:
        return list(self._named)

    @property
    def unlisted_models(self) -> Sequence[str]:
        """Configured models without a listed price; only these are probed."""
        return [name for name in self._named if not is_listed(name)]

    def capabilities(self, model: str) -> ModelCapabilities:
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
        """Return the context window in tokens, as the server says; None if unknown."""
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
        """Ask the server for its description; keep the old one if the server is unreachable."""
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
            log.info(
                "%s has no usable list of models: %s. Every model name is accepted.", found.address, found.why
            )

    def _recognise(self, model: str, server: ServerDescription) -> None:
        listed = self._listed(model)
        mark = listed.mark if listed else ""
        served = ServedModel(address=server.address, model=model, version=server.version, mark=mark)
        known = self._known.get(model)
        if known and known.served == served:
            return
        if known:
            log.info(
                "%s now serves another model as %s: its capabilities are looked up again.",
                served.address,
                served.model,
            )
            if self._changed:
                self._changed(model)
        self._known[model] = KnownModel(served=served, found=self._file.find(served))

    def open_questions(self, model: str) -> Sequence[str]:
        known = self._known.get(model)
        if known is None:
            return ()
        done = known.found.questions
        return [one for one in QUESTIONS if one not in done and known.tries.get(one, 0) < MOST_TRIES]

    def note_finding(self, model: str, question: str, found: Found | None, now: float) -> None:
        """Keep the capabilities that a question found; None counts as a failed try."""
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
        """Answer a question from the server's description; return False if impossible."""
        if question != "images" or self.server is None or self.server.images is None:
            return False
        self.note_finding(model, question, {"images": self.server.images}, now)
        return True

    def looked_up_at(self, model: str) -> float | None:
        """Return the time of the newest finding (Unix seconds)."""
        known = self._known.get(model)
        return known.found.at if known and known.found.questions else None
