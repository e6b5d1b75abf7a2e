"""Automatic teachers against the formulas of their papers, computed another, slow way."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from piase_gym.core.rng import Stream
from piase_gym.curricula.alp_gmm import component_weights, fit_mixture, learning_progress
from piase_gym.curricula.directors import StepChoice
from piase_gym.curricula.learnability import learnability_weights, most_learnable
from piase_gym.curricula.level_replay import KnownTask, replay_weights
from piase_gym.curricula.self_paced import (
    Samples,
    divergence,
    gaussian_divergence,
    gaussian_objective,
    log_density,
    move_gaussian,
    move_table,
)
from piase_gym.curricula.tasks import SettingRanges, Task
from piase_gym.runs.history import Episode
from tests.curricula.teacher_helpers import AGENT, ended, opened


def close_to(count: int, of: int, share: float) -> bool:
    """Whether a share is within four standard deviations: it is not once in 16,000 times."""
    return abs(count / of - share) <= 4 * math.sqrt(max(share * (1 - share), 1e-4) / of)


# -- prioritised level replay ------------------------------------------------------------------

SCORES = st.lists(st.tuples(st.floats(0, 5), st.integers(0, 9)), min_size=1, max_size=8)


@given(SCORES, st.floats(0.1, 3), st.floats(0, 1), st.sampled_from(["rank", "proportional"]))
def test_replay_weights_are_those_of_the_paper(
    rows: list[tuple[float, int]], temperature: float, staleness: float, priority: str
) -> None:
    scores, ages = [score for score, _ in rows], [age for _, age in rows]
    if priority == "rank":  # h(S_i) = 1 / rank(S_i)
        h = [
            1 / (1 + sum(o > s for o in scores) + sum(o == s for o in scores[:place]))
            for place, s in enumerate(scores)
        ]
    else:
        if 0 < max(scores) < 1e-3:
            return
        h = scores if max(scores) > 0 else [1.0] * len(scores)
    powers = [x ** (1 / temperature) for x in h]
    if not 1e-100 < sum(powers) < 1e100:
        return
    by_score = [x / sum(powers) for x in powers]
    wanted = by_score
    if sum(ages):
        wanted = [
            (1 - staleness) * p + staleness * age / sum(ages)
            for p, age in zip(by_score, ages, strict=True)
        ]
    found = replay_weights(
        np.array(scores), np.array(ages, float), temperature, staleness, priority
    )
    assert found.tolist() == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert found.sum() == pytest.approx(1.0)


def test_replay_weights_by_hand() -> None:
    scores, ages = np.array([0.2, 0.8, 0.4]), np.array([1.0, 0.0, 3.0])
    # ranks 3, 1, 2; temperature 1/2 squares: 1/9, 1, 1/4, of 49/36 in all; staleness 1/4, 0, 3/4
    wanted = [0.9 * 4 / 49 + 0.025, 0.9 * 36 / 49, 0.9 * 9 / 49 + 0.075]
    assert replay_weights(scores, ages, 0.5, 0.1).tolist() == pytest.approx(wanted)


def plr_with_three(**options: Any) -> Any:
    director = opened("plr", warm_up=3, temperature=0.5, staleness=0.3, **options)
    state = director.state(AGENT)
    state.known = [
        KnownTask(Task(order, seed), score, last)
        for order, seed, score, last in ((1, 11, 0.2, 5), (1, 12, 0.8, 2), (4, 13, 0.4, 9))
    ]
    state.count = 10
    return director


def test_replay_happens_with_its_probability_and_by_the_weights() -> None:
    replayed: Counter[int] = Counter()
    for seed in range(1500):
        director = plr_with_three(replay=0.7)
        director.seed = seed
        choice = director.assign(AGENT)
        assert director.state(AGENT).count == 11
        if choice.values["replayed"]:
            replayed[choice.seed] += 1
            (known,) = [k for k in director.state(AGENT).known if k.task.seed == choice.seed]
            assert known.last == 11  # it was drawn now
            assert known.task.order == choice.order
    assert close_to(sum(replayed.values()), 1500, 0.7)
    # The draw counts: ages are 11 - 5, 11 - 2 and 11 - 9.
    ages, powers = [6 / 17, 9 / 17, 2 / 17], [1 / 9, 1.0, 1 / 4]
    for level, power, age in zip((11, 12, 13), powers, ages, strict=True):
        share = 0.7 * power / sum(powers) + 0.3 * age
        assert close_to(replayed[level], sum(replayed.values()), share)


@pytest.mark.parametrize(("replay", "robust"), [(0.0, False), (1.0, False), (0.5, True)])
def test_replay_alone_new_levels_alone_and_learning_from_replay_alone(
    replay: float, robust: bool
) -> None:
    director = plr_with_three(replay=replay, robust=robust)
    choices = [director.assign(AGENT) for _ in range(60)]
    again = [choice.values["replayed"] for choice in choices]
    assert set(again) == ({replay == 1.0} if replay != 0.5 else {True, False})
    assert [c.learn for c in choices] == (again if robust else [True] * 60)
    new = [c.seed for c in choices if not c.values["replayed"]]
    assert len(set(new)) == len(new)
    assert not set(new) & {11, 12, 13}


def test_steps_without_a_score_come_first_and_then_all_is_replay() -> None:
    director = opened("plr", over="steps", replay=0.01, score="return")
    seen = []
    for _ in range(3):
        choice = director.assign(AGENT)
        assert not choice.values["replayed"]
        assert choice.seed is None
        seen.append(choice.order)
        ended(director, choice, total=1.0)
    assert sorted(seen) == [1, 2, 4]
    assert all(director.assign(AGENT).values["replayed"] for _ in range(20))


@pytest.mark.parametrize(
    ("score", "wanted"), [("gae", (0.5 + 1.5 + 1.0) / 3), ("positive", 1.5 / 3)]
)
def test_a_score_is_the_mean_of_the_advantages(score: str, wanted: float) -> None:
    director = opened("plr", score=score, rate=0.5)
    choice = director.assign(AGENT)
    episode = Episode(AGENT, 0, 0, 0, choice.seed, 0, 3, 3)
    director.score(AGENT, choice, episode, np.array([-0.5, 1.5, -1.0]))
    (known,) = director.state(AGENT).known
    assert (known.task, known.last) == (Task(choice.order, choice.seed), 1)
    assert known.score == pytest.approx(wanted)
    director.score(AGENT, choice, episode, np.zeros(3))
    assert known.score == pytest.approx(wanted / 2)  # half way to 0


def test_the_return_as_a_score_is_its_distance_from_the_mean_before() -> None:
    director = opened("plr", over="steps", score="return")
    for total, wanted in ((2.0, 0.0), (5.0, 3.0), (2.0, 1.5), (3.0, 0.0)):
        ended(director, StepChoice(2, {"draw": 1}), total=total)
        assert director.state(AGENT).known[0].score == pytest.approx(wanted)


def test_a_full_buffer_gives_up_what_is_least_probable() -> None:
    director = plr_with_three(buffer=3)
    # Weights: of rank 3 and age 5: 0.7 * 4 / 49 + 0.3 * 5 / 14; of rank 2 and age 1, which are
    # those of level 13: 0.7 * 9 / 49 + 0.3 / 14
    for score, wanted in ((0.3, {11, 12, 13}), (0.5, {11, 12, 99})):
        episode = Episode(AGENT, 0, 0, 0, 99, 0, 1, 1)
        director.score(AGENT, StepChoice(2, {"draw": 10}), episode, np.array([score]))
        assert {known.task.seed for known in director.state(AGENT).known} == wanted


# -- ALP-GMM -----------------------------------------------------------------------------------


def test_learning_progress_is_that_since_the_nearest_task() -> None:
    rng = np.random.default_rng(0)
    places, outcomes = rng.random((40, 2)).tolist(), rng.normal(size=40).tolist()
    assert learning_progress([], [], [0.5, 0.5], 3.0) == 0.0
    for number in range(1, 40):
        point, outcome = places[number], outcomes[number]
        distances = [math.dist(point, other) for other in places[:number]]
        nearest = distances.index(min(distances))
        found = learning_progress(places[:number], outcomes[:number], point, outcome)
        assert found == pytest.approx(abs(outcome - outcomes[nearest]))
    # Of several as near, the newest counts.
    assert learning_progress([[0.5], [0.5], [0.4]], [1.0, 2.0, 9.0], [0.5], 2.5) == 0.5


def test_alp_gmm_remembers_the_newest_tasks_and_takes_up_what_was_stored() -> None:
    ranges, history, noise = {"obstacle_density": [0.0, 1.0]}, 70, Stream(5)
    options: dict[str, Any] = {"settings": ranges, "period": 70, "components": [1, 1]}
    director = opened("alp_gmm", history=history, random=0.9, **options)
    places: list[float] = []
    outcomes: list[float] = []
    progress: list[float] = []
    for number in range(400):
        if number == 190:  # as if it were saved and read
            stored = json.loads(json.dumps(dataclasses.asdict(director.state(AGENT))))
            director = opened("alp_gmm", history=history, random=0.9, **options)
            director.memory(AGENT)["teacher"] = stored
        choice, outcome = director.assign(AGENT), noise.uniform()
        place = choice.fields["obstacle_density"]
        ended(director, choice, total=outcome)
        near = [abs(place - other) for other in places]
        nearest = max((k for k, d in enumerate(near) if d == min(near)), default=0)
        progress.append(abs(outcome - outcomes[nearest]) if outcomes else 0.0)
        places, outcomes = [*places, place][-history:], [*outcomes, outcome][-history:]
        state = director.state(AGENT)
        assert [place for (place,) in state.places] == places
        assert state.outcomes == outcomes
        assert state.progress == progress[-history:]


def test_alp_gmm_with_even_draws_alone_remembers_nothing() -> None:
    ranges = {"obstacle_density": [0.0, 1.0]}
    director = opened("alp_gmm", settings=ranges, random=1.0, period=10, components=[1, 1])
    choices = [director.assign(AGENT) for _ in range(30)]
    for number, choice in enumerate(choices):
        ended(director, choice, total=float(number))
    assert all(choice.values["random"] for choice in choices)
    assert director.assign(AGENT).values["random"]
    assert dataclasses.asdict(director.state(AGENT)) == dataclasses.asdict(director.Memory())


def aic(mixture: Any, rows: Any) -> float:
    """Akaike's criterion from the densities themselves."""
    size, parts = rows.shape[1], len(mixture.weights_)
    density = sum(
        weight * stats.multivariate_normal(mean, covariance).pdf(rows)
        for weight, mean, covariance in zip(
            mixture.weights_, mixture.means_, mixture.covariances_, strict=True
        )
    )
    free = parts * (size + size * (size + 1) / 2) + parts - 1
    return float(2 * free - 2 * np.log(density).sum())


