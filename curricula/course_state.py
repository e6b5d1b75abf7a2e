"""What a course holds, and how it begins: curricula, progress, metrics, director."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piase_gym.core.difficulty import Fields
from piase_gym.curricula.agent_setup import AgentSetup
from piase_gym.curricula.checking import same_world
from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.manager import CurriculumManager
from piase_gym.curricula.metering import Meter, Reads
from piase_gym.curricula.modifying import Modifier
from piase_gym.curricula.plan import Plan
from piase_gym.curricula.progress import AgentProgress
from piase_gym.curricula.remembering import recall
from piase_gym.curricula.seats import Ended, EpisodeCounts, Seat, Try
from piase_gym.curricula.setup import ScenarioSetupModule
from piase_gym.errors import ConfigError, CurriculumError

if TYPE_CHECKING:
    from piase_gym.core.events import Events
    from piase_gym.core.world import World


class CourseState:
    """What a `Course` holds; see there for arguments, attributes and errors."""

    def __init__(
        self,
        world: World[Any, Any],
        plan: Plan,
        events: Events,
        slots: int = 1,
        base: Any = None,
    ) -> None:
        """Load progress, and check everything."""
        self.plan, self.events, self.slots = plan, events, slots
        self.curricula = dict(plan.curricula)
        self.setup = ScenarioSetupModule(world, self.curricula, base)
        self.agent_setup = AgentSetup(plan.agents, self.curricula)
        for curriculum in self.curricula.values():
            if curriculum.world is not None:
                same_world(curriculum.world, world.name, curriculum.source)
            else:
                curriculum.check_world(world)
        self.meter = Meter(list(self.curricula), world.milestones, world.measures, plan.metrics)
        self._check_metrics()
        self.manager = CurriculumManager()
        self._resumed = self._load()
        self.director = plan.director
        self.director.open(self.manager, self.meter, plan.seed, list(self.curricula))
        self.modifier = Modifier(self.setup, self._no_hint, self._tell_tweak)
        self.decisions: list[Decision] = []
        self.counts = {agent: EpisodeCounts() for agent in self.curricula}
        self.seats: list[dict[str, Seat]] = [{} for _ in range(slots)]
        self._tries: dict[str, Try | None] = dict.fromkeys(self.curricula)
        self._drawn: list[dict[str, Try]] = [{} for _ in range(slots)]
        self._entered: dict[str, int] = {}
        self._queue: list[Ended] = []
        self._sequence, self._unsaved = self._recall(), 0
        self._begun = False
        self._config: Any = None
        self.hearers: list[Callable[[str, Mapping[str, Any]], None]] = []
        self._declare()

    @property
    def step(self) -> int:
        """Steps of the run so far."""
        return self.meter.history.step

    @step.setter
    def step(self, step: int) -> None:
        self.meter.history.step = step

    @property
    def progress(self) -> dict[str, AgentProgress]:
        """The progress of each agent."""
        return self.manager.agent_progress

    @property
    def reads(self) -> Reads:
        """What is read of single steps."""
        if self.plan.metrics:
            return Reads()
        return Reads.of(need.metric for c in self.curricula.values() for need in c.needs)

    # -- the beginning ---------------------------------------------------------------------

    def _check_metrics(self) -> None:
        """Check that every metric that is read can be had.

        Raises:
            CurriculumError: If one cannot.
        """
        for curriculum in self.curricula.values():
            orders = {f"reached_goal_{step.order}" for step in curriculum.steps}
            known = {*self.meter.names(), *orders}
            for need in curriculum.needs:
                if need.metric not in known:
                    raise CurriculumError(
                        f"{curriculum.source}: nothing gives the metric {need.metric!r}; if it is "
                        f"one of your own, hand it over: metrics={{{need.metric!r}: function}}"
                    )

    def _load(self) -> bool:
        """Let every agent begin, or go on where it was; return whether anybody goes on."""
        store = self.plan.store
        kept = {} if store is None else store.load(self.curricula)
        for agent, curriculum in self.curricula.items():
            if agent in kept:
                self.manager.resume(kept[agent], curriculum)
            if agent not in kept or (kept[agent].active and kept[agent].attempt == 0):
                self.manager.start(agent, curriculum)
        return bool(kept)

    def _recall(self) -> int:
        """Take up what windows need of the past; return the number of the last episode in it."""
        if self.director.per_slot:
            return 0
        return max(
            recall(self.meter.history, progress, self.curricula[agent])
            for agent, progress in self.progress.items()
        )

    def _declare(self) -> None:
        """Let the manifests of logs that begin from now on name the curricula."""
        for agent, curriculum in self.curricula.items():
            entry = {"name": curriculum.name, "version": curriculum.version}
            entry["sha256"] = curriculum.sha256
            self.events.origin.setdefault("curricula", {})[agent] = entry

    def _start(self) -> None:
        """Post that agents follow curricula, once."""
        self._begun = True
        for agent, curriculum in self.curricula.items():
            progress = self.progress[agent]
            data = {
                "name": curriculum.name,
                "version": curriculum.version,
                "sha256": curriculum.sha256,
                "source": Path(curriculum.source).name,
                "steps": len(curriculum.steps),
                "current_step_order": progress.current_step_order,
                "resumed": self._resumed,
                "seed": self.plan.seed,
                "director": type(self.director).__name__,
                "definition": curriculum.model_dump(mode="json", exclude_defaults=True),
            }
            self.post("DSE_AGENT_CURRICULUM_START", data, agent)

    def post(self, event_type: str, data: Mapping[str, Any], agent: str | None = None) -> None:
        """Post a line for logs."""
        if self.events.active:
            self.events.post("log", agent, event_type=event_type, data=dict(data))

    # -- modifications ---------------------------------------------------------------------

    def _no_hint(self, agent: str, hint: str) -> None:
        """Refuse hints where nobody can give them."""
        raise ConfigError("hints are given through the wrapper of an environment")

    def on_hint(self, give: Callable[[str, str], None]) -> None:
        """Let the modifier give hints through a wrapper."""
        self.modifier = Modifier(self.setup, give, self._tell_tweak)

    def _tell_tweak(self, fields: Fields) -> None:
        """Post that the world is made otherwise from the next reset on."""
        data = {"orders": dict(self.modifier.orders), "config": fields, "by": "modifier"}
        self.post("DSE_ENV_RECONFIG_APPLIED", data)
