"""The words of PhysicsPlayground's prompts."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.rules.tasks import role

BODIES = {
    "rover": "a rover with two driven wheels; it goes where it faces, and turns on the spot",
    "sphere": "a sphere driven by a force along its heading; it drifts when it turns",
}


def manual(config: PhysicsPlaygroundConfig) -> Manual:
    """Return the manual of a config."""
    width, depth = config.size
    rules = (
        f"You are {BODIES[config.body]}. The floor is {width:g} by {depth:g} metres with a wall "
        f"around it; its middle is x 0, y 0. A step is {config.seconds:.3g} seconds. Bearings are "
        f"degrees from where you face, distances are from your centre. Things have mass and "
        f"friction, roll, tip over and bounce."
    )
    if config.can_grip:
        rules += (
            " You have a gripper: face a thing and be close to it to grip it. What is light is "
            f"held in front of you, {config.raised:g} m raised; what is heavy is dragged."
        )
    return Manual(rules, _rewards(config), lambda agent: goal(config, agent))


def goal(config: PhysicsPlaygroundConfig, agent: int) -> str:
    """Return what an agent is to achieve."""
    if config.task != "keep_away":
        return config.row.goal.format(config=config)
    if role(agent) == "chaser":
        return f"you are a chaser: touch the ball within {config.hold_steps} steps."
    return f"you are a keeper: keep chasers from touching the ball for {config.hold_steps} steps."


def _rewards(config: PhysicsPlaygroundConfig) -> str:
    """Tell the rewards in numbers."""
    table = config.rewards
    told = [
        f"{table.done:+g} when the task is done",
        f"{table.progress:+g} a metre nearer to it",
        f"{table.step:+g} every step",
        f"{table.illegal:+g} for an illegal command",
    ]
    if config.row.places:
        told[1:1] = [
            f"{table.placed:+g} when another thing is in its place",
            f"{table.taken:+g} when one is there no more",
        ]
    if config.task == "keep_away":
        told[1:1] = [
            f"{table.lost:+g} for losing",
            f"{table.kept:+g} every step to keepers, the opposite to chasers",
        ]
    return "; ".join(told) + "."
