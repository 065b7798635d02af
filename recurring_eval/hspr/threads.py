"""One BLAS thread: small products gain nothing from more, and bits would depend on cores."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """Context in which BLAS uses one thread; cheap, because libraries are looked up once."""
    context: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return context
