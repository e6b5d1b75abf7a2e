"""A script at work: its conditions, events and rewards, for many environments at once.

A world of its own is a batch of one. After each step, `ScriptRun.after` looks at the conditions,
lets events happen, pays rewards, and ends the episodes of those who have won or lost.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Result
from piase_gym.core.digest import digest_bytes
from piase_gym.core.facts import MAX_HINT
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
from piase_gym.core.script.turn import Changes, Mask, Scripted, Turn
from piase_gym.errors import SnapshotError

MOST_ROUNDS = 20
"""Events may set each other off so many times in one step."""


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


class _CompiledScript(NamedTuple):
    """The conditions of events, of winning and of losing."""

    events: list[Compiled]
    wins: Compiled | None
    losses: Compiled | None


class ScriptRun:
    """A script over the environments of a world.

    Attributes:
        script: The script.
        states: One record an environment; see `record`.
        milestones: The milestones that it keeps: its own, and those that conditions are about.
        changes: Its responses that change settings.
    """

    def __init__(self, script: models.Script, world: Scripted, config: Any, count: int) -> None:
        """Take a script for a world; it is compiled when it is first needed."""
        self.script, self.world, self.base = script, world, config
        self.agents = world.agents
        ends = [leaf for c in all_conditions(script) for leaf in models.leaves(c)]
        told = [leaf.milestone for leaf in ends if isinstance(leaf, models.MilestoneReached)]
        asked = [leaf.flag for leaf in ends if isinstance(leaf, models.FlagIsSet)]
        self.milestones = tuple(dict.fromkeys([*script.milestones, *told]))
        self.flags = tuple(dict.fromkeys([*script.flags, *asked]))
        self.states = Columns(count, record(script, len(self.agents), len(self.milestones)))
        self._messages = script.responses(models.Message)
        self.changes = script.responses(models.ChangeSetting)
        self._goals = {goal.agent_id: goal for goal in script.goals}
        self.names = tuple(e.name or f"event_{k + 1}" for k, e in enumerate(script.events))
        self._compiled: _CompiledScript | None = None
        self._cache: dict[Any, NDArray[Any]] = {}
        self.acts_known: dict[str, tuple[int, ...] | None] = {}
        self.asked: dict[models.FactHolds, int] = {}
        self.turn: Turn

    def __getstate__(self) -> dict[str, Any]:
        """Leave functions and the last step behind when it is copied or pickled."""
        kept = {**self.__dict__, "_compiled": None, "_cache": {}}
        kept.pop("turn", None)
        return kept

    @property
    def compiled(self) -> _CompiledScript:
        """The conditions as functions."""
        if self._compiled is None:
            script = self.script
            self._compiled = _CompiledScript(
                [compile_condition(event.when, self) for event in script.events],
                self._ends(script.win_conditions, script.win_logic, "win_conditions"),
                self._ends(script.lose_conditions, "any", "lose_conditions"),
            )
        return self._compiled

    def _ends(self, conditions: Sequence[Any], logic: str, own: str) -> Compiled | None:
        """Return what tells who has won, or lost: by the common conditions or by one's own."""
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
    def steps(self) -> NDArray[Any]:
        """Steps taken, shape (envs, 1)."""
        found: NDArray[Any] = self.states["t"][:, None]
        return found

    @property
    def reward(self) -> NDArray[Any]:
        """Rewards of the last step."""
        found: NDArray[Any] = self.states["reward"]
        return found

    @property
    def returns(self) -> NDArray[Any]:
        """Sums of rewards."""
        found: NDArray[Any] = self.states["returns"]
        return found

    @property
    def playing(self) -> NDArray[Any]:
        """Who took part in the step, and has not ended in it."""
        return self.turn.played & ~(self.turn.terminated | self.turn.truncated)

    @property
    def outcomes(self) -> NDArray[Any]:
        """What became of commands."""
        return self.turn.outcomes

    @property
    def acts(self) -> NDArray[Any]:
        """What everybody did."""
        return self.turn.acts

    def value(self, name: str, of: Any) -> NDArray[Any]:
        """Return a fact, read once a step unless the script changes the world."""

        def read() -> NDArray[Any]:
            common = COMMON.get(name)
            if common is not None:
                return common.read(self, None, of)
            return self.world.observe(name, self.turn.states, of)

        return self.once(name, of, read)

    def once(self, name: str, about: Any, ask: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return what is known about a fact; it is asked for once, as long as the fact is so."""
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
        told = [f"Goal: {goal.words}"] if goal is not None and goal.words else []
        told += [self._messages[note - 1].content] if note else []
        return " ".join(told)[:MAX_HINT] or None

    def hints(self, env: int = 0) -> list[str | None]:
        """Return what every agent reads."""
        notes = self.states["note"][env].tolist()
        return [self.words(agent, note) for agent, note in enumerate(notes)]

    def all_words(self) -> list[list[str | None]]:
        """Return what every agent reads at the start, and after each message."""
        notes = range(len(self._messages) + 1)
        return [[self.words(agent, note) for note in notes] for agent in range(len(self.agents))]

    def settings(self, env: int = 0) -> dict[str, Any]:
        """Return the fields of the config that have changed, with their values."""
        chosen = self.states["settings"][env].tolist()
        pairs = zip(self.script.settings, chosen, strict=True)
        return {name: self.changes[k - 1].value for name, k in pairs if k}

    def measures(self, agent: int, env: int = 0) -> dict[str, float]:
        """Return the metrics of an agent."""
        found = self.states["metrics"][env, :, agent].tolist()
        return dict(zip(self.script.metrics, found, strict=True))

    def totals(self) -> dict[str, float]:
        """Return the metrics, summed over agents."""
        found = self.states["metrics"][0].sum(1).tolist()
        return dict(zip(self.script.metrics, found, strict=True))

    def after(self, turn: Turn) -> Changes:
        """Do what follows from a step; changes the turn and the states of the world."""
        self.turn, states = turn, self.states
        self._cache.clear()
        envs = any_agent(turn.played)
        states["t"] += envs
        none = np.zeros_like(turn.played)
        touched, ended, settings = (np.zeros(len(states), np.bool_) for _ in range(3))
        changes = Changes(none, touched, ended, settings)
        self._note_milestones(turn.milestones)
        self._shape(turn)
        states["reward"] = turn.rewards
        states["returns"] += turn.rewards
        rounds = 0
        while rounds < MOST_ROUNDS and self._happen(rounds == 0, changes):
            rounds += 1
        self._judge(changes)
        if changes.any:
            states["returns"] += turn.rewards - states["reward"]
            states["reward"] = turn.rewards
        return changes

    def _note_milestones(self, reached: Mapping[str, Mask]) -> None:
        for number, name in enumerate(self.milestones):
            if name in reached:
                self.states["reached"][:, number] |= reached[name]

    def _shape(self, turn: Turn) -> None:
        """Pay for what has grown; a first look pays nothing."""
        for number, row in enumerate(self.script.shaping):
            now = np.broadcast_to(self.value(row.fact, row.of), turn.played.shape)
            last = self.states["potential"][:, number]
            paid = np.where(self.steps > 1, row.weight * (now - last), 0.0)
            if row.agent_id is not None:
                paid = paid * [[name == row.agent_id for name in self.agents]]
            turn.rewards += np.where(turn.played, paid, 0.0)
            self.states["potential"][:, number] = np.where(turn.played, now, last)

    def potentials(self, states: Any) -> NDArray[np.float64]:
        """Return what shaping pays for of the world's facts, shape (rows, environments, agents).

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
            before: What `potentials` was before the change.
            states: The records of the world after it.
            which: The environments.
        """
        moved = (self.potentials(states) - before)[:, which]
        self.states["potential"][which] += moved.swapaxes(0, 1)

    # -- events -----------------------------------------------------------------------------

    def _happen(self, first: bool, changes: Changes) -> bool:
        """Let the events happen that are due; tell whether they may set off others."""
        again = False
        for number, event in enumerate(self.script.events):
            compiled = self.compiled.events[number]
            now = compiled.holds() & self.turn.played
            held = self.states["held"][:, number]
            was = held.view(np.bool_)
            if event.on == "becomes":
                due = now & ~was
            else:
                due = now if event.on == "holds" else was & ~now & self.turn.played
            held[...] = now
            if (first or event.on != "holds") and np.count_nonzero(due):
                again |= self._set_off(number, event, due, compiled.own, changes)
        return again

    def _set_off(
        self, number: int, event: models.Event, due: Mask, own: bool, changes: Changes
    ) -> bool:
        """Count what is due, and respond as often as is allowed; tell whether that stirs others."""
        fired, most = self.states["fired"][:, number], event.most
        if event.count > 1:
            counts = self.states["counts"][:, number]
            counts += due
            due = due & (counts % event.count == 0)
        if own and most < models.WITHOUT_LIMIT:  # the subjects cause it one after the other
            due = due & (fired[:, None] + np.cumsum(due, 1) <= most)
        total = count_agents(due) if own else any_agent(due) & (fired < most)
        (envs,) = total.nonzero()
        if not envs.size:
            return False
        fired += total
        total = total[envs, None].astype(np.int64)
        rows = np.full((len(envs), 2), -1)
        if own:
            times = due[envs].astype(np.int64)
            row, agent = times.nonzero()
            rows = np.stack([envs[row], agent], 1)
        else:  # it happens once, whomever it is about
            times = total * self.turn.played[envs]
            rows[:, 0] = envs
        changes.happened.append((number, rows))
        for response in event.response:
            self._respond(response, envs, times, total, changes)
        return any(isinstance(r, _STIRRING) for r in event.response)

    def _whom(self, name: str | None, times: Any, total: Any, played: Mask) -> Any:
        """Return how often a response is for each agent, shape (envs of it, agents).

        Args:
            name: Whom the response names.
            times: How often each agent caused it; of what nobody caused, it is once for all.
            total: How often it happened, shape (envs of it, 1).
            played: Who took part in the step.
        """
        if name is None:
            return times
        if name == "all":
            return total * played
        if name == "others":
            return np.maximum(total - times, 0) * played
        return total * [[agent == name for agent in self.agents]]

    def _respond(
        self, response: Any, envs: NDArray[np.int64], times: Any, total: Any, changes: Changes
    ) -> None:
        """Carry out one response in the environments where an event has happened."""
        if isinstance(response, models.ChangeSetting):
            place = self.script.settings.index(response.setting)
            self.states["settings"][envs, place] = self.changes.index(response) + 1
            changes.settings[envs] = True
        elif isinstance(response, models.SpawnObject | models.RemoveObject):
            self._change_world(response, envs, changes)
        else:
            played = self.turn.played[envs]
            whom = self._whom(response.agent_id, times, total, played)
            if isinstance(response, models.GiveReward):
                self.turn.rewards[envs] += response.amount * whom * played
            elif isinstance(response, models.AddMetric):
                number = self.script.metrics.index(response.metric)
                self.states["metrics"][envs, number] += response.amount * whom
            else:
                row, agents = whom.nonzero()
                self._tell(response, envs[row], agents, changes)

    def _tell(
        self,
        response: Any,
        envs: NDArray[np.int64],
        agents: NDArray[np.int64],
        changes: Changes,
    ) -> None:
        """Carry out a response that is the same however often it is due: one a pair."""
        if isinstance(response, models.Message):
            self.states["note"][envs, agents] = self._messages.index(response) + 1
            changes.told[envs, agents] = True
        elif isinstance(response, models.SetFlag):
            self.states["flags"][envs, self.flags.index(response.flag_name), agents] = (
                response.value
            )
        elif isinstance(response, models.LogMilestone):
            self._log(response.milestone_name, envs, agents, changes)
        else:
            who = np.zeros_like(self.turn.played)
            who[envs, agents] = True
            self._finish(who & self.playing, Result(response.result), changes)

    def _log(
        self, name: str, envs: NDArray[np.int64], agents: NDArray[np.int64], changes: Changes
    ) -> None:
        """Note a milestone of agents that have not reached it before."""
        number = self.milestones.index(name)
        new = self.states["reached"][envs, number, agents] == 0
        self.states["reached"][envs, number, agents] = 1
        found = changes.reached.setdefault(name, np.zeros_like(self.turn.played))
        found[envs[new], agents[new]] = True

    def _change_world(self, response: Any, envs: NDArray[np.int64], changes: Changes) -> None:
        """Let something appear or vanish."""
        change = self.world.spawn if isinstance(response, models.SpawnObject) else self.world.remove
        change(self.turn.states, envs, response.object, response.place)
        changes.touched[envs] = True
        for key in [key for key in self._cache if key[0] not in COMMON]:
            del self._cache[key]

    # -- ends -------------------------------------------------------------------------------

    def _judge(self, changes: Changes) -> None:
        """End the episode of those who have won, and of those who have lost."""
        script, turn = self.script, self.turn
        _, wins, losses = self.compiled
        if wins is not None:
            won = wins.holds() & turn.played & ~turn.terminated
            if won.any():
                turn.rewards += script.win_reward * won
                for name, goal in self._goals.items():
                    turn.rewards += goal.reward * won * [[name == agent for agent in self.agents]]
                self._finish(won, Result.WON, changes)
        if losses is not None:
            lost = losses.holds() & turn.played & ~turn.terminated
            if lost.any():
                turn.rewards += script.lose_reward * lost
                self._finish(lost, Result.LOST, changes)
        if np.count_nonzero(turn.truncated) and script.tasks:
            self.world.finish(turn.states, turn.truncated & turn.played, Result.LOST)

    def _finish(self, who: Mask, result: Result, changes: Changes) -> None:
        """End the episode of some agents by the rules of the script."""
        if who.any():
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
        """Return what `get_state` does, as if the script had not changed some settings."""
        names, state = self.script.settings, self.get_state()
        kept = zip(names, state["settings"], strict=True)
        return {**state, "settings": [0 if name in changes else k for name, k in kept]}

    def set_state(self, state: object, env: int = 0) -> None:
        """Take up what `get_state` returned.

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
        limits = {"settings": len(self.changes), "note": len(self._messages)}
        for name, most in limits.items():
            if row[name].size and not 0 <= row[name].min() <= row[name].max() <= most:
                raise SnapshotError(f"{name!r} of a script's state must be in 0..{most}")
        self.states[env] = row


_STIRRING = models.SetFlag, models.LogMilestone, models.SpawnObject, models.RemoveObject
"""Responses after which other conditions may hold in the same step."""


def all_conditions(script: models.Script) -> list[Any]:
    """Return every condition of a script."""
    own = [c for goal in script.goals for c in (*goal.win_conditions, *goal.lose_conditions)]
    events = [event.when for event in script.events]
    return [*script.win_conditions, *script.lose_conditions, *own, *events]
