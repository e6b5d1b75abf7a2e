"""Tabular Q-learning: a table of values for what was perceived, learnt step by step.

The rule is Watkins' (1989): after an action a in s that brought r and led to s',

    Q(s, a) <- Q(s, a) + learning_rate (r + discount max_b Q(s', b) - Q(s, a)),

where the maximum is over the actions that are legal in s', and is 0 if the episode has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from piase_gym.agents.base import Action, Agent, BatchPercept, Feedback, Percept
from piase_gym.agents.simple import draw_at, read_seed
from piase_gym.core.commands import Outcome
from piase_gym.core.rng import GOLDEN, mix64
from piase_gym.core.snapshot import DAMAGE
from piase_gym.errors import ConfigError, SnapshotError, UnsupportedError

DRAWS = 2**32
"""How many values `draw_at` has."""


class QSettings(BaseModel):
    """The settings of a `QLearningAgent`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    learning_rate: float = Field(0.5, gt=0, le=1, description="how far a value moves each time")
    discount: float = Field(0.95, ge=0, le=1, description="what a reward is worth a step later")
    exploration: float = Field(0.2, ge=0, le=1, description="how often it tries anything")
    exploration_decay: float = Field(
        0.98, gt=0, le=1, description="what exploration is multiplied by after each episode"
    )
    least_exploration: float = Field(0.0, ge=0, le=1, description="what exploration ends at")
    initial_value: float = Field(0.0, description="the value of what was never tried")
    learning: bool = Field(True, description="whether it learns, and explores, at all")


def vector_key(percept: Percept) -> str:
    """Return a percept's key in the table: a 64-bit hash of the vector view."""
    return _key(percept.vector)


def text_key(percept: Percept) -> str:
    """Return a percept's key in the table: a 64-bit hash of the canonical text."""
    return xxhash.xxh64_hexdigest(percept.text.encode())


def _key(vector: NDArray[Any]) -> str:
    return xxhash.xxh64_hexdigest(np.ascontiguousarray(vector).tobytes())


