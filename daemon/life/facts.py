"""What a body did, in figures, for whoever asks with `!trace`: a fold over its entries, without its thoughts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from daemon.entry import Entry
from daemon.process import Facts

ACTED = re.compile(r'<result of="([^"]*)">')


def facts(body: Sequence[Entry], link: str) -> Facts:
    """Of the body that these entries, all under its path, are."""
    began = next(entry for entry in body if entry.kind == "turn-began")
    calls = [entry.body for entry in body if entry.kind == "model-call"]
    went = [str(entry.body["to"]) for entry in body if entry.kind == "transition"]
    told = [str(entry.body["text"]) for entry in body if entry.kind == "ism"]
    return Facts(
        processes=tuple(dict.fromkeys([began.body["process"], *went])),
        actions=tuple(name for text in told for name in ACTED.findall(text)),
        calls=len(calls),
        tokens=sum(sum(call["usage"].values()) for call in calls),
        usd=sum(call["cost"] for call in calls),
        link=link,
    )
