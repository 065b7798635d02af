"""Fitted models of schema 5, with tables of their own, are the same as named arrays."""

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

from recurring_eval.hspr import HsprConfig, LatentPrior
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.fixed import GPIRT
from recurring_eval.methods.hspr import HSPR_SOURCES
from recurring_eval.methods.mirt_cat import MIRT
from recurring_eval.methods.registry import model_kinds
from storage.calibrations.calibrations import list_calibrations, load_calibration
from storage.calibrations.estimates import list_checks, list_estimates
from storage.file.history import History
from storage.file.upkeep import migrate
from tests.storage.builders import NOW
from tests.storage.test_migrate import SCHEMAS, rows, unpacked

FULL, PLAIN, REFIT = 1, 2, 3
"""Calibrations of the fixture: superseded, with the Rasch model alone, and the refit."""
DROPPED = {
    *("mirt_calibration", "mirt_item_parameter", "mirt_run_ability"),
    *("hspr_calibration", "hspr_group", "hspr_question", "hspr_source"),
}


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """The history as the program of schema 5 wrote it."""
    folder = tmp_path / "before"
    folder.mkdir()
    return unpacked(SCHEMAS / "0005.duckdb.gz", folder)


@pytest.fixture
def migrated(tmp_path: Path) -> Iterator[History]:
    """A copy of it that was migrated."""
    path = unpacked(SCHEMAS / "0005.duckdb.gz", tmp_path)
    migrate(path, backup_folder=tmp_path / "backups", now=NOW)
    with History.open(path, read_only=True) as history:
        yield history


def fitted(history: History, calibration_id: int) -> Calibration:
    """A calibration with every kind of model it has."""
    (info,) = (
        info
        for info in list_calibrations(history, "kept", superseded=True)
        if info.calibration_id == calibration_id
    )
    return load_calibration(history, info, model_kinds()).fitted


def bits(values: object) -> list[bytes]:
    """Floats to the sign of a zero, row by row."""
    return [np.float64(value).tobytes() for value in np.ravel(np.asarray(values))]


def test_the_fixture_holds_every_kind_in_two_calibrations_and_none_in_one(before: Path) -> None:
    for table in ("mirt_calibration", "hspr_calibration"):
        held = rows(before, f"SELECT calibration_id FROM {table} ORDER BY 1")
        assert held == [(FULL,), (REFIT,)]
    constants = rows(
        before, "SELECT gpirt_irt_bias IS NULL FROM calibration ORDER BY calibration_id"
    )
    assert constants == [(False,), (True,), (False,)]
    # The multidimensional model of the first calibration has its questions in another order.
    other = (
        "SELECT count(*) FROM mirt_item_parameter AS m JOIN item_parameter AS i"
        " USING (calibration_id, question_id)"
        f" WHERE calibration_id = {FULL} AND m.position <> i.position"
    )
    assert rows(before, other)[0][0] > 0


def test_calibration_without_further_models_has_none(migrated: History) -> None:
    assert fitted(migrated, PLAIN).fitted == {}
    assert {*fitted(migrated, FULL).fitted} == {"gpirt", "mirt", "hspr"}


@pytest.mark.parametrize("calibration_id", [FULL, REFIT])
def test_constants_of_gpirt_are_the_same_bits(
    before: Path, migrated: History, calibration_id: int
) -> None:
    (held,) = rows(
        before,
        "SELECT gpirt_outcome_variance, gpirt_irt_bias FROM calibration"
        f" WHERE calibration_id = {calibration_id}",
    )
    found = fitted(migrated, calibration_id)[GPIRT]
    assert bits([found.outcome_variance, found.irt_bias]) == bits(held)


@pytest.mark.parametrize("calibration_id", [FULL, REFIT])
def test_model_of_several_abilities_is_the_same_bits(
    before: Path, migrated: History, calibration_id: int
) -> None:
    where = f"WHERE calibration_id = {calibration_id}"
    ((dimensions, fingerprint, mean, held_out, *scalars),) = rows(
        before,
        "SELECT n_dimensions, model_fingerprint, prior_mean, held_out_log_likelihood,"
        " prior_precision, discrimination_sd, log_posterior, log_likelihood, converged,"
        f" n_iterations FROM mirt_calibration {where}",
    )
    model = fitted(migrated, calibration_id)[MIRT]
    assert model.n_dimensions == dimensions
    assert model.held_out_log_likelihood == held_out
    assert [
        model.prior_precision,
        model.discrimination_sd,
        model.log_posterior,
        model.log_likelihood,
        model.converged,
        model.n_iterations,
    ] == scalars
    assert bits(model.prior_mean) == bits(mean)
    items = {
        key: values
        for key, *values in rows(
            before,
            "SELECT question_key, difficulty, discrimination, n_responses"
            f" FROM mirt_item_parameter JOIN question USING (question_id) {where}",
        )
    }
    assert len(items) == len(model.question_ids)
    for j, question in enumerate(model.question_ids):
        difficulty, discrimination, n_responses = items[question]
        assert bits(model.difficulty[j]) == bits(difficulty)
        assert bits(model.discrimination[j]) == bits(discrimination)
        assert model.n_responses[j] == n_responses
    abilities = rows(
        before,
        f"SELECT run_key, ability FROM mirt_run_ability JOIN run USING (run_id) {where}"
        " ORDER BY position",
    )
    assert list(model.run_ids) == [key for key, _ in abilities]
    assert bits(model.ability) == bits([ability for _, ability in abilities])
    if calibration_id == REFIT:  # The order of questions is part of a fingerprint.
        assert model.fingerprint == fingerprint


