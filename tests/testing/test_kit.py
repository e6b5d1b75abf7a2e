"""The conformance kit lets sound environments pass, and finds out every animal of the zoo."""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from piase_gym import testing
from piase_gym.errors import PiaseError, UnknownNameError
from piase_gym.testing import subject
from piase_gym.testing import values as plainly
from piase_gym.testing.text_edits import edits_of, vocabulary_of
from tests import probes
from tests.core.test_probe_point import CROWD
from tests.core.test_probe_text import LATE
from tests.helpers.checkers import parallel_api_test, parallel_seed_test
from tests.paths import DOCS
from tests.probes.checks import CONTRACT
from tests.testing import faulty_envs as zoo
from tests.testing import faulty_worlds as zoo_worlds

probes.register()
zoo_worlds.register()

PAGE = DOCS / "conformance.md"
SHORT = {"max_steps": 30}
ROOM: dict[str, Any] = {"envelope": {"agents": 4, "width": 10}}
SOUND: list[tuple[str, dict[str, Any], list[str] | None]] = [
    ("GridWorld", {}, None),
    (
        "piase/GridWorld-DoorKey-8x8-v1",
        {"agents": 2, "see_through_walls": False, **SHORT},
        CONTRACT,
    ),
    (
        "GridWorld",
        {"agents": 3, "layout": "four_rooms", "observe": "grid", **ROOM, **SHORT},
        CONTRACT,
    ),
    ("TextProbe", LATE, None),
    ("PointProbe", CROWD, None),
]


@pytest.mark.parametrize(("name", "config", "checks"), SOUND)
def test_sound_worlds_conform(name: str, config: Any, checks: list[str] | None) -> None:
    report = testing.check_world(name, checks=checks, **config)
    assert report.ok
    assert len(report.findings) == len(checks or testing.WORLD_CHECKS)
    assert {finding.status for finding in report.findings} <= {"passed", "skipped", "not claimed"}
    assert all(f.detail for f in report.findings if f.status != "passed")


def test_a_sound_environment_conforms() -> None:
    report = testing.check_parallel_env(zoo.Meadow)
    assert [f.check for f in report.findings if f.status != "passed"] == []


def test_environments_that_are_no_longer_needed_are_closed() -> None:
    """The check that makes one for every allowed action does not keep them until its end."""
    opened: list[zoo.Meadow] = []
    most = 0

    class Counted(zoo.Meadow):
        def __init__(self, render_mode: str | None = None) -> None:
            nonlocal most
            super().__init__(render_mode)
            opened.append(self)
            most = max(most, len(opened))

        def close(self) -> None:
            opened.remove(self)

    assert testing.run_env_checks(Counted, checks=["masks_fit"]).ok
    assert most <= 5
    assert not opened


