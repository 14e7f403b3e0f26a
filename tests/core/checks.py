"""What must be true when a story has ended, however often its daemon was killed."""

from __future__ import annotations

import asyncio
import itertools
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import create_engine

from daemon.entry import OPENERS
from daemon.journal.journal import Journal
from daemon.journal.schema import METADATA, fold
from daemon.journal.verify import verify
from tests.core.outside import FileSlack, StoryClock, read
from tests.core.story import Scenario
from tests.core.waiting import CUT, FAILED, UNREACHABLE

BEGINNINGS = (UNREACHABLE, FAILED)


def verdict(home: Path, story: Scenario) -> str | None:
    try:
        check(home, story)
    except AssertionError as error:
        return str(error) or "".join(traceback.format_exception(error))
    return None


def finished(home: Path) -> str | None:
    """Of two daemons that met, one must have come through: fencing is not to stop both."""

    async def left() -> list[str]:
        async with Journal(home / "journal.db", StoryClock(0)) as journal:
            resumed = Counter(entry.cause for entry in journal.kind("turn-resumed"))
            own = len(journal.kind("failure"))  # a turn that failed by itself is resumed, too
            fought = ["turn-resumed"] * (max(resumed.values(), default=0) > 2 + own)
            return fought + [entry.kind for entry in journal.open("turn-began", "perception", "speech")]

    return (
        f"two daemons met, and one did not finish alone: {kinds}" if (kinds := asyncio.run(left())) else None
    )


def check(home: Path, story: Scenario) -> None:
    """Nothing lost, nothing doubled, nothing paid twice, nothing open, and what people read is an ending."""
    asyncio.run(_check_journal(home, story))
    told = FileSlack(home).messages()
    texts = [message["text"] for message in told]
    assert any(fits(texts, ending) for ending in story.endings), f"people read {texts}"
    story.extra(home)


def fits(texts: Sequence[str], ending: Sequence[str]) -> bool:
    """A fixed sentence is recognised by its beginning."""

    def matches(text: str, end: str) -> bool:
        return (
            text == end
            or (end in BEGINNINGS and text.startswith(end))
            or (end == CUT and text.endswith(" …") and not text.endswith("… …"))
        )

    orders = itertools.permutations(texts) if len(texts) == len(ending) else ()
    return any(all(map(matches, order, ending)) for order in orders)


async def _check_journal(home: Path, story: Scenario) -> None:
    async with Journal(home / "journal.db", StoryClock(9)) as journal:
        for event in story.events:
            kind = "heard" if event.heard else "msg"
            assert journal.get(f"{kind}:T:{event.thread}:{event.ts}"), f"lost: {event}"
        left = Counter(e.kind for e in journal.open(*OPENERS) if not e.body.get("to"))  # people may be asked
        assert not left, f"unanswered: {dict(left)}"
        assert not journal.kind("drift"), f"drift: {[e.key for e in journal.kind('drift')]}"
        if [e for e in journal.kind("turn-ended") if e.body["outcome"] == "let-go"]:
            asked = str(read(home / "llm.jsonl")) + str([e.body for e in journal.kind("spoken")])
            assert "<note>" in asked or "I do not know" in asked, "a fresh body did not hear of the old one"
        standing = sorted(message["ts"] for message in FileSlack(home).messages())
        claimed = sorted(entry.body["ts"] for entry in journal.kind("spoken"))
        assert standing == claimed, f"in Slack stand {standing}, and {claimed} are known"
        _check_replay(journal)
        assert not (broken := verify(journal).violations), f"against the rules: {broken[0]}"
        _check_prefix(journal, home)
        greeted = [e for e in journal.kind("claim") if e.key.startswith("greeted:")]
        people = {event.user for event in story.events if not (event.heard or event.rank)}
        assert not greeted or len(greeted) == len(people), f"greeted {len(greeted)} times"


def _check_replay(journal: Journal) -> None:
    """Delete the projections, replay the journal: the same projections."""
    engine = create_engine("sqlite://")
    METADATA.create_all(engine)
    with engine.begin() as connection:
        for entry in journal.since(0, limit=100_000):
            fold(connection, entry)
        assert journal.projections(connection) == journal.projections(), (
            "projections differ from their rebuild"
        )
    engine.dispose()


def _check_prefix(journal: Journal, home: Path) -> None:
    """Each call's messages begin with the last one's: of a thread what is spoken, of a body all that it asks.

    As long as the texts stay the same.
    """
    asked = {line["saw"]: line["messages"] for line in read(home / "llm.jsonl")}
    before: dict[tuple[str, ...], list[list[str]]] = {}
    gone = {e.cause for e in journal.kind("turn-ended") if e.body["outcome"] == "let-go"}
    for call in journal.kind("model-call"):
        if call.body["outcome"] != "ok" or call.cause in gone or call.body["name"] == "judge":
            continue
        line: tuple[str, ...] = (call.thread, str(call.body["texts"]))
        if call.body["role"] != "speak":
            line += (call.key.rpartition("#")[0],)
        messages = asked[call.body["saw"]]
        old = before.get(line, [])
        assert messages[: len(old)] == old, f"the prompt does not only grow: {call.key}"
        before[line] = messages
