"""Checks of any ParallelEnv: arrays, dicts, copies, pictures and resources."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.core.rng import Stream
from piase_gym.testing.kit import Fault, Skip, check, require
from piase_gym.testing.play import (
    WHOLE,
    Row,
    go_on,
    last_row,
    opening,
    play,
    played_again,
    record,
    replay,
    require_same_rows,
    seen,
    state_of,
)
from piase_gym.testing.subject import Subject
from piase_gym.testing.values import arrays_in, plain, require_same


def _arrays(env: Any, row: Row) -> list[tuple[str, Any]]:
    """Return every array that a step handed out."""
    shown = {"observation": row.observations, "info": row.infos, "state": state_of(env)}
    return [(where, array) for where, array in arrays_in(shown) if array.size]


@check()
def arrays_are_fresh(subject: Subject) -> None:
    """No two arrays that are handed out share memory, and later steps change none of them."""
    env = subject.env()
    kept: list[tuple[int, str, Any, Any]] = []
    before: list[tuple[str, Any]] = []
    for row in play(env, 0, steps=40, unruly=subject.strict):
        now = _arrays(env, row)
        for place, (where, array) in enumerate(now):
            for other, earlier in before + now[:place]:
                shared = np.may_share_memory(array, earlier) and np.shares_memory(array, earlier)
                message = f"the array of ({where}) shares its memory with that of ({other})"
                require(not shared, f"at step {row.step} {message}")
        kept += [(row.step, where, array, array.copy()) for where, array in now]
        before = now
    for number, where, array, as_it_was in kept:
        same = np.array_equal(array, as_it_was, equal_nan=array.dtype.kind == "f")
        require(same, f"the array of ({where}) of step {number} was changed by later steps")


@check("deterministic")
def what_is_returned_is_the_callers(subject: Subject) -> None:
    """Writing into what was returned, and emptying its dicts, changes no later step."""
    rows = list(play(subject.env(), 0, steps=40, unruly=subject.strict))
    clean, soiled = subject.env(), subject.env()
    expected = played_again(clean, 0, rows)
    found = []
    for row in replay(soiled, 0, rows):
        found.append(seen(soiled, row))
        for _, array in _arrays(soiled, row):
            if array.flags.writeable:
                array[...] = np.zeros((), array.dtype) if array.any() else np.ones((), array.dtype)
        for part in (row.observations, row.rewards, row.terminated, row.truncated, row.infos):
            part.clear()
    require_same_rows("writing into what was returned changes later steps", expected, found)


@check()
def actions_are_left_alone(subject: Subject) -> None:
    """`step` does not change the dict of actions that it was given."""
    env, twin = subject.env(), subject.env()
    opening(twin, 0)
    for row in list(play(env, 0, steps=20, unruly=subject.strict))[1:]:
        given = dict(row.given)
        as_it_was = plain(given)
        twin.step(given)
        require_same("step changed the dict of actions that it was given", as_it_was, plain(given))


COPIES: dict[str, Callable[[Any], Any]] = {
    "deep-copied": copy.deepcopy,
    "pickled": lambda env: pickle.loads(pickle.dumps(env)),
}


@check()
def copies_go_on_alike(subject: Subject) -> str:
    """An environment copied or pickled in mid-episode goes on alike, and shares nothing."""
    failed = []
    for how, copied in COPIES.items():
        env = subject.env()
        row = last_row(env, 3, 5, **subject.how)
        try:
            twin = subject.noted(copied(env))
        except Exception as error:
            if subject.strict:
                raise Fault(f"it cannot be {how} in mid-episode: {error}") from None
            failed.append(f"cannot be {how}")
            continue
        state, futures = plain(state_of(env)), []
        for one in (twin, env):
            futures.append(record(one, go_on(one, row, Stream(3, 5), unruly=subject.strict)))
            if one is twin:
                message = f"playing a {how} environment changes the original"
                require_same(message, state, state_of(env))
        require_same_rows(f"a {how} environment goes on differently", futures[1], futures[0])
    if len(failed) == len(COPIES):
        raise Skip(", ".join(failed))
    return ", ".join(failed)


@check()
def pictures_are_what_they_say(subject: Subject) -> str:
    """Each render mode returns what its name says, and drawing changes nothing."""
    env = subject.env()
    metadata = getattr(env, "metadata", {})
    modes = [mode for mode in metadata.get("render_modes", ()) if mode != "human"]
    if not modes:
        raise Skip("it has no render mode but perhaps human")
    fps = metadata.get("render_fps")
    number = isinstance(fps, int | float) and not isinstance(fps, bool) and fps > 0
    require(number, f"metadata['render_fps'] is {fps!r}, no positive number")
    if not subject.takes("render_mode"):
        modes = [mode for mode in modes if mode == getattr(env, "render_mode", None)]
    for mode in modes:
        options = {"render_mode": mode} if subject.takes("render_mode") else {}
        drawn, plainly = subject.env(**options), subject.env()
        rows = list(play(drawn, 2, steps=12, unruly=subject.strict))
        found = []
        for row in replay(drawn, 2, rows):
            _require_picture(drawn.render(), mode, f"at step {row.step}")
            found.append(seen(drawn, row))
        expected = played_again(plainly, 2, rows)
        require_same_rows(f"render in mode {mode} changes the episode", expected, found)
    return ", ".join(modes)


def _require_picture(picture: Any, mode: str, where: str) -> None:
    """Require that a picture is of the kind that its mode promises."""
    said = f"{where} render in mode {mode} returns"
    if mode == "ansi":
        require(isinstance(picture, str) and picture, f"{said} {type(picture).__name__}, no text")
    elif mode == "rgb_array":
        require(isinstance(picture, np.ndarray), f"{said} {type(picture).__name__}, no array")
        require(picture.dtype == np.uint8, f"{said} the dtype {picture.dtype}, not uint8")
        good = picture.ndim == 3 and picture.shape[2] == 3 and picture.size > 0
        require(good, f"{said} the shape {picture.shape}, not (height, width, 3)")


@check()
def nothing_is_printed(subject: Subject) -> None:
    """An episode writes nothing to standard output."""
    said = io.StringIO()
    with redirect_stdout(said):
        env = subject.env()
        last_row(env, 0, WHOLE, **subject.how)
        env.close()
    require(not said.getvalue(), f"it prints {said.getvalue()[:60]!r}")


def _held() -> dict[str, set[Any]]:
    """Return the threads and, where the system lists them, the open files of this process."""
    held: dict[str, set[Any]] = {"thread": {thread.name for thread in threading.enumerate()}}
    folder = Path("/proc/self/fd")
    if folder.exists():
        held["open file"] = {entry.name for entry in folder.iterdir()}
    return held


@check()
def close_gives_back(subject: Subject) -> None:
    """`close` gives back files and threads, can be called twice, and before the first reset."""
    subject.env().close()
    for measured in (False, True):  # what is only made once, such as a cache, is made before
        if measured:
            gc.collect()
        before = _held()
        env = subject.env()
        for seed in (0, 1, 2):
            last_row(env, seed, 3, unruly=subject.strict)
        for number in (1, 2):
            try:
                env.close()
            except Exception as error:
                raise Fault(f"close() number {number} raises {error!r}") from None
        after = _held()
    for kind, things in after.items():
        left = things - before[kind]
        require(not left, f"after close there is still {len(left)} {kind} more than before")


@check()
def episodes_follow_each_other(subject: Subject) -> None:
    """When everybody has ended, `agents` is empty, and a reset starts another whole episode."""
    env = subject.env()
    row = last_row(env, 0, WHOLE, unruly=subject.strict)
    if row.after:
        raise Skip(f"no episode ended within {WHOLE} steps")
    again = last_row(env, 1, 1, unruly=subject.strict)
    require(again.step == 1, "after an episode's end, reset does not start another one")
