"""The commons, as a World: their kernels behind the contract."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.compiled.stepping import Kernels
from piase_gym.core.commands import Command, Outcome, Param, Result, Verb
from piase_gym.core.world import HINT_TEXT, Manual
from piase_gym.errors import GenerationError
from piase_gym.worlds.array_world import Batch
from piase_gym.worlds.batch_arrays import stacked
from piase_gym.worlds.grids.hidden_cells import unseen_floor
from piase_gym.worlds.grids.obstacles import ahead_in_window, in_the_way
from piase_gym.worlds.social_dilemma.commons import facts as commons_views
from piase_gym.worlds.social_dilemma.commons import pictures, text
from piase_gym.worlds.social_dilemma.commons import state as commons_state
from piase_gym.worlds.social_dilemma.commons.codes import (
    BLOCKED,
    FAILURES,
    MILESTONES,
    OUTCOMES,
    WATER,
)
from piase_gym.worlds.social_dilemma.commons.facts import CommonsFacts, CommonsForm, form_of
from piase_gym.worlds.social_dilemma.commons.sight import KERNELS
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.constants import RESULTS
from piase_gym.worlds.social_dilemma.manual import commons_manual
from piase_gym.worlds.social_dilemma.metrics import commons_measures
from piase_gym.worlds.social_dilemma.world import SocialDilemma

DIRECTIONS = ("up", "down", "left", "right")
_OF_AGENTS = "x y heading alive fate marks said beam out eaten cleaned zaps zapped away".split()


class Commons(SocialDilemma[CommonsFacts]):
    """Apples for all, until nobody leaves any; see `SocialDilemma`."""

    milestones: ClassVar[tuple[str, ...]] = MILESTONES
    measures: ClassVar[tuple[str, ...]] = (
        "efficiency",
        "equality",
        "sustainability",
        "peace",
        "cooperation_rate",
    )
    canonical: ClassVar[Sequence[str]] = commons_state.CANONICAL
    outcome_of: ClassVar[Sequence[Outcome]] = OUTCOMES
    result_of: ClassVar[Sequence[Result]] = RESULTS
    kernels: ClassVar[Kernels] = KERNELS

    def __init__(self, config: SocialDilemmaConfig) -> None:
        """Build the world and lay it out once, to see that there is room.

        Raises:
            GenerationError: If there is not.
        """
        super().__init__(config)
        self.form = form_of(self.config)
        self.text_length = _longest_text(self.form)
        self.reset(0)

    # -- what can be said and seen --------------------------------------------------------

    @property
    def side(self) -> int:
        """Columns of the record's cells, which are at least those of the envelope."""
        return int(self.tables["side"][0])

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """``move <direction>``, ``stay``, ``zap``, ``clean``; with symbols ``... saying n``."""
        message = self._message
        direction = Param("direction", choices=DIRECTIONS)
        verbs = [
            Verb(
                "move",
                "turn that way and step if nobody is there; stepping onto an apple eats it",
                (direction, *message),
                ("go", "walk"),
            ),
            Verb("stay", "do nothing", message, ("wait", "noop")),
            Verb("zap", "send the first agent ahead of you away for a while", message, ("tag",)),
        ]
        if self.envelope.cleaning:
            verbs.append(Verb("clean", "turn the first waste ahead of you to water", message))
        return tuple(verbs)

    @property
    def commands(self) -> tuple[Command, ...]:
        """The command of every index: symbol * actions + action."""
        silent = [
            *(Command("move", {"direction": direction}) for direction in DIRECTIONS),
            Command("stay"),
            Command("zap"),
            *([Command("clean")] if self.envelope.cleaning else []),
        ]
        return self._saying(silent)

    @property
    def noop(self) -> Command:
        """``stay``."""
        return Command("stay")

    @property
    def vector_space(self) -> Box:
        """A uint8 Box; see `commons.facts`."""
        return commons_views.vector_box(self.envelope)

    @property
    def state_space(self) -> Box:
        """Every non-string fact of the world as int32; see `state`."""
        return Box(-1, 2**31 - 1, (self.state().size,), np.int32)

    # -- kernels --------------------------------------------------------------------------

    def new_single(self, config: SocialDilemmaConfig) -> NDArray[Any]:
        """Return the record of a batch of one."""
        return commons_state.new_single(config, self.envelope)

    def new_batch(self, count: int, configs: Sequence[SocialDilemmaConfig]) -> Batch:
        """Return `count` environments with the tables of `configs`."""
        tables = stacked([commons_state.new_table(c, self.envelope) for c in configs])
        shape = (count, len(self.agents), self.form.length, self.num_actions)
        states = np.zeros(count, commons_state.layout(*commons_state.buckets(self.envelope)))
        return Batch(states, tables, shape)

    def explain_fault(self, fault: int, config: SocialDilemmaConfig) -> str:
        """Say why nothing could be laid out."""
        return (
            f"SocialDilemma: a {config.game} of {config.width} by {config.height} has no bare "
            f"floor for {config.agents} agents; take a larger grid, or fewer agents or patches"
        )

    def state_problem(self, record: Any, table: Any) -> str:
        """Check sizes, places and codes."""
        return commons_state.find_problem(record, table)

    def check_config(self, config: SocialDilemmaConfig) -> None:
        """Check the envelope, and that there is room."""
        super().check_config(config)
        if fault := self.make_level(self.new_single(config), 0):
            raise GenerationError(self.explain_fault(fault, config))

    def configure(self, config: SocialDilemmaConfig) -> None:
        """Take another config."""
        super().configure(config)
        self.tables[...] = commons_state.new_table(self.config, self.envelope)
        self.form = form_of(self.config)

    # -- knowledge ------------------------------------------------------------------------

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return a writer of texts from vectors."""
        return functools.partial(text.write_kept, self.form)

    def facts(self, agent: int) -> CommonsFacts:
        """Return what the agent may know now."""
        return commons_views.facts_of(self._obs[agent], agent, self.form, self.hints[agent])

    def vector(self, facts: CommonsFacts) -> NDArray[np.uint8]:
        """Return the vector of the facts."""
        return commons_views.vector_of(facts, self.form)

    @staticmethod
    def to_text(facts: CommonsFacts, config: SocialDilemmaConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts, form_of(config))

    def position(self, agent: int) -> list[int] | None:
        """Return the column and the row of an agent; ``None`` in time-out."""
        state = self.states[0]
        away = bool(state["out"][agent])
        return None if away else [int(state["x"][agent]), int(state["y"][agent])]

    def measure(self, agent: int) -> Mapping[str, float]:
        """Return how efficient, equal, sustainable and peaceful the game was."""
        state, count = self.states[0], self.config.agents
        names = ("eaten", "cleaned", "zaps", "away", "when")
        totals = {name: state[name][:count].tolist() for name in names}
        spots = sum(int(row).bit_count() for row in state["spots"])
        return commons_measures(self.config, int(state["t"]), spots, totals, agent)

    def why_failed(self, agent: int) -> str | None:
        """Say what an agent bumped into, or that it hit or cleaned nothing."""
        event = int(self._events[agent])
        if event == BLOCKED:
            return in_the_way(ahead_in_window(self.facts(agent).cells))
        return FAILURES.get(event)

    def unknown_to(self, agent: int) -> dict[str, Any]:
        """Change what the others have done, and pour water where the window does not reach."""
        state, count, t = self.states[0], self.config.agents, int(self.states["t"][0])
        changed = ("when",) if self.config.reputation else ("when", "eaten", "cleaned", "zaps")
        found = {name: state[name].tolist() for name in (*changed, "zapped", "away", "cells")}
        for name in (*changed, "zapped", "away"):
            for other in range(count):
                if other != agent:
                    found[name][other] = t - found[name][other] if name != "when" else 1
        if not state["out"][agent]:
            for place in unseen_floor(state, agent, self.config.window)[:1]:
                found["cells"][place] = WATER
        return found

    def state(self) -> NDArray[np.int32]:
        """Return the step, width, height and agents, then what is known of each agent.

        That is x, y, heading, alive, fate, marks, symbol said, beam, time-out, apples eaten, cells
        cleaned, zaps, times zapped and steps away. After these come the objects, row by row of the
        envelope's grid, and where apples can grow.
        """
        record, slots, size = self.states[0], len(self.agents), self.envelope
        cells = record["cells"].reshape(self.side, self.side)
        columns = np.arange(size.width, dtype=np.uint64)
        spots = (record["spots"][: size.height, None] >> columns) & np.uint64(1)
        parts = [
            [record[name] for name in ("t", "width", "height", "agents")],
            *(record[name][:slots] for name in _OF_AGENTS),
            cells[: size.height, : size.width].ravel(),
            spots.ravel(),
        ]
        return np.concatenate(parts).astype(np.int32)

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return commons_manual(self.config)

    # -- pictures -------------------------------------------------------------------------

    def _scene(self) -> pictures.Scene:
        """Describe the state for the painters."""
        return pictures.scene(self.states[0], self.side, self.config, self.agents)

    def ansi(self) -> str:
        """Draw the commons with letters."""
        return pictures.ansi(self._scene())

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the commons as a picture."""
        return pictures.rgb(self._scene())


def _longest_text(form: CommonsForm) -> int:
    """Return an upper bound for the length of a text."""
    name = max(len(agent) for agent in form.names)
    others = len(form.names) * (2 * name + 100)
    return 500 + form.rows * (20 + form.columns * (name + 40)) + others + HINT_TEXT
