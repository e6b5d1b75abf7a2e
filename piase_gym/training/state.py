"""The state of a run beside its network: from it, training goes on exactly as it would have.

Between two updates nothing else matters: the random generators that Stable-Baselines3 draws from,
the environments in mid-episode, what they showed last, and running statistics.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def state_of(model: Any, vec: Any) -> dict[str, Any]:
    """Return the state as a JSON-able value."""
    bare = vec.unwrapped
    return {
        "steps": model.num_timesteps,
        "updates": model._n_updates,
        "random": _generators(),
        "envs": bare.snapshot() if hasattr(bare, "snapshot") else None,
        "shown": None if model._last_obs is None else _write(np.asarray(model._last_obs)),
        "starts": None if model._last_obs is None else _write(model._last_episode_starts),
        "rewards": _spread(vec),
        "episodes": [dict(row) for row in model.ep_info_buffer or ()],
        "successes": [bool(won) for won in model.ep_success_buffer or ()],
    }


def restore_state(model: Any, vec: Any, state: Mapping[str, Any]) -> None:
    """Take up a state.

    Raises:
        KeyError, ValueError, TypeError: If it is damaged or of something else.
    """
    model._setup_learn(0)  # makes the buffers of statistics, and resets the environments
    model.num_timesteps = int(state["steps"])
    model._n_updates = int(state["updates"])
    vec.unwrapped.restore(state["envs"])
    model._last_obs = _read(state["shown"])
    model._last_episode_starts = _read(state["starts"])
    if state["rewards"] is not None:
        vec.ret_rms.mean, vec.ret_rms.var = map(np.float64, state["rewards"]["moments"])
        vec.ret_rms.count = state["rewards"]["count"]
        vec.returns = _read(state["rewards"]["returns"])
    model.ep_info_buffer.extend(state["episodes"])
    model.ep_success_buffer.extend(state["successes"])
    _set_generators(state["random"])


def _spread(vec: Any) -> dict[str, Any] | None:
    """Return what a VecNormalize knows of rewards."""
    if not hasattr(vec, "ret_rms"):
        return None
    known = vec.ret_rms
    moments = [float(known.mean), float(known.var)]
    return {"moments": moments, "count": float(known.count), "returns": _write(vec.returns)}


def _generators() -> dict[str, Any]:
    """Return the global generators; Stable-Baselines3 draws from no others."""
    import torch

    kind, key, *rest = np.random.get_state()  # noqa: NPY002  # shuffles of minibatches
    version, words, gauss = random.getstate()
    return {
        "torch": _write(torch.get_rng_state().numpy()),
        "numpy": [kind, _write(np.asarray(key)), *rest],
        "python": [version, list(words), gauss],
    }


def _set_generators(state: Mapping[str, Any]) -> None:
    """Take up the state of the global generators."""
    import torch

    torch.set_rng_state(torch.as_tensor(_read(state["torch"])))
    kind, key, *rest = state["numpy"]
    np.random.set_state((kind, _read(key), *rest))  # noqa: NPY002
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))


def _write(array: NDArray[Any]) -> list[Any]:
    """Return an array as JSON-able data, exactly."""
    raw = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return [str(array.dtype), list(array.shape), raw]


def _read(data: Any) -> NDArray[Any]:
    """Return the array that `_write` wrote."""
    dtype, shape, raw = data
    return np.frombuffer(base64.b64decode(raw), dtype).reshape(shape).copy()
