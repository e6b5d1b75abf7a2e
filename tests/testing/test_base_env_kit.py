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


def told(check: str, config: Any = None, **methods: Any) -> str:
    """Return what a check says of stairs with other methods."""
    stairs = type("Odd", (Stairs,), methods)
    (finding,) = testing.run_base_env_checks(stairs, config, checks=[check]).findings
    return finding.verdict


def looks(observation: Any) -> Any:
    """Return a `_look` that shows this."""

    def look(self: Any) -> Any:
        self._observation = observation
        return observation

    return look


def holding(structured: Any, text: Any) -> Any:
    """Return an observation that was written to after it was made."""
    observation = Observation({"x": 1}, "a cave")
    observation.structured, observation.text = structured, text
    return observation


def answers(change: Any) -> Any:
    """Return a `step` whose four parts are changed."""
    return lambda self, action: change(*Stairs.step(self, action))


HELD = "what reset returns holds "


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        (holding([], "x"), f"{HELD}list and str, not dict and str"),
        (holding({"x": 1}, 7), f"{HELD}dict and int, not dict and str"),
        (holding({}, ""), "what reset returns is empty"),
    ],
)
def test_an_observation_holds_data_and_text(observation: Any, words: str) -> None:
    assert told("reset_observes", _look=looks(observation)) == f"failed: {words}"


@pytest.mark.parametrize("observation", [holding({"x": 1}, ""), holding({}, "a cave")])
def test_an_observation_may_be_data_or_text_alone(observation: Any) -> None:
    assert told("reset_observes", _look=looks(observation)) == "passed"


def test_the_observation_of_a_reset_is_kept() -> None:
    def reset(self: Any) -> Any:
        found = Stairs.reset(self)
        self._observation = Observation({"x": 1}, "elsewhere")
        return found

    words = "failed: current_observation is not what reset returned: "
    assert told("reset_observes", reset=reset).startswith(words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda seen, *rest: (seen.text, *rest), " is a str, no Observation"),
        (lambda seen, reward, *rest: (seen, True, *rest), " has the reward True"),
        (lambda seen, reward, *rest: (seen, "1", *rest), " has the reward '1'"),
        (lambda seen, reward, *rest: (seen, float("nan"), *rest), " has the reward nan"),
        (lambda *parts: (*parts[:3], None), " has a NoneType for info, not a dict"),
    ],
)
def test_each_part_of_an_answer_is_looked_at(change: Any, words: str) -> None:
    found = told("step_answers", step=answers(change))
    assert re.fullmatch(r"failed: what step\('\w+'\) returns" + re.escape(words), found)


def test_ends_are_counted() -> None:
    """Episodes of ten steps end; those of 100 are left after 40."""
    assert told("step_answers") == "passed: 3 of 3 episodes came to an end"
    steps: list[str] = []

    def step(self: Any, action: Action) -> Step:
        steps.append(action.text)
        return Stairs.step(self, action)

    many = {"floors": 99, "max_steps": 100}
    assert told("step_answers", many, step=step) == "passed: 0 of 3 episodes came to an end"
    assert len(steps) == 120
    assert set(steps) == {"climb", "descend"}


def test_an_episode_is_played_to_its_end_and_no_further() -> None:
    def step(self: Any, action: Action) -> Step:
        assert self.steps < 10, "it is over"
        return Stairs.step(self, action)

    assert told("episodes_start_over", {"floors": 99}, step=step) == "passed"


def space_of(properties: Any, **more: Any) -> Any:
    """Return a `get_action_space` with these properties."""
    return lambda self: {"type": "object", "properties": properties, **more}


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (lambda self: ["climb"], "the action space is a list, not a dict"),
        (lambda self: {"type": "words"}, "the action space has the type 'words'"),
        (lambda self: {}, "the action space has the type None"),
        (space_of(["climb"]), "the properties of the action space are not schemas by name"),
        (space_of({"do": "climb"}), "the properties of the action space are not schemas by name"),
        (
            space_of({"do": {"type": "string"}}, required=["do", "say"]),
            "the action space requires ['say'], which it does not describe",
        ),
    ],
)
def test_an_action_space_is_a_schema(space: Any, words: str) -> None:
    assert told("action_space_is_a_schema", get_action_space=space) == f"failed: {words}"


