"""The Dockerfile, and a daemon run from the files that it copies."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from fnmatch import fnmatch
from importlib.util import cache_from_source
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.source import ROOT

RECIPE = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))


def steps(*names: str) -> list[str]:
    """Return the arguments of these instructions, in order."""
    found = (line.partition(" ") for line in RECIPE.splitlines() if line and line[0] != "#")
    return [argument.strip() for name, _, argument in found if name in names]


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in steps("ENV") for pair in line.split())


def ignored(path: str) -> bool:
    """True if .dockerignore excludes this; the last matching line decides."""
    out, parts = False, path.split("/")
    above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.removeprefix("!").removeprefix("**/")
        names = parts if "**/" in line else above
        if line and line[0] != "#" and any(fnmatch(name, pattern) for name in names):
            out = not line.startswith("!")
    return out


def copy_compiled(file: Path, place: Path) -> None:
    """Copy compiled code: modules without source cannot be imported."""
    if file.suffix == ".py" and (known := Path(cache_from_source(str(file)))).exists():
        compiled = Path(cache_from_source(str(place)))
        compiled.parent.mkdir(exist_ok=True)
        shutil.copy(known, compiled)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    app = tmp_path / "app"
    for copied in steps("COPY"):
        *sources, target = copied.split()
        for source in sources:
            for file in [*(ROOT / source).rglob("*")] or [ROOT / source]:
                path = file.relative_to(ROOT)
                if file.is_file() and not ignored(path.as_posix()):
                    place = (
                        app / target / (path.relative_to(source) if (ROOT / source).is_dir() else path.name)
                    )
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file, place)
                    copy_compiled(file, place)
    return app


def test_it_begins_with_a_small_official_python() -> None:
    [base] = steps("FROM")
    assert re.fullmatch(r"python:3\.\d+-slim", base)


def test_it_installs_the_lock_and_checks_every_hash() -> None:
    installs = [step for step in steps("RUN") if "pip install" in step]
    assert [re.sub(" +", " ", step.partition("pip install ")[2]) for step in installs] == [
        "--no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock"
    ]


def test_the_packages_are_installed_before_the_code_comes() -> None:
    assert RECIPE.index("COPY requirements.lock") < RECIPE.index("pip install") < RECIPE.index("COPY daemon")


def test_it_runs_as_nobody_special_and_owns_only_its_home() -> None:
    [user] = steps("USER")
    making = " ".join(steps("RUN"))
    assert user not in ("root", "0")
    assert f"useradd --system --uid 10001 --no-create-home {user}" in making
    assert f"install -d -o {user} -g {user} {environment()['SOUL_HOME']}" in making
    assert RECIPE.index("useradd") < RECIPE.index("USER") < RECIPE.index("ENTRYPOINT")
    assert "chown" not in making


def test_its_home_is_a_volume_and_its_port_is_open_to_others() -> None:
    assert steps("VOLUME") == [environment()["SOUL_HOME"]]
    assert steps("EXPOSE") == [environment()["PORT"]]
    assert environment()["HOST"] == "0.0.0.0"
    assert "CONSOLE_TOKEN" not in environment(), "a token in an image is everybody's"


def test_signals_reach_python_itself() -> None:
    assert json.loads(*steps("ENTRYPOINT")) == ["python", "-m", "daemon"]
    assert not steps("CMD")


@pytest.mark.parametrize(
    "path",
    [
        *(".env", ".env.local", ".git/config", "var/journal.db", "journal.db", ".venv/bin/python", ".ci/run"),
        *("tests/source.py", "benchmarks/__init__.py", "daemon/__pycache__/app.pyc", "docs/page.png"),
    ],
)
def test_what_has_no_business_there_stays_out(path: str) -> None:
    assert ignored(path)


def test_what_the_recipe_copies_is_let_in() -> None:
    sources = [source for copied in steps("COPY") for source in copied.split()[:-1]]
    assert [source for source in sources if ignored(source) or not (ROOT / source).exists()] == []


READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount -o remount,bind,ro / || exit 77
cd "$1" && shift && exec "$@"
"""
"""Shell script that runs a command where nothing of the root and of its first argument can be written."""


def may_mount() -> bool:
    """True if this machine lets a new user namespace mount."""
    tried = ["unshare", "--map-root-user", "--mount", "mount", "-o", "remount,bind,ro", "/"]
    return (
        bool(shutil.which("unshare"))
        and subprocess.run(tried, capture_output=True, check=False).returncode == 0
    )


def daemon(app: Path, *within: str, **env: str) -> subprocess.Popen[str]:
    """Start the image's entry point; `within` is a wrapping command."""
    _, *rest = json.loads(*steps("ENTRYPOINT"))
    return subprocess.Popen(
        [*within, sys.executable, *rest],
        cwd=app,
        env={"PATH": os.environ["PATH"], **environment(), "SOUL_HOME": str(app.parent / "soul"), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def healthy(port: str) -> bool:
    [check] = steps("HEALTHCHECK")
    _, *rest = json.loads(check.partition("CMD ")[2])
    environ = environment() | {"PORT": port}
    return (
        subprocess.run([sys.executable, *rest], env=environ, capture_output=True, check=False).returncode == 0
    )


def test_what_is_copied_is_enough_to_live_and_the_healthcheck_sees_it(image: Path) -> None:
    assert (image / "manifest.json").exists(), "the doctor reads it"
    with daemon(image, PORT="0", CONSOLE_TOKEN="open sesame, and be quick") as process:
        assert process.stdout
        try:
            ready = next(line for line in process.stdout if line.startswith("ready"))
            port = str(urlsplit(ready.split()[-1]).port)
            assert healthy(port)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
            assert not healthy(port)
        finally:
            process.kill()


@pytest.mark.skipif(not may_mount(), reason="no user namespaces here")
def test_it_runs_with_a_root_that_cannot_be_written(image: Path) -> None:
    (image.parent / "soul").mkdir()
    (image.parent / "tmp").mkdir()
    within = ("unshare", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh", str(image))
    token, place = "open sesame, and be quick", str(image.parent / "tmp")
    with daemon(image, *within, PORT="0", CONSOLE_TOKEN=token, TMPDIR=place) as process:
        assert process.stdout
        try:
            ready = next(line for line in process.stdout if line.startswith("ready"))
            assert healthy(str(urlsplit(ready.split()[-1]).port))
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
    assert not (image / "var").exists()


def test_without_a_token_it_says_so_and_does_not_start(image: Path) -> None:
    with daemon(image) as process:
        said = process.communicate(timeout=30)[1]
    assert process.returncode == 78
    assert said.startswith("CONSOLE_TOKEN is missing; with a HOST that is not")
