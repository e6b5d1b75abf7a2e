"""Policies in the protocol's form: a name, a fingerprint, and how to make a fresh agent.

Anything that chooses actions will do: a name of `piase_gym.agents`, the path of a model of
Stable-Baselines3 (``sb3:PATH``, or ``sb3-greedy:PATH`` for its most probable actions) or of the
fast learner (``ppo:PATH``, ``ppo-greedy:PATH``), a folder with a model for each task (see
`references.models`; ``ppo`` is the one that ships), a language model (``llm:MODEL@URL``),
``module:attribute``, an `Agent` (object or class), a model with ``predict``, or a function of
a `Percept`. Models play by draws from their probabilities, as files and as objects.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import importlib
import inspect
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.agents import Agent, LLMAgent, Percept, make_agent, policies
from piase_gym.agents.base import Action
from piase_gym.agents.fingerprints import fingerprint, is_sb3, predicts_itself
from piase_gym.agents.policy_registry import MODELS, families
from piase_gym.agents.population import POPULATION
from piase_gym.agents.simple import SeededAgent, draw_at
from piase_gym.agents.space_data import action_spaces
from piase_gym.benchmarks.evaluation.suites import Setting
from piase_gym.benchmarks.references.models import ModelFolder, shipped_models
from piase_gym.core.world import World
from piase_gym.errors import PolicyError, UnknownNameError

KINDS = {".zip": "sb3", ".pt": "ppo"}
"""The family of a model file by its ending."""
PolicyLike = Any
"""See the module's docstring."""


class FunctionAgent(Agent):
    """Plays the actions that a function of the percept returns."""

    def __init__(self, choose: Callable[[Percept], Action]) -> None:
        super().__init__()
        self._choose = choose

    def act(self) -> Action:
        """Return the function's action for the present percept."""
        assert isinstance(self.percept, Percept)
        return self._choose(self.percept)


class ModelAgent(SeededAgent):
    """Plays a model with ``predict(observation, deterministic=...)``, by draws.

    The seed of the episode fixes the draws, if the model takes them from the generators that
    Python, NumPy and torch share.

    Args:
        model: The model.
        greedy: Whether to ask for the most probable action instead of a draw.

    Attributes:
        observation_space: The model's, if it has one; `check_fit` compares it with the world's.
        action_space: The same for actions.
    """

    def __init__(self, model: Any, *, greedy: bool = False) -> None:
        super().__init__()
        self.model = model
        self.greedy = greedy
        self.observation_space = getattr(model, "observation_space", None)
        self.action_space = getattr(model, "action_space", None)
        self._takes = {*inspect.signature(model.predict).parameters}
        self._memory: Any = None
        self._first = True

    def reset(self, seed: int) -> None:
        """Keep the seed, and clear the memory of a recurrent model."""
        super().reset(seed)
        self._memory, self._first = None, True

    def act(self) -> Action:
        """Return the model's action; give it the mask and its memory, if it takes them."""
        assert isinstance(self.percept, Percept)
        offered = {
            "action_masks": self.percept.mask,
            "state": self._memory,
            "episode_start": np.array([self._first]),
            "deterministic": self.greedy,
        }
        more = {name: value for name, value in offered.items() if name in self._takes}
        with shared_generators(draw_at(self._seed, self.percept.step)):
            action, self._memory = self.model.predict(self.percept.vector, **more)
        self._first = False
        given = np.asarray(action)
        return int(given) if given.shape == () and given.dtype.kind in "iu" else given


@contextmanager
def shared_generators(seed: int) -> Iterator[None]:
    """Let the generators that Python, NumPy and torch share begin at a seed, and put them back.

    Args:
        seed: 32 bits.
    """
    torch: Any = sys.modules.get("torch")
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # others draw from it
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        if torch is None:
            yield
        else:
            with torch.random.fork_rng(range(torch.cuda.device_count())):
                torch.manual_seed(seed)
                yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


def plays_like_its_file(model: Any) -> bool:
    """Return whether a model is one of Stable-Baselines3 whose file could be played as well."""
    return is_sb3(model) and not predicts_itself(model)


@dataclass(frozen=True)
class Policy:
    """A policy that can be sent to another process.

    Attributes:
        name: Its name in results.
        fingerprint: What distinguishes it from others; part of every episode's key.
        source: What agents are made from.
        run: Which of several training runs of one method it is.
    """

    name: str
    fingerprint: str
    source: Any
    run: int = 0

    @property
    def waits(self) -> bool:
        """Whether it spends its time waiting for something outside, as language models do."""
        if isinstance(self.source, str) and self.source.startswith(f"{POPULATION}:"):
            return make_agent(self.source).waits
        return isinstance(self.source, Agent) and self.source.waits

    @property
    def batched(self) -> bool:
        """Whether it is likely, as far as is known without loading it, to act in a batch."""
        source = self.source
        if isinstance(source, ModelFolder):
            return True
        if isinstance(source, str):
            if source not in policies():
                return True  # models in files do
            source = make_agent(source)
        if plays_like_its_file(source):
            return True
        if isinstance(source, type):
            return issubclass(source, Agent) and source.act_batch is not Agent.act_batch
        return isinstance(source, Agent) and source.acts_in_batches

    def at(self, setting: Setting) -> Policy:
        """Return the policy that plays a setting: for a folder, the model of the setting's task.

        Raises:
            PolicyError: If the folder has none.
        """
        if not isinstance(self.source, ModelFolder):
            return self
        path = self.source.path(setting)
        return _read_file(KINDS[path.suffix], path, self.name, self.run)

    def make(self) -> Agent:
        """Return a new agent.

        Raises:
            PolicyError: If it cannot be made.
        """
        source = self.source
        if isinstance(source, str):
            return make_agent(source)  # reads a model's file only once
        if isinstance(source, Agent):
            return copy.deepcopy(source)
        if isinstance(source, type):
            agent: Agent = source()
            return agent
        if plays_like_its_file(source):
            return copy.deepcopy(self._network_agent)
        return ModelAgent(source) if hasattr(source, "predict") else FunctionAgent(source)

    @functools.cached_property
    def _network_agent(self) -> Agent:
        """The agent that plays a model as its file is played; copies share its network."""
        from piase_gym.agents.sb3 import Sb3Agent

        return Sb3Agent(self.source)


