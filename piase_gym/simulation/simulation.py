"""The simulation: phases A, B 1–9 and C over one world, its agents and a scenario.

The world's own dynamics, and the events of scenarios, happen in the world's tick (B5), so
a simulation goes through the same states as any other environment that is given the same commands.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from numbers import Integral
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import orjson

from piase_gym.agents.base import Agent, Feedback
from piase_gym.agents.policy_registry import policy_of_agent
from piase_gym.core.commands import Result
from piase_gym.core.events import Events
from piase_gym.core.files import require_folder, write_whole
from piase_gym.core.interrupts import uninterrupted
from piase_gym.core.models import ActionCommand
from piase_gym.core.rng import partner_seed
from piase_gym.core.world import Act
from piase_gym.envs.actions import decode_answer
from piase_gym.envs.base import WorldAccess
from piase_gym.envs.partners import post_asides
from piase_gym.errors import AgentError, ConfigError, ResetNeededError, require_count
from piase_gym.names import look_up
from piase_gym.registry import load
from piase_gym.scenarios import Scenario
from piase_gym.simulation.actuators import Actuator
from piase_gym.simulation.agent_manager import AgentManager, Agents, AgentStatus
from piase_gym.simulation.clock import Clock, Durations, Times
from piase_gym.simulation.equipment import Equipment
from piase_gym.simulation.sensors import Sensor
from piase_gym.simulation.setup import make_clock, make_env, read_limits
from piase_gym.simulation.summary import Summary


@runtime_checkable
class CurriculumHook(Protocol):
    """A curriculum's part in a simulation (phase B9)."""

    def after_step(self, simulation: Simulation) -> None:
        """Look at the step that was taken, and change what the curriculum asks for."""
        ...

    def after_episode(self, simulation: Simulation) -> None:
        """Look at the episode that has ended, before the next one begins."""
        ...


