"""The questions of a benchmark at one version."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.validation import read_only_floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """The questions of a benchmark at one immutable version.

    Attributes
    ----------
    benchmark : str
        Name of the benchmark.
    question_ids : tuple of str
        Question keys in bank order, which is sorted order; length N.
    content_hashes : tuple of str
        Hash of each question's content, aligned; empty string where unknown.
    """

    benchmark: str
    question_ids: tuple[str, ...]
    content_hashes: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.question_ids) != len(self.content_hashes):
            raise ValueError("`question_ids` and `content_hashes` differ in length")
        if any(a >= b for a, b in zip(self.question_ids, self.question_ids[1:], strict=False)):
            raise ValueError("`question_ids` must be distinct and in sorted order")

    @property
    def version(self) -> str:
        """SHA-256 of the (question key, content hash) pairs, as hex."""
        pairs = [list(pair) for pair in zip(self.question_ids, self.content_hashes, strict=True)]
        text = json.dumps(pairs, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """Exactly k distinct questions with the share of the bank each stands for.

    Attributes
    ----------
    question_ids : tuple of str
        The k questions in bank order.
    weights : ndarray, shape (k,)
        Share of the bank each question represents; sums to 1.
    design : str
        Name of the selection rule, e.g. ``stratified``.
    seed : int
    bank_version : str
    model_fingerprint : str
        Fingerprint of the model that chose the questions.
    """

    question_ids: tuple[str, ...]
    weights: NDArray[np.float64]
    design: str
    seed: int
    bank_version: str
    model_fingerprint: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", read_only_floats(self.weights))
        if len(set(self.question_ids)) != len(self.question_ids):
            raise ValueError("`question_ids` must be distinct")
        if self.weights.shape != (len(self.question_ids),):
            raise ValueError("`weights` must have one entry per question")
        if not self.question_ids or abs(float(self.weights.sum()) - 1.0) > 1e-9:
            raise ValueError("`weights` must sum to 1")

    @property
    def k(self) -> int:
        """Number of questions."""
        return len(self.question_ids)

    @property
    def sha256(self) -> str:
        """SHA-256 of the compact JSON [bank version, design, k, seed, ids]; weights left out."""
        content = [self.bank_version, self.design, self.k, self.seed, list(self.question_ids)]
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
