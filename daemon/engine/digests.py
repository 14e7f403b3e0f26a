"""Digests of entries, which stand beside them in the file: an entry that was altered does not fit its own.

They tell of accidents and careless edits. Whoever can write to the file can write a digest, too.
"""

from __future__ import annotations

import hashlib

from daemon.engine.tables import Stored

DIGEST_BYTES = 16
"""Bytes of a digest: an alteration that keeps it is out of the question, and a row grows by 17 bytes."""


def digest_of_row(row: Stored) -> bytes:
    """Digest all that is recorded of an entry, its seq included: also two rows that were swapped are seen.

    Lengths come before texts, so that nothing can move from one column into the next. A damaged cell, which
    may be of any type, counts as Python shows it.
    """
    seq, thread, kind, author, body, key, cause, closes, at = row
    try:
        lengths = f"{len(thread)} {len(kind)} {len(author)} {len(key)} {len(closes)}"
    except TypeError:  # a number, or nothing, where a text should be
        return digest_of_row(
            (seq, repr(thread), repr(kind), repr(author), body, repr(key), cause, repr(closes), at)
        )
    recorded = f"{seq} {cause!r} {at!r} {lengths}\n{thread}{kind}{author}{key}{closes}{body}"
    return hashlib.sha256(recorded.encode(errors="surrogatepass")).digest()[:DIGEST_BYTES]
