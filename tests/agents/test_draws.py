"""What agents draw is determined, and numbers of their states are checked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.agents import NoopAgent, OracleAgent, RandomAgent
from piase_gym.agents.base import BatchPercept, Percept
from piase_gym.agents.simple import draw_at, draw_from, draws_at, read_seed
from piase_gym.benchmarks import evaluate
from piase_gym.errors import (
    SnapshotError,
    UnsupportedError,
)
from tests import probes
from tests.helpers.percepts import batch, percept_of

probes.register()


def test_draws_are_those_of_splitmix() -> None:
    """Sebastiano Vigna's splitmix64 from the seed 1234567, upper halves of its outputs."""
    outputs = (6457827717110365317, 3203168211198807973, 9817491932198370423)
    seeds, steps = np.full(3, 1234567, np.uint64), np.arange(3)
    assert [draw_at(1234567, step) for step in range(3)] == [value >> 32 for value in outputs]
    assert draws_at(seeds, steps).tolist() == [value >> 32 for value in outputs]


def test_a_draw_chooses_by_cumulated_chances() -> None:
    chances = np.array([[1.0, 2.0, 1.0]] * 4 + [[0.0, 3.0, 0.0]])
    draws = np.array([0, 2**30, 2**31, 3 * 2**30, 0], np.uint64)
    assert draw_from(chances, draws).tolist() == [0, 1, 1, 2, 1]


def test_numbers_of_a_state_are_checked() -> None:
    assert read_seed({"seed": 2**64 - 1}) == 2**64 - 1
    assert read_seed({"n": 0}, "n", 3) == 0
    assert read_seed({"n": 3}, "n", 3) == 3
    for value in (4, -1, True, 1.0, None):
        with pytest.raises(SnapshotError, match=r"'n' is .*, not an integer from 0 to 3"):
            read_seed({"n": value}, "n", 3)


def test_random_agents_spread_over_what_is_legal() -> None:
    """A third of the draws each, where three actions are legal; points all over a box."""
    agent, percept = RandomAgent(), percept_of("PointProbe", agents=1)
    seen = []
    for step in range(300):
        percept.step = step
        agent.percept = percept
        seen.append(agent.act())
    assert sorted(set(seen)) == [0, 1, 2, 3, 4]
    assert max(seen.count(action) for action in range(5)) < 90
    world: Any = SimpleNamespace(
        capabilities=SimpleNamespace(discrete=False, continuous=True),
        action_box=spaces.Box(np.array([0.0, -4.0]), np.array([1.0, -2.0]), dtype=np.float64),
    )
    agent.percept = SimpleNamespace(step=0, world=world)  # type: ignore[assignment]
    points = []
    for step in range(200):
        percept_like = Percept.__new__(Percept)
        percept_like.world, percept_like.index, percept_like.step = world, 0, step
        agent.percept = percept_like
        points.append(agent.act())
    array = np.array(points)
    assert array.min(0) == pytest.approx([0, -4], abs=0.05)
    assert array.max(0) == pytest.approx([1, -2], abs=0.05)
    assert abs(np.corrcoef(array.T)[0, 1]) < 0.2
    agent.percept = None
    with pytest.raises(UnsupportedError, match="RandomAgent acts on a Percept"):
        agent.act()


def test_an_oracle_that_there_is_not() -> None:
    agent = OracleAgent()
    agent.percept = percept_of("PointProbe")
    with pytest.raises(UnsupportedError, match="PointProbe has no oracle"):
        agent.act()
    assert agent.internal_state() is None
    agent._player = SimpleNamespace(cut_short=True)
    assert agent.internal_state() == {"cut_short": True}


def test_doing_nothing_in_a_batch_needs_an_index() -> None:
    assert NoopAgent().act_batch(batch([1, 2], 4)).tolist() == [4, 4]
    with pytest.raises(UnsupportedError, match="does not tell which index does nothing"):
        NoopAgent().act_batch(batch([1]))


def test_a_class_that_acts_otherwise_inherits_no_choices_for_batches() -> None:
    """In a batch and in a benchmark of an array world it plays as it does alone."""

    class Lazy(RandomAgent):
        """Does what is legal first."""

        def act(self) -> int:
            assert self.percept is not None
            return int(self.percept.mask.nonzero()[0][0])

    class Named(Lazy):
        """Chooses as its base."""

    class Mixed(Lazy, NoopAgent):
        """Chooses as the first of its bases."""

    class Both(Lazy):
        """Has choices for batches of its own."""

        def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
            return batch.masks.argmax(1)

    kinds = {RandomAgent: True, Lazy: False, Named: False, Mixed: False, Both: True}
    assert {kind: kind().acts_in_batches for kind in kinds} == kinds
    with pytest.raises(UnsupportedError, match="Named cannot act in a batch"):
        Named().act_batch(batch([1]))
    task = "piase/GridWorld-Empty-5x5-v1"
    results = evaluate({"lazy": Lazy, "first": first_legal, "random": "random"}, task, episodes=3)
    values = {row.policy: row.value for row in results.rows}
    assert values["lazy"] == values["first"] != values["random"]


def first_legal(percept: Percept) -> int:
    return int(percept.mask.nonzero()[0][0])


def test_a_seed_is_all_that_an_agent_that_draws_keeps() -> None:
    agent = RandomAgent()
    assert agent.get_state() == {"seed": 0}
    agent.reset(5)
    other = RandomAgent()
    other.set_state(agent.get_state())
    assert other.get_state() == {"seed": 5}
