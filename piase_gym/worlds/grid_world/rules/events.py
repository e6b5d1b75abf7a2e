"""What can become of a command, and what follows from it: outcomes, milestones, fates. Plain data.

Rewards are a table over events too; a config brings it (`config.Rewards`).
"""

from __future__ import annotations

from typing import Final

from piase_gym.core.commands import Outcome, Result

# Events: what became of one agent's command.
NONE: Final = 0
MOVE: Final = 1
REACH_GOAL: Final = 2
STAY: Final = 3
PICK_UP: Final = 4
DROP: Final = 5
OPEN_DOOR: Final = 6
UNLOCK: Final = 7
CLOSE_DOOR: Final = 8
BLOCKED: Final = 9
NO_KEY: Final = 10
ILLEGAL: Final = 11
UNPARSABLE: Final = 12  # invalid actions stand in the order of `array_world`'s codes
TOO_LONG: Final = 13
TIMEOUT: Final = 14
REFUSED: Final = 15
PUSH: Final = 16
EAT: Final = 17
HURT: Final = 18
TOGGLE: Final = 19
JAMMED: Final = 20
GATHER: Final = 21
TOO_HEAVY: Final = 22
TAG: Final = 23
CAUGHT: Final = 24
LATE: Final = 25
ENTER: Final = 26  # it has just entered, and did nothing yet
TURN: Final = 27  # on the spot, in the frame of the agent
NUM_EVENTS: Final = 28

_OUTCOMES: Final = {
    **dict.fromkeys((BLOCKED, NO_KEY, JAMMED, TOO_HEAVY, CAUGHT, LATE), Outcome.FAILED),
    ILLEGAL: Outcome.ILLEGAL,
    UNPARSABLE: Outcome.UNPARSABLE,
    TOO_LONG: Outcome.TOO_LONG,
    TIMEOUT: Outcome.TIMEOUT,
    REFUSED: Outcome.REFUSED,
}
OUTCOMES: Final = tuple(_OUTCOMES.get(event, Outcome.OK) for event in range(NUM_EVENTS))

FAILURES: Final = {
    NO_KEY: "The door is locked, and you carry no key.",
    JAMMED: "Somebody stands in an open gate, so nothing moves.",
    TOO_HEAVY: "The food is too heavy to be lifted by so few.",
    CAUGHT: "You were caught before you could act.",
    LATE: "Another was faster.",
}
"""Why an event has the outcome ``failed``; for a bump, the reason is the cell ahead."""
ADVICE: Final = {
    PICK_UP: " Interact to pick it up.",
    OPEN_DOOR: " Interact to open it.",
    UNLOCK: " Interact to unlock it.",
    NO_KEY: " It takes a key to unlock it.",
    TOGGLE: " Interact to turn it.",
    TOO_HEAVY: " Interact to lift it.",
}
"""What to do with what was bumped into, by the event of interacting with it."""
MILESTONES: Final = (
    "key_found",
    "door_opened",
    "goal_reached",
    "box_pushed",
    "switch_used",
    "fruit_eaten",
    "food_gathered",
    "tagged",
)
"""The names of the bits of `marks`."""
MARKS: Final = {
    PICK_UP: 1,
    UNLOCK: 2,
    OPEN_DOOR: 2,
    REACH_GOAL: 4,
    PUSH: 8,
    TOGGLE: 16,
    EAT: 32,
    GATHER: 64,
    TAG: 128,
}

# Fates: why an agent is no longer in play.
IN_PLAY: Final = 0
ARRIVED: Final = 1
DIED: Final = 2
STARVED: Final = 3
WAS_CAUGHT: Final = 4
CLEARED: Final = 5  # all food is gathered, or every runner is caught
OUT_OF_TIME: Final = 6
ESCAPED: Final = 7  # a runner at the end of time, or whoever had only to last

_WINS: Final = (ARRIVED, CLEARED, ESCAPED)
RESULTS: Final = tuple(Result.WON if fate in _WINS else Result.LOST for fate in range(ESCAPED + 1))
"""The result of every fate."""

# Roles.
NO_ROLE: Final = 0
TAGGER: Final = 1
RUNNER: Final = 2
ROLES: Final = ("none", "tagger", "runner")

# Faults: why no level could be made.
NO_FREE_CELL: Final = 1
NO_WAY: Final = 2
