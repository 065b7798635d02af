"""What is derived from runs comes back exactly as it was saved, and history is kept."""

import dataclasses
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from recurring_eval.caching import build_cache
from recurring_eval.calibration.mirt import fit_mirt
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.hspr import calibrate_average
from recurring_eval.methods.calibration import Calibration, ModelKind
from recurring_eval.methods.mirt_cat import MIRT
from recurring_eval.methods.registry import model_kinds
from recurring_eval.records import Run, Subset
from storage.calibrations.caches import load_cache, save_cache
from storage.calibrations.calibrations import (
    StoredCalibration,
    add_residuals,
    calibration_by_id,
    calibration_on,
    latest_calibration,
    list_calibrations,
    load_calibration,
)
from storage.calibrations.estimates import FullRunCheck, list_checks, save_checks
from storage.calibrations.subsets import (
    find_subset,
    list_subsets,
    published_subset,
    published_subsets,
    save_subset,
)
from storage.file.history import History
from storage.runs.benchmarks import save_bank
from storage.runs.verdicts import load_matrix
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, bank, days
from tests.storage.derived import GPIRT, NIGHT, assert_same, calibration, numbered, save


def loaded(
    history: History, calibration_id: int, kinds: Sequence[ModelKind[Any]] = model_kinds()
) -> StoredCalibration:
    """A calibration with its models of these kinds."""
    return load_calibration(history, calibration_by_id(history, calibration_id), kinds)


def every_model(history: History, runs: list[Run]) -> dict[str, object]:
    """One model of every kind that nights fit."""
    matrix = load_matrix(history, runs, QUESTIONS[::-1])
    models = {
        "gpirt": GPIRT,
        "mirt": fit_mirt(matrix, dimensions=3, discrimination_sd=0.5, held_out_log_likelihood=-0.7),
        "hspr": calibrate_average(matrix),
    }
    assert set(models) == {kind.name for kind in model_kinds()}
    return models


def test_calibration_reads_back_bit_for_bit_after_reopening(
    history: History, runs: list[Run]
) -> None:
    record = calibration(history, runs, models=every_model(history, runs))
    record = numbered(record, save(history, record))
    history.close()
    with History.open(history.path, read_only=True) as reopened:
        info = latest_calibration(reopened, BENCHMARK, "main")
        assert info == record.info
        found = load_calibration(reopened, info, model_kinds()[::-1])
    assert_same(found.fitted.rasch, record.fitted.rasch)
    assert found.residuals == record.residuals
    assert {*found.fitted.fitted} == {*record.fitted.fitted}
    for name, model in record.fitted.fitted.items():
        assert_same(found.fitted.fitted[name], model)
    assert found.fitted.rasch.fingerprint == record.info.model_fingerprint
    assert info.n_runs == 6


@pytest.mark.parametrize("kind", model_kinds(), ids=lambda kind: kind.name)
def test_only_the_kinds_asked_for_are_loaded(
    history: History, runs: list[Run], kind: ModelKind[Any]
) -> None:
    models = every_model(history, runs)
    calibration_id = save(history, calibration(history, runs, models=models))
    assert loaded(history, calibration_id, ()).fitted.fitted == {}
    found = loaded(history, calibration_id, (kind,)).fitted
    assert [*found.fitted] == [kind.name]
    assert_same(found[kind], models[kind.name])


