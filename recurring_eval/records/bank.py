"""The questions of a benchmark at one version."""

import hashlib
import json
from dataclasses import dataclass


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
