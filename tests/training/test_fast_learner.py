"""The learner's compiled layer, losses and options, held to slow truths from outside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import piase_gym
from piase_gym.errors import ConfigError

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training import ppo  # noqa: E402
from piase_gym.training.networks import LONGEST, Choice, Policy, StateCritic, make_room  # noqa: E402
from piase_gym.training.symbols import SymbolEncoder  # noqa: E402

# -- the compiled layer -------------------------------------------------------------------


@pytest.mark.parametrize(("places", "width", "kind"), [(1, 3, np.uint8), (7, 16, np.int32)])
def test_the_compiled_layer_is_a_sum_of_embeddings(places: int, width: int, kind: Any) -> None:
    """Forward and both gradients, against a loop over places in plain torch."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    high = rng.integers(2, 9, places)
    encoder = SymbolEncoder(high, width)
    values = torch.as_tensor(rng.integers(0, high + 1, (40, places)).astype(kind))
    assert encoder.admit(values[:30])
    encoder.bias.data.normal_()
    starts = np.concatenate([[0], np.cumsum(high + 1)])
    rows = torch.stack(
        [encoder.rows[values[:, k].long() + int(starts[k])] for k in range(places)], 1
    ).long()
    table = encoder.table.detach().double().requires_grad_()
    bias = encoder.bias.detach().double().requires_grad_()
    known = torch.where(rows[..., None] > 0, table[rows], torch.zeros(()).double())
    slow = (known.sum(1) + bias).relu()
    weights = torch.randn(40, width)
    (slow * weights.double()).sum().backward()
    fast = encoder(values)
    (fast * weights).sum().backward()
    assert (slow == 0).any()
    assert (slow > 0).any()
    torch.testing.assert_close(fast.double(), slow, rtol=1e-5, atol=1e-5)
    gradients = [one.grad for one in (encoder.table, encoder.bias)]
    assert gradients[0] is not None
    assert gradients[1] is not None
    torch.testing.assert_close(gradients[0].double(), table.grad, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradients[1].double(), bias.grad, rtol=1e-5, atol=1e-5)


def test_codes_that_never_came_add_nothing_and_those_out_of_range_too() -> None:
    encoder = SymbolEncoder([3, 3], 4)
    assert encoder.admit(torch.tensor([[0, 1], [1, 0]], dtype=torch.int16))
    encoder.bias.data.fill_(1.0)
    strange = torch.tensor([[3, 3], [4, -1], [9, 9]], dtype=torch.int16)
    assert torch.equal(encoder(strange), torch.ones(3, 4))
    assert encoder.admit(strange) is False  # there is room in the table
    assert encoder.count == 5  # two more codes; none for what the space does not hold


def test_places_where_nothing_changes_have_no_rows() -> None:
    encoder = SymbolEncoder([3, 3, 3], 4)
    same = torch.tensor([[2, 0, 9], [2, 1, -1], [2, 0, 9]], dtype=torch.int16)
    assert encoder.admit(same)
    assert encoder.first.tolist() == [2, 0, -1]  # what is out of range was not met
    assert encoder.count == 2  # the second code of the second place
    assert torch.equal(encoder(same[:1]), encoder(same[2:]))
    other = SymbolEncoder([3, 3, 3], 4)
    other.load_state_dict(encoder.state_dict())
    changed = torch.tensor([[0, 0, 3], [2, 0, 2]], dtype=torch.int16)
    for one in (encoder, other):
        one.admit(changed)
        assert one.count == 4
        assert one.first.tolist() == [2, 0, 3]
        assert one.rows.tolist() == [2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3, 0]


def test_new_rows_change_no_old_ones_and_an_optimizer_keeps_its_moments() -> None:
    encoder = SymbolEncoder([255] * 4, 8)
    optimizer = torch.optim.Adam(encoder.parameters(), 0.1)
    first = torch.ones(1, 4, dtype=torch.uint8)
    encoder.admit(torch.tensor([[0] * 4, [1] * 4], dtype=torch.uint8))
    encoder(first).sum().backward()
    optimizer.step()
    before, moments = encoder(first).detach(), optimizer.state[encoder.table]["exp_avg"].clone()
    assert encoder.admit(torch.arange(256, dtype=torch.uint8).repeat(4, 1).T.contiguous())
    make_room(optimizer)
    assert torch.equal(encoder(first), before)
    after = optimizer.state[encoder.table]["exp_avg"]
    assert moments.any()
    assert torch.equal(after[: len(moments)], moments)
    assert not after[len(moments) :].any()
    assert len(after) == len(encoder.table)
    other = SymbolEncoder([255] * 4, 8)
    other.load_state_dict(encoder.state_dict())
    assert torch.equal(other(first), before)
    assert other.count == encoder.count