def test_the_mixture_with_the_least_aic_is_kept() -> None:
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(3)
    centres = np.array([[0.2, 0.0], [0.5, 0.9], [0.9, 0.1]])
    rows = np.concatenate([rng.normal(centre, 0.02, (60, 2)) for centre in centres])
    found = fit_mixture(rows, 1, 6, 7)
    fits = [GaussianMixture(k, random_state=7).fit(rows) for k in range(1, 7)]
    best = min(fits, key=lambda mixture: aic(mixture, rows))
    assert [part.mean for part in found] == best.means_.tolist()
    assert [part.covariance for part in found] == best.covariances_.tolist()
    assert len(found) >= 3
    for centre in centres:
        assert min(math.dist(centre, part.mean) for part in found) < 0.03


def test_the_criterion_is_not_that_of_bayes() -> None:
    from sklearn.mixture import GaussianMixture

    rows = np.random.default_rng(0).random((250, 2))
    fits = [GaussianMixture(k, random_state=7).fit(rows) for k in range(1, 9)]
    best = min(fits, key=lambda mixture: aic(mixture, rows))
    assert best is not min(fits, key=lambda mixture: mixture.bic(rows))
    assert [part.mean for part in fit_mixture(rows, 1, 8, 7)] == best.means_.tolist()


