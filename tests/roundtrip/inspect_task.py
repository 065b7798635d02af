"""A task with the ids of `ids.json`; it needs no model."""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver

IDS = json.loads((Path(__file__).parent / "ids.json").read_text(encoding="utf-8"))


@solver
def nothing():
    async def solve(state, generate):
        return state

    return solve


@scorer(metrics=[accuracy()])
def grade():
    async def score(state, target):
        return Score(value="C" if len(str(state.sample_id)) % 2 else "I")

    return score


@task
def awkward():
    samples = [Sample(id=i, input="a question", target="an answer") for i in IDS]
    return Task(dataset=MemoryDataset(samples), solver=nothing(), scorer=grade())
