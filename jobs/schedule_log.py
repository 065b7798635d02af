"""The scheduler's log: standard logging to stderr, one line per event, times in UTC."""

import logging
import sys
import time
from dataclasses import dataclass

from jobs.console import Console

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConsole(Console):
    """Console of the jobs of a daemon: notes become events, progress is left out."""

    def progress(self, text: str) -> None:
        """Leave it out; the log tells the outcome."""

    def note(self, text: str) -> None:
        """Log it."""
        log.warning("%s", text)


class OneLine(logging.Formatter):
    """Keeps every event on one line, so that a line can be found and counted."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return " ".join(super().format(record).split())


def start_logging(*, quiet: bool) -> None:
    """Send the events of the jobs to stderr; only warnings and errors if `quiet`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    for name, level in (("jobs", logging.INFO), ("apscheduler", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.WARNING if quiet else level)
        logger.propagate = False