def test_a_look_up_reads_no_parameters(
    history: History, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = calibration(history, runs, models=every_model(history, runs))
    info = numbered(record, save(history, record)).info
    statements: list[str] = []
    rows = History.rows

    def counted(self: History, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        statements.append(sql)
        return rows(self, sql, values)

    monkeypatch.setattr(History, "rows", counted)
    assert calibration_by_id(history, info.calibration_id) == info
    assert latest_calibration(history, BENCHMARK, "main") == info
    assert calibration_on(history, BENCHMARK, "main", NIGHT) == info
    assert list_calibrations(history, BENCHMARK) == [info]
    parameters = ("item_parameter", "run_ability", "replay_residual", "fitted_array")
    assert statements
    assert not [sql for sql in statements if any(table in sql for table in parameters)]
    load_calibration(history, info)
    assert not [sql for sql in statements if "fitted_array" in sql]
    load_calibration(history, info, model_kinds())
    assert len([sql for sql in statements if "fitted_array" in sql]) == 1


def test_model_of_several_abilities_reads_back_bit_for_bit(
    history: History, runs: list[Run]
) -> None:
    matrix = load_matrix(history, runs[1:], QUESTIONS[::-1])
    plain = save(history, calibration(history, runs, date=date(2026, 2, 28)))
    for day, held_out in ((2, -0.7), (3, None)):
        mirt = fit_mirt(
            matrix, dimensions=day, discrimination_sd=0.5, held_out_log_likelihood=held_out
        )
        record = calibration(history, runs, models={"mirt": mirt}, date=date(2026, 3, day))
        found = loaded(history, save(history, record)).fitted[MIRT]
        assert_same(found, mirt)
        assert found.fingerprint == mirt.fingerprint
    assert loaded(history, plain).fitted.get(MIRT) is None


def test_added_residuals_follow_those_saved(history: History, runs: list[Run]) -> None:
    record = calibration(history, runs)
    saved = numbered(record, save(history, record)).info
    further = tuple(dataclasses.replace(residual, k=7) for residual in record.residuals[:2])
    with history.transaction():
        add_residuals(history, saved, further)
    assert load_calibration(history, saved).residuals == record.residuals + further


def test_calibration_without_further_models_reads_back(history: History, runs: list[Run]) -> None:
    why = {"without": {"mirt": "6 runs, it needs 80"}}
    record = calibration(history, runs, models={}, residuals=(), settings=why)
    found = loaded(history, save(history, record))
    assert (found.fitted.fitted, found.residuals, found.info.settings) == ({}, (), why)
    with pytest.raises(NotEnoughDataError, match=r"no M2PL \(6 runs, it needs 80"):
        found.fitted[MIRT]
    with pytest.raises(InputError, match="no calibration 77"):
        calibration_by_id(history, 77)


def test_second_calibration_of_a_night_is_refused_or_supersedes(
    history: History, runs: list[Run]
) -> None:
    first = save(history, calibration(history, runs))
    with pytest.raises(InputError, match="calibrated for 2026-03-01 already; use --force"):
        save(history, calibration(history, runs))
    later = NOW + timedelta(hours=1)
    second = save(history, calibration(history, runs[:4], created_at=later), supersede=True)
    current = calibration_on(history, BENCHMARK, "main", NIGHT)
    assert current is not None
    assert current.calibration_id == second
    kept = list_calibrations(history, BENCHMARK, "main", superseded=True)
    assert [(info.calibration_id, info.superseded_at) for info in kept] == [
        (first, later),
        (second, None),
    ]
    assert loaded(history, first).fitted.rasch.run_ids == tuple(run.run_key for run in runs)
    assert calibration_by_id(history, first).n_runs == 6


def test_families_dates_and_banks_are_calibrated_apart(history: History, runs: list[Run]) -> None:
    save(history, calibration(history, runs))
    save(history, calibration(history, runs, agent_family="small"))
    save(history, calibration(history, runs, date=NIGHT + timedelta(days=1)))
    with history.transaction():
        save_bank(history, bank([*QUESTIONS, "q10"]), now=NOW)
    newer = bank([*QUESTIONS, "q10"]).version
    last = save(
        history,
        calibration(history, runs, bank_version=newer, created_at=NOW + timedelta(hours=1)),
    )
    found = calibration_on(history, BENCHMARK, "main", NIGHT)
    assert found is not None
    assert found.calibration_id == last
    assert len(list_calibrations(history, BENCHMARK)) == 4


def test_latest_calibration_may_be_asked_to_end_before_a_moment(
    history: History, runs: list[Run]
) -> None:
    for day, n in enumerate((3, 4, 6)):
        record = calibration(
            history,
            runs[:n],
            date=NIGHT + timedelta(days=day),
            data_end=runs[n - 1].started_at,
            residuals=(),
        )
        save(history, record)
    found = [
        latest_calibration(history, BENCHMARK, "main", data_before=run.started_at) for run in runs
    ]
    assert [None if info is None else info.n_runs for info in found] == [
        None,
        None,
        None,
        3,
        4,
        4,
    ]


def test_calibration_on_unknown_runs_is_refused(history: History, runs: list[Run]) -> None:
    record = calibration(history, runs)
    rasch = record.fitted.rasch
    stranger = Calibration(rasch=dataclasses.replace(rasch, run_ids=("x", *rasch.run_ids[1:])))
    with pytest.raises(InputError, match="does not have the runs x"):
        save(history, dataclasses.replace(record, fitted=stranger))
    assert list_calibrations(history, BENCHMARK) == []


def subset_of(questions: tuple[str, ...], **changes: object) -> Subset:
    weights = np.arange(1.0, len(questions) + 1)
    settings = {
        "question_ids": questions,
        "weights": weights / weights.sum(),
        "design": "stratified",
        "seed": 0,
        "bank_version": bank().version,
        "model_fingerprint": "f" * 64,
    }
    return Subset(**(settings | changes))


def publish(history: History, subset: Subset, day: int, *, active: bool = True) -> str:
    with history.transaction():
        return save_subset(
            history,
            subset,
            benchmark=BENCHMARK,
            family="main",
            calibration_id=None,
            published_at=NOW + days(day),
            active=active,
        )


def test_subset_reads_back_and_is_named_by_its_hash(history: History) -> None:
    subset = subset_of(QUESTIONS[:3])
    subset_id = publish(history, subset, 0)
    assert subset_id == f"{BENCHMARK}-k3-{subset.sha256[:8]}"
    record = find_subset(history, subset_id)
    assert_same(record.subset, subset)
    assert (record.active, record.published_at, record.retired_at) == (True, NOW, None)
    assert_same(published_subset(history, BENCHMARK, "main", 3, "stratified"), record)
    assert published_subset(history, BENCHMARK, "other", 3, "stratified") is None


def test_new_version_retires_the_former_one(history: History) -> None:
    first = publish(history, subset_of(QUESTIONS[:3]), 0)
    asked_only = publish(history, subset_of(QUESTIONS[4:7]), 1, active=False)
    second = publish(history, subset_of(QUESTIONS[1:4]), 2)
    other_size = publish(history, subset_of(QUESTIONS[:4]), 2)
    active = published_subsets(history, BENCHMARK, "main")
    assert [record.subset_id for record in active] == [second, other_size]
    versions = [r for r in list_subsets(history, BENCHMARK, "main") if r.subset.k == 3]
    assert [(v.subset_id, v.active, v.retired_at) for v in versions] == [
        (first, False, NOW + days(2)),
        (asked_only, False, None),
        (second, True, None),
    ]
    everything = [record.subset_id for record in list_subsets(history, BENCHMARK, "main")]
    assert everything == [first, asked_only, *sorted([second, other_size])]
    assert publish(history, subset_of(QUESTIONS[:3]), 3) == first
    assert published_subsets(history, BENCHMARK, "main")[0].subset_id == first


def test_same_questions_with_other_weights_get_another_id(history: History) -> None:
    first = publish(history, subset_of(QUESTIONS[:2]), 0)
    second = publish(history, subset_of(QUESTIONS[:2], weights=np.array([0.5, 0.5])), 1)
    assert second == f"{first}-2"
    with pytest.raises(InputError, match=f"no subset '{first}x'; near it: .*{first}"):
        find_subset(history, f"{first}x")


def test_subset_of_questions_outside_the_bank_is_refused(history: History) -> None:
    with pytest.raises(InputError, match="does not have the questions zz"):
        publish(history, subset_of(("q00", "zz")), 0)


def test_cache_reads_back_and_the_last_one_of_a_day_counts(
    history: History, runs: list[Run]
) -> None:
    caches = [build_cache(load_matrix(history, runs[:n], QUESTIONS)) for n in (5, 6)]
    for cache in caches:
        with history.transaction():
            save_cache(
                history,
                cache,
                benchmark=BENCHMARK,
                bank_version=bank().version,
                family="main",
                date=NIGHT,
                created_at=NOW,
            )
    assert_same(load_cache(history, BENCHMARK, "main", NIGHT), caches[1])
    assert_same(load_cache(history, BENCHMARK, "main"), caches[1])
    assert load_cache(history, BENCHMARK, "main", NIGHT + timedelta(days=1)) is None


def check(run: Run, **changes: object) -> FullRunCheck:
    settings = {
        "run_id": run.run_id,
        "run_key": run.run_key,
        "started_at": run.started_at,
        "method": "stratified+weighted",
        "k": 4,
        "subset_id": "s",
        "calibration_id": 1,
        "estimate": 0.6,
        "low": 0.5,
        "high": 0.7,
        "full_pass_rate": 0.55,
        "error_pp": 5.0,
        "covered": True,
        "checked_at": NOW,
    }
    return FullRunCheck(**(settings | changes))


def test_checking_again_replaces_only_that_check(history: History, runs: list[Run]) -> None:
    first = [
        check(runs[1]),
        check(runs[1], k=8),
        check(runs[0], subset_id=None, calibration_id=None),
    ]
    again = [
        check(runs[1], estimate=0.65, checked_at=NOW + days(1)),
        check(runs[1], method="cache"),
    ]
    for rows in (first, again, []):
        with history.transaction():
            save_checks(history, rows)
    assert list_checks(history, BENCHMARK) == [first[2], again[1], again[0], first[1]]
    assert list_checks(history, BENCHMARK, since=runs[1].started_at, family="main") == [
        again[1],
        again[0],
        first[1],
    ]
    assert list_checks(history, BENCHMARK, family="small") == []
