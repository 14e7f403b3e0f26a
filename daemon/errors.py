"""The tree of errors; each message says what happened and what to do.

SoulError
├── ConfigError      a setting is missing or wrong: the daemon does not start, or ends (exit 78)
├── JournalError     the journal cannot be read or written: no ack, no answer until it can
│   ├── JournalHeld     another daemon holds this journal (exit 78)
│   ├── JournalOther    it was written by a daemon of another version (exit 78)
│   └── JournalDamaged  what stands in the file is not what was written: no restart mends it
├── Fenced           another attempt at this thread began after ours: stop, touch nothing
├── ModelFailed      Claude could not answer: the turn is postponed
└── SpeechFailed     Slack did not take what was to be said: the turn is tried again
    └── SpeechRefused  and takes nothing there at all: the turn ends

Parked is no error: a body that waits for an answer leaves its turn with it.
"""


class SoulError(Exception):
    """Base of all errors of the daemon's own."""


class ConfigError(SoulError):
    """A setting is missing or wrong. The text names every bad key, a line each, and is for the owner."""


class JournalError(SoulError):
    """The journal cannot be read or written."""


class JournalHeld(JournalError):
    """Another daemon holds the lock of this journal."""


class JournalOther(JournalError):
    """The journal has a version that this daemon does not read."""


class JournalDamaged(JournalError):
    """What stands in the journal's file is not what was written there."""


class Fenced(SoulError):
    """Another attempt at this thread began after ours."""


class SpeechFailed(SoulError):
    """Slack did not take what was to be said, or nobody knows whether it did: look before repeating."""


class SpeechRefused(SpeechFailed):
    """Slack takes nothing in this conversation: it is archived, say, or the soul was put out of it."""


class Parked(BaseException):
    """A body waits for the answer to a question; `ask` alone raises it, the turn alone catches it.

    No Exception, so that whoever calls an action and catches what goes wrong in it lets this pass.
    """


class ModelFailed(SoulError):
    """A model call ended without an answer, after all retries. `failure` is the word in the call's entry."""

    def __init__(self, failure: str) -> None:
        super().__init__(failure)
        self.failure = failure
