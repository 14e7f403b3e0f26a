"""Broken files of the owner, in `/healthz` and the log."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.settings.home import MOST_TEXT_BYTES
from tests.soak import later
from tests.stories.choosing import deciding
from tests.stories.stage import ALICE, Stage, reply

SECRET = "xoxb-1234-a-secret"
GOOD = "---\ngoal: Mend it.\nactions: [Think, Respond]\nwhen: something is broken.\n---\nBe kind.\n"
Break = Callable[[Path], object]


def written(text: str) -> Break:
    return lambda file: file.write_text(text)


def in_place(make: Break) -> Break:
    def broken(file: Path) -> None:
        file.unlink()
        make(file)

    return broken


def locked(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)  # root can read anything but a link loop


TEXTS: dict[str, tuple[str, Break, str]] = {
    "empty": ("soul", written(" \n"), "it is empty: write it, or put it back."),
    "missing": ("soul", Path.unlink, "it is not there: put it back."),
    "latin-1": (
        "soul",
        lambda file: file.write_bytes(f"# Zoë {SECRET}".encode("latin-1")),
        "it is not UTF-8 from byte 5 on: save it as UTF-8.",
    ),
    "binary": (
        "prompts/system",
        lambda file: file.write_bytes(b"\x7fELF\0" + SECRET.encode()),
        "it is binary, or not in UTF-8",
    ),
    "too large": (
        "soul",
        written("# Zoe\n" + "x" * MOST_TEXT_BYTES),
        f"it is longer than {MOST_TEXT_BYTES:,} bytes",
    ),
    "folder": ("prompts/person", in_place(Path.mkdir), "a folder stands in its place: put the file back."),
    "pipe": ("prompts/mood", in_place(os.mkfifo), "it is no ordinary file: put one in its place."),
    "circular link": ("prompts/time", locked, "it cannot be read (Too many levels of symbolic links)"),
    "strange name": (
        "prompts/mood",
        written("$mood, $weather"),
        "it uses $weather; it may use: $mood,",
    ),
    "lone dollar": ("prompts/judge", written("It costs $ 5."), "it has a `$` that begins no placeholder"),
    "lacking name": ("prompts/interrupted", written("It was interrupted."), "it lacks $log"),
    "moods": ("prompts/moods", written("- calm"), "it has no line of the form `- mood: thinks"),
    "sentence": ("prompts/sentences/failed", written(""), "it is empty"),
    "no front matter": ("playbooks/expert", written(SECRET), "it does not begin with front matter"),
    "unknown action": (
        "playbooks/problem_solving",
        written(GOOD.replace("Respond", "Respnod").replace("Mend it", SECRET)),
        "there is no action Respnod; is it Respond?",
    ),
    "unknown process": (
        "playbooks/problem_solving",
        written(GOOD.replace("when:", "then: concluding\nwhen:")),
        "there is no process concluding; there are",
    ),
    "no way to end": ("playbooks/expert", written(GOOD.replace(", Respond", "")), "it has no way to end"),
    "wrong shape": (
        "playbooks/expert",
        written(GOOD.replace("when:", f"limits: {{calls: {SECRET}}}\nwhen:")),
        "`limits.calls` holds something else where a whole number belongs",
    ),
}
OFTEN = ("empty", "latin-1", "unknown action", "folder")


def wrong_in(told: dict[str, object]) -> list[str]:
    found = told["wrong"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("how", [how if how in OFTEN else later(how) for how in TEXTS])
async def test_a_file_that_is_broken_live_is_named_until_it_is_mended(
    stage: Stage, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    name, broken, why = TEXTS[how]
    file = stage.words / f"{name}.md"
    was = file.read_bytes()
    await deciding(stage)
    assert wrong_in((await stage.health())[1]) == []
    broken(file)
    status, told = await stage.health()  # nobody has written anything
    [wrong] = wrong_in(told)
    assert wrong.startswith(f"{name}.md cannot be used: {why}")
    assert wrong.endswith("The last good version stays in use.")
    assert (status, told["ok"]) == (200, True), "it goes on with the version before"
    stage.model.say(reply("I am here."))
    ts = await stage.say("alice", ALICE, "Hello?")
    assert await stage.answers(ALICE, ts) == ["I am here."]
    assert wrong_in((await stage.health())[1]) == [wrong]
    assert [one for one in caplog.messages if "cannot be used" in one] == [wrong], "once"
    [fault] = stage.entries("fault")
    assert wrong == f"{fault.event.text} The last good version stays in use."
    assert SECRET not in str(told) + caplog.text + str(stage.entries("fault"))
    _restore(file, was)
    assert wrong_in((await stage.health())[1]) == []


def _restore(file: Path, was: bytes) -> None:
    if file.is_dir():
        file.rmdir()
    elif file.is_symlink() or file.is_fifo():
        file.unlink()
    file.write_bytes(was)


async def test_a_new_playbook_that_is_broken_is_left_out_and_named_until_it_is_mended_or_gone(
    stage: Stage,
) -> None:
    await deciding(stage)
    file = stage.words / "playbooks" / "later.md"
    file.write_text(GOOD.replace("Think", "Thnik"))
    [wrong] = wrong_in((await stage.health())[1])
    assert wrong == (
        "playbooks/later.md cannot be used: there is no action Thnik; is it Think? It is left out until then."
    )
    file.write_text(GOOD)
    assert wrong_in((await stage.health())[1]) == []
    (stage.words / "playbooks" / "other.md").write_text("Be kind.")
    assert len(wrong_in((await stage.health())[1])) == 1
    (stage.words / "playbooks" / "other.md").unlink()
    assert wrong_in((await stage.health())[1]) == []


async def test_a_playbook_is_mended_by_the_playbook_that_it_names(stage: Stage) -> None:
    await deciding(stage)
    file = stage.words / "playbooks" / "problem_solving.md"
    file.write_text(GOOD.replace("when:", "transitions: {later: it takes long}\nwhen:"))
    assert "there is no process later" in wrong_in((await stage.health())[1])[0]
    (stage.words / "playbooks" / "later.md").write_text(GOOD)
    assert wrong_in((await stage.health())[1]) == []


async def test_a_daemon_that_starts_with_an_unknown_action_does_without_it_and_names_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    file = stage.words / "playbooks" / "problem_solving.md"
    was = file.read_text()
    file.write_text(GOOD.replace("Think", "Thnik"))
    await deciding(stage)
    [wrong] = wrong_in((await stage.health())[1])
    assert wrong.endswith("there is no action Thnik; is it Think? What it names in vain is left out.")
    await stage.say("alice", ALICE, "Hello?")
    assert wrong_in((await stage.health())[1]) == [wrong]
    assert [one for one in caplog.messages if "Thnik" in one] == [wrong]
    file.write_text(was)
    assert wrong_in((await stage.health())[1]) == []


async def test_of_many_broken_files_the_first_are_named_and_the_others_counted(stage: Stage) -> None:
    await deciding(stage)
    (stage.words / "prompts").rename(stage.words / "away")
    wrong = wrong_in((await stage.health())[1])
    assert len(wrong) == 6
    assert "more of your files: `python -m daemon check` names all." in wrong[-1]
    async with stage.session.get(f"{stage.soul.url}/metrics") as answer:
        assert "soul_faults 6" in await answer.text()
    (stage.words / "away").rename(stage.words / "prompts")
    assert wrong_in((await stage.health())[1]) == []


async def test_a_folder_of_knowledge_that_is_gone_is_named_until_it_is_back(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "café"
    folder.mkdir()
    await deciding(stage, knowledge_dirs=(folder,))
    assert wrong_in((await stage.health())[1]) == []
    folder.rename(tmp_path / "away")
    for _ in range(2):
        [wrong] = wrong_in((await stage.health())[1])
        assert wrong.startswith("KNOWLEDGE_DIRS: the folder café cannot be read (No such file or directory)")
    assert caplog.messages.count(wrong) == 1
    (tmp_path / "away").rename(folder)
    assert wrong_in((await stage.health())[1]) == []


async def test_a_file_of_actions_that_is_changed_live_is_named_until_it_is_as_before(
    stage: Stage,
) -> None:
    await deciding(stage)
    assert wrong_in((await stage.health())[1]) == []
    file = stage.words / "actions" / "mine.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{SECRET} (")  # invalid at the next start
    status, told = await stage.health()
    assert (status, told["ok"]) == (200, True)
    assert wrong_in(told) == [
        "actions/mine.py was changed after the start: start the daemon anew to use it as it is now;"
        " `python -m daemon check` says whether it can be used."
    ]
    file.unlink()
    assert wrong_in((await stage.health())[1]) == []
