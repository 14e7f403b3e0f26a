"""Answers of authorization servers: one for each state, within its time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from daemon.settings.private_files import FolderFiles
from daemon.tools.consent_answers import CONSENT_SECONDS, CONSENTS_FOLDER, ConsentAnswer, ConsentAnswers
from tests.clock import FakeClock


async def test_an_answer_is_taken_once_and_by_the_flow_that_waits_for_it(tmp_path: Path) -> None:
    answers = ConsentAnswers(FolderFiles(tmp_path), FakeClock().now)
    answers.expect("one")
    answers.expect("two")
    waiting = asyncio.create_task(answers.wait("one"))
    assert answers.deliver({"state": "one", "code": "x", "iss": "https://login.example", "other": "y"})
    assert not answers.deliver({"state": "one", "code": "another"})
    assert not answers.deliver({"state": "three", "code": "x"})
    assert not answers.deliver({"code": "x"})
    assert not answers.deliver({"state": "two", "code": "x" * 5_000})
    assert await waiting == ConsentAnswer(code="x", iss="https://login.example")
    assert len([*(tmp_path / CONSENTS_FOLDER).iterdir()]) == 1


async def test_no_answer_is_taken_after_its_time_and_old_ones_are_swept(tmp_path: Path) -> None:
    clock = FakeClock()
    answers = ConsentAnswers(FolderFiles(tmp_path), clock.now)
    answers.expect("waiting")
    answers.expect("answered")
    assert answers.deliver({"state": "answered", "code": "of-a-flow-that-died"})
    clock.set_ahead(CONSENT_SECONDS)
    assert not answers.deliver({"state": "waiting", "code": "x"})
    assert await answers.wait("waiting") is None
    answers.expect("next")
    [left] = (tmp_path / CONSENTS_FOLDER).iterdir()
    assert "answer" not in left.read_text()


async def test_a_file_that_cannot_be_read_is_no_flow(tmp_path: Path) -> None:
    answers = ConsentAnswers(FolderFiles(tmp_path), FakeClock().now)
    answers.expect("it")
    [file] = (tmp_path / CONSENTS_FOLDER).iterdir()
    for text in ("", "[]", "7", '{"since": "x"}', '{"since": null}'):
        file.write_text(text)
        assert not answers.deliver({"state": "it", "code": "x"})