class Simulation:
    """Runs a scenario with agents, phase by phase.

    Args:
        scenario: A scenario, its name or path; a world's name, id or config; or an environment of
            your own.
        policies: A policy for every seat (``"oracle"``), or a mapping of seats to policies or
            `Agent` objects; agents that are not named play at random.
        curricula: Agent -> curriculum, or one curriculum, as `CurriculumWrapper` takes them; or an
            object of your own that looks at each step and episode (B9).
        agents: How many agents there are (a field of the config); or the policies, by keyword.
        seed: Seed of the first episode; later ones follow from it.
        time_model: ``discrete_steps``, ``real_time_ms`` (or ``real_time``) or ``event_based``;
            default: the scenario's.
        step_ms: Length of a step of ``real_time_ms``, and the usual period of ``event_based``.
        late: What is done with answers that come after their step of ``real_time_ms``: ``queue``
            (each is carried out, one per step), ``latest`` (only the last that came) or ``drop``.
        answer_times: How long answers take in ``real_time_ms``, by agent: milliseconds, a list of
            them, or a function of the answer's number. Then nobody waits, and the run can be
            repeated. The `answer_times` of another simulation repeat that one.
        periods: How often agents decide in ``event_based``, in milliseconds: for all, or by agent;
            with ``"world"`` the world also goes on by itself, after each such period.
        durations: How long actions take in ``event_based``, in milliseconds: for all, by verb of
            the world or of an actuator (``"*"``: the others), or one of these by agent.
        max_steps: A budget of steps for each episode, in addition to the world's own.
        max_wall_seconds: A budget of wall-clock time for each episode.
        expose_states: Whether agents' inner states are posted (as ``state``) at each step.
        sensors: Sensors, or their names, whose readings all agents perceive.
        actuators: Actuators, or their names, through which all commands go.
        folder: Where to save the final state and the summary of each episode, ``episode_1.json``
            and so on; those of an earlier simulation are replaced.
        wrap: Functions that wrap the environment, innermost first, such as a logger.
        render_mode: As for `parallel_env`.
        config: Fields of the world's config, which override those of the scenario.

    Example:
        >>> summary = Simulation("lost_key", "oracle").run()
        >>> summary.won, summary.steps
        (True, 7)
    """

    def __init__(
        self,
        scenario: object,
        policies: Agents = None,
        curricula: Any = None,
        *,
        agents: Agents | int = None,
        seed: int | None = None,
        time_model: str | None = None,
        step_ms: int | None = None,
        late: str = "queue",
        answer_times: Mapping[str, Times] | None = None,
        periods: float | Mapping[str, float] | None = None,
        durations: Durations | Mapping[str, Durations] | None = None,
        max_steps: int | None = None,
        max_wall_seconds: float | None = None,
        expose_states: bool = False,
        sensors: Iterable[str | Sensor] = (),
        actuators: Iterable[str | Actuator] = (),
        folder: str | Path | None = None,
        wrap: tuple[Callable[[Any], Any], ...] = (),
        render_mode: str | None = None,
        **config: Any,
    ) -> None:
        """Phase A 1 to 3: load the configuration, make the environment and the agents."""
        if isinstance(agents, int | Integral):
            config["agents"] = agents
        elif agents is not None:
            if policies is not None:
                raise ConfigError("policies and agents are both policies; give one of them")
            policies = agents
        over_world = isinstance(scenario, WorldAccess)
        self.scenario: Scenario | None = None if over_world else look_up(scenario).scenario
        own = isinstance(curricula, CurriculumHook)
        self.curricula: CurriculumHook | None = curricula if own else None
        self._seed: int | None = seed
        self._expose, self._folder = expose_states, None if folder is None else Path(folder)
        if self._folder is not None:
            require_folder(self._folder)
        self._late = late
        self.summaries: list[Summary] = []
        self._begun = self._stop = False
        self._stopped = "running"
        head = self.scenario.head if self.scenario is not None else None
        self.limits = read_limits(head, time_model, step_ms, max_steps, max_wall_seconds)
        self.world_env = make_env(scenario, self.scenario, render_mode, config)
        with ExitStack() as opened:
            if not over_world:
                opened.callback(self.world_env.close)
            self.world_env.runner.stepwise = True
            self.env: Any = self.world_env
            if curricula is not None and not own:
                follow = load("piase_gym.wrappers:CurriculumWrapper")  # which stands on simulations
                self.env = follow(self.world_env, curricula)
            self.controller: Any = getattr(self.env, "controller", None) if not own else None
            for wrapper in wrap:
                self.env = wrapper(self.env)
            names = tuple(self.world_env.possible_agents)
            self.manager = AgentManager(names, policies)
            if self.controller is not None:
                followed = self.controller.curricula
                self.controller.set_agents(
                    {n: a for n, a in self.manager.agents.items() if n in followed}
                )
            self.equipment = Equipment(self.world_env.world, sensors, actuators)
            self.clock: Clock = make_clock(
                self.limits,
                names,
                self.equipment.percept,
                late,
                answer_times,
                periods,
                durations,
                self.equipment.actuation,
            )
            self.manager.configure(self.scenario.agents if self.scenario is not None else ())
            opened.pop_all()

    # -- phase A ---------------------------------------------------------------------------

    def initialize(self, seed: int | None = None) -> None:
        """Phase A 4: set the initial conditions of an episode.

        Args:
            seed: Its seed; by default the simulation's, for later episodes one that follows.
        """
        given = seed if seed is not None else self._seed
        self._seed = None
        self.env.reset(seed=given)
        self._order: list[int] | None = None
        self._stop = False
        self._stopped = "running"
        self._start = time.monotonic()
        effective = self.world_env.runner.seed
        assert effective is not None
        title = self.scenario.title if self.scenario is not None else self.world.name
        self._summary = Summary.begin(self.manager.names, title, self.world.name, effective)
        self.manager.begin(effective)
        self.clock.begin()
        self._begun = True
        policies = {name: policy_of_agent(agent) for name, agent in self.manager.agents.items()}
        self._note("start", agents=policies)

    # -- phase B ---------------------------------------------------------------------------

    def step(self) -> bool:
        """Take one step: phases B1 to B9 in this order.

        Returns:
            Whether the episode goes on.
        """
        if not self._begun:
            self.initialize()
        if self._is_over():
            return False
        seats = self.manager.active(self.world_env.agents)
        if self.limits.time_model == "discrete_steps":
            seats = {i: agent for i, agent in seats.items() if self.world.under_way(i) is None}
        answers = self.clock.ask(self.world, seats, self._summary.steps)  # B2 to B4
        acts = self._submissions(answers)
        for number, agent in seats.items():
            post_asides(agent, number, self.world, self.events)
        before = self.world_env.agents
        with uninterrupted:
            result = self.env.step({name: acts[name] for name in before})
            self._feed_back(before, result)
            self._log_states()
        goes_on = not self._is_over()
        if self.curricula is not None:
            self.curricula.after_step(self)
        return goes_on

    def _submissions(self, answers: Mapping[int, Any]) -> dict[str, Act]:
        """B4 and B5: translate answers, let absent agents do nothing, and settle who goes first."""
        acts: dict[str, Act] = {}
        priority: dict[int, float] = {}
        for number, name in enumerate(self.manager.names):
            answer = answers.get(number)
            if isinstance(answer, ActionCommand) and answer.execution_priority is not None:
                priority[number] = answer.execution_priority
            if answer is not None:  # it may go through actuators
                answer = self.equipment.actuation.act(number, answer, self._read)
            acts[name] = answer
            if answer is None:  # paused and departed agents stop; others finish what they do
                active = self.manager.status[name] is AgentStatus.ACTIVE
                acts[name] = (active and self.world.under_way(number)) or self.world.noop
        order = sorted(range(len(self.manager.names)), key=lambda n: (-priority.get(n, 0.0), n))
        if priority or self._order is not None:
            self.world.set_order(order)
            self._order = order
            self.events.post("order", order=order)
        return acts

    def _read(self, number: int, answer: Any) -> Act:
        """Return what an answer stands for in the world itself."""
        return decode_answer(self.world, number, answer)

    def _feed_back(self, before: list[str], result: Any) -> None:
        """B6: tell agents the results of their actions, and count them."""
        _, rewards, terminated, truncated, infos = result
        summary = self._summary
        summary.steps += 1
        for name in before:
            info = infos[name]
            summary.add(name, rewards[name], info)
            summary.terminated[name] |= terminated[name]
            summary.truncated[name] |= truncated[name]
            if self.manager.status[name] is AgentStatus.ACTIVE:
                feedback = Feedback(
                    rewards[name], terminated[name], truncated[name], info["outcome"]
                )
                self.manager.agents[name].learn(feedback)
        for number, step in self.clock.late:
            name = self.manager.names[number]
            summary.late[name] += 1
            self._note("late_answer", name, step_asked=step, policy=self._late)
        if self.limits.time_model == "event_based":
            self._note("clock", time_ms=self.clock.now)

    def _log_states(self) -> None:
        """B7: post the inner states of agents, if that is asked for; the bus has the rest."""
        if self._expose and self.events.active:
            for name in self.agents:
                agent = self.manager.agents[name]
                shown = agent.internal_state()
                state = agent.get_state() if shown is None else shown
                self.events.post("state", name, state=state)

    def _is_over(self) -> bool:
        """B8: return whether the episode is over or a budget is used up."""
        reasons = {
            "episode": not self.world_env.agents,
            "left": bool(self.world_env.agents) and not self.agents,
            "asked": self._stop,
            "steps": self._summary.steps >= self.limits.max_steps,
            "wall_clock": time.monotonic() - self._start >= self.limits.max_wall_seconds,
        }
        self._stopped = next((reason for reason, holds in reasons.items() if holds), "running")
        return self._stopped != "running"

    # -- running ---------------------------------------------------------------------------

    def run_simulation(self, num_steps: int) -> Summary:
        """Take up to `num_steps` steps of the episode (phase B).

        Returns:
            The summary so far. An interrupt from the keyboard stops cleanly, between two steps.

        Raises:
            ConfigError: If `num_steps` is not a whole number from 0 on.
        """
        require_count("num_steps is a whole number from 0 on", num_steps, 0)
        if not self._begun:
            self.initialize()
        try:
            with uninterrupted.watched():
                for _ in range(num_steps):
                    if not self.step():
                        break
        except KeyboardInterrupt:
            self._stopped = "interrupted"
            self._stop = True
        return self.summary()

    def run(self, episodes: int = 1) -> Summary:
        """Run whole episodes, phases A to C, and close the simulation.

        If agents follow curricula, the run may end earlier, when these are over.

        Returns:
            The summary of the last episode; `summaries` has all of them.

        Raises:
            ClosedError: If the simulation is closed, as it is after a run.
            ConfigError: If `episodes` is not a whole number from 1 on.
        """
        self.world_env.runner.require_open()
        require_count("episodes is a whole number from 1 on", episodes, 1)
        try:
            for number in range(episodes):
                if number or not self._begun:
                    self.initialize()
                try:
                    with uninterrupted.watched():
                        while self.step():
                            pass
                except KeyboardInterrupt:
                    self._stopped = "interrupted"
                last = self.finish()
                if last.stopped == "interrupted" or (self.controller and self.controller.over):
                    break
        finally:
            self.close()
        return last

    # -- phase C ---------------------------------------------------------------------------

    def finish(self) -> Summary:
        """Phase C 1 and 2: save the final state, and sum up the episode.

        Agents that are in play when a budget is used up are truncated.
        """
        if self._stopped in ("steps", "wall_clock"):
            for name in self.agents:
                self._summary.end(name, Result.ENDED, truncated=True)
        summary = self.summary()
        self.summaries.append(summary)
        self._note("end", summary=asdict(summary))
        if self._folder is not None:
            self.save(self._folder, f"episode_{len(self.summaries)}")
        if self.curricula is not None:
            self.curricula.after_episode(self)
        return summary

    def summary(self) -> Summary:
        """Return the summary report of the episode so far."""
        self._require_begun()
        return replace(
            copy.deepcopy(self._summary),
            finished=not self.agents,
            stopped=self._stopped,
            metrics={**self._summary.metrics, **self.world.totals()},
            seconds=round(time.monotonic() - self._start, 6),
        )

    def save(self, folder: str | Path, name: str = "final") -> Path:
        """Write the state of world and agents, and the summary, as one JSON file.

        Returns:
            The file's path.

        Raises:
            StorageError: If it cannot be written; what was there is kept.
        """
        path = Path(folder) / f"{name}.json"
        value = {
            "summary": asdict(self.summary()),
            "world": self.world_env.snapshot() if self.world.capabilities.snapshot else None,
            "agents": self.manager.states(),
        }
        # In the order of the config: a story's rooms are numbered as it names them.
        write_whole(path, orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))
        return path

    def post_event(
        self, event_type: str, data: Mapping[str, Any] | None = None, agent: str | None = None
    ) -> None:
        """Post an event of your own (`post_event` of the DSE document's engine).

        Logs write it as a line; see `WorldAccess.post_event`.
        """
        self.world_env.post_event(event_type, data, agent)

    def close(self) -> None:
        """Phase C 3: release resources; closing twice does no harm."""
        self.clock.close()
        self.env.close()

    def __enter__(self) -> Simulation:
        """Close at the end of a ``with`` block."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close."""
        self.close()

    # -- who takes part -------------------------------------------------------------------

    def join(self, agent_id: str, agent: str | Agent = "random") -> None:
        """Let an agent enter the episode, played by `agent`.

        Raises:
            AgentError: If there is no such seat, it is in play already, or its agent has left.
            UnsupportedError: If the world has no `late_join`.
        """
        number = self.manager.names.index(self.manager.check(agent_id))
        self.world_env.runner.require_episode()
        if self.manager.status[agent_id] is AgentStatus.LEFT:
            raise AgentError(f"agent {agent_id!r} has left; it takes part again after a reset")
        self.world_env.world.enter(number)
        seed = self.world_env.runner.seed or 0
        self.manager.seat(agent_id, agent).reset(partner_seed(seed, number))
        self.manager.status[agent_id] = AgentStatus.ACTIVE
        self.world_env.restore(self.world_env.snapshot())  # the environments and logs take note
        self._note("join", agent_id)

    def suspend(self, agent_id: str) -> None:
        """Let an agent pause: its body does the world's no-op."""
        self._require_begun()
        self.manager.move(agent_id, AgentStatus.SUSPENDED, (AgentStatus.ACTIVE,))
        self._note("suspend", agent_id)

    def resume(self, agent_id: str) -> None:
        """Let a suspended agent go on."""
        self._require_begun()
        self.manager.move(agent_id, AgentStatus.ACTIVE, (AgentStatus.SUSPENDED,))
        self._note("resume", agent_id)

    def leave(self, agent_id: str) -> None:
        """Let an agent leave for good: it is truncated, and its body does nothing more."""
        self._require_begun()
        self.manager.move(agent_id, AgentStatus.LEFT, (AgentStatus.ACTIVE, AgentStatus.SUSPENDED))
        self._summary.end(agent_id, Result.ENDED, truncated=True)
        self._note("leave", agent_id)

    # -- while it runs ---------------------------------------------------------------------

    @property
    def events(self) -> Events:
        """The bus on which everything is posted."""
        return self.world_env.events

    @property
    def agents(self) -> list[str]:
        """The agents in play that have not left."""
        status = self.manager.status
        return [n for n in self.world_env.agents if status[n] is not AgentStatus.LEFT]

    @property
    def world(self) -> Any:
        """The world."""
        return self.world_env.world

    def submit(self, agent_id: str, answer: Any) -> None:
        """Let an agent act without being asked: at the end of the step, or now if `event_based`.

        Raises:
            AgentError: If there is no such seat.
            UnsupportedError: With ``discrete_steps``.
            ResetNeededError: Before the first episode.
        """
        self._require_begun()
        self.clock.submit(self.manager.names.index(self.manager.check(agent_id)), answer)

    @property
    def time_ms(self) -> float:
        """The simulated time of the episode in milliseconds; 0 with ``discrete_steps``."""
        return self.clock.now

    @property
    def answer_times(self) -> dict[str, list[float]]:
        """How long each answer took, by agent, in milliseconds (``real_time_ms``)."""
        times: Mapping[int, list[float]] = getattr(self.clock, "times", {})
        return {name: list(times.get(n, ())) for n, name in enumerate(self.manager.names)}

    def stop(self) -> None:
        """Stop before the next step."""
        self._stop = True

    def _require_begun(self) -> None:
        """Raise `ResetNeededError` before the first episode, which forgets what was before."""
        if not self._begun:
            raise ResetNeededError("no episode has begun; call initialize() first")

    def _note(self, control: str, agent: str | None = None, **data: Any) -> None:
        """Post what the engine does, as a line for logs."""
        if self.events.active:
            entry = {"engine": control, **data}
            self.events.post("log", agent, event_type="SYSTEM_MESSAGE", data=entry)


__all__ = ["CurriculumHook", "Simulation", "Summary"]
