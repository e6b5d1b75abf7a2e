"""A course: the agents of one environment, or of many alike, on their way through curricula.

It holds progress, metrics, director and tutor together, and knows no API: wrappers tell it when
episodes begin and end, and ask it which config comes next. Everything that it does is posted.
"""

from __future__ import annotations

from piase_gym.curricula import actions
from piase_gym.curricula.course_episodes import CourseEpisodes
from piase_gym.curricula.decisions import Decision, overruled
from piase_gym.curricula.director import Tried
from piase_gym.curricula.metering import Passage
from piase_gym.curricula.remembering import remember
from piase_gym.curricula.schema import CurriculumStep
from piase_gym.curricula.seats import Seat, Try, consequences
from piase_gym.curricula.tutors import (
    Situation,
    allowed_decisions,
    check_choice,
)

UNSAVED = 200
"""So many episodes may end without a decision until progress is saved."""


class Course(CourseEpisodes):
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

    def _count(self, agent: str, seat: Seat, passage: Passage | None) -> list[Decision]:
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

    def _decide(self, agent: str, tried: Try) -> Decision:
        """Decide after an attempt, and move the agent on."""
        self._tries[agent] = None
        over = Tried(agent, tried.step, tried.attempt, tried.env_steps, tried.ended)
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
        situation = Situation(decision.agent, step, decision, allowed)
        choice = tutor.choose(situation)
        if choice is None or check_choice(choice, situation) == decision.decision:
            return decision, "curriculum"
        names = {other.order: other.name for other in curriculum.steps}
        action = actions.read(choice, names, list(step.hints))
        reason = f"the tutor chose {choice}; the rules say {decision.decision}: {decision.reason}"
        stages = self.progress[decision.agent].stages
        return overruled(decision, curriculum, action, stages, reason), "tutor"

    def under_way(self, agent: str) -> Try | None:
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
