"""The matrix games, as a World: their kernels behind the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.compiled.stepping import Kernels
from piase_gym.core.commands import OUTCOMES as ALL_OUTCOMES
from piase_gym.core.commands import Command, Outcome, Result, Verb
from piase_gym.core.objects import Objects
from piase_gym.core.script.observables import Observable
from piase_gym.core.world import Manual
from piase_gym.worlds.social_dilemma import objects, scripting
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.constants import RESULTS
from piase_gym.worlds.social_dilemma.games import UNIT
from piase_gym.worlds.social_dilemma.manual import matrix_manual
from piase_gym.worlds.social_dilemma.matrix import facts, pictures, state, text
from piase_gym.worlds.social_dilemma.matrix.facts import MatrixFacts
from piase_gym.worlds.social_dilemma.matrix.rules import KERNELS
from piase_gym.worlds.social_dilemma.metrics import matrix_measures
from piase_gym.worlds.social_dilemma.world import Modules, SocialDilemma

OUTCOMES = (Outcome.OK, *(outcome for outcome in ALL_OUTCOMES if outcome is not Outcome.FAILED))
"""The outcome of every event of `matrix.state`."""
_OF_AGENTS = "alive fate marks said cooperated".split()
_COOPERATE = ("c", "contribute", "volunteer", "swerve", "stag", "opera", "heads")
_DEFECT = ("d", "keep", "abstain", "straight", "hare", "match", "tails", "wait", "noop")


class MatrixGames(SocialDilemma[MatrixFacts]):
    """Everybody chooses at once, and a table says what everybody gets; see `SocialDilemma`."""

    milestones: ClassVar[tuple[str, ...]] = state.MILESTONES
    measures: ClassVar[tuple[str, ...]] = ("cooperation_rate", "efficiency", "equality")
    canonical: ClassVar[Sequence[str]] = state.CANONICAL
    outcome_of: ClassVar[Sequence[Outcome]] = OUTCOMES
    result_of: ClassVar[Sequence[Result]] = RESULTS
    vector_type: ClassVar[type[Any]] = np.float32
    kernels: ClassVar[Kernels] = KERNELS
    modules: ClassVar[Modules] = Modules(state, facts, text, pictures)
    observables: ClassVar[Mapping[str, Observable]] = scripting.MATRIX

    # -- what can be said and seen --------------------------------------------------------

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """``cooperate`` and ``defect``; with symbols, ``... saying <symbol>``."""
        message = self._message
        return (
            Verb("cooperate", "choose what is good for all", message, _COOPERATE),
            Verb("defect", "choose what is good for you alone", message, _DEFECT),
        )

    @property
    def commands(self) -> tuple[Command, ...]:
        """The command of every index: 2 * symbol + choice."""
        return self._saying([Command("cooperate"), Command("defect")])

    @property
    def noop(self) -> Command:
        """``defect``."""
        return Command("defect")

    @property
    def state_space(self) -> Box:
        """Every non-string fact of the world as float64; see `state`."""
        return Box(-(2.0**62), 2.0**62, (self.state().size,), np.float64)

    # -- knowledge ------------------------------------------------------------------------

    def capture(self) -> Sequence[Any]:
        """Keep vectors, exact scores and hints: together they hold every fact."""
        scores = self._scores()
        return [
            (row.copy(), scores[agent], self.hints[agent])
            for agent, row in enumerate(self._obs_rows)
        ]

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return each agent's vector, a fresh array each."""
        return super().vectors() if kept is None else [entry[0] for entry in kept]

    def facts(self, agent: int) -> MatrixFacts:
        """Return what the agent may know now."""
        score = self._scores()[agent]
        vector = self._obs[agent]
        return facts.facts_of(vector, agent, score, self.form, self.hints[agent])

    @staticmethod
    def to_text(facts: MatrixFacts, config: SocialDilemmaConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts)

    def _scores(self) -> list[float]:
        """Return everybody's score."""
        units: list[int] = self.states["score"][0, : len(self.agents)].tolist()
        return [score / UNIT for score in units]

    def position(self, agent: int) -> None:
        """Nobody is anywhere."""

    def objects(self) -> Objects:
        """Return the game, and agents with scores and choices."""
        names = self.agents[: self.config.agents]
        return objects.of_matrix(self.states[0], names, self._scores())

    def measure(self, agent: int) -> Mapping[str, float]:
        """Return how often the agent cooperated, and how efficient and equal the game was."""
        state, count = self.states[0], self.config.agents
        return matrix_measures(
            self.config,
            int(state["played"]),
            state["cooperated"][:count].tolist(),
            self._scores()[:count],
            agent,
        )

    def unknown_to(self, agent: int) -> dict[str, Any]:
        """Change what the others have got, which nobody is told."""
        score = self.states["score"][0].tolist()
        for other in range(self.config.agents):
            if other != agent:
                score[other] += UNIT
        return {"score": score}

    def state(self) -> NDArray[np.float64]:
        """Return the step, rounds played, steps of talk and agents, then what is known of each.

        That is alive, fate, marks, symbol said, cooperations and score; then, by agent, whether it
        cooperated in each of the last rounds of the envelope's memory, newest first.
        """
        record, slots = self.states[0], len(self.agents)
        shifts = np.arange(self.envelope.memory, dtype=np.uint64)
        past = (record["past"][:slots, None] >> shifts) & np.uint64(1)
        parts = [
            [record[name] for name in ("t", "played", "talk", "agents")],
            *(record[name][:slots] for name in _OF_AGENTS),
            self._scores(),
            past.ravel(),
        ]
        return np.concatenate(parts).astype(np.float64)

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return matrix_manual(self.config)

    # -- pictures -------------------------------------------------------------------------

    def _scene(self) -> pictures.Match:
        """Describe the state for the painters."""
        return pictures.match_of(self.states[0], self.config, self.agents)