def read_policy(policy: PolicyLike, name: str | None = None, run: int = 0) -> Policy:
    """Return a policy in the protocol's form.

    Raises:
        UnknownNameError: If no policy has this name.
        PolicyError: If it is not something that chooses actions.
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | Path):
        return _read_named(policy, name, run)
    if isinstance(policy, LLMAgent):
        return Policy(name or policy.policy, policy.fingerprint, policy, run)
    usual = type(policy).__name__
    if isinstance(policy, type):
        if not issubclass(policy, Agent):
            raise PolicyError(f"{policy.__name__} is a class, but not an Agent; give an object")
        usual = policy.__name__
    elif not isinstance(policy, Agent) and not hasattr(policy, "predict"):
        if not callable(policy):
            raise PolicyError(
                "a policy is a name, a path, an Agent, a model with predict, or a function of a "
                f"Percept; not {policy!r:.60}"
            )
        usual = str(getattr(policy, "__name__", usual))
    return Policy(name or usual, fingerprint(policy), policy, run)


def read_policies(policy: PolicyLike, name: str | None = None) -> list[Policy]:
    """Return all runs of one policy, or of a mapping from names to one or several runs.

    Raises:
        UnknownNameError, PolicyError: If there is none, or see `read_policy`.
    """
    if not isinstance(policy, Mapping):
        return [read_policy(policy, name)]
    if not policy:
        raise PolicyError("there is no policy to evaluate; give at least one")
    found = []
    for label, runs in policy.items():
        several = runs if isinstance(runs, Sequence) and not isinstance(runs, str) else [runs]
        if not several:
            raise PolicyError(f"the policy {label!r} has no training run; give at least one")
        found += [read_policy(run, str(label), number) for number, run in enumerate(several)]
    return found


def _read_named(policy: str | Path, name: str | None, run: int) -> Policy:
    """Read a registered name, the path of a model, or ``module:attribute``."""
    text = str(policy)
    if text in policies():
        return Policy(name or text, f"name:{text}", text, run)
    prefix, colon, rest = text.partition(":")
    if colon and prefix == POPULATION:
        make_agent(text)
        members = ",".join(read_policy(part.strip()).fingerprint for part in rest.split(","))
        return Policy(name or text, f"{POPULATION}:{members}", text, run)
    if colon and prefix in MODELS:  # server trouble must not count as the model's play
        agent = LLMAgent.named(rest, on_failure="raise")
        agent.check()
        return read_policy(agent, name, run)
    if colon and prefix in families():
        return _read_file(prefix, Path(rest), name, run)
    path = Path(text)
    models = ModelFolder(path.resolve()) if path.is_dir() else shipped_models().get(text)
    if models is not None:
        return Policy(name or path.name, f"shelf:{models.folder}", models, run)
    if path.suffix in KINDS or path.is_file():
        return _read_file(KINDS.get(path.suffix, "sb3"), path, name, run)
    if not colon:
        known = (*policies(), *shipped_models(), *(f"{p}:PATH" for p in families()))
        raise UnknownNameError("policy", text, known)
    try:
        found = getattr(importlib.import_module(prefix), rest)
    except (ImportError, AttributeError, ValueError) as error:
        raise PolicyError(f"policy {text!r} cannot be imported: {error}") from None
    return read_policy(found, name or rest, run)


def _read_file(prefix: str, path: Path, name: str | None, run: int) -> Policy:
    """Read a policy of a family; the file's contents are its fingerprint."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError as error:
        why = error.strerror or error
        raise PolicyError(f"there is no model {str(path)!r} to be read: {why}") from None
    source = f"{prefix}:{path.resolve()}"
    return Policy(name or path.stem, f"{prefix}:{digest}", source, run)


# -- spaces -------------------------------------------------------------------------------


def check_fit(agent: Agent, world: World[Any, Any]) -> None:
    """Check that the spaces that an agent was made for are those of a world.

    Raises:
        PolicyError: If they differ; the message names both.
    """
    for kind, here in (("observation", [world.vector_space]), ("action", action_spaces(world))):
        wanted = getattr(agent, f"{kind}_space", None)
        if wanted is not None and wanted not in here:
            shown = " and ".join(map(str, here))
            message = f"the model was made for {kind}s {wanted}"
            raise PolicyError(f"{message}; {world.name} has {shown}")
