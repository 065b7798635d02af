"""What every step-by-step method must do in a session, whatever it asks."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.session import Session
from recurring_eval.methods.steps import drawn_order
from tests.conformance.calibrations import Tried, every_step_method, shuffled

N = 24
MISSING = (0, 0)

examples = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**32 - 1)


@cache
def calibration_for(tried: Tried) -> Calibration:
    return tried.calibration(N, np.random.default_rng(0))


def start(tried: Tried, k: int, seed: int = 1) -> Session:
    rng = np.random.default_rng(seed)
    return Session.start(tried.method, calibration_for(tried), k=k, rng=rng)


def rebuilt(session: Session, **changed: object) -> Session:
    """Session made from what a history keeps of it."""
    kept = {name: getattr(session, name) for name in ("method", "calibration", "k", "order")}
    return Session(**kept | {"answers": tuple(session.answers)} | changed)


def verdicts_of(seed: int, missing: float = 0.15) -> dict[str, tuple[int, int]]:
    """Verdicts of a run on every question, some missing and some of several trials."""
    rng = np.random.default_rng(seed)
    trials = np.where(rng.random(N) < missing, 0, rng.integers(1, 4, N))
    passes = rng.binomial(trials, 0.6)
    return {f"q{j:04d}": (int(passes[j]), int(trials[j])) for j in range(N)}


def run(session: Session, verdicts: dict[str, tuple[int, int]], n: int = 1) -> Session:
    """Ask in rounds of n until the session is finished."""
    while asked := session.ask(n):
        session = session.tell({question: verdicts[question] for question in asked})
    assert session.finished
    return session


def said(session: Session) -> tuple[object, ...]:
    """All that a session's score says, to be compared bit by bit."""
    scores = session.score()
    return (
        *(float(getattr(scores, name)[0]) for name in ("pass_rate", "model_sd", "rerun_variance")),
        scores.ability[0].theta.tolist(),
        scores.ability[0].covariance.tolist(),
        scores.ability[0].n_observed,
        scores.fingerprint,
        None if scores.distribution is None else scores.distribution[0].pmf.tolist(),
    )


@every_step_method
@examples
@given(seed=seeds, k=st.integers(1, N), n=st.integers(1, 7))
def test_asks_nothing_twice_and_replaces_missing_verdicts(
    tried: Tried, seed: int, k: int, n: int
) -> None:
    verdicts = verdicts_of(seed)
    session = run(start(tried, k, seed), verdicts, n)
    assert len(set(session.asked)) == len(session.asked)
    assert session.n_valid == min(k, sum(trials > 0 for _, trials in verdicts.values()))
    assert session.ask(n) == ()
    told = [verdicts[question] for question in session.asked]
    assert session.answers == tuple(
        (session.calibration.question_ids.index(question), *counts)
        for question, counts in zip(session.asked, told, strict=True)
    )
    low = sum(passes / trials for passes, trials in told if trials) / N
    rate = session.score().pass_rate[0]
    if len(session.asked) < N:
        assert low - 1e-12 <= rate <= low + 1 - session.n_valid / N + 1e-12


@every_step_method
@examples
@given(seed=seeds, k=st.integers(1, N), n=st.integers(1, 2 * N))
def test_no_more_is_asked_than_is_left_of_k_and_of_the_bank(
    tried: Tried, seed: int, k: int, n: int
) -> None:
    verdicts, session = verdicts_of(seed, missing=0.4), start(tried, k, seed)
    while asked := session.ask(n):
        left = min(k - session.n_valid, N - len(session.asked))
        assert session.n_left == left
        assert len(asked) == min(n, left)
        assert session.ask(n) == asked  # asking changes nothing
        assert session.ask(1) == asked[:1]
        session = session.tell({question: verdicts[question] for question in asked})
    assert session.n_left == 0


@every_step_method
@examples
@given(seed=seeds)
def test_a_round_may_be_answered_in_part_and_in_any_order(tried: Tried, seed: int) -> None:
    rng, verdicts = np.random.default_rng(seed), verdicts_of(seed)
    session = start(tried, 15, seed)
    while not session.finished:
        asked = list(session.ask(5))
        rng.shuffle(asked)
        for question in asked[: rng.integers(1, len(asked) + 1)]:
            session = session.tell({question: verdicts[question]})
            assert question in session.asked
            assert not set(session.ask(5)) & set(session.asked)
    # Questions nobody asked for count as well.
    unasked = next(q for q in verdicts if q not in session.asked)
    assert session.tell({unasked: (1, 1)}).n_valid == session.n_valid + 1


@every_step_method
@examples
@given(seed=seeds, n_answers=st.integers(0, N))
def test_the_score_does_not_depend_on_the_order_of_the_answers(
    tried: Tried, seed: int, n_answers: int
) -> None:
    rng, verdicts = np.random.default_rng(seed), verdicts_of(seed)
    answered = rng.permutation(list(verdicts))[:n_answers].tolist()
    one = start(tried, N).tell({question: verdicts[question] for question in answered})
    other = start(tried, N, seed=2)
    for question in rng.permutation(answered).tolist():
        other = other.tell({question: verdicts[question]})
    assert said(other) == said(one)


