"""Which commands an agent has now: those of the domain whose preconditions hold."""

from __future__ import annotations

from operator import itemgetter

from piase_gym.worlds.household.actions import entry
from piase_gym.worlds.household.levels.game import Entry, Game
from piase_gym.worlds.household.state import NOTHING, HomeState

_LINE = itemgetter(0)
_TOOLS = (("clean", "cleanable"), ("heat", "heatable"), ("cool", "coolable"))


def in_order(game: Game, at: int, asks: bool, near: list[Entry]) -> list[Entry]:
    """Return `near` and the commands that depend on the location alone, sorted by their lines."""
    found = sorted([*_ways(game, at, asks), *near], key=_LINE)
    return _without_repeats(found) if game.repeats else found


def near_entries(
    game: Game, state: HomeState, agent: int, placing: str, through_lids: bool
) -> list[Entry]:
    """Return the commands of an agent that depend on what is near, in no particular order.

    Args:
        game: The home.
        state: Its state.
        agent: The agent to act.
        placing: ``move`` or ``put``.
        through_lids: Whether what lies in a closed receptacle can be used and sliced from outside,
            as in ALFWorld's games, where the list of commands thus reveals what is in there.
    """
    at, held = state.at[agent], state.holding[agent]
    found: list[Entry] = []
    make, known = found.append, game.entries.get
    can, openable, contents = game.can, game.openable, state.contents
    pickupable, toggleable = can["pickupable"], can["toggleable"]
    for r in game.at[at]:
        make(known(("examine receptacle", r, -1)) or entry(game, "examine receptacle", r))
        if openable[r]:
            if not state.opened[r]:
                make(known(("open", r, -1)) or entry(game, "open", r))
                for k in contents[r] if through_lids else ():
                    if toggleable[k]:
                        make(entry(game, "use", k))
                continue
            make(known(("close", r, -1)) or entry(game, "close", r))
        for k in contents[r]:
            if held < 0 and pickupable[k]:
                make(known(("take", k, r)) or entry(game, "take", k, r))
            if toggleable[k]:
                make(entry(game, "use", k))
        if held >= 0 and r in game.accepts[held]:
            make(entry(game, placing, held, r))
    if held >= 0:
        make(entry(game, "examine object", held))
        for verb, ability in _TOOLS:
            if can[ability][held]:
                for r in game.at[at]:
                    if r in game.tools[verb]:
                        make(entry(game, verb, held, r))
        if held in game.knives:
            lids = () if through_lids else (r for r in game.at[at] if openable[r])
            hidden = {k for r in lids if not state.opened[r] for k in contents[r]}
            for k, sliceable in enumerate(can["sliceable"]):
                if sliceable and at in state.spots[k] and k not in hidden:
                    make(entry(game, "slice", k, held))
    return found


def _ways(game: Game, at: int, asks: bool) -> list[Entry]:
    """Return the commands that depend on the location alone, sorted."""
    key = 2 * at + asks
    found = game.ways.get(key)
    if found is None:
        rows = [entry(game, verb) for verb in ("look", "inventory", *(["help"] * asks))]
        places = enumerate(game.places_of)
        rows += [entry(game, "go", r) for r, place in places if place not in (NOTHING, at)]
        found = game.ways[key] = sorted(rows, key=_LINE)
    return found


def _without_repeats(entries: list[Entry]) -> list[Entry]:
    """Leave out repeated lines of a sorted list, such as those of a lamp in two receptacles."""
    lines = {row.line for row in entries}
    if len(lines) == len(entries):
        return entries
    return list({row.line: row for row in reversed(entries)}.values())[::-1]
