"""A script at work in many environments: its state, what conditions ask, what responses change.

A single world is a batch of one. After each step, `step.after_step` evaluates the conditions, lets
events happen, pays rewards, and ends the episodes of agents that have won or lost.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Result
from piase_gym.core.digest import digest_bytes
from piase_gym.core.facts import MAX_HINT
from piase_gym.core.script import models
from piase_gym.core.script.columns import Columns
from piase_gym.core.script.observables import COMMON
from piase_gym.core.script.turn import Changes, Mask, ScriptedWorld, StepArrays, any_agent
from piase_gym.errors import SnapshotError


def record(script: models.Script, agents: int, milestones: int) -> np.dtype[Any]:
    """Return the record of a script's state in one environment."""
    events = len(script.events)
    return np.dtype(
        [
            ("returns", "<f8", (agents,)),
            ("reward", "<f8", (agents,)),
            ("metrics", "<f8", (len(script.metrics), agents)),
            ("potential", "<f8", (len(script.shaping), agents)),
            ("t", "<i4"),
            ("fired", "<i4", (events,)),
            ("counts", "<i4", (events, agents)),
            ("settings", "<i4", (len(script.settings),)),  # which change holds, from 1
            ("note", "<i4", (agents,)),  # the last message, from 1
            ("held", "u1", (events, agents)),
            ("flags", "u1", (len(script.flags), agents)),
            ("reached", "u1", (milestones, agents)),
        ]
    )


