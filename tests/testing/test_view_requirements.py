"""Each thing that the kit asks of views, pictures and interfaces is refused where it is wrong."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from piase_gym.core.surroundings import Surroundings
from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.envs.single import GymEnv
from piase_gym.interfaces import EnvironmentInterface, WorldEnvironment
from piase_gym.interfaces.base_env import WorldBaseEnv
from tests import probes
from tests.probes import point_views
from tests.probes.point_probe import PointProbe
from tests.probes.text_probe import TextProbe
from tests.testing.test_world_requirements import (
    POINT,
    TEXT,
    Fault,
    finding,
    later,
    requires,
    rolls,
    then,
)

probes.register()

# -- facts, texts, vectors and hints ---------------------------------------------------------------


def shifted(self: Any, vector: Any, *_: Any) -> Any:
    return vector + np.float32(0.001)


def brace(facts: Any, config: Any) -> str:
    return str(point_views.text_of(facts)) + "\n{x}"


def nameless(facts: Any, config: Any) -> str:
    return str(point_views.text_of(facts)).replace(facts.agent, "somebody")


def hintless(facts: Any, config: Any) -> str:
    return str(point_views.text_of(replace(facts, hint=None)))


def in_capitals(facts: Any, config: Any) -> str:
    hint = facts.hint and facts.hint.replace("7", "8")
    return str(point_views.text_of(replace(facts, hint=hint)))


def at_home(self: Any, facts: Any, *_: Any) -> Any:
    return replace(facts, goal=(0.0, 0.0)) if facts.hint else facts


def native(self: Any, agent: int) -> str:
    return str(self.text(self.facts(agent)))


VIEWS = [
    Fault(
        "other_texts_are_refused",
        "parsing ''... is not refused, though the world never writes it",
        point_views,
        "parse",
        lambda text, config: None,
    ),
    Fault(
        "views_say_the_same",
        "at step 0, {'view': 'text'} shows agent_0 something else than view='both': ",
        WorldParallelEnv,
        "reset",
        then(
            WorldParallelEnv,
            "reset",
            lambda self, found, *_: (
                {k: v + "!" if isinstance(v, str) else v for k, v in found[0].items()},
                found[1],
            ),
        ),
    ),
    Fault(
        "texts_are_prose",
        "at step 0 of seed 0, agent_0: the text shows '{', a dump of data",
        PointProbe,
        "to_text",
        staticmethod(brace),
    ),
    Fault(
        "texts_are_prose",
        "at step 0 of seed 0, agent_0: the text does not name agent_0",
        PointProbe,
        "to_text",
        staticmethod(nameless),
    ),
    Fault(
        "hints_are_in_both_views",
        "a hint is not in the facts",
        PointProbe,
        "give_hint",
        lambda self, agent, hint: None,
    ),
    Fault(
        "hints_are_in_both_views",
        "the digest does not change with a hint",
        PointProbe,
        "digest",
        lambda self: "0" * 16,
    ),
    Fault(
        "hints_are_in_both_views",
        "a hint is not in the text",
        PointProbe,
        "to_text",
        staticmethod(hintless),
    ),
    Fault(
        "hints_are_in_both_views",
        "a hint changes other facts too: goal[0]: ",
        PointProbe,
        "facts",
        then(PointProbe, "facts", at_home),
    ),
    Fault(
        "any_hint_can_be_shown",
        "the hint 'Hint: 7' is read back another",
        PointProbe,
        "to_text",
        staticmethod(in_capitals),
    ),
    Fault(
        "native_text_is_shown",
        "the native text is the canonical one, word for word",
        TextProbe,
        "native_text",
        native,
        TEXT,
    ),
    Fault(
        "looking_changes_nothing",
        "looking at an environment changes its future: ",
        PointProbe,
        "instructions",
        then(PointProbe, "instructions", rolls),
    ),
    Fault(
        "surroundings_follow_from_facts",
        "the surroundings of agent_0 at step 0 change afterwards",
        PointProbe,
        "surroundings",
        lambda self, facts: Surroundings(position=[self.points.t], perceptions={}),
    ),
]


@pytest.mark.parametrize("fault", [later(fault) for fault in VIEWS])
def test_what_is_wrong_with_views_is_told(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    requires(fault, monkeypatch)


# -- the same game through other interfaces --------------------------------------------------------


def one_longer(self: Any, found: Any, *_: Any) -> Any:
    return (found[0], found[1] + 1, *found[2:])


def blank(self: Any, picture: Any, *_: Any) -> Any:
    return np.full_like(picture, 7)


GAMES = [
    Fault(
        "pictures_show_something",
        "a picture is blank",
        PointProbe,
        "rgb",
        then(PointProbe, "rgb", blank),
    ),
    Fault(
        "pictures_show_something",
        "the picture is the same at every step",
        PointProbe,
        "rgb",
        lambda self: np.arange(48, dtype=np.uint8).reshape(4, 4, 3),
    ),
    Fault(
        "pictures_show_something",
        "Gymnasium's environment has no render_fps",
        GymEnv,
        "metadata",
        {"render_modes": ["rgb_array"]},
    ),
    Fault(
        "human_mode",
        "render in mode human returns something",
        WorldParallelEnv,
        "render",
        lambda self: "a window",
    ),
    Fault(
        "human_mode",
        "render in mode human returns something",
        GymEnv,
        "render",
        lambda self: "a window",
    ),
    Fault(
        "gym_is_the_same_game",
        "at step 1 rewards or ends of the Gymnasium environment differ",
        GymEnv,
        "step",
        then(GymEnv, "step", one_longer),
    ),
    Fault(
        "gym_is_the_same_game",
        "at step 0 the Gymnasium environment shows something else",
        GymEnv,
        "reset",
        then(GymEnv, "reset", lambda self, found, **_: (found[0] + 1, found[1])),
    ),
    Fault(
        "gym_is_the_same_game",
        "at step 0 the states differ",
        GymEnv,
        "reset",
        then(GymEnv, "reset", rolls),
    ),
    Fault(
        "base_env_is_the_same_game",
        "at step 0 BaseEnv is in another state",
        GymEnv,
        "reset",
        then(GymEnv, "reset", rolls),
    ),
    Fault(
        "base_env_is_the_same_game",
        "at step 0 BaseEnv lists no action",
        WorldBaseEnv,
        "get_available_actions",
        lambda self, info=None: [],
    ),
    Fault(
        "commands_wait_for_the_last",
        "at step 0 agent_0 is answered 'done', not 'in_progress'",
        WorldEnvironment,
        "step",
        lambda self, name, command: SimpleNamespace(status="done"),
    ),
    Fault(
        "commands_wait_for_the_last",
        "at step 0 the last agent waits too",
        WorldEnvironment,
        "step",
        lambda self, name, command: SimpleNamespace(status="in_progress"),
    ),
    Fault(
        "perceptions_fit_their_schema",
        "at step 0 agent_0 does not perceive ['visible_text']",
        EnvironmentInterface,
        "get_perceptions",
        then(
            EnvironmentInterface,
            "get_perceptions",
            lambda self, seen, *_: {k: v for k, v in seen.items() if k != "visible_text"},
        ),
    ),
    Fault(
        "perceptions_fit_their_schema",
        "at step 0 agent_0 perceives another text than its view's",
        EnvironmentInterface,
        "get_perceptions",
        then(
            EnvironmentInterface,
            "get_perceptions",
            lambda self, seen, *_: {**seen, "visible_text": "nothing"},
        ),
    ),
]


@pytest.mark.parametrize("fault", [later(fault) for fault in GAMES])
def test_what_is_wrong_with_interfaces_is_told(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    requires(fault, monkeypatch)


class Recorder:
    """What writes films, or something else."""

    films: tuple[tuple[str, bytes], ...] = ()

    def __init__(self, env: Any, folder: str, **_: Any) -> None:
        self.env, self.folder, self.unwrapped = env, Path(folder), env.unwrapped
        self.reset, self.step = env.reset, env.step

    def close(self) -> None:
        for name, data in self.films:
            (self.folder / name).write_bytes(data)


@pytest.mark.parametrize(
    ("films", "words"),
    [
        ((), "RecordVideo has written 0 videos, not one"),
        ((("a.mp4", b"x"), ("b.mp4", b"x")), "RecordVideo has written 2 videos, not one"),
        ((("a.mp4", b""), ("b.txt", b"x")), "RecordVideo has written an empty video"),
        ((("a.mp4", b"x"), ("b.txt", b"")), ""),
    ],
)
def test_a_film_is_one_file_that_is_not_empty(
    films: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: True if name == "moviepy" else found(name)
    )
    monkeypatch.setattr("gymnasium.wrappers.RecordVideo", Recorder)
    monkeypatch.setattr(Recorder, "films", films)
    assert finding(POINT, "gymnasium_video").detail == words
