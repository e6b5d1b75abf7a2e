"""What a controller holds, and how it begins: curricula, progress, metrics, director."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piase_gym.core.difficulty import Fields
from piase_gym.curricula import actions
from piase_gym.curricula.attempts import (
    AttemptState,
    Ended,
    EpisodeCounts,
    Participation,
    consequences,
)
from piase_gym.curricula.decisions import Decision, replace_action
from piase_gym.curricula.directors import AttemptResult, StepChoice
from piase_gym.curricula.manager import CurriculumManager
from piase_gym.curricula.metrics import CurriculumMetrics, EpisodeRecord, MetricInputs
from piase_gym.curricula.modifier import Modifier
from piase_gym.curricula.options import CurriculumOptions
from piase_gym.curricula.progress import AgentProgress
from piase_gym.curricula.schema import CurriculumStep
from piase_gym.curricula.setup import AgentSetup, ScenarioSetupModule
from piase_gym.curricula.tutors import (
    DecisionContext,
    allowed_decisions,
    check_choice,
    check_words,
)
from piase_gym.curricula.validation import same_world
from piase_gym.curricula.window_memory import recall, remember
from piase_gym.errors import ConfigError, CurriculumError
from piase_gym.runs.history import SPARE

if TYPE_CHECKING:
    from piase_gym.agents.base import Agent
    from piase_gym.core.events import Events
    from piase_gym.core.world import World


class CurriculumState:
    """What a `CurriculumController` holds; see there for arguments, attributes and errors."""

    def __init__(
        self,
        world: World[Any, Any],
        plan: CurriculumOptions,
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
        self.meter = CurriculumMetrics(
            list(self.curricula), world.milestones, world.measures, plan.metrics
        )
        self._check_metrics()
        self.manager = CurriculumManager()
        self._resumed = self._load()
        self.director = plan.director
        self.director.open(self.manager, self.meter, plan.seed, list(self.curricula))
        self.modifier = Modifier(self.setup, self._no_hint, self._tell_tweak)
        self.decisions: list[Decision] = []
        self.counts = {agent: EpisodeCounts() for agent in self.curricula}
        self.seats: list[dict[str, Participation]] = [{} for _ in range(slots)]
        self._tries: dict[str, AttemptState | None] = dict.fromkeys(self.curricula)
        self._drawn: list[dict[str, AttemptState]] = [{} for _ in range(slots)]
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
    def reads(self) -> MetricInputs:
        """What is read of single steps."""
        if self.plan.metrics:
            return MetricInputs()
        return MetricInputs.of(need.metric for c in self.curricula.values() for need in c.needs)

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


class CurriculumEpisodes(CurriculumState):
    """A `CurriculumController` without its decisions."""

    # -- what comes next -------------------------------------------------------------------

    def prepare(self, slots: Iterable[int]) -> list[Any]:
        """Return the configs of the next episodes of some slots, in their order.

        Attempts that begin now are posted. An episode that was prepared and did not begin is not
        drawn again.
        """
        if not self._begun:
            self._start()
        if self.director.per_slot:
            return [self._prepare_drawn(slot) for slot in slots]
        orders = {}
        for agent in self.curricula:
            draw = self.director.assign(agent)
            if draw is not None and self._tries[agent] is None:
                self._tries[agent] = self._try(agent, draw, None)
            orders[agent] = self.progress[agent].current_step_order
        config = self._take(orders)
        return [config for _ in slots]

    def _prepare_drawn(self, slot: int) -> Any:
        """Return the config of a slot's next episode, with a step for each agent drawn for it."""
        drawn = self._drawn[slot]
        for agent in self.curricula:
            if agent not in drawn:
                draw = self.director.assign(agent, slot)
                if draw is not None:
                    self.manager.set_current_step(agent, draw.order)
                    drawn[agent] = self._try(agent, draw, slot)
        return self._take({agent: tried.step.order for agent, tried in drawn.items()})

    def _try(self, agent: str, draw: StepChoice, slot: int | None) -> AttemptState:
        """Let an attempt begin."""
        curriculum, progress = self.curricula[agent], self.progress[agent]
        step = curriculum.step(draw.order)
        self._enter(agent, step)
        drawn = self.director.per_slot
        wanted = 1 if drawn else self.director.episodes(step)
        attempt = progress.step_attempts[step.order]
        data: dict[str, Any] = {
            "curriculum": curriculum.name,
            "order": step.order,
            "name": step.name,
            "attempt": attempt,
            "episodes": wanted,
            "target_coords": step.target_coords,
        }
        if drawn and self.slots > 1:
            data["slot"] = slot
        if draw.values:
            data["drawn_by"] = dict(draw.values)
        self.post("DSE_STEP_ATTEMPT_START", data, agent)
        number = self.meter.attempt(agent, data).number
        for hear in self.hearers:
            hear(agent, data)
        return AttemptState(step, attempt, number, wanted)

    def _enter(self, agent: str, step: CurriculumStep) -> None:
        """Prepare an agent that comes to a step, or goes on with it in another process."""
        if self._entered.get(agent) == step.order:
            return
        if agent in self._entered:
            self.setup.untweak()
        self._entered[agent] = step.order
        settings = self.agent_setup.settings(agent, step)
        received = self.agent_setup.enter(agent, step, settings)
        if settings or step.agent_state != "keep":
            data = {
                "order": step.order,
                "config": settings,
                "agent_state": step.agent_state,
                "received": received,
            }
            self.post("DSE_AGENT_RECONFIG_APPLIED", data, agent)

    def meet(self, agents: Mapping[str, Agent]) -> None:
        """Configure these agents from now on, when they come to a step."""
        self.agent_setup = AgentSetup(agents, self.curricula)

    @property
    def over(self) -> bool:
        """Whether every curriculum is over."""
        return not any(progress.active for progress in self.progress.values())

    @property
    def prompts(self) -> dict[str, str | None]:
        """The prompt of the step that each agent is in, if it has one."""
        found: dict[str, str | None] = {}
        for agent, progress in self.progress.items():
            step = self.curricula[agent].find_step(progress.current_step_order)
            found[agent] = None if step is None else self.agent_setup.prompt(agent, step)
        return found

    def _take(self, orders: Mapping[str, int]) -> Any:
        """Return the config of an episode, and post it if it is another one than before."""
        config = self.setup.config(orders)
        self.modifier.orders = dict(orders)
        if config is not self._config:
            self._config = config
            fields = self.setup.fields(orders) | self.setup.tweaks
            self.post("DSE_ENV_RECONFIG_APPLIED", {"orders": dict(orders), "config": fields})
        return config

    # -- episodes --------------------------------------------------------------------------

    def began(self, slot: int, playing: Sequence[str]) -> dict[str, Participation]:
        """An episode begins; returns who takes part in it, with the hint that it is to get."""
        seats = {}
        for agent in (agent for agent in self.curricula if agent in playing):
            tried = self._drawn[slot].get(agent) if self.director.per_slot else self._tries[agent]
            seats[agent] = self._seat(agent, tried)
        self.seats[slot] = seats
        return seats

    def _seat(self, agent: str, tried: AttemptState | None) -> Participation:
        """Return an agent's part in an episode that begins."""
        self._sequence += 1
        progress = self.progress[agent]
        if tried is None:
            step = self.curricula[agent].step(progress.current_step_order)
            number = SPARE if self.meter.history.of(agent).attempts else 0
            return Participation(agent, number, self._sequence, step, progress.attempt)
        if tried.begun >= tried.wanted:
            return Participation(agent, SPARE, self._sequence, tried.step, tried.attempt)
        tried.begun += 1
        hint = progress.hint
        return Participation(agent, tried.number, self._sequence, tried.step, tried.attempt, hint)

    def absent(self, agent: str) -> Participation:
        """Return the part of an agent that does not take part in the episode.

        Raises:
            AgentError: If it has no curriculum.
        """
        progress = self.manager.progress(agent)
        step = self.curricula[agent].step(max(progress.current_step_order, 0))
        return Participation(agent, SPARE, self._sequence, step, progress.attempt)

    def words(self, seat: Participation) -> str | None:
        """Return the words of the hint that an agent is to get at the beginning of an episode."""
        if seat.hint is None:
            return None
        message = seat.step.hints[seat.hint].message
        tutor = self.plan.tutor
        if tutor is not None:
            message = check_words(tutor.word(seat.agent, seat.hint, message))
        return message

    def hinted(self, seat: Participation, message: str, by: str, slot: int | None = None) -> None:
        """Take note of a hint that was given."""
        self.meter.hint(seat.agent, message, slot)
        hint = None if seat.hint is None or by == "nudge" else seat.step.hints[seat.hint]
        data: dict[str, Any] = {
            "hint": None if hint is None else seat.hint,
            "message": message,
            "by": "tutor" if by == "nudge" or self.plan.tutor is not None else "curriculum",
            "order": seat.step.order,
            "attempt": seat.attempt,
        }
        if hint is not None:
            data |= {"event_type": hint.event_type, "data": hint.data.model_dump(mode="json")}
        if slot is not None:
            data["slot"] = slot
        self.post("DSE_APPLY_HINT", data, seat.agent)

    def ended(self, slot: int, passages: Mapping[str, EpisodeRecord]) -> None:
        """An episode has ended."""
        seats, self.seats[slot] = self.seats[slot], {}
        self._drawn[slot] = {}
        self._queue.append(Ended(self.step, slot, seats, passages))

    def attempts(self, slot: int) -> dict[str, int]:
        """Return for each agent in a slot's episode the attempt for which it counts."""
        return {agent: seat.number for agent, seat in self.seats[slot].items()}

    def broken(self, slot: int, passages: Mapping[str, EpisodeRecord]) -> None:
        """An episode was broken off, or never had a step; its attempt gets another one."""
        seats, self.seats[slot] = self.seats[slot], {}
        for agent, seat in seats.items():
            if seat.number > 0:
                tried = (
                    self._drawn[slot].get(agent) if self.director.per_slot else self._tries[agent]
                )
                if tried is not None and tried.number == seat.number:
                    tried.begun -= 1
            if agent in passages:
                self._record(seat, passages[agent], slot)

    def _record(self, seat: Participation, passage: EpisodeRecord, slot: int) -> None:
        """Hand an episode to the meter."""
        passage.row.sequence = seat.sequence
        self.meter.take(passage, slot if self.slots > 1 else None)


