"""Delayed recall: a cue that is seen once, a wait, and a choice that only the cue decides."""

from __future__ import annotations

from typing import Any, Final

from piase_gym.worlds.text_room.levels.story import Story

COLOURS: Final = ("red", "blue", "green", "white")
"""The colours that tell lanterns and caskets apart; chance is one in four."""
MOST_DELAY: Final = 1000
TIME_TO_CHOOSE: Final = 5
"""Steps in the hall before the episode is lost."""


def recall_story(delay: int, agents: int = 1) -> Story:
    """Return the story of the lantern and the casket.

    An agent sees a lantern of a colour that is drawn in each episode. After the first step it is
    led away, waits for `delay` steps in a room with nothing to see, and is led into a hall with
    caskets of all colours. Opening the casket of the lantern's colour wins, any other one loses. In
    the hall nothing shows the colour, so no agent without memory does better than one in four.

    Args:
        delay: Steps between the last sight of the lantern and the first of the caskets.
        agents: How many agents take part; the first to open a casket chooses for all.
    """
    led = [("waiting_room", 1), ("hall", 1 + delay)] if delay else [("hall", 1)]
    names = [f"agent_{k}" for k in range(agents)]
    caskets = ", ".join(f"a {colour} casket" for colour in COLOURS)
    moves = [
        {
            "trigger": {"type": "step_reached", "step": step},
            "response": [
                *({"type": "move_agent", "room": room, "agent_id": name} for name in names),
                {"type": "message_to_agent", "content": "You are led away.", "agent_id": "all"},
            ],
        }
        for room, step in led
    ]
    return Story.model_validate(
        {
            "description": (
                "From the porch, where a lantern hangs, you are led through a waiting room into a "
                f"hall with {caskets}. Open that of the lantern's colour; any other loses."
            ),
            "rooms": {
                "porch": {"description": "A porch.", "objects": ["red_lantern"]},
                "cloakroom": {"objects": [f"{colour}_lantern" for colour in COLOURS[1:]]},
                "waiting_room": {"description": "A bare room."},
                "hall": {
                    "description": "A hall of four caskets.",
                    "objects": [f"{colour}_casket" for colour in COLOURS],
                },
            },
            "object_details": {
                f"{colour}_{thing}": {"is_container": thing == "casket", "can_be_taken": False}
                for thing in ("lantern", "casket")
                for colour in COLOURS
            },
            "shuffle": [[f"{colour}_lantern" for colour in COLOURS]],
            "agent_setup": [
                {
                    "agent_id": name,
                    "start_room": "porch",
                    "goal": "Open the casket of the colour of the lantern in the porch.",
                }
                for name in names
            ],
            "win_conditions": [{"type": "flag_set", "flag_name": "chose_right"}],
            "lose_conditions": [
                {"type": "flag_set", "flag_name": "chose_wrong"},
                {"type": "max_steps_reached", "steps": 1 + delay + TIME_TO_CHOOSE},
            ],
            "events": [
                *moves,
                *(_choice(colour, "porch", "chose_right") for colour in COLOURS),
                *(_choice(colour, "cloakroom", "chose_wrong") for colour in COLOURS),
            ],
        }
    )


def _choice(colour: str, room: str, flag: str) -> dict[str, Any]:
    """Return the event for opening a casket while the lantern of its colour is in a room."""
    lantern, casket = f"{colour}_lantern", f"{colour}_casket"
    return {
        "trigger": {"type": "action_taken", "action_type": "open", "target": casket},
        "conditions": [{"type": "item_in_room", "item_name": lantern, "room": room}],
        "response": {"type": "set_flag", "flag_name": flag},
    }
