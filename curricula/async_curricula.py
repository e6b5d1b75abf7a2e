"""Slots that do not wait for each other; the order in which they answer is part of the record.

In such a run what is decided depends on which slot was quicker. The order of arrivals is kept, and
a run that is given it again decides the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from piase_gym.curricula.controller import CurriculumProperties
from piase_gym.curricula.parallel import SlotController
from piase_gym.curricula.slot_workers import SlotCommand, SlotResult
from piase_gym.errors import ConfigError, ResetNeededError


class AsyncStep(NamedTuple):
    """What a slot answers.

    Attributes:
        slot: The slot.
        observation: What the learner observes.
        reward: Its reward; 0.0 at the beginning of an episode.
        terminated: Whether its episode ended by the rules.
        truncated: Whether it ended by a limit.
        info: The environment's info.
    """

    slot: int
    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


class AsyncCurricula(CurriculumProperties):
    """One learner in many slots that answer when they are ready, on its way through a curriculum.

    After an episode's end the next `send` to that slot begins another one; its action is ignored.
    The clock of the run counts arrivals: an episode that begins after n of them depends on those
    that ended with arrival ``n - lag`` or before.

    Args:
        world: An id, a world or a config.
        curriculum: A curriculum, its name or its path.
        slots: How many environments there are.
        workers: How many processes host them; 0 hosts all in this process.
        arrivals: The order of arrivals of another run, to be followed as far as it goes.
        context: How processes are started.
        options: See `piase_gym.curricula.parallel.ParallelCurricula`.

    Attributes:
        controller: Progress, metrics, decisions.
        arrivals: The slots in the order in which they have answered.

    Example:
        >>> from piase_gym.curricula import DevelopmentalCurriculum
        >>> plan = DevelopmentalCurriculum(name="c", steps=[{"order": 1, "name": "a"}])
        >>> env = AsyncCurricula("GridWorld", plan, slots=2, workers=0)
        >>> env.reset(seed=0)
        >>> first = env.recv()
        >>> env.send(first.slot, 4)
        >>> env.close()
    """

    def __init__(
        self,
        world: Any,
        curriculum: Any,
        *,
        slots: int,
        workers: int = 1,
        arrivals: Iterable[int] = (),
        context: str = "forkserver",
        **options: Any,
    ) -> None:
        """Make the slots."""
        self.controller = SlotController(
            world, curriculum, slots=slots, workers=workers, context=context, **options
        )
        self.events, self.num_envs = self.controller.events, slots
        self.single_observation_space = self.controller.model.observation_space
        self.single_action_space = self.controller.model.action_space
        self.arrivals: list[int] = []
        self._before = self.controller.step
        self._script = deque(arrivals)
        self._here: deque[SlotResult] = deque()
        self._busy: set[int] = set()
        self._over: set[int] = set()
        self._begun = False

    def reset(self, *, seed: Any = None) -> None:
        """Let an episode begin in every slot; `recv` has what the learner observes.

        Raises:
            ConfigError: If a slot is still busy.
        """
        if self._busy:
            raise ConfigError(f"slots {sorted(self._busy)} are busy; recv their answers first")
        self._send(self.controller.reset_commands(seed, self._clock))
        self._over.clear()
        self._begun = True

    def send(self, slot: int, action: Any) -> None:
        """Let the learner act in a slot, or begin another episode there if the last one is over.

        Raises:
            ResetNeededError: Before the first reset.
            ConfigError: If there is no such slot, or it is busy.
        """
        if not self._begun:
            raise ResetNeededError("call reset() before the first step")
        if slot not in range(self.num_envs) or slot in self._busy:
            free = [s for s in range(self.num_envs) if s not in self._busy]
            raise ConfigError(f"slot {slot!r} cannot be told anything now; free slots are {free}")
        if slot in self._over:
            self._over.discard(slot)
            self._send([self.controller.reset_command(slot, None, self._clock)])
        else:
            self._send([SlotCommand(slot, action)])

    def recv(self) -> AsyncStep:
        """Wait for the next answer: of any slot, or of the one whose turn it is in `arrivals`.

        Raises:
            ConfigError: If nobody is busy, or the slot whose turn it is is not.
        """
        result = self._next()
        self._busy.discard(result.slot)
        self.arrivals.append(result.slot)
        if result.terminated or result.truncated:
            self._over.add(result.slot)
        self.controller.process([result], self._clock)
        return AsyncStep(*result[: len(AsyncStep._fields)])

    @property
    def _clock(self) -> int:
        """The time: how many answers have arrived."""
        return self._before + len(self.arrivals)

    def _send(self, commands: list[SlotCommand]) -> None:
        """Let slots do something."""
        self._busy |= {command.slot for command in commands}
        self.controller.workers.send(commands)

    def _next(self) -> SlotResult:
        """Wait for the report whose turn it is."""
        wanted = self._script.popleft() if self._script else None
        if not self._busy or (wanted is not None and wanted not in self._busy):
            whose = "nobody" if wanted is None else f"slot {wanted}, whose turn it is,"
            raise ConfigError(f"{whose} is busy; send an action first")
        while True:
            for result in self._here:
                if wanted in (None, result.slot):
                    self._here.remove(result)
                    return result
            self._here += self.controller.workers.receive()

    def close(self) -> None:
        """Wait for who is busy, decide what is left, and stop the workers."""
        waiting = len(self._busy) - len(self._here)
        if waiting > 0:
            self.controller.workers.gather(waiting)
        self.controller.close()
