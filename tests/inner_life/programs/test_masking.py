"""Program output for the model: bounded, without secrets or control characters."""

from __future__ import annotations

import time

import pytest

from daemon.inner_life.programs.program_folder import CapturedOutput, output_in_words
from daemon.inner_life.programs.supervisor import ProgramLimits
from daemon.sandbox.foreign_output import (
    MASK,
    mask_head,
    mask_secrets,
    mask_tail,
    strip_control_characters,
)
from tests.inner_life.programs.workshop import Workshop, python

OURS = "a console word of ours"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
SECRETS = (
    "xoxb-123456-abcdef",
    "xoxe.xoxp-1-abcdefgh",
    "xapp-1-A0-123-abc",
    "sk-ant-api03-abc_DEF-123456",
    "ghp_0123456789abcdef0123",
    "github_pat_0123456789abcdef0123",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "glpat-0123456789abcdef0123",
    "AIzaSy0123456789_0123456789-0123456789",
    "eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM",
    "eyJhbGciOi.eyJzdWIiOi",
    PEM,
)


@pytest.mark.parametrize("secret", [OURS, *SECRETS])
def test_a_secret_is_masked_wherever_it_stands(secret: str) -> None:
    for text in (secret, f"key={secret}", f'"{secret}",', f"a {secret} b {secret}\n", f"<{secret}>"):
        assert secret not in mask_secrets(text, [OURS])
        assert MASK in mask_secrets(text, [OURS])


def test_what_follows_a_scheme_is_masked() -> None:
    assert mask_secrets("Authorization: Bearer abcdefgh.ijk", ()) == f"Authorization: Bearer {MASK}"
    assert mask_secrets("AUTHORIZATION: BEARER ABCDEFGH", ()) == f"AUTHORIZATION: BEARER {MASK}"
    assert mask_secrets("authorization: basic dXNlcjpwYXNzd29yZA==", ()) == f"authorization: basic {MASK}"
    assert mask_secrets("postgres://soul:pass@word@host/db", ()) == f"postgres://{MASK}@host/db"


def test_what_is_none_stays() -> None:
    text = (
        "The task-force asked for disk-usage: https://example.org/a?b=c@d, eyJ, -----BEGIN CERTIFICATE-----"
    )
    assert mask_secrets(text, ["", "x"]) == text


@pytest.mark.parametrize("secret", [OURS, "xoxb-123456-abcdef"])
def test_characters_that_nobody_sees_hide_no_secret(secret: str) -> None:
    for hidden in ("\0", "\x1b[31m", "\u200b", "\u202e", "\x08", "\x1b]0;title\x07", "\U000e0041"):
        text = strip_control_characters(hidden.join(secret).encode())
        assert mask_secrets(text, [OURS]) == MASK
    assert mask_secrets(strip_control_characters(secret.encode("utf-16-be")), [OURS]) == MASK


def test_what_does_something_is_gone() -> None:
    raw = b"\x1b[2J\x1b]0;title\x07one\rtwo\r\nthree\x07\x9b\xff\tfour\x1b"
    assert strip_control_characters(raw) == "one\ntwo\nthree\ufffd\ufffd\tfour"


@pytest.mark.parametrize("secret", [OURS, *SECRETS])
def test_no_cut_leaves_half_a_secret(secret: str) -> None:
    most = 80
    for before in range(200):
        text = "." * before + " " + secret + " " + "." * 200
        said = output_in_words(CapturedOutput(head=text.encode()), [OURS], most, "f")
        assert len(said) < most + 100
        rest = said.replace(MASK, "")
        assert not any(secret[at : at + 6] in rest for at in range(len(secret) - 5)), said


@pytest.mark.parametrize("secret", [*SECRETS])
def test_nor_does_what_was_never_kept(secret: str) -> None:
    half = len(secret) // 2
    head, tail = f"all is well {secret[:half]}", f"{secret[half:]} all was well"
    said = output_in_words(
        CapturedOutput(head=head.encode(), tail=tail.encode(), lost=10), [OURS], 4_000, "f"
    )
    assert not any(secret[at : at + 6] in said for at in range(len(secret) - 5)), said
    assert said.startswith("all is well")
    assert said.endswith("all was well")


def test_long_words_without_an_end_are_cut() -> None:
    assert len(mask_head("x" * 100_000, ())) == 100_000 - 16_384
    assert len(mask_tail("x" * 100_000, ())) == 100_000 - 16_384


@pytest.mark.parametrize(
    "unit", ["eyJ", " eyJaaaaaaa.", "://a:", "-----BEGIN PRIVATE KEY-----", "\x1b]", "-"]
)
def test_it_takes_no_time_to_speak_of(unit: str) -> None:
    began = time.process_time()
    mask_secrets(strip_control_characters(unit.encode() * (2_000_000 // len(unit))), ["secret"])
    mask_tail(unit * 10_000, ())
    assert time.process_time() - began < 5


async def test_of_ten_megabytes_head_and_tail_are_told(workshop: Workshop) -> None:
    code = "import sys; sys.stdout.write('begin ' + 'words ' * 1_750_000 + 'end')"
    ended = await workshop.run(python(code))
    assert ended.status == "ok"
    assert len(ended.result) < 4_500
    _, _, head, between, tail = ended.result.splitlines()
    assert (head[:6], tail[-3:]) == ("begin ", "end")
    assert between.startswith("[about 10,4")
    [folder] = workshop.home.iterdir()
    assert between.endswith(f"an owner finds more in processes/{folder.name}/stdout]")
    kept = {path.name: path.stat().st_size for path in folder.glob("std*")}
    assert kept == {"stdout": 2 * 2**20, "stdout.tail": 2**16, "stderr": 0}


async def test_what_is_kept_in_two_parts_is_told_as_one(workshop: Workshop) -> None:
    text = " ".join(map(str, range(700)))
    ended = await workshop.run(python(f"print({text!r})"), bounds=ProgramLimits(kept=1_000))
    assert ended.result.splitlines()[-1] == text
    [folder] = workshop.home.iterdir()
    kept = [(folder / name).stat().st_size for name in ("stdout", "stdout.tail")]
    assert kept == [1_000, len(text) + 1 - 1_000]


async def test_the_secrets_of_the_owner_are_masked_in_what_is_recorded(workshop: Workshop) -> None:
    code = f"import sys; print('{OURS}', 'sk-ant-abcdefghijk'); print('{OURS}', file=sys.stderr)"
    ended = await workshop.run(python(code), secrets=[OURS])
    assert ended.status == "warning"
    assert ended.result.splitlines()[1:] == ["stdout:", f"{MASK} {MASK}", "stderr:", MASK]
