"""Checks of a wire scenario's end, after any number of kills."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from daemon.app.journal_commands import verify_journal
from daemon.engine.event import Entry, InputRank, digest
from daemon.engine.journal.reader import JournalReader, open_reader
from daemon.engine.kinds import ExecutionRestarted, InputsReceived, QuestionWithdrawn
from daemon.kinds import (
    SOUL_KINDS,
    ModelCall,
    PersonMessage,
    QuestionAnswered,
    QuestionAsked,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
    StopRequest,
    moment_of,
)
from daemon.settings.home import project_root
from rehearsal.people import SOUL, TEAM
from rehearsal.workspace_store import open_store, ts_of
from tests.core.waiting_scenarios import UNREACHABLE
from tests.crashes.json_lines import read_lines
from tests.stories.stage import ME
from tests.wire.scenario import WireScenario
from tests.wire.world import ASKED, DONE

SAID = "You said: "
"""Beginning of the model's usual answers, which repeat all new messages."""

WORD = re.compile(r"\bw(\d+)\b")
HALF = " …"
"""End of an answer that broke off and is repeated."""
HALF_SAID = (project_root() / "prompts/sentences/half_said.md").read_text(encoding="utf-8").strip()
"""Recorded text of a message whose words are unknown."""
NO_MORE = "I have reached the limit"
"""Beginning of the sentence about a reached limit."""
RUN = "work out"
"""Words that ask for a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """Message in Slack; `root` is its thread, or the one it would begin."""

    channel: str
    root: str
    ts: str
    user: str
    text: str
    buttons: bool


def check_outcome(home: Path, scenario: WireScenario) -> None:
    """Raise AssertionError with a violation."""
    with open_reader(home / "journal.db", SOUL_KINDS) as journal:
        said = _with_halves(journal, shown_messages(home))
        _check_journal(journal)
        _check_heard(journal, said, scenario)
        check_claimed(journal, said)
        check_order(journal)
        check_paid(journal, read_lines(home / ASKED))
        _check_grown(journal, read_lines(home / ASKED))
        _check_questions(journal, said, scenario)
        unanswered = given_up(journal) | let_go(journal) | at_a_bound(journal)
        _check_answers(said, scenario, unanswered)
        _check_ending(said, scenario)
    assert len(read_lines(home / DONE)) <= 1, "the deed was done twice"


def shown_messages(home: Path) -> list[ShownMessage]:
    db = open_store(home / "slack.db")
    sql = "select channel, coalesce(thread, stamp), stamp, body from message order by stamp"
    rows = db.execute(sql).fetchall()
    db.close()
    return [
        _shown(channel, ts_of(root), ts_of(stamp), json.loads(body)) for channel, root, stamp, body in rows
    ]


def _shown(channel: str, root: str, ts: str, body: dict[str, Any]) -> ShownMessage:
    kinds = {block["type"]: block for block in body.get("blocks") or ()}
    text = kinds["markdown"]["text"] if "markdown" in kinds else body["text"]
    return ShownMessage(
        channel=channel, root=root, ts=ts, user=body["user"], text=text, buttons="actions" in kinds
    )


def given_up(journal: JournalReader) -> frozenset[str]:
    """Return messages whose execution failed after too many kills."""
    ends = [
        end for end in journal.entries_of_kind(SoulTurnEnded) if end.event.outcome in ("failed", "abandoned")
    ]
    return _messages(journal, {_execution(journal, end) for end in ends})


def let_go(journal: JournalReader) -> frozenset[str]:
    """Return messages whose execution was stopped."""
    stops = {
        entry.seq for entry in journal.entries_of_kind(StopRequest) if entry.event.rank is InputRank.STOP
    }
    stopped = {
        _execution(journal, end) for end in journal.entries_of_kind(SoulTurnEnded) if stops & {*end.closes}
    }
    for withdrawn in journal.entries_of_kind(QuestionWithdrawn):
        for asked in journal.entries_at(withdrawn.closes):
            if isinstance(asked.event, QuestionAsked):
                stopped.add(asked.event.execution)
    return _messages(journal, stopped)


def at_a_bound(journal: JournalReader) -> frozenset[str]:
    """Return messages whose execution reported a limit."""
    told = [
        spoken for spoken in journal.entries_of_kind(SpeechFinished) if spoken.event.text.startswith(NO_MORE)
    ]
    return _messages(journal, {spoken.key.partition("/")[0] for spoken in told})


def _messages(journal: JournalReader, executions: Set[str]) -> frozenset[str]:
    ends = [end for end in journal.entries_of_kind(SoulTurnEnded) if _execution(journal, end) in executions]
    paths = tuple(f"{one}/" for one in executions)
    looks = [look for look in journal.entries_of_kind(InputsReceived) if look.key.startswith(paths)]
    took = journal.entries_at([seq for end in ends for seq in end.closes])
    took += journal.entries_at([seq for look in looks for seq in look.event.inputs])
    return frozenset(entry.event.ts for entry in took if isinstance(entry.event, PersonMessage))


def _execution(journal: JournalReader, end: Entry[SoulTurnEnded]) -> str:
    began: Entry[SoulTurnBegan] = journal.entry(end.cause or 0)
    return began.event.execution


def given_up_in(home: Path) -> int:
    with open_reader(home / "journal.db", SOUL_KINDS) as journal:
        return len(given_up(journal))


def _check_journal(journal: JournalReader) -> None:
    verdict = verify_journal(journal)
    assert not verdict.violations, f"verify: {[*map(str, verdict.violations)]}"
    assert not verdict.pending, f"unanswered: {[*map(str, verdict.pending)]}"
    restarted = [entry.event.why for entry in journal.entries_of_kind(ExecutionRestarted)]
    assert not restarted, f"restarted: {restarted}"


def _check_heard(journal: JournalReader, said: Sequence[ShownMessage], scenario: WireScenario) -> None:
    people = [message for message in said if message.user != SOUL.user]
    lines = sorted(line.text for line in scenario.inputs if line.does == "says")
    assert sorted(message.text for message in people) == lines, "people did not say their lines"
    places = {m: f"{TEAM}:{m.channel}:{m.ts}" for m in people}
    lost = [m for m, at in places.items() if not (journal.get(f"msg:{at}") or journal.get(f"heard:{at}"))]
    assert not lost, f"lost: {lost}"


def _half_said(journal: JournalReader) -> frozenset[str]:
    return frozenset(
        one.event.ts for one in journal.entries_of_kind(SpeechFinished) if one.event.text == HALF_SAID
    )


def _with_halves(journal: JournalReader, said: Sequence[ShownMessage]) -> Sequence[ShownMessage]:
    half = _half_said(journal)
    return [
        replace(one, text=one.text.removesuffix(HALF) + HALF)
        if one.user == SOUL.user and one.ts in half
        else one
        for one in said
    ]


def check_claimed(journal: JournalReader, said: Sequence[ShownMessage]) -> None:
    standing = {(m.ts, m.text) for m in said if m.user == SOUL.user}
    answers = dict(_settled(journal))
    spoken = [
        (entry.event.ts, f"{entry.event.text}{answers.get(entry.seq, '')}")
        for entry in journal.entries_of_kind(SpeechFinished)
    ]
    assert len({*spoken}) == len(spoken), f"claimed twice: {spoken}"
    half = _half_said(journal)
    standing = {(ts, HALF_SAID if ts in half else text) for ts, text in standing}
    assert standing == {*spoken}, f"unknown {standing - {*spoken}}, and gone { ({*spoken} - standing) }"


def _settled(journal: JournalReader) -> Iterator[tuple[int, str]]:
    for answered in journal.entries_of_kind(QuestionAnswered):
        asked: Entry[QuestionAsked] = journal.entry(answered.event.asked)
        if asked.event.choices:
            yield asked.event.said[-1], f"\n{answered.event.text}"


def _check_questions(journal: JournalReader, said: Sequence[ShownMessage], scenario: WireScenario) -> None:
    buttons = [message.text for message in said if message.buttons]
    assert not buttons, f"still to be pressed: {buttons}"
    asked = Counter(entry.event.text for entry in journal.entries_of_kind(QuestionAsked) if entry.event.text)
    for text, times in asked.items():
        put = sum(message.text.startswith(text) for message in said)
        assert put == times or scenario.storm, f"{text!r} was asked {times} times, and put {put} times"


def _check_grown(journal: JournalReader, asked: Sequence[dict[str, Any]]) -> None:
    blocks = {call["saw"]: call["blocks"] for call in asked}
    before: dict[tuple[str, ...], list[str]] = {}
    for call in journal.entries_of_kind(ModelCall):
        if call.event.outcome != "ok" or call.event.name == "judge":
            continue
        line = (call.key.partition("!")[0].rpartition("#")[0], call.event.role, *call.event.texts)
        sees = list(blocks[call.event.saw])
        if call.event.trailing.strip():
            trails = sees.pop()
            assert trails == digest(("user", call.event.trailing)), f"it does not trail: {call.key}"
        old = before.get(line, [])
        assert sees[: len(old)] == old, f"the prompt does not only grow: {call.key}"
        before[line] = sees


def _check_ending(said: Sequence[ShownMessage], scenario: WireScenario) -> None:
    texts = [message.text for message in said if message.user == SOUL.user]
    ends = (zip_longest(texts, ending, fillvalue="\0") for ending in scenario.endings)
    fits = any(all(text.startswith(begins) for text, begins in pairs) for pairs in ends)
    assert fits or not scenario.endings, f"people read {texts}"


def check_paid(journal: JournalReader, asked: Sequence[dict[str, Any]]) -> None:
    again = [call for call in asked if call["recorded"]]
    assert not again, f"recorded calls are paid again: {again}"
    unheard = ("failed", "cancelled")
    answered = {c.event.saw: c for c in journal.entries_of_kind(ModelCall) if c.event.outcome not in unheard}
    unknown = [*map(str, (answered[saw] for saw in answered.keys() - {call["saw"] for call in asked}))]
    assert not unknown, f"answers are recorded that the world never gave: {unknown}"


def check_order(journal: JournalReader) -> None:
    turns: defaultdict[str, list[Entry[Any]]] = defaultdict(list)
    for entry in journal.entries_of_kind(SoulTurnBegan, SoulTurnEnded):
        turns[entry.thread].append(entry)
    for thread, entries in turns.items():
        course = [entry.kind for entry in sorted(entries, key=lambda entry: entry.seq)]
        assert all(a != b for a, b in pairwise(course)), f"turns overlap: {course}"
        spoken = sorted(journal.thread_entries(thread, SpeechFinished), key=lambda entry: entry.cause or 0)
        stamps = [moment_of(entry.event.ts) for entry in spoken]
        assert stamps == sorted(stamps), f"spoken out of order: {[entry.event for entry in spoken]}"


def _also(text: str, scenario: WireScenario) -> bool:
    lines = [told.removeprefix(SAID) for told in scenario.told if told.startswith(SAID)]
    return text.startswith(SAID) and text.endswith(tuple(f", {line}" for line in lines))


def _check_answers(said: Sequence[ShownMessage], scenario: WireScenario, lost: frozenset[str]) -> None:
    for began in {message.root for message in said}:
        talk = [message for message in said if message.root == began]
        answers = [message for message in talk if message.user == SOUL.user]
        texts = [answer.text for answer in answers if not answer.text.endswith(HALF)]
        aside = {line.text for line in scenario.inputs if not line.answered}
        lines = [m for m in talk if m.user != SOUL.user and m.text not in aside]
        places = [place for line in lines if (place := _answered(line, answers, line.ts in lost))]
        by_answer = sorted(places, key=lambda place: place[0])  # a stable sort: Slack's order within each
        was_away = any(text.startswith(UNREACHABLE) for text in texts)
        as_it_comes = was_away or any(RUN in message.text for message in talk)
        assert by_answer == sorted(places) or (scenario.storm and as_it_comes), f"in a wrong order: {texts}"
        answered = {answers[n].text for n, _ in places}
        told = [text for text in texts if text not in answered and not WORD.search(text)]
        known = tuple(scenario.told)
        strange = [text for text in told if not (text.startswith(known) or _also(text, scenario))]
        assert not strange, f"nobody asked for {strange}"
        assert scenario.storm or len({*told}) == len(told), f"told twice: {told}"
        words = [int(number) for text in texts for number in WORD.findall(text)]
        assert words == [*range(scenario.words)], f"of {scenario.words} words {len(words)} are read: {words}"


def _answered(line: ShownMessage, answers: Sequence[ShownMessage], lost: bool) -> tuple[int, int] | None:
    text = line.text.removeprefix(ME).strip()
    named = [n for n, one in enumerate(answers) if text in one.text and not one.text.endswith(HALF)]
    if lost and not named:
        return None
    told = f"{text!r} is answered {len(named)} times: {[one.text for one in answers]}"
    assert len(named) == 1 or (lost and len(named) == 2), told
    assert moment_of(answers[named[0]].ts) > moment_of(line.ts), f"{text!r} was foreseen"
    return named[0], answers[named[0]].text.index(text)
