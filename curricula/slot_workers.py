"""Slot workers: environments of one learner each, in this process or in others.

A worker knows nothing of curricula. It gets the config and the hint of an episode, steps its slots,
and returns what finished episodes leave behind. A slot does not depend on which worker hosts it.
"""

from __future__ import annotations

import contextlib
import copy
import multiprocessing
import pickle
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import cloudpickle

from piase_gym.core.events import Event
from piase_gym.curricula.episode_collector import EpisodeCollector
from piase_gym.curricula.metrics import EpisodeRecord, MetricInputs
from piase_gym.envs.single import GymEnv
from piase_gym.errors import ClosedError, UnsupportedError, require_known
from piase_gym.jobs.local import NEEDS_GUARD, end_with_parent

ELSEWHERE = "elsewhere"
NOTHING: Mapping[str, Any] = {}
CONTEXT = "forkserver" if sys.platform == "linux" else "spawn"
"""How processes are started by default; macOS has forks, but its libraries may not survive them."""
PRELOADED = ["numba", "piase_gym.curricula.slot_workers"]


class EnvSpec(NamedTuple):
    """How to make the environment of a slot.

    Attributes:
        world: An id, a world or a config.
        options: Arguments of `GymEnv`.
        inputs: What metrics read.
    """

    world: Any
    options: Mapping[str, Any]
    inputs: MetricInputs


class SlotCommand(NamedTuple):
    """What a slot should do.

    Attributes:
        slot: The slot.
        action: The learner's action, for a step.
        reset: Whether to begin an episode instead.
        seed: Its seed; ``None`` to go on from the last.
        config: Its config, if that has changed.
        hint: Words that the learner is shown from the beginning of the episode on.
        attempt: Data of the attempt that the episode is for.
    """

    slot: int
    action: Any = None
    reset: bool = False
    seed: int | None = None
    config: Any = None
    hint: str | None = None
    attempt: Mapping[str, Any] | None = None


class SlotResult(NamedTuple):
    """The result of a command.

    Attributes:
        slot: The slot.
        observation: What the learner observes.
        reward: Its reward.
        terminated: Whether its episode ended by the rules.
        truncated: Whether it ended by a limit.
        info: The environment's info.
        record: What the episode left behind, if it ended.
        error: What went wrong, if anything.
    """

    slot: int
    observation: Any = None
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Any] = NOTHING
    record: EpisodeRecord | None = None
    error: Exception | None = None


class SlotEnv:
    """One environment and its episode collector."""

    def __init__(self, spec: EnvSpec) -> None:
        self.env = GymEnv(spec.world, **copy.deepcopy(dict(spec.options)))
        self.agent = self.env.agent
        self.collector = EpisodeCollector(self.env.runner, [self.agent], spec.inputs)
        self._hint: str | None = None
        self.env.events.subscribe(self._start_episode, ("begun",))

    def _start_episode(self, _event: Event) -> None:
        """Begin to collect an episode, which nobody has seen yet."""
        self.collector.begin()
        if self._hint is not None:
            self.env.world.give_hint(self.env.agent_index, self._hint)

    def execute(self, command: SlotCommand) -> SlotResult:
        """Execute a command; an error is raised again where the command came from."""
        try:
            return self._reset(command) if command.reset else self._step(command)
        except Exception as error:
            return SlotResult(command.slot, error=error)

    def _reset(self, command: SlotCommand) -> SlotResult:
        """Begin an episode; one that is in play is broken off, and leaves nothing behind."""
        if command.attempt is not None:
            # A collector of one environment knows no slots; what it is told applies to its own.
            self.collector.set_target(self.agent, {**command.attempt, "slot": None})
        if command.config is not None:
            self.env.runner.set_next_config(command.config)
        self._hint = command.hint
        observation, info = self.env.reset(seed=command.seed)
        self.collector.start_recording()
        return SlotResult(command.slot, observation, info=info)

    def _step(self, command: SlotCommand) -> SlotResult:
        """Let the learner act once."""
        observation, reward, terminated, truncated, info = self.env.step(command.action)
        record = None
        if self.collector.record_step():
            record = self.collector.finish_episode({})[self.agent]
        return SlotResult(
            command.slot, observation, float(reward), terminated, truncated, info, record
        )


class SlotWorker:
    """Hosts slots in this process."""

    def __init__(self, spec: EnvSpec, slots: Sequence[int]) -> None:
        """Make the environments."""
        self._slots = {slot: SlotEnv(spec) for slot in slots}
        self.runners = [slot.env.runner for slot in self._slots.values()]

    def execute(self, commands: Sequence[SlotCommand]) -> list[SlotResult]:
        """Execute the commands of slots, and return the results.

        An error in one slot does not stop the others.
        """
        return [self._slots[command.slot].execute(command) for command in commands]

    def picture(self, slot: int) -> Any:
        """Draw an environment."""
        return self._slots[slot].env.world.rgb()

    def close(self) -> None:
        """Close the environments."""
        for slot in self._slots.values():
            slot.env.close()


