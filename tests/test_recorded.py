"""Names that are data in journals, prompts and page answers: renames keep them."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from pydantic import BaseModel

import daemon
from daemon.answers.choice import answer_schema
from daemon.app.check import Finding
from daemon.app.discovery import BUILT_IN, all_actions
from daemon.app.journal_commands import SoulRules
from daemon.claude.availability import ModelReport
from daemon.claude.requests import ModelCapabilities
from daemon.documents.parsing_child import ChildLimits
from daemon.documents.parsing_child import FileUnreadable as FileRefusal
from daemon.engine.exceptions import ControlFlow, recorded_name
from daemon.engine.journal.verify import RULES
from daemon.engine.kinds import with_engine_kinds
from daemon.errors import PostRefused, describe_error
from daemon.inner_life.programs.supervisor import ProgramLimits
from daemon.kinds import SOUL_KINDS, ReminderFired
from daemon.prompts.chooser import ChooserTexts
from daemon.reading.read_deeply import ReadDeeplyArguments
from daemon.sandbox.confinement import UnconfinedError
from daemon.sandbox.environment import FrameError
from daemon.settings.limits import TokenUsage
from daemon.tools.served_tools import ServedCallRefused
from tests.source import ROOT

ERRORS = """
AddressRefused Broken CallError CardGone CardRefused ConfigError Conflict ConnectionFailed ConsentNeeded
ContentRefused ContextError CopyAhead CountedAsDead DocumentError EndlessLineError EngineError Fenced
FileAway FileRefused FilesAway JournalDamaged JournalError JournalHeld JournalMisplaced JournalOther
LogAway LogUnreachable Malformed Misshapen NoAnswer Overdue PeerAway Refused RequestFault RequestRefused
ResponseCutOff SandboxError SchemaTooComplex SoulError SpeechFailed SpeechRefused StateExpired Stopped
TooManyCalls TooManyTransitions ToolCallFailed ToolOutcomeUnknown Unavailable Unreadable
"""
"""Errors that are recorded or reach a model."""
UNRECORDED = (ControlFlow, FileRefusal, FrameError, ServedCallRefused, UnconfinedError)
"""Exceptions that are no failure or stay in a child."""
ACTIONS = {
    "Think": None,
    "Respond": None,
    "AskPerson": "AskPerson",
    "Research": "Research",
    "ReadDeeply": "ToRead",
    "SearchMemory": "SearchMemory",
    "ReadThread": "ReadThread",
    "Remember": "Remember",
    "Schedule": "Schedule",
    "Escalate": None,
    "FindTool": "FindTool",
    "ReadResource": "ReadResource",
}
"""Built-in actions with schema titles of their arguments."""
FORMS = {
    "What was said meanwhile: more of the same, or something new.",
    "The answer of a mental query, which says what it is about to whoever remembers it.",
    "The answer of a brainstorm.",
}
"""Docstrings of answer forms, which reach the model."""
RULES_OF_VERIFY = """
cause closes doubled refers turn answered receipt woke step blank texts stretch thread brought stamp
"""


KEEP = (
    "journals, prompts or pages hold these names: give the code the new name and the data the old one"
    " (`recorded_name`, `kind`, a title), or add what is new to this list"
)
GOLDEN = ROOT / "tests" / "core" / "golden"
"""Journals of older versions."""


def ours(kind: type) -> bool:
    return kind.__module__.startswith(f"{daemon.__name__}.")


def own_errors() -> Iterator[type[BaseException]]:
    """Yield the daemon's public errors."""
    for module in pkgutil.walk_packages(daemon.__path__, f"{daemon.__name__}."):
        if module.name.rpartition(".")[2] != "__main__":
            importlib.import_module(module.name)
    found: list[type[BaseException]] = [BaseException]
    for one in found:  # grows meanwhile
        found += one.__subclasses__()
    for one in dict.fromkeys(found):
        if ours(one) and not one.__name__.startswith("_") and not issubclass(one, UNRECORDED):
            yield one


