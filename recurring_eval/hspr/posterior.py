"""Posterior of the latent state: weighted nodes given all observed outcomes.

A group's outcomes are exchangeable, so that its counts are all that matters: they are
multiplied in as passes first, then fails, whatever order they were observed in.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.hspr.config import HsprConfig
from recurring_eval.hspr.group_rates import (
    Outcome,
    Rates,
    baseline_odds,
    log_outcome_likelihood,
    outcome_likelihood,
    rate_moments,
    rate_table,
)
from recurring_eval.hspr.model import HsprModel
from recurring_eval.hspr.proposal import (
    Component,
    GroupCounts,
    Proposal,
    map_proposal,
    normal_nodes,
)

Floats = NDArray[np.float64]
OddsOf = Callable[[NDArray[np.intp]], Floats]
"""Baseline odds of some groups at every node, shape (groups, J)."""

BLOCK: Final = 1 << 16
"""Elements of a table worked on at a time, so that temporaries stay in the cache."""

FACTORS_PER_LOG: Final = 16
"""Factors, each at least 1e-13, multiplied before a log is taken."""


@dataclass(frozen=True, slots=True)
class _Factors:
    """One factor of the likelihood per whole pass or fail, in order of the groups.

    Attributes
    ----------
    group : ndarray of intp, shape (n,)
    passed : ndarray of bool, shape (n,)
    same, before : ndarray, shape (n,)
        Outcomes of the group multiplied in earlier: alike ones, and all.
    """

    group: NDArray[np.intp]
    passed: NDArray[np.bool_]
    same: Floats
    before: Floats


def log_likelihood(odds_of: OddsOf, passes: Floats, fails: Floats, kappa: float) -> Floats:
    """Log of the Beta-integrated likelihood of equation (8), shape (J,).

    Parameters
    ----------
    odds_of : callable
    passes, fails : ndarray, shape (G,)
        Observed evidence in trials; fractional where correlated trials were discounted.
    kappa : float
        Infinite for rates without uncertainty of their own.
    """
    whole_passes, whole_fails = np.floor(passes), np.floor(fails)
    factors = _whole_factors(whole_passes, whole_fails)
    total = np.zeros(odds_of(np.array([0])).shape[1])
    rows = max(1, BLOCK // len(total))
    for start in range(0, len(factors.group), rows):
        block = slice(start, start + rows)
        odds = odds_of(factors.group[block])
        inverse = 1.0 / odds
        both = odds + inverse + (2.0 + factors.before[block] / kappa)[:, np.newaxis]
        own = np.where(factors.passed[block, np.newaxis], odds, inverse)
        own += (1.0 + factors.same[block] / kappa)[:, np.newaxis]
        own /= both
        products = np.multiply.reduceat(own, np.arange(0, len(own), FACTORS_PER_LOG), axis=0)
        total += np.log(products).sum(axis=0)
    for group in np.flatnonzero((passes > whole_passes) | (fails > whole_fails)):
        before = float(whole_passes[group]), float(whole_fails[group])
        rest = Outcome(int(group), passes[group] - before[0], fails[group] - before[1])
        odds = odds_of(np.array([group]))[0]
        total += log_outcome_likelihood(odds, kappa, *before, rest)
    return np.asarray(total)


def _whole_factors(passes: Floats, fails: Floats) -> _Factors:
    count = (passes + fails).astype(np.intp)
    group = np.repeat(np.arange(len(count)), count)
    before = np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
    passed = before < passes[group]
    same = np.where(passed, before, before - passes[group])
    return _Factors(group, passed, same.astype(np.float64), before.astype(np.float64))


class NodePosterior:
    """Weighted nodes given a history of outcomes; G groups, J nodes.

    Attributes
    ----------
    history : list of Outcome
    passes, fails : ndarray, shape (G,)
        Observed evidence, in trials.
    unasked : ndarray of float, shape (G,)
        Questions of the whole bank without an outcome.
    weights : ndarray, shape (J,)
        Sum to one.
    expected : ndarray, shape (J,)
        Expected passes among the unasked questions at each node.
    sign : ndarray, shape (G,)
        1 where `rare` is the rate of passes, -1 where it is the rate of fails: the
        smaller of the two is stored, because only that keeps its relative precision.
    rare : ndarray, shape (G, J)
        Group rate's mean given the node, of passes or fails depending on `sign`.
    spread : ndarray, shape (G, J)
        ``m (1 - m) + (U - 1) tau^2``, N times equation (12).
    """

    def __init__(self, model: HsprModel, config: HsprConfig, *, n_nodes: int) -> None:
        self.model = model
        self.config = config
        self.history: list[Outcome] = []
        self.passes = np.zeros(model.n_groups)
        self.fails = np.zeros(model.n_groups)
        self.unasked = model.group_size.astype(np.float64)
        each = n_nodes // len(config.latent)
        self.components = [
            Component(
                prior,
                model.loadings(prior.rank),
                slice(i * each, (i + 1) * each),
                np.empty((prior.n_coordinates, each)),
            )
            for i, prior in enumerate(config.latent)
        ]
        self.weights = np.full(each * len(config.latent), np.nan)
        self.expected = np.zeros_like(self.weights)
        self.sign = np.ones(model.n_groups)
        dtype = np.float64 if config.double_precision else np.float32
        self.rare: Rates = np.empty((model.n_groups, len(self.weights)), dtype=dtype)
        self.spread: Rates = np.empty_like(self.rare)

    @property
    def n_nodes(self) -> int:
        """Nodes in all."""
        return len(self.weights)

    @property
    def effective_sample_size(self) -> float:
        """Effective number of nodes, as a share of all."""
        return float(1.0 / (self.weights @ self.weights) / self.n_nodes)

    def logits(self, group: int) -> Floats:
        """Baseline logit of one group at every node, shape (J,)."""
        return np.concatenate(
            [
                self.model.intercept[group] + part.loadings[group] @ part.nodes
                for part in self.components
            ]
        )

    def count(self, outcome: Outcome) -> None:
        """Add an outcome to the history without touching the nodes; refresh afterwards."""
        self.history.append(outcome)
        self.passes[outcome.group] += outcome.passes
        self.fails[outcome.group] += outcome.fails
        self.unasked[outcome.group] -= 1.0

    def observe(self, outcome: Outcome) -> None:
        """Reweight the nodes by the outcome and recompute its group's row."""
        group = outcome.group
        odds = baseline_odds(self.logits(group))
        self.weights *= outcome_likelihood(
            odds, self.config.kappa, self.passes[group], self.fails[group], outcome
        )
        self.weights /= self.weights.sum()
        self.expected -= self.sign[group] * self.unasked[group] * self.rare[group]
        if self.sign[group] < 0:
            # Its constant part: one question fewer has a pass rate of one minus `rare`.
            self.expected -= 1.0
        self.count(outcome)
        mean, variance = self.rare_moments(group, odds)
        self.rare[group] = mean
        self.spread[group] = mean * (1.0 - mean) + (self.unasked[group] - 1.0) * variance
        self.expected += self.sign[group] * self.unasked[group] * self.rare[group]

    def rare_moments(self, group: int, odds: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of a group's rate of passes or fails, the rarer; each (J,)."""
        kappa, passes, fails = self.config.kappa, self.passes[group], self.fails[group]
        if self.sign[group] < 0:
            return rate_moments(1.0 / odds, kappa, fails, passes)
        return rate_moments(odds, kappa, passes, fails)

    def refresh(self) -> None:
        """Draw all nodes from a new proposal and weight them by equation (20)."""
        log_weights = np.empty(self.n_nodes)
        logit_at_mode = np.zeros(self.model.n_groups)
        for part in self.components:
            proposal = self._proposal(part)
            standard = normal_nodes(part.nodes.shape[1], len(part.nodes))
            part.nodes = proposal.mean[:, np.newaxis] + proposal.transform @ standard
            precision = part.prior.diagonal
            log_weights[part.columns] = (
                (standard**2).sum(axis=0) - precision @ part.nodes**2
            ) / 2.0 + (np.log(precision).sum() - proposal.log_determinant) / 2.0
            logit_at_mode += self.model.intercept + part.loadings @ proposal.mean
        log_weights += self._log_likelihood()
        self._assign(log_weights, logit_at_mode)

    def _assign(self, log_weights: Floats, typical_logit: Floats) -> None:
        weights = np.exp(log_weights - log_weights.max())
        self.weights = weights / weights.sum()
        self.sign = np.where(typical_logit > 0.0, -1.0, 1.0)
        self._fill_tables()

    def _proposal(self, part: Component) -> Proposal:
        """Prior before any outcome, the auxiliary mode afterwards."""
        precision = part.prior.diagonal
        if not self.history:
            return Proposal(mean=np.zeros(len(precision)), precision=np.diag(precision))
        observed = np.flatnonzero(self.passes + self.fails)
        counts = GroupCounts(
            intercept=self.model.intercept[observed],
            loadings=part.loadings[observed],
            passes=self.passes[observed],
            fails=self.fails[observed],
        )
        return map_proposal(counts, precision, self.config.kappa)

    def _odds(self, groups: NDArray[np.intp]) -> Floats:
        """Baseline odds of some groups at every node, shape (groups, J)."""
        logits = np.hstack([part.loadings[groups] @ part.nodes for part in self.components])
        logits += self.model.intercept[groups, np.newaxis]
        return baseline_odds(logits)

    def _log_likelihood(self) -> Floats:
        """Log of the Beta-integrated likelihood of the whole history, shape (J,)."""
        return log_likelihood(self._odds, self.passes, self.fails, self.config.kappa)

    def _fill_tables(self) -> None:
        """Compute `rare`, `spread` and `expected` of every group, block by block."""
        self.expected[:] = self.unasked[self.sign < 0].sum()
        for part, rows in self.blocks():
            rare, rate_total, both = self.rate_block(part, rows)
            others = self._column(self.unasked[rows] - 1.0)
            self.rare[rows, part.columns] = rare
            rate_total *= self.config.kappa
            rate_total += 1.0
            np.divide(others, rate_total, out=rate_total)
            rate_total += 1.0
            np.multiply(both, rate_total, out=self.spread[rows, part.columns])
            toward = (self.sign[rows] * self.unasked[rows]).astype(self.rare.dtype)
            self.expected[part.columns] += toward @ rare

    def blocks(self) -> Iterator[tuple[Component, slice]]:
        """Every latent prior with all groups, a few at a time: tables that fit the cache."""
        for part in self.components:
            rows_at_once = max(1, BLOCK // part.nodes.shape[1])
            for start in range(0, self.model.n_groups, rows_at_once):
                yield part, slice(start, start + rows_at_once)

    def rate_block(self, part: Component, rows: slice) -> tuple[Rates, Rates, Rates]:
        """Rare rate r, (A + F)/kappa and r (1 - r) of some groups at one prior's nodes."""
        sign = self.sign[rows]
        loadings = (sign[:, np.newaxis] * part.loadings[rows]).astype(self.rare.dtype)
        logits = loadings @ part.nodes.astype(self.rare.dtype)
        logits += self._column(sign * self.model.intercept[rows])
        passes = np.where(sign > 0, self.passes[rows], self.fails[rows])
        fails = np.where(sign > 0, self.fails[rows], self.passes[rows])
        return rate_table(
            logits, self.config.kappa, passes=self._column(passes), fails=self._column(fails)
        )

    def _column(self, values: Floats) -> Rates:
        return values.astype(self.rare.dtype)[:, np.newaxis]