@every_step_method
@examples
@given(seed=seeds, n=st.integers(1, 5))
def test_a_session_rebuilt_from_its_answers_is_the_same(tried: Tried, seed: int, n: int) -> None:
    verdicts, session = verdicts_of(seed), start(tried, 16, seed)
    while asked := session.ask(n):
        again = rebuilt(session)
        assert again == session
        assert again.ask(n) == asked
        session = session.tell({question: verdicts[question] for question in asked})
    longer = rebuilt(session, k=N)
    assert longer.ask(3) == rebuilt(longer).ask(3)
    assert said(longer) == said(rebuilt(session)) == said(session)


@every_step_method
@examples
@given(seed=seeds, at=st.integers(0, 8), back=st.integers(0, 8))
def test_a_session_goes_on_from_an_older_state_as_if_nothing_came_after(
    tried: Tried, seed: int, at: int, back: int
) -> None:
    """What a chain of sessions keeps of its progress never shows."""
    verdicts = verdicts_of(seed)
    chain = [start(tried, N, seed)]
    while len(chain) < 10:
        (question,) = chain[-1].ask()
        chain.append(chain[-1].tell({question: verdicts[question]}))
    older = chain[at]
    assert older.ask(4) == rebuilt(older).ask(4)
    (question,) = older.ask()
    passes, trials = verdicts[question]
    branch = older.tell({question: (trials - passes, trials) if trials else (1, 1)})
    other = older.tell({older.ask(2)[-1]: MISSING})
    for session in (branch, chain[-1], other, chain[back], branch.tell({}), chain[-1]):
        assert session.ask(3) == rebuilt(session).ask(3)
    assert said(branch) == said(rebuilt(branch))


@every_step_method
def test_a_missing_verdict_is_replaced_and_does_not_count(tried: Tried) -> None:
    session = start(tried, 5)
    (question,) = session.ask()
    after = session.tell({question: MISSING})
    assert (after.n_valid, after.n_left, after.asked) == (0, 5, (question,))
    assert question not in after.ask(5)
    assert len(after.ask(5)) == 5
    assert said(after) == said(session)


@every_step_method
def test_unacceptable_answers_are_refused_and_change_nothing(tried: Tried) -> None:
    session = start(tried, 5)
    first, second = session.ask(2)
    session = session.tell({first: (1, 1)})
    before = session.ask(4)
    for outcomes, message in (
        ({first: (0, 1)}, "asks nothing twice"),
        ({second: (1, 1), "other": (1, 1)}, "'other' is not in the bank"),
        ({second: (2, 1)}, "2 passes of 1 trials"),
        ({second: (-1, 1)}, "-1 passes of 1 trials"),
    ):
        with pytest.raises(InputError, match=message):
            session.tell(outcomes)
    assert session.asked == (first,)
    assert session.ask(4) == before
    with pytest.raises(InputError, match="at least one"):
        session.ask(0)


@every_step_method
def test_impossible_sessions_are_refused(tried: Tried) -> None:
    for k in (0, N + 1):
        with pytest.raises(InputError, match=f"`k` is {k}"):
            start(tried, k)
    session = start(tried, 3)
    for order in (session.order[1:], (0,) * N):
        with pytest.raises(InputError, match="every rank from 0 to n - 1 once"):
            rebuilt(session, order=order)


@every_step_method
def test_a_calibration_without_the_methods_models_is_refused_unless_it_can_do_without(
    tried: Tried,
) -> None:
    bare = Calibration(
        rasch=calibration_for(tried).rasch,
        without={kind.name: "too few runs" for kind in tried.method.models},
    )
    method, rng = tried.method, np.random.default_rng(1)
    needs = bool(method.models) and not method.can_do_without
    assert method.works_with(bare) == (not needs)
    assert method.works_with(calibration_for(tried))
    if needs:
        with pytest.raises(NotEnoughDataError, match=r"too few runs.*recalibrate --force"):
            Session.start(method, bare, k=3, rng=rng)
    else:
        assert len(Session.start(method, bare, k=3, rng=rng).ask(3)) == 3


@every_step_method
def test_full_budget_is_exact_with_no_uncertainty(tried: Tried) -> None:
    verdicts = verdicts_of(3, missing=0.0)
    session = run(start(tried, N), verdicts, 5)
    mean = sum(passes / trials for passes, trials in verdicts.values()) / N
    scores = session.score()
    assert scores.pass_rate[0] == pytest.approx(mean, abs=1e-15)
    assert scores.model_sd[0] == 0


