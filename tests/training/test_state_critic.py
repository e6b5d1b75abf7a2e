"""Policies as they begin, and the critic that sees the state: its symbols and its quantities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

torch = pytest.importorskip("torch")

from piase_gym.training.networks import Policy, StateCritic  # noqa: E402


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


def test_a_policy_begins_undecided_with_layers_that_keep_lengths() -> None:
    torch.manual_seed(0)
    policy: Any = Policy(Box(-9.0, 9.0, (6,), np.float32), 5, 64)
    seen, masks = torch.randn(40, 6) * 5, torch.ones(40, 5)
    choice, values = policy(seen, masks)
    assert (choice.probs - 0.2).abs().max() < 0.02
    assert (choice.probs - 0.2).abs().max() > 0
    assert values.std() > 0.05
    for layer, gain in ((policy.body[0], 2**0.5), (policy.actor, 0.01), (policy.critic, 1.0)):
        lengths = torch.linalg.svdvals(layer.weight)
        torch.testing.assert_close(lengths, torch.full_like(lengths, gain))
        assert not layer.bias.any()


def test_a_policy_makes_room_for_symbols_of_states_too() -> None:
    policy = Policy(
        Box(-9.0, 9.0, (2,), np.float32), 5, 8, state_space=Box(0, 3, (2,), np.int64), seats=2
    )
    seen = torch.zeros(1, 2)
    assert not policy.admit(seen)
    states = torch.tensor([[3, 0], [0, 0]])
    assert policy.admit(seen, states)
    assert not policy.admit(seen, states)
    both = Policy(Box(0, 3, (2,), np.uint8), 5, 8, state_space=Box(0, 3, (2,), np.int64))
    assert both.admit(torch.zeros(1, 2, dtype=torch.uint8), torch.tensor([[3, 0], [2, 1]]))
    assert both.central is not None
    assert both.central.symbols is not None
    assert both.central.symbols.count == 3


def test_illegal_actions_have_no_chance_and_add_nothing_to_the_entropy() -> None:
    policy = Policy(Box(-9.0, 9.0, (2,), np.float32), 4, 8)
    torch.nn.init.zeros_(policy.actor.weight)
    choice, _ = policy(torch.zeros(1, 2), torch.tensor([[1, 0, 1, 0]]))
    assert choice.probs.tolist() == [[0.5, 0.0, 0.5, 0.0]]
    torch.testing.assert_close(choice.entropy(), torch.tensor([2.0]).log())
    assert not choice.log_prob(torch.tensor([1])).exp().any()