def test_each_error_is_recorded_under_a_name_of_its_own_that_stays() -> None:
    errors = [*own_errors()]
    nameless = {one.__name__ for one in errors if "recorded_name" not in vars(one)}
    assert not nameless, f"give {nameless} a `recorded_name`, which stays when the class is renamed"
    assert {vars(one)["recorded_name"] for one in errors} == set(ERRORS.split()), KEEP


def test_an_error_goes_by_its_recorded_name_and_a_foreign_one_by_that_of_its_class() -> None:
    class OwnersRefusal(PostRefused): ...

    assert recorded_name(PostRefused("archived")) == "SpeechRefused"
    assert recorded_name(OwnersRefusal("archived")) == "OwnersRefusal"
    assert recorded_name(KeyError("x")) == "KeyError"
    assert describe_error(PostRefused("It is archived."), str) == "SpeechRefused: It is archived."


def test_the_actions_and_the_titles_of_their_schemas_are_called_as_ever() -> None:
    named = all_actions().named
    assert [*(one.name for one in BUILT_IN), "FindTool", "ReadResource"] == list(ACTIONS), KEEP
    assert {name: one.schema.get("title") for name, one in named.items()} == ACTIONS, KEEP
    assert ReadDeeplyArguments.model_json_schema()["description"] == "What is to be read, and what for."
    described = {name for name, one in named.items() if "description" in one.schema}
    assert described == {"ReadDeeply"}
    assert not [name for name, one in named.items() if "$defs" in one.schema], "its name would be shown"


def test_the_forms_that_a_model_fills_in_are_described_as_ever() -> None:
    forms = [one for one in BaseModel.__subclasses__() if ours(one)]
    schemas = [answer_schema(one) or {} for one in forms]
    assert {one.get("description") for one in schemas} >= FORMS, KEEP
    assert not [one for one in schemas if "title" in one]


def test_the_rules_of_verify_are_called_as_ever() -> None:
    assert [rule.name for rule in (*RULES, *SoulRules().all)] == RULES_OF_VERIFY.split(), KEEP


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (TokenUsage, "input cache_read cache_write output"),
        (ModelCapabilities, "window schema keeps_sections images prompt_speed answer_speed slots"),
        (ModelReport, "models failure what since seen waiting next_try is_usual odd"),
        (ProgramLimits, "seconds memory room kept files processes"),
        (ChildLimits, "seconds memory characters pages unpacked"),
        (Finding, "name said ok doubtful"),
        (ReminderFired, "user name text ts bot files note chosen owner"),
        (
            ChooserTexts,
            "head action alone arguments tools tool log nothing_yet question chose results quiet raised"
            " timed_out wordless not_run unknown bad_arguments exclusive too_many twice stale stopped undone"
            " nudge unread",
        ),
    ],
    ids=["metrics", "capabilities", "Health", "programs", "documents", "doctor", "reminders", "choosing"],
)
def test_fields_that_are_data_are_called_as_ever(kind: Any, names: str) -> None:
    assert [one.name for one in fields(kind)] == names.split(), KEEP


def test_each_field_of_an_older_journal_is_read_and_kept() -> None:
    kinds, lost = with_engine_kinds(SOUL_KINDS), set[str]()
    entries = [json.loads(line) for path in GOLDEN.glob("*.jsonl") for line in path.read_text().splitlines()]
    for kind, body in [(one["kind"], one["body"]) for one in entries if "kind" in one]:
        kept = json.loads(kinds.dump(kinds.load(kind, json.dumps(body))))
        lost |= {f"{kind}.{name}" for name, value in body.items() if kept.get(name, ...) != value}
    assert len(entries) > 1_000
    assert not lost, f"a renamed field reads as empty in journals of today, so keep the name: {sorted(lost)}"
