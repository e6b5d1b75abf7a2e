"""The matrix games, as a World: their kernels behind the contract."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.compiled.stepping import Kernels
from piase_gym.core.commands import Command, Outcome, Result, Verb
from piase_gym.core.world import HINT_TEXT, Manual
from piase_gym.worlds.array_world import Batch
from piase_gym.worlds.batch_arrays import stacked
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.constants import RESULTS
from piase_gym.worlds.social_dilemma.games import UNIT
from piase_gym.worlds.social_dilemma.manual import matrix_manual
from piase_gym.worlds.social_dilemma.matrix import facts as matrix_views
from piase_gym.worlds.social_dilemma.matrix import pictures, text
from piase_gym.worlds.social_dilemma.matrix import state as matrix_state
from piase_gym.worlds.social_dilemma.matrix.facts import MatrixFacts, MatrixForm
from piase_gym.worlds.social_dilemma.matrix.rules import KERNELS
from piase_gym.worlds.social_dilemma.metrics import matrix_measures
from piase_gym.worlds.social_dilemma.world import SocialDilemma

OUTCOMES = (
    Outcome.OK,
    Outcome.OK,
    Outcome.ILLEGAL,
    Outcome.UNPARSABLE,
    Outcome.TOO_LONG,
    Outcome.TIMEOUT,
    Outcome.REFUSED,
)
"""The outcome of every event of `matrix.state`."""
_OF_AGENTS = "alive fate marks said cooperated".split()
_COOPERATE = ("c", "contribute", "volunteer", "swerve", "stag", "opera", "heads")
_DEFECT = ("d", "keep", "abstain", "straight", "hare", "match", "tails", "wait", "noop")


class MatrixGames(SocialDilemma[MatrixFacts]):
    """Everybody chooses at once, and a table says what everybody gets; see `SocialDilemma`."""

    milestones: ClassVar[tuple[str, ...]] = matrix_state.MILESTONES
    measures: ClassVar[tuple[str, ...]] = ("cooperation_rate", "efficiency", "equality")
    canonical: ClassVar[Sequence[str]] = matrix_state.CANONICAL
    outcome_of: ClassVar[Sequence[Outcome]] = OUTCOMES
    result_of: ClassVar[Sequence[Result]] = RESULTS
    vector_type: ClassVar[type[Any]] = np.float32
    kernels: ClassVar[Kernels] = KERNELS

    def __init__(self, config: SocialDilemmaConfig) -> None:
        """Build the world."""
        super().__init__(config)
        self.form = MatrixForm(self.config)
        self.text_length = _longest_text(self.form)
        self.reset(0)

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
    def vector_space(self) -> Box:
        """A float32 Box; see `matrix.facts`."""
        return matrix_views.vector_box(self.envelope)

    @property
    def state_space(self) -> Box:
        """Every non-string fact of the world as float64; see `state`."""
        return Box(-(2.0**62), 2.0**62, (self.state().size,), np.float64)

    # -- kernels --------------------------------------------------------------------------

    def new_single(self, config: SocialDilemmaConfig) -> NDArray[Any]:
        """Return the record of a batch of one."""
        return matrix_state.new_single(config, self.envelope)

    def new_batch(self, count: int, configs: Sequence[SocialDilemmaConfig]) -> Batch:
        """Return `count` environments with the tables of `configs`."""
        tables = stacked([matrix_state.new_table(c, self.envelope) for c in configs])
        shape = (count, len(self.agents), self.form.length, self.num_actions)
        states = np.zeros(count, matrix_state.layout(matrix_state.capacity(self.envelope.agents)))
        return Batch(states, tables, shape, np.float32)

    def state_problem(self, record: Any, table: Any) -> str:
        """Check counts and codes."""
        return matrix_state.find_problem(record, table)

    def configure(self, config: SocialDilemmaConfig) -> None:
        """Take another config."""
        super().configure(config)
        self.tables[...] = matrix_state.new_table(self.config, self.envelope)
        self.form = MatrixForm(self.config)

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

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return a writer of texts from what was kept."""
        return functools.partial(text.write_kept, self.form)

    def facts(self, agent: int) -> MatrixFacts:
        """Return what the agent may know now."""
        score = self._scores()[agent]
        vector = self._obs[agent]
        return matrix_views.facts_of(vector, agent, score, self.form, self.hints[agent])

    def vector(self, facts: MatrixFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        return matrix_views.vector_of(facts, self.form)

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

    def _match(self) -> pictures.Match:
        """Describe the state for the painters."""
        return pictures.match_of(self.states[0], self.config, self.agents)

    def ansi(self) -> str:
        """Draw the table and the last rounds with letters."""
        return pictures.ansi(self._match())

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the table and the last rounds as a picture."""
        return pictures.rgb(self._match())


def _longest_text(form: MatrixForm) -> int:
    """Return an upper bound for the length of a text."""
    envelope = form.envelope
    name = max(len(agent) for agent in form.names)
    table = 800 + 4 * 30 * envelope.agents
    return table + 80 * envelope.memory + envelope.agents * (2 * name + 80) + HINT_TEXT
