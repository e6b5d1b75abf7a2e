"""PhysicsPlayground's script: an honest rule-based player for every task that knows only its facts.

It maps what it is told in egocentric polar form onto the floor, goes around what is in the way, and
knows of walls only what its lidar meets. Unlike the oracle, it sees no more objects than its facts
name, and neither which way a crate lies nor what the others hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from piase_gym.core.commands import Command
from piase_gym.worlds.physics_playground.actions import GRIP, NOOP, RELEASE, drive_command
from piase_gym.worlds.physics_playground.bullet.client import SLOW_GRIP
from piase_gym.worlds.physics_playground.config import AGENT_RADIUS
from piase_gym.worlds.physics_playground.facts import PhysicsPlaygroundFacts, Sighting
from piase_gym.worlds.physics_playground.levels.bodies import HULL, hull
from piase_gym.worlds.physics_playground.levels.items import COLOURS, Point
from piase_gym.worlds.physics_playground.players.steering import Disc, around, steer
from piase_gym.worlds.physics_playground.rules.tasks import role
from piase_gym.worlds.physics_playground.world import PhysicsPlayground

NEAR: Final = 0.62
"""Metres within which a thing is approached slowly, to be gripped."""
ASIDE: Final = 0.9
"""Metres that an agent backs off from a tower."""
CRATE_SIDE: Final = 0.2
"""Half the width of a crate: the least that it reaches from its middle."""
CREW: Final = 0.95
"""Metres from a crate's middle within which others are taken to hold it, after `PATIENCE` steps."""
PATIENCE: Final = 15


class Thing(NamedTuple):
    """Something that is seen, with its place on the floor.

    Attributes:
        name: A name such as ``red box``.
        place: Where it is, in metres.
        away: The distance to it, in metres.
        bearing: Radians to the left.
        height: The height of its centre, in metres; for what lies on the floor also half its width.
        state: One of `facts.PLACES`.
    """

    name: str
    place: Point
    away: float
    bearing: float
    height: float
    state: str


class FloorView:
    """What an agent's facts say, in metres and radians on the floor."""

    def __init__(self, facts: PhysicsPlaygroundFacts, body: str, sight: float) -> None:
        """Map the facts onto the floor; `sight` is how far lidar reaches."""
        self.facts, self.body = facts, body
        self.place = facts.position[0] / 100.0, facts.position[1] / 100.0
        self.face = math.radians(facts.heading)
        self.things = [self._thing(seen) for seen in facts.objects]
        self.others = [self._thing(seen) for seen in facts.others]
        self.goal = self.place
        if facts.goal is not None:
            self.goal = self._place_at(facts.goal[0], facts.goal[1])
        self._sight = sight

    def _place_at(self, distance: float, bearing: float) -> Point:
        """Return where something is, from centimetres and degrees."""
        turn, away = self.face + math.radians(bearing), distance / 100.0
        return self.place[0] + away * math.cos(turn), self.place[1] + away * math.sin(turn)

    def _thing(self, seen: Sighting) -> Thing:
        """Map one thing onto the floor."""
        place = self._place_at(seen.distance, seen.bearing)
        turn = math.radians(seen.bearing)
        return Thing(seen.name, place, seen.distance / 100.0, turn, seen.height / 100.0, seen.place)

    def bearing(self, place: Point) -> float:
        """Return the bearing of a place, from -pi to pi."""
        turn = math.atan2(place[1] - self.place[1], place[0] - self.place[0]) - self.face
        return (turn + math.pi) % (2.0 * math.pi) - math.pi

    def discs(self, ignore: Sequence[str]) -> list[Disc]:
        """Return what is in the way: things, agents, and what lidar meets besides these."""
        seen = [t for t in self.things if t.name not in ignore and "held" not in t.state]
        known = [*self.things, *self.others]
        wide = {t.name: 0.45 if "crate" in t.name else 1.2 * min(t.height, 0.5) for t in seen}
        found = [Disc(t.place, wide[t.name]) for t in seen]
        found += [Disc(t.place, AGENT_RADIUS - 0.03) for t in self.others]
        rays = self.facts.lidar
        for number, reading in enumerate(rays):
            place = self._place_at(reading, 360.0 * number / len(rays))
            met = reading / 100.0 < self._sight - 0.02
            if met and all(math.dist(place, t.place) > 0.6 for t in known):
                found.append(Disc(place, 0.05))
        return found


