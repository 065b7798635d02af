"""The night's sources for HSPR: stored with residuals, or the ledger says why not."""

from datetime import date

import numpy as np
import pytest

from recurring_eval.errors import FitError, NotEnoughDataError
from recurring_eval.hspr.selection import KAPPA_GRID, LATENT_GRID
from recurring_eval.methods.hspr import HSPR_SOURCES
from tests.jobs.histories import (
    BENCHMARK,
    SIZES,
    command,
    covered,
    latest_night,
    pass_matrix,
    start,
)
from tests.jobs.small_benchmarks import import_benchmarks

DAY = date(2025, 3, 12)


def latest(folder, benchmark=BENCHMARK):
    return latest_night(folder, benchmark=benchmark)


def night(folder, *arguments):
    (result,) = command(
        folder, "recalibrate", "--as-of", str(DAY), "--no-report", "--json", *arguments
    ).document["results"]
    return result


@pytest.fixture
def small(folder):
    """Eight full runs of twenty questions."""
    start(folder, config="[defaults]\nsubset_sizes = [5, 10]\nminimum_runs = 4\n")
    import_benchmarks(folder, "small", last=DAY)
    return folder


def configure(folder, mode):
    config = folder / "recurring-eval.toml"
    config.write_text(config.read_text().replace("[defaults]", f"[defaults]\nhspr = '{mode}'"))


def test_the_sources_are_thinned_runs_of_the_window_and_groups_share_their_verdicts(calibrated):
    record = latest(calibrated)
    model = record.fitted[HSPR_SOURCES].model
    assert model.question_ids == record.fitted.rasch.question_ids
    assert set(model.source_ids) <= set(record.fitted.rasch.run_ids)
    assert len(model.source_ids) == min(30, record.info.n_runs)
    wide = pass_matrix(calibrated).loc[list(model.source_ids), list(model.question_ids)]
    signatures = [tuple(wide[question].fillna(-1)) for question in wide]
    together = {}
    for signature, group in zip(signatures, model.group_of_question, strict=True):
        together.setdefault(signature, set()).add(int(group))
    assert all(len(groups) == 1 for groups in together.values())
    assert len(together) == model.n_groups
    np.testing.assert_allclose(model.source_scores, wide.mean(axis=1))


def test_later_runs_are_compared_with_their_full_score_under_earlier_sources(calibrated):
    record = latest(calibrated)
    scores = covered(pass_matrix(calibrated)).mean(axis=1)
    for k in SIZES:
        mine = [r for r in record.residuals if (r.method, r.k) == ("hspr", k)]
        later = record.fitted.rasch.run_ids[record.info.n_runs // 2 :]
        assert [r.run_id for r in mine] == list(later)
        for residual in mine:
            assert residual.full_pass_rate == pytest.approx(scores[residual.run_id])
            assert residual.error == pytest.approx(residual.estimate - residual.full_pass_rate)
        # Guessing the mean score of the sources would be worse.
        spread = np.mean(np.abs(scores[[r.run_id for r in mine]] - scores.mean()))
        assert np.mean([abs(r.error) for r in mine]) < spread


def test_average_needs_no_selection_and_the_facts_say_so(small):
    result = night(small)
    facts = latest(small, "small").info.settings["models"]["hspr"]
    record = latest(small, "small")
    assert facts == {
        "mode": "average",
        "configuration": record.fitted[HSPR_SOURCES].config.name,
        "n_sources": 8,
        "n_groups": record.fitted[HSPR_SOURCES].model.n_groups,
        "held_out": 0,
        "mae_pp": None,
    }
    assert len(record.fitted[HSPR_SOURCES].config.latent) > 1
    assert {"fit of hspr", "replay of hspr"} <= set(result["seconds"])
    groups = record.fitted[HSPR_SOURCES].model.n_groups
    assert f"; hspr (average) on 8 sources in {groups} groups; " in result["message"]


def test_staged_selects_one_of_the_published_settings_on_held_out_sources(small):
    configure(small, "staged")
    result = night(small)
    record = latest(small, "small")
    (latent,) = record.fitted[HSPR_SOURCES].config.latent
    assert latent in LATENT_GRID
    assert record.fitted[HSPR_SOURCES].config.kappa in KAPPA_GRID
    facts = record.info.settings["models"]["hspr"]
    assert (facts["mode"], facts["n_sources"], facts["held_out"]) == ("staged", 8, 8)
    assert 0 < facts["mae_pp"] < 25
    assert (
        f"; hspr ({record.fitted[HSPR_SOURCES].config.name}) on 8 sources in " in result["message"]
    )


def test_it_can_be_switched_off_and_leaves_the_other_residuals_alone(small):
    night(small)
    with_it = latest(small, "small").residuals
    configure(small, "off")
    result = night(small, "--force")
    record = latest(small, "small")
    assert record.fitted.get(HSPR_SOURCES) is None
    assert "hspr" not in record.info.settings
    assert '; no hspr sources: switched off by `hspr = "off"`' in result["message"]
    assert not {"fit of hspr", "replay of hspr"} & set(result["seconds"])
    assert {r.method for r in with_it} - {r.method for r in record.residuals} == {"hspr"}
    assert record.residuals == tuple(r for r in with_it if r.method != "hspr")


@pytest.mark.parametrize("error", [FitError, NotEnoughDataError])
def test_sources_that_cannot_be_fitted_do_not_stop_the_night(small, monkeypatch, error):
    def fail(*_, **__):
        raise error("no luck tonight")

    monkeypatch.setattr("recurring_eval.methods.hspr.calibrate_average", fail)
    result = night(small)
    assert result["status"] == "calibrated"
    assert "; no hspr sources: no luck tonight; " in result["message"]
    record = latest(small, "small")
    assert record.fitted.get(HSPR_SOURCES) is None
    assert "hspr" not in {r.method for r in record.residuals}


def test_another_night_with_the_same_data_gives_the_same_bits(small):
    night(small)
    former = latest(small, "small")
    night(small, "--force")
    again = latest(small, "small")
    assert again.info.calibration_id != former.info.calibration_id
    models = [one.fitted[HSPR_SOURCES].model for one in (former, again)]
    assert models[0].fingerprint == models[1].fingerprint
    assert again.residuals == former.residuals


def test_an_unknown_setting_is_refused_with_what_is_known(small):
    configure(small, "always")
    outcome = command(small, "recalibrate", code=1)
    assert "`defaults.hspr`" in outcome.err
    for known in ("average", "staged", "off"):
        assert f"'{known}'" in outcome.err
