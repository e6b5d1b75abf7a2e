"""Trained networks of Stable-Baselines3 and sb3-contrib, and the files they are kept in.

Networks compute in double precision here, so that an observation gets the same probabilities alone
and in a batch.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.agents.sb3_archive import Archive, Foreign, require_file
from piase_gym.agents.space_data import read_space
from piase_gym.errors import MissingExtraError, PolicyError

if TYPE_CHECKING:
    import torch
    from sb3_contrib.ars.policies import ARSPolicy
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.save_util import load_from_zip_file
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
else:
    try:
        import torch
        from sb3_contrib.ars.policies import ARSPolicy
        from stable_baselines3.common.policies import BasePolicy
        from stable_baselines3.common.save_util import load_from_zip_file
        from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    except ModuleNotFoundError as error:
        raise MissingExtraError("a policy 'sb3:...'", "train") from error

FORMAT = 1


class Network:
    """A trained network as a function of observations; shared by all agents that play it.

    It takes over, and changes, the policy it is made from; `copy_network` leaves a model unchanged.

    Attributes:
        name: Its name in messages.
        observation_space: The observation space that it was trained for.
        action_space: The action space that it was trained for.
        masked: Whether it was trained with masks.
        squashed: Whether its continuous actions are bounded by a tanh.
        memory_length: Length of its recurrent state, all layers in one row; 0 if it has none.
    """

    def __init__(self, policy: Any, name: str) -> None:
        """Take a policy of Stable-Baselines3 and check that its parameters are finite."""
        self.name = name
        self.observation_space: spaces.Space[Any] = policy.observation_space
        self.action_space: spaces.Space[Any] = policy.action_space
        self.masked = type(policy).__name__.startswith("Maskable")
        self.squashed: bool = policy.squash_output
        lstm = getattr(policy, "lstm_actor", None)
        self.memory_length = 2 * lstm.num_layers * lstm.hidden_size if lstm else 0
        require_finite(policy, name)
        self._policy = policy.double().eval()
        for module in policy.modules():
            if isinstance(module, BaseFeaturesExtractor):
                module.register_forward_pre_hook(_in_double)

    @property
    def drawn(self) -> bool:
        """Whether it gives probabilities of actions, or a Gaussian, as on-policy networks do."""
        return hasattr(self._policy, "get_distribution")

    @torch.no_grad()
    def probabilities(
        self, observations: NDArray[Any], masks: NDArray[np.int8], memory: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the probability of each action, shape (n, actions), 0 where it is forbidden.

        With networks that give no probabilities (DQN, QR-DQN, ARS) the best action has 1.

        Args:
            observations: Shape (n, ...).
            masks: Shape (n, actions).
            memory: The recurrent states, shape (n, `memory_length`), at first zeros.

        Returns:
            The probabilities, and the recurrent states after them.

        Raises:
            PolicyError: If the network gives numbers that are not finite.
        """
        found, memory = self._scores(torch.as_tensor(observations), memory)
        scores = found.numpy()
        if not np.isfinite(scores).all():
            raise self._diverged()
        if self.masked:
            scores = np.where(masks != 0, scores, -np.inf)
        if not self.drawn:
            return np.asarray(scores == scores.max(axis=1, keepdims=True), np.float64), memory
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float64), memory

    def _scores(
        self, observations: torch.Tensor, memory: NDArray[np.float64]
    ) -> tuple[torch.Tensor, NDArray[np.float64]]:
        """Return log-probabilities (up to a constant), or values, of all actions."""
        policy = self._policy
        if self.memory_length:
            found, memory = self._distribution(observations, memory)
            return found.logits, memory
        if self.drawn:  # what get_distribution does, but for a distribution that checks itself
            actor = policy.pi_features_extractor  # the policy's own method may add the critic's
            features = BasePolicy.extract_features(policy, observations, actor)
            return policy.action_net(policy.mlp_extractor.forward_actor(features)), memory
        if hasattr(policy, "quantile_net"):
            return policy.quantile_net(observations).mean(dim=1), memory
        if hasattr(policy, "q_net"):
            return policy.q_net(observations), memory
        features = policy.extract_features(observations, policy.features_extractor)
        return policy.action_net(features), memory

    @torch.no_grad()
    def gaussian(
        self, observations: NDArray[Any], memory: NDArray[np.float64]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Return means and standard deviations of continuous actions before they are bounded.

        With gSDE, whose noise lasts for several steps in training, they are those of one step; with
        a network that gives no distribution (TD3, DDPG, ARS) the deviations are 0.

        Args:
            observations: Shape (n, ...).
            memory: The recurrent states, shape (n, `memory_length`), at first zeros.

        Returns:
            The means and the deviations, shape (n, numbers), and the recurrent states after them.

        Raises:
            PolicyError: If they are not finite.
        """
        seen, actor = torch.as_tensor(observations), getattr(self._policy, "actor", self._policy)
        if self.drawn or hasattr(actor, "get_action_dist_params"):
            normal, memory = self._distribution(seen, memory)
            means, deviations = normal.mean, normal.stddev
        else:
            layers = actor.mu if hasattr(actor, "mu") else actor.action_net
            features = actor.extract_features(seen, actor.features_extractor)
            means = layers[: -1 if self.squashed else None](features)  # the last is the tanh
            deviations = torch.zeros_like(means)
        found = means.numpy(), deviations.numpy(), memory
        if not all(np.isfinite(part).all() for part in found):
            raise self._diverged()
        return found

    def _distribution(
        self, observations: torch.Tensor, memory: NDArray[np.float64]
    ) -> tuple[Any, NDArray[np.float64]]:
        """Return torch's distribution of the actions, and the recurrent states after it."""
        policy = self._policy
        try:
            if self.memory_length:
                lstm = policy.lstm_actor
                shape = len(memory), 2, lstm.num_layers, lstm.hidden_size
                states = torch.as_tensor(memory).reshape(shape).permute(1, 2, 0, 3).contiguous()
                starts = torch.zeros(len(memory))
                found, after = policy.get_distribution(observations, tuple(states), starts)
                memory = torch.stack(after).permute(2, 0, 1, 3).reshape(len(memory), -1).numpy()
            elif self.drawn:
                found = policy.get_distribution(observations)
            else:  # SAC and its like
                means, logarithms, more = policy.actor.get_action_dist_params(observations)
                found = policy.actor.action_dist.proba_distribution(means, logarithms, **more)
        except ValueError as error:  # torch checks its parameters
            raise self._diverged() from error
        return found.distribution, memory

    def _diverged(self) -> PolicyError:
        """Return the error for outputs that are not finite."""
        return PolicyError(f"{self.name} gives numbers that are not finite; it has diverged")


def _in_double(_module: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Hand observations to a features extractor in double precision."""
    return tuple(part.double() for part in given)


def require_finite(policy: Any, name: str) -> None:
    """Raise `PolicyError` if a parameter is not finite; the message names the first."""
    for parameter, values in policy.named_parameters():
        if not torch.isfinite(values).all():
            raise PolicyError(f"{name} has diverged: {parameter} holds numbers that are not finite")


# -- files --------------------------------------------------------------------------------


def load_network(path: str | Path, *, trusted: bool = False) -> Network:
    """Return the network in a model's file, which is read again only once it has been rewritten.

    Args:
        path: The file.
        trusted: Whether the file may be unpickled if it cannot be read otherwise, which can run any
            code that is in it. Ordinary models of Stable-Baselines3 need no trust.

    Raises:
        PolicyError: If there is no such file, it holds no model, its numbers are not finite, or it
            must be unpickled and is not trusted.
    """
    path = Path(path)
    require_file(path)
    found = path.stat()
    return _loaded(path.resolve(), found.st_mtime_ns, found.st_size, trusted)


def copy_network(model: Any) -> Network:
    """Return the network of a model that may go on learning.

    Raises:
        PolicyError: If its numbers are not finite.
    """
    buffer = io.BytesIO()
    model.save(buffer)
    return Network(read_policy(buffer, trusted=True), f"the {type(model).__name__} model")


@functools.lru_cache(maxsize=8)
def _loaded(path: Path, _written: int, _size: int, trusted: bool) -> Network:
    """Return the network in a file, which is read once."""
    try:
        policy = read_policy(path, trusted=trusted)
    except Exception as error:  # a damaged or strange file can fail in any way
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PolicyError(f"{path} holds no model that can be loaded: {reason:.200}") from error
    return Network(policy, path.name)


def read_policy(file: Path | io.BytesIO, *, trusted: bool) -> Any:
    """Return the policy in a model's archive, with its parameters.

    Raises:
        PolicyError: If the file is of a later format, or must be unpickled and is not trusted.
    """
    archive = Archive(file)
    card = archive.card
    try:
        if card is None:
            kind, seen, acts, kwargs = archive.policy()
        elif card.get("format") != FORMAT:
            raise PolicyError(f"it has format {card.get('format')!r}; allowed here: {FORMAT}")
        else:
            kind, kwargs = network_of(card["network"])
            seen, acts = read_space(card["observation_space"]), read_space(card["action_space"])
        archive.require_room(acts, kwargs)
    except Foreign as error:
        if not trusted:
            raise PolicyError(
                f"it needs {error}, which only unpickling makes, and that can run any code; name "
                "the file yourself, as a policy or a partner, if you trust it"
            ) from None
        data = load_from_zip_file(file, device="cpu")[0] or {}
        kind, kwargs = data["policy_class"], data["policy_kwargs"]
        seen, acts = data["observation_space"], data["action_space"]
    if archive.data.get("use_sde"):  # an argument of the algorithm, not of the policy
        kwargs = {**kwargs, "use_sde": True}
    rate = () if issubclass(kind, ARSPolicy) else (lambda _: 0.0,)
    policy = kind(seen, acts, *rate, **kwargs)
    policy.load_state_dict(archive.weights)
    return policy


def network_of(plan: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the class and the arguments of the policy that a plan describes.

    Args:
        plan: ``masked``, ``cells`` (whether observations are symbols), ``width`` (of the encoding)
            and ``layers`` (widths of the hidden layers).
    """
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.policies import ActorCriticPolicy

    kind = MaskableActorCriticPolicy if plan["masked"] else ActorCriticPolicy
    kwargs: dict[str, Any] = {"net_arch": list(plan["layers"]), "activation_fn": torch.nn.ReLU}
    if plan["cells"]:
        from piase_gym.adapters.encoders import CellFeatures

        kwargs["features_extractor_class"] = CellFeatures
        kwargs["features_extractor_kwargs"] = {"features_dim": plan["width"]}
    return kind, kwargs