# -- losses -------------------------------------------------------------------------------


def test_the_losses_are_those_of_the_papers() -> None:
    """Schulman et al. 2017, equations 7 and 9, sample by sample."""
    rng = np.random.default_rng(1)
    size, settings = 50, ppo.Settings(clip=0.1, value_weight=0.7, entropy=0.3)
    scores, masks = rng.normal(size=(size, 4)), rng.random((size, 4)) < 0.7
    masks[:, 0] = True
    actions = np.array([rng.choice(np.flatnonzero(row)) for row in masks])
    values, old, advantages = rng.normal(size=(3, size))
    before = rng.normal(-1.2, 0.3, size)
    total = 0.0
    for i in range(size):
        weights = [math.exp(s) if m else 0.0 for s, m in zip(scores[i], masks[i], strict=True)]
        probs = [w / sum(weights) for w in weights]
        ratio = probs[actions[i]] / math.exp(before[i])
        gain = (advantages[i] - advantages.mean()) / advantages.std()
        bound = 1.1 if gain > 0 else 0.9
        surrogate = min(ratio, bound) * gain if gain > 0 else max(ratio, bound) * gain
        squared = (values[i] - (advantages[i] + old[i])) ** 2
        entropy = -sum(p * math.log(p) for p in probs if p)
        total += -surrogate + 0.7 * 0.5 * squared - 0.3 * entropy
    batch = {"advantages": advantages, "values": old, "log_probs": before}
    tensors = {name: torch.as_tensor(value) for name, value in batch.items()}
    tensors["actions"] = torch.as_tensor(actions)
    choice = Choice(torch.as_tensor(scores), torch.as_tensor(masks))
    found = ppo.losses(choice, torch.as_tensor(values), tensors, settings)
    assert float(found) == pytest.approx(total / size, rel=1e-6)


def test_actions_are_drawn_as_often_as_they_are_probable() -> None:
    torch.manual_seed(0)
    scores = torch.tensor([0.1, 2.0, 0.6, 0.0]).log().repeat(40_000, 1)
    masks = torch.tensor([1, 1, 1, 0], dtype=torch.int8).repeat(40_000, 1)
    choice = Choice(scores, masks)
    shares = torch.bincount(choice.sample(), minlength=4) / 40_000
    expected = torch.tensor([0.1, 2.0, 0.6, 0.0]) / 2.7
    torch.testing.assert_close(choice.probs[0], expected)
    torch.testing.assert_close(shares, expected, atol=0.01, rtol=0)
    assert shares[3] == 0


# -- memory, roles, central values --------------------------------------------------------


class Cues:
    """A tiny game: every agent sees a cue at first, and answers at the end.

    ``told`` steps after the cue come with nothing to see. The answer is rewarded by `pay`.
    """

    def __init__(self, envs: int, agents: int, told: int, pay: Any) -> None:
        self.num_envs, self.told, self.pay = envs, told, pay
        self.agents = tuple(f"agent_{a}" for a in range(agents))
        self.observation_space = Box(0, 2, (1,), np.uint8)
        self.action_space = Discrete(2)
        self.rng, self.t = np.random.default_rng(0), 0
        self.world = self
        self.state_space = Box(0, 2, (1,), np.int32)

    def state(self) -> Any:
        return self.cues[:, None].astype(np.int32)

    def _infos(self, alive: bool) -> dict[str, Any]:
        shape = (self.num_envs, len(self.agents))
        return {
            "action_mask": np.ones((*shape, 2), np.int8),
            "alive": np.full(shape, alive),
        }

    def _shown(self) -> Any:
        seen = self.cues if self.t == 0 and self.told >= 0 else 0 * self.cues
        return np.repeat(seen.astype(np.uint8)[:, None, None], len(self.agents), 1)

    def reset(self, seed: int | None = None) -> Any:
        self.t, self.cues = 0, self.rng.integers(1, 3, self.num_envs)
        return self._shown(), self._infos(True)

    def step(self, actions: Any) -> Any:
        """Step as ``autoreset="next_step"`` does."""
        shape = actions.shape
        nothing, never = np.zeros(shape), np.zeros(shape, np.bool_)
        if self.t > max(0, self.told):
            shown, infos = self.reset()
            return shown, nothing, never, never, infos
        self.t += 1
        over = self.t > max(0, self.told)
        rewards = self.pay(self.cues, actions) if over else nothing
        return self._shown(), rewards, never | over, never, self._infos(not over)