@every_step_method
def test_a_population_limits_the_score_but_not_the_evidence(tried: Tried) -> None:
    session = run(start(tried, 10), verdicts_of(4))
    inside = np.arange(N) % 3 > 0
    scores, whole = session.score(inside), session.score()
    assert scores.ability[0].theta.tolist() == whole.ability[0].theta.tolist()
    observed = np.zeros(N, dtype=bool)
    rates = np.zeros(N)
    for question, passes, trials in session.answers:
        observed[question] = trials > 0
        rates[question] = passes / trials if trials else 0.0
    low = rates[observed & inside].sum() / inside.sum()
    open_share = (inside & ~observed).sum() / inside.sum()
    assert low - 1e-12 <= scores.pass_rate[0] <= low + open_share + 1e-12
    assert np.isnan(session.score(np.zeros(N, dtype=bool)).pass_rate[0])


@every_step_method
def test_order_of_the_calibrations_questions_is_irrelevant(tried: Tried) -> None:
    calibration = calibration_for(tried)
    moved = shuffled(calibration, np.random.default_rng(5).permutation(N))
    one, other = (
        run(
            Session.start(tried.method, bank, k=14, rng=np.random.default_rng(6)),
            verdicts_of(7),
            2,
        )
        for bank in (calibration, moved)
    )
    assert other.asked == one.asked
    assert other.score().pass_rate[0] == pytest.approx(one.score().pass_rate[0], abs=1e-12)


@every_step_method
def test_the_generator_draws_the_order_of_equals_and_nothing_else(tried: Tried) -> None:
    first, again, other = start(tried, 5, seed=1), start(tried, 5, seed=1), start(tried, 5, seed=2)
    assert first == again
    assert first.order != other.order
    expected = drawn_order(first.calibration.question_ids, np.random.default_rng(1))
    assert first.order == tuple(expected.tolist())


@every_step_method
def test_a_replay_agrees_with_sessions_that_ask_one_by_one(tried: Tried) -> None:
    calibration, rng = calibration_for(tried), np.random.default_rng(8)
    trials = (rng.random((5, N)) < 0.8) * rng.integers(1, 3, (5, N))
    passes = rng.binomial(trials, 0.6)
    order = drawn_order(calibration.question_ids, rng)
    ks = (1, 4, 11, N)
    replayed = tried.method.replay(
        calibration, passes, trials, ks=ks, population=trials > 0, orders=order[np.newaxis]
    )
    assert [at_k.k for at_k in replayed] == list(ks)
    for row in range(5):
        verdicts = {
            question: (int(passes[row, j]), int(trials[row, j]))
            for j, question in enumerate(calibration.question_ids)
        }
        for at_k in replayed:
            session = run(
                Session(
                    method=tried.method,
                    calibration=calibration,
                    k=at_k.k,
                    order=tuple(order.tolist()),
                ),
                verdicts,
            )
            observed = np.zeros(N, dtype=bool)
            observed[[question for question, _, t in session.answers if t]] = True
            np.testing.assert_array_equal(at_k.observed[row], observed)
            scores = session.score(trials[row] > 0)
            for name in ("pass_rate", "model_sd", "rerun_variance"):
                np.testing.assert_allclose(
                    getattr(at_k.scores, name)[row],
                    getattr(scores, name)[0],
                    rtol=1e-10,
                    atol=1e-12,
                    err_msg=name,
                )
            np.testing.assert_allclose(
                at_k.scores.ability[row].theta, scores.ability[0].theta, rtol=1e-8, atol=1e-10
            )
            assert at_k.scores.ability[row].n_observed == scores.ability[0].n_observed


@every_step_method
def test_a_replayed_run_does_not_depend_on_the_other_runs(tried: Tried) -> None:
    calibration, rng = calibration_for(tried), np.random.default_rng(9)
    trials = (rng.random((4, N)) < 0.9).astype(int)
    passes = rng.binomial(trials, 0.5)
    orders = drawn_order(calibration.question_ids, rng)[np.newaxis]
    together, alone = (
        tried.method.replay(
            calibration,
            passes[rows],
            trials[rows],
            ks=(6,),
            population=trials[rows] > 0,
            orders=orders,
        )[0]
        for rows in (slice(None), slice(2, 3))
    )
    assert together.observed[2].tolist() == alone.observed[0].tolist()
    assert together.scores.pass_rate[2] == alone.scores.pass_rate[0]


@every_step_method
def test_each_run_has_its_own_order_of_equals_or_all_have_one(tried: Tried) -> None:
    ids = calibration_for(tried).question_ids
    orders = tried.method.draw_orders(ids, 3, np.random.default_rng(10))
    assert orders.shape == ((3, N) if tried.method.orders == "per run" else (1, N))
    assert all(sorted(order) == list(range(N)) for order in orders.tolist())
    again = tried.method.draw_orders(ids[::-1], 3, np.random.default_rng(10))
    np.testing.assert_array_equal(again[:, ::-1], orders)


def test_every_field_of_a_session_is_kept_or_derived() -> None:
    """`rebuilt` names all that there is to keep."""
    kept = {field.name for field in dataclasses.fields(Session) if field.compare}
    assert kept == {"method", "calibration", "k", "order", "answers"}
