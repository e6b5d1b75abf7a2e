"""The options of a run of curricula, checked: director, tutor, where progress is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from piase_gym.agents.base import Agent
from piase_gym.core.rng import check_seed
from piase_gym.curricula import loader, window_memory
from piase_gym.curricula.directors import make_director
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.curricula.store import ProgressStore
from piase_gym.curricula.tutors import Tutor
from piase_gym.errors import AgentError, ConfigError, require_count

CURRICULUM_OPTIONS = ("director", "tutor", "progress", "seed", "metrics", "lag")
"""Options that are the curriculum's, also where those of an environment stand beside them."""


class CurriculumOptions:
    """What to follow, and how, as users specify it.

    Args:
        curricula: Agent -> curriculum, its name, path or content; or one of these, for the agent
            that it is written for, the only agent of the caller or, if it names a `lead`, all.
        own: The caller's agents.
        director: A director, its name, or a mapping of name and options; by default the
            `director` of the curriculum, and without one its own rules.
        tutor: A tutor, which may choose among decisions and word hints.
        progress: A file in which progress is kept.
        agents: Agents to configure when they enter a step.
        seed: The seed of the curricula, from which all draws of the director follow:
            ``0..2**63-1``.
        metrics: User-defined metrics by name, as `piase_gym.runs.Metrics.define` takes them.
        lag: An episode depends on those that ended at least this many steps before it began; 1 or
            more.

    Attributes:
        curricula: The curriculum of each agent.
        director: The director, which chooses the next step.
        store: Where progress is kept.

    Raises:
        AgentError: If an agent is not there.
        CurriculumError: If a curriculum cannot be used.
        ProgressError: If progress is damaged, or does not belong to the curricula.
        ConfigError: If something else is not allowed.
    """

    def __init__(
        self,
        curricula: Any,
        own: Sequence[str],
        *,
        director: Any = None,
        tutor: Tutor | None = None,
        progress: str | Path | ProgressStore | None = None,
        agents: Mapping[str, Agent] | None = None,
        seed: int = 0,
        metrics: Mapping[str, Any] | None = None,
        lag: int = 1,
    ) -> None:
        """Check everything before anything is changed."""
        if tutor is not None and not isinstance(tutor, Tutor):
            raise ConfigError(f"a tutor has choose, word and watch; {type(tutor).__name__} has not")
        if isinstance(progress, str | Path):
            progress = ProgressStore(progress)
        if progress is not None and not isinstance(progress, ProgressStore):
            raise ConfigError(f"progress is kept in a file, named by a path, not by {progress!r}")
        for name, given, what in (("agents", agents, "agents"), ("metrics", metrics, "functions")):
            if not isinstance(given, Mapping | None):
                kind = type(given).__name__
                raise ConfigError(f"{name} are a mapping of names to {what}, not {kind}")
            for key, value in (given or {}).items():
                if not isinstance(key, str) or (given is agents and not isinstance(value, Agent)):
                    raise ConfigError(
                        f"{name} are a mapping of names to {what}, not of {key!r:.60} to "
                        f"{type(value).__name__}"
                    )
        self.curricula: Mapping[str, DevelopmentalCurriculum] = _assign(curricula, own)
        if director is None:
            director = _director_of(self.curricula)
        self.director, self.tutor, self.store = make_director(director), tutor, progress
        self.agents, self.seed = dict(agents or {}), check_seed(seed)
        self.metrics = dict(metrics or {})
        self.lag = require_count("lag is a positive number of steps", lag)
        for curriculum in self.curricula.values():
            self.director.check_curriculum(curriculum)
        for agent, kept in ({} if progress is None else progress.load(self.curricula)).items():
            self.director.check_resumed(kept.memory, self.curricula[agent])
            if window_memory.RECENT in kept.memory:
                window_memory.check(kept)

    @property
    def watched(self) -> bool:
        """Whether a tutor looks at every step."""
        return self.tutor is not None and bool(getattr(self.tutor, "watches", True))


def _assign(curricula: Any, own: Sequence[str]) -> dict[str, DevelopmentalCurriculum]:
    """Return the curriculum of each agent, in the order of the agents."""
    is_one = isinstance(curricula, Mapping) and "steps" in curricula and "steps" not in own
    if is_one or not isinstance(curricula, Mapping):
        curriculum = loader.load(curricula)
        if curriculum.agent is not None:
            return _assign({curriculum.agent: curriculum}, own)
        if len(own) > 1 and curriculum.lead is None:
            raise ConfigError(
                f"{curriculum.source}: this environment has the agents {', '.join(own)}; say whose "
                f"curriculum it is, such as {{{own[0]!r}: ...}}, or name a 'lead' in it"
            )
        return dict.fromkeys(own, curriculum)
    if not curricula:
        raise ConfigError("no curriculum is given; give one, or a mapping of agents to curricula")
    for name in curricula:
        if name not in own:
            raise AgentError(
                f"there is a curriculum for {name!r}, but no such agent to follow it; "
                f"the caller's agents are {', '.join(own)}"
            )
    return {name: loader.load(curricula[name]) for name in own if name in curricula}


def _director_of(curricula: Mapping[str, DevelopmentalCurriculum]) -> Any:
    """Return the director that the curricula name, if there is one.

    Raises:
        ConfigError: If they name different ones.
    """
    named = [curriculum.director for curriculum in curricula.values()]
    if any(other != named[0] for other in named):
        message = ", ".join(f"{agent}: {c.director!r:.80}" for agent, c in curricula.items())
        raise ConfigError(f"all agents have one director, and the curricula name others: {message}")
    return named[0]
