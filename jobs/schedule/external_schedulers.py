"""Files for other schedulers: systemd units and a crontab line.

Both run `recurring-eval schedule --once`, which reads the ledger and does what is
due: so a line that fires too often does no harm, and one that fires late loses no
night. The crontab line fires every hour because cron counts in the host's zone, where
a fixed hour is skipped or doubled when clocks change.
"""

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobs.app.app import App
from recurring_eval.errors import InputError

FORMATS: Final = ("systemd", "cron")
_NAME: Final = "recurring-eval"


def schedule_files(app: App, kind: str) -> str:
    """Text of the files for a scheduler.

    Raises
    ------
    InputError
        If `kind` is none of `FORMATS`, or there is no configuration file.
    """
    if kind not in FORMATS:
        raise InputError(f"cannot print for {kind!r}; choose from {', '.join(FORMATS)}")
    if app.config_path is None:
        raise InputError("a schedule needs a configuration file; `recurring-eval init` writes one")
    config = app.config_path.absolute()
    command = [_program(), "schedule", "--once", "--config", str(config)]
    return _cron(command) if kind == "cron" else _systemd(app, command, config.parent)


def _program() -> str:
    beside = Path(sys.executable).with_name(_NAME)
    found = str(beside) if beside.is_file() else shutil.which(_NAME)
    if found is None:
        raise InputError(f"the program {_NAME} is neither beside {sys.executable} nor on the PATH")
    return found


def _cron(command: Sequence[str]) -> str:
    # An unescaped % ends the command in a crontab.
    line = shlex.join(command).replace("%", r"\%")
    return "\n".join(
        [
            "# Every hour: does the nights that are due, each once, and retries failed ones.",
            "# Exit status 1 and lines on stderr, which cron mails, report failures.",
            f"0 * * * * {line}",
        ]
    )


def _systemd(app: App, command: Sequence[str], folder: Path) -> str:
    settings = app.settings
    slots = {(n.at, n.zone) for n in map(settings.nights_of, ["", *settings.benchmark])}
    calendar = [f"OnCalendar=*-*-* {at:%H:%M}:00 {zone}" for at, zone in sorted(slots)]
    return "\n".join(
        [
            f"# /etc/systemd/system/{_NAME}.service",
            "[Unit]",
            "Description=Recurring evaluation: the nights that are due",
            "",
            "[Service]",
            "Type=oneshot",
            f"WorkingDirectory={_plain(str(folder))}",
            f"ExecStart={' '.join(map(_quoted, command))}",
            f"TimeoutStopSec={int(settings.schedule.stop_within.total_seconds()) + 10}",
            "",
            f"# /etc/systemd/system/{_NAME}.timer; then: systemctl enable --now {_NAME}.timer",
            "[Unit]",
            "Description=Slots of recurring evaluation, and every hour for retries",
            "",
            "[Timer]",
            *calendar,
            "OnCalendar=hourly",
            "AccuracySec=1min",
            "Persistent=true",
            "",
            "[Install]",
            "WantedBy=timers.target",
        ]
    )


def _plain(path: str) -> str:
    return path.replace("%", "%%")


def _quoted(word: str) -> str:
    # Specifiers, variables and quotes have a meaning of their own in ExecStart.
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"'
