"""Time and randomness each come from one place."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from jobs.clock import FixedClock, SystemClock
from jobs.randomness import generator
from recurring_eval.errors import InputError


def test_clocks_are_aware_and_in_utc():
    assert SystemClock().now().tzinfo is UTC
    noon = datetime(2026, 11, 29, 12, tzinfo=timezone(timedelta(hours=2)))
    assert FixedClock(noon).now() == noon
    assert FixedClock(noon).now().tzinfo is UTC
    with pytest.raises(ValueError, match="aware"):
        FixedClock(datetime(2026, 11, 29))  # noqa: DTZ001  # what is refused


def test_streams_depend_on_seed_and_names_alone():
    first = generator(7, "recalibrate", "b").random(4)
    assert np.array_equal(first, generator(7, "recalibrate", "b").random(4))
    others = [generator(8, "recalibrate", "b"), generator(7, "recalibrate"), generator(7)]
    # Joining the names must not make ("a", "b") and ("ab",) one stream.
    others += [generator(7, "recalibrateb"), generator(7, "recalibrate", "b", "")]
    assert all(not np.array_equal(first, other.random(4)) for other in others)


def test_named_streams_are_uncorrelated():
    draws = np.array([generator(0, "night", str(i)).standard_normal(4000) for i in range(12)])
    correlation = np.corrcoef(draws)[~np.eye(12, dtype=bool)]
    assert np.abs(correlation).max() < 5 / np.sqrt(4000)


def test_negative_seed_is_refused():
    with pytest.raises(InputError, match="`seed` is -1"):
        generator(-1)
