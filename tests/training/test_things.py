"""Networks for worlds that name things by numbers: one embedding for each thing, and pointers."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import piase_gym  # noqa: E402  # after the extra that it is used with here
from piase_gym.core.things import ThingPlaces  # noqa: E402
from piase_gym.training.networks import Policy, ThingEncoder  # noqa: E402
from piase_gym.training.ppo import Settings, Trainer, evaluate  # noqa: E402

TASK = "piase/WordCraft-Depth2-v2"


def policy_of(env: piase_gym.envs.batch.BatchEnv) -> Policy:
    """A policy whose choices depend much on what it sees."""
    torch.manual_seed(0)
    space, world = env.observation_space, env.world
    policy = Policy(space, world.num_actions, 32, places=world.thing_places)
    assert policy.query is not None
    torch.nn.init.normal_(policy.query.weight, std=0.5)
    return policy


def test_what_lies_elsewhere_is_wanted_as_much() -> None:
    env = piase_gym.batch_env(TASK, num_envs=16)
    shown, _ = env.reset(0)
    policy, places = policy_of(env), env.world.thing_places
    assert places is not None
    slots = torch.tensor(places.slots[0])
    seen = torch.as_tensor(shown[:, 0].copy())
    other, order = seen.clone(), torch.randperm(len(slots))
    other[:, slots] = seen[:, slots[order]]
    torch.nn.init.zeros_(policy.actor.weight)  # only what is taken counts
    masks = torch.ones(len(seen), env.world.num_actions)
    with torch.no_grad():
        (before, value), (after, same) = policy(seen, masks), policy(other, masks)
    torch.testing.assert_close(value, same)
    torch.testing.assert_close(after.probs[:, : len(slots)], before.probs[:, order])
    torch.testing.assert_close(after.probs[:, -1], before.probs[:, -1])
    assert float((before.probs[:, 0] - before.probs[:, 1]).abs().max()) > 0.05


def test_the_encoding_is_a_layer_over_sums_of_embeddings() -> None:
    places = ThingPlaces(5, groups=[[1], [2, 3, 4]], agent=0, slots=[[2, 3, 4]], actions=[2, -1])
    encoder = ThingEncoder(places, length=6, width=7)
    vectors = torch.tensor([[0.0, 4, 5, 0, 2, 9], [0.0, 0, 0, 0, 0, -3], [0.0, 9, 1, 1, 6, 0]])
    table, rows = encoder.table, []
    for vector in vectors.tolist():
        sums = [torch.zeros(64), torch.zeros(64)]
        for group, members in enumerate(places.groups):
            for place in members:
                if 1 <= vector[place] <= 5:  # nothing has the number 0, and 9 is unknown
                    sums[group] = sums[group] + table[int(vector[place])]
        logs = [
            torch.tensor(vector[k]).abs().log1p() * (-1 if vector[k] < 0 else 1) for k in (0, 5)
        ]
        rows.append(torch.cat([*sums, torch.stack(logs)]))
    expected = (torch.stack(rows) @ encoder.linear.weight.T + encoder.linear.bias).relu()
    torch.testing.assert_close(encoder(vectors), expected)
    wanted = torch.randn(3, 64)
    fits = encoder.compare(wanted, vectors)
    torch.testing.assert_close(fits[0, 0], wanted[0] @ table[2] / 8)
    torch.testing.assert_close(fits[2, 0], wanted[2] @ table[0] / 8)
    assert fits[:, 1].tolist() == [0.0] * 3


def test_recipes_are_learned() -> None:
    config = {"entities": 30, "depth": 1, "distractors": 2}
    settings = Settings(
        total_steps=60_000,
        num_envs=128,
        num_steps=16,
        minibatch=512,
        learning_rate=3e-3,
        entropy=0.003,
        reward_scale=1.0,
        width=64,
        training_reward="small_costs",
    )
    trainer = Trainer("WordCraft", settings, 0, **config)
    before = evaluate(trainer.policies, "WordCraft", **config)
    trainer.train()
    assert before < 0.4
    assert evaluate(trainer.policies, "WordCraft", **config) > 0.8
