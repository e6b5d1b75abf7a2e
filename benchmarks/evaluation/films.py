"""Films of episodes: what a policy does, as an animated picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from piase_gym.benchmarks.evaluation.policies import Policy
from piase_gym.benchmarks.evaluation.rollout import Job, Table, make_world, play_one
from piase_gym.benchmarks.evaluation.settings import Setting

FRAMES = 80
SIDE = 400
"""Longest side of a picture, in pixels."""
MILLISECONDS = 120


def film(setting: Setting, policy: Policy, seed: int) -> list[NDArray[np.uint8]]:
    """Play an episode and return its pictures, the first `FRAMES` of them.

    Returns:
        Arrays of shape (height, width, 3).
    """
    world = make_world(setting)
    frames: list[NDArray[np.uint8]] = []

    def watch() -> None:
        if len(frames) < FRAMES:
            frames.append(world.rgb())

    table = Table(Job(setting, policy.at(setting), (seed,)), world)
    try:
        table.check()
        play_one(table, seed, watch)
    finally:
        world.close()
    return frames


def write_gif(frames: list[NDArray[np.uint8]], path: Path) -> None:
    """Write pictures as an animated GIF that waits at its end and starts again."""
    from PIL import Image

    pictures = []
    for frame in frames:
        picture = Image.fromarray(frame)
        picture.thumbnail((SIDE, SIDE))
        pictures.append(picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=64))
    path.parent.mkdir(parents=True, exist_ok=True)
    times = [MILLISECONDS] * (len(pictures) - 1) + [1200]
    first, *rest = pictures
    first.save(path, save_all=True, append_images=rest, duration=times, loop=0, optimize=True)