def worker_main(connection: Connection, recipe: EnvSpec | bytes, slots: Sequence[int]) -> None:
    """Host slots in another process until it is told to stop, or the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the caller says when to stop
    threading.Thread(target=end_with_parent, daemon=True).start()
    worker: SlotWorker | None = None
    try:
        spec = pickle.loads(recipe) if isinstance(recipe, bytes) else recipe
        worker = SlotWorker(spec, slots)
        while (message := connection.recv()) is not None:
            if isinstance(message, int):
                connection.send(worker.picture(message))
            else:
                connection.send(worker.execute(message))
    except (EOFError, BrokenPipeError):
        pass
    except Exception as error:
        with contextlib.suppress(OSError):  # nobody may be there to be told
            connection.send([SlotResult(-1, error=error)])
    finally:
        if worker is not None:
            worker.close()
        connection.close()


class WorkerPool:
    """All slots of a run, hosted by a number of processes.

    Args:
        spec: How to make an environment.
        slots: How many slots there are; slot s is hosted by worker ``s % workers``.
        workers: How many processes; 0 hosts all slots in this one.
        context: How processes are started: ``forkserver``, ``spawn`` or ``fork``; or
            ``elsewhere``, if others make the environments and hand in the results.
    """

    def __init__(self, spec: EnvSpec, slots: int, workers: int, context: str = CONTEXT) -> None:
        """Start the workers.

        Raises:
            UnsupportedError: If this machine starts no more processes.
        """
        self.spec, self.workers = spec, workers
        here = () if context == ELSEWHERE else range(slots)
        self._local = SlotWorker(spec, here) if workers == 0 else None
        self.runners = [] if self._local is None else self._local.runners
        """The runners of slots that are hosted in this process."""
        self._answered = False
        self._pipes: list[Any] = []
        self._processes: list[Any] = []
        self._ready: list[SlotResult] = []
        if workers == 0:
            return
        require_known("context", context, multiprocessing.get_all_start_methods())
        starter = multiprocessing.get_context(context)
        if context == "forkserver":
            starter.set_forkserver_preload(PRELOADED)
        # By value, as other processes than forked ones do not have the classes of a notebook.
        recipe = spec if context == "fork" else cloudpickle.dumps(spec)
        try:
            for worker in range(workers):
                self._start(starter, recipe, range(worker, slots, workers))
        except OSError as error:  # too many processes, or open files
            started = len(self._processes)
            self.close()
            message = f"of {workers} workers only {started} can be started: {error.strerror}"
            raise UnsupportedError(message) from None

    def _start(self, starter: Any, recipe: EnvSpec | bytes, slots: Sequence[int]) -> None:
        """Start a worker that hosts some slots."""
        mine, theirs = starter.Pipe()
        process = starter.Process(target=worker_main, args=(theirs, recipe, slots), daemon=True)
        process.start()
        theirs.close()
        self._pipes.append(mine)
        self._processes.append(process)

    def send(self, commands: Sequence[SlotCommand]) -> None:
        """Send commands to slots; each slot must be done with its previous command."""
        if self._local is not None:
            self._ready += self._local.execute(commands)
            return
        for worker, pipe in enumerate(self._pipes):
            own = [command for command in commands if command.slot % self.workers == worker]
            if any(command.config is not None for command in own):
                self._pipe_call(worker, pipe.send_bytes, cloudpickle.dumps(own))
            elif own:
                self._pipe_call(worker, pipe.send, own)

    def gather(self, count: int) -> list[SlotResult]:
        """Wait for `count` results, and return them in the order of their slots.

        Raises:
            PiaseError: What went wrong in a slot, once all have answered: no later call gets an
                answer to an earlier command.
        """
        found: list[SlotResult] = []
        while len(found) < count:
            found += self.receive()
        found.sort(key=lambda result: result.slot)
        for result in found:
            if result.error is not None:
                raise result.error
        return found

    def receive(self) -> list[SlotResult]:
        """Wait for the next results, in the order in which they arrive.

        Raises:
            ClosedError: If a worker has died.
            PiaseError: If a worker could not make its environments.
        """
        found, self._ready = self._ready, []
        if self._local is None:
            for pipe in wait(self._pipes):
                worker = self._pipes.index(pipe)
                found += self._pipe_call(worker, self._pipes[worker].recv)
            self._answered = True
        for result in found:
            if result.error is not None and result.slot < 0:
                raise result.error
        return found

    def _pipe_call(self, worker: int, do: Any, *args: Any) -> Any:
        """Use the pipe of a worker.

        Raises:
            ClosedError: If there is nobody at its other end.
            PiaseError: If the worker said why before it ended.
        """
        try:
            return do(*args)
        except (EOFError, OSError) as error:
            with contextlib.suppress(EOFError, OSError):
                for result in self._pipes[worker].recv():
                    if result.slot < 0:
                        raise result.error from None
            process = self._processes[worker]
            process.join(1)  # its pipe ends a little earlier
            reason = "what was decided before is kept" if self._answered else NEEDS_GUARD
            who = f"worker {worker} of {self.workers}"
            raise ClosedError(f"{who} has died (exit code {process.exitcode}); {reason}") from error

    def picture(self, slot: int) -> Any:
        """Draw an environment; no slot may be busy."""
        if self._local is not None:
            return self._local.picture(slot)
        worker = slot % self.workers
        self._pipe_call(worker, self._pipes[worker].send, slot)
        return self._pipe_call(worker, self._pipes[worker].recv)

    def close(self) -> None:
        """Stop the workers; closing twice does no harm."""
        if self._local is not None:
            self._local.close()
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.send(None)
            pipe.close()
        for process in self._processes:
            process.join(5)
            if process.is_alive():
                process.terminate()
                process.join()
        self._pipes, self._processes = [], []