@pytest.mark.parametrize("calibration_id", [FULL, REFIT])
def test_sources_of_hspr_are_the_same_bits(
    before: Path, migrated: History, calibration_id: int
) -> None:
    where = f"WHERE calibration_id = {calibration_id}"
    ((configuration, zero_mass, alpha, beta, correlation, scores),) = rows(
        before,
        "SELECT configuration, zero_mass, alpha, beta, trial_correlation, source_scores"
        f" FROM hspr_calibration {where}",
    )
    found = fitted(migrated, calibration_id)[HSPR_SOURCES]
    model = found.model
    document = json.loads(str(configuration))
    assert found.config == HsprConfig(
        **document
        | {
            "latent": tuple(LatentPrior(**prior) for prior in document["latent"]),
            "kappa": float(document["kappa"]),
        }
    )
    rates = [model.rates.zero_mass, model.rates.alpha, model.rates.beta]
    assert bits([*rates, model.trial_correlation]) == bits([zero_mass, alpha, beta, correlation])
    assert bits(model.source_scores) == bits(scores)
    groups = rows(
        before,
        "SELECT intercept, slope, directions, source_zero"
        f" FROM hspr_group {where} ORDER BY position",
    )
    assert model.source_zero.tolist() == [zero for _, _, _, zero in groups]
    for i, name in enumerate(("intercept", "slope", "directions")):
        assert bits(getattr(model, name)) == bits([group[i] for group in groups]), name
    group_of = dict(
        rows(
            before,
            "SELECT question_key, group_position"
            f" FROM hspr_question JOIN question USING (question_id) {where}",
        )
    )
    in_order = dict(zip(model.question_ids, model.group_of_question.tolist(), strict=True))
    assert in_order == group_of
    sources = rows(
        before,
        f"SELECT run_key FROM hspr_source JOIN run USING (run_id) {where} ORDER BY position",
    )
    assert [(key,) for key in model.source_ids] == sources


def test_the_rasch_model_and_residuals_are_the_same_under_the_name_of_today(
    before: Path, migrated: History
) -> None:
    for table in ("item_parameter", "run_ability"):
        everything = f"SELECT * FROM {table} ORDER BY ALL"
        assert migrated.rows(everything) == rows(before, everything)
    residuals = (
        "SELECT position, method, k, estimate, full_pass_rate, model_sd FROM replay_residual"
    )
    renamed = [
        (position, "stratified+weighted" if method == "stratified" else method, *numbers)
        for position, method, *numbers in rows(before, f"{residuals} ORDER BY ALL")
    ]
    assert "stratified+weighted" in {method for _, method, *_ in renamed}
    assert migrated.rows(f"{residuals} ORDER BY ALL") == sorted(renamed)
    infos = list_calibrations(migrated, "kept", superseded=True)
    residuals_of_runs = [r for info in infos for r in load_calibration(migrated, info).residuals]
    errors = rows(before, "SELECT error FROM replay_residual ORDER BY calibration_id, position")
    assert [residual.error for residual in residuals_of_runs] == [error for (error,) in errors]


def test_estimates_and_checks_have_the_name_of_today(migrated: History) -> None:
    names = ["stratified+weighted", "stratified+gpirt", "stratified+pirt"]
    assert [record.estimate.method for record in list_estimates(migrated, "kept")] == names
    assert sorted(row.method for row in list_checks(migrated, "kept")) == sorted(names)
    kinds = {row[0] for row in migrated.rows("SELECT DISTINCT method FROM replay_residual")}
    assert kinds == {*names, "hspr"}


def test_tables_and_columns_that_moved_are_gone(migrated: History) -> None:
    columns = migrated.rows("SELECT table_name, column_name FROM information_schema.columns")
    assert not DROPPED & {table for table, _ in columns}
    assert not [column for _, column in columns if column.startswith("gpirt_")]
    assert ("replay_residual", "error") not in columns


def test_fixtures_without_these_models_migrate_to_none(tmp_path: Path) -> None:
    for version in range(1, 5):
        folder = tmp_path / str(version)
        folder.mkdir()
        path = unpacked(SCHEMAS / f"{version:04d}.duckdb.gz", folder)
        migrate(path, backup_folder=folder / "backups", now=NOW)
        assert rows(path, "SELECT count(*) FROM fitted_array") == [(0,)]


def test_constants_of_the_first_schema_survive_every_migration(tmp_path: Path) -> None:
    path = unpacked(SCHEMAS / "0001.duckdb.gz", tmp_path)
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "INSERT INTO calibration SELECT 7, 1, 1, 'main', DATE '2026-02-20', now(), NULL, now(),"
            " 5, 'rasch', 'f', 0.0, 1.0, -1.0, -1.0, NULL, true, 3, 0.1 + 0.2, -0.0::DOUBLE, '{}'"
        )
    migrate(path, backup_folder=tmp_path / "backups", now=NOW)
    ((model, name, shape, numbers, texts),) = rows(
        path, "SELECT model, name, shape, numbers, texts FROM fitted_array"
    )
    assert (model, name, shape, texts) == ("gpirt", "constants", [2], None)
    assert bits(numbers) == bits([0.3, -0.0])
