"""Move old verdicts to files beside the history."""

from datetime import timedelta

from jobs.app.app import App
from recurring_eval.errors import InputError
from storage.file.upkeep import Moved, move_old_verdicts


def retain(app: App, *, days: int | None = None) -> Moved:
    """Move the verdicts of runs older than the configured number of days.

    Parameters
    ----------
    app : App
    days : int, optional
        In place of ``[retention] verdicts_days``.

    Raises
    ------
    InputError
        If no number of days is configured or given.
    HistoryError
        If they cannot be moved; they stay then.
    """
    kept = app.settings.retention.verdicts_days if days is None else days
    if kept is None:
        raise InputError(
            "for how long are verdicts kept? Set `verdicts_days` in [retention], or give --days"
        )
    now = app.clock.now()
    with app.open_history() as history:
        return move_old_verdicts(history, before=now - timedelta(days=kept), now=now)