def test_worlds_with_snapshots_are_not_made_anew_for_every_action(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make, made = subject.parallel_env, list[str]()

    def counted(target: Any, **options: Any) -> Any:
        made.append(target)
        return make(target, **options)

    monkeypatch.setattr(subject, "parallel_env", counted)
    report = testing.run_checks("SqlQuery", checks=["masks_fit"])
    tried = re.search(r"(\d+) allowed actions tried", report.finding("masks_fit").detail)
    assert report.ok
    assert tried is not None
    assert int(tried[1]) > 1000
    assert len(made) < 10


def pettingzoo_is_content(make: type[zoo.Meadow]) -> bool:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            parallel_api_test(make(), num_cycles=100)
            parallel_seed_test(make, num_cycles=100)
        except Exception:
            return False
    return True


@pytest.mark.parametrize(("make", "check", "words"), zoo.BROKEN)
def test_broken_environments_are_found_out(
    make: type[zoo.Meadow], check: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(testing.ConformanceError) as caught:
        testing.check_parallel_env(make, checks=[check])
    sentence = str(caught.value)
    assert sentence.startswith(f"{make.__name__} does not conform:\n- {check}: ")
    for word in words:
        assert word in sentence


class NamesChange(zoo.Meadow):
    """What becomes of its names, and of what a reset answers, is told by a function."""

    change: Any = None

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        return type(self).change(self, *super().reset(seed, options))


def one_more(env: Any, shown: Any, infos: Any) -> Any:
    env.possible_agents = [*env.possible_agents, "cow_3"]
    return shown, infos


def stranger(env: Any, shown: Any, infos: Any) -> Any:
    env.agents, name = ["cow_9"], "cow_9"
    return {name: shown["cow_0"]}, {name: infos["cow_0"]}


@pytest.mark.parametrize(
    ("change", "names", "check", "words"),
    [
        (None, [], "names_are_listed", "possible_agents is empty"),
        (None, ["a", "b", "a"], "names_are_listed", "possible_agents has a name twice"),
        (one_more, None, "names_are_listed", "possible_agents has changed at the reset"),
        (stranger, None, "reset_answers_all", "['cow_9'] are in play, but not among the possible"),
        (
            lambda env, *answers: [env.agents.clear(), ({}, {})][1],
            None,
            "reset_answers_all",
            "nobody is in play after reset(seed=0)",
        ),
        (
            lambda _, shown, infos: (shown, {k: infos[k] for k in ("cow_0", "cow_2")}),
            None,
            "reset_answers_all",
            "at step 0, infos lacks ['cow_1']",
        ),
        (
            lambda _, shown, infos: ({**shown, "x": 1}, infos),
            None,
            "reset_answers_all",
            "at step 0, observations has ['x'], not in play",
        ),
        (
            lambda _, shown, infos: (list(shown), infos),
            None,
            "reset_answers_all",
            "at step 0, observations is no dict",
        ),
        (
            lambda _, shown, infos: (shown, infos, {}),
            None,
            "reset_answers_all",
            "reset does not return a pair of observations and infos",
        ),
    ],
)
def test_names_and_answers_of_a_reset_that_do_not_fit_are_found_out(
    change: Any, names: Any, check: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NamesChange, "change", change or (lambda _, *answers: answers))
    if names is not None:
        fixed = property(lambda _: names, lambda *_: None)
        monkeypatch.setattr(NamesChange, "possible_agents", fixed, raising=False)
    with pytest.raises(testing.ConformanceError) as caught:
        testing.check_parallel_env(NamesChange, checks=[check])
    assert f"- {check}: " in str(caught.value)
    assert words in str(caught.value)


def test_most_of_them_pass_the_checks_of_pettingzoo() -> None:
    content = [make.__name__ for make, *_ in zoo.BROKEN if pettingzoo_is_content(make)]
    assert len(content) >= 12
    for name in ("LeavesItsSpace", "IteratesOverASet", "ReusesItsArray", "RepeatsItself"):
        assert name in content


@pytest.mark.parametrize(("kind", "config", "check", "words"), zoo_worlds.BROKEN)
def test_broken_worlds_are_found_out(
    kind: type[Any], config: dict[str, Any], check: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(testing.ConformanceError) as caught:
        testing.check_world(kind.__name__, checks=[check], **config)
    for word in words:
        assert word in str(caught.value)


def test_a_whole_run_tells_everything_at_once() -> None:
    report = testing.run_checks("LosesItsDice", checks=CONTRACT, **zoo_worlds.CROWD)
    failed = {finding.check for finding in report.failures}
    assert {"copies_go_on_alike", "pickled_elsewhere_go_on_alike"} <= failed
    assert len(failed) < 6
    with pytest.raises(testing.ConformanceError, match="LosesItsDice") as caught:
        report.raise_failures()
    assert isinstance(caught.value, PiaseError)
    assert isinstance(caught.value, AssertionError)
    assert str(caught.value).count("\n- ") == len(failed)


def test_the_report_reads_well() -> None:
    report = testing.run_checks("PointProbe", checks=["masks_fit", "late_joiners_enter"])
    assert report.finding("late_joiners_enter").verdict == "not claimed: late_join"
    assert report.finding("masks_fit").verdict.startswith("passed: ")
    lines = str(report).split("\n")
    assert lines[-1].startswith("PointProbe(): 2 checks, 0 failed")
    with pytest.raises(KeyError):
        report.finding("nothing")


def test_a_missing_library_is_a_reason_to_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    found = testing.kit.importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "moviepy" else found(name)
    )
    report = testing.run_checks("PointProbe", checks=["gymnasium_video"])
    assert report.finding("gymnasium_video").verdict == "skipped: needs the extra video"


class ForbidsInSilence(zoo.Meadow):
    """In its seventh step a cow that walks right is stopped, though its mask allows that."""

    raises = False

    def step(self, actions: Any) -> Any:
        forbidden = self.time == 6 and actions.get("cow_2") == 2
        if forbidden and self.raises:
            raise ValueError("not now")
        found = super().step(actions)
        if forbidden:
            found[-1]["cow_2"]["outcome"] = "illegal"
        return found


@pytest.mark.parametrize("raises", [False, True])
def test_every_action_that_a_mask_allows_is_tried(
    raises: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nobody who plays at random takes it."""
    monkeypatch.setattr(ForbidsInSilence, "raises", raises)
    with pytest.raises(testing.ConformanceError) as caught:
        testing.check_parallel_env(ForbidsInSilence, checks=["masks_fit"])
    sentence = "masks_fit: action 2, which the mask of cow_2 allows after 6 steps, is "
    told = str(caught.value).split(sentence)[1]
    assert told.startswith("an error: step 7 " if raises else "called illegal")
    assert told.endswith("raises ValueError: not now" if raises else "illegal")


class Unmasked(zoo.Meadow):
    """It has no masks."""

    def info(self, name: str) -> dict[str, Any]:
        return {}


class MaskedOtherwise(zoo.Meadow):
    """Its actions are several numbers at once, and what it calls a mask is of its own kind."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        self.action_spaces = dict.fromkeys(self.possible_agents, spaces.MultiDiscrete([3, 2]))

    def step(self, actions: Any) -> Any:
        return super().step({name: action[0] for name, action in actions.items()})

    def mask(self, name: str) -> Any:
        return super().mask(name), [1, 1]


@pytest.mark.parametrize("make", [Unmasked, MaskedOtherwise])
def test_only_masks_of_numbered_actions_are_looked_at(make: type[zoo.Meadow]) -> None:
    report = testing.check_parallel_env(make, checks=["masks_fit"])
    assert report.findings[0].verdict == "skipped: it has no action masks"


def test_unknown_checks_are_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'masks_fit'"):
        testing.run_checks("GridWorld", checks=["mask_fit"])
    with pytest.raises(UnknownNameError, match="did you mean 'GridWorld'"):
        testing.run_checks("GridWord")


def test_what_cannot_be_imported_is_not_asked_elsewhere() -> None:
    report = testing.check_parallel_env(lambda: zoo.Meadow(), checks=["other_processes_agree"])
    assert report.findings[0].verdict.startswith("skipped: what makes it cannot be imported")


def test_a_crash_is_a_failure_in_words() -> None:
    def make() -> Any:
        raise RuntimeError("no cows today")

    report = testing.run_env_checks(make, checks=["names_are_listed"])
    assert report.findings[0].detail == "names_are_listed met RuntimeError: no cows today"


def test_every_check_says_what_it_proves() -> None:
    names = [check.name for check in testing.WORLD_CHECKS]
    assert len(set(names)) == len(names)
    for check in testing.WORLD_CHECKS:
        assert check.sentence.endswith("."), check.name
        assert len(check.sentence) > 30, check.name


def test_the_page_lists_every_check() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert rows == [(check.name, check.sentence) for check in testing.WORLD_CHECKS]
    names, count = [check.name for check in testing.ENV_CHECKS], len(testing.ENV_CHECKS)
    assert names == [name for name, _ in rows[:count]]
    told = f"the first {count} checks of the table, from `{names[0]}` to `{names[-1]}`"
    assert told in " ".join(PAGE.read_text(encoding="utf-8").split())


def test_the_page_names_every_animal() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for row in (*zoo.BROKEN, *zoo_worlds.BROKEN):
        assert f"`{row[0].__name__}`" in page


# -- the small parts -------------------------------------------------------------------------------


def test_plain_values_are_json() -> None:
    value = {"a": np.arange(3, dtype=np.int8), "b": (1, {2.5}), "c": [np.float32(0.5), None]}
    plain = plainly.plain(value)
    assert json.loads(json.dumps(plain)) == plain
    assert plain["a"] == {"dtype": "int8", "shape": [3], "values": [0, 1, 2]}


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1]: 2 and 3"),
        ({"a": 1}, {"b": 1}, "keys ['a'] and ['b']"),
        ([1], [1, 2], "1 and 2 entries"),
        (1, 1.0, "1 and 1.0"),
        (True, 1, "True and 1"),
    ],
)
def test_differences_are_located(one: Any, two: Any, words: str) -> None:
    assert words in str(plainly.difference(one, two))
    assert plainly.difference(one, one) is None


