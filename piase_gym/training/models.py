"""From the settings of a run to its environments and its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piase_gym import __version__
from piase_gym.adapters.encoders import holds_symbols
from piase_gym.adapters.sb3 import vec_of
from piase_gym.agents.sb3_network import FORMAT, network_of
from piase_gym.agents.space_data import write_space
from piase_gym.benchmarks.evaluation.levels import train_apart
from piase_gym.benchmarks.evaluation.protocol import first_seed
from piase_gym.core.world import World
from piase_gym.errors import TrainingError
from piase_gym.training.schedule import rate_at, whole_updates
from piase_gym.training.settings import TrainSettings, equal_minibatch

if TYPE_CHECKING:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecEnv


def make_vec(
    settings: TrainSettings, world: World[Any, Any], partners: Mapping[str, str]
) -> VecEnv:
    """Make the environments; rewards are normalised if the settings say so."""
    from stable_baselines3.common.vec_env import VecNormalize

    seats = [i for i, name in enumerate(world.agents) if name not in partners]
    focal = seats[0] if len(seats) == 1 else -1
    vec = vec_of(settings.make_world(), settings.num_envs, partners, focal)
    train_apart(vec.batch)
    if settings.normalize_rewards:
        return VecNormalize(vec, norm_obs=False, norm_reward=True, gamma=settings.gamma)
    return vec


def plan_of(settings: TrainSettings, vec: VecEnv) -> dict[str, Any]:
    """Return the plan of the network; see `network_of`."""
    discrete = hasattr(vec.action_space, "n")
    return {
        "masked": discrete and settings.algo != "ppo",
        "cells": holds_symbols(vec.observation_space),
        "width": settings.width,
        "layers": list(settings.layers),
    }


def make_model(settings: TrainSettings, vec: VecEnv) -> PPO:
    """Make the model, seeded, on the CPU."""
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO

    plan, samples = plan_of(settings, vec), vec.num_envs * settings.num_steps
    kind: Any = MaskablePPO if plan["masked"] else PPO
    model: PPO = kind(
        "MlpPolicy",
        vec,
        learning_rate=rates_of(settings, samples),
        n_steps=settings.num_steps,
        batch_size=equal_minibatch(settings.minibatch, samples),
        n_epochs=settings.epochs,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        vf_coef=settings.value_weight,
        policy_kwargs=network_of(plan)[1],
        seed=settings.seed,
        device="cpu",
    )
    vec.seed(first_seed(settings.seed, settings.num_envs))  # the next reset begins there
    return model


def rates_of(settings: TrainSettings, update: int) -> Callable[[float], float]:
    """Return `rate_at` as Stable-Baselines3 asks for it: by the share of steps that is left.

    It asks after the rollout, so the rollout's steps are taken off again.

    Args:
        settings: The settings of the run.
        update: The agent steps of one rollout.
    """
    first, total = settings.learning_rate, whole_updates(settings.steps, update)
    return lambda left: rate_at(first, max(0, round((1.0 - left) * total) - update), total)


def make_policy(settings: TrainSettings, vec: VecEnv) -> Any:
    """Make a policy that is built like the model's, to play with while the model learns."""
    kind, kwargs = network_of(plan_of(settings, vec))
    return kind(vec.observation_space, vec.action_space, lambda _: 0.0, **kwargs)


def metadata_of(settings: TrainSettings, world: World[Any, Any], vec: VecEnv) -> dict[str, Any]:
    """Return what a model's file says about itself, as JSON-able data."""
    return {
        "format": FORMAT,
        "piase_gym": __version__,
        "world": world.name,
        "version": world.version_of(world.config),
        "settings": settings.model_dump(mode="json"),
        "network": plan_of(settings, vec),
        "observation_space": write_space(vec.observation_space),
        "action_space": write_space(vec.action_space),
    }


def check_metadata(card: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    """Check that a checkpoint belongs to the present run.

    Raises:
        TrainingError: If format, world, version, settings or spaces differ.
    """
    for key in wanted:
        if key != "piase_gym" and card.get(key) != wanted[key]:
            found, here = repr(card.get(key)), repr(wanted[key])
            raise TrainingError(
                f"{path} is a checkpoint of another run: {key} is {found:.200} there and "
                f"{here:.200} here"
            )
