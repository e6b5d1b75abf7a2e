"""The critic that sees the state: which numbers of it are symbols, and which are quantities."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box

torch = pytest.importorskip("torch")

from piase_gym.training.networks import StateCritic  # noqa: E402


def test_places_with_up_to_256_whole_numbers_are_symbols() -> None:
    low, high = np.array([0, -5, 3, 0]), np.array([255, 250, 3, 256])
    critic = StateCritic(Box(low, high, dtype=np.int64), 8, 1)
    assert critic.few.tolist() == [True, True, True, False]
    assert critic.many.tolist() == [False, False, False, True]
    states = torch.tensor([[255, -5, 3, 256], [0, 250, 3, 0]])
    assert critic.codes(states).tolist() == [[255, 0, 0], [0, 255, 0]]
    assert critic(states, torch.zeros(2, dtype=torch.int64)).shape == (2,)


def test_fractions_are_quantities_and_a_value_is_that_of_the_seat() -> None:
    critic = StateCritic(Box(0.0, 1.0, (3,), np.float32), 8, 2)
    assert critic.symbols is None
    states = torch.rand(2, 3)
    both = critic.body(critic.quantities(states))
    found = critic(states, torch.tensor([1, 0]))
    assert torch.equal(found, torch.stack([both[0, 1], both[1, 0]]))


def test_symbols_and_quantities_are_added() -> None:
    torch.manual_seed(0)
    critic = StateCritic(Box(np.array([0, 0]), np.array([3, 999]), dtype=np.int64), 8, 1)
    states = torch.tensor([[3, 500], [0, 7]])
    torch.nn.init.normal_(critic.symbols.bias)  # else unknown symbols are nothing
    parts = critic.symbols(critic.codes(states)), critic.quantities(states[:, 1:])
    found = critic(states, torch.zeros(2, dtype=torch.int64))
    assert torch.allclose(found, critic.body(parts[0] + parts[1])[:, 0])


def test_a_state_of_symbols_alone_has_no_quantities() -> None:
    critic = StateCritic(Box(0, 3, (2,), np.int64), 8, 1)
    assert critic.quantities is None
