"""How the kit plays episodes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from piase_gym.core.rng import Stream
from piase_gym.testing.kit import Fault
from piase_gym.testing.play import Row, draw, mask_of, replay, require_same_rows, some, state_of
from tests.testing.faulty_envs import Meadow


def row(**parts: Any) -> Row:
    """Return a row of which these parts matter."""
    empty: dict[str, Any] = {name: {} for name in Row._fields}
    return Row(**{**empty, "step": 0, "before": [], "after": [], **parts})


def test_masks_are_found_in_infos_or_observations() -> None:
    seen = {"a": {"action_mask": 2}}
    assert mask_of(row(infos={"a": {"action_mask": 1}}, observations=seen), "a") == 1
    assert mask_of(row(infos={"a": {}}, observations=seen), "a") == 2
    assert mask_of(row(infos={"b": {"action_mask": 1}}), "a") is None
    assert mask_of(row(infos={"a": {"action_mask": None}}, observations={"a": [1]}), "a") is None
    assert mask_of(row(infos=3, observations=3), "a") is None


def test_unruly_players_ignore_a_mask_one_time_in_eight() -> None:
    """Of three actions the mask allows the last; the others come in a twelfth of the draws."""
    env: Any = SimpleNamespace(action_space=lambda agent: spaces.Discrete(3, start=5))
    dice, mask = Stream(3), np.array([0, 0, 1], np.int8)
    drawn = [draw(env, "a", mask, dice, True) for _ in range(3000)]
    assert set(drawn) == {5, 6, 7}
    assert 200 < 3000 - drawn.count(7) < 300
    assert {draw(env, "a", mask, dice, False) for _ in range(100)} == {7}
    assert {draw(env, "a", None, dice, False) for _ in range(100)} == {5, 6, 7}
    lines: Any = SimpleNamespace(
        action_space=lambda agent: spaces.Text(9), admissible_commands=lambda agent: ["x", "y"]
    )
    assert {draw(lines, "a", None, dice, False) for _ in range(50)} == {"x", "y"}
    box: Any = SimpleNamespace(action_space=lambda agent: spaces.Box(0, 1, (2,)))
    one, two = (draw(box, "a", None, Stream(4), False) for _ in range(2))
    assert one.tolist() == two.tolist()


def test_states_that_there_are_not() -> None:
    def state(error: type[Exception]) -> Any:
        def call() -> None:
            raise error

        return SimpleNamespace(state=call)

    assert state_of(state(NotImplementedError)) is None
    assert state_of(state(TypeError)) is None
    assert state_of(SimpleNamespace()) is None
    with_space = state(TypeError)
    with_space.state_space = spaces.Box(0, 1, (1,))
    with pytest.raises(TypeError):
        state_of(with_space)


def test_recorded_episodes_are_compared_row_by_row() -> None:
    one = [{"step": 0, "x": 1}, {"step": 1, "x": 2}]
    require_same_rows("they differ", one, one)
    with pytest.raises(Fault, match=r"^they differ: at step 1, x: 2 and 3$"):
        require_same_rows("they differ", one, [one[0], {"step": 1, "x": 3}])
    with pytest.raises(Fault, match=r"^they differ: one episode has 2 rows, the other 1$"):
        require_same_rows("they differ", one, one[:1])


def test_a_replay_ends_where_others_are_in_play() -> None:
    env = Meadow()
    first = list(replay(env, 3, []))
    assert [found.step for found in first] == [0]
    acts = dict.fromkeys(env.agents, 1)
    rows = [row(), row(step=1, before=env.agents, given=acts), row(step=2, before=["cow_9"])]
    assert [found.step for found in replay(env, 3, rows)] == [0, 1]


def test_of_a_long_list_different_entries_are_tried() -> None:
    values = list(range(40))
    parts = [some(values, 10, Stream(seed)) for seed in range(30)]
    assert all(len(set(part)) == 10 for part in parts)
    assert set().union(*parts) == set(values)
    assert values == list(range(40))
    assert some(values, 40, Stream(0)) == values
