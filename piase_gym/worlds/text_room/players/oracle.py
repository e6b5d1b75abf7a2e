"""TextRoom's oracle: it sees the whole state, and searches for a shortest way to win.

The search is breadth-first over the world's own rules, among the commands that matter (see
`relevance`). A plan for one agent is as short as these commands allow. If nobody can win alone, the
agents get a common plan: first with one command after the other; then the commands that can be
carried out at the same time are put into the same step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from piase_gym.core.commands import Command, Outcome
from piase_gym.worlds.text_room.observe.visibility import look_around
from piase_gym.worlds.text_room.players.relevance import RelevantThings, needs_of
from piase_gym.worlds.text_room.rules.legality import Scene, is_legal
from piase_gym.worlds.text_room.rules.step import successor
from piase_gym.worlds.text_room.state import Plot, RoomState
from piase_gym.worlds.text_room.world import TextRoom

MOST_NODES = 200_000
"""States after which a search gives up."""
WAIT = Command("wait")
FOREVER = 2**31

Act = tuple[int, Command]
"""An agent and what it does, while the others wait."""


class Node(NamedTuple):
    """A state in the search, and how it was reached."""

    state: RoomState
    before: Node | None
    act: Act | None
    depth: int


class TextRoomOracle:
    """Plays TextRoom with the whole state in view.

    Args:
        world: The world to read; it is never changed.
    """

    def __init__(self, world: TextRoom) -> None:
        self.world = world
        self._plot: Plot | None = None
        self._steps: list[dict[int, Command]] = []
        self._foreseen: dict[int, Any] = {}
        self._first = 0

    def plan(self, agent: int) -> list[Command] | None:
        """Return a shortest plan for an agent alone, or ``None`` if it cannot win alone."""
        acts = Search(self.world, [agent]).run()
        return None if acts is None else [command for _, command in acts]

    def certificate(self, agent: int) -> int | None:
        """Return how many steps an agent would need to win alone, or ``None`` if it cannot."""
        plan = self.plan(agent)
        return None if plan is None else len(plan)

    def team_plan(self) -> list[dict[int, Command]] | None:
        """Return what each agent does in each step so that all win, or ``None``."""
        world = self.world
        playing = [k for k, alive in enumerate(world.alive) if alive]
        if world.plot.story.ends == "each":
            return _side_by_side(world, playing)
        best: list[Act] | None = None
        for agent in playing:
            found = Search(world, [agent]).run()
            if found is not None and (best is None or len(found) < len(best)):
                best = found
        if best is None and len(playing) > 1:
            best = Search(world, playing).run()
        return None if best is None else in_parallel(world, best)

    def act(self, agent: int) -> Command:
        """Return the next command of an agent; it waits if there is nothing for it to do."""
        world = self.world
        t = world.state_of.t
        if self._plot is not world.plot or self._foreseen.get(t) != key_of(world.state_of):
            self._plan_anew()
        step = t - self._first
        command = self._steps[step].get(agent, WAIT) if step < len(self._steps) else WAIT
        return command if world.alive[agent] else WAIT

    def _plan_anew(self) -> None:
        """Plan from the present state, and note the states that the plan leads to."""
        world = self.world
        self._plot, self._first = world.plot, world.state_of.t
        self._steps = self.team_plan() or []
        state = world.state_of.copy()
        self._foreseen = {state.t: key_of(state)}
        for step in self._steps:
            do_step(world, state, step)
            self._foreseen[state.t] = key_of(state)


def key_of(state: RoomState) -> tuple[Any, ...]:
    """Return a key that tells states apart, except by time, words and bodies."""
    return (
        tuple(state.rooms),
        tuple(state.place),
        tuple(state.hidden),
        tuple(state.is_open),
        tuple(state.locked),
        tuple(map(tuple, map(sorted, state.flags))),
        tuple(state.fired),
        tuple(state.status),
        tuple(sorted(state.counts.items())) if state.counts else (),
    )


def do_step(world: TextRoom, state: RoomState, acts: dict[int, Command]) -> None:
    """Carry out one step of a state; a command that is not legal in it does nothing."""
    plot, agents = world.plot, world.agents
    legal = {
        agent: command
        for agent, command in acts.items()
        if is_legal(Scene(plot, state, agents, agent, look_around(plot, state, agent)), command)
    }
    successor(plot, state, agents, legal, world.config.max_steps)


class Search:
    """A breadth-first search in which some agents act, one after the other."""

    def __init__(self, world: TextRoom, agents: Sequence[int]) -> None:
        """Find out what matters."""
        self.world, self.plot = world, world.plot
        self.agents = list(agents)
        self.needs: RelevantThings = needs_of(world.plot, world.state_of)
        setups = world.plot.story.agent_setup
        events = world.plot.story.events
        self._timed = (
            any(stat.per_step for setup in setups for stat in setup.stats.values())
            or any(event.trigger.type == "step_reached" for event in events)
            or self.needs.waits
            or "coming" in world.state_of.status
        )

    def run(self) -> list[Act] | None:
        """Return the shortest sequence of acts that wins, or ``None``."""
        root = Node(self.world.state_of.copy(), None, None, 0)
        if self._won(root.state):
            return []
        seen = {self._key(root.state)}
        queue = deque([root])
        left = self.world.config.max_steps - root.state.t
        while queue and len(seen) < MOST_NODES:
            node = queue.popleft()
            if node.depth >= left:
                continue
            for agent in self.agents:
                useful = self._useful(node.state, agent)
                for command in useful if node.before else (*useful, WAIT):
                    after = self._state_after(node.state, agent, command)
                    if after is None or (key := self._key(after)) in seen:
                        continue
                    child = Node(after, node, (agent, command), node.depth + 1)
                    if self._won(after):
                        return _way_to(child)
                    if "playing" in after.status:
                        seen.add(key)
                        queue.append(child)
        return None

    def _key(self, state: RoomState) -> Any:
        """Return a key that tells the states of this search apart."""
        key = key_of(state)
        if self.needs.numbers:
            key = (*key, tuple(tuple(sorted(stats.items())) for stats in state.stats))
        return (*key, state.t) if self.needs.waits else key

    def _won(self, state: RoomState) -> bool:
        """Return whether the agents of this search have won."""
        return all(state.status[agent] == "won" for agent in self.agents)

    def _state_after(self, state: RoomState, agent: int, command: Command) -> RoomState | None:
        """Return the state after a command, or ``None`` if it had no effect."""
        after = state.copy()
        agents = self.world.agents
        effects = successor(self.plot, after, agents, {agent: command}, FOREVER, self._timed)
        return after if effects[agent].outcome is Outcome.OK or after.counts else None

    def _useful(self, state: RoomState, agent: int) -> Iterator[Command]:
        """Yield the legal commands of an agent that matter."""
        if state.status[agent] != "playing":
            return
        plot, needs = self.plot, self.needs
        sight = look_around(plot, state, agent)
        scene = Scene(plot, state, self.world.agents, agent, sight)
        for direction, (_, door) in plot.exits[state.rooms[agent]].items():
            if door < 0 or state.is_open[door]:
                yield Command("go", {"direction": direction})
        for k in sight.reach:
            if k in needs.things:
                yield from self._on_thing(state, k, sight.held)
        for item, _ in sight.here:
            if item in needs.items and item < plot.items:
                yield Command("take", {"item_name": plot.objects[item]})
        for item, room in needs.drops:
            if item in sight.held and room == state.rooms[agent]:
                yield Command("drop", {"item_name": plot.objects[item]})
        for command in needs.commands:
            if is_legal(scene, command):
                yield command
        if len(self.agents) > 1:
            yield from self._handing_over(sight.held, sight.others)
        if needs.waits:
            yield WAIT

    def _on_thing(self, state: RoomState, k: int, held: Sequence[int]) -> Iterator[Command]:
        """Yield the commands that help to reach what is in or behind a thing."""
        plot, name = self.plot, self.plot.objects[k]
        if plot.opens[k] and not state.is_open[k]:
            if not state.locked[k]:
                yield Command("open", {"target_object": name})
            elif plot.keys[k] in held:
                key = plot.objects[plot.keys[k]]
                yield Command("use", {"item_name": key, "target_object": name})
        place = len(plot.rooms) + k
        if any(p == place and state.hidden[n] for n, p in enumerate(state.place)):
            yield Command("search", {"target_object": name})
            if not plot.opens[k] and k >= plot.items:
                yield Command("open", {"target_object": name})
        if k in self.needs.reads:
            yield Command("read", {"target_object": name})

    def _handing_over(self, held: Sequence[int], others: Sequence[int]) -> Iterator[Command]:
        """Yield the commands of one agent by which another can get an item."""
        for item in held:
            if item in self.needs.items:
                name = self.plot.objects[item]
                for other in others:
                    agent = self.world.agents[other]
                    yield Command("give", {"item_name": name, "agent_id": agent})


def _way_to(node: Node) -> list[Act]:
    """Return the acts that lead to a node."""
    acts: list[Act] = []
    now: Node | None = node
    while now is not None and now.act is not None:
        acts.append(now.act)
        now = now.before
    return acts[::-1]


def _side_by_side(world: TextRoom, playing: Sequence[int]) -> list[dict[int, Command]] | None:
    """Plan for agents that each win by themselves, as if they were alone."""
    plans = {agent: Search(world, [agent]).run() or [] for agent in playing}
    length = max(map(len, plans.values()), default=0)
    steps: list[dict[int, Command]] = [{} for _ in range(length)]
    for agent, acts in plans.items():
        for step, (_, command) in zip(steps, acts, strict=False):
            step[agent] = command
    return steps or None


def in_parallel(world: TextRoom, acts: Sequence[Act]) -> list[dict[int, Command]]:
    """Move acts into earlier steps while the plan still wins; each agent keeps its order."""
    steps = [{agent: command} for agent, command in acts]
    if len({agent for agent, _ in acts}) > 1:
        number = 1
        while number < len(steps):
            merged = _moved_up(steps, number)
            if merged is not None and _wins(world, merged):
                steps = merged
            else:
                number += 1
    return steps


def _moved_up(steps: list[dict[int, Command]], number: int) -> list[dict[int, Command]] | None:
    """Return the plan with one step joined to the step before it, if nobody acts in both."""
    one, two = steps[number - 1], steps[number]
    if one.keys() & two.keys():
        return None
    return [*steps[: number - 1], {**one, **two}, *steps[number + 1 :]]


def _wins(world: TextRoom, steps: Sequence[dict[int, Command]]) -> bool:
    """Return whether a plan wins from the present state."""
    state = world.state_of.copy()
    for step in steps:
        do_step(world, state, step)
    return "won" in state.status and "playing" not in state.status
