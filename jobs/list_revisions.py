"""List the verdicts of a run that later imports replaced."""

from jobs.app.app import App
from storage.runs.runs import VerdictRevision, find_run, list_revisions


def revisions_of(app: App, reference: str, *, benchmark: str | None) -> list[VerdictRevision]:
    """Find a run and list its replaced verdicts.

    Raises
    ------
    InputError
        If it is not clear which run is meant.
    """
    with app.open_history(read_only=True) as history:
        return list_revisions(history, find_run(history, reference, benchmark=benchmark))
