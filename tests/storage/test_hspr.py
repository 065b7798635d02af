"""HSPR's calibration of a night comes back bit for bit."""

import dataclasses
import json
import math

import numpy as np
import pytest

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.hspr.calibration import HsprCalibration, calibrate_average
from recurring_eval.hspr.config import AVERAGE, HsprConfig, LatentPrior
from recurring_eval.hspr.selection import HsprSelection
from recurring_eval.methods.hspr import HSPR, HSPR_SOURCES
from recurring_eval.methods.session import Session
from recurring_eval.records import Run
from recurring_eval.response_matrix import ResponseMatrix
from storage.calibrations.calibrations import (
    calibration_by_id,
    load_calibration,
    load_rasch,
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


def sources_of(history: History, calibration_id: int) -> HsprCalibration:
    """Load the sources of a calibration."""
    info = calibration_by_id(history, calibration_id)
    return load_calibration(history, info, (HSPR_SOURCES,)).fitted[HSPR_SOURCES]


def assert_same_bits(loaded: HsprCalibration, saved: HsprCalibration) -> None:
    """Equal to the sign of a zero; the selection's evidence is not kept."""
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
    record = calibration(history, sources, rasch=matrix, models={"hspr": hspr})
    calibration_id = save(history, record)
    history.close()
    with History.open(history.path, read_only=True) as reopened:
        loaded = sources_of(reopened, calibration_id)
        rasch = load_rasch(reopened, calibration_id)
    assert_same_bits(loaded, hspr)
    assert loaded.model.fingerprint == hspr.model.fingerprint
    assert_same(rasch, record.fitted.rasch)


def test_loaded_sources_ask_and_estimate_the_same(
    history: History, sources: list[Run], matrix: ResponseMatrix
) -> None:
    config = HsprConfig(latent=(LatentPrior(rank=2, precision=4.0),), n_nodes=256, path_nodes=64)
    evidence = HsprSelection(config=config, candidates=(), n_held_out=7)
    hspr = dataclasses.replace(calibrate_average(matrix), config=config, selection=evidence)
    record = calibration(history, sources, rasch=matrix, models={"hspr": hspr})
    info = calibration_by_id(history, save(history, record))
    loaded = load_calibration(history, info, HSPR.models).fitted
    assert_same_bits(loaded[HSPR_SOURCES], hspr)
    sessions = []
    for kept in (record.fitted, loaded):
        session = Session.start(HSPR, kept, k=8, rng=np.random.default_rng(4))
        for passes in (1, 0, 2, 1):
            (question,) = session.ask()
            session = session.tell({question: (passes, 2)})
        sessions.append(session)
    first, second = sessions
    assert second.answers == first.answers
    assert second.ask(3) == first.ask(3)
    scores = [session.score() for session in sessions]
    assert scores[0].pass_rate == scores[1].pass_rate
    (expected,), (found,) = (score.distribution or () for score in scores)
    assert_same(found, expected)


def test_each_night_has_its_own_sources_or_none(
    history: History, sources: list[Run], matrix: ResponseMatrix
) -> None:
    first, second = (calibrate_average(matrix.select_runs(slice(n))) for n in (5, 7))
    nights = [
        calibration(
            history,
            sources,
            rasch=matrix,
            models=models,
            date=NIGHT.replace(day=1 + number),
        )
        for number, models in enumerate(({"hspr": first}, {}, {"hspr": second}))
    ]
    ids = [save(history, record) for record in nights]
    assert first.model.fingerprint != second.model.fingerprint
    assert_same_bits(sources_of(history, ids[0]), first)
    with pytest.raises(NotEnoughDataError, match="has no hspr sources"):
        sources_of(history, ids[1])
    assert_same_bits(sources_of(history, ids[2]), second)


def test_sources_on_other_questions_are_refused(
    history: History, sources: list[Run], matrix: ResponseMatrix
) -> None:
    hspr = calibrate_average(matrix)
    ids = ("zz", *hspr.model.question_ids[1:])
    strange = dataclasses.replace(hspr, model=dataclasses.replace(hspr.model, question_ids=ids))
    with pytest.raises(InputError, match="`rasch` and `hspr` have different questions"):
        calibration(history, sources, rasch=matrix, models={"hspr": strange})


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
def test_configuration_is_plain_json_and_reads_back(
    config: HsprConfig, matrix: ResponseMatrix
) -> None:
    hspr = dataclasses.replace(calibrate_average(matrix), config=config)
    arrays = HSPR_SOURCES.to_arrays(hspr)
    document = json.loads(str(arrays["configuration"]), parse_constant=pytest.fail)
    assert document["latent"][0] == {
        "rank": config.latent[0].rank,
        "precision": config.latent[0].precision,
    }
    assert HSPR_SOURCES.from_arrays(arrays, matrix.question_ids).config == config
