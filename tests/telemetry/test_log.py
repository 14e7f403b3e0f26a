"""Log lines at most once a minute, with counts of repeats."""

from __future__ import annotations

import io
import json
import logging
import re

import pytest

from daemon.telemetry.log import ALIKE, FIELDS, KEPT, MINUTE, DedupHandler, JsonFormatter, TextFormatter


class Log:
    """Log with a test's clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stream = io.StringIO()
        self.handler = DedupHandler(self.stream, lambda: self.now)
        self.logger = logging.Logger("x")
        self.logger.addHandler(self.handler)

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


def test_a_line_that_comes_again_is_written_once_a_minute_with_how_often_it_came() -> None:
    log = Log()
    for _ in range(10_000):
        log.logger.error("socket.accept() out of system resource")
    assert log.lines == ["socket.accept() out of system resource"]
    log.now += MINUTE
    log.logger.error("something else")
    told = "9999 times more in 60 seconds: socket.accept() out of system resource"
    assert log.lines[1:] == [told, "something else"]
    log.logger.error("socket.accept() out of system resource")
    assert len(log.lines) == 4


def test_lines_that_differ_in_their_words_only_are_bounded_too() -> None:
    log = Log()
    for n in range(1_000):
        log.logger.error("a bad request from %s", f"10.0.0.{n}")
    assert len(log.lines) == ALIKE
    log.handler.close()
    assert (
        log.lines[-1] == f"{1_000 - ALIKE} times more in 0 seconds: like: a bad request from 10.0.0.{ALIKE}"
    )


def test_two_errors_under_the_same_words_are_two_things() -> None:
    log = Log()
    for error in (KeyError("a"), KeyError("a"), KeyError("b"), ValueError("a")):
        try:
            raise error
        except (KeyError, ValueError):
            log.logger.exception("It failed.")
    assert log.lines.count("It failed.") == 3


def test_what_is_remembered_is_bounded() -> None:
    log = Log()
    for n in range(KEPT * 3):
        log.now += 1
        log.logger.error("line %d", n)
    assert len(log.handler._lines) <= KEPT + 1


def test_whoever_complains_in_words_that_do_not_fit_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    log.logger.warning("%d connections", "many")
    log.logger.warning("all is well")
    assert log.lines == ["all is well"]
    assert "--- Logging error ---" in capsys.readouterr().err


def test_what_is_no_complaint_is_written_as_often_as_it_comes() -> None:
    log = Log()
    for _ in range(3 * ALIKE):
        log.logger.info("a turn")
    assert log.lines == ["a turn"] * 3 * ALIKE


def test_a_line_has_its_time_and_as_json_its_fields_and_a_traceback() -> None:
    log = Log()
    log.handler.setFormatter(TextFormatter())
    log.logger.warning("The disk is full.")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ WARNING x: The disk is full\.", log.lines[0])
    log.handler.setFormatter(JsonFormatter())
    log.logger.info('It "ended".\nSo be it.', extra={FIELDS: {"calls": 2}})
    try:
        raise KeyError("a")
    except KeyError:
        log.logger.exception("It failed.")
    told, failed = [json.loads(line) for line in log.lines[1:]]
    assert (told["level"], told["message"], told["calls"]) == ("info", 'It "ended".\nSo be it.', 2)
    assert failed["traceback"].endswith("KeyError: 'a'")


FORGED = "down\r\n2026-11-28T00:00:00Z CRITICAL daemon: all is lost \x1b[2J\x9b31m \u202e\u2028 \ud800"
"""A model's address that imitates a log line and controls a terminal."""


@pytest.mark.parametrize("form", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
def test_a_text_from_outside_forges_no_line_and_moves_no_terminal(form: logging.Formatter) -> None:
    log = Log()
    log.handler.setFormatter(form)
    log.logger.warning("The model did not answer: %s", FORGED)
    try:
        raise ValueError(FORGED)
    except ValueError:
        log.logger.warning("The model did not answer: %s", FORGED, exc_info=True)
    text = log.stream.getvalue()
    begins = [line for line in text.split("\n") if line and not line.startswith("  ")]
    assert len(begins) == 2
    assert text.replace("\n", "").isprintable()


def test_a_text_of_json_is_read_back_as_it_was() -> None:
    log = Log()
    log.handler.setFormatter(JsonFormatter())
    log.logger.warning("%s", FORGED)
    assert json.loads(log.lines[0])["message"] == FORGED


def test_a_text_that_can_be_printed_is_logged_as_it_is() -> None:
    log = Log()
    log.handler.setFormatter(TextFormatter())
    log.logger.warning("Grüße an 東京: 50 %% \\n")
    assert log.lines[0].endswith("x: Grüße an 東京: 50 %% \\n")
