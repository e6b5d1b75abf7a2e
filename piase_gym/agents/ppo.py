"""Plays policies of the fast learner, alone or in a batch.

``piase train --algo batch_ppo`` and ``piase curriculum run`` write them.

A file holds parameters by name and a card that says what they are for, so nothing in it is run:
``torch.load(path, weights_only=True)["policies"]``. Here they are applied in double precision,
so that an observation gets the same probabilities alone and in a batch. The critic is left out.
"""

from __future__ import annotations

import functools
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.agents.base import Action, BatchPercept
from piase_gym.agents.recurrent import RecurrentAgent
from piase_gym.agents.sb3_archive import LARGEST, require_file
from piase_gym.agents.simple import draw_at, draw_from, draws_at, percept_of
from piase_gym.agents.space_data import misfit, read_space, symbol_starts
from piase_gym.errors import MissingExtraError, PolicyError

if TYPE_CHECKING:
    import torch
else:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError("a policy 'ppo:...'", "train") from error

FORMAT = 1
LINEAR = torch.nn.functional.linear


class Actor:
    """The part of one policy that chooses: encoding, memory if it has one, hidden layer, scores.

    Attributes:
        length: Length of the recurrent state; 0 for a policy without memory.
    """

    def __init__(self, state: Mapping[str, torch.Tensor], space: spaces.Box) -> None:
        """Take parameters under the names that `piase_gym.training.networks.Policy` gives them."""
        self._whole = {k: v for k, v in state.items() if not v.is_floating_point()}
        self._numbers = {k: v.double() for k, v in state.items() if k not in self._whole}
        if not all(bool(values.isfinite().all()) for values in self._numbers.values()):
            raise PolicyError("it holds numbers that are not finite")
        self._rows: torch.Tensor | None = self._whole.get("encoder.rows")
        self.length = self._numbers["memory.weight_hh"].shape[1] if self._has("memory") else 0
        if self._rows is not None:
            starts = torch.as_tensor(symbol_starts(space.high), dtype=torch.int64)
            self._starts, self._sizes = starts[:-1], starts.diff()
            if len(self._rows) != int(starts[-1]):
                raise PolicyError("its table of symbols is not that of its observations")

    def _has(self, layer: str) -> bool:
        """Return whether there is a layer."""
        return any(name.startswith(f"{layer}.") for name in self._numbers)

    @torch.no_grad()
    def step(
        self, vectors: NDArray[Any], memory: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of all actions, shape (n, actions), and the new recurrent state."""
        own, remembered = self._numbers, torch.as_tensor(memory)
        seen = torch.as_tensor(vectors).flatten(1)
        hidden = self._encode(seen)
        if self.length:
            given, kept = (
                LINEAR(values, own[f"memory.weight_{name}"], own[f"memory.bias_{name}"]).chunk(3, 1)
                for name, values in (("ih", hidden), ("hh", remembered))
            )
            forget, update = (given[0] + kept[0]).sigmoid(), (given[1] + kept[1]).sigmoid()
            fresh = (given[2] + forget * kept[2]).tanh()
            hidden = remembered = fresh + update * (remembered - fresh)
        hidden = LINEAR(hidden, own["body.0.weight"], own["body.0.bias"]).relu()
        scores = LINEAR(hidden, own["actor.weight"], own["actor.bias"])
        if self._has("query"):
            scores = scores + self._compare(hidden, seen)
        return scores.numpy(), remembered.numpy()

    def _compare(self, hidden: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        """Return how well what each action takes fits what is wanted."""
        own, whole = self._numbers, self._whole
        slots = whole["encoder.slots"][vectors[:, whole["encoder.agent"]].long()]
        wanted = LINEAR(hidden, own["query.weight"], own["query.bias"])
        fits = (wanted @ own["encoder.table"].t()).gather(1, self._things(vectors.gather(1, slots)))
        fits = torch.nn.functional.pad(fits / wanted.shape[1] ** 0.5, (0, 1))
        return fits[:, whole["encoder.actions"]]

    def _things(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return numbers of things, those that have no embedding as 0."""
        return torch.where(numbers < len(self._numbers["encoder.table"]), numbers, 0).long()

    def _encode(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the encoding of vectors: the sum of their symbols' rows, or a linear layer.

        The linear layer is over quantities and, where there are things, sums of their embeddings.
        """
        own = self._numbers
        if self._rows is None:
            values = vectors.double()
            values = values.sign() * values.abs().log1p()
            if self._has("query"):
                things = self._things(vectors[:, self._whole["encoder.places"]])
                found = own["encoder.table"][things] * (things > 0)[..., None]
                groups = found.tensor_split(self._whole["encoder.starts"][1:], 1)
                quantities = values[:, self._whole["encoder.others"]]
                values = torch.cat([*(group.sum(1) for group in groups), quantities], 1)
            return LINEAR(values, own["encoder.linear.weight"], own["encoder.linear.bias"]).relu()
        symbols = vectors.long()
        known = (symbols >= 0) & (symbols < self._sizes)
        rows = torch.where(known, self._rows[(self._starts + symbols * known)].long(), 0)
        sums = torch.nn.functional.embedding_bag(rows, own["encoder.table"], mode="sum")
        return (sums + own["encoder.bias"]).relu()


class Checkpoint:
    """The contents of a file: policies, the agents that they play, and the spaces they are for.

    Attributes:
        name: Its name in messages.
        card: What the file says about itself.
        actors: The policies.
        seats: For each agent that was trained, the number of its policy.
        observation_space: The space of one agent's observations.
        action_space: The space of its actions.
    """

    def __init__(self, path: Path) -> None:
        """Read a file; nothing in it is run."""
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                raise PolicyError(f"it holds more than {LARGEST:,} bytes")
            if (part := archive.testzip()) is not None:
                raise PolicyError(f"its part {part!r} is damaged")
        found = torch.load(path, map_location="cpu", weights_only=True)
        self.name, self.card = path.name, found["card"]
        if self.card.get("format") != FORMAT:
            raise PolicyError(f"it has format {self.card.get('format')!r}; allowed here: {FORMAT}")
        seen, acts = (read_space(self.card[f"{kind}_space"]) for kind in ("observation", "action"))
        if not isinstance(seen, spaces.Box) or not isinstance(acts, spaces.Discrete):
            raise PolicyError("its spaces are not those of the fast learner")
        self.observation_space, self.action_space = seen, acts
        self.seats: dict[str, int] = dict(self.card["seats"])
        self.actors = [Actor(state, seen) for state in found["policies"]]
        scores = [
            actor.step(np.zeros((1, *seen.shape)), np.zeros((1, actor.length)))[0]
            for actor in self.actors
        ]
        if not set(self.seats.values()) <= set(range(len(scores))) or not scores:
            raise PolicyError("its seats name policies that are not in it")
        if any(row.shape != (1, acts.n) for row in scores):
            raise PolicyError(f"its policies are not for {acts.n} actions")

    def actor(self, seat: str) -> Actor:
        """Return the policy of a seat.

        Raises:
            PolicyError: If there are several, and none was trained in this seat.
        """
        if len(self.actors) == 1:
            return self.actors[0]
        if seat not in self.seats:
            raise PolicyError(f"{self.name} has policies for {', '.join(self.seats)}, not {seat}")
        return self.actors[self.seats[seat]]


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Return the contents of a file, which is read again only once it has been rewritten.

    Raises:
        PolicyError: If there is no such file, or it holds no policies.
    """
    path = Path(path)
    require_file(path)
    found = path.stat()
    return _loaded(path.resolve(), found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=16)
def _loaded(path: Path, _written: int, _size: int) -> Checkpoint:
    """Return the contents of a file, which is read once."""
    try:
        return Checkpoint(path)
    except Exception as error:  # a damaged or strange file can fail in any way
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PolicyError(f"{path} holds no policies of batch_ppo: {reason:.200}") from error


class PpoAgent(RecurrentAgent):
    """Plays a policy of the fast learner, one agent in one seat.

    Args:
        path: A file written by ``piase train --algo batch_ppo`` or ``piase curriculum run``.
        greedy: Whether to take the most probable action instead of a draw.

    Attributes:
        observation_space: The observation space that the policy was trained for.
        action_space: The action space that it was trained for.

    Raises:
        PolicyError: If the file holds no policies.
    """

    def __init__(self, path: str | Path, *, greedy: bool = False) -> None:
        """Load the file."""
        super().__init__()
        self._path, self.greedy = Path(path), greedy
        self.checkpoint = load_checkpoint(path)
        self.observation_space = self.checkpoint.observation_space
        self.action_space = self.checkpoint.action_space
        self._fits: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the agent as a path and a state."""
        made = functools.partial(type(self), greedy=self.greedy)
        return made, (self._path,), (self._id, self.get_state())

    def __setstate__(self, kept: tuple[str, Mapping[str, Any]]) -> None:
        """Go on as the agent that was pickled."""
        self.set_id(kept[0])
        self.set_state(kept[1])

    def memory_lengths(self) -> set[int]:
        """Return the lengths of the recurrent states of the policies in the file."""
        return {actor.length for actor in self.checkpoint.actors}

    def act(self) -> Action:
        """Return the index of a command for the last percept.

        Raises:
            PolicyError: If the policy is for other spaces or seats.
        """
        percept = percept_of(self)
        if self._fits is not percept.world:
            self._require_fit(percept.world)
        actor = self.checkpoint.actor(percept.agent)
        scores, memory = actor.step(percept.vector[None], self._remembered(actor.length))
        self._remember(memory)
        draws = np.array([draw_at(self._seed, percept.step)], np.uint64)
        return int(self._choose(scores, percept.mask[None], draws)[0])

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Choose for many environments at once.

        Raises:
            PolicyError: As `act`.
        """
        length, actions = batch.vectors.shape[1:], batch.masks.shape[1]
        if length != self.observation_space.shape or actions != self.action_space.n:
            raise self._misfit(f"vectors of shape {length} and {actions} actions")
        actor = self.checkpoint.actor(self.get_id())
        memory = self._remembered_batch(batch, actor.length)
        scores, memory = actor.step(batch.vectors, memory)
        self._remember_batch(batch, memory)
        return self._choose(scores, batch.masks, draws_at(batch.seeds, batch.steps))

    def _choose(
        self, scores: NDArray[np.float64], masks: NDArray[np.int8], draws: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Choose the likeliest actions, or draw them."""
        scores = np.where(masks != 0, scores, -np.inf)
        if self.greedy:
            return np.asarray(scores.argmax(axis=1), np.int64)
        return draw_from(np.exp(scores - scores.max(axis=1, keepdims=True)), draws)

    def _require_fit(self, world: Any) -> None:
        """Raise `PolicyError` unless the policy was trained for the spaces of a world."""
        actions = world.num_actions if world.capabilities.discrete else None
        if self.observation_space != world.vector_space or self.action_space.n != actions:
            shown = f"{world.vector_space} and {actions or 'continuous'} actions of {world.name}"
            raise self._misfit(shown)
        self._fits = world

    def _misfit(self, offered: str) -> PolicyError:
        """Return the error for a policy that is for other spaces."""
        return misfit(self.checkpoint.name, self.observation_space, self.action_space, offered)
