"""PhysicsPlayground's oracle: a scripted controller for every task, with the whole state in view.

What an agent does follows from the present state alone, so an oracle can be asked at any time, for
any agent, and has nothing to remember.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from piase_gym.core.commands import Command
from piase_gym.worlds.physics_playground.actions import GRIP, NOOP, RELEASE, drive_command
from piase_gym.worlds.physics_playground.bullet.client import SLOW_GRIP
from piase_gym.worlds.physics_playground.geometry import yaw
from piase_gym.worlds.physics_playground.levels.bodies import hull
from piase_gym.worlds.physics_playground.levels.items import CRATE, Point
from piase_gym.worlds.physics_playground.players.steering import go, steer
from piase_gym.worlds.physics_playground.rules import tasks
from piase_gym.worlds.physics_playground.rules.grips import hold_distance
from piase_gym.worlds.physics_playground.rules.strides import heading_to
from piase_gym.worlds.physics_playground.world import PhysicsPlayground


class PhysicsPlaygroundOracle:
    """Plays PhysicsPlayground with the whole state in view.

    Args:
        world: The world to read; it is never changed.
    """

    def __init__(self, world: PhysicsPlayground) -> None:
        self.world = world

    def act(self, agent: int) -> Command:
        """Return the command for the present state; an ended agent waits."""
        play, config = self.world.play, self.world.config
        nothing = config.task != "reach" and not tasks.wanted(play, config)
        if nothing or not self.world.alive[agent]:
            return NOOP
        controller: Callable[[int], Command] = getattr(self, f"_{self.world.config.task}")
        return controller(agent)

    # -- what all controllers use ---------------------------------------------------------

    def _place(self, body: int) -> Point:
        """Return where a body is on the floor (objects first, then agents)."""
        x, y, _ = self.world.reading.raw[body][0]
        return x, y

    def _agent(self, agent: int) -> Point:
        """Return where an agent is."""
        return self._place(len(self.world.play.objects) + agent)

    def _share(self, agent: int, things: list[int]) -> int | None:
        """Return the thing that an agent takes on if agents and things pair up nearest first."""
        alive, play = self.world.alive, self.world.play
        agents = [i for i in range(len(play.agents)) if alive[i] and play.holds[i] is None]
        pairs = sorted(
            (math.dist(self._agent(i), self._place(thing)), i, thing)
            for i in agents
            for thing in things
        )
        taken: set[int] = set()
        seated: set[int] = set()
        for _, i, thing in pairs:
            if i not in seated and thing not in taken:
                if i == agent:
                    return thing
                seated.add(i)
                taken.add(thing)
        return None

    def _fetch(self, agent: int, thing: int) -> Command:
        """Go to a thing and grip it."""
        if self.world.arena.graspable(agent) == thing:
            return GRIP
        pose = self.world.arena.pose(agent)
        away, bearing = heading_to(pose, self._place(thing))
        if away < 0.55:
            return steer(bearing, 0.4)
        return go(self.world, agent, self._place(thing), ignore=[thing])

    # -- tasks ----------------------------------------------------------------------------

    def _reach(self, agent: int) -> Command:
        """Go to the target."""
        return go(self.world, agent, self.world.play.targets[agent])

    def _push(self, agent: int) -> Command:
        """Get behind the thing, as seen from the zone, and push."""
        world = self.world
        zone = world.arena.inside
        thing = self._share(agent, [i for i in world.play.there if not zone[i]])
        if thing is None:
            return NOOP
        (x, y), (zx, zy) = self._place(thing), world.play.zone
        size = max(math.dist((x, y), (zx, zy)), 1e-6)
        ux, uy = (zx - x) / size, (zy - y) / size
        ax, ay = self._agent(agent)
        along, across = (x - ax) * ux + (y - ay) * uy, (y - ay) * ux - (x - ax) * uy
        room = hull(world.config.body) + world.play.objects[thing].half[0] * math.sqrt(2.0)
        pose = world.arena.pose(agent)
        if along > 0.5 * room and abs(across) < 0.3 * room + 0.1 * along and along < room + 0.6:
            aim = (x + 0.3 * ux + 0.8 * across * -uy, y + 0.3 * uy + 0.8 * across * ux)
            aim = (aim[0] + 1.2 * across * -uy, aim[1] + 1.2 * across * ux)
            _, bearing = heading_to(pose, aim)
            return steer(bearing, 0.7)
        behind = (x - (room + 0.3) * ux, y - (room + 0.3) * uy)
        return go(world, agent, behind)

    def _stack(self, agent: int) -> Command:
        """Grip the first loose box, and put it on the tower."""
        world, play = self.world, self.world.play
        boxes = tasks.wanted(play, world.config)
        hold = play.holds[agent]
        base = self._tower(boxes)
        if base is None:  # all boxes are held
            return NOOP if hold is None else RELEASE
        if hold is not None:
            if hold.since < SLOW_GRIP + 4:
                return drive_command(-0.3 if hold.since < SLOW_GRIP else 0.0, 0.0, 0.0)
            away, bearing = heading_to(world.arena.pose(agent), self._place(base))
            ahead = hold_distance(play.objects[hold.object], world.config)
            if away < ahead + 0.05 and abs(bearing) < 0.12:
                return RELEASE
            if away < 0.9:
                return steer(bearing, 0.1 + 0.8 * max(0.0, away - ahead))
            return go(world, agent, self._place(base), ignore=[base])
        held = {h.object for h in play.holds if h is not None}
        x, y = self._place(base)
        loose = [i for i in boxes if i not in held and math.dist(self._place(i), (x, y)) > 0.25]
        falling = any(abs(world.reading.raw[i][2][2]) > 0.2 for i in boxes)
        busy = bool(held) or falling
        if busy or not loose or self._share(agent, loose[:1]) is None:
            return self._step_aside(agent, base)
        return self._fetch(agent, loose[0])

    def _tower(self, boxes: list[int]) -> int | None:
        """Return the box that the next one is put on: the highest that nobody holds, if any."""
        held = {hold.object for hold in self.world.play.holds if hold is not None}
        free = [i for i in boxes if i not in held]
        heights = {i: round(self.world.reading.raw[i][0][2] / 0.1) for i in free}
        return max(free, key=lambda i: (heights[i], -i), default=None)

    def _step_aside(self, agent: int, base: int) -> Command:
        """Back off from the tower."""
        away, bearing = heading_to(self.world.arena.pose(agent), self._place(base))
        ahead = abs(bearing) < math.pi / 2.0
        return drive_command(-0.5 if ahead else 0.5, 0.0, 0.0) if away < 0.9 else NOOP

    def _gather(self, agent: int) -> Command:
        """Fetch what is not in the zone yet, and bring it there."""
        world, play = self.world, self.world.play
        hold = play.holds[agent]
        zone = world.arena.inside
        if hold is not None:
            spot = self._spot(hold.object)
            away = math.dist(self._place(hold.object), spot)
            if zone[hold.object] and (away < 0.15 or self._close(hold.object)):
                return RELEASE
            pose = world.arena.pose(agent)
            left, bearing = heading_to(pose, spot)
            if left < 0.7:
                return steer(bearing, 0.4)
            return go(world, agent, spot)
        held = {h.object for h in play.holds if h is not None}
        missing = [i for i in play.there if not zone[i] and i not in held]
        thing = self._share(agent, missing)
        if thing is None:
            return NOOP
        return self._fetch(agent, thing)

    def _spot(self, thing: int) -> Point:
        """Return where in the zone a thing is set down: each has its own place."""
        x, y = self.world.play.zone
        there = self.world.play.there
        turn = 2.0 * math.pi * there.index(thing) / len(there)
        away = 0.45 * self.world.config.zone
        return x + away * math.cos(turn), y + away * math.sin(turn)

    def _close(self, thing: int) -> bool:
        """Return whether a thing is well inside the zone."""
        away = math.dist(self._place(thing), self.world.play.zone)
        return away < 0.55 * self.world.config.zone

    def _keep_away(self, agent: int) -> Command:
        """Run for the ball as a chaser; get between it and the nearest chaser as a keeper."""
        world = self.world
        ball = tasks.wanted(world.play, world.config)[0]
        (x, y), (vx, vy, _) = self._place(ball), world.reading.raw[ball][2]
        if tasks.role(agent) == "chaser":
            return go(world, agent, (x + 0.5 * vx, y + 0.5 * vy), ignore=[ball])
        count = len(world.play.agents)
        chasers = [self._agent(i) for i in range(count) if tasks.role(i) == "chaser"]
        cx, cy = min(chasers, key=lambda place: math.dist(place, (x, y)))
        size = max(math.dist((cx, cy), (x, y)), 1e-6)
        guard = (x + 0.45 * (cx - x) / size, y + 0.45 * (cy - y) / size)
        return go(world, agent, guard)

    def _carry(self, agent: int) -> Command:
        """Grip the crate on the side of the zone, wait for the others, and pull together."""
        world, play = self.world, self.world.play
        crate = tasks.wanted(play, world.config)[0]
        (x, y), (zx, zy) = self._place(crate), play.zone
        pose = world.arena.pose(agent)
        if play.holds[agent] is not None:
            pulling = sum(hold is not None for hold in play.holds) >= 2
            if not pulling:
                return NOOP
            ax, ay = self._agent(agent)
            _, bearing = heading_to(pose, (ax + 3.0 * (zx - x), ay + 3.0 * (zy - y)))
            return steer(bearing, 1.0)
        spot = self._handle(agent, crate)
        away, _ = heading_to(pose, spot)
        _, bearing = heading_to(pose, self._aim(agent, crate))
        if world.arena.graspable(agent) == crate and abs(bearing) < 0.5:
            return GRIP
        if away < 0.2:
            return steer(bearing, 0.3)
        return go(world, agent, spot)

    def _aim(self, agent: int, crate: int) -> Point:
        """Return the point on the crate that an agent grips."""
        x, y = self._place(crate)
        hx, hy = self._handle(agent, crate)
        c, s = self._along(crate)
        along = (hx - x) * c + (hy - y) * s
        return x + along * c, y + along * s

    def _along(self, crate: int) -> Point:
        """Return the unit vector along the crate."""
        turn = yaw(self.world.reading.raw[crate][1])
        return math.cos(turn), math.sin(turn)

    def _handle(self, agent: int, crate: int) -> Point:
        """Return where an agent stands to grip: along the long side that faces the zone."""
        (x, y), (zx, zy) = self._place(crate), self.world.play.zone
        c, s = self._along(crate)
        side = 1.0 if (zy - y) * c - (zx - x) * s > 0.0 else -1.0
        count = max(2, len(self.world.play.agents))
        order = sorted(
            range(len(self.world.play.agents)),
            key=lambda i: (self._agent(i)[0] - x) * c + (self._agent(i)[1] - y) * s,
        )
        share = (order.index(agent) + 0.5) / count if agent in order else 0.5
        along = (2.0 * share - 1.0) * CRATE[0] * 1.2
        out = side * (CRATE[1] + hull(self.world.config.body) + 0.12)
        return x + along * c - out * s, y + along * s + out * c
