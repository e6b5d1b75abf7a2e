"""Makes the moving pictures of the worlds: an episode of each, played by a policy, from a seed.

Run it with ``python docs/make_pictures.py [WORLD ...]``; it needs the extra ``physics``. Two still
pictures show what cameras and windows are said to show: of ``camera`` and ``screen``, which needs
the extras ``screen`` and ``video``, and Xvfb.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

import piase_gym
from piase_gym.agents import make_agent
from piase_gym.agents.base import act_all
from piase_gym.core.rng import Stream
from piase_gym.worlds.drawing import INK, PAPER

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
    "ObjectSearch": Film(
        "object_search.gif",
        "piase/ObjectSearch-House-4p-v3",
        policies=("scripted",),
        duration=250,
    ),
    "PhysicsPlayground": Film(
        "physics_playground.gif", "piase/PhysicsPlayground-Stack-v2", every=3, duration=120
    ),
    "SocialDilemma": Film(
        "social_dilemma.gif", "piase/SocialDilemma-Harvest-4p-v1", every=2, duration=150
    ),
    "WordCraft": Film(
        "word_craft.gif",
        "WordCraft",
        options={"depth": 4, "goals": ("pie", "village", "pizza"), "distractors": 3},
        seed=1,
        duration=1000,
        side=760,
        colours=48,
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
        env.step(act_all(env, agents, step))
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


# -- what describers say of pictures ----------------------------------------------------------


def annotated(
    picture: Any, objects: Any, caption: str, heading: str, side: int = 400
) -> Image.Image:
    """Return a picture with a box around each object, given as shares, and its caption below."""
    image = Image.fromarray(picture)
    image = image.resize((side, round(side * image.height / image.width)), Image.Resampling.NEAREST)
    sheet = Image.new("RGB", (side, image.height + 92), PAPER)
    sheet.paste(image, (0, 24))
    pen = ImageDraw.Draw(sheet)
    pen.text((4, 4), heading, INK, font_size=14)
    for name, *box in objects:
        corners = [
            round(share * length) + (0, 24)[k % 2]
            for k, (share, length) in enumerate(zip(box, 2 * image.size, strict=True))
        ]
        pen.rectangle(corners, outline="white", width=2)
        below = (corners[0] + 4, min(corners[3] + 2, image.height))
        pen.text(below, name, "white", font_size=14, stroke_width=2, stroke_fill=INK)
    lines = textwrap.wrap(caption, side // 8)
    pen.multiline_text((4, image.height + 28), "\n".join(lines[:3]), INK, font_size=14)
    return sheet


def row(sheets: list[Image.Image], file: str) -> Path:
    """Write pictures side by side."""
    height = max(sheet.height for sheet in sheets)
    page = Image.new("RGB", (sum(s.width + 8 for s in sheets) - 8, height), "white")
    left = 0
    for sheet in sheets:
        page.paste(sheet, (left, 0))
        left += sheet.width + 8
    path = FOLDER / file
    page.save(path, optimize=True)
    return path


def camera(seed: int = 1, steps: int = 6) -> Path:
    """Show a house from above, and what its explorers see when both see the most."""
    env = piase_gym.parallel_env("ObjectSearch", backend="camera", objects=16, room=9, agents=2)
    env.reset(seed=seed)
    dice, best, sheets = Stream(seed), -1, [Image.new("RGB", (1, 1))]
    for _ in range(steps):
        env.step({name: dice.integer(12) for name in env.agents})
        shots = env.world.shots
        most = min(len(shot.told.objects) for shot in shots)
        if most <= best:
            continue
        best, (lines, columns) = most, shots[0].picture.shape[:2]
        house = Image.fromarray(env.world.rgb()).crop((0, 0, 512, 512)).resize((320, 320))
        sheets = [house]
        for name, shot in zip(env.possible_agents, shots, strict=True):
            boxes = [
                (thing, *(edge / (columns, lines)[k % 2] for k, edge in enumerate(box)))
                for thing, box in shot.told.objects
            ]
            sheets.append(annotated(shot.picture, boxes, shot.told.caption, f"What {name} sees"))
    env.close()
    return row(sheets, "object_search_camera.png")


def screen() -> Path:
    """Show what a real window shows, as the keys of the test-suite's program move it."""
    program = Path(__file__).parents[1] / "tests" / "worlds" / "screen_search" / "program.py"
    read, write = os.pipe()
    size = ["-screen", "0", "800x600x24", "-nolisten", "tcp"]
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), *size], pass_fds=[write])
    os.close(write)
    with os.fdopen(read) as line, tempfile.NamedTemporaryFile() as authority:
        os.environ |= {"DISPLAY": f":{line.readline().strip()}", "XAUTHORITY": authority.name}
        command = [sys.executable, str(program), "A wall of squares", "40", "30"]
        window = subprocess.Popen(
            command, env={**os.environ, "SDL_VIDEODRIVER": "x11"}, stdout=subprocess.PIPE, text=True
        )
        assert window.stdout is not None
        while "ready" not in window.stdout.readline():
            pass
        env = piase_gym.parallel_env("ScreenSearch", window="wall of squares", actions="text")
        env.reset(seed=0)
        sheets = []
        for line_given in ("stay", "move_right", "look_right"):
            env.step({"agent_0": line_given})
            facts = env.facts("agent_0")
            boxes = [
                (o.name, *((m + s * e / 2) / 100 for s in (-1, 1) for m, e in _sides(o)))
                for o in facts.objects
            ]
            heading = f"after {line_given} (key {env.config.keys.get(line_given, 'none')})"
            sheets.append(annotated(env.world.rgb(), boxes, facts.caption, heading, 340))
        env.close()
        for process in (window, server):
            process.kill()
            process.wait()
    return row(sheets, "screen_search.png")


def _sides(thing: Any) -> tuple[tuple[float, float], ...]:
    """Return middle and extent of an object, across and down."""
    return (thing.x, thing.width), (thing.y, thing.height)


STILLS = {"camera": camera, "screen": screen}


def main(worlds: list[str]) -> None:
    """Make the pictures of these worlds."""
    for world in worlds:
        if world in STILLS:
            STILLS[world]()
        else:
            write(film(FILMS[world]), FILMS[world])


if __name__ == "__main__":
    main(sys.argv[1:] or [*FILMS, *STILLS])