def test_not_a_number_equals_itself() -> None:
    assert plainly.difference([float("nan")], [float("nan")]) is None


BOX = spaces.Box(0, 5, (2,), np.float32)


@pytest.mark.parametrize(
    ("space", "value", "words"),
    [
        (BOX, np.array([1, 7], np.float32), "entry 1 is 7.0; allowed: 0.0 to 5.0"),
        (BOX, np.array([1, np.nan], np.float32), "entry 1 is nan"),
        (BOX, np.zeros(3, np.float32), "shape is (3,), not (2,)"),
        (BOX, np.zeros(2), "dtype is float64, not float32"),
        (BOX, [0.0, 0.0], "of type list, not an array"),
        (spaces.Text(3, charset="ab"), "abc", "character 'c'"),
        (spaces.Text(3, charset="ab"), "abab", "4 characters"),
        (spaces.Dict(a=BOX), {"b": 1}, "keys ['b'], not ['a']"),
        (spaces.Dict(a=BOX), {"a": np.zeros(3, np.float32)}, "a: its shape"),
        (spaces.Discrete(3), 3, "3 is not in Discrete(3)"),
    ],
)
def test_values_outside_are_explained(space: Any, value: Any, words: str) -> None:
    assert words in str(plainly.outside(space, value))


def test_edits_change_one_word() -> None:
    words = {"key": ["lamp"], "agent_0": ["agent_1"]}
    text = "You are agent_0, 3 steps from a key at -0.250."
    edited = {new for new, _ in edits_of(text, words, 0)}
    assert edited == {
        text.replace("agent_0", "agent_1"),
        text.replace("3", "4"),
        text.replace("3", "2"),
        text.replace("key", "lamp"),
        text.replace("-0.250", "-0.249"),
        text.replace("-0.250", "-0.251"),
    }


def test_words_are_exchanged_for_those_of_the_same_place() -> None:
    facts = [
        zoo_worlds.PointFacts(
            agent=name, position=(0, 0), velocity=(0, 0), goal=(0, 0), others=(), hint="not this"
        )
        for name in ("ann", "bob")
    ]
    assert vocabulary_of(facts) == {"ann": ["bob"], "bob": ["ann"]}
