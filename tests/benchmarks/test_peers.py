"""Agreement of parameters with girth, py-irt, catsim and adaptivetesting.

The peers live in an environment of their own. ``RECURRING_EVAL_PEERS`` names it, or says
``build`` to have one made in a temporary folder (torch from PyPI, several minutes)::

    RECURRING_EVAL_PEERS=/tmp/peers pytest -m benchmark tests/benchmarks/test_peers.py

Without the variable there is nothing to compare with, so the test is not defined; what it
is made of is tested everywhere, in `test_peers_parts.py`. See `peers/__main__.py`.
"""

import os
from pathlib import Path

import pytest

from tests.benchmarks.peers.__main__ import compare
from tests.benchmarks.peers.check import disagreements
from tests.benchmarks.peers.environment import build_environment
from tests.benchmarks.peers.measure import Place
from tests.benchmarks.peers.table import agreement_table, ratio_table

pytestmark = pytest.mark.benchmark

PEERS = os.environ.get("RECURRING_EVAL_PEERS", "")
EPOCHS = 1000

if PEERS:

    def test_parameters_agree_with_other_packages(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ):
        environment = tmp_path / "environment" if PEERS == "build" else Path(PEERS)
        if PEERS == "build":
            build_environment(environment)
        results = tmp_path / "results"
        results.mkdir()
        rows = compare(Place(environment=environment, folder=results, epochs=EPOCHS))
        with capsys.disabled():
            print(f"\n{ratio_table(rows)}\n\n{agreement_table(rows)}")
        assert any(not row.reason for row in rows), "no peer could be run"
        assert disagreements(rows) == []
