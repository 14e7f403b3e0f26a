"""Output of foreign programs as text that is safe to show: no control characters, secrets masked."""

from __future__ import annotations

import re
from collections.abc import Collection

MASK = "[masked]"


SHORTEST = 6
"""Least characters of a masked secret: shorter ones would hide ordinary text."""


LONGEST_WORD = 16_384


BLANK = re.compile(r"\s")


SHAPES = tuple(
    re.compile(shape, re.DOTALL)
    for shape in (
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
        r"xox[a-z]{1,2}[-.][\w.%-]{6,}",
        r"xapp-[\w-]{6,}",
        r"sk-[\w-]{10,}",
        r"gh[oprsu]_\w{16,}",
        r"github_pat_\w{16,}",
        r"glpat-[\w-]{16,}",
        r"AKIA[0-9A-Z]{12,}",
        r"ASIA[0-9A-Z]{12,}",
        r"AIza[\w-]{30,}",
        r"(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?",
        r"(?<=[Bb]earer )[^\s\"',;]{8,}",
        r"(?<=BEARER )[^\s\"',;]{8,}",
        r"(?<=[Bb]asic )[A-Za-z0-9+/]{12,}={0,2}",
        r"(?<=://)[^\s/:@]*:[^\s/]+(?=@)",
    )
)
"""Forms of tokens, keys and passwords; each pattern takes linear time."""


KEY_ENDS = re.compile(r"\A(?:(?!-----BEGIN ).)*?-----END [A-Z ]{0,40}PRIVATE KEY-----", re.DOTALL)
"""The rest of a private key whose beginning was cut off."""


SEQUENCES = re.compile(r"\x1b(?:\[[0-9;:<=>?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Terminal escape sequences."""


UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def strip_control_characters(raw: bytes) -> str:
    """Decode output into text that is safe to show."""
    return strip_control_text(raw.decode("utf-8", errors="replace"))


def strip_control_text(text: str) -> str:
    """Return text without terminal escapes, control characters and invisible ones."""
    text = SEQUENCES.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return UNSEEN.sub("", text)


def mask_secrets(text: str, secrets: Collection[str]) -> str:
    """Mask the given secrets and texts that look like secrets."""
    text = mask_given(text, secrets)
    for shape in SHAPES:
        text = shape.sub(MASK, text)
    return text


def mask_given(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = text.replace(secret, MASK)
    return text


def mask_head(text: str, secrets: Collection[str]) -> str:
    """Mask the head of a cut text and drop its last word, which may be a part of a secret."""
    whole = max(text.rfind(" "), text.rfind("\n"), len(text) - LONGEST_WORD)
    return mask_secrets(text[:whole], secrets)


def mask_tail(text: str, secrets: Collection[str]) -> str:
    """Mask the tail of a cut text and drop its first word, which may be a part of a secret."""
    begins = BLANK.search(text, 0, LONGEST_WORD)
    whole = text[LONGEST_WORD:]
    if begins:
        whole = text[begins.end() :]
    return mask_secrets(KEY_ENDS.sub(MASK, whole), secrets)


def head_and_tail(text: str, most: int) -> tuple[str, str]:
    """Return head and tail of a text, `most` characters together; the tail is empty if the text fits."""
    if len(text) <= most:
        return text, ""
    half = most // 2
    return text[:half], text[-half:]
