"""Policies that worker processes can import: good ones and bad ones."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.agents import Agent, Percept
from piase_gym.errors import PolicyError


def first_legal(percept: Percept) -> int:
    """Take the first legal action."""
    return int(percept.mask.nonzero()[0][0])


def restless(percept: Percept) -> int:
    """Walk in a pattern that depends on the step and what is seen."""
    return (percept.step + int(percept.vector.sum())) % 4


def not_a_number(percept: Percept) -> Any:
    """Diverge after a while."""
    return np.float64("nan") if percept.step >= 3 else 0


def raises(percept: Percept) -> int:
    """Fail on some levels only."""
    if percept.facts.position[0] == 2:  # type: ignore[attr-defined]
        raise ZeroDivisionError("lost my way")
    return restless(percept)


class Refuses(Agent):
    """Plays in no episode at all."""

    def __init__(self) -> None:
        raise PolicyError("not with me")

    def act(self) -> int:
        raise AssertionError


class Killer(Agent):
    """Kills its own process in the episodes of one seed, for ever or only once.

    Args:
        folder: Where it leaves a note.
        forever: Whether it kills again if the note is there.
    """

    def __init__(self, folder: str, forever: bool) -> None:
        super().__init__()
        self.folder, self.forever = folder, forever
        self.doomed = False

    def reset(self, seed: int) -> None:
        self.note = Path(self.folder, f"killed-{seed}")
        self.doomed = seed % 3 == 0 and (self.forever or not self.note.exists())

    def act(self) -> int:
        assert isinstance(self.percept, Percept)
        if self.doomed and self.percept.step == 1:
            self.note.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return restless(self.percept)


def hangs(percept: Percept) -> int:
    """Never answer on some levels."""
    if percept.facts.position[0] == 1:  # type: ignore[attr-defined]
        time.sleep(600)
    return first_legal(percept)


class Hoarder(Agent):
    """Changes from act to act, and would from episode to episode if it were kept."""

    def __init__(self) -> None:
        super().__init__()
        self.acts = 0

    def act(self) -> int:
        self.acts += 1
        return self.acts % 4


def talks(percept: Percept) -> str:
    """Say hello, whoever may hear it."""
    return "say hello"


class OnlyAlone(Agent):
    """Promises to act in batches, and cannot."""

    def act(self) -> int:
        assert isinstance(self.percept, Percept)
        return first_legal(self.percept)

    def act_batch(self, percept: Any) -> Any:
        raise ZeroDivisionError("too many")


class Recurrent:
    """A model that counts its calls in its memory, and notes what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[Any, ...]] = []

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[Any, int]:
        start = bool(episode_start[0]), episode_start.shape
        self.given.append((state, start, deterministic, action_masks.tolist()))
        return np.array(action_masks.nonzero()[0][0]), 1 + (state or 0)

    def __deepcopy__(self, memo: Any) -> Recurrent:
        return self
