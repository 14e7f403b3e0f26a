"""Values of mcp.json: types, durations, globs, approvers and channels.

A reader takes a value of JSON and raises ValueError with the end of a sentence that begins with the key. No
error shows a value: it may be a misplaced secret.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from types import NoneType
from typing import Any, cast

from daemon.settings.mcp_servers import APPROVE_WRITES, DIRECT_MESSAGES, ApprovalRule
from daemon.settings.mcp_variables import shown_name
from daemon.settings.parse import UNITS, read_seconds

LONGEST_TEXT = 10_000
"""Most characters of a text, such as a URL, an argument or a header."""

LONGEST_KEY = 40
"""Most characters of a key that is compared with the known ones."""

MOST_ITEMS = 200
"""Most items of a list, or keys of an object."""

SHORTEST_TIMEOUT, LONGEST_TIMEOUT = 1, UNITS["d"]
"""Range of a timeout, in seconds."""

APPROVER = re.compile("owner|asker|S[A-Z0-9]{5,}")
CHANNEL = re.compile(r"[^\s#@<>,:A-Z]{1,80}|[CDG][A-Z0-9]{5,}")
RULES: Sequence[ApprovalRule] = ("writes", "always", "never")

KINDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    NoneType: "null",
}


class ConfigObject(dict[str, Any]):
    """JSON object; `doubled` are the keys that stand in it more than once."""

    doubled: Sequence[str] = ()

    @classmethod
    def from_pairs(cls, pairs: Sequence[tuple[str, Any]]) -> ConfigObject:
        made = cls(pairs)
        if len(made) < len(pairs):
            times = Counter(name for name, _ in pairs)
            made.doubled = [name for name in made if times[name] > 1]
        return made


def unlike_kind(value: object, wanted: str) -> ValueError:
    return ValueError(f"is {KINDS[_kind(value)]}, and {wanted} belongs there")


def _kind(value: object) -> type:
    return dict if isinstance(value, dict) else type(value)


def read_text(value: object) -> str:
    """Read a text that is not empty and can be handed to a program."""
    text = read_any_text(value)
    if not text.strip():
        raise ValueError("is empty: write a text, or leave the key out")
    return text


def read_any_text(value: object) -> str:
    """Read a text, which may be empty, and can be handed to a program."""
    if isinstance(value, int | float):
        raise ValueError(f"is {KINDS[type(value)]}, and a text belongs there: put it into quotes")
    if not isinstance(value, str):
        raise unlike_kind(value, "a text")
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"is longer than {LONGEST_TEXT:,} characters: shorten it")
    if "\0" in value:
        raise ValueError("holds a NUL, which no program takes: leave it out")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a character (a surrogate without its pair): write it whole") from None
    return value


def read_truth_value(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"is {KINDS[_kind(value)]}: write true or false, without quotes")
    return value


def read_object(value: object) -> ConfigObject:
    if not isinstance(value, ConfigObject):
        raise unlike_kind(value, "an object {…}")
    if value.doubled:
        raise ValueError(f"holds {shown_name(value.doubled[0])} twice: take one of them away")
    if len(value) > MOST_ITEMS:
        raise ValueError(f"has more than {MOST_ITEMS} keys: take some away")
    return value


def read_list(value: object, read: Callable[[object], str], example: str) -> tuple[str, ...]:
    """Read a list; a fault of an item names its place."""
    if not isinstance(value, list):
        raise ValueError(f"is {KINDS[_kind(value)]}, and a list belongs there: write it like {example}")
    if len(value) > MOST_ITEMS:
        raise ValueError(f"has more than {MOST_ITEMS} items: take some away")
    found = []
    for place, item in enumerate(value, 1):
        try:
            found.append(read(item))
        except ValueError as error:
            raise ValueError(f"has an item that {error} (number {place} of {len(value)})") from None
    return tuple(found)


def read_arguments(value: object) -> tuple[str, ...]:
    return read_list(value, read_any_text, '["--flag", "value"]')


def read_globs(value: object) -> tuple[str, ...]:
    return read_list(value, read_text, '["get_*"]')


def read_timeout(value: object) -> float:
    """Read a duration like "90s", or a number of seconds."""
    span: float
    if isinstance(value, str):
        span = read_seconds(value.strip())
    elif isinstance(value, int | float) and not isinstance(value, bool):
        span = value
    else:
        raise ValueError(f'is {KINDS[_kind(value)]}: write it like "90s", "5m" or "1h"')
    if not SHORTEST_TIMEOUT <= span <= LONGEST_TIMEOUT:
        raise ValueError('is not between a second and a day: write it like "90s", "5m" or "1h"')
    return float(span)


def read_tools(value: object) -> Mapping[str, tuple[str, ...]]:
    """Read {"allow": globs, "deny": globs}."""
    found = {}
    for key, globs in read_object(value).items():
        if key not in ("allow", "deny"):
            raise ValueError(f"holds {shown_name(key)}, which is neither `allow` nor `deny`")
        try:
            found[key] = read_globs(globs)
        except ValueError as error:
            raise ValueError(f"has an `{key}` that {error}") from None
    return found


def read_approval(value: object) -> Sequence[tuple[str, ApprovalRule]]:
    """Read a rule, or an object of rules by globs; `writes` holds for tools that no glob matches."""
    if isinstance(value, str):
        return (("*", _rule(value)),)
    if not isinstance(value, dict):
        raise unlike_kind(value, f"one of {', '.join(RULES)}, or an object of these by globs,")
    found: list[tuple[str, ApprovalRule]] = []
    for place, (glob, rule) in enumerate(read_object(value).items(), 1):
        try:
            found.append((read_text(glob), _rule(rule)))
        except ValueError as error:
            raise ValueError(f"has a rule that {error} (number {place} of {len(value)})") from None
    return (*found, *APPROVE_WRITES)


def _rule(value: object) -> ApprovalRule:
    if value not in RULES:
        raise ValueError(f"is none of {', '.join(RULES)}: write one of these")
    return cast(ApprovalRule, value)


def read_approvers(value: object) -> tuple[str, ...]:
    found = read_list(value, _approver, '["owner", "asker"]')
    if not found:
        raise ValueError("is empty, so that nobody could approve: leave it out, or name some")
    return tuple(dict.fromkeys(found))


def _approver(value: object) -> str:
    text = read_text(value).strip()
    if not APPROVER.fullmatch(text):
        raise ValueError("is neither owner nor asker nor the id of a user group (S…)")
    return text


def read_channels(value: object) -> tuple[str, ...]:
    found = read_list(value, _channel, '["support", "C0123456789", "dm"]')
    if not found:
        raise ValueError("is empty: leave it out for all channels, or name some")
    return tuple(dict.fromkeys(found))


def _channel(value: object) -> str:
    text = read_text(value).strip().removeprefix("#")
    if not CHANNEL.fullmatch(text):
        raise ValueError(f"is neither a channel's name (small letters) nor its id, nor {DIRECT_MESSAGES}")
    return text


def suggestion(name: str, known: Sequence[str]) -> str:
    """Return a question after a similar name, or the list of all, as the end of a sentence."""
    alike = get_close_matches(name[:LONGEST_KEY].lower(), known, n=1)
    if alike:
        return f"is it `{alike[0]}`?"
    return f"there are {', '.join(known)}"
