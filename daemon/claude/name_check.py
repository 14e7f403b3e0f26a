"""The models that the settings name against the server's list: sentences on those that it lacks. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from daemon.claude.model_list import ModelList
from daemon.claude.models import is_listed
from daemon.claude.server_look_up import ServerDescription

MOST_SHOWN = 5
"""Names of a server's list that are shown."""
LONGEST_SHOWN = 80
"""Characters of such a name that are shown."""
LIKE = 0.5
"""Likeness (0 to 1) from which a name is shown first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNameCheck:
    """Sentences for an owner: on models with which no start is possible, and on those that may be missing."""

    wrong: Sequence[str] = ()
    doubtful: Sequence[str] = ()


def check_names(server: ServerDescription, settings: Mapping[str, Sequence[str]]) -> ModelNameCheck:
    """Compare a server's list with the models that the settings name, which are given by model.

    Without a list, or with an empty one or a part of one, every name is accepted.
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
    """Return some of these names, those first that are like the one that was meant, and how many there are
    besides."""
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
