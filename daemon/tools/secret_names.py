"""Names of fields that ask for a password, a key or the like, however they are spelt.

A form is no place for a secret: Slack and the journal would keep it. So a name that looks like one is enough.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

STEMS = (
    *("password", "passwd", "passwrd", "passwort", "passphrase", "passcode", "passkey", "pwd", "kennwort"),
    *("contrasena", "motdepasse", "wachtwoord", "senha", "haslo", "parol", "lozinka", "salasana"),
    *("secret", "geheim", "token", "apikey", "accesskey", "privatekey", "credential", "zugangsdaten"),
    *("bearer", "cookie", "seedphrase", "mnemonic", "recoverycode", "securitycode", "verificationcode"),
    *("onetimecode", "pincode", "creditcard", "cardnumber", "kreditkarte", "socialsecurity", "iban"),
)
"""Parts of a name, without its separators, that show it to be one of a secret."""

WORDS = frozenset(
    {
        *("key", "keys", "apikeys", "schluessel", "schlussel", "clave", "cle", "chiave", "chave", "klucz"),
        *("pass", "pw", "pin", "tan", "otp", "totp", "mfa", "2fa", "cvv", "cvc", "ssn", "jwt", "auth"),
    }
)
"""Whole words of a name, or whole names, that show the same."""

HARMLESS = ("secretary", "secretariat", "cookieless", "ibanez")
"""Words that hold a stem and ask for no secret."""

SENTENCE = re.compile(
    r"\b(?:pass ?(?:word|phrase|code|wort)s?|kennw[oö]rt\w*|(?:api|access|secret|private|signing) ?keys?"
    r"|(?:access|auth|api|bearer|refresh|secret) ?tokens?|credentials?|credit ?card)\b"
)
"""Words of a description that asks for a secret; "token" or "key" alone often means something else."""

LOOK_ALIKES = {
    **{
        0x0430: "a",
        0x0435: "e",
        0x043E: "o",
        0x0440: "p",
        0x0441: "c",
        0x0443: "y",
        0x0445: "x",
        0x0456: "i",
        0x0442: "t",
        0x043A: "k",
        0x043D: "h",
        0x0455: "s",
        0x0458: "j",
        0x0501: "d",
    },
    **{
        0x03B1: "a",
        0x03B5: "e",
        0x03BF: "o",
        0x03C1: "p",
        0x03C5: "u",
        0x03BA: "k",
        0x03BD: "v",
        0x03B9: "i",
        0x03C4: "t",
        0x0131: "i",
        0x00DF: "s",
        0x0142: "l",
    },
}
"""Cyrillic, Greek and other letters that look like Latin ones."""

DIGITS = {
    0x30: "o",
    0x31: "l",
    0x33: "e",
    0x34: "a",
    0x35: "s",
    0x37: "t",
    0x40: "a",
    0x24: "s",
    0x21: "i",
    0x7C: "l",
}
"""Digits and signs that are read as letters."""

OTHER_DIGITS = {**DIGITS, 0x31: "i"}
"""The same, with a 1 as an i."""

CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
SEPARATORS = re.compile(r"[^a-z0-9]+")


def is_secret_name(name: str) -> bool:
    """True if a field of this name asks for something that is to stay secret."""
    for words in _readings(name):
        whole = "".join(words)
        for harmless in HARMLESS:
            whole = whole.replace(harmless, "")
        if whole in WORDS or WORDS & set(words) or any(stem in whole for stem in STEMS):
            return True
    return False


def asks_for_secret(text: str) -> bool:
    """True if a sentence asks for a password, a key or the like."""
    plain = re.sub(r"[^\w]+|_", " ", _folded(text))
    return bool(SENTENCE.search(plain))


def _readings(name: str) -> Iterator[list[str]]:
    spaced = CAMEL.sub(" ", name)
    for text in {spaced, name}:
        folded = _folded(text)
        yield _split(folded)
        for digits in (DIGITS, OTHER_DIGITS):
            yield _split(folded.translate(digits))


def _folded(text: str) -> str:
    """Return a text in plain Latin small letters: no accents, no look-alikes, nothing invisible."""
    letters = unicodedata.normalize("NFKD", text).casefold().translate(LOOK_ALIKES)
    return "".join(letter for letter in letters if unicodedata.category(letter) not in ("Mn", "Cf", "Cc"))


def _split(text: str) -> list[str]:
    return [word for word in SEPARATORS.split(text) if word]