def test_a_gaussian_is_drawn_by_its_mean_progress() -> None:
    assert component_weights([0.3, 0.1, 0.0]) == pytest.approx([0.75, 0.25, 0.0])
    assert component_weights([-0.1, 0.2]) == [0.0, 1.0]
    assert component_weights([0.0, 0.0]) == [0.5, 0.5]


def test_alp_gmm_draws_evenly_at_first_and_by_its_gaussians_later() -> None:
    director = opened(
        "alp_gmm",
        settings={"obstacle_density": [0.0, 0.5], "hazards": [0, 3]},
        period=100,
        components=[2, 4],
        random=0.25,
        measure="return",
    )
    first = [director.assign(AGENT) for _ in range(100)]
    assert all(choice.values["random"] and choice.order == 4 for choice in first)
    assert {choice.fields["hazards"] for choice in first} == {0, 1, 2, 3}
    noise = Stream(1)
    for choice in first:  # where it is dense, the return changes from one time to the next
        dense = choice.fields["obstacle_density"] > 0.35
        ended(director, choice, total=noise.uniform() if dense else 0.0)
    assert director.state(AGENT).mixture
    later = [director.assign(AGENT) for _ in range(1000)]
    assert close_to(sum(bool(c.values["random"]) for c in later), 1000, 0.25)
    drawn = [c.fields["obstacle_density"] for c in later if not c.values["random"]]
    assert np.mean(np.array(drawn) > 0.3) > 0.75  # evenly it would be 0.4
    parts = director.state(AGENT).mixture
    weights = component_weights([part.mean[-1] for part in parts])
    counts = Counter(c.values["component"] for c in later if not c.values["random"])
    for number, weight in enumerate(weights):
        assert close_to(counts[number], len(drawn), weight)


