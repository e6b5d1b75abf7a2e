"""A zoo of PettingZoo environments: `Meadow`, which is sound, and others with one fault each.

Most of the others pass PettingZoo's own `parallel_api_test` and `parallel_seed_test`.
"""

from __future__ import annotations

import os
import random
import threading
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

LIMIT = 20
EDGE = 6


class Meadow(ParallelEnv[str, Any, Any]):
    """Three cows walk along a line in the wind; who comes to the edge has left."""

    metadata = {"name": "meadow_v0", "render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.possible_agents = ["cow_0", "cow_1", "cow_2"]
        self.agents: list[str] = []
        self.max_cycles = LIMIT
        box, count = self.box(), spaces.Discrete
        self.observation_spaces = dict.fromkeys(self.possible_agents, box)
        self.action_spaces = {name: count(3) for name in self.possible_agents}
        self.state_space = spaces.Box(-50, 50, (4,), np.int32)
        self.dice = np.random.default_rng()

    @staticmethod
    def box() -> spaces.Box:
        return spaces.Box(-20, 20, (3,), np.float32)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.dice = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.time = 0
        self.places = {name: int(self.dice.integers(-2, 3)) for name in self.possible_agents}
        return self.look(self.agents), {name: self.info(name) for name in self.agents}

    def step(self, actions: Any) -> Any:
        acting = list(self.agents)
        self.time += 1
        for name in acting:
            self.places[name] = max(-EDGE, self.places[name] + int(actions[name]) - 1 + self.wind())
        terminated = {name: self.places[name] >= EDGE for name in acting}
        truncated = {name: self.time >= LIMIT and not terminated[name] for name in acting}
        self.agents = [n for n in acting if not terminated[n] and not truncated[n]]
        rewards = {name: float(terminated[name]) for name in acting}
        infos = {name: self.info(name) for name in acting}
        return self.look(acting), rewards, terminated, truncated, infos

    def wind(self) -> int:
        return int(self.dice.integers(0, 2))

    def look(self, names: list[str]) -> dict[str, Any]:
        return {name: self.observe(name) for name in names}

    def observe(self, name: str) -> NDArray[Any]:
        return np.array([self.places[name], self.time, EDGE], np.float32)

    def info(self, name: str) -> dict[str, Any]:
        return {"action_mask": self.mask(name)}

    def mask(self, name: str) -> NDArray[np.int8]:
        return np.array([self.places[name] > -EDGE, 1, 1], np.int8)

    def state(self) -> NDArray[Any]:
        return np.array([self.time, *self.places.values()], np.int32)

    def render(self) -> Any:
        if self.render_mode == "ansi":
            return " ".join(f"{name}: {place}" for name, place in self.places.items())
        if self.render_mode == "rgb_array":
            return np.full((4, 4, 3), self.time, np.uint8)
        return None

    def close(self) -> None:
        self.agents = []


class DropsItsSeed(Meadow):
    """The wind of later steps comes from generators that nobody has seeded."""

    def wind(self) -> int:
        return super().wind() if self.time < 5 else int(np.random.default_rng().integers(0, 2))


class LeavesItsSpace(Meadow):
    """From step 10 on the clock is larger than its space allows."""

    def observe(self, name: str) -> NDArray[Any]:
        return super().observe(name) * np.float32(1 if self.time < 10 else 3)


class WrongDtype(Meadow):
    """Observations are float64 after a while, in a float32 box."""

    def observe(self, name: str) -> NDArray[Any]:
        return super().observe(name).astype(np.float64 if self.time > 2 else np.float32)


class ReusesItsArray(Meadow):
    """Every observation of an agent is the same array, written over."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        self.buffers = {name: np.zeros(3, np.float32) for name in self.possible_agents}

    def observe(self, name: str) -> NDArray[Any]:
        self.buffers[name][:] = super().observe(name)
        return self.buffers[name]


class HandsOutItsState(Meadow):
    """The places are kept in the array that `state` hands out."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.wet = np.zeros(4, np.int32)
        return super().reset(seed, options)

    def wind(self) -> int:
        return super().wind() * int(self.wet[0] == 0)

    def state(self) -> NDArray[Any]:
        return self.wet


class IteratesOverASet(Meadow):
    """The wind reaches the cows in the order of a set of their names."""

    def step(self, actions: Any) -> Any:
        self.gusts = {name: Meadow.wind(self) for name in set(self.agents)}
        self.turn = iter(list(self.agents))
        return super().step(actions)

    def wind(self) -> int:
        return self.gusts[next(self.turn)]


class ModuleRandomness(Meadow):
    """The wind is drawn from the module `random`, which the reset seeds."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            random.seed(seed)
        return super().reset(seed, options)

    def wind(self) -> int:
        return random.randrange(2)


class RepeatsItself(Meadow):
    """A reset without a seed goes back to the last seed."""

    last = 0

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.last = self.last if seed is None else seed
        return super().reset(self.last, options)


class StateOutside(Meadow):
    """The state counts in thousands, its space does not."""

    def state(self) -> NDArray[Any]:
        return super().state() * 1000


class MaskLies(Meadow):
    """The mask allows walking left at the very left, where it is an error."""

    def mask(self, name: str) -> NDArray[np.int8]:
        return np.ones(3, np.int8)

    def step(self, actions: Any) -> Any:
        for name, action in actions.items():
            if action == 0 and self.places[name] < 0:
                raise ValueError(f"{name} cannot walk left")
        return super().step(actions)


class MaskOfAnotherSize(Meadow):
    """The mask has a bit too many."""

    def mask(self, name: str) -> NDArray[np.int8]:
        return np.ones(4 if self.time > 3 else 3, np.int8)


class ForgetsInfos(Meadow):
    """Those who end get no info."""

    def step(self, actions: Any) -> Any:
        *rest, infos = super().step(actions)
        return *rest, {name: infos[name] for name in self.agents}


class RaisesTheDead(Meadow):
    """The cow that left first comes back five steps later."""

    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        for name, place in self.places.items():
            if place >= EDGE and self.time == 15 and name not in self.agents and self.agents:
                self.agents = [n for n in self.possible_agents if n in {*self.agents, name}]
                self.places[name] = 0
                for part, value in zip(
                    found, (self.observe(name), 0.0, False, False, self.info(name)), strict=True
                ):
                    part[name] = value
        return found


class KeepsTheDead(Meadow):
    """Those who have ended stay in `agents` for as long as others play."""

    def step(self, actions: Any) -> Any:
        before = list(self.agents)
        found = super().step(actions)
        self.agents = before if self.agents else []
        return found


class EatsTheActions(Meadow):
    """The dict of actions is empty after the step."""

    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        actions.clear()
        return found


class RebuildsSpaces(Meadow):
    """After each reset the observation spaces are new objects."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.observation_spaces = {name: self.box() for name in self.possible_agents}
        return super().reset(seed, options)


class InfoWithALock(Meadow):
    """The infos hold something that cannot be pickled."""

    def info(self, name: str) -> dict[str, Any]:
        return {**super().info(name), "lock": threading.Lock()}


class RewardsNothing(Meadow):
    """A reward is not a number now and then."""

    def step(self, actions: Any) -> Any:
        shown, rewards, *rest = super().step(actions)
        if self.time == 7:
            rewards = dict.fromkeys(rewards, float("nan"))
        return shown, rewards, *rest


class RemembersEpisodes(Meadow):
    """There is no wind but in the first episode."""

    episodes = 0

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.episodes += 1
        return super().reset(seed, options)

    def wind(self) -> int:
        return super().wind() if self.episodes < 2 else 0


class CopiesBadly(Meadow):
    """A pickled environment has lost its dice."""

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "dice"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.dice = np.random.default_rng(0)


class PaintsFloats(Meadow):
    """Pictures are floats from 0 to 1."""

    def render(self) -> Any:
        picture = super().render()
        return picture / 255 if self.render_mode == "rgb_array" else picture


class WithoutFps(Meadow):
    """The metadata do not say how fast pictures follow each other."""

    metadata = {"name": "meadow_v0", "render_modes": ["ansi", "rgb_array"]}


class LeaksFiles(Meadow):
    """A file is opened at each reset and never closed."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.file = os.open(os.devnull, os.O_RDONLY)
        return super().reset(seed, options)


class Chatters(Meadow):
    """Every reset says so."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        print("a new episode begins")  # noqa: T201
        return super().reset(seed, options)


class ActsInKeyOrder(Meadow):
    """The cows walk in the order of the dict of actions, and so does the wind."""

    def step(self, actions: Any) -> Any:
        order, self.agents = self.agents, [name for name in actions if name in self.agents]
        found = super().step(actions)
        self.agents = [name for name in order if name in self.agents]
        return found


# environment, the check that finds it out, words of the sentence
BROKEN: tuple[tuple[type[Meadow], str, tuple[str, ...]], ...] = (
    (DropsItsSeed, "same_seed_same_episode", ("seed 0", "differ", "step")),
    (LeavesItsSpace, "observations_fit", ("step 10", "not in its space", "allowed")),
    (WrongDtype, "observations_fit", ("dtype", "float64", "float32")),
    (ReusesItsArray, "arrays_are_fresh", ("shares its memory", "observation")),
    (HandsOutItsState, "what_is_returned_is_the_callers", ("writing into", "later steps")),
    (IteratesOverASet, "other_processes_agree", ("PYTHONHASHSEED", "differ")),
    (ModuleRandomness, "no_global_randomness", ("module random",)),
    (RepeatsItself, "unseeded_resets_go_on", ("without a seed", "repeats")),
    (StateOutside, "state_fits", ("state()", "not in its space")),
    (
        MaskLies,
        "masks_fit",
        ("raises ValueError", "cannot walk left"),
    ),
    (MaskOfAnotherSize, "masks_fit", ("shape (4,), not (3,)",)),
    (ForgetsInfos, "five_dicts", ("infos lacks", "cow_")),
    (RaisesTheDead, "agents_follow_ends", ("back in play", "had ended")),
    (KeepsTheDead, "agents_follow_ends", ("has ended", "still in agents")),
    (EatsTheActions, "actions_are_left_alone", ("changed the dict of actions",)),
    (RebuildsSpaces, "spaces_stay", ("observation_space", "another object")),
    (InfoWithALock, "rewards_and_ends_are_plain", ("info", "cannot be pickled")),
    (RewardsNothing, "rewards_and_ends_are_plain", ("step 7", "nan", "no finite number")),
    (RemembersEpisodes, "reset_forgets", ("earlier episode", "changes a later one")),
    (CopiesBadly, "copies_go_on_alike", ("goes on differently",)),
    (PaintsFloats, "pictures_are_what_they_say", ("rgb_array", "float64", "not uint8")),
    (WithoutFps, "pictures_are_what_they_say", ("render_fps",)),
    (LeaksFiles, "close_gives_back", ("after close", "open file")),
    (Chatters, "nothing_is_printed", ("prints", "a new episode")),
    (ActsInKeyOrder, "order_of_actions_is_nothing", ("order of the keys",)),
)
