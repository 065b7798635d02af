"""Linear algebra on one thread, so that the number of cores does not change a bit."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import scipy.linalg  # noqa: F401  its BLAS must be loaded before it can be limited
from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread inside the block.

    Finding the libraries of a process takes 8 ms, as long as many a fit, so it is done
    once, and again when scikit-learn has brought its own.
    """
    with _controller("sklearn" in sys.modules).limit(limits=1):
        yield


@cache
def _controller(with_sklearn: bool) -> ThreadpoolController:  # noqa: ARG001  the cache's key
    return ThreadpoolController()
