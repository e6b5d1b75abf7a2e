"""Why a command cannot be carried out, in terms of what the agent knows and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from piase_gym.core.commands import Command
from piase_gym.worlds.household.facts import HeldObject, KnownReceptacle


def why_illegal(
    command: Command, places: Sequence[KnownReceptacle], holding: Sequence[HeldObject], line: str
) -> str:
    """Explain a well-formed command that is not legal; names may be without their numbers."""
    values: Mapping[str, Any] = command.parameters
    known = {place.name: place for place in places}
    here = [place.name for place in places if place.here]
    held = holding[0].name if holding else None
    target = _whole(str(values.get("receptacle", values.get("target", ""))), [*here, *known])
    thing = _whole(str(values.get("object", "")), [part.name for part in holding])
    place = known.get(target)
    if "receptacle" in values and place is None:
        return f"There is no {target} in this home."
    if command.verb == "go":
        return f"You are at the {target} already."
    if place is not None and not place.here:
        return f"You are not at the {target}; go to it first."
    match command.verb:
        case "open" | "close" if place is not None and place.state == "plain":
            return f"The {target} cannot be opened or closed."
        case "open" | "close" if place is not None:
            return f"The {target} is {place.state} already."
        case "take" if held is not None:
            return f"Your hand is full; put down the {held} first."
        case "take" if place is not None and place.state == "closed":
            return f"The {target} is closed; open it first."
        case "take":
            return f"You see no {thing} there that can be taken."
        case "move" | "put" | "heat" | "clean" | "cool" | "slice" if command.verb != "slice" and (
            held != thing
        ):
            return f"You do not carry the {thing}; take it first."
        case "move" | "put" if place is not None and place.state == "closed":
            return f"The {target} is closed; open it first."
        case "move" | "put":
            return f"The {thing} cannot be put there."
        case "heat" | "clean" | "cool":
            return f"You cannot {command.verb} the {thing} with the {target}."
        case "slice":
            return f"You cannot slice the {thing} here with the {values.get('tool')}."
        case "use":
            return f"There is no {thing} here to switch on."
        case "examine":
            where = ", ".join(here) or "no receptacle"
            return f"You can examine where you are ({where}) and what you carry."
        case "tell":
            return f"{values.get('agent_id')} cannot hear you."
    return f"You cannot {line} now."


def _whole(name: str, names: Sequence[str]) -> str:
    """Return the first of some names that a name without a number can stand for, or the name."""
    return next((n for n in names if name in (n, n.rpartition(" ")[0])), name)