class PhysicsPlaygroundScript:
    """Plays one agent of PhysicsPlayground from its facts.

    Args:
        world: The world to ask for facts and for what is legal. Of its config, only what
            the instructions say is read: task, body, zone and lidar.
    """

    def __init__(self, world: PhysicsPlayground) -> None:
        self.world = world
        self._held = 0
        """For how many steps something has been held."""
        self._ready = 0
        """For how many of these steps the others were near enough to hold it too."""

    def act(self, agent: int) -> Command:
        """Return the next command."""
        config = self.world.config
        facts = self.world.facts(agent)
        self._held = self._held + 1 if facts.holding else 0
        self._ready = self._ready if facts.holding else 0
        controller: Callable[[int, FloorView], Command] = getattr(self, f"_{config.task}")
        return controller(agent, FloorView(facts, config.body, config.range))

    def _drive_to(self, eyes: FloorView, place: Point, ignore: Sequence[str] = ()) -> Command:
        """Drive towards a place, around what is seen to be in the way."""
        aim = math.dist(eyes.place, place), eyes.bearing(place)
        return around(eyes.place, eyes.face, aim, eyes.discs([*ignore, str(eyes.facts.holding)]))

    def _fetch(self, agent: int, eyes: FloorView, thing: Thing) -> Command:
        """Go to a thing and grip it."""
        nearest = all(thing.away <= other.away or abs(other.bearing) > 1.0 for other in eyes.things)
        if nearest and abs(thing.bearing) < 0.5 and self.world.legal(agent, GRIP):
            return GRIP
        if thing.away < NEAR:
            return steer(thing.bearing, 0.4)
        return self._drive_to(eyes, thing.place, ignore=[thing.name])

    def _reach(self, _agent: int, eyes: FloorView) -> Command:
        """Go to the target."""
        return self._drive_to(eyes, eyes.goal)

    def _push(self, _agent: int, eyes: FloorView) -> Command:
        """Get behind the nearest thing, as seen from the zone, and push."""
        loose = [thing for thing in eyes.things if thing.state == "free"]
        if not loose:
            return NOOP
        thing, (zx, zy) = loose[0], eyes.goal
        x, y = thing.place
        size = max(math.dist(thing.place, eyes.goal), 1e-6)
        ux, uy = (zx - x) / size, (zy - y) / size
        ax, ay = eyes.place
        along, across = (x - ax) * ux + (y - ay) * uy, (y - ay) * ux - (x - ax) * uy
        room = hull(eyes.body) + thing.height * math.sqrt(2.0)
        if along > 0.5 * room and abs(across) < 0.3 * room + 0.1 * along and along < room + 0.6:
            swerve = 2.0 * across
            aim = x + 0.3 * ux - swerve * uy, y + 0.3 * uy + swerve * ux
            return steer(eyes.bearing(aim), 0.7)
        return self._drive_to(eyes, (x - (room + 0.3) * ux, y - (room + 0.3) * uy))

    def _stack(self, agent: int, eyes: FloorView) -> Command:
        """Grip the loose box of the first colour, and put it on the highest of the others."""
        boxes = [thing for thing in eyes.things if "box" in thing.name]
        holding = eyes.facts.holding
        free = [box for box in boxes if box.name != holding]
        if not free:
            return NOOP
        base = max(free, key=lambda box: (round(box.height / 0.1), -_colour_number(box)))
        if holding is None:
            loose = [box for box in free if math.dist(box.place, base.place) > 0.25]
            if loose and not any("held" in box.state for box in free):
                return self._fetch(agent, eyes, min(loose, key=_colour_number))
            away = drive_command(-0.5 if abs(base.bearing) < math.pi / 2.0 else 0.5, 0.0, 0.0)
            return away if base.away < ASIDE else NOOP
        if self._held < SLOW_GRIP + 4:
            return drive_command(-0.3 if self._held < SLOW_GRIP else 0.0, 0.0, 0.0)
        ahead = next((box.away for box in boxes if box.name == holding), HULL)
        if base.away < ahead + 0.05 and abs(base.bearing) < 0.12:
            return RELEASE
        if base.away < ASIDE:
            return steer(base.bearing, 0.1 + 0.8 * max(0.0, base.away - ahead))
        return self._drive_to(eyes, base.place, ignore=[base.name])

    def _gather(self, agent: int, eyes: FloorView) -> Command:
        """Fetch the nearest thing that is not in the zone yet, and bring it there."""
        holding = eyes.facts.holding
        if holding is None:
            loose = [thing for thing in eyes.things if thing.state == "free"]
            return self._fetch(agent, eyes, loose[0]) if loose else NOOP
        load = next((thing for thing in eyes.things if thing.name == holding), None)
        zone = self.world.config.zone
        spot = self._spot(eyes, holding)
        if load is not None and load.state == "held in the zone":
            inside = math.dist(load.place, eyes.goal) < 0.55 * zone
            if inside or math.dist(load.place, spot) < 0.15:
                return RELEASE
        if math.dist(eyes.place, spot) < 0.7:
            return steer(eyes.bearing(spot), 0.4)
        return self._drive_to(eyes, spot)

    def _spot(self, eyes: FloorView, name: str) -> Point:
        """Return where in the zone a thing is set down: each has its own place."""
        count = max(1, eyes.facts.placed[1])
        turn = 2.0 * math.pi * COLOURS.index(name.split()[0]) / count
        away = 0.45 * self.world.config.zone
        return eyes.goal[0] + away * math.cos(turn), eyes.goal[1] + away * math.sin(turn)

    def _keep_away(self, agent: int, eyes: FloorView) -> Command:
        """Run for the ball as a chaser; get between it and the nearest chaser as a keeper."""
        balls = [thing for thing in eyes.things if "ball" in thing.name]
        if not balls:
            return NOOP
        ball, names = balls[0], self.world.agents
        if role(agent) == "chaser":
            return self._drive_to(eyes, ball.place, ignore=[ball.name])
        chasers = [o for o in eyes.others if role(names.index(o.name)) == "chaser"]
        if not chasers:
            return NOOP
        x, y = ball.place
        cx, cy = min((o.place for o in chasers), key=lambda place: math.dist(place, (x, y)))
        size = max(math.dist((cx, cy), (x, y)), 1e-6)
        return self._drive_to(eyes, (x + 0.45 * (cx - x) / size, y + 0.45 * (cy - y) / size))

    def _carry(self, agent: int, eyes: FloorView) -> Command:
        """Grip the crate on the zone's side, wait until the others are there, and pull."""
        crates = [thing for thing in eyes.things if "crate" in thing.name]
        if not crates:
            return NOOP
        (x, y), (zx, zy) = crates[0].place, eyes.goal
        if eyes.facts.holding is not None:
            self._ready += all(math.dist(other.place, (x, y)) < CREW for other in eyes.others)
            if self._ready < PATIENCE:
                return NOOP
            ax, ay = eyes.place
            return _pull(eyes.bearing((ax + 3.0 * (zx - x), ay + 3.0 * (zy - y))))
        if abs(crates[0].bearing) < 0.9 and self.world.legal(agent, GRIP):
            return GRIP
        size = max(math.dist((x, y), (zx, zy)), 1e-6)
        ux, uy = (zx - x) / size, (zy - y) / size
        side = 0.3 * (1.0 if agent % 2 else -1.0)
        out = CRATE_SIDE + hull(eyes.body) + 0.12
        spot = x + out * ux - side * uy, y + out * uy + side * ux
        if math.dist(eyes.place, spot) < 0.2 or crates[0].away < out + 0.1:
            aim = x - side * uy, y + side * ux
            return steer(eyes.bearing(aim), 0.3)
        return self._drive_to(eyes, spot)


def _pull(bearing: float) -> Command:
    """Return the drive with full force towards a bearing, forwards or backwards."""
    if abs(bearing) < math.pi / 2.0:
        return steer(bearing, 1.0)
    behind = bearing - math.copysign(math.pi, bearing)
    facing = max(0.0, 1.0 - abs(behind) / 0.6)
    return drive_command(-facing, max(-1.0, min(1.0, behind / 0.4)), 0.0)


def _colour_number(thing: Thing) -> int:
    """Return the index of a thing's colour."""
    return COLOURS.index(thing.name.split()[0])
