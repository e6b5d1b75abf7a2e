"""Makes the moving pictures of the worlds: an episode of each, played by a policy, from a seed.

Run it with ``python docs/make_pictures.py [WORLD ...]``; it needs the extra ``physics``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

import piase_gym
from piase_gym.agents import Percept, make_agent

FOLDER = Path(__file__).with_name("images")
LARGEST = 300_000
"""Most bytes of a picture."""


@dataclass(frozen=True)
class Film:
    """What is filmed.

    Attributes:
        file: Name of the picture in `FOLDER`.
        world: A world, an id or a scenario.
        policies: Who plays, one after the other.
        options: More arguments of `piase_gym.parallel_env`.
        seed: Of the episode.
        every: How many steps there are from one frame to the next.
        frames: Most frames.
        duration: Milliseconds that a frame is shown.
        side: Longest side, in pixels.
        colours: How many there are at most.
    """

    file: str
    world: str
    policies: tuple[str, ...] = ("oracle",)
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    every: int = 1
    frames: int = 60
    duration: int = 200
    side: int = 320
    colours: int = 160


FILMS = {
    "GridWorld": Film(
        "grid_world.gif",
        "GridWorld",
        options={"layout": "door_key", "width": 10, "agents": 4},
        colours=256,
    ),
    "Household": Film(
        "household.gif",
        "Household",
        policies=("scripted",),
        options={"tasks": ("clean",), "rooms": ("kitchen",), "receptacles": 16, "objects": 20},
        duration=900,
        side=520,
        colours=48,
    ),
    "PhysicsPlayground": Film(
        "physics_playground.gif", "piase/PhysicsPlayground-Stack-v0", every=3, duration=120
    ),
    "SocialDilemma": Film(
        "social_dilemma.gif", "piase/SocialDilemma-Harvest-4p-v0", every=2, duration=150
    ),
    "SqlQuery": Film(
        "sql_query.gif",
        "SqlQuery",
        policies=("scripted",),
        options={"domains": ("library",), "kinds": ("joined_top",), "discover": True},
        duration=1500,
        side=520,
        colours=32,
    ),
    "TextRoom": Film("text_room.gif", "lost_key", duration=1100, side=420),
}
"""World -> its film."""


def film(plan: Film) -> list[Image.Image]:
    """Play an episode and return its pictures."""
    env = piase_gym.parallel_env(plan.world, render_mode="rgb_array", **plan.options)
    env.reset(seed=plan.seed)
    names = env.possible_agents
    agents = {n: make_agent(plan.policies[i % len(plan.policies)]) for i, n in enumerate(names)}
    pictures, step = [Image.fromarray(env.render())], 0
    while env.agents and len(pictures) < plan.frames:
        actions = {}
        for name in env.agents:
            agents[name].perceive(Percept(env.world, env.world.agents.index(name), step))
            actions[name] = agents[name].act()
        env.step(actions)
        step += 1
        if step % plan.every == 0 or not env.agents:
            pictures.append(Image.fromarray(env.render()))
    env.close()
    return pictures


def write(pictures: list[Image.Image], plan: Film) -> Path:
    """Write pictures as a GIF that waits at its end; all frames share their colours.

    Raises:
        ValueError: If it is too large for a page.
    """
    for picture in pictures:
        picture.thumbnail((plan.side, plan.side), Image.Resampling.LANCZOS)
    sheet = Image.new("RGB", (pictures[0].width, sum(p.height for p in pictures)))
    for number, picture in enumerate(pictures):
        sheet.paste(picture, (0, number * picture.height))
    most = Image.Quantize.MAXCOVERAGE  # the few pixels of an agent keep their colour
    palette = sheet.quantize(plan.colours, method=most, dither=Image.Dither.NONE)
    first, *rest = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    times = [plan.duration] * len(rest) + [2000]
    path = FOLDER / plan.file
    first.save(path, save_all=True, append_images=rest, duration=times, loop=0, optimize=True)
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes; allowed: {LARGEST:,}")
    return path


def main(worlds: list[str]) -> None:
    """Make the pictures of these worlds."""
    for world in worlds:
        write(film(FILMS[world]), FILMS[world])


if __name__ == "__main__":
    main(sys.argv[1:] or list(FILMS))
