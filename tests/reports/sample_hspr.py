"""Realistic sources of HSPR with estimates of a few release candidates."""

from datetime import datetime, timedelta

from reports.context import HsprEstimate, HsprSources


def sample_hspr(made_at: datetime) -> HsprSources:
    return HsprSources(
        configuration="r8g4+r8g8-kappa4-score-lambda0.25",
        n_sources=27,
        n_groups=431,
        source_zero_share=0.137,
        estimates=tuple(
            HsprEstimate(
                run_key=f"release-{4000 + place}",
                at=made_at - timedelta(days=3 * place),
                k=100,
                effective_sample_size=0.81 - 0.07 * place,
                asked_source_zero_share=0.02 * place,
                shift_pp=0.4 - 0.3 * place,
                extrapolating=place == 3,
            )
            for place in range(5)
        ),
    )
