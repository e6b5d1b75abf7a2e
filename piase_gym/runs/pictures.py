"""Pictures of a run, made from the log alone: animations, and plots of how well agents did."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.errors import ConfigError, RunError, need, require_count
from piase_gym.runs.manifest import require_slot, require_steps
from piase_gym.runs.metrics import Metrics
from piase_gym.runs.reader import Run, read
from piase_gym.runs.replayer import Replayer
from piase_gym.runs.schema import STATES, kind_of
from piase_gym.runs.sinks import output_file

KINDS = (".gif", ".mp4", ".png")
MAX_FPS = 100
"""Frames of a GIF last whole hundredths of a second."""
SMOOTH = 20
"""Episodes over which plots of success are averaged."""


def frames(
    path: str | os.PathLike[str] | Run, *, slot: int = 0, start: int = 0, stop: int | None = None
) -> Iterator[NDArray[np.uint8]]:
    """Return a picture of each state of a run, which is executed again as they are drawn.

    Args:
        path: The log, or a `Run` that `read` returned.
        slot: Which environment of a batch.
        start: The first step of the run to show.
        stop: The last step to show.

    Returns:
        Arrays of shape (height, width, 3).

    Raises:
        ConfigError: If the run has no such slot, or `start` or `stop` is no step.
        RunError: Once there is a line that cannot be executed again, or where states differ.
    """
    run = path if isinstance(path, Run) else read(path)
    require_slot(run.manifest, slot)
    require_steps(start=start, stop=stop)
    return _drawn(Replayer(run), slot, start, stop)


def _drawn(
    replayer: Replayer, slot: int, start: int, stop: int | None
) -> Iterator[NDArray[np.uint8]]:
    """Yield the pictures of a run that is executed again."""
    for event in replayer.executed(stop):
        data = event["event_data"]
        shown = kind_of(event["event_type"], data) in STATES
        if shown and data.get("slot", 0) == slot and event["step"] >= start:
            yield replayer.world(slot).rgb()


def render(
    path: str | os.PathLike[str] | Run,
    out: str | os.PathLike[str],
    *,
    fps: int = 4,
    slot: int = 0,
    start: int = 0,
    stop: int | None = None,
    overwrite: bool = False,
) -> Path:
    """Write an animation of a run.

    Args:
        path: The log, or a `Run` that `read` returned.
        out: A file that ends with ``.gif`` or ``.mp4``; ``.png`` writes the last picture.
        fps: Frames per second.
        slot: Which environment of a batch.
        start: The first step of the run to show.
        stop: The last step to show.
        overwrite: Whether an existing file may be overwritten.

    Returns:
        The file.

    Raises:
        ConfigError: If the ending is another, or the run has no such slot.
        RunError: If there is nothing to show, or the run cannot be executed again.
        LogWriteError: If the file exists or cannot be written; what was there is kept.
        MissingExtraError: If an mp4 is wanted and imageio-ffmpeg is not installed.
    """
    place = Path(out)
    if place.suffix not in KINDS:
        raise ConfigError(f"a picture ends with {', '.join(KINDS)}, not {place.suffix!r}")
    rule = f"fps is a whole number from 1 to {MAX_FPS}"
    if (fps := require_count(rule, fps)) > MAX_FPS:
        raise ConfigError(f"{rule}, not {fps}")
    write = _write_video if place.suffix == ".mp4" else _write_images
    run = path if isinstance(path, Run) else read(path)
    pictures = frames(run, slot=slot, start=start, stop=stop)
    with output_file(place, run.path, overwrite) as new:
        first = next(pictures, None)
        if first is None:
            to = "the end" if stop is None else f"step {stop}"
            raise RunError(f"there is no step to show from step {start} to {to}")
        write(new, first, pictures, fps)
    return place


def _fit(picture: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Cut or pad a picture, so that all have one size."""
    if picture.shape == shape:
        return picture
    canvas = np.zeros(shape, np.uint8)
    rows, columns = min(shape[0], picture.shape[0]), min(shape[1], picture.shape[1])
    canvas[:rows, :columns] = picture[:rows, :columns]
    return canvas


