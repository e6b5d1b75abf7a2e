"""The commons, as a World: their kernels behind the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled.stepping import Kernels
from piase_gym.core.commands import Command, Outcome, Result, Verb
from piase_gym.core.objects import Objects
from piase_gym.core.script.observables import Observable
from piase_gym.worlds.array_world import Modules
from piase_gym.worlds.channel.symbols import message_params, said_with
from piase_gym.worlds.grids.hidden_cells import unseen_floor
from piase_gym.worlds.grids.moves import MOVES, in_the_way, verbs_of
from piase_gym.worlds.grids.world import WalkingWorld
from piase_gym.worlds.social_dilemma import objects, scripting
from piase_gym.worlds.social_dilemma.commons import codes, facts, pictures, state, text
from piase_gym.worlds.social_dilemma.commons.facts import CommonsFacts, form_of, things_in_sight
from piase_gym.worlds.social_dilemma.commons.sight import KERNELS
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.constants import RESULTS
from piase_gym.worlds.social_dilemma.manual import commons_manual
from piase_gym.worlds.social_dilemma.metrics import commons_measures
from piase_gym.worlds.social_dilemma.world import SocialDilemma

_OF_AGENTS = "x y heading alive fate marks said beam out eaten cleaned zaps zapped away".split()


class Commons(WalkingWorld[SocialDilemmaConfig, CommonsFacts], SocialDilemma[CommonsFacts]):
    """Apples for all, until nobody leaves any; see `SocialDilemma`."""

    milestones: ClassVar[tuple[str, ...]] = codes.MILESTONES
    measures: ClassVar[tuple[str, ...]] = (
        "efficiency",
        "equality",
        "sustainability",
        "peace",
        "cooperation_rate",
    )
    canonical: ClassVar[Sequence[str]] = state.CANONICAL
    outcome_of: ClassVar[Sequence[Outcome]] = codes.OUTCOMES
    result_of: ClassVar[Sequence[Result]] = RESULTS
    kernels: Kernels = KERNELS
    modules: ClassVar[Modules] = Modules(state, facts, text, pictures, form_of, commons_manual)
    observables: ClassVar[Mapping[str, Observable]] = scripting.COMMONS
    spawnable: ClassVar[tuple[str, ...]] = scripting.SPAWNABLE
    scripting: ClassVar[Any] = scripting

    # -- what can be said and seen --------------------------------------------------------

    def make_grammar(self) -> tuple[Verb, ...]:
        """Return ``move <direction>``, or ``forward`` and ``turn <side>``; ``stay zap clean``."""
        message = message_params(self.envelope, self.agents)
        verbs = [
            *verbs_of(self.config.frame, "unless somebody is there", message),
            Verb("stay", "do nothing", message, ("wait", "noop", "do nothing")),
            Verb("zap", "send the first agent ahead of you away for a while", message, ("tag",)),
        ]
        if self.envelope.cleaning:
            text = "turn the first waste ahead of you to water"
            synonyms = ("clean up", "clean waste", "clean the waste", "clean water")
            verbs.append(Verb("clean", text, message, synonyms))
        return tuple(verbs)

    def make_commands(self) -> tuple[Command, ...]:
        """Return the command of every index: symbol * actions + action."""
        silent = [
            *MOVES[self.config.frame],
            Command("stay"),
            Command("zap"),
            *([Command("clean")] if self.envelope.cleaning else []),
        ]
        return said_with(silent, self.envelope, self.agents)

    # -- kernels --------------------------------------------------------------------------

    def explain_fault(self, fault: int, config: SocialDilemmaConfig) -> str:
        """Say why nothing could be laid out."""
        return (
            f"SocialDilemma: a {config.game} of {config.width} by {config.height} has no bare "
            f"floor for {config.agents} agents; take a larger grid, or fewer agents or patches"
        )

    # -- knowledge ------------------------------------------------------------------------

    def facts(self, agent: int) -> CommonsFacts:
        """Return what the agent may know now."""
        return facts.facts_of(self._obs[agent], agent, self.form, self.hints[agent])

    @staticmethod
    def to_text(facts: CommonsFacts, config: SocialDilemmaConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts, form_of(config))

    def perceived(self, facts: CommonsFacts) -> Mapping[str, Any]:
        """Return what is in sight, and where; see `piase_gym.core.recall`."""
        return things_in_sight(facts)

    def position(self, agent: int) -> list[int] | None:
        """Return the column and the row of an agent; ``None`` in time-out."""
        return None if self.states["out"][0, agent] else self.heard_at(agent)

    def heard_at(self, agent: int) -> list[int]:
        """Return its cell; in time-out the cell on which it was hit, as in the kernels' channel."""
        state = self.states[0]
        return [int(state["x"][agent]), int(state["y"][agent])]

    def objects(self) -> Objects:
        """Return agents, apples, and water with its waste."""
        return objects.of_commons(self.states[0], self.side, self.agents[: self.config.agents])

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
        if event == codes.BLOCKED:
            ahead = self._obs_rows[agent][self.form.ahead]
            return in_the_way(self.form.cell_names[ahead])
        return codes.FAILURES.get(event)

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
                found["cells"][place] = codes.WATER
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
