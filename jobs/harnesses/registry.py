"""The evaluation tools whose logs can be read."""

from typing import Final

from jobs.harnesses.deep_eval import DeepEval
from jobs.harnesses.hal import Hal
from jobs.harnesses.harbor import Harbor
from jobs.harnesses.harness import Harness, SelectingHarness
from jobs.harnesses.helm import Helm
from jobs.harnesses.inspect_ai.reader import InspectAi
from jobs.harnesses.langfuse import Langfuse
from jobs.harnesses.lm_eval.reader import LmEval
from jobs.harnesses.ml_flow import MlFlow
from jobs.harnesses.openai_evals import OpenAiEvals
from jobs.harnesses.phoenix import Phoenix
from jobs.harnesses.promptfoo.reader import Promptfoo
from jobs.harnesses.py_test.reader import PyTest
from jobs.harnesses.swe_bench.reader import SweBench
from jobs.harnesses.table.long_table import LongTable
from jobs.harnesses.table.wide_table import WideTable
from jobs.harnesses.terminal_bench import TerminalBench
from recurring_eval.errors import InputError

AUTO: Final = "auto"

HARNESSES: Final[tuple[Harness, ...]] = (
    InspectAi(),
    LmEval(),
    SweBench(),
    Promptfoo(),
    PyTest(),
    TerminalBench(),
    Harbor(),
    OpenAiEvals(),
    DeepEval(),
    Hal(),
    Helm(),
    MlFlow(),
    Phoenix(),
    Langfuse(),
    WideTable(),
    LongTable(),
)
"""Asked in this order; each claims files that those before it did not."""


def harness_names() -> list[str]:
    """Names accepted by `harnesses_named`."""
    return [AUTO, *(harness.name for harness in HARNESSES)]


def harnesses_named(name: str) -> tuple[Harness, ...]:
    """Return the reader of that name, or all of them for ``auto``.

    Raises
    ------
    InputError
        If there is no such reader.
    """
    found = tuple(h for h in HARNESSES if name in (AUTO, h.name))
    if not found:
        raise InputError(f"no harness is called {name!r}; choose from {', '.join(harness_names())}")
    return found


def selecting_harnesses() -> dict[str, SelectingHarness]:
    """Return the tools that a choice of questions can be phrased for, by name."""
    return {h.name: h for h in HARNESSES if isinstance(h, SelectingHarness)}