def test_a_gaussian_of_the_mixture_is_drawn_with_its_mean_and_covariance() -> None:
    ranges = {"obstacle_density": [0.0, 1.0], "mover_chance": [0.0, 1.0]}
    director = opened("alp_gmm", settings=ranges, random=0.0)
    covariance = [[0.02, 0.012, 0.0], [0.012, 0.015, 0.0], [0.0, 0.0, 1.0]]
    state = director.state(AGENT)
    state.mixture = [type_of_gaussian()([0.5, 0.4, 0.3], covariance)]
    drawn = np.array([director.assign(AGENT).settings for _ in range(4000)])
    assert drawn.mean(axis=0) == pytest.approx([0.5, 0.4], abs=0.01)
    assert np.cov(drawn.T) == pytest.approx(np.array(covariance)[:2, :2], abs=0.0015)


def type_of_gaussian() -> Any:
    from piase_gym.curricula.alp_gmm import Gaussian

    return Gaussian


# -- learnability ------------------------------------------------------------------------------


def test_learnability_weights_by_hand() -> None:
    # p (1 - p) is 0, 0.25, 0.09 and 0: of 0.34 in all
    wanted = [0.05, 0.05 + 0.8 * 0.25 / 0.34, 0.05 + 0.8 * 0.09 / 0.34, 0.05]
    assert learnability_weights([0.0, 0.5, 0.9, 1.0], 0.2) == pytest.approx(wanted)
    assert learnability_weights([0.0, 1.0], 0.2) == [0.5, 0.5]
    assert most_learnable([0.0, 0.9, 0.4, 0.6, 1.0, 0.5], 3) == [5, 2, 3]


def test_a_step_is_weighed_by_its_last_episodes() -> None:
    director = opened("learnability", explore=0.0, window=4)
    for won in (True, True, True, False, True, False):
        ended(director, StepChoice(2), won=won)
    for _ in range(9):
        ended(director, StepChoice(1), won=True)
    # step 1 is always won, step 2 in two of its last four, and step 4 was never played: p = 1/2
    assert list(director.weights(AGENT)) == pytest.approx([0.0, 0.5, 0.5])


