"""What the inner life is told of a process that has ended: its status, and a text that is safe to show."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from daemon.inner.masking import head_and_tail, mask_head, mask_secrets, mask_tail, strip_control_characters
from daemon.inner.process_folder import CapturedOutput, ProgramExit, read_output
from daemon.kinds import Status

MOST_KEPT = 2 * 2**20
"""Bytes that are kept of each stream in its folder."""
MOST = {"stdout": 4_000, "stderr": 2_000}
"""Characters that are told of each stream."""
STOPPED = "It was stopped, as you wanted."
LOST_STATUS = "It is lost: nothing runs any more, and nobody saw it end. What it did is not known."
NOT_BEGUN = "It was stopped before it had begun."
UNSTARTED = "It was not started: its folder cannot be made."


async def outcome_in_words(
    folder: Path, end: ProgramExit, secrets: Collection[str], *, stopped: bool
) -> tuple[Status, str]:
    """The status of this run and what is told of it. `stopped`: did the inner life want it to end?"""
    if end.why == "unstartable":
        error = mask_secrets(strip_control_characters(end.error.encode(errors="replace")), secrets)
        return "error", f"It was not started: {error}."
    return await asyncio.to_thread(_told, folder, end, secrets, stopped)  # the output may be long


def _told(folder: Path, end: ProgramExit, secrets: Collection[str], stopped: bool) -> tuple[Status, str]:
    totals = {"stdout": end.stdout, "stderr": end.stderr}
    parts: dict[str, str] = {}
    for name, most in MOST.items():
        kept = read_output(folder, name, totals[name], MOST_KEPT)
        place = f"{folder.parent.name}/{folder.name}/{name}"
        parts[name] = output_in_words(kept, secrets, most, place)
    status, first = _status(end, bool(parts["stderr"]), stopped)
    lines = [f"{first} It took {end.seconds:.1f} s."]
    for name, text in parts.items():
        if text:
            lines += [f"{name}:", text]
    if not any(parts.values()):
        lines.append("It wrote nothing.")
    return status, "\n".join(lines)


def _status(end: ProgramExit, complained: bool, stopped: bool) -> tuple[Status, str]:
    """What became of it, in a word and in a sentence."""
    if end.why == "late" or end.exit == -signal.SIGXCPU:
        return "timeout", "Its time was up, and it was ended."
    if end.why == "stopped":
        if not stopped:
            return "error", "It was ended from outside."
        return "error", STOPPED
    if end.why == "full":
        return "error", "It wrote too much into its folder, and was ended."
    if end.exit < 0:
        return "error", f"It was ended by {_signal(-end.exit)}."
    if end.exit > 0:
        return "error", f"It ended with exit status {end.exit}."
    if complained:
        return "warning", "It ended well, and complained."
    return "ok", "It ended well."


def _signal(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def output_in_words(kept: CapturedOutput, secrets: Collection[str], most: int, place: str) -> str:
    """What is told of a stream: all of it, or its head and its tail with a line between. `place` is where
    an owner finds more."""
    head, tail = strip_control_characters(kept.head), strip_control_characters(kept.tail)
    if kept.lost:
        head, tail = mask_head(head, secrets), mask_tail(tail, secrets)
        left = kept.lost + _over(head, most) + _over(tail, most)
        head, tail = head[: most // 2], tail[-(most // 2) :]
    else:
        whole = mask_secrets(head, secrets).strip()
        head, tail = head_and_tail(whole, most)
        left = len(whole) - len(head) - len(tail)
    if not left:
        return head
    between = f"[about {left:,} characters are left out here; an owner finds more in {place}]"
    return "\n".join([head, between, tail])


def _over(text: str, most: int) -> int:
    return max(0, len(text) - most // 2)
