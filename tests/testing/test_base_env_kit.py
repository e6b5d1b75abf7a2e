"""The kit for environments of LLM agents: sound ones pass, and each fault is found out."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from piase_gym import testing
from piase_gym.errors import UnknownNameError
from piase_gym.interfaces import Action, Observation, register_base_env
from tests import probes
from tests.interfaces.test_base_env import Stairs, seed_example
from tests.paths import DOCS

probes.register()
PAGE = DOCS / "conformance.md"
Step = tuple[Observation, float, bool, dict[str, Any]]


class NoObservation(Stairs):
    """`reset` returns a string."""

    def reset(self) -> Observation:
        return super().reset().text  # type: ignore[return-value]


class ForgetsToKeep(Stairs):
    """`current_observation` stays that of the reset."""

    def step(self, action: Action) -> Step:
        before = self._observation
        found = super().step(action)
        self._observation = before
        return found


class FiveParts(Stairs):
    """`step` answers as Gymnasium's does."""

    def step(self, action: Action) -> Step:
        observation, reward, done, info = super().step(action)
        return observation, reward, done, False, info  # type: ignore[return-value]


class Infinite(Stairs):
    """The reward of the first floor is infinite."""

    def step(self, action: Action) -> Step:
        observation, reward, done, info = super().step(action)
        return observation, float("inf") if self.floor == 1 else reward, done, info


class CountsDone(Stairs):
    """`done` is a number."""

    def step(self, action: Action) -> Step:
        observation, reward, done, info = super().step(action)
        return observation, reward, int(done), info  # type: ignore[return-value]


class PythonTypes(Stairs):
    """The schema names Python's types."""

    def get_action_space(self) -> dict[str, Any]:
        return {"type": str}


class SchemaOfNow(Stairs):
    """The schema lists what can be done now."""

    def get_action_space(self) -> dict[str, Any]:
        words = ["climb", "descend"] if self.floor else ["climb"]
        return {"type": "object", "properties": {"action": {"type": "string", "enum": words}}}


class ListsStrings(Stairs):
    """Available actions are strings in the middle of an episode."""

    def get_available_actions(self, info: Any = None) -> list[Action]:
        return [Action("climb")] if info is None else ["climb"]  # type: ignore[list-item]


class ListsTwice(Stairs):
    """An available action is listed twice."""

    def get_available_actions(self, info: Any = None) -> list[Action]:
        return [Action("climb"), Action("climb")]


class Touchy(Stairs):
    """An unknown action is a KeyError."""

    def step(self, action: Action) -> Step:
        _ = {"climb": 1, "descend": -1}[action.text]
        return super().step(action)


class WritesOver(Stairs):
    """Every observation is the same object."""

    kept: Observation | None = None

    def _look(self) -> Observation:
        new = super()._look()
        self.kept = self.kept or new
        self.kept.structured, self.kept.text = new.structured, new.text
        self._observation = self.kept
        return self.kept


class OneEpisode(Stairs):
    """A second reset fails."""

    used = False

    def reset(self) -> Observation:
        if self.steps:
            raise RuntimeError("worn out")
        return super().reset()


class IgnoresItsSeed(Stairs):
    """`reset` takes a seed, and the floors depend on how many environments there are."""

    made = 0

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        IgnoresItsSeed.made += 1
        self.top = 5 + IgnoresItsSeed.made

    def reset(self, seed: int = 0) -> Observation:
        return super().reset()


class Chatty(Stairs):
    """Every step is printed."""

    def step(self, action: Action) -> Step:
        sys.stdout.write(action.text)
        return super().step(action)


class NotOne:
    """No BaseEnv at all."""

    def __init__(self, config: dict[str, Any]) -> None:
        pass


BROKEN = [
    (NoObservation, "reset_observes", "is a str, no Observation"),
    (ForgetsToKeep, "step_answers", "current_observation is not what step"),
    (FiveParts, "step_answers", "does not return observation, reward, done and info"),
    (Infinite, "step_answers", "has the reward inf"),
    (CountsDone, "step_answers", "has 0 for done, not a bool"),
    (PythonTypes, "action_space_is_a_schema", "cannot be written as JSON"),
    (SchemaOfNow, "action_space_is_a_schema", "changes in an episode"),
    (ListsStrings, "available_actions_are_taken", "'climb'"),
    (ListsTwice, "available_actions_are_taken", "listed twice"),
    (Touchy, "odd_actions_are_answered", "met KeyError"),
    (WritesOver, "observations_stay", "changes afterwards"),
    (OneEpisode, "episodes_start_over", "RuntimeError: worn out"),
    (IgnoresItsSeed, "a_seed_brings_an_episode_back", "the same seed differ"),
    (Chatty, "nothing_is_printed_by_it", "an episode prints"),
    (NotOne, "reset_observes", "makes a NotOne, no BaseEnv"),
]


@pytest.mark.parametrize(("make", "check", "words"), BROKEN)
def test_broken_environments_are_found_out(make: Any, check: str, words: str) -> None:
    with pytest.raises(testing.ConformanceError) as caught:
        testing.check_base_env(make, {"floors": 9}, checks=[check])
    assert f"{make.__qualname__} does not conform:\n- {check}: " in str(caught.value)
    assert words in str(caught.value)


def test_every_check_has_something_to_find_out() -> None:
    assert {row[1] for row in BROKEN} == {check.name for check in testing.BASE_ENV_CHECKS}


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("GridWorld", {"agents": 3, "layout": "door_key"}),
        ("TextProbe", {"agents": 2, "join_at": (0, 2), "max_steps": 30}),
        ("PointProbe", {"num_attempts": 3}),
        (Stairs, {"floors": 3}),
    ],
)
def test_sound_environments_conform(name: Any, config: dict[str, Any]) -> None:
    report = testing.check_base_env(name, config)
    skipped = {finding.check for finding in report.findings if finding.status == "skipped"}
    own = {"available_actions_are_taken", "a_seed_brings_an_episode_back"}
    assert skipped == (own if name is Stairs else set())


def test_the_environment_of_the_seed_conforms() -> None:
    names: dict[str, Any] = {"__package__": "piase_gym.interfaces.env", "__name__": "simple"}
    exec(seed_example(), names)
    register_base_env("SimpleText", names["SimpleTextEnv"])
    assert testing.check_base_env("SimpleText", {"max_steps": 6}).ok


def test_unknown_names_are_said() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'step_answers'"):
        testing.check_base_env(Stairs, checks=["step_answer"])
    report = testing.run_base_env_checks("GridWord", checks=["reset_observes"])
    assert "did you mean 'GridWorld'" in report.findings[0].detail


def test_the_page_lists_every_check() -> None:
    rows = re.findall(r"^- `(\w+)`: (.*)$", PAGE.read_text(encoding="utf-8"), re.M)
    assert rows == [(check.name, check.sentence) for check in testing.BASE_ENV_CHECKS]