def trained(envs: Cues, **changes: Any) -> Any:
    """Train on cues."""
    small: dict[str, Any] = {"num_envs": envs.num_envs, "num_steps": 16, "width": 32}
    small |= {"minibatch": 512, "learning_rate": 5e-3, "reward_scale": 1.0, "epochs": 4}
    trainer = ppo.Trainer(envs, ppo.Settings(**{**small, **changes}), 0)
    trainer.train()
    return trainer


def last_reward(trainer: Any) -> float:
    """Return the mean reward of the steps that end episodes."""
    trainer.act()
    ends = [
        one.rollout.rewards[one.rollout.alive & one.rollout.dones.bool()]
        for one in trainer.learners
    ]
    return float(torch.cat(ends).mean())


def right(cues: Any, actions: Any) -> Any:
    """Pay for the answer that is the cue."""
    return (actions == cues[:, None] - 1).astype(float)


def test_memory_recalls_what_is_no_longer_seen() -> None:
    plain = trained(Cues(64, 1, 3, right), total_steps=30_000)
    recurrent = trained(Cues(64, 1, 3, right), total_steps=30_000, memory=16)
    assert last_reward(plain) < 0.65
    assert last_reward(recurrent) > 0.95


def test_what_was_seen_long_ago_has_a_gradient_from_the_start() -> None:
    torch.manual_seed(0)
    policy = Policy(Box(0, 9, (4,), np.uint8), 2, 32, memory=64)
    size, unit = 64, policy.memory
    reset, update, new = unit.bias_ih.detach().split(size)
    times = 1 + update.exp()
    assert 2 <= times.min() < 10
    assert 90 < times.max() <= LONGEST
    assert times.mean() == pytest.approx((2 + LONGEST) / 2, rel=0.15)
    assert not reset.any()
    assert not new.any()
    assert not unit.bias_hh.any()
    for gate in unit.weight_hh.detach().split(size):
        torch.testing.assert_close(gate @ gate.T, torch.eye(size), atol=1e-5, rtol=0)
    first = torch.zeros(1, size, requires_grad=True)
    seen, fresh = torch.randint(0, 10, (60, 1, 4)), torch.zeros(60, 1, dtype=torch.bool)
    policy.admit(seen.flatten(0, 1))
    (gradient,) = torch.autograd.grad(policy.unroll(seen, first, fresh)[-1].sum(), first)
    assert gradient.norm() > 0.1  # with the biases that torch draws it is below 1e-8


