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

SENTENCE = re.compile(
    r"\b(?:pass ?(?:word|phrase|code|wort)s?|kennw[oö]rt\w*|(?:api|access|secret|private|signing) ?keys?"
    r"|(?:access|auth|api|bearer|refresh|secret) ?tokens?|credentials?|credit ?card)\b"
)
"""Words of a description that asks for a secret; "token" or "key" alone often means something else."""

LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0442\u043a\u043d\u0455\u0458\u0501"
    "\u03b1\u03b5\u03bf\u03c1\u03c5\u03ba\u03bd\u03b9\u03c4\u0131\u00df\u0142",
    "aeopcyxitkhsjdaeopukvitisl",
)
"""Cyrillic, Greek and other letters that look like Latin ones."""

DIGITS = (str.maketrans("013457@$!|", "oleastasil"), str.maketrans("013457@$!|", "oieastasil"))
"""Digits and signs that are read as letters; 1 is an l or an i."""

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
        for digits in DIGITS:
            yield _split(folded.translate(digits))


def _folded(text: str) -> str:
    """Return a text in plain Latin small letters: no accents, no look-alikes, nothing invisible."""
    letters = unicodedata.normalize("NFKD", text).casefold().translate(LOOK_ALIKES)
    return "".join(letter for letter in letters if unicodedata.category(letter) not in ("Mn", "Cf", "Cc"))


def _split(text: str) -> list[str]:
    return [word for word in SEPARATORS.split(text) if word]