UNSAVED = 200
"""So many episodes may end without a decision until progress is saved."""


class CurriculumController(CurriculumEpisodes):
    """Agents on their way through curricula.

    Args:
        world: The world that they are in.
        plan: What to follow, and how.
        events: Where everything is posted.
        slots: How many environments there are.
        base: The config of which holds what no step sets; by default that of the world.

    Attributes:
        manager: Curricula and progress.
        meter: Metrics.
        setup: What makes configs.
        modifier: Changes the environment by its dials and elements.
        decisions: What was decided in this run.
        counts: For each agent, how many of its episodes have ended in this run.
        seats: For each slot, who takes part in its episode.
        step: Steps of the run so far; wrappers set it.
        hearers: Called with the agent and the data of every attempt that begins.

    Raises:
        CurriculumError, EnvelopeError: See `ScenarioSetupModule`.
        ProgressError: If the progress that is kept does not belong to these curricula.
    """

    def settle(self, until: int | None = None) -> list[Decision]:
        """Count episodes that ended, in the order (step, slot), and decide where it is time.

        Args:
            until: Only those that ended at this step or before; by default all.

        Returns:
            What was decided.
        """
        due = [e for e in self._queue if until is None or e.step <= until]
        if not due:
            return []
        self._queue = self._queue[len(due) :]
        found: list[Decision] = []
        for ended in sorted(due, key=lambda e: (e.step, e.slot)):
            for agent, seat in ended.seats.items():
                if agent in ended.passages:
                    self._record(seat, ended.passages[agent], ended.slot)
            for agent, seat in ended.seats.items():
                found += self._count(agent, seat, ended.passages.get(agent))
        self._unsaved += len(due)
        if found or self._unsaved >= UNSAVED:
            self.save()
        return found

    def _count(
        self, agent: str, seat: Participation, passage: EpisodeRecord | None
    ) -> list[Decision]:
        """Count an episode for its attempt, and decide if that is over."""
        tried, drawn = self._tries[agent], self.director.per_slot
        counts = seat.number > 0 if drawn else tried is not None and seat.number == tried.number
        if passage is None:  # the agent did not act in it, so its attempt gets another one
            if counts and tried is not None:
                tried.begun -= 1
            return []
        if not counts:
            self.counts[agent].uncounted += 1
            return []
        self.counts[agent].add(seat.step.order, passage.row.result == "won")
        self.director.observe(agent, seat.step.order, passage.row)
        if drawn:
            self.progress[agent].count(seat.step.order, 1, passage.row.length)
        if tried is None:
            return []
        tried.ended += 1
        tried.env_steps += passage.row.length
        return [self._decide(agent, tried)] if tried.ended == tried.wanted else []

    def _decide(self, agent: str, tried: AttemptState) -> Decision:
        """Decide after an attempt, and move the agent on."""
        self._tries[agent] = None
        over = AttemptResult(agent, tried.step, tried.attempt, tried.env_steps, tried.ended)
        decision = self.director.take(over)
        assert decision is not None, f"{type(self.director).__name__} decides nothing"
        decision, by = self._ask_tutor(decision, tried.step)
        in_play = sum(agent in seats for seats in self.seats)  # these will count for no attempt
        data = {**decision.as_json(), "by": by, "in_play": in_play}
        self.post("DSE_ADAPTATION_EVAL", data, agent)
        self.manager.apply(decision)
        self.decisions.append(decision)
        for event_type, data in consequences(decision):
            self.post(event_type, data, agent)
        return decision

    def _ask_tutor(self, decision: Decision, step: CurriculumStep) -> tuple[Decision, str]:
        """Let the tutor choose another decision, where there is a choice."""
        tutor = self.plan.tutor
        if tutor is None or decision.completed:
            return decision, "curriculum"
        curriculum = self.curricula[decision.agent]
        allowed = allowed_decisions(step, curriculum)
        situation = DecisionContext(decision.agent, step, decision, allowed)
        choice = tutor.choose(situation)
        if choice is None or check_choice(choice, situation) == decision.decision:
            return decision, "curriculum"
        names = {other.order: other.name for other in curriculum.steps}
        action = actions.read(choice, names, list(step.hints))
        reason = f"the tutor chose {choice}; the rules say {decision.decision}: {decision.reason}"
        stages = self.progress[decision.agent].stages
        return replace_action(decision, curriculum, action, stages, reason), "tutor"

    def under_way(self, agent: str) -> AttemptState | None:
        """Return an agent's attempt that is under way; ``None`` where episodes are drawn."""
        return self._tries[agent]

    def save(self) -> None:
        """Write progress into its file, if there is one."""
        self._unsaved = 0
        if self.plan.store is not None:
            if not self.director.per_slot:
                for agent, progress in self.progress.items():
                    remember(self.meter.history, progress, self.curricula[agent].needs)
            self.plan.store.save(self.progress)

    def finish(self) -> None:
        """Keep what was not kept yet, when the environment is closed."""
        if self._unsaved:
            self.save()