def test_levels_are_tried_and_the_most_learnable_played() -> None:
    director = opened(
        "learnability", over="levels", candidates=4, tries=3, best=2, period=40, explore=0.25
    )
    tried: dict[int, int] = {}
    for number in range(12):
        choice = director.assign(AGENT)
        assert choice.values["candidate"]
        assert not choice.learn
        tried[choice.seed] = tried.get(choice.seed, 0) + 1
        place = list(tried).index(choice.seed)  # wins of 3: 0, 2, 3, 1
        ended(director, choice, won=tried[choice.seed] <= (0, 2, 3, 1)[place])
        assert len(tried) == number // 3 + 1
    assert list(tried.values()) == [3, 3, 3, 3]
    best = {list(tried)[1], list(tried)[3]}
    played = [director.assign(AGENT) for _ in range(1200)]
    assert all(choice.learn for choice in played)
    known = Counter(choice.seed for choice in played if choice.values["best"])
    assert set(known) == best
    assert close_to(sum(known.values()), 1200, 0.75)
    assert close_to(known[min(best)], sum(known.values()), 0.5)
    for choice in played[:40]:
        ended(director, choice)
    assert director.assign(AGENT).values["candidate"]  # the search begins anew


# -- self-paced learning -------------------------------------------------------------------------

LEAST = np.array([0.01])


@pytest.mark.parametrize("alpha", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("max_kl", [0.02, 0.3])
def test_the_table_moves_to_the_best_one_near(alpha: float, max_kl: float) -> None:
    old, target = np.array([0.7, 0.2, 0.1]), np.array([0.05, 0.15, 0.8])
    values = np.array([0.9, 0.5, 0.1])

    def objective(p: Any) -> float:
        return float(p @ values - alpha * (p * np.log(p / target)).sum())

    found = move_table(old, target, values, alpha, max_kl)
    assert found.sum() == pytest.approx(1.0)
    assert (found * np.log(found / old)).sum() <= max_kl + 1e-9
    sides = np.linspace(0.002, 0.998, 250)
    best = -np.inf
    for a, b in itertools.product(sides, sides):
        p = np.array([a, b, 1 - a - b])
        if p[2] > 0.001 and (p * np.log(p / old)).sum() <= max_kl:
            best = max(best, objective(p))
    assert objective(found) >= best - 1e-9
    assert objective(found) <= best + 0.01  # the grid comes near it, so the bound is no wish


@pytest.mark.parametrize("unit", [1e3, 1e16, 1e300])
def test_the_table_moves_alike_whatever_the_unit_of_values(unit: float) -> None:
    old, target = np.array([0.7, 0.2, 0.1]), np.array([0.05, 0.15, 0.8])
    values = np.array([0.9, 0.5, 0.1])
    for alpha in (0.0, 0.3):
        found = move_table(old, target, values * unit, alpha * unit, 0.02)
        assert found == pytest.approx(move_table(old, target, values, alpha, 0.02), abs=1e-9)


@pytest.mark.parametrize("unit", [1e-12, 1e3, 1e9, 1e300])
def test_the_gaussian_moves_alike_whatever_the_unit_of_values(unit: float) -> None:
    places = np.random.default_rng(1).normal(0.3, 0.1, (50, 1))
    old, target = (np.array([0.3]), np.array([[0.1]])), (np.array([0.8]), np.array([[0.05]]))
    values, drawn = np.clip(1.2 - 2.0 * places[:, 0], 0.0, 1.0), log_density(old, places)
    for alpha in (0.0, 0.3, 3.0):
        plain = move_gaussian(old, target, Samples(places, drawn, values), alpha, 0.1, LEAST)
        scaled = Samples(places, drawn, values * unit)
        found = move_gaussian(old, target, scaled, alpha * unit, 0.1, LEAST)
        assert gaussian_divergence(plain, old) > 0.09
        assert found[0] == pytest.approx(plain[0], abs=1e-6)
        assert found[1] == pytest.approx(plain[1], abs=1e-6)


def test_divergences() -> None:
    one, other = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    assert divergence(one, other) == pytest.approx(0.5 * math.log(5 / 9) + 0.5 * math.log(5))
    first = np.array([0.2, 0.6]), np.array([[0.3, 0.0], [0.1, 0.2]])
    second = np.array([0.5, 0.4]), np.array([[0.4, 0.0], [-0.2, 0.5]])
    normals = [stats.multivariate_normal(m, f @ f.T) for m, f in (first, second)]
    samples = normals[0].rvs(200_000, random_state=0)
    wanted = (normals[0].logpdf(samples) - normals[1].logpdf(samples)).mean()
    assert gaussian_divergence(first, second) == pytest.approx(wanted, abs=0.01)
    assert gaussian_divergence(first, first) == pytest.approx(0.0)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 2.0])
