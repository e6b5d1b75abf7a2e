"""The fast learner under a curriculum: the decisions of one environment, the levels of one part."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from piase_gym import curricula
from piase_gym.benchmarks.evaluation import levels
from piase_gym.curricula import AdaptationDecisionModule, CurriculumManager
from piase_gym.registry import find, load
from piase_gym.training.curriculum_env import make_curriculum_env
from piase_gym.training.curriculum_evaluation import play_slots
from piase_gym.training.curriculum_run import CurriculumTraining, CurriculumTrainingSettings
from piase_gym.training.curriculum_settings import import_ppo
from tests.curricula.helpers import Table, curriculum

SHORT = {"max_interactions": 12, "episodes_per_attempt": 3}
WON = [{"metric": "success_rate", "operator": ">=", "value": 0.6}]
RULES = [["step_attempts == 2", "APPLY_HINT_A"], ["step_attempts % 4 == 0", "BRANCH_TO_1"]]
HINTS = {"A": {"data": {"message": "Right."}}}
STAGES = curriculum(
    {**SHORT, "completion_criteria": WON, "environment_config_overrides": {"width": 3}},
    {
        **SHORT,
        "completion_criteria": WON,
        "environment_config_overrides": {"width": 4, "height": 4, "layout": "door_key"},
        "adaptation_rules": RULES,
        "hints": HINTS,
    },
    world="GridWorld",
)
FIELDS = {"width": 3, "height": 3}


def test_a_learner_in_a_batch_gets_the_decisions_of_one_environment() -> None:
    """The counted episodes of all slots, in their order, are retold to a runner of one."""
    ppo = import_ppo()
    env = make_curriculum_env(STAGES, num_envs=16, config=FIELDS)
    order: list[tuple[int, bool]] = []
    told = env.controller.director.observe
    env.controller.director.observe = lambda agent, step, episode: (
        order.append((step, episode.result == "won")),
        told(agent, step, episode),
    )
    settings = ppo.Settings(num_envs=16, num_steps=32, total_steps=16_000, minibatch=256)
    ppo.Trainer(env, settings, 3).train()
    manager, table = CurriculumManager(), Table()
    manager.start("agent_0", STAGES)
    progress, module = manager.progress("agent_0"), AdaptationDecisionModule(table)
    for mine in env.controller.decisions:
        episodes, order = order[:3], order[3:]
        step = STAGES.step(progress.current_step_order)
        assert [at for at, _ in episodes] == [step.order] * 3
        table.values["success_rate"] = sum(won for _, won in episodes) / 3
        counts = {"env_steps": mine.env_steps, "episodes": 3}
        theirs = module.decide("agent_0", STAGES, step, progress.attempt, **counts)
        assert mine.to_bytes() == theirs.to_bytes()
        manager.apply(theirs)
    made = {d.decision for d in env.controller.decisions}
    assert made >= {"PROCEED", "REPEAT_STEP", "APPLY_HINT_A", "BRANCH_TO_1"}
    assert progress.current_step_order == env.progress["agent_0"].current_step_order


def test_what_a_step_sets_reaches_each_slot_at_the_end_of_its_episode() -> None:
    """Slots whose episodes go on keep their config, and those that begin have the new one."""
    env = make_curriculum_env(STAGES, num_envs=24, director="randomisation", config=FIELDS, seed=2)
    env.reset(0)
    states, rng, seen = env.unwrapped.batch.states, np.random.default_rng(0), Counter[int]()
    for _ in range(120):
        before = states["width"].copy()
        _, _, terminated, truncated, _ = env.step(rng.integers(0, env.action_space.n, (24, 1)))
        over = (terminated | truncated)[:, 0]
        assert (states["width"] == before)[~over].all()
        for slot in np.flatnonzero(over).tolist():
            step = env.controller.participants[slot]["agent_0"].step
            assert states["width"][slot] == step.environment_config_overrides["width"]
            seen[step.order] += 1
    assert min(seen[1], seen[2]) > 50


def test_steps_are_counted_by_step_of_the_curriculum() -> None:
    env = make_curriculum_env(STAGES, num_envs=7, config=FIELDS)
    env.reset(0)
    rng, ended, length = np.random.default_rng(0), Counter[int](), np.zeros(7, np.int64)
    for _ in range(100):
        orders = [env.controller.participants[slot]["agent_0"].step.order for slot in range(7)]
        _, _, terminated, truncated, _ = env.step(rng.integers(0, env.action_space.n, (7, 1)))
        length += 1
        for slot in np.flatnonzero((terminated | truncated)[:, 0]).tolist():
            ended[orders[slot]] += int(length[slot])
            length[slot] = 0
    counts = env.controller.counts["agent_0"]
    assert counts.uncounted > 0
    env.controller.process_ended_episodes()
    assert counts.steps == ended
    assert min(ended[1], ended[2]) > 0


KEYS = {"width": 5, "height": 5, "border": False, "layout": "door_key"}
REPLAY = {"name": "plr", "score": "return", "replay": 0.6, "warm_up": 5, "step": 1}


def played(part: str | None) -> tuple[set[str], dict[int, set[str]]]:
    """Play; return the parts of all levels, and the levels of every seed that was drawn."""
    plan = curriculum({**SHORT, "environment_config_overrides": KEYS}, world="GridWorld")
    env = make_curriculum_env(plan, num_envs=12, director=REPLAY, seed=1, part=part)
    env.reset(0)
    batch, spec = env.unwrapped, find("GridWorld")[0]
    world = load(spec.world, spec)(batch.config_of(0))
    parts, drawn, rng = set[str](), dict[int, set[str]](), np.random.default_rng(0)
    for _ in range(150):
        _, _, terminated, truncated, _ = env.step(rng.integers(0, env.action_space.n, (12, 1)))
        for slot in np.flatnonzero((terminated | truncated)[:, 0]).tolist():
            level = levels.level_of(world, int(batch.batch.states["seed"][slot]))
            assert level == batch.single(slot).level()
            choice = env.controller.participants[slot]["agent_0"].choice
            drawn.setdefault(choice.seed, set()).add(level)
            parts.add(levels.part_of(level))
    return parts, drawn


def test_training_is_held_to_levels_of_one_part_also_where_a_director_draws_them() -> None:
    assert played("dev")[0] == {"dev"}
    for part in (None, "train"):
        parts, drawn = played(part)
        assert parts == {"train"}
        assert all(len(found) == 1 for found in drawn.values())  # a replayed level is the same


def test_hints_are_seen_though_a_level_was_drawn_again() -> None:
    rules = [["step_attempts >= 1", "APPLY_HINT_A"]]
    step = {**SHORT, "environment_config_overrides": KEYS, "adaptation_rules": rules}
    plan = curriculum({**step, "hints": HINTS, "completion_criteria": WON}, world="GridWorld")
    env = make_curriculum_env(plan, num_envs=12, part="train")
    env.reset(0)
    for _ in range(30):
        env.step(np.full((12, 1), 4))
    hinted = [s for s in range(12) if env.controller.participants[s]["agent_0"].hint == "A"]
    assert hinted
    spec, batch = find("GridWorld")[0], env.unwrapped
    world = load(spec.world, spec)(batch.config_of(0))
    for slot in hinted:
        assert batch.batch.states["hint"][slot].any()
        level = levels.level_of(world, int(batch.batch.states["seed"][slot]))
        assert levels.part_of(level) == "train"


def test_who_does_nothing_wins_no_test_and_who_does_anything_some() -> None:
    import torch
    from torch.distributions import Categorical

    env = make_curriculum_env(curricula.load("text_quest"), num_envs=2)
    config = env.env.controller.setup.config({"agent_0": 1})
    seeds = range(2_000_000, 2_000_012)

    def lazy(shown: torch.Tensor, masks: torch.Tensor) -> tuple[Categorical, None]:
        logits = torch.full(masks.shape, -1e9)
        logits[:, 0] = 0.0  # the first command changes nothing
        return Categorical(logits=logits), None

    def legal(shown: torch.Tensor, masks: torch.Tensor) -> tuple[Categorical, None]:
        return Categorical(logits=torch.where(masks > 0, 0.0, -1e9)), None

    assert not play_slots(lazy, config, seeds)[0].any()
    chance = play_slots(legal, config, seeds)[0]
    assert 0 < chance.sum() < len(seeds)
    for size in (1, 5, 12, 99):  # how many are open at once changes nothing
        assert (play_slots(legal, config, seeds, side_by_side=size)[0] == chance).all()


def test_levels_are_scored_by_the_advantages_that_ppo_learns_from(tmp_path: Path) -> None:
    """Whole episodes, also over two rollouts and cut off; the advantages are computed slowly."""
    director = {"name": "plr", "replay": 0.0}
    envs, steps = 6, 16
    small = {**SHORT, "environment_config_overrides": {"width": 4, "height": 4}}
    plan = {"name": "Small", "world": "GridWorld", "steps": [{"order": 1, "name": "Room", **small}]}
    path = tmp_path / "plan.curriculum.json"
    path.write_text(json.dumps(plan))
    settings = CurriculumTrainingSettings(
        curriculum=str(path), num_envs=envs, num_steps=steps, steps=1200, director=director
    )
    run = CurriculumTraining(settings, tmp_path / "run")
    trainer, batch = run.trainer, run.controller.batch
    ppo, step, tell = trainer.settings, trainer.env.step, run._tell_director
    seeds: list[list[int]] = []
    parts: list[list[float]] = [[] for _ in range(envs)]
    wanted: dict[int, float] = {}
    kinds = Counter[str]()

    def stepped(acts: Any) -> Any:
        seeds.append(batch.seeds().tolist())
        result = step(acts)
        kinds["cut off"] += int(result[3].sum())
        kinds["ended"] += int(result[2].sum())
        return result

    def after(rollout: Any) -> None:
        every = torch.ones(envs, dtype=torch.bool)
        shown = torch.as_tensor(trainer.shown).flatten(0, 1)
        with torch.no_grad():
            last = trainer.learners[0].foresee(shown, torch.zeros(envs, 0), every).numpy()
        rewards, values, dones = (
            one.numpy().astype(float) for one in (rollout.rewards, rollout.values, rollout.dones)
        )
        values = np.vstack([values, last])
        for slot in range(envs):
            for t in range(steps):
                advantage, factor = 0.0, 1.0
                for k in range(t, steps):
                    ahead = 0.0 if dones[k, slot] else ppo.gamma * values[k + 1, slot]
                    advantage += factor * (rewards[k, slot] + ahead - values[k, slot])
                    factor *= ppo.gamma * ppo.gae_lambda
                    if dones[k, slot]:
                        break
                parts[slot].append(abs(advantage))
                if dones[t, slot]:
                    wanted[seeds[t - steps][slot]] = float(np.mean(parts[slot]))
                    kinds["over two rollouts"] += len(parts[slot]) > t + 1
                    parts[slot] = []
        tell(rollout)

    trainer.env.step, trainer.after_rollout = stepped, after
    run.train()
    known = run.controller.progress["agent_0"].memory["teacher"].known
    assert {one.task.seed: one.score for one in known} == pytest.approx(wanted, abs=1e-5)
    assert min(kinds[kind] for kind in ("cut off", "ended", "over two rollouts")) > 5
    run.close()
