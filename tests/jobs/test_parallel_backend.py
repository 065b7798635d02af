"""The configured joblib backend is the one a replay's tasks run on."""

import sys
import types

import joblib
import pytest
from pydantic import ValidationError

from jobs.app.config import ReplaySettings
from jobs.replaying.tasks import parallel_backend
from recurring_eval.errors import InputError


def active_backend() -> str:
    return type(joblib.Parallel(n_jobs=2)._backend).__name__


def test_processes_of_this_machine_by_default():
    with parallel_backend(ReplaySettings()):
        assert active_backend() == "LokyBackend"


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_backend_that_is_not_installed_is_named(monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    with (
        pytest.raises(InputError, match=rf"backend = \"{name}\"` needs the package '{package}'"),
        parallel_backend(ReplaySettings(backend=name)),
    ):
        pass


def test_ray_is_asked_to_register_itself_with_the_address(monkeypatch):
    told = []

    class Registered(joblib.parallel.ThreadingBackend):
        pass

    ray, util = types.ModuleType("ray"), types.ModuleType("ray.util.joblib")
    ray.init = lambda **options: told.append(options)
    util.register_ray = lambda: joblib.register_parallel_backend("ray", Registered)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.util.joblib", util)
    monkeypatch.setattr("joblib.parallel.BACKENDS", dict(joblib.parallel.BACKENDS))
    with parallel_backend(ReplaySettings(backend="ray", address="auto")):
        assert active_backend() == "Registered"
    assert told == [{"address": "auto", "ignore_reinit_error": True}]


def test_an_address_belongs_to_a_cluster():
    with pytest.raises(ValidationError, match="`address` needs the backend dask or ray"):
        ReplaySettings(address="tcp://somewhere:8786")
