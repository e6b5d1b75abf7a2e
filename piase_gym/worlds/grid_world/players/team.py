"""How the oracle plans for several agents: one after the other, in space and time.

Each agent plans around those before it. The first is the one that opens the way, if there is
something to open; the others count on the time at which it does. If no order of planning works, as
in a passage too narrow for two to pass, agents hand the key on: see `Team.relay`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world.players.search import (
    AFTER,
    BEFORE,
    NEVER,
    STEPS,
    ActionCosts,
    AgentPose,
    Budget,
    Reservations,
    TimedPlan,
    cheapest,
    distances,
    fees_of,
    search,
)
from piase_gym.worlds.grid_world.players.successors import (
    INTERACT,
    MOVE_OF,
    STAY,
    Ground,
    Successors,
)
from piase_gym.worlds.grid_world.rules import events


@dataclass(frozen=True)
class Scene:
    """The true state at one moment."""

    rules: Successors = field(compare=False, repr=False)
    ground: Ground
    walkers: tuple[AgentPose, ...]
    alive: tuple[bool, ...]
    arrived: tuple[bool, ...]
    rank: tuple[int, ...]
    """When each agent acts within a step."""
    solid: bool
    """Whether agents block each other."""
    episode: int
    t: int
    left: int
    """Steps until the episode is truncated."""
    fees: ActionCosts
    """What actions cost, as the rewards say; if energy is used up, all cost a step."""


def look(rules: Successors) -> Scene:
    """Read the true state of a world."""
    world = rules.world
    record, table = world.states[0], world.tables[0]
    side, width, height = world.side, int(record["width"]), int(record["height"])
    n, stride = int(record["agents"]), width + 2
    cells, rim = record["cells"].tobytes(), bytes((kinds.OUTSIDE,))
    lines = (cells[start : start + width] for start in range(0, side * height, side))
    rows = zip(*(record[name][:n].tolist() for name in ("x", "y", "heading", "carry")), strict=True)
    order = record["order"][:n].tolist()
    return Scene(
        rules,
        Ground((rim + rim).join((rim * width, *lines, rim * width)).join((rim, rim)), stride),
        tuple(AgentPose((y + 1) * stride + x + 1, heading, carry) for x, y, heading, carry in rows),
        tuple(record["alive"][:n].astype(bool).tolist()),
        tuple(fate == events.ARRIVED for fate in record["fate"][:n].tolist()),
        tuple(order.index(agent) for agent in range(n)),
        not table["pass_through"],
        int(record["seed"]),
        int(record["t"]),
        int(table["max_steps"] - record["t"]),
        STEPS
        if table["energy"]
        else fees_of(*table["reward"][[events.MOVE, events.BLOCKED, events.PICK_UP]].tolist()),
    )


def lone(scene: Scene, agent: int, budget: Budget | None = None) -> TimedPlan | None:
    """Return the best way for an agent as if it were alone, or None if there is none.

    The cheapest is taken if there is time for it, else the shortest.
    """
    me = scene.walkers[agent]
    track = cheapest(scene.rules, scene.ground, me, scene.fees, budget)
    if track is not None and len(track.actions) > scene.left:
        return cheapest(scene.rules, scene.ground, me, budget=budget)
    return track


class Team:
    """A plan for all living agents of a scene."""

    def __init__(self, scene: Scene, strays: dict[int, int]) -> None:
        """Plan; `strays` says which agents to expect to stay where they are, and for how long."""
        self.scene, self.strays, self.budget = scene, strays, Budget()
        self.members = [a for a, alive in enumerate(scene.alive) if alive and a not in strays]
        self.stand = {scene.walkers[a].place: a for a, alive in enumerate(scene.alive) if alive}
        self.ways: dict[int, TimedPlan] = {}
        self.tracks: dict[int, TimedPlan] = {}
        self.passing = False
        """Whether the plan is for one step only."""
        if sum(scene.alive) == 1:
            for agent in self.members:
                track = lone(scene, agent, self.budget)
                self.tracks[agent] = track or self.parked(agent)
        else:
            self.arrange()

    def arrange(self) -> None:
        """Use the first order in which all find a way; else hand on the key, or use the best."""
        for order, hold in self.orders():
            tracks = self.attempt(order, hold)
            if not self.tracks or self.count(tracks) > self.count(self.tracks):
                self.tracks = tracks
            if self.count(tracks) == len(order):
                return
        if self.ways:
            self.passing = True
            self.tracks = {agent: self.parked(agent) for agent in self.members}
            agent, action = self.relay()
            self.tracks[agent] = self.one_step(agent, action)

    @staticmethod
    def count(tracks: dict[int, TimedPlan]) -> int:
        """Return how many of the tracks arrive."""
        return sum(track.arrives for track in tracks.values())

    def orders(self) -> Iterable[tuple[list[int], int]]:
        """Yield orders of planning, and for how long those not yet planned keep their places.

        The order by number comes first. In order of distance, with all places kept, every agent
        finds a way if nothing needs opening, because the nearer ones leave.
        """
        far = distances(self.scene.ground)
        near = sorted(self.members, key=lambda a: far[self.scene.walkers[a].place])
        first = self.openers()
        for order, hold in ((self.members, 2), (near, NEVER), (near, 2), (near[::-1], 2)):
            yield first + [a for a in order if a not in first], hold
        yield near, NEVER

    def openers(self) -> list[int]:
        """Return the agent that can open the way for itself in the fewest steps, if any."""
        ground, walkers = self.scene.ground, self.scene.walkers
        if not any(code in ground.cells for code in (kinds.KEY, kinds.LOCKED, kinds.CLOSED)):
            return []
        for agent in self.members:
            way = search(self.scene.rules, ground, walkers[agent], budget=self.budget)
            if way is not None and way.arrives and way.changes:
                self.ways[agent] = way
        return [min(self.ways, key=self.cost)] if self.ways else []

    def cost(self, agent: int) -> tuple[int, int]:
        """Return the steps that an opener needs, and its number."""
        return len(self.ways[agent].actions), agent

    def relay(self) -> tuple[int, int]:
        """Return which agent does what in the next step, while all others stay.

        An agent that can walk up to the key or the door does so. If another one is in the way, the
        key is dropped on the one free place between the two, from where the other can take it; most
        of this method is about making that place. Every time, the key gets closer to the door.
        """
        free = [agent for agent in self.ways if self.obstacle(agent) is None]
        if free:
            agent = min(free, key=self.cost)
            return agent, self.ways[agent].actions[0]
        agent = min(self.ways, key=self.cost)
        other, gap = self.obstacle(agent) or (agent, 0)
        me, steps = self.scene.walkers[agent], self.scene.ground.steps
        way = [place for place in self.ways[agent].places if place != me.place]
        towards = steps.index(way[0] - me.place)
        if gap > 2 or (gap == 1 and me.heading != towards):
            return agent, MOVE_OF[towards]
        if gap == 2 and me.heading == towards:
            return agent, INTERACT if me.carry else MOVE_OF[towards]
        away = self.make_room(other, (me.place, way[0])) if other in self.members else None
        back = self.make_room(agent, (way[0],))
        return away or back or (agent, MOVE_OF[towards])

    def obstacle(self, agent: int) -> tuple[int, int] | None:
        """Return who is in an opener's way to what it opens or takes first, and how far off."""
        way = self.ways[agent]
        stand = self.stand if self.scene.solid else {}
        path = list(dict.fromkeys(way.places[: way.changes[0][0] + 1]))
        met = ((stand[p], n) for n, p in enumerate(path) if stand.get(p, agent) != agent)
        return next(met, None)

    def make_room(self, agent: int, barred: Sequence[int]) -> tuple[int, int] | None:
        """Return who must move first, and how, for an agent to leave its place.

        That is the last agent in the shortest row of agents that ends at free floor.
        """
        ground = self.scene.ground
        queue = [self.scene.walkers[agent].place]
        seen = {*queue, *barred}
        for place in queue:  # grows while it is walked through
            for heading, step in enumerate(ground.steps):
                to = place + step
                if to in seen or ground.cells[to] not in (kinds.FLOOR, kinds.OPEN):
                    continue
                if to not in self.stand:
                    return self.stand[place], MOVE_OF[heading]
                seen.add(to)
                if self.stand[to] in self.members:
                    queue.append(to)
        return None

    def one_step(self, agent: int, action: int) -> TimedPlan:
        """Return the track of a single action (changes by a drop or a pick-up are not in it)."""
        to = here = self.scene.walkers[agent].place
        if action in MOVE_OF:
            to = self.scene.rules.walks(self.scene.ground.cells)[here][MOVE_OF.index(action)]
        if self.scene.solid and to in self.stand:
            to = here
        return TimedPlan([action], [here, to], arrives=False)

    def attempt(self, order: Sequence[int], hold: int) -> dict[int, TimedPlan]:
        """Plan in one order."""
        tracks: dict[int, TimedPlan] = {}
        for number, agent in enumerate(order):
            traffic = self.traffic(agent, tracks, order[number + 1 :], hold)
            me = self.scene.walkers[agent]
            rules, ground = self.scene.rules, self.scene.ground
            found = search(rules, ground, me, traffic, budget=self.budget)
            tracks[agent] = found or self.parked(agent)
        return tracks

    def parked(self, agent: int) -> TimedPlan:
        """Return the track of an agent that stays where it is."""
        return TimedPlan([], [self.scene.walkers[agent].place], arrives=False)

    def traffic(
        self, agent: int, tracks: dict[int, TimedPlan], later: Iterable[int], hold: int
    ) -> Reservations:
        """Return what an agent must plan around."""
        traffic, rank = Reservations(), self.scene.rank
        walkers, cells = self.scene.walkers, self.scene.ground.cells
        for other, track in tracks.items():
            after = rank[other] > rank[agent]
            for step, place, _ in track.changes:
                traffic.freed[place] = step + 1 + after
            if not self.scene.solid:
                continue
            for time, place in enumerate(track.places):
                if cells[place] != kinds.GOAL:
                    traffic.stand(place, (time,), AFTER if after else BEFORE)
            if not track.arrives:
                traffic.parked[track.places[-1]] = len(track.places) - 1
        if self.scene.solid:
            waiting = {**dict.fromkeys(later, hold), **self.strays}
            for other, time in waiting.items():
                if time == NEVER:
                    traffic.parked[walkers[other].place] = 0
                else:
                    traffic.stand(walkers[other].place, range(time), BEFORE | AFTER)
        return traffic

    def ends(self, step: int) -> bool:
        """Return whether a plan that was cut short has been carried out."""
        return any(track.cut and step >= len(track.actions) for track in self.tracks.values())

    def action(self, agent: int, step: int) -> int:
        """Return what an agent does `step` steps after the scene."""
        actions = self.tracks[agent].actions
        return actions[step] if step < len(actions) else STAY

    def place(self, agent: int, step: int) -> int:
        """Return where an agent is `step` steps after the scene."""
        places = self.tracks[agent].places
        return places[min(step, len(places) - 1)]

    def cells(self, step: int) -> bytes:
        """Return the map `step` steps after the scene."""
        cells = bytearray(self.scene.ground.cells)
        for track in self.tracks.values():
            for time, place, code in track.changes:
                if time < step:
                    cells[place] = code
        return bytes(cells)
