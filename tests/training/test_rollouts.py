"""Values and advantages of whole rollouts, beside a slow computation for one agent at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from piase_gym.training import ppo  # noqa: E402  # needs the extra
from piase_gym.training.symbols import SymbolEncoder  # noqa: E402

GAMMA, LAMBDA, ENVS, STEPS, ROUNDS = 0.9, 0.8, 6, 9, 3
SMALL: dict[str, Any] = {"agents": 3, "width": 4, "height": 4, "max_steps": 7}


def opinionated(policy: Any) -> None:
    """Give a policy rows for all codes, which it would meet by and by, and strong opinions."""
    for module in policy.modules():
        if isinstance(module, SymbolEncoder):
            sizes = np.diff(module.starts)
            codes = np.minimum(np.arange(sizes.max())[:, None], sizes - 1)
            module.admit(torch.as_tensor(codes.astype(np.uint8)))
    for values in policy.parameters():
        values.add_(torch.randn_like(values) * 0.3)


class Slow:
    """One agent of one environment, whose policy reads one observation after the other."""

    def __init__(self, learner: Any, env: int, agent: int) -> None:
        self.policy, self.env, self.agent = learner.policy, env, agent
        self.memory, self.playing = None, False

    def value(self, shown: Any, states: Any) -> tuple[float, Any]:
        """Return the value of what it sees, and its memory after that."""
        seen = torch.as_tensor(shown[self.env, self.agent][None])
        hidden, memory = self.policy.read(seen, self.memory)
        every, seat = torch.ones(1, self.policy.actor.out_features), torch.tensor([self.agent])
        return float(self.policy.judge(hidden, every, states[self.env][None], seat)[1]), memory

    def advantages(self, rows: Any) -> list[float]:
        """Return the advantages in one rollout; not a number where the agent is not in play."""
        deltas: list[tuple[float, bool] | None] = []
        for (shown, alive, states, step), (after, _, later, _) in pairwise(rows):
            last, rewards, over, cut, infos = step
            over, cut, paid = (part[self.env, self.agent] for part in (over, cut, rewards))
            if not alive[self.env, self.agent]:
                self.playing = False
                deltas.append(None)
                continue
            if not self.playing:
                self.memory = self.policy.blank(1)
            now, self.memory = self.value(shown, states)
            ahead, _ = self.value(infos.get("final_obs", last) if cut else after, later)
            self.playing = not (over or cut)
            deltas.append((paid + GAMMA * ahead * (not over) - now, self.playing))
        found, ahead = list[float](), 0.0
        for delta in reversed(deltas):
            ahead = 0.0 if delta is None else delta[0] + GAMMA * LAMBDA * ahead * delta[1]
            found.insert(0, np.nan if delta is None else ahead)
        return found


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, SMALL),
        ({"memory": 5, "roles": (0, 1, 0)}, {**SMALL, "join_at": (0, 2, 4)}),
        ({"memory": 5, "central": True}, SMALL),
        ({"central": True, "roles": (1, 0, 1)}, SMALL),
    ],
)
@torch.no_grad()
def test_advantages_are_those_of_each_agents_episodes(changes: Any, fields: Any) -> None:
    sizes = {"num_envs": ENVS, "num_steps": STEPS, "width": 16}
    settings = ppo.Settings(**sizes, gamma=GAMMA, gae_lambda=LAMBDA, **changes)
    trainer = ppo.Trainer("GridWorld", settings, 0, **fields)
    step, rows = trainer.env.step, list[Any]()

    def now() -> list[Any]:
        return [trainer.shown.copy(), trainer.infos["alive"].copy(), trainer._states().clone()]

    def noted(acts: Any) -> Any:
        before = now()
        rows.append((*before, step(acts)))  # the trainer scales these rewards in place
        return rows[-1][-1]

    trainer.env.step = noted
    slow, ends = {}, 0
    for role, learner in enumerate(trainer.learners):
        opinionated(learner.policy)
        slots = [(env, agent) for env in range(ENVS) for agent in learner.columns]
        slow[role] = [Slow(learner, *slot) for slot in slots]
    for _ in range(ROUNDS):
        rows.clear()
        trainer.act()
        rows.append((*now(), None))
        ends += sum(int((row[3][2] | row[3][3]).sum()) for row in rows[:-1])
        for role, learner in enumerate(trainer.learners):
            for slot, agent in enumerate(slow[role]):
                rollout = learner.rollout
                found = rollout.advantages[:, slot].masked_fill(~rollout.alive[:, slot], np.nan)
                np.testing.assert_allclose(found, agent.advantages(rows), rtol=1e-4, atol=1e-5)
    assert ends > 20
