"""What agents remember of rooms and things, with ``recall="map"``: kept in the state, and shown."""

from __future__ import annotations

from piase_gym.worlds.text_room.facts import STATES, KnownExit, PastRoom, PastThing
from piase_gym.worlds.text_room.levels.story_rules import OPPOSITE
from piase_gym.worlds.text_room.observe.visibility import look_around
from piase_gym.worlds.text_room.state import Plot, RoomState, VisibleState, way_number


def mark_of(plot: Plot, state: RoomState | VisibleState, agent: int, k: int) -> int:
    """Return the index in `facts.STATES` of an object, as far as an agent that sees it knows."""
    if plot.opens[k]:
        if state.is_open[k]:
            return STATES.index("open")
        if state.locked[k]:
            return STATES.index("locked")
        return STATES.index("unlocked" if plot.keys[k] >= 0 else "closed")
    bare = k < plot.items or plot.containers[k] or plot.things[k].searchable is False
    if bare or not plot.searching:
        return 0
    return STATES.index("searched" if k in state.searched[agent] else "not searched")


def ways_of(plot: Plot, walked: list[int] | tuple[int, ...], room: int) -> tuple[KnownExit, ...]:
    """Return the ways out of a room, for an agent that knows where some of them lead."""
    return tuple(
        KnownExit(
            direction,
            plot.objects[door] if door >= 0 else "",
            plot.rooms[to] if way_number(room, direction) in walked else "",
        )
        for direction, (to, door) in plot.exits[room].items()
    )


def know_way(plot: Plot, known: list[int], room: int, direction: str) -> None:
    """Note where a way leads, and where the way back leads, if there is one."""
    to, door = plot.exits[room][direction]
    back = OPPOSITE[direction]
    ways = {way_number(room, direction)}
    if plot.exits[to].get(back) == (room, door):
        ways.add(way_number(to, back))
    known[:] = sorted({*known, *ways})


def remember(plot: Plot, state: RoomState) -> None:
    """Let every agent in play take note of what it sees now.

    It forgets things that are no longer where it saw them, unless a closed lid may hide them.
    """
    for agent, status in enumerate(state.status):
        if status != "playing":
            continue
        room, sight = state.rooms[agent], look_around(plot, state, agent)
        rooms = {row[0]: row for row in state.seen_rooms[agent]}
        rooms[room] = [room, state.t]
        state.seen_rooms[agent] = sorted(rooms.values())
        things = {row[0]: row for row in state.seen_things[agent]}
        here, held = dict(sight.here), set(sight.held)
        for k in sight.reach:
            root = k
            while root in here and here[root] >= 0:
                root = here[root]
            if root in held:
                things.pop(k, None)
            else:
                things[k] = [k, room, here[k], mark_of(plot, state, agent, k), state.t]
        for k, where, host, *_ in [*things.values()]:
            covered = host in here and not state.is_open[host]
            if where == room and k not in here and not covered:
                del things[k]
        state.seen_things[agent] = sorted(things.values())


def remembered_names(plot: Plot, state: RoomState, agent: int) -> set[str]:
    """Return the names of the rooms and things that an agent remembers."""
    past = past_of(plot, state, agent)
    names = {room.name for room in past} | {way.to for room in past for way in room.exits}
    names |= {way.door for room in past for way in room.exits}
    return names | {name for room in past for thing in room.things for name in thing[:2]}


def past_of(plot: Plot, state: RoomState, agent: int) -> tuple[PastRoom, ...]:
    """Return what an agent remembers of what it does not see now, the latest first."""
    now, here = state.t, state.rooms[agent]
    things: dict[int, list[PastThing]] = {}
    reach = set(look_around(plot, state, agent).reach)
    for k, room, host, mark, seen in state.seen_things[agent]:
        if k not in reach:
            inside = plot.objects[host] if host >= 0 else ""
            thing = PastThing(plot.objects[k], inside, STATES[mark], now - seen)
            things.setdefault(room, []).append(thing)
    found = []
    for room, seen in sorted(state.seen_rooms[agent], key=lambda row: -row[1]):
        if room != here or room in things:
            ways = () if room == here else ways_of(plot, state.walked[agent], room)
            found.append(PastRoom(plot.rooms[room], now - seen, ways, tuple(things.get(room, ()))))
    return tuple(found)
