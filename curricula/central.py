"""One director for environments that live elsewhere: in other processes, on other machines.

Each environment is a slot. At the end of an episode it hands in what the episode left behind, and
is told how the next one begins. Decisions are made in the order in which episodes arrive, so a run
with the same arrivals in one process has the same decisions. What an episode may miss is bounded:
its staleness is the number of decisions between its beginning and its end, and an episode that is
too stale is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium

from piase_gym.curricula.parallel import SlotController
from piase_gym.curricula.slot_workers import EnvSpec, SlotCommand, SlotEnv, SlotResult
from piase_gym.errors import ConfigError, need, require_count

Ask = Callable[[int, SlotResult | None], SlotCommand]
"""Hands in a slot's last episode, or ``None``, and returns how the next one begins."""


class Arrival(NamedTuple):
    """An episode as it arrived.

    Attributes:
        slot: The slot in which it was played.
        steps: Its length in steps.
        staleness: How many decisions were made while it was played.
        counted: Whether it was counted.
    """

    slot: int
    steps: int
    staleness: int
    counted: bool


class CentralDirector:
    """Decides for all slots of a run.

    Args:
        world: An id, a world or a config.
        curriculum: A curriculum, its name or its path.
        slots: How many environments there are.
        seed: The seed of slot 0; slot i begins with ``seed + i``.
        max_staleness: Episodes that are staler than this are not counted; ``None`` counts all.
        run_seed: The seed of the director's own draws.
        options: `director`, `tutor`, `progress`, `metrics` and `lag`, as `CurriculumWrapper` takes
            them, and arguments of `GymEnv`.

    Attributes:
        arrivals: The episodes in the order in which they arrived.
        controller: Progress, metrics, decisions.

    Example:
        >>> from piase_gym.curricula import DevelopmentalCurriculum
        >>> plan = DevelopmentalCurriculum(name="c", steps=[{"order": 1, "name": "a"}])
        >>> director = CentralDirector("GridWorld", plan, slots=2)
        >>> env = director.follower(1)
        >>> observation, info = env.reset()
        >>> int(info["seed"])
        1
    """

    def __init__(
        self,
        world: Any,
        curriculum: Any,
        *,
        slots: int,
        seed: int = 0,
        max_staleness: int | None = None,
        run_seed: int = 0,
        **options: Any,
    ) -> None:
        """Make the controller; it hosts no environments."""
        if max_staleness is not None:
            require_count("max_staleness is a number from 0 on, or None", max_staleness, 0)
        options = {**options, "seed": run_seed, "workers": 0, "context": "elsewhere"}
        self.controller = SlotController(world, curriculum, slots=slots, **options)
        self.arrivals: list[Arrival] = []
        self._seed, self._most = seed, max_staleness
        self._clock = self.controller.step
        self._met: dict[int, int] = {}
        self._entered: dict[int, int] = {}
        self._calls = 0

    def spec(self) -> EnvSpec:
        """Return how to make the environment of a slot."""
        return self.controller.workers.spec

    def enter(self) -> int:
        """Return a slot for an environment that does not know which one it is.

        It is one that nobody has yet; if there is none, the one that has been silent for longest,
        because its process may have died.
        """
        free = (slot for slot in range(self.controller.slots) if slot not in self._entered)
        slot = next(free, None)
        if slot is None:
            slot = min(self._entered, key=self._entered.__getitem__)
        self._hear(slot)
        return slot

    def _hear(self, slot: int) -> None:
        """Note that a slot was heard from."""
        self._calls += 1
        self._entered[slot] = self._calls

    def next(self, slot: int, result: SlotResult | None = None) -> SlotCommand:
        """Take an episode that has ended, and return how the next one begins.

        Args:
            slot: The slot.
            result: The last result of its environment; ``None`` if no episode has ended there. An
                episode that was begun is then broken off.

        Raises:
            ConfigError: If there is no such slot, or no episode was begun there.
        """
        control = self.controller
        if type(slot) is not int or not 0 <= slot < control.slots:
            raise ConfigError(f"there is no slot {slot!r:.60}; slots are 0 to {control.slots - 1}")
        self._hear(slot)
        if result is not None:
            self._take(slot, result)
            return control.reset_command(slot, None, self._met_now(slot))
        first = slot not in self._met
        if control.participants[slot]:
            control.abort_episode(slot, {})
        control.forget_config(slot)
        control.assign([slot])
        return control.reset_command(
            slot, self._seed + slot if first else None, self._met_now(slot)
        )

    def _met_now(self, slot: int) -> int:
        """Note how many decisions a slot's next episode knows of, and return the clock."""
        self._met[slot] = self.decisions
        return self._clock

    @property
    def decisions(self) -> int:
        """How many decisions have been made."""
        return sum(len(one.decisions) for one in self.controller.progress.values())

    def _take(self, slot: int, result: SlotResult) -> None:
        """Count an episode, and decide."""
        if slot not in self._met or result.record is None:
            raise ConfigError(f"slot {slot} hands in an episode that it did not begin")
        episode = result.record.episode
        steps = episode.end - episode.start
        self._clock += steps
        stale = self.decisions - self._met[slot]
        counted = self._most is None or stale <= self._most
        self.arrivals.append(Arrival(slot, steps, stale, counted))
        if counted:
            self.controller.process([result], self._clock)
        else:
            self.controller.assign([slot])

    def report(self) -> Mapping[str, Any]:
        """Return arrivals, decisions and where the learner is, as plain values."""
        progress = self.controller.progress[self.controller.agent]
        return {
            "arrivals": [tuple(one) for one in self.arrivals],
            "decisions": [repr(decision) for decision in progress.decisions],
            "step": progress.current_step_order,
            "outcome": progress.outcome,
        }

    def follower(self, slot: int) -> FollowingEnv:
        """Return the environment of a slot, in this process."""
        return FollowingEnv(self.spec(), slot, self.next)

    def close(self) -> None:
        """Make the remaining decisions, and save the progress."""
        self.controller.close()


