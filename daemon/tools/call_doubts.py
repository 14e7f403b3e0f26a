"""Calls of tools of which nobody knows what came: the next call of such a tool has to be approved again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daemon.engine.event import Entry, in_seq_order, of_kind, root_of
from daemon.kinds import INNER, ActionObserved, ToolInDoubt, UnpromptedMessage
from daemon.tools.tool_approvals import askers_of
from daemon.tools.tool_observations import is_unknown
from daemon.turn.speech import say
from daemon.turn.turn import Turn


async def record_doubt(turn: Turn, tool: str, words: str) -> None:
    """Record that nobody knows what came of a call, and tell the people here in these words."""
    await turn.record(ToolInDoubt(tool=tool, people=tuple(askers_of(turn))))
    if turn.addressed:
        await say(turn, words, answers=False)
    elif turn.root not in (INNER, turn.thread):  # a branch speaks through its root
        told = UnpromptedMessage(text=words, by=turn.began_seq, view=turn.root)
        await turn.send("tell", turn.root, told)


async def settle_doubt(turn: Turn, tool: str) -> None:
    """Record that a later call of the tool has a known outcome."""
    await turn.record(ToolInDoubt(tool=tool, people=tuple(askers_of(turn)), settled=True))


def is_in_doubt(turn: Turn, name: str) -> bool:
    """True if nobody knows what came of the last call of this tool here, or for these people, before now.

    A replay sees the same: what is older than the turn, and the steps before this one.
    """
    recorded = [*_doubts_before(turn), *turn.execution.restart_log, *_doubts_of_context(turn)]
    in_doubt = False
    for entry in in_seq_order(recorded):
        match entry.event:
            case ToolInDoubt(tool=tool, settled=settled) if tool == name:
                in_doubt = not settled
            case ActionObserved(name=done) if done == name and is_unknown(entry.event):
                in_doubt = True
    return in_doubt


def _doubts_before(turn: Turn) -> Sequence[Entry[Any]]:
    askers = set(askers_of(turn))
    older = [one for one in turn.journal.entries_of_kind(ToolInDoubt) if one.seq < turn.began_seq]
    return [one for one in older if root_of(one.thread) == turn.root or askers.intersection(one.event.people)]


def _doubts_of_context(turn: Turn) -> Sequence[Entry[ToolInDoubt]]:
    """Return those of the steps before, in this context."""
    keys = [f"{turn.ctx.path}/{ToolInDoubt.kind}#{n + 1}" for n in range(turn.ctx.uses_of(ToolInDoubt.kind))]
    found = [turn.execution.record.find(key) for key in keys]
    return of_kind(ToolInDoubt, filter(None, found))
