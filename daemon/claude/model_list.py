"""A server's list of models, as `GET /v1/models` tells it: names, and windows where it names them.

Servers differ: Anthropic, OpenAI and most others put them into `data`, Ollama and Gemini into `models`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.claude.capabilities import is_count
from daemon.claude.models import LISTED_MODELS

LONGEST_NAME = 200
"""Characters of a model's name; what is longer is none, nor what has other lines or control characters."""
LATEST = ":latest"
DATED = re.compile(r"[-@](?:\d{8}|latest)$")
"""The end of a name that says of which day the model is."""
WINDOW_KEYS = (
    "n_ctx",
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
)
"""Fields with the tokens that a model takes: llama-server, vLLM, LM Studio, OpenRouter, Groq."""
LEAST_WINDOW, MOST_WINDOW = 1_000, 100_000_000
"""Tokens; a server that names another number is not believed."""
MARKS = ("n_params", "size", "n_vocab", "n_embd", "ftype", "root", "digest")
"""Fields of a model that change where another one is served under its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model in a server's list. `window` is what the server says, believed or not; `mark` stands for what
    tells it from another model that is served under the same name."""

    name: str
    aliases: tuple[str, ...] = ()
    window: int | None = None
    mark: str = ""

    @property
    def believed_window(self) -> int | None:
        """The window, if it can be one."""
        return is_possible_window(self.window)


def is_possible_window(window: int | None) -> int | None:
    """Return this number of tokens if it can be a window."""
    if window is not None and LEAST_WINDOW <= window <= MOST_WINDOW:
        return window
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    """The models that a server names. Not `is_whole`: there are more."""

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
        """The names, in the server's order, each once."""
        return list(dict.fromkeys(one.name for one in self.models))

    @property
    def has_claude(self) -> bool:
        """True if a model of the price list is in it."""
        return any(self.find(one.id) for one in LISTED_MODELS)

    def find(self, name: str) -> ListedModel | None:
        """Return the model of this name, with or without `:latest`, a date, or a provider's prefix."""
        whole, *others = _forms(name)
        if whole in self._by_name:
            return self._by_name[whole]
        for form in others:
            found = self._by_name.get(form)
            if found and any(is_same_model(name, known) for known in (found.name, *found.aliases)):
                return found
        return None


def is_same_model(one: str, other: str) -> bool:
    """True if these names differ in no more than `:latest`, a date, or a provider's prefix."""
    first, second = _tagless(one), _tagless(other)
    pairs = [(first, second), (_undated(first), second), (first, _undated(second))]
    return any(a == b or a.endswith(f"/{b}") or b.endswith(f"/{a}") for a, b in pairs)


def _tagless(name: str) -> str:
    return name.strip().removesuffix(LATEST)


def _undated(name: str) -> str:
    return DATED.sub("", name)


def _forms(name: str) -> Sequence[str]:
    """The name itself first, then the forms under which it is looked for."""
    bare = _undated(_tagless(name))
    return [name.strip(), bare, bare.rpartition("/")[2]]


def models_in(body: object) -> list[ListedModel] | None:
    """Return the models in an answer's JSON; None where it is no list of models."""
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
    """Return the fields that a server gives a model; those of llama-server in `meta` come first."""
    meta = entry.get("meta")
    return [meta, entry] if isinstance(meta, Mapping) else [entry]


def _windows(entry: Mapping[str, Any]) -> Iterator[int]:
    for part in _parts(entry):
        for key in WINDOW_KEYS:
            value = part.get(key)
            if is_count(value) or value == 0:
                yield int(value or 0)


def _mark(entry: Mapping[str, Any]) -> str:
    """A few letters that stand for which model this is; empty where the server says nothing of it."""
    told = {key: part[key] for part in _parts(entry) for key in MARKS if part.get(key)}
    if not told:
        return ""
    written = json.dumps(told, sort_keys=True, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:12]
