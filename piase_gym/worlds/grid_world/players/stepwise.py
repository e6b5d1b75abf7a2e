"""How the oracle plays where plans do not last: it decides each step by itself, by the whole state.

That is so among drones, if several agents share boxes and gates, and for tasks other than reaching
a goal: to gather food together, to chase and to flee, to live on fruit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Final

from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world.players.search import NEVER, STEP_BUDGET, Budget, TimedPlan, search
from piase_gym.worlds.grid_world.players.successors import (
    INTERACT,
    MOVE_OF,
    STAY,
    Ground,
    Successors,
)
from piase_gym.worlds.grid_world.players.team import Scene, look
from piase_gym.worlds.grid_world.rules import events
from piase_gym.worlds.grid_world.world import GridWorld

HUNGRY: Final = 60
"""Energy below which an agent on its way to a goal checks whether it must eat first."""
WIDE_BERTH: Final = 4
"""Distance to taggers from which on a runner looks for room rather than for more distance."""
_OPEN = frozenset(kinds.SAFE)
_SHARED = (kinds.BOX, kinds.GATE, kinds.GATE_OPEN, kinds.SWITCH_OFF, kinds.SWITCH_ON)
_BOXES_STAY = bytes.maketrans(bytes((kinds.BOX,)), bytes((kinds.WALL,)))
_DRONES_LEAVE = bytes.maketrans(bytes((kinds.MOVER,)), bytes((kinds.FLOOR,)))


class StepwisePlayer:
    """Decides for all agents of a GridWorld, one step at a time.

    Args:
        rules: The rules of the world to read; the world is never changed.
    """

    def __init__(self, rules: Successors) -> None:
        self.rules, self.world = rules, rules.world
        self._moment: _Moment | None = None

    def needed(self) -> bool:
        """Return whether the present episode is one in which plans do not last."""
        config, record = self.world.config, self.world.states[0]
        if config.clearing or config.num_taggers or config.surviving:
            return True
        cells, several = record["cells"].tobytes(), record["alive"].sum() > 1
        hungry = bool(config.energy) and kinds.FRUIT in cells
        return (
            kinds.MOVER in cells or hungry or (several and any(code in cells for code in _SHARED))
        )

    def act(self, agent: int) -> int:
        """Return the index of the action for the present state; an ended agent stays."""
        scene = look(self.rules)
        if self._moment is None or scene != self._moment.scene:
            self._moment = _Moment(self.world, scene)
        return self._moment.act(agent)

    @property
    def cut_short(self) -> bool:
        """Whether a search for the present step ran out of its budget."""
        return self._moment is not None and any(b.spent for b in self._moment.budgets.values())


class _Moment:
    """One decision for all agents in play."""

    def __init__(self, world: GridWorld, scene: Scene) -> None:
        config, record = world.config, world.states[0]
        self.config, self.scene = config, scene
        self.cells, self.steps = scene.ground.cells, scene.ground.steps
        self.living = [a for a, alive in enumerate(scene.alive) if alive]
        self.at = {a: scene.walkers[a].place for a in self.living}
        self.walks = scene.rules.walks(self.cells)
        self.comes: list[list[int]] = [[] for _ in self.cells]
        """For each place, the places from which a move leads to it."""
        for place, ends in enumerate(self.walks):
            for to in ends:
                if to != place:
                    self.comes[to].append(place)
        for place in self.at.values():
            if self.cells[place] not in _OPEN:  # an agent that stands there can be walked up to
                self.comes[place] = self.sides(place)
        self.role, self.level = record["role"].tolist(), record["level"].tolist()
        self.energy = record["energy"].tolist()
        share = STEP_BUDGET // max(1, len(self.living))
        self.budgets = {a: Budget(share) for a in self.living}
        self.acts = self.decide()

    def act(self, agent: int) -> int:
        """Return the action of an agent; one that is not in play stays."""
        if agent in self.living and agent not in self.acts:
            self.acts[agent] = self.seek(agent)
        return self.acts.get(agent, STAY)

    def decide(self) -> dict[int, int]:
        """Return the actions of the agents in play that do not seek a goal of their own."""
        if self.config.num_taggers:
            return {
                a: self.chase(a) if self.role[a] == events.TAGGER else self.flee(a) for a in self.at
            }
        acts = self.feed() if self.config.energy else {}
        if self.config.clearing:
            return self.gather() | acts
        if self.config.surviving:
            return {a: acts[a] if a in acts else self.leave_bush(a) for a in self.living}
        return acts

    def search(self, cells: bytes, agent: int) -> TimedPlan | None:
        """Return a way to a goal on a map, or None if there is none."""
        ground = Ground(cells, self.scene.ground.stride)
        me, budget = self.scene.walkers[agent], self.budgets[agent]
        return search(self.scene.rules, ground, me, budget=budget)

    # -- ways ------------------------------------------------------------------------------

    def others(self, agent: int) -> set[int]:
        """Return the places that an agent cannot enter because of others."""
        return {self.at[b] for b in self.living if b != agent} if self.scene.solid else set()

    def far(
        self, starts: Iterable[int], closed: Collection[int] = (), back: bool = False
    ) -> dict[int, int]:
        """Return how many moves lead from the nearest start to every place that can be reached.

        With `back`, they lead from the place to the start. Ways can begin or end on a closed place,
        but not pass it.
        """
        far = dict.fromkeys(starts, 0)
        queue, ways = list(far), self.comes if back else self.walks
        for place in queue:  # grows while it is walked through
            for to in ways[place]:
                if to not in far:
                    far[to] = far[place] + 1
                    if to not in closed:
                        queue.append(to)
        return far

    def approach(self, agent: int, targets: Iterable[int]) -> int | None:
        """Return the first move of a shortest way to a target, if need be through others."""
        goals, here, others = set(targets), self.at[agent], self.others(agent)
        for closed in (others, set[int]()):
            far = self.far(goals, closed - goals, back=True)
            if here not in far:
                continue
            ways = [(far.get(to, NEVER), h) for h, to in enumerate(self.walks[here])]
            free = [way for way in ways if self.walks[here][way[1]] not in closed - goals]
            if free and min(free)[0] < far[here]:
                return self.move(agent, min(free)[1])
        return None

    def move(self, agent: int, heading: int) -> int:
        """Return the move along a heading, or what to do while somebody else is in the way."""
        to = self.at[agent] + self.steps[heading]
        prey = self.role[agent] == events.TAGGER
        if prey or to not in self.others(agent):
            return MOVE_OF[heading]
        return self.make_way(agent)

    def make_way(self, agent: int) -> int:
        """Wait, or now and then step aside, so that two do not stand in each other's way."""
        roll = (7 * self.scene.t + 3 * agent) * 2654435761 >> 7
        if roll % 3 == 0:
            return STAY
        others, here = self.others(agent), self.at[agent]
        free = [
            h
            for h, to in enumerate(self.walks[here])
            if to != here and self.cells[to] != kinds.GOAL and to not in others
        ]
        return MOVE_OF[free[(roll >> 4) % len(free)]] if free else STAY

    def sides(self, place: int) -> list[int]:
        """Return the places next to a place on which an agent can stand."""
        return [place + s for s in self.steps if self.cells[place + s] in _OPEN - {kinds.GOAL}]

    def face(self, agent: int, place: int) -> int:
        """Return the move that turns an agent to what is next to it, or else the interaction."""
        heading = self.steps.index(place - self.at[agent])
        return INTERACT if self.scene.walkers[agent].heading == heading else MOVE_OF[heading]

    # -- goals -----------------------------------------------------------------------------

    def seek(self, agent: int) -> int:
        """Return a step on the way to a goal; among others, one with a key unlocks doors first."""
        me, others = self.scene.walkers[agent], self.others(agent)
        nearest = None
        if me.carry == kinds.KEY and len(self.living) > 1:
            opening = self.unlock(agent)
            if opening is not None:
                return opening
        walled = bytes(kinds.WALL if p in others else code for p, code in enumerate(self.cells))
        grounds = [walled.translate(_BOXES_STAY), walled, self.cells.translate(_BOXES_STAY)]
        if kinds.MOVER in self.cells:
            grounds.append(self.cells.translate(_DRONES_LEAVE))
        for cells in dict.fromkeys([*grounds, self.cells]):
            track = self.search(cells, agent)
            if track is not None and track.actions and not track.cut:
                return self.first(agent, track.actions[0])
            if track is not None and track.actions and nearest is None:
                nearest = track.actions[0]
        if nearest is not None:
            return self.first(agent, nearest)
        return self.make_way(agent) if len(self.living) > 1 else STAY

    def first(self, agent: int, action: int) -> int:
        """Return the first action of a way, unless somebody or a drone is in it."""
        if action not in MOVE_OF:
            return action
        heading = MOVE_OF.index(action)
        drone = self.cells[self.at[agent] + self.steps[heading]] == kinds.MOVER
        return STAY if drone else self.move(agent, heading)

    def unlock(self, agent: int) -> int | None:
        """Return a step towards the nearest locked door, or None if none is in reach."""
        doors = [place for place, code in enumerate(self.cells) if code == kinds.LOCKED]
        beside = [door for door in doors if door - self.at[agent] in self.steps]
        if beside:
            return self.face(agent, beside[0])
        return self.approach(agent, [side for door in doors for side in self.sides(door)])

    # -- fruit -----------------------------------------------------------------------------

    def feed(self) -> dict[int, int]:
        """Send the hungriest first to the nearest fruit that nobody else is sent to.

        If agents only have to last, all fruit is left to those that need it. Once none does, it is
        eaten for its reward.
        """
        fruit = {place for place, code in enumerate(self.cells) if code == kinds.FRUIT}
        acts: dict[int, int] = {}
        hungry = [agent for agent in self.living if not self.lasts(agent)]
        if self.config.surviving and not hungry and self.config.rewards.fruit > 0:
            hungry = self.living
        for agent in sorted(hungry, key=lambda a: self.energy[a]):
            far = self.far([self.at[agent]], self.others(agent))
            near = [(far[place], place) for place in fruit if place in far]
            if not near:
                continue
            fruit.discard(min(near)[1])
            step = self.approach(agent, [min(near)[1]])
            if step is not None:
                acts[agent] = step
        return acts

    def leave_bush(self, agent: int) -> int:
        """Wait, but not on a bush, under which nothing would grow."""
        others, here = self.others(agent), self.at[agent]
        free = (h for h, s in enumerate(self.steps) if self.cells[here + s] == kinds.FLOOR)
        ways = [h for h in free if here + self.steps[h] not in others]
        return MOVE_OF[ways[0]] if self.cells[here] == kinds.BARE and ways else STAY

    def lasts(self, agent: int) -> bool:
        """Return whether an agent needs nothing to eat: it arrives or ends first, or has plenty."""
        energy, several = self.energy[agent], len(self.living) > 1
        if self.config.surviving:
            return bool(energy > min(255 - self.config.fruit_energy, self.scene.left))
        if energy > HUNGRY:
            return True
        track = self.search(self.scene.ground.cells, agent)
        return track is not None and track.arrives and len(track.actions) * (1 + several) <= energy

    # -- food ------------------------------------------------------------------------------

    def gather(self) -> dict[int, int]:
        """Form teams around the food that can be lifted soonest; agents not needed wait."""
        acts = dict.fromkeys(self.living, STAY)
        free = set(self.living)
        food = {place for place, code in enumerate(self.cells) if code in kinds.FOODS}
        while food and free:
            teams = [team for place in food for team in [self.team(place, free)] if team]
            if not teams:
                break
            _, place, posts = min(teams, key=lambda team: team[:2])
            food.discard(place)
            free -= set(posts)
            ready = all(self.at[a] == post for a, post in posts.items())
            ready = ready and all(self.face(a, place) == INTERACT for a in posts)
            for agent, post in posts.items():
                acts[agent] = self.serve(agent, place, post, ready)
        for agent in free & set(self.living):
            if len(free) < len(self.living):
                acts[agent] = self.make_way(agent)
        return acts

    def serve(self, agent: int, place: int, post: int, ready: bool) -> int:
        """Return what an agent does to lift food together with its team."""
        if self.at[agent] == post:
            action = self.face(agent, place)
            return action if ready or action != INTERACT else STAY
        step = self.approach(agent, [post])
        return self.make_way(agent) if step is None else step

    def team(self, place: int, free: set[int]) -> tuple[int, int, dict[int, int]] | None:
        """Return (steps, food, post of each agent) of the team that lifts some food soonest."""
        weight = self.cells[place] - kinds.FOOD + 1
        posts = self.sides(place)
        far = {post: self.far([post], back=True) for post in posts}
        for size in range(1, min(len(posts), len(free)) + 1):
            found = [
                (steps, place, given)
                for group in combinations(sorted(free), size)
                if sum(self.level[a] for a in group) >= weight
                for steps, given in [self.posted(group, far)]
                if steps < NEVER
            ]
            if found:
                return min(found, key=lambda team: team[0])
        return None

    def posted(
        self, group: tuple[int, ...], far: dict[int, dict[int, int]]
    ) -> tuple[int, dict[int, int]]:
        """Give each of a group the nearest post that is left; return the longest way and these."""
        left, given, longest = set(far), {}, 0
        pairs = sorted((far[p].get(self.at[a], NEVER), a, p) for a in group for p in far)
        for steps, agent, post in pairs:
            if agent not in given and post in left:
                given[agent] = post
                left.discard(post)
                longest = max(longest, steps)
        return (longest if len(given) == len(group) else NEVER), given

    # -- tag -------------------------------------------------------------------------------

    def chase(self, agent: int) -> int:
        """Return a step towards the nearest runner."""
        prey = [self.at[b] for b in self.living if self.role[b] == events.RUNNER]
        action = self.approach(agent, prey)
        return STAY if action is None else action

    def flee(self, agent: int) -> int:
        """Return the move to the safest place in one step, or stay; see `refuge`."""
        hunters = [self.at[b] for b in self.living if self.role[b] == events.TAGGER]
        far, others, here = self.far(hunters), self.others(agent), self.at[agent]
        choices = [(self.refuge(here, far), STAY)]
        for heading, to in enumerate(self.walks[here]):
            if to != here and to not in others:
                choices.append((self.refuge(to, far), MOVE_OF[heading]))
        return max(choices)[1]

    def refuge(self, place: int, hunted: dict[int, int]) -> tuple[int, int, int]:
        """Return how safe a place is: capped distance, places reached before taggers, distance.

        A tagger three steps away cannot tag in the next step, even if it moves first; beyond
        `WIDE_BERTH` it matters more not to be cornered.
        """
        mine = self.far([place])
        room = sum(steps < hunted.get(to, NEVER) for to, steps in mine.items())
        away = hunted.get(place, NEVER)
        return min(away, WIDE_BERTH), room, away
