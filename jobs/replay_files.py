"""Write what a replay found into a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jobs.app import App
from jobs.console import to_json
from jobs.replay import Replay
from jobs.replay_page import replay_page
from jobs.replay_report import csv_files
from jobs.whole_file import write_whole
from reports.render import render_replay

PAGE: Final = "replay.html"
DOCUMENT: Final = "replay.json"


def write_files(app: App, result: Replay, content: Mapping[str, Any], folder: Path) -> Path:
    """Write the JSON document, the CSV files and the page; return the page's path."""
    write_whole(folder / DOCUMENT, to_json(content) + "\n")
    for name, text in csv_files(result).items():
        write_whole(folder / name, text)
    page = replay_page(result, made_at=app.clock.now())
    write_whole(folder / PAGE, render_replay(page))
    return folder / PAGE
