"""What agents are told when they come to a step, and what of their state lasts into it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from piase_gym.curricula.prompts import prompt_of
from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum
from piase_gym.errors import AgentError, CurriculumError

if TYPE_CHECKING:
    from piase_gym.agents.base import Agent


class AgentSetup:
    """Configures the agents that were handed over, and keeps what of them lasts into a step.

    Args:
        agents: The agents by name.
        curricula: The curriculum of each agent.

    Raises:
        AgentError: If an agent has no curriculum.
        CurriculumError: If a step keeps what the agent's state does not have, or a prompt file
            cannot be read.
    """

    def __init__(
        self, agents: Mapping[str, Agent], curricula: Mapping[str, DevelopmentalCurriculum]
    ) -> None:
        """Take note of how the agents are at the beginning, and read the prompts."""
        self._prompts = {
            (name, step.order): prompt_of(curriculum, step)
            for name, curriculum in curricula.items()
            for step in curriculum.steps
        }
        for name in agents:
            if name not in curricula:
                known = ", ".join(curricula)
                raise AgentError(f"{name!r} has no curriculum; agents with one: {known}")
        self.agents = dict(agents)
        self._first = {name: copy.deepcopy(agent.get_state()) for name, agent in agents.items()}
        for name in agents:
            self._check(name, curricula[name])

    def _check(self, name: str, curriculum: DevelopmentalCurriculum) -> None:
        """Check that what steps keep is there to be kept."""
        for step in curriculum.steps:
            kept = () if isinstance(step.agent_state, str) else step.agent_state
            for key in kept:
                if key not in self._first[name]:
                    known = ", ".join(self._first[name]) or "nothing"
                    raise CurriculumError(
                        f"{curriculum.source}: {step.label}: agent_state names {key!r}, but the "
                        f"state of {name} has: {known}"
                    )

    def prompt(self, name: str, step: CurriculumStep) -> str | None:
        """Return the text of the prompt that a step has for an agent, if any."""
        prompt = self._prompts[name, step.order]
        return None if prompt is None else prompt.text()

    def settings(self, name: str, step: CurriculumStep) -> dict[str, Any]:
        """Return what an agent is configured with when it comes to a step.

        That is the step's `agent_config_overrides`, and ``prompt``, if it has a prompt file.
        """
        settings = copy.deepcopy(step.agent_config_overrides)
        prompt = self.prompt(name, step)
        if prompt is not None:
            settings |= {"prompt_reference": step.prompt_reference, "prompt": prompt}
        return settings

    def enter(self, name: str, step: CurriculumStep, settings: Mapping[str, Any]) -> bool:
        """Prepare an agent for a step that it comes to.

        Returns:
            Whether there was anything to do.
        """
        agent = self.agents.get(name)
        if agent is None:
            return False
        if step.agent_state != "keep":
            state = copy.deepcopy(self._first[name])
            if not isinstance(step.agent_state, str):
                now = agent.get_state()
                state |= {key: now[key] for key in step.agent_state if key in now}
            agent.set_state(state)
        if settings:
            agent.configure(settings)
        return step.agent_state != "keep" or bool(settings)
