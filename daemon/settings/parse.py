"""Parsers of settings; detection of unknown names.

A parser raises ValueError with the end of a sentence that begins with the setting's name. No error shows a
value: it may be a misplaced secret.
"""

from __future__ import annotations

import ipaddress
import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from dotenv.parser import parse_stream

from daemon.settings.limits import (
    FREE_PRICE,
    MOST_SLOTS,
    SLOT,
    AllowedProgram,
    AllowedPrograms,
    Limits,
    ModelPrice,
    make_price,
)


class ConfigError(Exception):
    """Faulty settings, for the owner: a line for each key. The daemon exits with 78."""

    recorded_name = "ConfigError"


T = TypeVar("T")

SECRETS = ("xoxb-", "xoxp-", "xoxe", "xapp-", "sk-", "gsk_", "xai-", "AIza")
"""Prefixes of known secrets, the only part of a value that errors show."""

UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters forbidden in request headers."""

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

LONGEST = 100 * 366 * UNITS["d"]
"""Longest duration in seconds: its end must be a valid date."""

ENTRY = re.compile(r"""(?:[^;'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""", re.DOTALL)
"""A program in the list: text up to a semicolon that is not quoted or escaped."""

CLASS = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*[.:][^\W\d]\w*(?:\.[^\W\d]\w*)*")
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def unlike_message(text: str, wanted: str) -> str:
    """Return an error text: what was `wanted`, and the length of the value found or a secret's prefix."""
    kind = _secret_prefix(text)
    if kind:
        return f"is a secret that begins with {kind}, not {wanted}"
    return f"is not {wanted} (it has {len(text)} characters)"


def _secret_prefix(text: str) -> str:
    for prefix in SECRETS:
        if text.startswith(prefix):
            return prefix
    return ""


def read_name(text: str) -> str:
    """Parse a display name; refuse a secret."""
    if text.startswith(SECRETS):
        raise ValueError(unlike_message(text, "a name"))
    return text


def read_names(text: str) -> tuple[str, ...]:
    found = _comma_parts(text)
    if not found:
        raise ValueError("holds no name")
    return tuple(map(read_name, found))


def read_secret(text: str) -> str:
    """Parse a secret; line breaks are invalid in request headers."""
    if UNSENDABLE.search(text):
        raise ValueError("holds a line break or another character that cannot be sent")
    return text


def token_reader(kind: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not text.startswith(kind):
            fault = f"does not begin with {kind}"
            other = _secret_prefix(text)
            if other:
                fault += f", it begins with {other}"
            raise ValueError(fault)
        return read_secret(text)

    return read


def password_reader(least: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if len(text) < least:
            raise ValueError(f"is shorter than {least} characters, so that others could guess it")
        return read_secret(text)

    return read


def read_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise ValueError(unlike_message(text, "an http:// or https:// URL"))
    if "@" in parts.netloc:
        raise ValueError("holds a user or a password, which nothing sends: leave them out")
    return text


def read_model_url(text: str) -> str:
    """Parse the URL of a Messages API; /v1 is an error, since the SDK adds it."""
    if re.search("/v1(/messages)?/*$", urlsplit(read_url(text)).path):
        raise ValueError("ends with /v1, and the SDK adds /v1/messages to it by itself")
    return text


def read_chat_url(text: str) -> str:
    """Parse the URL of a chat completions API, with or without /v1."""
    return re.sub(r"(/chat/completions)?/*$", "", read_url(text))


def needs_key(text: str) -> bool:
    """True if the server needs a key: https on another machine."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme == "https" and not is_loopback(parts.hostname or "")


def read_port(text: str) -> int:
    """Parse a TCP port; 0 is any free one."""
    if not re.fullmatch("[0-9]{1,5}", text) or int(text) > 65535:
        raise ValueError(unlike_message(text, "a port"))
    return int(text)


def read_dollars(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount >= 0):
        raise ValueError(unlike_message(text, "an amount of dollars"))
    return amount


def read_folder(text: str) -> Path:
    """Parse a folder, which need not exist."""
    try:
        path = Path(read_name(text)).expanduser()
    except RuntimeError:
        raise ValueError("begins with ~, and there is no such user") from None
    try:
        if path.exists() and not path.is_dir():
            raise ValueError("names a file, not a folder")
    except OSError as error:
        raise ValueError(f"names what cannot be looked at ({error.strerror})") from None
    return path


def read_file(text: str) -> Path:
    """Parse the path of a file, which may be missing; its reader says so."""
    try:
        return Path(read_name(text)).expanduser()
    except RuntimeError:
        raise ValueError("begins with ~, and there is no such user") from None


def read_folders(text: str) -> tuple[Path, ...]:
    """Parse existing folders, separated by commas."""
    found = dict.fromkeys(map(read_folder, _comma_parts(text)))
    for place, path in enumerate(found, 1):
        if not path.is_dir():
            raise ValueError(f"names a folder that does not exist (number {place} of {len(found)})")
    return tuple(found)


def _comma_parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def ids_reader(initials: str) -> Callable[[str], frozenset[str]]:
    """Return a parser of comma-separated Slack ids with these initials."""

    def read(text: str) -> frozenset[str]:
        found = _comma_parts(text)
        for place, one in enumerate(found, 1):
            if not re.fullmatch(f"[{initials}][A-Z0-9]+", one):
                where = f"number {place} of {len(found)}"
                raise ValueError(f"holds what is not the id of the kind that is meant here ({where})")
        return frozenset(found)

    return read


def count_reader(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise ValueError(unlike_message(text, f"a number from {least} to {most}"))
        return int(text)

    return read


def one_of_reader(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(unlike_message(text, " or ".join(choices)))
        return text.lower()

    return read


def one_of_or_class_reader(*choices: str) -> Callable[[str], str]:
    """Return a parser of one of these words or of a class: package.module.Class, package.module:Class."""

    def read(text: str) -> str:
        if text.lower() in choices:
            return text.lower()
        if not CLASS.fullmatch(text):
            raise ValueError(unlike_message(text, f"{' or '.join(choices)}, nor the dotted name of a class"))
        return text

    return read


def read_duration(text: str) -> float:
    """Parse a duration like 90s, 30m, 24h or 7d into seconds."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if not found:
        raise ValueError(unlike_message(text, "a number with a unit of time"))
    span = float(found[1]) * UNITS[found[2]]
    if span > LONGEST:
        raise ValueError("is longer than a hundred years")
    return span


def read_seconds(text: str) -> float:
    """Parse seconds without a unit, or a duration."""
    return float(text) if re.fullmatch(r"[0-9]{1,9}", text) else read_duration(text)


def span_reader(least: float, most: float) -> Callable[[str], float]:
    """Return a parser of durations from `least` to `most` seconds."""

    def read(text: str) -> float:
        found = read_seconds(text)
        if not least <= found <= most:
            raise ValueError(f"is not between {least:g} and {most:g} seconds")
        return found

    return read


def read_truth(text: str) -> bool:
    if text.lower() not in TRUTH:
        raise ValueError(unlike_message(text, "true or false"))
    return TRUTH[text.lower()]


def read_only_true(text: str) -> bool:
    """True for the word true in any case, as in the ISM seed."""
    return text.lower() == "true"


def limits_reader(usual: Limits) -> Callable[[str], Limits]:
    """Return a parser of limits like `calls=30 usd=0.50 time=10m tools=30`; missing ones are `usual`.

    `usd=none` removes a limit, `none` all.
    """

    def read(text: str) -> Limits:
        if text.lower() == "none":
            return Limits()
        bounds: dict[str, Any] = dict(map(_read_bound, text.split()))
        return replace(usual, **bounds)

    return read


def _read_bound(part: str) -> tuple[str, float | None]:
    word, _, amount = part.partition("=")
    if word not in BOUNDS:
        raise ValueError("holds a part that is not calls=…, tokens=…, usd=…, time=… or tools=…")
    field, read = BOUNDS[word]
    if amount.lower() == "none":
        return field, None
    try:
        found = read(amount)
    except ValueError as error:
        raise ValueError(f"sets {word}, which {error}") from None
    if not found:
        raise ValueError(f"sets {word} to nothing at all")
    return field, found


def _number(text: str) -> int:
    return count_reader(1, 999_999_999)(text)


BOUNDS: Mapping[str, tuple[str, Callable[[str], float]]] = {
    "calls": ("calls", _number),
    "tokens": ("tokens", _number),
    "usd": ("usd", read_dollars),
    "time": ("seconds", read_duration),
    "tools": ("tools", _number),
}

FREE = "free"

AMOUNTS = (2, 3)
"""Numbers of amounts in a price; the third, for cache reads, defaults to the first."""

WINDOW_TOKENS = (4_000, 100_000_000)


def read_prices(text: str) -> tuple[tuple[str, ModelPrice], ...]:
    """Parse prices `NAME=INPUT/OUTPUT/CACHED` or `NAME=free`, separated by commas."""
    return _read_by_model(text, _read_price)


def read_windows(text: str) -> tuple[tuple[str, int], ...]:
    """Parse context windows `NAME=TOKENS`; the default has the name ""."""
    return _read_by_model(text, count_reader(*WINDOW_TOKENS), default=True)


def _read_by_model(
    text: str, read: Callable[[str], T], *, default: bool = False
) -> tuple[tuple[str, T], ...]:
    parts = _comma_parts(text)
    found: dict[str, T] = {}
    for place, part in enumerate(parts, 1):
        model, equals, value = part.rpartition("=")
        model = read_name(model.strip())
        try:
            if bool(equals) != bool(model) or not (model or default):
                raise ValueError("has no name of a model before its =")
            if model in found:
                raise ValueError("stands for the same as another one")
            found[model] = read(value.strip())
        except ValueError as error:
            raise ValueError(f"holds an entry that {error} (number {place} of {len(parts)})") from None
    if not found:
        raise ValueError("holds nothing")
    return tuple(found.items())


def _read_price(text: str) -> ModelPrice:
    if text.lower() == FREE:
        return FREE_PRICE
    amounts = text.split("/")
    if len(amounts) not in AMOUNTS:
        raise ValueError("is neither free nor INPUT/OUTPUT/CACHED")
    paid = [read_dollars(amount.strip()) for amount in amounts]
    paid.append(paid[0])
    return make_price(*paid[: AMOUNTS[-1]])


OWN_PROGRAMS = ("think", "read")
"""Names of the soul's own programs, which the owner's cannot have."""


def read_allowed_programs(text: str) -> AllowedPrograms:
    """Parse programs `name=program argument {slot}`, separated by semicolons.

    Quoting is a shell's, but no shell runs.
    """
    entries = _semicolon_entries(text)
    found: dict[str, AllowedProgram] = {}
    for place, entry in enumerate(entries, 1):
        try:
            name, recipe = _read_program(entry)
            if name in found:
                raise ValueError("has a name that was there before")
            if name in OWN_PROGRAMS:
                raise ValueError("has a name of the soul's own processes")
        except ValueError as error:
            raise ValueError(f"holds an entry that {error} (number {place} of {len(entries)})") from None
        found[name] = recipe
    return AllowedPrograms(found)


def _semicolon_entries(text: str) -> list[str]:
    if ENTRY.sub("", text).strip(";"):
        raise ValueError("holds a quotation mark that is not closed, or ends with a backslash")
    return [entry.strip() for entry in ENTRY.findall(text) if entry.strip()]


def _read_program(entry: str) -> tuple[str, AllowedProgram]:
    name, equals, command = entry.partition("=")
    if not equals:
        raise ValueError(unlike_message(entry, "name=program"))
    if not re.fullmatch("[a-z][a-z0-9-]*", name.strip()):
        raise ValueError("has no name of small letters, digits and hyphens before its =")
    recipe = AllowedProgram(argv=tuple(shlex.split(command)))
    if not recipe.argv or not recipe.program:
        raise ValueError("names no program after its =")
    if SLOT.search(recipe.program):
        raise ValueError("has a slot where its program should stand")
    if "/" in recipe.program and not recipe.program.startswith("/"):
        raise ValueError("names its program by a path that does not begin with /")
    if recipe.has_partial_slot:
        raise ValueError("has a slot within an argument; write it as one of its own, as in ls {place}")
    if recipe.runs_slot:
        raise ValueError(
            "has a slot that its program may run as code or as a command; name a script of yours as the"
            " program, or write it as in sh -c 'ls \"$1\"' sh {place}"
        )
    if len(recipe.slots) > MOST_SLOTS:
        raise ValueError(f"has more than {MOST_SLOTS} slots")
    return name.strip(), recipe


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


ALIKE = 0.8
"""Least similarity of a misspelled name, up to 1."""

SETTING_NAME = re.compile("[A-Z][A-Z0-9_]{0,40}", re.IGNORECASE)
"""Form of a setting's name; other texts may be secrets."""

WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownSetting:
    """Unknown name, its place, and the setting probably meant."""

    name: str
    place: str
    meant: str = ""

    def __str__(self) -> str:
        if self.meant:
            return f"{self.name} in {self.place} is read by nobody: is it {self.meant}?"
        named = self.name if SETTING_NAME.fullmatch(self.name) else "A line that is no name"
        return f"{named} in {self.place} is read by nobody; .env.example lists what is."


def unknown_settings(
    written: Iterable[str], environ: Iterable[str], known: Collection[str]
) -> Iterator[UnknownSetting]:
    """Yield unknown names in `.env`, and those in the environment that resemble a setting."""
    there = {*environ}
    for name in written:
        if name not in known and name not in there:
            yield UnknownSetting(name=name, place=".env", meant=closest_name(name, known))
    families = tuple(f"{one.partition('_')[0]}_" for one in known if "_" in one)
    for name in sorted(there):
        meant = closest_name(name, known)
        if meant and name not in known and name.upper().startswith(families):
            yield UnknownSetting(name=name, place="the environment", meant=meant)


def malformed_lines(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each invalid line of `.env`.

    It shows only a known name: the rest may be secret.
    """
    for line in parse_stream(StringIO(text)):
        if line.error:
            name = next(iter(WORD.findall(line.original.string)), "")
            of = f" ({name})" if name in known else ""
            yield (
                f"Line {line.original.line}{of} of .env sets nothing. Write NAME=value, and close each quote,"
                " or begin it with #."
            )


def closest_name(name: str, known: Collection[str]) -> str:
    """Return the most similar name, or an empty text."""
    return next(iter(get_close_matches(name.upper(), known, 1, ALIKE)), "")
