"""Stochastic variational inference of py-irt with hierarchical priors.

Its difficulty b is a location, P = sigmoid(a (theta - b)), so the intercept is a * b.
Its ``vague`` priors are no alternative: for the 2PL they hold b at 0 within 0.1.
Reading its input file is not timed.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import pyro
import torch
from exchange import cpu_timed_fit, read_problem, write_result
from py_irt.config import IrtConfig
from py_irt.training import IrtModelTrainer

problem = read_problem()
verdicts = problem["verdicts"]
torch.set_num_threads(1)
pyro.set_rng_seed(int(problem["seed"]))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "verdicts.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for i, row in enumerate(verdicts):
            responses = {str(j): int(row[j]) for j in np.flatnonzero(row >= 0)}
            lines.write(json.dumps({"subject_id": str(i), "responses": responses}) + "\n")
    kind = {"rasch": "1pl", "2pl": "2pl"}[str(problem["model"])]
    config = IrtConfig(model_type=kind, priors="hierarchical", epochs=int(problem["epochs"]))
    trainer = IrtModelTrainer(data_path=path, config=config, verbose=False)
seconds, _ = cpu_timed_fit(lambda: trainer.train(device="cpu"))

found = trainer.last_params


def in_order(values: list[float], ids: dict[int, str]) -> np.ndarray:
    """Values by the number that the id is, not by the order met in the file."""
    ordered = np.full(len(ids), np.nan)
    ordered[[int(ids[i]) for i in range(len(ids))]] = values
    return ordered


n_items = verdicts.shape[1]
slope = in_order(found.get("disc", [1.0] * n_items), found["item_ids"])
write_result(
    "py-irt",
    cpu_seconds=seconds,
    slope=slope,
    intercept=slope * in_order(found["diff"], found["item_ids"]),
    ability=in_order(found["ability"], found["subject_ids"]),
)
