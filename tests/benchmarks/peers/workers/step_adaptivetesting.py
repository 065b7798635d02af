"""Adaptive run of adaptivetesting: largest information, Bayes modal ability, prior N(0, 1)."""

from adaptivetesting.math.estimators import BayesModal, NormalPrior
from adaptivetesting.math.item_selection import maximum_information_criterion
from adaptivetesting.models import ItemPool
from exchange import StepClock, read_problem, write_result

problem = read_problem()
slope, intercept, k = problem["slope"], problem["intercept"], int(problem["k"])
n = len(slope)


def fresh_pool() -> ItemPool:
    """All questions of the bank."""
    return ItemPool.load_from_list(
        a=slope.tolist(),
        b=(intercept / slope).tolist(),
        c=[0.0] * n,
        d=[1.0] * n,
        ids=list(range(n)),
    )


def learn(items: list) -> float:
    """Ability after the asked questions."""
    answers = [int(problem["verdicts"][item.id]) for item in items]
    return float(BayesModal(answers, items, prior=NormalPrior(mean=0.0, sd=1.0)).get_estimation())


pool = fresh_pool()
clock = StepClock()
items = []
theta = 0.0
for _ in range(k):
    item = clock.choose(lambda t=theta: maximum_information_criterion(pool.test_items, t))
    pool.delete_item(item)
    items.append(item)
    theta = clock.learn(lambda: learn(items))

# The same states as ours had: what would it have asked, and thought of the answers, there?
pool = fresh_pool()
by_id = {item.id: item for item in pool.test_items}
ours = [by_id[int(i)] for i in problem["our_chosen"]]
before = [0.0, *problem["our_abilities"][:-1].tolist()]
chosen_at_our_states = []
for step in range(k):
    chosen_at_our_states.append(maximum_information_criterion(pool.test_items, before[step]).id)
    pool.delete_item(ours[step])
write_result(
    "adaptivetesting",
    chosen=[item.id for item in items],
    chosen_at_our_states=chosen_at_our_states,
    ability_at_our_states=[learn(ours[: step + 1]) for step in range(k)],
    **clock.per_step(k),
)
