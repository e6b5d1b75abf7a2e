"""Teachers step by step: what each random number draws, and what each episode changes, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from piase_gym.core.rng import Stream, mix64
from piase_gym.curricula.directors import (
    LearningProgress,
    StepChoice,
    check_count,
    check_positive,
    check_share,
    make_director,
)
from piase_gym.curricula.level_replay import KnownTask
from piase_gym.curricula.self_paced import Samples, log_density, move_gaussian
from piase_gym.curricula.tasks import SettingRanges, Task, outcome_of, sample_index_evenly
from piase_gym.errors import ConfigError
from piase_gym.runs.history import Episode
from tests.curricula.teacher_helpers import AGENT, PLAN, ended, opened


class Numbers:
    """A stream of numbers that are written down."""

    def __init__(self, *uniforms: float, bits: int = 86, normals: Any = ()) -> None:
        self.uniforms, self.number, self.normals = list(uniforms), bits, list(normals)

    def uniform(self) -> float:
        return self.uniforms.pop(0)

    def bits(self) -> int:
        return self.number

    def normal(self) -> float:
        return float(self.normals.pop(0))


def episode(seed: int = 0, won: bool = False, total: float = 0.0) -> Episode:
    return Episode(AGENT, 0, 0, 0, seed, 0, 5, 5, total, "won" if won else "lost")


def task(choice: StepChoice) -> Task:
    """The task that was chosen."""
    return Task(choice.order, choice.seed, choice.settings)


# -- draws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "numbers"), [("randomisation", 1), ("learnability", 128)])
def test_a_draw_follows_from_seed_agent_slot_and_its_number(name: str, numbers: int) -> None:
    """Saved progress goes on with the same draws, so they stay what they were."""
    director = opened(name, seed=7)
    director.agents = ("agent_9", AGENT)
    count = {0: 0, 1: 0, 3: 0}
    for slot in (0, 3, 0, 1, 0, 0, 3, 1, 0, 0):
        stream = Stream(mix64(mix64(7) + slot) >> 1, 1001, counter=count[slot] * numbers)
        choice = director.assign(AGENT, slot)
        assert choice.order == (1, 2, 4)[int(3 * stream.uniform())]
        assert choice.values == {f"weight_{order}": 0.333333333333 for order in (1, 2, 4)}
        count[slot] += 1
    assert director.memory(AGENT)["draws"] == [6, 2, 0, 2]


def test_learning_progress_by_hand() -> None:
    director = opened("learning_progress", rate=0.2, speed=3.0, explore=0.25)
    for won in (True, False):
        director.observe(AGENT, 1, episode(won=won))
    director.observe(AGENT, 4, episode(won=True))
    # fast and slow means: 0.6, 0.2 -> 0.24, 0.16 of step 1; 0.6, 0.2 of step 4: 0.48 in all
    means = director.memory(AGENT)["means"]
    assert means["1"] == pytest.approx([0.24, 0.16])
    assert means["4"] == pytest.approx([0.6, 0.2])
    wanted = [0.25 / 3 + 0.75 * share for share in (0.08 / 0.48, 0.0, 0.4 / 0.48)]
    assert director.weights(AGENT) == pytest.approx(wanted)
    assert LearningProgress(rate=0.5, speed=4.0).fast_rate == 1.0
    assert LearningProgress(rate=1.0, speed=1.0, explore=1.0).fast_rate == 1.0
    for wrong in ({"rate": 0.0}, {"explore": 0.0}, {"speed": 0.9}, {"rate": 1.1}, {"speed": True}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            LearningProgress(**wrong)


# -- prioritised level replay ------------------------------------------------------------------


def replaying(**options: Any) -> Any:
    director = opened("plr", **{"warm_up": 2, "replay": 0.5, "temperature": 1.0, **options})
    director.state(AGENT).known = [KnownTask(Task(1, 11), 0.3, 4), KnownTask(Task(2, 12), 0.1, 8)]
    director.state(AGENT).count = 9
    return director


def test_a_level_is_replayed_below_the_probability_and_once_there_are_enough() -> None:
    # of scores 2/3 and 1/3; of ages 6/8 and 2/8
    first = 0.9 * 2 / 3 + 0.1 * 6 / 8
    for unit, number in ((first - 1e-9, 0), (first + 1e-9, 1)):
        director = replaying()
        found = director.propose(AGENT, Numbers(0.49, unit))
        assert (task(found), found.learn) == (director.state(AGENT).known[number].task, True)
        told = {"replayed": True, "draw": 10, "level": (11, 12)[number]}
        told["probability"] = round((first, 1 - first)[number], 12)
        assert found.values == pytest.approx(told)
        assert director.state(AGENT).known[number].last == 10
    for director, unit in ((replaying(), 0.5), (replaying(warm_up=3), 0.0)):
        found = director.propose(AGENT, Numbers(unit, 0.99))
        assert (task(found), found.values) == (
            Task(4, 43),
            {"replayed": False, "draw": 10, "level": 43},
        )


def test_steps_are_replayed_once_all_have_a_score_or_enough_have() -> None:
    director = opened("plr", over="steps", warm_up=50, replay=0.5)
    known = director.state(AGENT).known
    known += [KnownTask(Task(1), 0.3, 0), KnownTask(Task(2), 0.1, 0)]
    assert task(director.propose(AGENT, Numbers(0.0, 0.9, 0.9))) == Task(4)
    known.append(KnownTask(Task(4), 0.3, 0))
    assert director.propose(AGENT, Numbers(0.9, 0.0)).values["replayed"]
    director = opened("plr", over="steps", warm_up=1, replay=0.5)
    director.state(AGENT).known.append(KnownTask(Task(2), 0.3, 0))
    assert task(director.propose(AGENT, Numbers(0.4, 0.0))) == Task(2)
    for unit, order in ((0.0, 1), (0.49, 1), (0.5, 4), (0.99, 4)):
        assert task(director.propose(AGENT, Numbers(0.5, 0.0, unit))) == Task(order)


def test_an_equal_score_takes_the_place_of_the_least_probable() -> None:
    for score, levels in ((0.1, [11, 99]), (0.099, [11, 12])):
        director = replaying(buffer=2, staleness=0.0)
        director.score(AGENT, StepChoice(4), episode(99), np.array([score]))
        known = director.state(AGENT).known
        assert [entry.task.seed for entry in known] == levels
    # nobody drew it, so it counts as drawn now
    director = replaying()
    director.score(AGENT, StepChoice(4), episode(99), np.array([1.0]))
    assert director.state(AGENT).known[2] == KnownTask(Task(4, 99), 1.0, 9)


def test_a_level_that_lost_its_place_while_it_was_played_is_scored_as_itself() -> None:
    director = replaying(buffer=2, staleness=0.0)
    again = StepChoice(2, {"draw": 10})
    director.score(AGENT, StepChoice(4), episode(99), np.array([0.2]))  # takes the place of 12
    director.score(AGENT, again, episode(12), np.array([5.0]))
    known = director.state(AGENT).known
    assert known == [KnownTask(Task(1, 11), 0.3, 4), KnownTask(Task(2, 12), 5.0, 10)]


def test_the_table_of_scores_is_that_of_the_memory_whatever_was_done() -> None:
    rng = np.random.default_rng(0)
    director = opened("plr", warm_up=1, buffer=70, temperature=1.0, rate=0.5)
    known, replayed, seeds = director.state(AGENT).known, 0, []
    for number in range(400):
        found = director.propose(AGENT, Numbers(*rng.random(3)))
        replayed += found.values["replayed"]
        choice = StepChoice(found.order, values=found.values)
        seed = found.seed if found.values["replayed"] else int(rng.integers(10**9))
        director.score(AGENT, choice, episode(seed), np.array([rng.random()]))
        seeds.append(seed)
        table = director._table(AGENT)
        assert table.known is known is director.state(AGENT).known
        assert table.places == {one.task: place for place, one in enumerate(known)}
        assert table.scores.tolist() == [one.score for one in known]
        count = director.state(AGENT).count
        assert count == number + 1
        assert table.ages(count).tolist() == [float(count - one.last) for one in known]
    assert len(known) == 70
    assert replayed > 100  # so tasks were changed, added and replaced
    assert len(set(seeds)) > 140


def test_means_of_returns_are_those_of_all_episodes_of_a_step() -> None:
    director = opened("plr", over="steps", score="return")
    for order, total in ((2, 1.0), (2, 2.0), (4, -3.0), (2, 6.0)):
        ended(director, StepChoice(order), total=total)
    assert director.state(AGENT).returns == {"2": (3.0, 3), "4": (-3.0, 1)}


# -- learnability ------------------------------------------------------------------------------


def test_what_has_not_ended_is_tried_again() -> None:
    director = opened("learnability", over="levels", candidates=2, tries=1, best=1, explore=0.5)
    first = director.propose(AGENT, Numbers(0.0, bits=22))
    second = director.propose(AGENT, Numbers(0.5, bits=24))
    assert (task(first), task(second), first.learn) == (Task(1, 11), Task(2, 12), False)
    # all were begun and none ended: the one that was begun less often, of equal ones the first
    for wanted in (11, 12, 11):
        assert director.propose(AGENT, Numbers()).seed == wanted
    director.learn(AGENT, Task(1, 11), episode(won=True))
    assert director.propose(AGENT, Numbers()).seed == 12
    assert not director.state(AGENT).best
    director.learn(AGENT, Task(2, 12), episode())
    state = director.state(AGENT)
    assert (state.best, state.candidates, state.played) == ([Task(1, 11)], [], 0)
    # at the share itself no new level is drawn
    found = director.propose(AGENT, Numbers(0.5, 0.0))
    assert (task(found), found.values) == (
        Task(1, 11),
        {"candidate": False, "best": True, "level": 11},
    )
    found = director.propose(AGENT, Numbers(0.49, 0.99))
    assert (task(found), found.values) == (
        Task(4, 43),
        {"candidate": False, "best": False, "level": 43},
    )
    assert found.learn


def test_a_period_has_so_many_episodes() -> None:
    director = opened("learnability", over="levels", candidates=1, tries=1, best=1, period=3)
    director.propose(AGENT, Numbers(0.0))
    director.learn(AGENT, Task(1, 43), episode())
    for played in (1, 2):
        director.learn(AGENT, Task(1, 43), episode())
        assert director.state(AGENT).played == played
        assert director.state(AGENT).best
    director.learn(AGENT, Task(1, 43), episode())
    assert (director.state(AGENT).played, director.state(AGENT).best) == (0, [])


# -- ALP-GMM -----------------------------------------------------------------------------------


def test_places_of_steps_and_steps_at_places() -> None:
    director = opened("alp_gmm", random=1.0)
    assert [director.place_of(AGENT, Task(order)) for order in (1, 2, 4)] == [
        pytest.approx([share]) for share in (1 / 6, 3 / 6, 5 / 6)
    ]
    for place, order in ((-0.5, 1), (0.33, 1), (0.34, 2), (0.67, 4), (1.0, 4), (1.5, 4)):
        assert director._task(AGENT, [place]) == Task(order)
    found = director.propose(AGENT, Numbers(0.5, 0.4))
    assert (task(found), found.values) == (Task(2), {"random": True})


def test_one_gaussian_has_mean_and_covariance_of_the_last_period() -> None:
    director = opened("alp_gmm", period=3, history=4, components=[1, 1], random=0.25)
    played = [(1, 0.0), (2, 1.0), (1, 0.5), (4, 3.0), (2, 0.5), (1, 0.7)]
    # since the nearest step before; step 2 is as near to 4 as to nothing else
    progress = [0.0, 1.0, 0.5, 2.0, 0.5, 0.2]
    for order, total in played:
        ended(director, StepChoice(order), total=total)
    state = director.state(AGENT)
    assert state.progress == pytest.approx(progress[-4:])
    assert state.outcomes == [0.5, 3.0, 0.5, 0.7]
    assert [place[0] for place in state.places] == pytest.approx([1 / 6, 5 / 6, 3 / 6, 1 / 6])
    assert state.count == 6
    rows = np.array([[5 / 6, 3 / 6, 1 / 6], progress[-3:]])
    (part,) = state.mixture
    assert part.mean == pytest.approx(rows.mean(axis=1))
    wanted = np.cov(rows, bias=True) + 1e-6 * np.eye(2)  # scikit-learn's own regularisation
    assert np.array(part.covariance) == pytest.approx(wanted)
    found = director.propose(AGENT, Numbers(0.25, 0.5, normals=[1.0]))
    assert found.values == {"random": False, "component": 0, "probability": 1.0}
    assert task(found) == Task(4)  # 0.5 + 0.27
    assert director.propose(AGENT, Numbers(0.24, 0.1)).values == {"random": True}


# -- self-paced learning -------------------------------------------------------------------------


def test_the_gaussian_of_settings_begins_at_its_start_and_aims_at_the_middle() -> None:
    director = opened(
        "self_paced",
        settings={"width": [4, 8], "obstacle_density": [0.0, 0.4]},
        start={"width": [5, 1], "obstacle_density": [0.4, 0.1]},
    )
    found = director.propose(AGENT, Numbers(normals=[1.0, -1.0]))
    # five whole numbers; 5 is the second, in whose middle the mean is: 0.3, and 0.2 more is 0.5
    assert task(found) == Task(4, None, (6.0, 0.3))
    assert found.values == pytest.approx(
        {
            "setting_width": 6,
            "setting_obstacle_density": 0.3,
            "mean_width": 0.3,
            "spread_width": 0.2,
            "mean_obstacle_density": 1.0,
            "spread_obstacle_density": 0.25,
            # the value 0.3 is at 0.75, a spread from the mean; 6 is in the middle of the third
            "log_density": -0.5 * (1.0 + 1.0) - math.log(0.2) - math.log(0.25),
        }
    )
    mean, spread = director._gaussians[1]
    assert mean == pytest.approx([0.5, 0.5])
    assert spread == pytest.approx([0.2, 0.25])
    for wrong in ([3.9, 1], [8.1, 1], [5, 0], [5, math.inf], [5], 5, ["x", 1], [math.nan, 1]):
        with pytest.raises(ConfigError, match="start: width has"):
            opened("self_paced", settings={"width": [4, 8]}, start={"width": wrong})


def test_the_table_begins_with_the_first_step_and_aims_at_the_last() -> None:
    director = opened("self_paced", period=2, max_kl=9.0, zeta=1e9)
    assert director.weights(AGENT) == pytest.approx([0.9, 0.05, 0.05])
    ended(director, StepChoice(1), won=True)
    assert len(director.state(AGENT).outcomes) == 1
    ended(director, StepChoice(1), won=True)
    state = director.state(AGENT)
    assert (state.places, state.outcomes, state.updates) == ([], [], 1)
    assert state.values == [1.0, None, None]
    assert director.weights(AGENT) == pytest.approx([0.05, 0.05, 0.9], abs=1e-6)
    aimed = director.weights(AGENT)
    for _ in range(2):  # outcomes below 0 do not draw away from the target
        director.measure = "return"
        ended(director, StepChoice(4), total=-5.0)
    assert director.weights(AGENT)[2] < aimed[2]


def test_a_gaussian_reaches_a_target_that_is_near_enough() -> None:
    old = np.array([0.3, 0.5]), np.array([[0.1, 0.0], [0.02, 0.1]])
    target = np.array([0.45, 0.4]), np.array([[0.12, 0.0], [0.05, 0.08]])
    places = np.array([[0.3, 0.5], [0.4, 0.6]])
    samples = Samples(places, log_density(old, places), np.zeros(2))
    mean, factor = move_gaussian(old, target, samples, 10.0, 5.0, np.full(2, 0.01))
    assert mean == pytest.approx(target[0], abs=1e-3)
    assert factor == pytest.approx(target[1], abs=1e-3)


# -- options and settings ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"name": "plr", "buffer": 9, "warm_up": 9}, {"buffer": 10, "warm_up": 11}),
        ({"name": "plr", "robust": True, "replay": 0.1}, {"replay": 0.0}),
        ({"name": "learnability", "candidates": 3, "best": 3}, {"best": 4}),
        ({"name": "alp_gmm", "period": 9, "components": [9, 9], "history": 9}, {"history": 8}),
        ({"name": "alp_gmm", "period": 9, "components": [2, 9]}, {"components": [2, 10]}),
        ({"name": "alp_gmm", "period": 9, "components": [2, 2]}, {"components": [3, 2]}),
        ({"name": "self_paced", "warm_up": 0, "period": 1}, {"period": 0}),
        ({"name": "threshold", "share": 1.0, "episodes": 1}, {"episodes": 0}),
    ],
)
def test_options_up_to_their_limits(options: dict[str, Any], told: dict[str, Any]) -> None:
    made = make_director(options)
    for name, value in options.items():
        if name not in ("name", "components", "episodes"):
            assert getattr(made, name) == value
    with pytest.raises(ConfigError):
        make_director({**options, **told})


def test_shares_positive_numbers_and_counts() -> None:
    assert [check_share("x", value) for value in (0, 1, 0.5)] == [0.0, 1.0, 0.5]
    assert check_share("x", 1e-9, above=True) == 1e-9
    for value in (-1e-9, 1.0 + 1e-9, True, "1", None, math.nan):
        with pytest.raises(ConfigError, match="from 0 to 1"):
            check_share("x", value)
    with pytest.raises(ConfigError, match="above 0 and at most 1"):
        check_share("x", 0.0, above=True)
    assert check_positive("x", 9e299) == 9e299
    for value in (0, -1, 1e300, True, None):
        with pytest.raises(ConfigError, match="above 0"):
            check_positive("x", value)
    assert [check_count("x", value) for value in (1, 10**9)] == [1, 10**9]
    assert check_count("x", 0, 0) == 0
    for number in (0, 10**9 + 1, 1.0, True):
        with pytest.raises(ConfigError, match="from 1 on"):
            check_count("x", number)


def test_ranges_by_hand() -> None:
    ranges = SettingRanges({"width": [2, 5], "obstacle_density": [0.0, 1], "hazards": [0, 1]})
    assert ranges.lengths.tolist() == [4.0, 1.0, 2.0]
    assert ranges.place([2, 0.25, 1]) == [0.125, 0.25, 0.75]
    assert ranges.at([0.25, 0.26, 0.49]) == (3, 0.25, 0)
    assert ranges.at([1.0, 2.0, -1.0]) == (5, 1.0, 0)
    assert ranges.fields((3.0, 1, 0.0)) == {"width": 3, "obstacle_density": 1.0, "hazards": 0}
    assert len(ranges.corners) == 8
    assert ranges.corners[1] == {"width": 2, "obstacle_density": 0.0, "hazards": 1}
    assert len(SettingRanges({f"x{n}": [0, 1] for n in range(6)})) == 6
    assert (SettingRanges().corners, len(SettingRanges())) == ([], 0)
    for wrong in ([1, 1], [2, 1], [1], [1, 2, 3], [0, True], [0, 1e300], 5):
        with pytest.raises(ConfigError, match="width is drawn from"):
            SettingRanges({"width": wrong})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="there are 7; at most 6"):
        SettingRanges({f"x{n}": [0, 1] for n in range(7)})


def test_new_tasks_are_of_the_step_that_is_named() -> None:
    director = opened("plr", step=2, settings={"width": [4, 8]})
    found = director.new_task(AGENT, Numbers(0.9, 0.99, bits=2**64 - 1))
    assert found == Task(2, 2**63 - 1, (8.0,))
    assert [step.order for step in director.steps_with_settings(PLAN)] == [2]
    assert [sample_index_evenly(3, Numbers(unit)) for unit in (0.0, 0.34, 1.0)] == [0, 1, 2]  # type: ignore[arg-type]
    assert outcome_of(episode(won=True, total=3.0), "success") == 1.0
    assert outcome_of(episode(total=3.0), "success") == 0.0
    assert outcome_of(episode(total=3.0), "return") == 3.0