def _write_images(
    place: Path, first: NDArray[np.uint8], rest: Iterator[NDArray[np.uint8]], fps: int
) -> None:
    """Write an animation or a single picture with Pillow."""
    from PIL import Image

    if place.suffix == ".png":
        last = first
        for picture in rest:
            last = picture
        Image.fromarray(last).save(place)
        return
    images = (Image.fromarray(_fit(picture, first.shape)) for picture in rest)
    Image.fromarray(first).save(
        place, save_all=True, append_images=images, duration=1000 // fps, loop=0
    )


def _write_video(
    place: Path, first: NDArray[np.uint8], rest: Iterator[NDArray[np.uint8]], fps: int
) -> None:
    """Write a video with ffmpeg."""
    ffmpeg = need("imageio_ffmpeg", "an mp4", "video")
    even = (first.shape[0] // 2 * 2, first.shape[1] // 2 * 2, 3)
    made = ffmpeg.write_frames(str(place), (even[1], even[0]), fps=fps, macro_block_size=2)
    with contextlib.closing(made) as writer:  # also where a run cannot be executed any further
        writer.send(None)
        for picture in itertools.chain((first,), rest):
            writer.send(np.ascontiguousarray(_fit(picture, even)))


def plot(
    path: str | os.PathLike[str] | Run, out: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Draw returns, lengths and success over the episodes of a run.

    Args:
        path: The log, or a `Run` that `read` returned.
        out: A file with an ending that matplotlib knows, such as ``.png`` or ``.svg``.
        overwrite: Whether an existing file may be overwritten.

    Returns:
        The file.

    Raises:
        ConfigError: If the ending is none of these.
        RunError: If no episode was finished, or a line is damaged.
        LogWriteError: If the file exists or cannot be written; what was there is kept.
        MissingExtraError: If matplotlib is not installed.
    """
    run = path if isinstance(path, Run) else read(path)
    agents = Metrics(run, retain=1).history.agents
    rows = {name: [r for r in agent.episodes if r.finished] for name, agent in agents.items()}
    if not any(rows.values()):
        raise RunError(f"{run.path}: no episode was finished, so there is nothing to plot")
    need("matplotlib", "a plot", "bench")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 8), layout="constrained")
    charts = figure.subplots(3, 1, sharex=True)
    for name, episodes in rows.items():
        if episodes:
            _draw(charts, name, episodes)
    for chart, title in zip(charts, ("return", "length in steps", "success"), strict=True):
        chart.set_ylabel(title)
        chart.grid(alpha=0.3)
    charts[2].set_ylim(-0.05, 1.05)
    charts[2].set_xlabel(f"episode (success: mean of the last {SMOOTH})")
    charts[0].legend(fontsize="small")
    title = f"{run.manifest['world']}, run {run.run_id}"
    charts[0].set_title(title, fontsize="medium", parse_math=False)
    place = Path(out)
    with output_file(place, run.path, overwrite) as new:
        try:
            figure.savefig(new, format=place.suffix[1:])
        except ValueError as error:
            what = f"{place.suffix!r} is not a picture that can be drawn: {error}"
            raise ConfigError(what) from None
    return place


def _draw(charts: Sequence[Any], name: str, episodes: Sequence[Any]) -> None:
    """Draw one agent's lines."""
    numbers = np.array([row.episode for row in episodes])
    won = np.array([float(row.result == "won") for row in episodes])
    means = [won[max(0, i - SMOOTH + 1) : i + 1].mean() for i in range(len(won))]
    marker = "o" if len(episodes) < 30 else None
    charts[0].plot(numbers, [row.total for row in episodes], label=name, marker=marker)
    charts[1].plot(numbers, [row.length for row in episodes], marker=marker)
    charts[2].plot(numbers, means, marker=marker)
