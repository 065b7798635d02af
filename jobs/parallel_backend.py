"""Where joblib runs the tasks of a replay: processes of this machine, Dask or Ray."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Final

from jobs.config import ReplaySettings
from recurring_eval.errors import InputError

_PACKAGES: Final = {"dask": "distributed", "ray": "ray"}


@contextmanager
def parallel_backend(settings: ReplaySettings) -> Iterator[None]:
    """Make joblib use the configured backend inside the block.

    Raises
    ------
    InputError
        If the backend's package is not installed.
    """
    from joblib import parallel_config

    name = settings.backend
    with ExitStack() as stack:
        if name == "dask":
            distributed = _package(name, "distributed")
            stack.enter_context(distributed.Client(settings.address, set_as_default=True))
        elif name == "ray":
            # Ray must be asked to make itself known to joblib.
            _package(name, "ray").init(address=settings.address, ignore_reinit_error=True)
            _package(name, "ray.util.joblib").register_ray()
        stack.enter_context(parallel_config(backend=name))
        yield


def _package(backend: str, module: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError:
        raise InputError(
            f'`[replay] backend = "{backend}"` needs the package {_PACKAGES[backend]!r}; '
            'install it, or set backend = "loky"'
        ) from None
