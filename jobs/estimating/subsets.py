"""Which k questions to run: the published subset, or a new one, also in the words of a tool."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from jobs.app.app import App
from jobs.app.targets import Target, one_target
from jobs.estimating.asked import calibration_in_use
from jobs.estimating.estimate import live_method
from jobs.harnesses.registry import selections
from jobs.harnesses.selection import Selection, SelectionContext
from jobs.importing.rules import stored_rule, tasks_of
from jobs.nights.fit import fixed_method_residuals
from recurring_eval.errors import InputError
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.methods.registry import checked_methods
from recurring_eval.methods.steps import StepMethod
from recurring_eval.records import ReplayResidual
from recurring_eval.subsets import STRATIFIED, stratified_subset
from recurring_eval.validation import require_subset_size
from storage.calibrations.calibrations import StoredCalibration, add_residuals, load_calibration
from storage.calibrations.subsets import SubsetRecord, find_subset, published_subset, save_subset
from storage.file.history import History
from storage.runs.benchmarks import bank_by_version
from storage.runs.imports import load_locators, stored_answers
from storage.runs.runs import list_runs

PLAIN_FORMATS: Final = ("ids", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedSubset:
    """A subset handed out.

    Attributes
    ----------
    record : SubsetRecord
    n_questions : int
        Questions in the bank.
    is_new : bool
        Whether it was built for this request.
    """

    record: SubsetRecord
    n_questions: int
    is_new: bool


def request_subset(
    app: App,
    *,
    k: int,
    method: str = STRATIFIED,
    benchmark: str | None = None,
    family: str | None = None,
) -> RequestedSubset:
    """Hand out the published subset of k questions.

    For a k the nightly job has not prepared, one is built from the calibration
    in use and published, with the residuals its intervals need; the nightly
    job keeps it up from then on.

    Parameters
    ----------
    app : App
    k : int
        Number of questions, from 1 to all.
    method : str
        A method with a stratified subset.
    benchmark, family : str, optional
        Needed where the history has several.

    Raises
    ------
    InputError
        If k or the method cannot be had.
    NotEnoughDataError
        If nothing is calibrated yet.
    """
    chosen = live_method(method)
    if isinstance(chosen, StepMethod):
        raise InputError(
            f"method {method!r} asks step by step: start it with "
            f"`recurring-eval adaptive start --method {method} --k K`; it does not publish subsets"
        )
    if chosen.design != STRATIFIED:
        raise InputError(
            f"method {method!r} does not publish subsets; use {STRATIFIED} (with +gpirt or +pirt)"
        )
    with app.open_history(read_only=True) as history:
        target = one_target(history, benchmark=benchmark, family=family)
        calibration = load_calibration(history, calibration_in_use(history, *target.key))
        info, rasch = calibration.info, calibration.fitted.rasch
        n = rasch.n_questions
        require_subset_size(k, n)
        found = published_subset(history, target.benchmark, target.family, k, STRATIFIED)
        if found is not None and found.subset.bank_version == info.bank_version:
            return RequestedSubset(record=found, n_questions=n, is_new=False)
        residuals = _residuals(app, history, target, calibration, k)
    subset = stratified_subset(rasch, info.bank_version, k, seed=app.settings.seed)
    with app.writing() as history:
        if residuals:
            add_residuals(history, info, residuals)
        subset_id = save_subset(
            history,
            subset,
            benchmark=target.benchmark,
            family=target.family,
            calibration_id=info.calibration_id,
            published_at=app.clock.now(),
        )
        return RequestedSubset(record=find_subset(history, subset_id), n_questions=n, is_new=True)


def _residuals(
    app: App, history: History, target: Target, calibration: StoredCalibration, k: int
) -> list[ReplayResidual]:
    """Replay the calibration's own runs at a size it has no residuals for."""
    fixed = {method.name for method in checked_methods() if isinstance(method, FixedMethod)}
    if any(r.k == k and r.method in fixed for r in calibration.residuals):
        return []
    used = set(calibration.fitted.rasch.run_ids)
    runs = [
        run
        for run in list_runs(history, target.benchmark, family=target.family)
        if run.run_key in used
    ]
    matrix = app.view(target.benchmark).matrix(
        history,
        runs,
        calibration.fitted.question_ids,
        bank_version=calibration.info.bank_version,
    )
    return fixed_method_residuals(matrix, [k], seed=app.settings.seed)


def check_format(name: str) -> None:
    """Refuse a format that is neither plain nor a tool's.

    Raises
    ------
    InputError
        Listing the formats.
    """
    known = (*PLAIN_FORMATS, *selections())
    if name not in known:
        raise InputError(f"no format is called {name!r}; choose from {', '.join(known)}")


def phrase_selection(app: App, record: SubsetRecord, tool: str, *, folder: Path) -> Selection:
    """Phrase how to run exactly the questions of a subset with a tool.

    Parameters
    ----------
    app : App
    record : SubsetRecord
    tool : str
        Name of the harness.
    folder : Path
        Where the files of the selection will be.

    Raises
    ------
    InputError
        If the tool cannot run them, saying why.
    """
    with app.open_history(read_only=True) as history:
        place = (record.benchmark, tool)
        task, others = tasks_of(stored_answers(history).get(place, {}))
        context = SelectionContext(
            benchmark=record.benchmark,
            subset_id=record.subset_id,
            task=task,
            other_tasks=others,
            bank_ids=bank_by_version(
                history, record.benchmark, record.subset.bank_version
            ).question_ids,
            rule=stored_rule(history, *place, task),
            locators=load_locators(history, *place),
            folder="" if folder == Path() else str(folder),
        )
    found = selections()[tool](record.subset.question_ids, context)
    notes = (*found.notes, f"the log is recognised as a run of {record.subset_id} when imported")
    return replace(found, notes=notes)


def write_files(selection: Selection, folder: Path) -> list[Path]:
    """Write the files of a selection.

    Raises
    ------
    InputError
        If one cannot be written.
    """
    written = []
    for name, content in selection.files.items():
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
        written.append(path)
    return written