class ScriptRun:
    """A script over the environments of a world.

    Attributes:
        script: The script.
        states: One record per environment; see `record`.
        milestones: The milestones that it keeps: its own, and those that conditions are about.
        changes: Its responses that change settings.
    """

    def __init__(
        self, script: models.Script, world: ScriptedWorld, config: Any, count: int
    ) -> None:
        """Take a script for a world; the script is compiled when it is first needed."""
        self.script, self.world, self.base = script, world, config
        self.agents = world.agents
        ends = [leaf for c in all_conditions(script) for leaf in models.leaves(c)]
        milestones = [leaf.milestone for leaf in ends if isinstance(leaf, models.MilestoneReached)]
        asked = [leaf.flag for leaf in ends if isinstance(leaf, models.FlagIsSet)]
        self.milestones = tuple(dict.fromkeys([*script.milestones, *milestones]))
        self.flags = tuple(dict.fromkeys([*script.flags, *asked]))
        self.states = Columns(count, record(script, len(self.agents), len(self.milestones)))
        self.messages = script.responses(models.Message)
        self.changes = script.responses(models.ChangeSetting)
        self.goals = {goal.agent_id: goal for goal in script.goals}
        self.has_tasks, self._settings = script.tasks, script.settings
        self.names = tuple(e.name or f"event_{k + 1}" for k, e in enumerate(script.events))
        self.compiled: Any = None
        self._cache: dict[Any, NDArray[Any]] = {}
        self.acts_known: dict[str, tuple[int, ...] | None] = {}
        self.asked: dict[models.FactHolds, int] = {}
        self.turn: StepArrays

    def __getstate__(self) -> dict[str, Any]:
        """Leave functions and the last step behind when the run is copied or pickled."""
        kept = {**self.__dict__, "compiled": None, "_cache": {}}
        kept.pop("turn", None)
        return kept

    # -- what conditions ask ----------------------------------------------------------------

    def take_step(self, turn: StepArrays) -> None:
        """Take a step, which conditions are about from now on."""
        self.turn = turn
        self._cache.clear()

    @property
    def playing(self) -> NDArray[Any]:
        """Which agents took part in the step, and have not ended in it."""
        return self.turn.played & ~(self.turn.terminated | self.turn.truncated)

    def value(self, name: str, of: Any) -> NDArray[Any]:
        """Return a fact, read once per step unless the script changes the world."""

        def read() -> NDArray[Any]:
            common = COMMON.get(name)
            if common is not None:
                return common.read(self, self.states, of)
            return self.world.observe(name, self.turn.states, of)

        return self.once(name, of, read)

    def once(self, name: str, about: Any, ask: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return what `ask` says about a fact, calling it once while the fact stays the same."""
        key = name, about
        if key not in self._cache:
            self._cache[key] = ask()
        return self._cache[key]

    # -- an episode -------------------------------------------------------------------------

    def begin(self, which: Any = slice(None)) -> None:
        """Start the episodes of some environments."""
        self.states.clear(which)

    def words(self, agent: int, note: int) -> str | None:
        """Return what an agent reads: its goal, and the last message."""
        goal = self.goals.get(self.agents[agent])
        sentences = [f"Goal: {goal.words}"] if goal is not None and goal.words else []
        sentences += [self.messages[note - 1].content] if note else []
        return " ".join(sentences)[:MAX_HINT] or None

    def hints(self, env: int = 0) -> list[str | None]:
        """Return what every agent reads."""
        notes = self.states["note"][env].tolist()
        return [self.words(agent, note) for agent, note in enumerate(notes)]

    def all_words(self) -> list[list[str | None]]:
        """Return what every agent reads at the start, and after each message."""
        notes = range(len(self.messages) + 1)
        return [[self.words(agent, note) for note in notes] for agent in range(len(self.agents))]

    def settings(self, env: int = 0) -> dict[str, Any]:
        """Return the fields of the config that have changed, with their values."""
        chosen = self.states["settings"][env].tolist()
        pairs = zip(self._settings, chosen, strict=True)
        return {name: self.changes[k - 1].value for name, k in pairs if k}

    def measures(self, agent: int, env: int = 0) -> dict[str, float]:
        """Return the metrics of an agent."""
        found = self.states["metrics"][env, :, agent].tolist()
        return dict(zip(self.script.metrics, found, strict=True))

    def totals(self) -> dict[str, float]:
        """Return the metrics, summed over agents."""
        found = self.states["metrics"][0].sum(1).tolist()
        return dict(zip(self.script.metrics, found, strict=True))

    def potentials(self, states: Any) -> NDArray[np.float64]:
        """Return the world's facts that shaping pays for, shape (rows, environments, agents).

        Args:
            states: The records of the world, or ``None`` if it has none.
        """
        rows, shape = self.script.shaping, (len(self.states), len(self.agents))
        found = np.zeros((len(rows), *shape))
        for number, row in enumerate(rows):
            if row.fact not in COMMON:
                found[number] = self.world.observe(row.fact, states, row.of)
        return found

    def rebase(self, before: Any, states: Any, which: Any = slice(None)) -> None:
        """Let a change from outside pay nothing: measure growth from where things are now.

        Args:
            before: What `potentials` returned before the change.
            states: The records of the world after it.
            which: The environments.
        """
        moved = (self.potentials(states) - before)[:, which]
        self.states["potential"][which] += moved.swapaxes(0, 1)

    def change_world(
        self, change: Any, response: Any, envs: NDArray[np.int64], changes: Changes
    ) -> None:
        """Make something appear or vanish."""
        change(self.turn.states, envs, response.object, response.place)
        changes.touched[envs] = True
        for key in [key for key in self._cache if key[0] not in COMMON]:
            del self._cache[key]

    def finish(self, who: Mask, result: Result, changes: Changes) -> None:
        """End the episode of some agents by the rules of the script."""
        if np.count_nonzero(who):
            self.world.finish(self.turn.states, who, result)
            self.turn.terminated |= who
            self.turn.truncated &= ~who
            changes.ended |= any_agent(who)

    # -- the state is a value ---------------------------------------------------------------

    def digest(self, env: int = 0) -> str:
        """Return 64 bits that stand for the state in one environment."""
        return digest_bytes(self.states[env].tobytes())

    def get_state(self, env: int = 0) -> dict[str, Any]:
        """Return the state in one environment as a JSON-able value."""
        names = self.states.dtype.names or ()
        return {name: self.states[name][env].tolist() for name in names}

    def state_without(self, changes: Container[str]) -> dict[str, Any]:
        """Return what `get_state` returns, as if the script had not changed some settings."""
        names, state = self._settings, self.get_state()
        kept = zip(names, state["settings"], strict=True)
        return {**state, "settings": [0 if name in changes else k for name, k in kept]}

    def set_state(self, state: object, env: int = 0) -> None:
        """Restore what `get_state` returned.

        Raises:
            SnapshotError: If it does not fit; nothing has changed then.
        """
        row: Any = np.zeros((), self.states.dtype)
        try:
            for name in row.dtype.names or ():
                given = np.asarray(state[name])  # type: ignore[index]
                if not row[name].size:
                    continue
                if given.shape != row[name].shape or (
                    given.size and given.dtype.kind not in "iufb"
                ):
                    raise ValueError(f"{name!r} has another shape or type")
                row[name] = given
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise SnapshotError(f"the script's part of this snapshot is damaged: {error}") from None
        limits = {"settings": len(self.changes), "note": len(self.messages)}
        for name, most in limits.items():
            if row[name].size and not 0 <= row[name].min() <= row[name].max() <= most:
                raise SnapshotError(f"{name!r} of a script's state must be in 0..{most}")
        self.states[env] = row


def all_conditions(script: models.Script) -> list[Any]:
    """Return every condition of a script."""
    own = [c for goal in script.goals for c in (*goal.win_conditions, *goal.lose_conditions)]
    events = [event.when for event in script.events]
    return [*script.win_conditions, *script.lose_conditions, *own, *events]
