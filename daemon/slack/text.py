"""Slack's mrkdwn as a model should read it: names for ids, plain links, no entities. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from daemon.engine.writable import storable_text

SOMEONE, A_CHANNEL = "someone", "a channel"
"""What stands for a name that is not known."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
NAME = 80
"""Characters of a name that are read."""
REFERENCE = re.compile(r"<([^<>\n]+)>")
MENTION = re.compile(r"<@([A-Z0-9]+)(?:\|[^<>]*)?>")
UNLABELLED = re.compile(r"<@([A-Z0-9]+)>")
"""Somebody whose name does not stand beside the id, which is how Slack sends it: it must be asked for."""
CHANNEL = re.compile(r"<#([A-Z0-9]+)\|?>")
"""A channel without a label, which is how Slack sends it: its name must be asked for."""


def clean_display_name(text: str) -> str:
    """A name that someone chose, as one line that is not too long."""
    return CONTROL.sub(" ", storable_text(text))[:NAME].strip()


def mentioned_ids(text: str) -> frozenset[str]:
    """The ids of the people and bots that a text mentions."""
    return frozenset(MENTION.findall(text))


def strip_mention(text: str, person: str) -> str:
    """The text without what mentions this person."""
    return re.sub(rf"<@{re.escape(person)}(?:\|[^<>]*)?>", " ", text)


def ids_without_names(text: str) -> list[str]:
    """The ids in a text whose names a reader needs, each once: first people, then channels."""
    return list(dict.fromkeys(UNLABELLED.findall(text) + CHANNEL.findall(text)))


def spell_out_references(text: str, names: Mapping[str, str]) -> str:
    """The text with its references spelled out; `names` holds names of ids, where they are known."""
    spelled = REFERENCE.sub(partial(_spelled, names), text)
    return spelled.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _spelled(names: Mapping[str, str], reference: re.Match[str]) -> str:
    target, _, label = reference[1].partition("|")
    match target[:1]:
        case "@":
            return f"@{names.get(target[1:]) or label or SOMEONE}"
        case "#":
            if label:
                return f"#{label}"
            return names.get(target[1:]) or A_CHANNEL
        case "!":
            return label or f"@{target[1:].partition('^')[0]}"
    if label and label not in target:
        return f"{label} ({target})"
    if target.startswith(("mailto:", "tel:")):
        return label
    return target
