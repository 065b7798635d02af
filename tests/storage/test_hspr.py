"""HSPR's calibration of a night comes back bit for bit."""

import dataclasses
import json
import math

import numpy as np
import pytest
from storage.calibrations.hspr_parameters import config_from_json, config_to_json

from recurring_eval.errors import InputError
from recurring_eval.hspr.calibration import HsprCalibration, calibrate_average
from recurring_eval.hspr.config import AVERAGE, HsprConfig, LatentPrior
from recurring_eval.hspr.selection import HsprSelection
from recurring_eval.hspr.session import HsprSession
from recurring_eval.records import Run
from recurring_eval.response_matrix import ResponseMatrix
from storage.calibrations.calibrations import (
    calibration_by_id,
    latest_calibration,
    list_calibrations,
)
from storage.file.history import History
from storage.runs.runs import list_runs
from storage.runs.verdicts import load_matrix
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, START, days, log
from tests.storage.derived import NIGHT, assert_same, calibration, save

FLOATS = ("intercept", "slope", "directions", "source_scores")


@pytest.fixture
def sources(history: History) -> list[Run]:
    """Seven stored runs with repeated trials and a missing verdict; nobody passes q03."""
    rng = np.random.default_rng(11)
    logs = []
    for number in range(7):
        verdicts: list[tuple[str, int, int | str]] = [
            (key, trial, 0 if key == "q03" else int(rng.integers(2)))
            for key in QUESTIONS
            for trial in (1, 2)
        ]
        verdicts[number] = (*verdicts[number][:2], "timeout")
        logs.append(log(f"s{number}", verdicts, started_at=START + days(number)))
    with history.transaction():
        write_runs(history, BENCHMARK, logs, imported_at=NOW)
    return list_runs(history, BENCHMARK)


@pytest.fixture
def matrix(history: History, sources: list[Run]) -> ResponseMatrix:
    """Verdicts of the sources, questions in no order."""
    return load_matrix(history, sources, QUESTIONS[5:] + QUESTIONS[:5])


def assert_same_bits(loaded: HsprCalibration | None, saved: HsprCalibration) -> None:
    """Equal to the sign of a zero; the selection's evidence is not kept."""
    assert loaded is not None
    assert (loaded.config, loaded.selection) == (saved.config, None)
    assert_same(loaded.model, saved.model)
    for name in FLOATS:
        assert getattr(loaded.model, name).tobytes() == getattr(saved.model, name).tobytes(), name


def test_sources_read_back_bit_for_bit_after_reopening(
    history: History, sources: list[Run], matrix: ResponseMatrix
) -> None:
    hspr = calibrate_average(matrix, sources=np.array([5, 1, 2]))
    model = hspr.model
    assert (len(model.source_ids), len(model.source_scores)) == (3, 7)
    assert model.source_zero.any()
    assert not model.source_zero.all()
    slope = model.slope.copy()
    slope[:4] = -0.0, 5e-324, 0.1 + 0.2, -1e300
    hspr = dataclasses.replace(hspr, model=dataclasses.replace(model, slope=slope))
    record = calibration(history, sources, hspr=hspr)
    save(history, record)
    history.close()
    with History.open(history.path, read_only=True) as reopened:
        loaded = latest_calibration(reopened, BENCHMARK, "main")
    assert loaded is not None
    assert_same_bits(loaded.hspr, hspr)
    assert loaded.hspr is not None
    assert loaded.hspr.model.fingerprint == hspr.model.fingerprint
    assert_same(loaded.model, record.model)


def test_loaded_sources_ask_and_estimate_the_same(
    history: History, sources: list[Run], matrix: ResponseMatrix
) -> None:
    config = HsprConfig(latent=(LatentPrior(rank=2, precision=4.0),), n_nodes=256, path_nodes=64)
    evidence = HsprSelection(config=config, candidates=(), n_held_out=7)
    hspr = dataclasses.replace(calibrate_average(matrix), config=config, selection=evidence)
    loaded = calibration_by_id(history, save(history, calibration(history, sources, hspr=hspr)))
    assert_same_bits(loaded.hspr, hspr)
    assert loaded.hspr is not None
    sessions = []
    for kept in (hspr, loaded.hspr):
        session = HsprSession.start(kept.model, kept.config, rng=np.random.default_rng(4))
        for passes in (1, 0, 2, 1):
            (question,) = session.ask()
            session = session.tell({question: (passes, 2)})
        sessions.append(session)
    first, second = sessions
    assert second.answers == first.answers
    assert second.ask(3) == first.ask(3)
    assert second.estimate().pass_rate == first.estimate().pass_rate
    assert_same(second.estimate().distribution, first.estimate().distribution)


def test_each_night_has_its_own_sources_or_none(
    history: History, sources: list[Run], matrix: ResponseMatrix
) -> None:
    first, second = (calibrate_average(matrix.select_runs(slice(n))) for n in (5, 7))
    nights = [
        calibration(history, sources, hspr=hspr, date=NIGHT.replace(day=1 + number))
        for number, hspr in enumerate((first, None, second))
    ]
    ids = [save(history, record) for record in nights]
    assert first.model.fingerprint != second.model.fingerprint
    assert_same_bits(calibration_by_id(history, ids[0]).hspr, first)
    assert calibration_by_id(history, ids[1]).hspr is None
    assert_same_bits(calibration_by_id(history, ids[2]).hspr, second)


@pytest.mark.parametrize(
    ("field", "ids", "message"),
    [
        ("source_ids", ("x", "s1", "s2", "s3", "s4", "s5", "s6"), "does not have the runs x"),
        ("question_ids", ("zz", *QUESTIONS[1:]), "does not have the questions zz"),
    ],
)
def test_sources_unknown_to_the_history_are_refused_whole(
    history: History,
    sources: list[Run],
    matrix: ResponseMatrix,
    field: str,
    ids: tuple[str, ...],
    message: str,
) -> None:
    hspr = calibrate_average(matrix)
    strange = dataclasses.replace(hspr, model=dataclasses.replace(hspr.model, **{field: ids}))
    with pytest.raises(InputError, match=message):
        save(history, calibration(history, sources, hspr=strange))
    assert list_calibrations(history, BENCHMARK) == []
    assert history.rows("SELECT count(*) FROM hspr_calibration") == [(0,)]


@pytest.mark.parametrize(
    "config",
    [
        AVERAGE,
        HsprConfig(
            latent=(LatentPrior(rank=0, precision=0.25),),
            kappa=math.inf,
            acquisition="latent",
            decision="mean",
        ),
        HsprConfig(
            latent=(LatentPrior(rank=2, precision=0.1 + 0.2),),
            kappa=1 / 3,
            lambda_=0.0,
            n_nodes=256,
            path_nodes=64,
            refresh_every=3,
            double_precision=True,
        ),
    ],
    ids=lambda config: config.name,
)
def test_configuration_is_plain_json_and_reads_back(config: HsprConfig) -> None:
    text = config_to_json(config)
    document = json.loads(text, parse_constant=pytest.fail)
    assert document["latent"][0] == {
        "rank": config.latent[0].rank,
        "precision": config.latent[0].precision,
    }
    assert config_from_json(text) == config