@pytest.mark.parametrize("earlier", [0, 20])
def test_the_gaussian_moves_to_the_best_one_near(alpha: float, earlier: int) -> None:
    """Some samples are from an earlier Gaussian: their episodes took longer."""
    rng = np.random.default_rng(1)
    old = np.array([0.3]), np.array([[0.1]])
    target = np.array([0.8]), np.array([[0.05]])
    means = np.where(np.arange(50) < earlier, 0.2, 0.3)
    spreads = np.where(np.arange(50) < earlier, 0.15, 0.1)
    places = rng.normal(means, spreads)[:, None]
    values = np.clip(1.2 - 2.0 * places[:, 0], 0.0, 1.0)
    drawn = -0.5 * ((places[:, 0] - means) / spreads) ** 2 - np.log(spreads)
    samples = Samples(places, drawn, values)

    def objective(mean: float, spread: float) -> float:
        def density(m: Any, s: Any) -> Any:
            return np.exp(-0.5 * ((places[:, 0] - m) / s) ** 2) / s

        ratio = density(mean, spread) / density(means, spreads)
        kl = math.log(0.05 / spread) + (spread**2 + (mean - 0.8) ** 2) / (2 * 0.05**2) - 0.5
        return float((ratio * values).mean() - alpha * kl)

    mean, factor = move_gaussian(old, target, samples, alpha, 0.1, LEAST)
    spread = float(factor[0, 0])
    kl_old = math.log(0.1 / spread) + (spread**2 + (mean[0] - 0.3) ** 2) / (2 * 0.01) - 0.5
    assert kl_old <= 0.1 + 1e-5
    found = objective(float(mean[0]), spread)
    exact = gaussian_objective((mean, factor), target, samples, alpha)
    assert exact == pytest.approx(found)
    best = -np.inf
    for m, s in itertools.product(np.linspace(0.2, 0.4, 81), np.linspace(0.05, 0.15, 81)):
        if math.log(0.1 / s) + (s**2 + (m - 0.3) ** 2) / 0.02 - 0.5 <= 0.1:
            best = max(best, objective(m, s))
    assert found >= best - 1e-3 * max(1.0, abs(best))
    assert found > objective(0.3, 0.1)


def test_a_gaussian_of_two_settings_comes_to_its_target() -> None:
    ranges = {"obstacle_density": [0.0, 0.4], "hazards": [0, 9]}
    director = opened(
        "self_paced",
        settings=ranges,
        start={"obstacle_density": [0.05, 0.05], "hazards": [1, 1]},
        target={"obstacle_density": [0.3, 0.04], "hazards": [7, 1]},
        max_kl=0.5,
    )
    spreads = []
    for _ in range(25 * 50):
        choice = director.assign(AGENT)
        assert choice.order == 4
        ended(director, choice, won=True)
        spreads.append(choice.values["spread_hazards"])
    state = director.state(AGENT)
    assert state.updates == 25
    assert spreads[0] == pytest.approx(0.1)
    # the middle of the eighth of ten whole numbers; 0.3 of 0.4
    assert state.mean == pytest.approx([0.75, 0.75], abs=0.05)


def test_a_gaussian_that_waits_for_the_learner_goes_on_with_it() -> None:
    """Only values below 3 are won at first, all of them later."""
    ranges, start = {"hazards": [0, 9]}, {"hazards": [1, 1.0]}
    director = opened("self_paced", settings=ranges, start=start, target={"hazards": [8, 0.5]})
    state, spreads = director.state(AGENT), []
    for update in range(90):
        for _ in range(50):
            choice = director.assign(AGENT)
            ended(director, choice, won=choice.fields["hazards"] < 3 or update >= 50)
        spreads.append(state.factor[0][0])
        if update == 49:
            assert state.mean[0] < 0.4  # it waited
    assert min(spreads) >= 0.05 - 1e-9
    assert (state.mean, state.factor) == (
        [pytest.approx(0.85, abs=0.02)],
        [[pytest.approx(0.05, abs=0.005)]],
    )


