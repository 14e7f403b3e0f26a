"""The rules of digests, and of the hashes of what is forgotten, each with what shows that it is needed."""

from __future__ import annotations

from tests.core.mutant import rule

ALTERED = "tests/engine/test_digests.py::test_verify_names_each_entry_that_was_altered"
DIGESTS = "tests/engine/test_digests.py::test_"
HASHES = "tests/engine/test_unhashing.py::test_"

DIGESTED = (
    rule(
        "digests: the words of an entry are in it",
        "engine/digests.py",
        '{closes}{body}"',
        '{closes}"',
        f"{ALTERED}[a word]",
    ),
    rule(
        "digests: the seq of an entry is in it",
        "engine/digests.py",
        'f"{seq} {cause!r}',
        'f"{cause!r}',
        f"{ALTERED}[two entries]",
    ),
    rule(
        "digests: lengths come before texts",
        "engine/digests.py",
        " {at!r} {lengths}",
        " {at!r}",
        f"{ALTERED}[a letter that moves into the next column]",
    ),
    rule(
        "digests: one is written with its entry",
        "engine/store.py",
        "(*stored, digest_of_row(stored)),",
        "(*stored, None),",
        f"{DIGESTS}a_digest_is_written_with_the_entry_and_is_small",
    ),
    rule(
        "digests: one that is missing is named",
        "engine/verify.py",
        "if digest is None and self._since < seq <= self._upto:",
        "if digest is None:",
        f"{ALTERED}[no digest]",
    ),
    rule(
        "digests: it may be missing only where it was not added yet",
        "engine/verify.py",
        "self._since < seq <= self._upto",
        "seq <= self._upto",
        f"{DIGESTS}what_is_altered_in_a_half_is_found_where_digests_are_there",
    ),
    rule(
        "digests: an older journal is of today's version from the first of them on",
        "engine/opening.py",
        "        if version != VERSION:\n",
        "        if version == 0:\n",
        f"{DIGESTS}a_journal_that_has_digests_is_opened_by_no_older_program",
    ),
    rule(
        "digests: an older journal gets them when it is opened",
        "engine/journal.py",
        "            self._add_digests(written)\n",
        "",
        f"{DIGESTS}an_older_journal_gets_its_digests_when_it_is_first_opened",
    ),
    rule(
        "digests: a disk that is full keeps no daemon from its start",
        "engine/journal.py",
        '            store.rollback()\n            log.error("Older entries',
        '            raise\n            log.error("Older entries',
        f"{DIGESTS}a_disk_that_is_full_keeps_no_daemon_from_its_start",
    ),
    rule(
        "forgetting: the digest goes with the words",
        "engine/store.py",
        '"update entry set key = ?, body = ?, digest = ? where seq = ?", (key, body, digest, seq)',
        '"update entry set key = ?, body = ? where seq = ?", (key, body, seq)',
        f"{HASHES}no_hash_of_what_was_said_is_left_in_any_file",
    ),
    rule(
        "forgetting: fingerprints go with the words",
        "engine/overwriting.py",
        "_without_names(kinds.unhash(row[2], body), row[0], names, contexts)",
        "_without_names(body, row[0], names, contexts)",
        f"{HASHES}no_hash_of_what_was_said_is_left_in_any_file",
    ),
    rule(
        "forgetting: names that are made of content go with the words",
        "engine/overwriting.py",
        "keys = [renamed(row[5], row[0], contexts) for row in rows]",
        "keys = [row[5] for row in rows]",
        f"{HASHES}no_hash_of_what_was_said_is_left_in_any_file",
    ),
    rule(
        "forgetting: such a name goes also where a key is told",
        "engine/overwriting.py",
        "_without_names(kinds.unhash(row[2], body), row[0], names, contexts)",
        "kinds.unhash(row[2], body)",
        f"{HASHES}a_key_that_is_told_elsewhere_holds_none_of_it",
    ),
    rule(
        "forgetting: the hashes of an execution go that recorded some of the words",
        "engine/overwriting.py",
        '        if "@" in str(key):\n',
        "        if not str(key):\n",
        f"{HASHES}a_copy_of_the_same_hash_goes_with_it",
    ),
    rule(
        "forgetting: a later life clears the hashes, too",
        "engine/overwriting.py",
        "        unhash(store, kinds, executions_of(store, kinds, forgotten.seqs))\n",
        "",
        f"{HASHES}a_kill_at_any_boundary_leaves_none[3-]",
    ),
    rule(
        "forgetting: a request hash goes with the words",
        "kinds/thoughts.py",
        '    hashes: ClassVar[tuple[str, ...]] = ("saw",)\n',
        "",
        "tests/test_kinds.py::test_a_request_hash_goes_also_where_the_call_stays",
    ),
    rule(
        "forgetting: what is forgotten is read back without comparison",
        "engine/recorded.py",
        "entry.event.fingerprint not in (fingerprint, UNHASHED)",
        "entry.event.fingerprint != fingerprint",
        f"{HASHES}such_steps_are_read_back_without_comparison",
    ),
    rule(
        "forgetting: nobody can ask any more for what was named by its content",
        "engine/recorded.py",
        " if not is_renamed(entry.key)}",
        "}",
        f"{HASHES}such_steps_are_read_back_without_comparison",
    ),
    rule(
        "forgetting: two questions without a hash are not the same",
        "engine/event.py",
        ' and self.fingerprint not in ("", UNHASHED)',
        "",
        f"{HASHES}a_yes_to_what_is_forgotten_is_no_yes_to_another_question",
    ),
    rule(
        "forgetting: what an older version left of hashes is cleared with the migration",
        "engine/migration.py",
        "        _clear_hashes(store, kinds)\n",
        "        pass\n",
        f"{HASHES}what_an_older_version_left_of_them_is_cleared_with_the_migration",
    ),
)
"""What is altered is found, and what is forgotten leaves nothing that could be guessed."""
