"""The judge of prompts, with the script as its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.conversation import conversations
from benchmarks.judged import judged, leaks
from benchmarks.prompts import prompts, report
from benchmarks.rehearsed_soul import Backend
from benchmarks.sent_prompts import BEFORE, KINDS, figures, page, sent
from daemon.app.discovery import PROCESSES

ASKS = "Answer in the sections <aside>, <next>, <say>."
ANSWER = "<aside>A quiet thought.</aside><next>conversation</next><say>It is late.</say>"


def test_twenty_conversations_are_kept_as_files() -> None:
    assert len(conversations()) == 20
    assert all(conversation.said for conversation in conversations())


def test_a_file_that_is_no_conversation_is_named(tmp_path: Path) -> None:
    (tmp_path / "strange.toml").write_text("about = 3")
    with pytest.raises(ValueError, match=r"strange\.toml is not a valid conversation"):
        conversations(tmp_path)


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        (ANSWER, True),
        (ANSWER.replace("<say>", "<say-k7>").replace("</say>", "</say-k7>"), True),
        (f"Of course! {ANSWER}", False),
        (ANSWER * 2, False),
        (ANSWER.replace("<aside>A quiet thought.</aside>", ""), False),
        ("It is late.", False),
    ],
)
def test_the_form_is_kept_where_each_section_stands_once_and_nothing_beside(answer: str, form: bool) -> None:
    assert judged(ASKS, answer, PROCESSES).form is form


def test_a_process_is_valid_where_it_is_one_of_those_that_there_are() -> None:
    assert judged(ASKS, ANSWER, PROCESSES).process
    assert not judged(ASKS, ANSWER.replace("conversation", "They want help."), PROCESSES).process


def test_nothing_is_judged_of_a_call_that_asks_for_no_sections() -> None:
    assert judged("Answer with JSON only.", "{}", PROCESSES).form is None


def test_eight_words_of_an_earlier_aside_are_a_leak_unless_somebody_said_them() -> None:
    thought = "I doubt that the old ferry will ever come back"
    answers = [f"<aside>{thought}</aside><say>Perhaps.</say>"]
    assert leaks(f"Well: {thought}.", answers, [], [])
    assert not leaks("I doubt that the old ferry sails.", answers, [], [])
    assert not leaks(f"Well: {thought}.", answers, [], [thought])


async def test_the_script_keeps_the_form_in_a_conversation_of_each_place() -> None:
    scores = await prompts(Backend(), ["02", "10"])
    assert [(one.answered, len(one.leaked)) for one in scores] == [(2, 0), (3, 0)]
    assert all(one.form and one.process for score in scores for one in score.judged)
    head, *lines = report(scores).splitlines()
    assert head.startswith("conversation")
    assert [line.split()[0] for line in lines] == ["02-arithmetic", "10-two-people", "all"]


async def test_the_page_shows_each_kind_of_prompt_as_it_was_sent(tmp_path: Path) -> None:
    calls, requests = await sent(tmp_path, inner_life_min_pause=0.0)
    assert [*figures(calls, requests)] == [kind.title for kind in KINDS]
    written = page(calls, requests)
    for kind in KINDS:
        assert f"\n## {kind.title}\n" in written
    assert BEFORE.exists()
