"""A script at work: its conditions, events and rewards, for many environments at once.

A single world is a batch of one. After each step, `ScriptRun.after` evaluates the conditions, lets
events happen, pays rewards, and ends the episodes of agents that have won or lost.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Result
from piase_gym.core.digest import digest_bytes
from piase_gym.core.facts import MAX_HINT
from piase_gym.core.limits import MOST_STEPS
from piase_gym.core.script import models
from piase_gym.core.script.columns import Columns
from piase_gym.core.script.conditions import (
    Compiled,
    any_agent,
    any_of,
    combine,
    compile_condition,
    count_agents,
)
from piase_gym.core.script.observables import COMMON
from piase_gym.core.script.responses import STIRRING, DueEvent, Respond, prepare
from piase_gym.core.script.turn import Changes, Mask, StepArrays
from piase_gym.errors import SnapshotError

if TYPE_CHECKING:
    from piase_gym.core.world import World

MOST_ROUNDS = 20
"""The most rounds in one step in which events may set each other off."""


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


class _Event(NamedTuple):
    """An event, ready to happen: its condition, its responses, and its part of the states.

    Attributes:
        condition: When it happens.
        on: When it happens in relation to the condition; see `models.Event`.
        nth: Only every nth time counts.
        most: How often it may happen in an episode.
        responses: What it does.
        stirs: Whether other events may happen in the same step because of it.
        held: For whom the condition held in the last step.
        fired: How often it has happened.
        counts: How often it was due.
    """

    condition: Compiled
    on: str
    nth: int
    most: float
    responses: tuple[Respond, ...]
    stirs: bool
    held: Mask
    fired: NDArray[Any]
    counts: NDArray[Any]


class _CompiledScript(NamedTuple):
    """The events, and the conditions of winning and of losing."""

    events: list[_Event]
    wins: Compiled | None
    losses: Compiled | None


class ScriptRun:
    """A script over the environments of a world.

    Attributes:
        script: The script.
        states: One record per environment; see `record`.
        milestones: The milestones that it keeps: its own, and those that conditions are about.
        changes: Its responses that change settings.
    """

    def __init__(
        self, script: models.Script, world: World[Any, Any], config: Any, count: int
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
        self._goals = {goal.agent_id: goal for goal in script.goals}
        self._has_tasks, self._settings = script.tasks, script.settings
        self.names = tuple(e.name or f"event_{k + 1}" for k, e in enumerate(script.events))
        self._compiled: _CompiledScript | None = None
        self._cache: dict[Any, NDArray[Any]] = {}
        self.acts_known: dict[str, tuple[int, ...] | None] = {}
        self.asked: dict[models.FactHolds, int] = {}
        self.turn: StepArrays

    def __getstate__(self) -> dict[str, Any]:
        """Leave functions and the last step behind when the run is copied or pickled."""
        kept = {**self.__dict__, "_compiled": None, "_cache": {}}
        kept.pop("turn", None)
        return kept

    @property
    def compiled(self) -> _CompiledScript:
        """The conditions as functions."""
        if self._compiled is None:
            script = self.script
            self._compiled = _CompiledScript(
                [self._prepared(number, event) for number, event in enumerate(script.events)],
                self._ends(script.win_conditions, script.win_logic, "win_conditions"),
                self._ends(script.lose_conditions, "any", "lose_conditions"),
            )
        return self._compiled

    def _prepared(self, number: int, event: models.Event) -> _Event:
        """Return an event with everything that is computed once."""
        states = self.states
        return _Event(
            condition=compile_condition(event.when, self),
            on=event.on,
            nth=event.count,
            most=event.most,
            responses=tuple(prepare(response, self) for response in event.response),
            stirs=any(isinstance(response, STIRRING) for response in event.response),
            held=states["held"][:, number].view(np.bool_),
            fired=states["fired"][:, number],
            counts=states["counts"][:, number],
        )

    def _ends(self, conditions: Sequence[Any], logic: str, own: str) -> Compiled | None:
        """Return the condition of having won, or lost: by the common conditions or one's own."""
        found = []
        if conditions:
            common = combine([compile_condition(c, self) for c in conditions], logic)
            found.append(any_of(self, common) if self.script.ends == "together" else common)
        for name, goal in self._goals.items():
            if theirs := [compile_condition(c, self) for c in getattr(goal, own)]:
                found.append(combine([combine(theirs, "any"), self._is(name)], "all"))
        return combine(found, "any") if found else None

    def _is(self, name: str) -> Compiled:
        """Return the condition that the subject is an agent."""
        who = np.array([[agent == name for agent in self.agents]])
        return Compiled(lambda: who, True)

    # -- what conditions ask ----------------------------------------------------------------

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
        goal = self._goals.get(self.agents[agent])
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

    def after(self, turn: StepArrays) -> Changes:
        """Do what follows from a step; this changes the turn and the states of the world."""
        self.turn, states = turn, self.states
        self._cache.clear()
        envs = any_agent(turn.played)
        steps = states["t"]
        steps += envs
        touched, ended, settings = np.zeros((3, len(states)), np.bool_)
        changes = Changes(np.zeros(turn.played.shape, np.bool_), touched, ended, settings)
        self._note_milestones(turn.milestones)
        self._shape(turn)
        reward, returns = states["reward"], states["returns"]
        reward[...] = turn.rewards
        returns += turn.rewards
        rounds = 0
        while rounds < MOST_ROUNDS and self._happen(rounds == 0, changes):
            rounds += 1
        self._judge(changes)
        if changes.any:
            returns += turn.rewards - reward
            reward[...] = turn.rewards
        return changes

    def _note_milestones(self, reached: Mapping[str, Mask]) -> None:
        for number, name in enumerate(self.milestones):
            if name in reached:
                self.states["reached"][:, number] |= reached[name]

    def _shape(self, turn: StepArrays) -> None:
        """Pay for facts that have grown; a first look pays nothing."""
        for number, row in enumerate(self.script.shaping):
            now = np.broadcast_to(self.value(row.fact, row.of), turn.played.shape)
            last = self.states["potential"][:, number]
            paid = np.where(self.states["t"][:, None] > 1, row.weight * (now - last), 0.0)
            if turn.entered is not None:
                paid = np.where(turn.entered, 0.0, paid)
            if row.agent_id is not None:
                paid = paid * [[name == row.agent_id for name in self.agents]]
            turn.rewards += np.where(turn.played, paid, 0.0)
            self.states["potential"][:, number] = np.where(turn.played, now, last)

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

    # -- events -----------------------------------------------------------------------------

    def _happen(self, first: bool, changes: Changes) -> bool:
        """Let the events that are due happen; return whether they may set off others."""
        again, played = False, self.turn.played
        for number, event in enumerate(self.compiled.events):
            now = event.condition.holds() & played
            if event.on == "holds":
                due = now if first else None
            elif event.on == "becomes":
                due = now & ~event.held
            else:
                due = event.held & ~now & played
            event.held[...] = now
            if due is not None and np.count_nonzero(due):
                again |= self._set_off(number, event, due, changes)
        return again

    def _set_off(self, number: int, event: _Event, due: Mask, changes: Changes) -> bool:
        """Count what is due, respond as often as allowed; return whether that may stir others."""
        fired, own, limited = event.fired, event.condition.own, event.most < MOST_STEPS
        if event.nth > 1:
            counts = event.counts
            counts += due
            due = due & (counts % event.nth == 0)
        total: NDArray[Any]
        times: NDArray[Any]
        if own:
            if limited:  # the subjects cause it one after the other
                due = due & (fired[:, None] + np.cumsum(due, 1) <= event.most)
            total = count_agents(due)
        else:
            total = any_agent(due)
            if limited:
                total &= fired < event.most
        (envs,) = total.nonzero()
        if not envs.size:
            return False
        fired += total
        played = self.turn.played[envs]
        if own:
            times = due[envs].astype(np.int64)
            row, agent = times.nonzero()
            rows = np.stack([envs[row], agent], 1)
        else:  # it happens once, whomever it is about
            times, rows = played, np.empty((len(envs), 2), np.int64)
            rows[:, 0], rows[:, 1] = envs, -1
        changes.happened.append((number, rows))
        found = DueEvent(envs, times, total, played, self.agents)
        for respond in event.responses:
            respond(found, changes)
        return event.stirs

    def change_world(
        self, change: Any, response: Any, envs: NDArray[np.int64], changes: Changes
    ) -> None:
        """Make something appear or vanish."""
        change(self.turn.states, envs, response.object, response.place)
        changes.touched[envs] = True
        for key in [key for key in self._cache if key[0] not in COMMON]:
            del self._cache[key]

    # -- ends -------------------------------------------------------------------------------

    def _judge(self, changes: Changes) -> None:
        """End the episode of agents that have won, and of agents that have lost."""
        script, turn = self.script, self.turn
        _, wins, losses = self.compiled
        if wins is not None:
            won = wins.holds() & turn.played & ~turn.terminated
            if won.any():
                turn.rewards += script.win_reward * won
                for name, goal in self._goals.items():
                    turn.rewards += goal.reward * won * [[name == agent for agent in self.agents]]
                self.finish(won, Result.WON, changes)
        if losses is not None:
            lost = losses.holds() & turn.played & ~turn.terminated
            if lost.any():
                turn.rewards += script.lose_reward * lost
                self.finish(lost, Result.LOST, changes)
        if self._has_tasks and np.count_nonzero(turn.truncated):
            self.world.finish(turn.states, turn.truncated & turn.played, Result.LOST)

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
