"""Judge of prompts: twenty conversations with a complete soul in a rehearsed Slack, on any backend.

`python -m benchmarks prompts --backend http://localhost:8080 --model qwen3:8b` prints a line for each.
Without a backend the rehearsal's script answers, which only tests the judge. Form, processes and leaks are
counted by rules; `--show` prints the answers.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.conversation import Conversation, conversations
from benchmarks.figure import columns
from benchmarks.judged import Judged, judged, leaks
from benchmarks.rehearsed_soul import Backend, rehearsed_soul
from daemon.app.discovery import PROCESSES
from daemon.engine.event import Entry
from daemon.kinds import ModelCall
from daemon.settings.limits import TokenUsage
from daemon.turn.recall import DIALOGUE_ALONE_CALL, PLAIN_CALL, SPOKEN_CALLS

HEAD = (
    *("conversation", "answered", "calls", "asked again", "broken off", "form", "process", "leaked"),
    *("new", "cached", "output", "first word", "in all"),
)
SPOKEN = SPOKEN_CALLS | {PLAIN_CALL}
"""Calls with public answers."""


@dataclass(slots=True, kw_only=True)
class Score:
    """Results of a conversation.

    `answers` are public, one per message, "" for silence; `again` counts repeated requests; `seconds` is the
    total time.
    """

    conversation: Conversation
    answers: list[str] = field(default_factory=list)
    calls: list[Entry[ModelCall]] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    again: int = 0
    seconds: float = 0.0

    @property
    def answered(self) -> int:
        """Messages answered, or needing no answer."""
        pairs = zip(self.answers, self.conversation.said, strict=True)
        return sum(bool(answer) or line.may_be_silent for answer, line in pairs)

    @property
    def usage(self) -> TokenUsage:
        return sum((call.event.usage for call in self.calls), TokenUsage())

    @property
    def broken(self) -> int:
        return sum(call.event.failure == "broken-stream" for call in self.calls)

    @property
    def first_words(self) -> Sequence[float]:
        aloud = [call.event for call in self.calls if call.event.name in SPOKEN]
        return [call.first_text for call in aloud if call.first_text is not None]

    @property
    def cells(self) -> tuple[str, ...]:
        usage, firsts = self.usage, self.first_words
        return (
            self.conversation.name,
            f"{self.answered}/{len(self.conversation.said)}",
            str(len(self.calls)),
            str(self.again),
            str(self.broken),
            _share(one.form for one in self.judged),
            _share(one.process for one in self.judged),
            str(len(self.leaked)),
            f"{usage.input + usage.cache_write:,}",
            f"{usage.cache_read:,}",
            f"{usage.output:,}",
            f"{sum(firsts) / len(firsts):.1f} s" if firsts else "",
            f"{self.seconds:.1f} s",
        )


def _share(kept: Iterable[bool | None]) -> str:
    asked = [one for one in kept if one is not None]
    return f"{sum(asked)}/{len(asked)}"


async def score(folder: Path, conversation: Conversation, backend: Backend) -> Score:
    found = Score(conversation=conversation)
    async with rehearsed_soul(folder, backend) as here:
        thread = ""
        for line in conversation.said:
            began = time.perf_counter()
            posted, ts = await here.say(line, thread)
            thread = thread or ts
            found.seconds += time.perf_counter() - began
            _judge(found, posted, here.calls())
    return found


def _judge(found: Score, posted: str, calls: Sequence[Entry[ModelCall]]) -> None:
    earlier = [call.event.text for call in found.calls]
    new = [call.event for call in calls[len(earlier) :]]
    public = [*(line.text for line in found.conversation.said), *found.answers]
    found.judged += [judged(call.trailing, call.text, PROCESSES) for call in new if call.name in SPOKEN_CALLS]
    names = [call.name for call in new]
    found.again += names.count(DIALOGUE_ALONE_CALL) + max(names.count(PLAIN_CALL) - 1, 0)
    found.leaked += leaks(posted, earlier, [call.trailing for call in new], public)
    found.answers.append(posted)
    found.calls = [*calls]


async def prompts(backend: Backend, only: Sequence[str] = (), *, shows: bool = False) -> Sequence[Score]:
    """Run all conversations, or those with these prefixes; `shows` prints each."""
    scores: list[Score] = []
    for conversation in conversations():
        if only and not conversation.name.startswith(tuple(only)):
            continue
        with tempfile.TemporaryDirectory(prefix="prompts-") as folder:
            scores.append(await score(Path(folder), conversation, backend))
        if shows:
            print("\n".join(_transcript(scores[-1])), file=sys.stderr, flush=True)
    return scores


def _transcript(one: Score) -> Iterator[str]:
    yield f"{one.conversation.name}: {one.conversation.about}"
    for line, answer in zip(one.conversation.said, one.answers, strict=True):
        yield f"  {line.by}: {line.text}"
        yield f"  → {answer or '(nothing)'}"
    yield from (f"  leaked: {leak}" for leak in one.leaked)


def report(scores: Sequence[Score]) -> str:
    every = Score(
        conversation=Conversation(
            name="all", about="", said=[line for one in scores for line in one.conversation.said]
        ),
        answers=[answer for one in scores for answer in one.answers],
        calls=[call for one in scores for call in one.calls],
        judged=[one for each in scores for one in each.judged],
        leaked=[leak for one in scores for leak in one.leaked],
        again=sum(one.again for one in scores),
        seconds=sum(one.seconds for one in scores),
    )
    return columns([HEAD, *(one.cells for one in scores), every.cells])


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks prompts", description=__doc__)
    parser.add_argument("--backend", default="", help="address of a server; none: the rehearsal's script")
    parser.add_argument("--model", default="", help="name of the model there")
    parser.add_argument("--key", default="", help="key of the server")
    parser.add_argument("--openai", action="store_true", help="the server speaks chat completions")
    parser.add_argument("--form", default="", help="auto, sections or plain, as MODEL_FORM")
    parser.add_argument("--show", action="store_true", help="print what people read")
    parser.add_argument("only", nargs="*", help="beginnings of the names of conversations")
    given = parser.parse_args(arguments)
    backend = Backend(
        url=given.backend, model=given.model, key=given.key, openai=given.openai, form=given.form
    )
    print(report(asyncio.run(prompts(backend, given.only, shows=given.show))))
