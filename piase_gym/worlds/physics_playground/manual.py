"""The words of PhysicsPlayground's prompts."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.channel.manual import channel_conditions, channel_rules
from piase_gym.worlds.physics_playground.actions import HANDS
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels import bodies
from piase_gym.worlds.physics_playground.rules.tasks import role
from piase_gym.worlds.texts.wording import article, counted, listing

MILESTONES = ("gripped", "placed", "done")

BODIES = {
    "rover": "a rover with two driven wheels; it goes where it faces, and turns on the spot",
    "sphere": "a sphere driven by a force along its heading; it drifts when it turns",
}
SIZES = {
    "rover": f"You reach {bodies.ROVER[0]:g} m ahead and behind of your centre, "
    f"and {bodies.ROVER[1]:g} m aside.",
    "sphere": f"Your radius is {bodies.SPHERE:g} m.",
}


def manual(config: PhysicsPlaygroundConfig) -> Manual:
    """Return the manual of a config."""
    width, depth = config.size
    rules = [
        f"You are {BODIES[config.body]}. {SIZES[config.body]}",
        f"The floor is {width:g} by {depth:g} metres with a wall around it. Places are x, y in "
        "metres from its middle: x grows to the east, y to the north. Facing 0 degrees is east, "
        "90 north, 180 west, 270 south.",
        'What stands at "1.20, -0.50; 2.10 m, 30 left, -0.20" has its centre at x 1.2, y -0.5, '
        "2.1 m from yours, 30 degrees to the left of where you face, and comes 0.2 m nearer each "
        "second (with a + it leaves). A height (m up) is told of what is not on the floor. "
        "Angles are whole degrees, so that places far off are right to a few centimetres only.",
        _things(config),
        _strides(config),
    ]
    if config.rays:
        rules.append(
            f"Lidar tells the metres from your centre to the next thing in {config.rays} "
            f"{'directions' if config.rays > 1 else 'direction'}, from ahead around by the left; "
            f"- is nothing within {config.range:g} m."
        )
    if config.can_grip:
        rules.append(
            "Your gripper holds one thing. To grip it, face it and be close: go to it, then grip. "
            f"What is light is held in front of you, {config.raised:g} m raised; what is heavy is "
            "dragged. Release puts it down where it is."
        )
    rules.append(channel_rules(config, "a command"))
    if config.speech and config.agents > 1:
        rules.append(" ".join(channel_conditions(config)))
    return Manual(
        "\n".join(filter(None, rules)),
        _rewards(config),
        lambda agent: goal(config, agent),
        milestones=milestones(config),
        example=_example(config),
        unused=() if config.can_grip else HANDS,
    )


def _things(config: PhysicsPlaygroundConfig) -> str:
    """Say which kinds of things there are, and how large they are."""
    wide = {
        f"{article(thing.kind)} {thing.kind} is "
        + ("1 m long and 0.4 m wide" if thing.kind == "crate" else f"{2.0 * thing.radius:g} m wide")
        for thing in config.things
    }
    if not wide:
        return ""
    sizes = "; ".join(sorted(wide))
    return (
        f"{sizes[0].upper()}{sizes[1:]}. Things have mass and friction, slide, roll and tip over; "
        "to push a thing somewhere, get behind it first, face it, and push."
    )


def _strides(config: PhysicsPlaygroundConfig) -> str:
    """Say how long commands last."""
    coast = round(coasting(config), 1)
    several = (
        " When the command of one agent ends, all are asked again; who then repeats its own "
        "command goes on with it."
        if config.agents > 1
        else ""
    )
    return (
        f"A step is {config.seconds:.3g} seconds. forward, back, push, turn and wait last one step "
        "by themselves; with a number of metres, degrees or seconds they last until that is done, "
        "as face and go to do: until you are blocked, or after at most "
        f"{config.stride} {'steps' if config.stride > 1 else 'step'}. They brake at their end. "
        f"After others you coast, up to {coast:g} m.{several}"
    )


def coasting(config: PhysicsPlaygroundConfig) -> float:
    """Return about how many metres a body coasts when it brakes from full speed."""
    share = min(0.5 / config.seconds, 8.0)
    speed = bodies.TOP_SPEED[config.body]
    rolling = bodies.THRUST["sphere"] / bodies.TOP_SPEED["sphere"] / bodies.MASSES["sphere"]
    return speed / (share if config.body == "rover" else min(share, rolling))


def milestones(config: PhysicsPlaygroundConfig) -> tuple[str, ...]:
    """Return the milestones that can be reached."""
    can = (config.can_grip and config.things, config.row.places, True)
    return tuple(name for name, there in zip(MILESTONES, can, strict=True) if there)


def _example(config: PhysicsPlaygroundConfig) -> tuple[str, str]:
    """Return a part of an observation, and a command."""
    if config.things:
        name = f"red {config.things[0].kind}"
        return f"{name.capitalize()}: 1.20, -0.50; 2.10 m, 30 left.", f"go to {name}"
    return "Goal: 1.20, -0.50; 2.10 m, 30 left.", "face goal"


def goal(config: PhysicsPlaygroundConfig, agent: int) -> str:
    """Return the goal of an agent, in words."""
    if config.task != "keep_away":
        together = "together, " if config.agents > 1 else ""
        return config.row.goal.format(config=config, together=together)
    steps = counted(config.hold_steps, "step")
    if role(agent) == "chaser":
        return f"you are a chaser: touch the ball within {steps}. {_sides(config)}"
    return f"you are a keeper: keep chasers from touching the ball for {steps}. {_sides(config)}"


def _sides(config: PhysicsPlaygroundConfig) -> str:
    """Say which agents are keepers and which are chasers."""
    sides: dict[str, list[str]] = {"keeper": [], "chaser": []}
    for agent, name in enumerate(config.names(config.agents)):
        sides[role(agent)].append(name)
    parts = [
        f"{listing(names)} {f'are {side}s' if names[1:] else f'is a {side}'}"
        for side, names in sides.items()
    ]
    return f"{'; '.join(parts)}."


_INTO_ZONE = (
    "the way of all objects into the zone, plus half of your own way to the nearest one outside,"
)
_WAYS = {
    "reach": "your way to the goal",
    "keep_away": "a chaser's way to the ball",
    "stack": (
        "your way to the nearest box, or that of the box you hold to the next one (to hold one "
        "counts as 1 metre),"
    ),
    "push": _INTO_ZONE,
    "gather": _INTO_ZONE,
    "carry": _INTO_ZONE,
}
"""What each task's reward for progress measures; see `rules.tasks.togo`."""


def _rewards(config: PhysicsPlaygroundConfig) -> str:
    """Say what the rewards are, in numbers."""
    table = config.rewards
    parts = [
        f"{table.done:+g} when the task is done",
        f"{table.progress:+g} for each metre that {_WAYS[config.task]} has become shorter",
        f"{table.step:+g} every step",
        f"{table.illegal:+g} for an illegal or unreadable command",
    ]
    if config.row.places:
        parts[1:1] = [
            f"{table.placed:+g} for each thing that comes to its place",
            f"{table.taken:+g} for each that leaves it",
        ]
    if config.task == "keep_away":
        parts[1:1] = [
            f"{table.lost:+g} for losing",
            f"{table.kept:+g} every step to keepers, the opposite to chasers",
        ]
    return "; ".join(parts) + "."