class FollowingEnv(gymnasium.Env[Any, Any]):
    """The environment of one slot, which asks a director how each episode begins.

    The director chooses the seeds of `reset`; a seed that is given is not used.

    Args:
        spec: How to make it.
        slot: Which slot it is.
        ask: The director.
    """

    def __init__(self, spec: EnvSpec, slot: int, ask: Ask) -> None:
        """Make the environment."""
        self._slot_env, self._slot, self._ask = SlotEnv(spec), slot, ask
        self._ended: SlotResult | None = None
        self.observation_space = self._slot_env.env.observation_space
        self.action_space = self._slot_env.env.action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Hand in the last episode, and begin the next one."""
        ended, self._ended = self._ended, None
        result = self._execute(self._ask(self._slot, ended))
        return result.observation, dict(result.info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Let the learner act once."""
        result = self._execute(SlotCommand(self._slot, action))
        if result.terminated or result.truncated:
            self._ended = result._replace(observation=None, info={})
        ends = result.terminated, result.truncated
        return result.observation, result.reward, *ends, dict(result.info)

    def _execute(self, command: SlotCommand) -> SlotResult:
        """Execute a command, or raise what went wrong."""
        result = self._slot_env.execute(command)
        if result.error is not None:
            raise result.error
        return result

    def close(self) -> None:
        """Close the environment."""
        self._slot_env.env.close()


# -- on Ray -------------------------------------------------------------------------------


def start_director(name: str, world: Any, curriculum: Any, **options: Any) -> Any:
    """Start a director as an actor of the Ray cluster that this process is connected to.

    It lives on the machine of this process, so that it does not die with another machine.

    Args:
        name: The name by which environments find it.
        world: An id, a world or a config.
        curriculum: A curriculum, its name or its path.
        options: Arguments of `CentralDirector`.

    Returns:
        Its handle; ``ray.get(handle.report.remote())`` returns what was decided.
    """
    ray = need("ray", "a director on a cluster", "ray")
    strategies = need("ray.util.scheduling_strategies", "a director on a cluster", "ray")
    here = strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    made = ray.remote(CentralDirector).options(name=name, num_cpus=0, scheduling_strategy=here)
    handle = made.remote(world, curriculum, **options)
    ray.get(handle.spec.remote())  # raises here if an argument is not allowed
    return handle


def follow(name: str, slot: int | None = None) -> FollowingEnv:
    """Return the environment of a slot, in any process of the cluster of its director.

    Args:
        name: The name of the director.
        slot: Which slot it is; no two environments may have the same. ``None`` lets the director
            choose.
    """
    ray = need("ray", "a director on a cluster", "ray")
    director = ray.get_actor(name)

    def ask(slot: int, result: SlotResult | None) -> SlotCommand:
        command: SlotCommand = ray.get(director.next.remote(slot, result))
        return command

    chosen: int = ray.get(director.enter.remote()) if slot is None else slot
    return FollowingEnv(ray.get(director.spec.remote()), chosen, ask)
