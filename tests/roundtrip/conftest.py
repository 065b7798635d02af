"""Projects as the tests of jobs have them."""

from tests.jobs.conftest import folder

__all__ = ["folder"]