def test_a_spread_below_the_least_can_only_grow() -> None:
    old, target = (np.array([0.3]), np.array([[0.01]])), (np.array([0.3]), np.array([[0.001]]))
    samples = Samples(np.array([[0.3]]), np.zeros(1), np.zeros(1))
    for least, wanted in ((0.02, 0.01), (0.009, 0.009)):
        _, factor = move_gaussian(old, target, samples, 1.0, 0.1, np.array([least]))
        assert factor[0, 0] == pytest.approx(wanted)


def test_alpha_waits_and_then_goes_with_the_outcome() -> None:
    target = {1: 1.0, 2: 1.0, 4: 8.0}
    director = opened("self_paced", period=10, warm_up=1, zeta=0.5, max_kl=0.05, target=target)
    old = np.array([0.9, 0.05, 0.05])
    aim = np.array([0.1, 0.1, 0.8])
    assert list(director.weights(AGENT)) == pytest.approx(old.tolist())
    rounds = [[(1, True)] * 6 + [(2, False)] * 4, [(1, True)] * 3 + [(4, False)] * 7]
    # what was never played counts as the mean of the others, and else as it was last
    values = [np.array([1.0, 0.0, 0.5]), np.array([1.0, 0.0, 0.0])]
    for number, (episodes, value) in enumerate(zip(rounds, values, strict=True)):
        for order, won in episodes:
            ended(director, StepChoice(order), won=won)
        kl = float((old * np.log(old / aim)).sum())
        alpha = 0.0 if number == 0 else 0.5 * 0.3 / kl
        old = move_table(old, aim, value, alpha, 0.05)
        assert list(director.weights(AGENT)) == pytest.approx(old.tolist())


# -- settings ------------------------------------------------------------------------------------


@given(st.lists(st.floats(-0.5, 1.5), min_size=2, max_size=2))
def test_settings_go_to_the_unit_cube_and_back(place: list[float]) -> None:
    ranges = SettingRanges({"width": [3, 8], "obstacle_density": [0.1, 0.5]})
    values = ranges.at(place)
    fields = ranges.fields(values)
    assert 3 <= fields["width"] <= 8
    assert isinstance(fields["width"], int)
    assert 0.1 <= fields["obstacle_density"] <= 0.5
    assert ranges.at(ranges.place(values)) == values
    if 0 <= place[1] <= 1:
        assert abs(fields["obstacle_density"] - (0.1 + 0.4 * place[1])) <= 0.4 / 20 / 2 + 1e-9


def test_whole_numbers_are_all_alike_probable() -> None:
    stream, ranges = Stream(3), SettingRanges({"width": [3, 6]})
    counts = Counter(ranges.draw(stream)[0] for _ in range(2000))
    assert set(counts) == {3, 4, 5, 6}
    assert all(close_to(count, 2000, 0.25) for count in counts.values())


# -- where the teachers are known to go ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "least"),
    [
        ("learnability", {"explore": 0.1}, 0.85),
        ("plr", {"over": "steps", "score": "return", "staleness": 0.1}, 0.85),
        ("alp_gmm", {"period": 50, "random": 0.1, "components": [3, 5]}, 0.8),
        ("self_paced", {"target": {"1": 1, "2": 98, "4": 1}}, 0.85),
    ],
)
def test_the_share_goes_to_what_can_be_learnt(
    name: str, options: dict[str, Any], least: float
) -> None:
    """Step 1 is always won, step 4 never, step 2 now and then."""
    director, chance = opened(name, seed=2, **options), Stream(5)
    last = Counter()  # type: ignore[var-annotated]
    for number in range(1000):
        choice = director.assign(AGENT)
        won = {1: True, 2: chance.uniform() < 0.5, 4: False}[choice.order]
        ended(director, choice, won=won, total=float(won))
        if number >= 600:
            last[choice.order] += 1
    assert last[2] / 400 >= least
