"""The manager: which agent follows which curriculum, and how far it has come."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.loader import load
from piase_gym.curricula.progress import NOWHERE, AgentProgress
from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum
from piase_gym.errors import AgentError, CurriculumError, ProgressError


class CurriculumManager:
    """Keeps curricula and the progress of agents in them.

    Args:
        curriculum: The curriculum of agents that are given no other.

    Attributes:
        current_curriculum: That curriculum, or the one that was loaded last.
        curricula: Agent -> its curriculum.
        agent_progress: Agent -> its progress.

    Example:
        >>> manager = CurriculumManager(
        ...     DevelopmentalCurriculum(name="Two", steps=[{"order": 1, "name": "a"}])
        ... )
        >>> manager.start("agent_0").name
        'a'
        >>> manager.get_step_attempts("agent_0", 1)
        1
    """

    def __init__(self, curriculum: DevelopmentalCurriculum | None = None) -> None:
        """Begin without agents."""
        self.current_curriculum = curriculum
        self.curricula: dict[str, DevelopmentalCurriculum] = {}
        self.agent_progress: dict[str, AgentProgress] = {}

    def load_curriculum_from_file(self, filepath: str | Path) -> DevelopmentalCurriculum:
        """Load the curriculum of the agents that are initialised from now on.

        Raises:
            CurriculumError: If there is none, or something is wrong with it.
        """
        self.current_curriculum = load(filepath)
        return self.current_curriculum

    # -- agents ----------------------------------------------------------------------------

    def initialize_agent_progress(
        self,
        agent_id: str,
        curriculum: DevelopmentalCurriculum | None = None,
        stage: str | None = None,
    ) -> AgentProgress:
        """Let an agent begin its curriculum, without setting its first step yet.

        Args:
            agent_id: The agent.
            curriculum: Its curriculum; by default `current_curriculum`.
            stage: A developmental stage that it has already reached.

        Raises:
            CurriculumError: If there is no curriculum, or a scenario of it cannot be read.
        """
        chosen = curriculum or self.current_curriculum
        if chosen is None:
            raise CurriculumError(f"{agent_id} has no curriculum; load one first")
        self.curricula[agent_id] = chosen
        progress = AgentProgress(agent_id, chosen.name, chosen.version, chosen.sha256)
        progress.scenarios_hash = chosen.hash_scenarios()
        progress.stages += [stage] if stage is not None else []
        self.agent_progress[agent_id] = progress
        return progress

    def start(
        self,
        agent_id: str,
        curriculum: DevelopmentalCurriculum | None = None,
        stage: str | None = None,
    ) -> CurriculumStep | None:
        """Let an agent begin its curriculum at the first step that is open to it.

        Returns:
            The step, in its first attempt, or ``None`` if none is open.

        Raises:
            CurriculumError: If there is no curriculum.
        """
        self.initialize_agent_progress(agent_id, curriculum, stage)
        return self.enter_first_step(agent_id)

    def enter_first_step(self, agent_id: str) -> CurriculumStep | None:
        """Put an agent that has not begun into the first step that is open to it; see `start`."""
        progress = self.progress(agent_id)
        first = self.get_next_step(agent_id)
        self._skip(progress, first.order if first is not None else None)
        if first is None:
            progress.outcome = "finished"
            return None
        return self.set_current_step(agent_id, first.order)

    def resume(self, progress: AgentProgress, curriculum: DevelopmentalCurriculum) -> None:
        """Resume an agent's progress; an attempt that was broken off starts again.

        Raises:
            ProgressError: If it is progress in another curriculum, or does not fit its steps.
            CurriculumError: If a scenario of the steps cannot be read.
        """
        progress.check_belongs(curriculum)
        progress.scenarios_hash = curriculum.hash_scenarios()
        self.curricula[progress.agent_id] = curriculum
        self.agent_progress[progress.agent_id] = progress

    def progress(self, agent_id: str) -> AgentProgress:
        """Return an agent's progress.

        Raises:
            AgentError: If the agent has no curriculum.
        """
        if agent_id not in self.agent_progress:
            known = ", ".join(self.agent_progress) or "nobody"
            raise AgentError(f"{agent_id!r} has no curriculum; agents with one: {known}")
        return self.agent_progress[agent_id]

    # -- steps -----------------------------------------------------------------------------

    def get_step_by_name_or_order(
        self, identifier: int | str, agent_id: str | None = None
    ) -> CurriculumStep | None:
        """Return a step of an agent's curriculum, or ``None``; an int is an order.

        Args:
            identifier: An order or a name.
            agent_id: The agent; by default the step is one of `current_curriculum`.
        """
        chosen = self.current_curriculum if agent_id is None else self.curricula.get(agent_id)
        return None if chosen is None else chosen.find_step(identifier)

    def get_current_step_object(self, agent_id: str) -> CurriculumStep | None:
        """Return the step that an agent is in; ``None`` before the first and after the end."""
        progress = self.agent_progress.get(agent_id)
        if progress is None or not progress.active or progress.current_step_order == NOWHERE:
            return None
        return self.curricula[agent_id].step(progress.current_step_order)

    def get_next_step(self, agent_id: str) -> CurriculumStep | None:
        """Return the step after the current one that is open to the agent, or ``None``."""
        progress = self.agent_progress.get(agent_id)
        if progress is None:
            return None
        order = progress.current_step_order
        return self.curricula[agent_id].step_after(order, progress.stages)

    def get_step_attempts(self, agent_id: str, step_order: int) -> int:
        """Return how many attempts of a step an agent has begun."""
        progress = self.agent_progress.get(agent_id)
        return 0 if progress is None else progress.step_attempts.get(step_order, 0)

    def set_current_step(
        self, agent_id: str, step_order: int, increment_attempt: bool = True
    ) -> CurriculumStep:
        """Put an agent into a step.

        Args:
            agent_id: The agent.
            step_order: Order of the step.
            increment_attempt: Whether another attempt begins.

        Raises:
            AgentError: If the agent has no curriculum.
            CurriculumError: If there is no such step.
        """
        progress = self.progress(agent_id)
        step = self.curricula[agent_id].step(step_order)
        attempts = progress.step_attempts.get(step.order, 0) + increment_attempt
        progress.current_step_order = step.order
        progress.step_attempts[step.order] = attempts
        progress.statuses[step.order] = "in_progress"
        return step

    def complete_step(self, agent_id: str, step_order: int) -> None:
        """Mark a step as completed, and note the stage that the agent has reached by it.

        Raises:
            AgentError: If the agent has no curriculum.
            CurriculumError: If there is no such step.
        """
        progress = self.progress(agent_id)
        step = self.curricula[agent_id].step(step_order)
        if step.order not in progress.completed_steps:
            progress.completed_steps.append(step.order)
        progress.statuses[step.order] = "completed_success"
        self._reach(progress, step.developmental_stage_reached)

    def _reach(self, progress: AgentProgress, stage: str | None) -> None:
        """Note a stage."""
        if stage and stage not in progress.stages:
            progress.stages.append(stage)

    def _skip(self, progress: AgentProgress, until: int | None) -> None:
        """Mark the steps that are skipped on the way to another."""
        steps = self.curricula[progress.agent_id].steps
        first = bisect_right(steps, progress.current_step_order, key=lambda step: step.order)
        for place in range(first, len(steps)):
            if until is not None and steps[place].order >= until:
                break
            progress.statuses.setdefault(steps[place].order, "skipped")

    # -- decisions -------------------------------------------------------------------------

    def apply(self, decision: Decision) -> CurriculumStep | None:
        """Apply a decision about an agent's current attempt to its progress.

        Returns:
            The step of the next attempt, or ``None`` at the end.

        Raises:
            AgentError: If the agent has no curriculum.
            ProgressError: If the decision is about another step or attempt; nothing has changed.
        """
        progress = self.progress(decision.agent)
        now = (progress.curriculum, progress.current_step_order, progress.attempt)
        if not progress.active or now != (decision.curriculum, decision.step, decision.attempt):
            raise ProgressError(
                f"this decision is about {decision.agent}'s attempt {decision.attempt} of step "
                f"{decision.step} in {decision.curriculum!r}, but the agent is in attempt "
                f"{now[2]} of step {now[1]} in {now[0]!r} ({progress.outcome})"
            )
        progress.decisions.append(decision)
        progress.count(decision.step, decision.episodes, decision.env_steps)
        progress.hint = decision.hint
        if decision.completed:
            self.complete_step(decision.agent, decision.step)
        elif decision.step in progress.completed_steps:
            progress.statuses[decision.step] = "completed_success"
        else:
            progress.statuses[decision.step] = decision.status
        if decision.next_step is not None:
            self._skip(progress, decision.next_step)
            return self.set_current_step(decision.agent, decision.next_step)
        progress.outcome = decision.outcome
        if progress.finished:
            self._skip(progress, None)
            curriculum = self.curricula[decision.agent]
            if all(progress.status(s.order) == "completed_success" for s in curriculum.steps):
                self._reach(progress, curriculum.target_developmental_stage)
        return None
