"""The LLM-environment document's interface: `BaseEnv`, over worlds and as a base for other code.

``BaseEnv("GridWorld", agents=2)`` puts the interface over a world. Environments of one's own derive
from `BaseEnv` as the document prints it, take a dict of settings, and can be registered by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from piase_gym.core.commands import MAX_LINE, InvalidAction
from piase_gym.core.documents import OwnEnvironment, abstractmethod
from piase_gym.core.jsonable import jsonable
from piase_gym.core.models import Action, Observation
from piase_gym.envs.arguments import Name, build_focal_runner
from piase_gym.envs.base import WorldAccess
from piase_gym.envs.partners import Partners
from piase_gym.errors import (
    ActionError,
    ConfigError,
    ResetNeededError,
    SnapshotError,
    require_count,
)
from piase_gym.interfaces.results import OUTCOME_SENTENCES
from piase_gym.interfaces.turns import Perceived, TurnEngine
from piase_gym.names import look_up
from piase_gym.registry import load_named

Step = tuple[Observation, float, bool, dict[str, Any]]


class BaseEnv(OwnEnvironment):
    """Base of all environments for LLM agents.

    ``BaseEnv(world, **config)`` itself makes a `WorldBaseEnv`; see there for the arguments.
    Subclasses implement `reset`, `step` and `get_action_space`.
    """

    document = "base_env"
    over_worlds = "piase_gym.interfaces.base_env:WorldBaseEnv"
    _observation: Observation | None = None

    @abstractmethod
    def reset(self) -> Observation:
        """Start an episode and return the first observation."""
        raise NotImplementedError

    @abstractmethod
    def step(self, action: Action) -> Step:
        """Act once.

        Returns:
            The next observation, the reward, whether the episode is over, and an info dict.
        """
        raise NotImplementedError

    @abstractmethod
    def get_action_space(self) -> dict[str, Any]:
        """Return a JSON Schema of valid actions."""
        raise NotImplementedError

    def get_available_actions(self, info: dict[str, Any] | None = None) -> list[Action]:
        """Return actions that can be taken now; an empty list says nothing."""
        return []

    @property
    def current_observation(self) -> Observation:
        """The last observation.

        Raises:
            ResetNeededError: Before the first reset.
        """
        if self._observation is None:
            raise ResetNeededError(f"this {type(self).__name__} was never reset; call reset()")
        return self._observation


# -- environments by name ----------------------------------------------------------------------

Make = Callable[[dict[str, Any]], BaseEnv]
_registered: dict[str, str | Make] = {}


def register_base_env(name: str, env: str | Make) -> None:
    """Register an environment of one's own by name; a later registration replaces it.

    Args:
        name: The name.
        env: The subclass of `BaseEnv`, or where it is, as ``"module:Class"``.

    Raises:
        ConfigError: If it is neither.
    """
    if not isinstance(name, str) or not name:
        raise ConfigError(f"an environment is registered by a name, not {name!r:.60}")
    if not callable(env) and not (isinstance(env, str) and ":" in env):
        raise ConfigError(f"{name}: register a class or 'module:Class', not {env!r:.60}")
    _registered[name] = env


def base_envs() -> tuple[str, ...]:
    """Return the names of all registered environments, sorted."""
    return tuple(sorted(_registered))


def make_base_env(name: str, config: Mapping[str, Any] | None = None) -> BaseEnv:
    """Make a registered environment, or put `BaseEnv` over a world or id.

    Args:
        name: A name of `base_envs`, a world or an id.
        config: The settings: for a world, the fields of its config and the arguments of
            `WorldBaseEnv`.

    Raises:
        UnknownNameError: If there is no such name.
        ConfigError: If what was registered cannot be loaded, or makes no `BaseEnv`.
    """
    if not isinstance(config, Mapping | None):
        raise ConfigError(f"settings are a mapping, not {type(config).__name__}")
    settings = dict(config or {})
    if name not in _registered:
        look_up(name)
        return WorldBaseEnv(name, **settings)
    target = _registered[name]
    make: Make = load_named(name, target) if isinstance(target, str) else target
    env = make(settings)
    if not isinstance(env, BaseEnv):
        raise ConfigError(f"{name} made a {type(env).__name__}, which is no BaseEnv")
    return env


class WorldBaseEnv(WorldAccess, BaseEnv, over_world=True):
    """A world behind `BaseEnv`: one focal agent, the others are played by partners.

    Args:
        world: A world, an id or a config object, as for `piase_gym.parallel_env`.
        agent: The focal agent; default the first.
        partners: Policies for the other agents by name; default: those of the id, else ``random``.
        scenario: A scenario's name or path.
        envelope: The largest sizes that later configs may have.
        wording: The dialect of texts; default ``"native"`` where the world has it.
        num_attempts: The number of attempts at an action: one that cannot be read or is not legal
            may be corrected one time less than this before it costs a step.
        config: Fields of the world's config.

    Example:
        >>> env = BaseEnv("GridWorld", start_pos=(0, 0), goal_pos=(1, 0))
        >>> observation = env.reset(seed=0)
        >>> observation, reward, done, info = env.step(Action(text="move right"))
        >>> reward, done, info["result"]
        (10.0, True, 'won')
    """

    def __init__(
        self,
        world: Name,
        *,
        agent: str | None = None,
        partners: Partners | None = None,
        scenario: object = None,
        envelope: object = None,
        wording: str | None = None,
        num_attempts: int = 1,
        **config: Any,
    ) -> None:
        """Make the world and seat the partners."""
        self.num_attempts = require_count("num_attempts is an integer from 1 on", num_attempts)
        runner = build_focal_runner(world, agent, partners, scenario, envelope, config)
        native = runner.world.capabilities.native_text
        self.engine = TurnEngine(runner, wording or ("native" if native else "canonical"))
        self.runner, self.agent_index = runner, runner.caller_agents[0]
        self.agent = runner.world.agents[self.agent_index]
        self._failed = 0

    @property
    def unwrapped(self) -> WorldBaseEnv:
        """The environment itself."""
        return self

    @property
    def seed(self) -> int | None:
        """The effective seed of the present episode."""
        return self.runner.seed

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> Observation:
        """Start an episode.

        Args:
            seed: ``0..2**63-1``; without one, episodes go on deterministically from the last.
            options: ``config`` changes fields of the config, like `reconfigure`.
        """
        self.engine.reset(seed, options)
        self._failed = 0
        return self._observe()

    def step(self, action: Action | str) -> Step:
        """Let the focal agent and the partners act once.

        Returns:
            The next observation, the reward, whether the episode is over for the focal agent, and
            an info: ``outcome``, ``status``, ``terminated``, ``truncated``, at the end ``result``
            and ``won``, where they apply ``feedback``, ``milestones`` and ``error``, which says
            what is wrong with the action.

        Raises:
            ActionError: If it is not an action; nothing has happened then.
            ResetNeededError: Before the first reset and after the end of an episode.
        """
        record = self.engine.record(self.agent)
        act = self.world.read_reply(self.agent_index, _line(action))
        if self._failed + 1 < self.num_attempts and not self.engine.over:
            planned = self.world.decode(self.agent_index, act)
            if isinstance(planned, InvalidAction):
                return self._ask_again(planned)
        self._failed = 0
        result = self.engine.submit(self.agent, act)
        info = {key: jsonable(value) for key, value in result.details.items()}
        info["status"] = result.status
        if result.error_details is not None:
            info["error"] = result.error_details
        if record.ended:
            info["won"] = info["result"] == "won"
        rewards = result.rewards_obtained or {}
        return self._observe(), rewards["reward"], record.ended, info

    def _ask_again(self, invalid: InvalidAction) -> Step:
        """Let an action be corrected; the world does not advance."""
        self._failed += 1
        info = {
            "outcome": invalid.outcome.value,
            "status": invalid.outcome.status,
            "error": invalid.message or OUTCOME_SENTENCES[invalid.outcome],
            "attempts_left": self.num_attempts - self._failed,
        }
        return self.current_observation, 0.0, False, info

    def _observe(self) -> Observation:
        """Make the present observation."""
        record = self.engine.record(self.agent)
        # A reset goes on until the focal agent has entered; a snapshot may be of an earlier moment.
        perceived = self.engine.perceived(record) or self.engine.view(record)
        self._observation = Observation(self._structured(perceived), perceived.text)
        return self._observation

    def _structured(self, perceived: Perceived) -> dict[str, Any]:
        """Return facts as data; the keys that all worlds have come last and win."""
        return {
            **self.world.surroundings(perceived.facts).perceptions,
            "text": perceived.text,
            "agent": self.agent,
            "step": self.runner.steps,
            "messages": jsonable(perceived.facts.messages),
            "hint": perceived.facts.hint,
        }

    @property
    def current_observation(self) -> Observation:
        """The last observation."""
        self.runner.require_episode()
        return super().current_observation

    def get_action_space(self) -> dict[str, Any]:
        """Return a JSON Schema of ``{"action": line}``; the line's forms are in its description."""
        self.runner.require_open()
        usages = "; ".join(f"{verb.usage} ({verb.description})" for verb in self.world.grammar)
        line = {"type": "string", "maxLength": MAX_LINE, "description": f"one of: {usages}"}
        return {
            "type": "object",
            "properties": {"action": line},
            "required": ["action"],
            "additionalProperties": False,
        }

    def get_available_actions(self, info: dict[str, Any] | None = None) -> list[Action]:
        """Return the focal agent's legal actions now; none after the end of an episode."""
        self.runner.require_episode()
        if self.engine.over:
            return []
        return [Action(line) for line in self.world.admissible_lines(self.agent_index)]

    # -- what piase_gym adds --------------------------------------------------------------

    def _number(self, agent: str | None) -> int:
        """Return the number of the focal agent, or of a named one."""
        return self.agent_index if agent is None else self.runner.number(agent)

    def give_hint(self, hint: str | None) -> None:
        """Show a hint to the focal agent until the episode ends."""
        self._hint(None, hint)

    def snapshot(self) -> dict[str, Any]:
        """Return the state, with partners, as a JSON-serializable value."""
        records = self.engine.get_state()
        return {**self.runner.snapshot(), "seats": records, "failed_attempts": self._failed}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot of this or another environment with the same partners."""
        failed = snapshot.get("failed_attempts", 0) if isinstance(snapshot, Mapping) else 0
        if type(failed) is not int or failed < 0:
            raise SnapshotError(f"failed_attempts of this snapshot is {failed!r:.60}, not a number")
        self.engine.restore(snapshot)
        self._failed = failed
        self._observe()


def _line(action: object) -> str:
    """Return the text of an action.

    Raises:
        ActionError: If it is neither an `Action` with a text nor a string.
    """
    text = action.text if isinstance(action, Action) else action
    if not isinstance(text, str):
        kind = type(action).__name__
        inside = f" with {type(text).__name__} for text" if isinstance(action, Action) else ""
        raise ActionError(f"an action is an Action(text=...) or a string, not {kind}{inside}")
    return text