def test_an_unrolled_policy_sees_what_it_saw_step_by_step() -> None:
    trainer = trained(Cues(8, 1, 3, right), total_steps=256, memory=5)
    trainer.act()
    rollout, policy = trainer.rollout, trainer.policy
    hidden = policy.unroll(rollout.observations, rollout.memory, rollout.fresh)
    flat = hidden.flatten(0, 1)
    choice, values = policy.judge(flat, rollout.masks.flatten(0, 1))
    chosen = choice.log_prob(rollout.actions.flatten())
    assert rollout.memory.any()
    assert rollout.fresh.any()
    torch.testing.assert_close(values, rollout.values.flatten(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(chosen, rollout.log_probs.flatten(), rtol=1e-4, atol=1e-5)


def test_sequences_of_which_nothing_is_learned_take_no_gradient_step() -> None:
    envs = Cues(4, 2, 3, right)
    rollout = trained(envs, total_steps=64, memory=5, self_play=0.5).rollout
    parts = list(rollout.minibatches(len(rollout.rewards)))  # each is the sequence of one slot
    assert len(parts) == 6  # of eight slots, past selves play two
    assert all(part["alive"].any() for part in parts)


def test_who_enters_late_remembers_nothing_from_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an agent that plays the file, which is not asked before it enters."""
    fields: dict[str, Any] = {"agents": 2, "join_at": (0, 3), "max_steps": 8}
    trainer = ppo.Trainer("GridWorld", ppo.Settings(num_envs=2, num_steps=6, memory=5), 0, **fields)
    read, before = trainer.policy.read, []

    def noted(seen: Any, memory: Any) -> Any:
        before.append(memory.view(2, 2, 5).any(-1))
        return read(seen, memory)

    monkeypatch.setattr(trainer.policy, "read", noted)
    trainer.act()
    enters = int(trainer.rollout.alive[:, 1].float().argmax())
    assert enters > 1
    trained = before.copy()
    before.clear()
    ppo.play(trainer.policy, "GridWorld", [0, 1], **fields)
    for found in (trained, before):
        assert found[enters].tolist() == [[True, False]] * 2
        assert found[enters + 1].all()


def test_roles_learn_what_one_policy_cannot() -> None:
    """Both see the same, and are paid where the first does 0 and the second 1."""

    def pay(cues: Any, actions: Any) -> Any:
        both = (actions[:, :1] == 0) & (actions[:, 1:] == 1)
        return np.repeat(both, 2, 1).astype(float)

    shared = trained(Cues(64, 2, 0, pay), total_steps=20_000)
    apart = trained(Cues(64, 2, 0, pay), total_steps=20_000, roles=(0, 1))
    assert last_reward(shared) < 0.6
    assert last_reward(apart) > 0.95
    first, second = apart.policies
    assert first is not second
    assert len(set(map(id, shared.policies))) == 1


def test_roles_learn_while_the_first_is_not_there() -> None:
    fields: dict[str, Any] = {"agents": 2, "join_at": (9, 0), "max_steps": 20}
    settings = ppo.Settings(num_envs=2, num_steps=6, total_steps=12, roles=(0, 1), width=8)
    trainer = ppo.Trainer("GridWorld", settings, 0, **fields)
    before = [one.policy.actor.bias.clone() for one in trainer.learners]
    trainer.train()
    assert [one.rollout.alive.any().item() for one in trainer.learners] == [False, True]
    now = [one.policy.actor.bias for one in trainer.learners]
    assert [torch.equal(*pair) for pair in zip(before, now, strict=True)] == [True, False]


def test_a_central_critic_knows_what_no_agent_sees() -> None:
    """The cue is hidden, and the first agent is paid by it: 1 or 2, the second the opposite."""

    def pay(cues: Any, actions: Any) -> Any:
        return np.stack([cues, -cues], 1).astype(float)

    errors = []
    for central in (False, True):
        trainer = trained(Cues(64, 2, -1, pay), total_steps=20_000, central=central)
        trainer.act()
        rollout = trainer.rollout
        ends = rollout.alive & rollout.dones.bool()
        errors.append(float((rollout.rewards - rollout.values)[ends].square().mean()))
    assert errors[0] > 1.0  # it cannot even tell the seats apart: the variance is 2.5
    assert errors[1] < 0.05


def test_a_central_critic_reads_the_state_of_its_own_environment() -> None:
    config = {"width": 4, "height": 4, "max_steps": 5, "agents": 2}
    small = ppo.Settings(num_envs=6, num_steps=8, minibatch=32, width=8, central=True)
    trainer = ppo.Trainer("GridWorld", small, 0, **config)
    expected = []
    step = trainer.env.step

    def watched(actions: Any) -> Any:
        expected.append(trainer.env.state())
        return step(actions)

    trainer.env.step = watched
    trainer.act()
    states = trainer.rollout.states.numpy().reshape(8, 6, 2, -1)
    for seat in range(2):
        np.testing.assert_array_equal(states[:, :, seat], np.array(expected).astype(np.float32))
    critic = trainer.policy.central
    assert isinstance(critic, StateCritic)
    apart = critic(trainer.rollout.states[0], trainer.rollout.seats[0])
    assert trainer.rollout.seats[0].tolist() == [0, 1] * 6
    torch.testing.assert_close(apart, trainer.rollout.values[0])
    trainer.learn()


# -- self-play ----------------------------------------------------------------------------


def test_past_selves_play_all_but_one_and_teach_nothing() -> None:
    answers: list[Any] = []

    def pay(cues: Any, actions: Any) -> Any:
        answers.append(actions.copy())
        return right(cues, actions)

    envs = Cues(64, 2, 0, pay)
    trainer = trained(envs, total_steps=64, self_play=0.5, past_every=3, past_kept=2)
    learner = trainer.learners[0]
    frozen = trainer._frozen()
    assert frozen.sum(1).tolist() == [1] * 32 + [0] * 32
    assert frozen[:32, 0].sum() == 16
    old = learner.past[0]
    old.actor.bias.data[:] = torch.tensor([50.0, -50.0])  # always answers 0
    trainer.policy.actor.bias.data[:] = torch.tensor([-50.0, 50.0])
    answers.clear()
    trainer.act()
    for actions in answers:
        np.testing.assert_array_equal(actions == 0, frozen)
    assert not trainer.rollout.alive.view(16, 64, 2)[:, torch.as_tensor(frozen)].any()
    for _ in range(8):
        learner.begin()
        learner.learn()
    assert len(learner.past) == 2
    kept = [id(one) for one in learner.past]
    assert id(old) not in kept
    assert id(trainer.policy) not in kept


def test_a_lone_learner_has_no_past_self_to_play_against() -> None:
    with pytest.raises(ConfigError, match="and only one agent learns"):
        ppo.Trainer(Cues(4, 1, 0, right), ppo.Settings(num_envs=4, self_play=1.0), 0)


def test_self_play_learns_to_beat_an_untrained_player() -> None:
    """What one wins, the other loses; only who reads the cue better than the other gains."""

    def pay(cues: Any, actions: Any) -> Any:
        hits = right(cues, actions)
        return hits - hits[:, ::-1]

    trainer = trained(Cues(64, 2, 0, pay), total_steps=12_000, self_play=1.0, roles=(0, 1))
    cues = torch.tensor([[1], [2]], dtype=torch.uint8)
    masks = torch.ones(2, 2, dtype=torch.int8)
    for learner in trainer.learners:
        hits = learner.policy(cues, masks)[0].probs.diagonal()
        assert hits.min() > 0.95
        assert learner.past[0](cues, masks)[0].probs.diagonal().max() < 0.9  # its first self
    zero = trainer.rollout.rewards[trainer.rollout.dones.bool()].mean()
    assert abs(float(zero)) < 0.2


# -- mistakes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"training_reward": "big"}, "own, small_costs, shaped"),
        ({"self_play": 1.5}, "self_play: it must be at most 1"),
        ({"memory": -1}, "memory: it must be at least 0"),
        ({"shaping_until": 0.0}, "shaping_until"),
        ({"past_kept": 0}, "past_kept"),
        ({"minibatch": 0}, "minibatch"),
    ],
)
def test_settings_are_checked(changes: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ppo.Settings(**changes)


def test_seeds_of_numpy_are_played_as_others() -> None:
    policies = ppo.Trainer("GridWorld", ppo.Settings(num_envs=2, num_steps=2), 0).policies
    won, others = (ppo.play(policies, "GridWorld", seeds) for seeds in (np.arange(3), range(3)))
    assert (won == others).all()


@pytest.mark.parametrize(
    ("made", "settings", "told"),
    [
        ({"num_envs": 3}, {}, "the settings have num_envs=2, and here are 3"),
        ({"autoreset": "disabled"}, {}, "needs autoreset='same_step', not 'disabled'"),
        ({}, {"central": True}, "needs autoreset='next_step', not 'same_step'"),
        ({"infos": "none"}, {}, "needs infos='full', not 'none'"),
    ],
)
def test_environments_must_step_as_training_needs_it(made: Any, settings: Any, told: str) -> None:
    env = piase_gym.batch_env("GridWorld", **{"num_envs": 2, "autoreset": "same_step", **made})
    with pytest.raises(ConfigError, match=told):
        ppo.Trainer(env, ppo.Settings(num_envs=2, num_steps=2, **settings), 0)


@pytest.mark.parametrize("roles", [(0,), (0, 2), (1, 1), (0, 1, 2)])
def test_roles_must_fit_the_agents(roles: Any) -> None:
    small = ppo.Settings(num_envs=2, num_steps=2, roles=roles)
    with pytest.raises(ConfigError, match="each of the 2 agents"):
        ppo.Trainer("GridWorld", small, 0, agents=2)
