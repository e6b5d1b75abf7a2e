"""What commands do, and the answers to them: to the letter those of the games."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from piase_gym.worlds.household.actions import HELP
from piase_gym.worlds.household.levels.game import Entry, Game, listing
from piase_gym.worlds.household.rules.goals import CLEAN, COOL, HOT, ON, SLICED, TOGGLED
from piase_gym.worlds.household.state import NOTHING, HomeState

NO_EFFECT = "Nothing happens."
"""The answer to what cannot be done, whatever the reason."""
WELCOME = "-= Welcome to TextWorld, ALFRED! =-"
_MIDDLE = "You are in the middle of a room. Looking quickly around you, you see "


def introduction(game: Game, state: HomeState, agent: int) -> str:
    """Return what an agent is told at the beginning."""
    here = game.at[state.at[agent]]
    around = [k for k, place in enumerate(game.places_of) if place != NOTHING]
    seen = (
        look(game, state, agent)
        if here
        else f"{_MIDDLE}{listing(game.receptacles[k] for k in around)}."
    )
    return f"{WELCOME}\n\n{seen}\n\nYour task is to: {game.goal_text}"


def look(game: Game, state: HomeState, agent: int) -> str:
    """Answer ``look``; what was taken from another receptacle here lies next to this one."""
    at = state.at[agent]
    here = game.at[at]
    if not here:
        return f"{_MIDDLE}nothing."
    beside = [
        game.objects[k]
        for k, spots in enumerate(state.spots)
        if at in spots and state.left[k]
        for r in here
        if r in state.left[k]
    ]
    facing = _row([game.receptacles[r] for r in here])
    return f"You are facing the {facing}. Next to it, you see {listing(beside)}."


def _row(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, and {names[-1]}"


def examine_receptacle(game: Game, state: HomeState, r: int) -> str:
    """Say what is in or on a receptacle."""
    name = game.receptacles[r]
    if not game.openable[r]:
        return f"On the {name}, you see {game.listing(state.contents[r])}."
    if not state.opened[r]:
        return f"The {name} is closed."
    return f"The {name} is open. In it, you see {game.listing(state.contents[r])}."


_LOOKS: Final = (
    (CLEAN | HOT | SLICED, "a hot and clean sliced"),
    (CLEAN | COOL | SLICED, "a cool and clean sliced"),
    (CLEAN | SLICED, "a clean sliced"),
    (HOT | SLICED, "a hot sliced"),
    (COOL | SLICED, "a cool sliced"),
    (CLEAN | HOT, "a hot and clean"),
    (CLEAN | COOL, "a cool and clean"),
    (HOT, "a hot"),
    (CLEAN, "a clean"),
    (COOL, "a cold"),
)
"""How an object looks; the first that fits is used."""


def examine_object(game: Game, state: HomeState, k: int) -> str:
    """Say how an object looks."""
    name, marks = game.objects[k], state.marks[k]
    if k in game.holders:
        return f"This is a normal {name}. In it, you see {game.listing(game.inside.get(k, ()))}."
    for bits, looks in _LOOKS:
        if marks & bits == bits:
            return f"This is {looks} {name}."
    if game.can["toggleable"][k] and marks & TOGGLED:
        return f"This {name} is on."
    if game.can["sliceable"][k] and marks & SLICED:
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."


def _go(game: Game, state: HomeState, agent: int, row: Entry) -> str:
    state.at[agent] = game.places_of[row.one]
    return f"{game.receptacles[row.one]}. {examine_receptacle(game, state, row.one)}"


def _open(game: Game, state: HomeState, _agent: int, row: Entry) -> str:
    state.opened[row.one] = 1
    name = game.receptacles[row.one]
    return f"You open the {name}. {examine_receptacle(game, state, row.one)}"


def _close(game: Game, state: HomeState, _agent: int, row: Entry) -> str:
    state.opened[row.one] = 0
    return f"You close the {game.receptacles[row.one]}."


def _take(game: Game, state: HomeState, agent: int, row: Entry) -> str:
    k, r = row.one, row.two
    at = state.at[agent]
    state.contents[r] = tuple([other for other in state.contents[r] if other != k])
    state.holding[agent] = k
    state.spots[k] = tuple([place for place in state.spots[k] if place != at])
    if r not in state.left[k]:
        state.left[k] = _sorted(state.left[k], r)
    return f"You pick up the {game.objects[k]} from the {game.receptacles[r]}."


def _put(game: Game, state: HomeState, agent: int, row: Entry) -> str:
    k, r = row.one, row.two
    at = state.at[agent]
    state.contents[r] = _sorted(state.contents[r], k)
    state.holding[agent] = NOTHING
    state.spots[k] = _sorted(state.spots[k], at)
    state.left[k] = tuple([other for other in state.left[k] if other != r])
    if row.verb == "put":
        return f"You put the {game.objects[k]} in/on the {game.receptacles[r]}."
    return f"You move the {game.objects[k]} to the {game.receptacles[r]}."


def _sorted(row: Iterable[int], more: int) -> tuple[int, ...]:
    return tuple(sorted({*row, more}))


def _inventory(game: Game, state: HomeState, agent: int, _row: Entry) -> str:
    held = state.holding[agent]
    if held == NOTHING:
        return "You are not carrying anything."
    return f"You are carrying: a {game.objects[held]}."


def _use(game: Game, state: HomeState, _agent: int, row: Entry) -> str:
    state.marks[row.one] = (state.marks[row.one] ^ ON) | TOGGLED
    return f"You turn on the {game.objects[row.one]}."  # so the games say, on or off


def _changes(verb: str, gains: int, loses: int) -> Effect:
    def effect(game: Game, state: HomeState, _agent: int, row: Entry) -> str:
        state.marks[row.one] = (state.marks[row.one] | gains) & ~loses
        return f"You {verb} the {game.objects[row.one]} using the {game.receptacles[row.two]}."

    return effect


def _slice(game: Game, state: HomeState, _agent: int, row: Entry) -> str:
    state.marks[row.one] |= SLICED
    return f"You sliced the {game.objects[row.one]} with the {game.objects[row.two]}."


Effect = Callable[[Game, HomeState, int, Entry], str]
EFFECTS: Final[dict[str, Effect]] = {
    "go": _go,
    "open": _open,
    "close": _close,
    "take": _take,
    "move": _put,
    "put": _put,
    "inventory": _inventory,
    "use": _use,
    "heat": _changes("heat", HOT, COOL),
    "clean": _changes("clean", CLEAN, 0),
    "cool": _changes("cool", COOL, HOT),
    "slice": _slice,
    "look": lambda game, state, agent, _row: look(game, state, agent),
    "help": lambda _game, _state, _agent, _row: HELP,
    "examine receptacle": lambda game, state, _agent, row: examine_receptacle(game, state, row.one),
    "examine object": lambda game, state, _agent, row: examine_object(game, state, row.one),
}
"""What each kind of command does; it returns the answer."""


def perform(game: Game, state: HomeState, agent: int, row: Entry, names_places: bool) -> str:
    """Carry out a legal command and return the answer.

    Args:
        game: The home.
        state: Its state, which changes.
        agent: The agent that acts.
        row: The command.
        names_places: Whether the answer to ``go`` names the receptacle, not the location.
    """
    answer = EFFECTS[row.verb](game, state, agent, row)
    if row.verb != "go":
        return answer
    if names_places:
        return f"You arrive at {answer}"
    place = game.locations[game.places_of[row.one]]
    return f"You arrive at {place}. {examine_receptacle(game, state, row.one)}"
