"""Log records as messages."""

from __future__ import annotations

import io
import json
import logging
import sys
from pathlib import Path

import kymograph as kymo
import pytest
from kymograph._logging import LogHandler

sys.path.append(str(Path(__file__).parent))
from support import command


@pytest.fixture
def logger() -> logging.Logger:
    """Return a logger that nobody else listens to."""
    logger = logging.Logger("train.loop")
    logger.addHandler(LogHandler())
    return logger


def messages_of(capture: Path) -> list[str]:
    assert kymo.stop_capture()
    events = json.loads(command("export", "--to", "chrome", "-o", "/dev/stdout", capture))["traceEvents"]
    return [event["name"] for event in events if event["ph"] == "i" and event["cat"] == "message"]


def test_records_become_messages(logger: logging.Logger, tmp_path: Path) -> None:
    logger.warning("before")
    kymo.start_capture(tmp_path / "run.kymo")
    logger.warning("loss is %s", 0.5)
    logger.debug('"quoted", \N{SNOWMAN}\nnext line')
    logger.handlers[0].setLevel(logging.ERROR)
    logger.warning("below the level")
    try:
        raise LookupError("gone")
    except LookupError:
        logger.exception("failed")
    logger.handlers[0].setFormatter(logging.Formatter("%(message)s!"))
    logger.error("half a pair: %s", "\ud800")
    messages = messages_of(tmp_path / "run.kymo")
    assert messages[:2] == ["WARNING train.loop: loss is 0.5", 'DEBUG train.loop: "quoted", \N{SNOWMAN}\nnext line']
    assert messages[2].startswith("ERROR train.loop: failed\nTraceback")
    assert messages[2].endswith("LookupError: gone")
    assert messages[3] == "half a pair: \\ud800!"
    assert len(messages) == 4


def test_a_record_that_cannot_be_formatted_raises_nothing(
    logger: logging.Logger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Nasty:
        def __str__(self) -> str:
            raise RuntimeError("nasty")

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    kymo.start_capture(tmp_path / "run.kymo")
    logger.info("%s", Nasty())
    logger.info("%d", "no number")
    logger.info("after")
    assert messages_of(tmp_path / "run.kymo") == ["INFO train.loop: after"]


def test_what_logs_while_it_is_logged_does_not_go_round_in_circles(logger: logging.Logger, tmp_path: Path) -> None:
    class Talkative:
        def __str__(self) -> str:
            logger.info("inside %s", self)
            return "text"

    kymo.start_capture(tmp_path / "run.kymo")
    logger.info("%s", Talkative())
    logger.info("after")
    assert messages_of(tmp_path / "run.kymo") == ["INFO train.loop: text", "INFO train.loop: after"]
