"""Trained networks of Stable-Baselines3 and sb3-contrib, and the files they are kept in.

Networks compute in double precision here, so that an observation gets the same probabilities alone
and in a batch.
"""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.errors import MissingExtraError, PolicyError

if TYPE_CHECKING:
    import torch
    from stable_baselines3.common.save_util import load_from_zip_file
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
else:
    try:
        import torch
        from stable_baselines3.common.save_util import load_from_zip_file
        from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    except ModuleNotFoundError as error:
        raise MissingExtraError("a policy 'sb3:...'", "train") from error

CARD = "piase.json"
"""Name of the file in a model's archive in which `piase train` says how the network is built."""
FORMAT = 1


class Network:
    """A trained network as a function of observations; shared by all agents that play it.

    The policy that it is made of is its own from then on; `copy_network` leaves a model alone.

    Attributes:
        name: What messages call it.
        observation_space: The space it was trained for.
        action_space: Likewise.
        masked: Whether it was trained with masks.
    """

    def __init__(self, policy: Any, name: str) -> None:
        """Take a policy of Stable-Baselines3 and check that its numbers are numbers."""
        self.name = name
        self.observation_space: spaces.Space[Any] = policy.observation_space
        self.action_space: spaces.Space[Any] = policy.action_space
        self.masked = type(policy).__name__.startswith("Maskable")
        if hasattr(policy, "lstm_actor"):
            raise PolicyError(f"{name} is recurrent; only models without a memory can be played")
        require_finite(policy, name)
        self._policy = policy.double().eval()
        for module in policy.modules():
            if isinstance(module, BaseFeaturesExtractor) and not module._forward_pre_hooks:
                module.register_forward_pre_hook(_in_double)

    @property
    def drawn(self) -> bool:
        """Whether it gives probabilities, and not only the best action."""
        return hasattr(self._policy, "get_distribution")

    @torch.no_grad()
    def probabilities(
        self, observations: NDArray[Any], masks: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """Return the probability of each action, shape (n, actions), 0 where it is forbidden.

        Networks that estimate values (DQN, QR-DQN) give their best action all of it.

        Raises:
            PolicyError: If the network gives numbers that are not finite.
        """
        try:
            scores = self._scores(torch.as_tensor(observations)).numpy()
        except ValueError as error:  # torch checks the parameters of distributions
            raise self._diverged() from error
        if not np.isfinite(scores).all():
            raise self._diverged()
        if self.masked:
            scores = np.where(masks != 0, scores, -np.inf)
        if not self.drawn:
            return np.asarray(scores == scores.max(axis=1, keepdims=True), np.float64)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float64)

    def _scores(self, observations: torch.Tensor) -> torch.Tensor:
        """Return log-probabilities, or values, of all actions."""
        policy = self._policy
        if self.drawn:
            logits: torch.Tensor = policy.get_distribution(observations).distribution.logits
            return logits
        if hasattr(policy, "quantile_net"):
            quantiles: torch.Tensor = policy.quantile_net(observations)
            return quantiles.mean(dim=1)
        values: torch.Tensor = policy.q_net(observations)
        return values

    @torch.no_grad()
    def gaussian(self, observation: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean and deviation of a continuous action.

        Raises:
            PolicyError: If they are not finite, or the network has no such distribution.
        """
        if not self.drawn:
            raise PolicyError(f"{self.name} has continuous actions without a Gaussian policy")
        try:
            normal = self._policy.get_distribution(torch.as_tensor(observation)[None]).distribution
        except ValueError as error:
            raise self._diverged() from error
        mean, spread = normal.mean[0].numpy(), normal.stddev[0].numpy()
        if not (np.isfinite(mean).all() and np.isfinite(spread).all()):
            raise self._diverged()
        return mean, spread

    def _diverged(self) -> PolicyError:
        """Say that outputs are not finite."""
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


def load_network(path: str | Path) -> Network:
    """Return the network in a model's file; it is read once, until the file is written anew.

    Raises:
        PolicyError: If there is no such file, it holds no model, or its numbers are not finite.
    """
    path = Path(path)
    try:
        found = path.stat()
    except OSError:
        raise PolicyError(f"there is no model {str(path)!r}") from None
    if not path.is_file():
        raise PolicyError(f"the model {str(path)!r} is not a file; give the .zip that was saved")
    return _loaded(path.resolve(), found.st_mtime_ns, found.st_size)


def copy_network(model: Any) -> Network:
    """Return the network of a model that may go on learning.

    Raises:
        PolicyError: If its numbers are not finite, or it is recurrent.
    """
    buffer = io.BytesIO()
    model.save(buffer)
    return Network(read_policy(buffer), f"the {type(model).__name__} model")


@functools.lru_cache(maxsize=8)
def _loaded(path: Path, _written: int, _size: int) -> Network:
    """Return the network of a file; it is read once."""
    try:
        return Network(read_policy(path), path.name)
    except PolicyError:
        raise
    except Exception as error:  # a damaged or strange file can fail in any way
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PolicyError(f"{path} holds no model that can be loaded: {reason:.200}") from error


def read_policy(path: Path | io.BytesIO) -> Any:
    """Return the policy in a model's archive, with its parameters.

    Raises:
        PolicyError: If the file is of a later format.
    """
    with zipfile.ZipFile(path) as archive:
        card = json.loads(archive.read(CARD)) if CARD in archive.namelist() else None
    if card is not None and card.get("format") != FORMAT:
        raise PolicyError(f"{path} has format {card.get('format')!r}; allowed here: {FORMAT}")
    data, parameters, _ = load_from_zip_file(path, load_data=card is None, device="cpu")
    if card is None:
        data = data or {}
        kind, kwargs = data["policy_class"], data["policy_kwargs"]
        seen, acts = data["observation_space"], data["action_space"]
    else:
        kind, kwargs = network_of(card["network"])
        seen, acts = read_space(card["observation_space"]), read_space(card["action_space"])
    policy = kind(seen, acts, lambda _: 0.0, **kwargs)
    policy.load_state_dict(parameters["policy"])
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
        from piase_gym.adapters.features import CellFeatures

        kwargs["features_extractor_class"] = CellFeatures
        kwargs["features_extractor_kwargs"] = {"features_dim": plan["width"]}
    return kind, kwargs


def write_space(space: spaces.Space[Any]) -> dict[str, Any]:
    """Return a Box or Discrete space as JSON-able data."""
    if isinstance(space, spaces.Discrete):
        return {"n": int(space.n)}
    assert isinstance(space, spaces.Box)
    bounds = {"low": space.low.tolist(), "high": space.high.tolist()}
    return {"dtype": str(space.dtype), "shape": list(space.shape), **bounds}


def read_space(data: Mapping[str, Any]) -> spaces.Space[Any]:
    """Return the space that `write_space` wrote."""
    if "n" in data:
        return spaces.Discrete(int(data["n"]))
    dtype = np.dtype(data["dtype"]).type
    low, high = np.array(data["low"], dtype), np.array(data["high"], dtype)
    return spaces.Box(low, high, tuple(data["shape"]), dtype)
