"""Every estimate given for a run is kept, with all it says."""

import dataclasses
from types import MappingProxyType

import numpy as np
import pytest

from recurring_eval.records import (
    AbilityEstimate,
    Flag,
    HsprDiagnostics,
    Run,
    ScoreDistribution,
    ScoreEstimate,
)
from storage.calibrations.estimates import list_estimates, save_estimate
from storage.file.history import History
from tests.storage.builders import BENCHMARK, NOW, days
from tests.storage.derived import assert_same


@pytest.mark.parametrize("with_theta", [True, False])
def test_every_estimate_is_kept_and_reads_back(
    history: History, runs: list[Run], with_theta: bool
) -> None:
    theta = AbilityEstimate(
        theta=np.array([0.1, -1 / 3]), covariance=np.array([[1.0, 0.1], [0.1, 2.0]]), n_observed=9
    )
    estimate = ScoreEstimate(
        pass_rate=0.5,
        low=0.4,
        high=0.6000000000000001,
        rerun_low=0.3,
        rerun_high=0.7,
        level=0.9,
        method="stratified+gpirt",
        n_asked=4,
        n_valid=3,
        n_reused=1,
        theta=theta if with_theta else None,
        model_fingerprint="abc",
        flags=(Flag.FEW_VALID, Flag.EXTRAPOLATING),
    )
    for day in (0, 1):
        with history.transaction():
            save_estimate(
                history,
                runs[2],
                estimate,
                k=4,
                subset_id="s",
                calibration_id=3,
                created_at=NOW + days(day),
            )
    kept = list_estimates(history, BENCHMARK, run=runs[2])
    assert [record.created_at for record in kept] == [NOW, NOW + days(1)]
    assert_same(kept[0].estimate, estimate)
    assert (kept[0].run_key, kept[0].k, kept[0].subset_id, kept[0].calibration_id) == (
        "r2",
        4,
        "s",
        3,
    )
    assert [record.estimate.method for record in kept] == ["stratified+gpirt"] * 2
    assert list_estimates(history, BENCHMARK, run=runs[0]) == []


def test_posterior_and_diagnostics_of_an_estimate_read_back(
    history: History, runs: list[Run]
) -> None:
    pmf = np.random.default_rng(2).dirichlet(np.ones(11))
    posterior = ScoreDistribution(values=(np.arange(11) + 1 / 3) / 11, pmf=pmf)
    diagnostics = HsprDiagnostics(
        configuration="r1g4+r2g4-kappa1-score-lambda0.25",
        effective_sample_size=0.1 + 0.2,
        n_nodes=8192,
        n_groups=7,
        n_sources=5,
        source_zero_share=0.1,
        queried_source_zero_share=0.0,
        latent_weights=MappingProxyType({"r2g4": 2 / 3, "r1g4": 1 / 3}),
        calibration=-1e-17,
        extrapolating=True,
    )
    plain = ScoreEstimate(
        pass_rate=0.5,
        low=0.4,
        high=0.6,
        rerun_low=0.3,
        rerun_high=0.7,
        level=0.9,
        method="hspr",
        n_asked=4,
        n_valid=4,
    )
    whole = dataclasses.replace(plain, distribution=posterior, diagnostics=diagnostics)
    with history.transaction():
        for day, estimate in enumerate((plain, whole)):
            save_estimate(
                history,
                runs[0],
                estimate,
                k=4,
                subset_id=None,
                calibration_id=1,
                created_at=NOW + days(day),
            )
    one_run = [record.estimate for record in list_estimates(history, BENCHMARK, run=runs[0])]
    assert_same(one_run[0], plain)
    assert_same(one_run[1], whole)
    assert one_run[1].diagnostics is not None
    assert [*one_run[1].diagnostics.latent_weights] == ["r2g4", "r1g4"]
    # Over a whole benchmark the posteriors stay where they are.
    every = [record.estimate for record in list_estimates(history, BENCHMARK)]
    assert_same(every[1], dataclasses.replace(whole, distribution=None))
