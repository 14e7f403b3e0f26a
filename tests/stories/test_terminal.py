"""`python -m daemon read`: answers, progress, errors."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from config import Settings
from daemon.app.journal_commands import find_thread, trace_lines, verify_journal
from daemon.app.read_command import read_in_terminal
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, ModelCall
from daemon.settings.parse import ConfigError
from tests.soak import SOAK
from tests.stories.process import ended, start
from tests.stories.stage import Stage, staged
from tests.stories.test_reading import BOOK, cell

QUESTION = "What is the magic number?"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


def settings(stage: Stage, **more: object) -> Settings:
    return Settings(anthropic_api_key="any", anthropic_base_url=stage.url, soul_home=stage.home, **more)  # type: ignore[arg-type]


def book(stage: Stage, name: str = "book.txt") -> Path:
    path = stage.home.parent / name
    path.write_text(BOOK)
    return path


async def test_the_answer_stands_on_stdout_and_its_citations_hold(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.say(cell("print([l for l in context.splitlines() if 'magic' in l])"))
    stage.model.say(
        'FINAL(It is 77 [book.txt:1234 "the magic number is 77"], not 78 [book.txt:7 "the number is 78"].)'
    )
    status = await read_in_terminal(settings(stage), [book(stage)], QUESTION)
    out, err = capsys.readouterr()
    assert status == 0
    assert out == 'It is 77 [book.txt:1234 "the magic number is 77"], not 78.\n'
    assert "citations left out that do not hold: 1" in err
    assert "reading · round 2 of 20 · programs: 1 · pieces: 0" in err
    assert "--journal" in err


async def test_nothing_in_the_answer_is_obeyed_by_the_terminal(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.say("FINAL(so\x1b]52;c;cm0=\x07, \x1b[2Jthen\r\n\tthat: \x1b\u200d[2J👩\u200d💻)")
    assert await read_in_terminal(settings(stage), [book(stage)], QUESTION) == 0
    assert capsys.readouterr().out == "so, then\n\tthat: \u200d[2J👩\u200d💻\n"


async def test_several_files_are_known_by_their_names(stage: Stage) -> None:
    stage.model.say(cell("FINAL(sorted(context))"))
    paths = [book(stage), book(stage, "copy.txt")]
    assert await read_in_terminal(settings(stage), paths, QUESTION) == 0
    assert "context['book.txt']" in stage.asked()[0]


async def test_what_is_read_in_part_is_told_and_ends_with_two(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.say(cell("print(1)"))
    stage.model.say("This much.", asks="no more room")
    status = await read_in_terminal(settings(stage, rlm_max_iterations=1), [book(stage)], QUESTION)
    out, err = capsys.readouterr()
    assert (status, out) == (2, "This much.\n")
    assert "Read in part: it came to its bound of rounds (RLM_MAX_ITERATIONS)." in err


async def test_what_cannot_be_read_is_said_and_ends_with_one(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    status = await read_in_terminal(settings(stage), [Path("nowhere.txt")], QUESTION)
    assert status == 1
    assert "nowhere.txt cannot be read (No such file or directory)" in capsys.readouterr().err


async def test_without_a_model_it_says_what_to_do(stage: Stage) -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY is missing"):
        await read_in_terminal(Settings(soul_home=stage.home), [book(stage)], QUESTION)


async def test_the_same_question_is_read_anew_once_it_was_answered(stage: Stage) -> None:
    for _ in range(2):
        stage.model.say("FINAL(so)")
        assert await read_in_terminal(settings(stage), [book(stage)], QUESTION) == 0
    assert len(list((stage.home / "reads").glob("*.db"))) == 2


async def test_killed_among_a_hundred_sub_calls_it_pays_none_of_them_again(
    stage: Stage, tmp_path: Path
) -> None:
    pieces = [f"Piece {n}." for n in range(100)]
    stage.model.say(cell(f"FINAL(sorted(set(llm_query_batched({pieces}))))"))
    held = asyncio.Event()
    for n, piece in enumerate(pieces):
        stage.model.say("yes", asks=piece, until=None if n < 60 else held)
    command = ("read", str(book(stage)), "-q", QUESTION)
    model = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": stage.url}
    first = await start(tmp_path / "home", *command, **model)
    await stage.until(lambda: len(stage.model.requests) >= 70)
    first.kill()
    await ended(first)
    [path] = (tmp_path / "home" / "reads").glob("*.db")
    with open_reader(path, SOUL_KINDS) as journal:
        paid = [
            call.event.trailing
            for call in journal.entries_of_kind(ModelCall)
            if call.event.name == "llm_query"
        ]
    assert len(paid) >= 50
    held.set()
    for piece in pieces:
        stage.model.say("yes", asks=piece)
    second = await start(tmp_path / "home", *command, **model)
    assert second.stdout
    out = (await second.stdout.read()).decode()
    status, err = await ended(second)
    assert (status, out) == (0, '["yes"]\n')
    assert "Going on where it was cut off." in err
    asked = Counter(str(request["messages"][-1]["content"][-1]["text"]) for request in stage.model.requests)
    assert {piece: asked[piece] for piece in paid} == dict.fromkeys(paid, 1)


async def test_its_journal_can_be_traced_and_keeps_the_rules(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.say(cell("print(llm_query('Is it?'))"))
    stage.model.say("yes", asks="Is it?")
    stage.model.say("FINAL(so)")
    assert await read_in_terminal(settings(stage), [book(stage)], QUESTION) == 0
    [path] = (stage.home / "reads").glob("*.db")
    with open_reader(path, SOUL_KINDS) as journal:
        assert not verify_journal(journal).violations
        lines = list(trace_lines(journal, find_thread(journal, "sess-"), 200))
    assert any("print(llm_query('Is it?'))" in line for line in lines)
    assert str(path) in capsys.readouterr().err


async def test_what_did_not_get_to_begin_is_begun(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "mine.db"
    place.touch()
    stage.model.say("FINAL(so)")
    assert await read_in_terminal(settings(stage), [book(stage)], QUESTION, place) == 0
    stage.model.say("FINAL(so)")
    assert await read_in_terminal(settings(stage), [book(stage)], QUESTION) == 0
    [path] = (stage.home / "reads").glob("*.db")
    path.write_bytes(b"")
    stage.model.say("FINAL(so)")
    assert await read_in_terminal(settings(stage), [book(stage)], QUESTION) == 0
    assert [*(stage.home / "reads").glob("*.db")] == [path]


@SOAK
async def test_its_journal_stands_where_it_is_told_and_goes_on_there(stage: Stage, tmp_path: Path) -> None:
    place = tmp_path / "mine.db"
    held = asyncio.Event()
    stage.model.say(cell("print(llm_query('Is it?'))"))
    stage.model.say("yes", asks="Is it?", until=held)
    command = ("read", str(book(stage)), "-q", QUESTION, "--journal", str(place))
    model = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": stage.url}
    first = await start(tmp_path / "home", *command, **model)
    await stage.until(lambda: len(stage.model.requests) >= 2)
    first.kill()
    await ended(first)
    with pytest.raises(ConfigError, match="name a new file"):
        await read_in_terminal(settings(stage), [book(stage)], "What else?", place)
    held.set()
    stage.model.say("yes", asks="Is it?")
    stage.model.say("FINAL(so)")
    assert await read_in_terminal(settings(stage), [book(stage)], QUESTION, place) == 0
    assert not (stage.home / "reads").exists()
    with open_reader(place, SOUL_KINDS) as journal:
        assert [call.event.name for call in journal.entries_of_kind(ModelCall)].count("recurse") == 2
    with pytest.raises(ConfigError, match="a reading that is over"):
        await read_in_terminal(settings(stage), [book(stage)], QUESTION, place)


async def test_an_empty_answer_is_none(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.model.say("FINAL('')")
    assert await read_in_terminal(settings(stage), [book(stage)], QUESTION) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "No answer: the model's final answer was empty." in err


async def test_what_was_guessed_of_a_file_is_said(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    path = book(stage)
    path.write_bytes(b"caf\xe9\n" + BOOK.encode())
    stage.model.say("FINAL(so)")
    assert await read_in_terminal(settings(stage), [path], QUESTION) == 0
    assert path.name in capsys.readouterr().err.splitlines()[0]