class QLearningAgent(Agent):
    """Learns the value of each action in each state that it has perceived.

    What it has learnt lasts from episode to episode; `reset` only begins a new one. A transition
    that a limit of steps cuts off teaches nothing, since what would have followed was not seen; nor
    does one in which its answer came too late.

    Args:
        agent_id: Its name.
        see: What counts as a state: a function of the percept. By default this is the whole vector
            view; where that contains more than matters, such as a clock, a function of your own
            makes learning faster.
        settings: Fields of `QSettings`.

    Raises:
        ConfigError: If a setting is unknown or out of range.

    Example:
        >>> from piase_gym import Simulation
        >>> agent = QLearningAgent(exploration=0.3)
        >>> small = {"width": 3, "height": 3, "start_pos": (0, 0), "goal_pos": (2, 2)}
        >>> Simulation("GridWorld", agent, seed=0, **small).run(episodes=40).steps
        4
    """

    def __init__(
        self,
        agent_id: str = "agent_0",
        see: Callable[[Percept], str] = vector_key,
        **settings: Any,
    ) -> None:
        """Start with an empty table."""
        super().__init__(agent_id)
        self.see = see
        self.settings = _settings(settings)
        self.table: dict[str, dict[int, float]] = {}
        """State -> action -> value, for what was tried."""
        self.episodes = 0
        self._seed = 0
        self._last: tuple[str, int] | None = None
        self._reward: float | None = None

    @property
    def exploration(self) -> float:
        """The probability of trying any legal action in the present episode."""
        rule = self.settings
        if not rule.learning:
            return 0.0
        now = rule.exploration * rule.exploration_decay ** max(0, self.episodes - 1)
        return max(rule.least_exploration, now)

    def reset(self, seed: int) -> None:
        """Begin an episode; the table stays."""
        self._seed = seed
        self.episodes += 1
        self._last = self._reward = None

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take its own settings; those of other kinds of agents are ignored.

        Raises:
            ConfigError: If a value is out of range.
        """
        own = {key: value for key, value in config.items() if key in QSettings.model_fields}
        self.settings = _settings({**self.settings.model_dump(), **own})

    # -- acting ----------------------------------------------------------------------------

    def perceive(self, percept: Any) -> None:
        """Take in what there is now, and learn from the step that led here."""
        super().perceive(percept)
        if not isinstance(percept, Percept) or not percept.world.capabilities.discrete:
            raise UnsupportedError("Q-learning needs a Percept of a world with discrete actions")
        if self._last is not None and self._reward is not None:
            state = self.see(percept)
            legal = percept.mask.nonzero()[0].tolist()
            self._update(self._reward + self.settings.discount * self.value(state, legal))

    def act(self) -> Action:
        """Return the best action known, or now and then any legal action."""
        percept = self.percept
        if percept is None:
            raise UnsupportedError("Q-learning acts on a Percept; call perceive first")
        state, legal = self.see(percept), percept.mask.nonzero()[0].tolist()
        action = self._choose(state, legal, draw_at(self._seed, percept.step))
        self._last, self._reward = (state, action), None
        return action

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Choose for many environments, from the table as it is.

        Raises:
            UnsupportedError: If states are not known by their vectors.
        """
        if self.see is not vector_key:
            raise UnsupportedError("in a batch, Q-learning knows states by their vectors only")
        rows = zip(batch.vectors, batch.masks, batch.seeds, batch.steps, strict=True)
        chosen = [
            self._choose(_key(vector), mask.nonzero()[0].tolist(), draw_at(int(seed), int(step)))
            for vector, mask, seed, step in rows
        ]
        return np.asarray(chosen, np.int64)

    def _choose(self, state: str, legal: list[int], draw: int) -> int:
        """Return an action: any legal one with probability `exploration`, else one of the best."""
        second = mix64(draw + GOLDEN) >> 32
        if draw >= self.exploration * DRAWS:
            best = self.value(state, legal)
            legal = [action for action in legal if self.worth(state, action) == best]
        return int(legal[(second * len(legal)) >> 32])

    # -- learning --------------------------------------------------------------------------

    def worth(self, state: str, action: int) -> float:
        """Return the value of an action in a state."""
        return self.table.get(state, {}).get(action, self.settings.initial_value)

    def value(self, state: str, legal: list[int]) -> float:
        """Return the value of the best legal action in a state; 0 if there is none."""
        return max((self.worth(state, action) for action in legal), default=0.0)

    def learn(self, feedback: Feedback) -> None:
        """Keep the reward until the next percept, or learn at once if the episode terminated."""
        if not self.settings.learning or feedback.outcome is Outcome.TIMEOUT:
            self._reward = None
            return
        self._reward = float(feedback.reward)
        if feedback.terminated and self._last is not None:
            self._update(self._reward)
        if feedback.terminated or feedback.truncated:
            self._last = self._reward = None

    def _update(self, target: float) -> None:
        """Move the value of the last action towards a target."""
        assert self._last is not None
        state, action = self._last
        old = self.worth(state, action)
        row = self.table.setdefault(state, {})
        row[action] = old + self.settings.learning_rate * (target - old)
        self._last = self._reward = None

    # -- state -----------------------------------------------------------------------------

    def internal_state(self) -> dict[str, Any] | None:
        """Return the number of known states, the exploration, and the value of the last choice."""
        shown: dict[str, Any] = {
            "states_known": len(self.table),
            "exploration": round(self.exploration, 6),
        }
        if self._last is not None:
            shown["worth"] = round(self.worth(*self._last), 6)
        return shown

    def get_state(self) -> dict[str, Any]:
        """Return the table, the settings, and where the agent is in the episode."""
        return {
            "settings": self.settings.model_dump(),
            "table": {
                state: {str(action): value for action, value in row.items()}
                for state, row in self.table.items()
            },
            "episodes": self.episodes,
            "seed": self._seed,
            "last": None if self._last is None else list(self._last),
            "reward": self._reward,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned.

        Raises:
            SnapshotError: If it is no state of such an agent.
        """
        try:
            settings = QSettings(**state["settings"])
            table = {
                str(key): {int(action): float(value) for action, value in row.items()}
                for key, row in state["table"].items()
            }
            last = state["last"] and (str(state["last"][0]), int(state["last"][1]))
            reward = None if state["reward"] is None else float(state["reward"])
            episodes, seed = int(state["episodes"]), read_seed(state)
        except SnapshotError:
            raise
        except DAMAGE as error:
            raise SnapshotError(f"this is no state of a Q-learning agent: {error}") from None
        self.settings, self.table, self.episodes, self._seed = settings, table, episodes, seed
        self._last, self._reward = last, reward


def _settings(fields: Mapping[str, Any]) -> QSettings:
    """Return checked settings.

    Raises:
        ConfigError: If one is unknown or out of range.
    """
    from piase_gym.core.config import explain

    try:
        return QSettings(**fields)
    except ValidationError as error:
        raise ConfigError(explain(error, QSettings)) from None
