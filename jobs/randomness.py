"""The only place that creates random generators."""

import hashlib
import json

import numpy as np

from recurring_eval.errors import InputError


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return the random stream that belongs to a seed and a path of names.

    Streams with different names are independent, and each depends on nothing
    but its own seed and names, so adding a stream never changes another.

    Parameters
    ----------
    seed : int
        Not negative.
    *names : str
        What the stream is for, e.g. ``"recalibrate", "my-benchmark", "2026-11-29"``.

    Raises
    ------
    InputError
        If `seed` is negative.
    """
    if seed < 0:
        raise InputError(f"`seed` is {seed}; choose a number from 0 upwards")
    digest = hashlib.sha256(json.dumps(names).encode()).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 32, 4))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
