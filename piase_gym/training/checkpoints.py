"""The folder of a training run, and its checkpoints, which are written whole or not at all.

A checkpoint is an archive in the format of Stable-Baselines3, so that its ``load`` reads it, with
two more files: a card that says how the network is built, and the state of everything else, from
which training continues exactly as if it had not stopped. Between two updates this state is all
that matters: the random generators that Stable-Baselines3 draws from, the environments in
mid-episode, their last observations, and running statistics.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import random
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.sb3_archive import CARD
from piase_gym.core.files import write_whole
from piase_gym.errors import TrainingError

STATE = "state.json"
KEPT = 2
"""How many checkpoints are kept; an older one is used if the newest is damaged."""


def pack(archive: bytes, more: Mapping[str, Any]) -> bytes:
    """Return the archive with further files added, each written as JSON."""
    buffer = io.BytesIO(archive)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as packed:
        for name, value in more.items():
            packed.writestr(name, json.dumps(value))
    return buffer.getvalue()


class Folder:
    """The folder in which a run keeps its files.

    ``settings.json``, ``checkpoints/``, ``policy.zip`` (the best on the dev seeds),
    ``progress.jsonl`` (a line for each look at them), ``result.json`` and ``tensorboard/``.
    """

    def __init__(self, path: str | Path) -> None:
        """Name the folder; nothing is made yet."""
        self.path = Path(path)
        self.settings = self.path / "settings.json"
        self.policy = self.path / "policy.zip"
        self.progress = self.path / "progress.jsonl"
        self.result = self.path / "result.json"
        self.tensorboard = self.path / "tensorboard"

    def checkpoints(self) -> list[Path]:
        """Return the checkpoints, the newest first."""
        found = (self.path / "checkpoints").glob("*.zip")
        return sorted((p for p in found if re.fullmatch(r"\d{12}\.zip", p.name)), reverse=True)

    def save(self, steps: int, content: bytes) -> Path:
        """Write a checkpoint, and delete old ones once it is there.

        Raises:
            StorageError: If it cannot be written; then the older ones are kept.
        """
        path = self.path / "checkpoints" / f"{steps:012d}.zip"
        write_whole(path, content)
        for old in self.checkpoints()[KEPT:]:
            with contextlib.suppress(OSError):
                old.unlink()
        return path

    def newest(self) -> tuple[Path, dict[str, Any], dict[str, Any]]:
        """Return the newest checkpoint that can be read, its card and its state.

        Raises:
            TrainingError: If there is none.
        """
        damaged = []
        for path in self.checkpoints():
            try:
                with zipfile.ZipFile(path) as archive:
                    broken = archive.testzip()
                    if broken is not None:
                        raise ValueError(f"{broken} is damaged")
                    return path, json.loads(archive.read(CARD)), json.loads(archive.read(STATE))
            except Exception as error:  # a damaged archive raises whatever its readers raise
                damaged.append(f"{path.name} ({error})")
        what = f"only damaged checkpoints: {', '.join(damaged)}" if damaged else "no checkpoint"
        raise TrainingError(f"{self.path} holds {what}; begin anew in another folder")

    def note(self, line: Mapping[str, Any], after: int) -> None:
        """Add a line to the progress, and remove lines of later steps that were lost.

        Args:
            line: JSON-able data with ``steps``.
            after: Lines with more steps than this are from before an interruption.

        Raises:
            StorageError: If it cannot be written.
        """
        rows = [row for row in self.history() if row["steps"] <= after]
        text = "".join(json.dumps(row) + "\n" for row in [*rows, line])
        write_whole(self.progress, text.encode())

    def history(self) -> list[dict[str, Any]]:
        """Return the lines of the progress.

        Raises:
            TrainingError: If they are damaged.
        """
        try:
            rows = [json.loads(line) for line in self.progress.read_text("utf-8").splitlines()]
            if not all(isinstance(row, dict) and type(row.get("steps")) is int for row in rows):
                raise ValueError("a line tells no steps")
            return rows
        except OSError:
            return []
        except ValueError as error:
            raise TrainingError(f"{self.progress} is damaged: {error}; remove it") from None


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
    """Restore a state.

    Raises:
        KeyError, ValueError, TypeError: If it is damaged or belongs to something else.
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
    """Return the reward statistics of a VecNormalize."""
    if not hasattr(vec, "ret_rms"):
        return None
    known = vec.ret_rms
    moments = [float(known.mean), float(known.var)]
    return {"moments": moments, "count": float(known.count), "returns": _write(vec.returns)}


def _generators() -> dict[str, Any]:
    """Return the state of the global generators; Stable-Baselines3 draws from no others."""
    import torch

    kind, key, *rest = np.random.get_state()  # noqa: NPY002  # shuffles of minibatches
    version, words, gauss = random.getstate()
    return {
        "torch": _write(torch.get_rng_state().numpy()),
        "numpy": [kind, _write(np.asarray(key)), *rest],
        "python": [version, list(words), gauss],
    }


def _set_generators(state: Mapping[str, Any]) -> None:
    """Restore the state of the global generators."""
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