def test_an_action_space_need_list_no_words() -> None:
    """Then something is tried all the same."""
    steps: list[str] = []

    def step(self: Any, action: Action) -> Step:
        steps.append(action.text)
        return Stairs.step(self, action)

    space = space_of({"say": {"type": "string"}}, required=["say"])
    assert told("action_space_is_a_schema", get_action_space=space, step=step) == "passed"
    assert set(steps) == {"look"}
    steps.clear()
    listed = space_of({"on": {"type": "boolean", "enum": [True]}, "say": {"type": "string"}})
    assert told("action_space_is_a_schema", get_action_space=listed, step=step) == "passed"
    assert set(steps) == {"True"}


def test_what_is_available_is_taken() -> None:
    steps: list[str] = []

    def step(self: Any, action: Action) -> Step:
        steps.append(action.text)
        return Stairs.step(self, action)

    def available(self: Any, info: Any = None) -> list[Action]:
        return [Action("jump"), Action("sit"), Action("climb")][: 3 if self.steps else 2]

    found = told("available_actions_are_taken", get_available_actions=available, step=step)
    assert found == "passed: up to 3 actions"
    assert set(steps) == {"jump", "sit", "climb"}


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ((Action("climb"),), "available actions are a tuple"),
        ([Action("climb"), Action("")], "[Action(text=''"),
    ],
)
def test_available_actions_are_actions_with_a_text(listed: Any, words: str) -> None:
    found = told(
        "available_actions_are_taken", get_available_actions=lambda self, info=None: listed
    )
    assert found.startswith(f"failed: {words}")


def test_an_odd_action_is_answered_in_four_parts() -> None:
    odd = "odd_actions_are_answered"
    found = told(odd, step=lambda self, action: None if action.text == "-1" else STEP(self, action))
    assert found == "failed: step('-1') returns None"
    found = told(odd, step=lambda self, action: (1, 2, 3))
    assert found == "failed: step('') returns (1, 2, 3)"
    found = told(odd, step=lambda self, action: ("well", 0.0, False, {}))
    assert found == "failed: what step('') returns is a str, no Observation"

    def reset(self: Any) -> Any:
        self.begun = True
        return Stairs.reset(self)

    def step(self: Any, action: Action) -> Step:
        assert self.begun
        return Stairs.step(self, action)

    assert told(odd, reset=reset, step=step) == "passed"


STEP = Stairs.step


def test_an_observation_outlives_a_reset() -> None:
    def reset(self: Any) -> Any:
        if self.steps:
            self._observation.text = "gone"
        return Stairs.reset(self)

    words = "failed: the observation of step 10 changes afterwards: text: 'gone' and 'You stand on "
    assert told("observations_stay", reset=reset).startswith(words)


def test_episodes_have_steps_and_start_over_at_any_time() -> None:
    def step(self: Any, action: Action) -> Step:
        observation, reward, done, info = Stairs.step(self, action)
        if getattr(self, "over", False):
            raise RuntimeError("it is over")
        self.over = done
        return observation, reward, done, info

    words = "failed: episodes_start_over met RuntimeError: it is over"
    assert told("episodes_start_over", step=step) == words


def test_a_used_environment_brings_an_episode_back_too() -> None:
    def reset(self: Any, seed: int | None = None) -> Any:
        self.top += seed is None
        return Stairs.reset(self)

    found = told("a_seed_brings_an_episode_back", reset=reset)
    assert found.startswith("failed: two environments with the same seed differ: ")


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
