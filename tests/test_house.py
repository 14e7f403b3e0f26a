"""Agreement of settings, requirements and locks with the code; no traces of a workplace."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from io import StringIO
from itertools import pairwise

import pytest
from dotenv import dotenv_values
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from config import Settings
from tests.soak import later
from tests.source import ROOT, each, imported

LOCKS = {
    f"{name}.txt": f"{name}.lock" for name in ("requirements", "requirements-dev", "requirements-postgres")
}
EXAMPLE = re.compile(r"^#([A-Z][A-Z_]*)=(.*)$")
TRACES = ("/work" + "/", "/opt" + "/", "/root" + "/", "/home" + "/", "index" + "-url", "find" + "-links")
"""Split, so that this file does not match."""
OURS = {"config", "daemon", "rehearsal", "benchmarks", "tests"}


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def example() -> dict[str, str]:
    found = filter(None, map(EXAMPLE.match, text_of(".env.example").splitlines()))
    return {match[1]: match[2] for match in found}


def required(path: str) -> dict[str, Requirement]:
    lines = (line.split("#")[0].strip() for line in text_of(path).splitlines())
    needed = [Requirement(line) for line in lines if line and not line.startswith("-r")]
    return {canonicalize_name(one.name): one for one in needed}


def locked(path: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", text_of(path), re.MULTILINE))


def test_the_example_names_every_setting_with_its_default() -> None:
    assert example().keys() == {name.upper() for name in Settings.__dataclass_fields__}
    assert Settings.from_env(example()) == Settings()
    shown = {name for name, value in example().items() if value}
    fields = Settings.__dataclass_fields__.values()
    assert shown == {one.name.upper() for one in fields if one.default or one.default is False}


def test_the_example_says_a_line_of_meaning_before_every_variable() -> None:
    lines = text_of(".env.example").splitlines()
    bare = [line for above, line in pairwise(lines) if EXAMPLE.match(line) and above[:2] != "# "]
    assert bare == []


def test_the_example_as_it_is_sets_nothing() -> None:
    assert dotenv_values(stream=StringIO(text_of(".env.example"))) == {}


@pytest.mark.parametrize("path", LOCKS)
def test_every_requirement_is_bounded_explained_and_locked(path: str) -> None:
    versions = locked(LOCKS[path])
    for name, one in required(path).items():
        assert {part.operator for part in one.specifier} == {">=", "<"}, (
            f"{name}: from and below which version?"
        )
        assert one.specifier.contains(versions[name]), f"{name} {versions[name]} is locked: run `make lock`"
    plain = [
        line for line in text_of(path).splitlines() if line and line[0] not in "#-" and " # " not in line
    ]
    assert plain == [], "why is it there?"


@pytest.mark.parametrize("path", LOCKS.values())
def test_every_locked_package_has_its_hashes(path: str) -> None:
    for package in re.split(r"\n(?=[a-z])", text_of(path))[1:]:
        assert "--hash=sha256:" in package, package


def test_the_locks_agree() -> None:
    assert locked("requirements.lock").items() <= locked("requirements-dev.lock").items()


@pytest.mark.parametrize(
    ("places", "paths"),
    [
        (("config.py", "daemon", "rehearsal"), ["requirements.txt"]),
        later(("benchmarks", "tests"), ["requirements.txt", "requirements-dev.txt"]),
    ],
)
def test_what_is_imported_is_required(places: tuple[str, ...], paths: list[str]) -> None:
    names = {target.split(".")[0] for one in each(*places) for target, _ in imported(one.tree)}
    foreign = names - sys.stdlib_module_names - OURS
    providers = packages_distributions()
    allowed = {name for path in paths for name in required(path)}
    assert [name for name in foreign if not {*map(canonicalize_name, providers[name])} & allowed] == []


def test_no_file_tells_where_it_was_made() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    paths = [path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file()]
    if not paths:
        pytest.skip("not a git checkout")
    texts = ((path, (ROOT / path).read_bytes()) for path in paths)
    assert [(path, trace) for path, text in texts for trace in TRACES if trace.encode() in text] == []


def test_bare_make_lists_the_commands() -> None:
    shown = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    [phony] = re.findall(r"^\.PHONY: (.*)$", text_of("Makefile"), re.MULTILINE)
    assert [line.split()[1] for line in shown.splitlines()] == phony.split()
