"""The parts of the kit: how checks are run and told, values, edits of texts, other processes."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from piase_gym import testing
from piase_gym.core.rng import Stream
from piase_gym.core.world import Capabilities
from piase_gym.errors import UnknownNameError
from piase_gym.testing import processes, values
from piase_gym.testing.kit import (
    Fault,
    Finding,
    Report,
    Skip,
    check,
    checks_of,
    choose_checks,
    require,
    require_refusal,
    run_all,
)
from piase_gym.testing.play import Row, draw, mask_of, replay, require_same_rows, state_of
from piase_gym.testing.subject import Subject, env_subject
from piase_gym.testing.text_edits import MOST, _shifted, edits_of, vocabulary_of
from tests.testing.faulty_envs import ActsInKeyOrder, Meadow
from tests.testing.test_env_requirements import told_by, verdict

# -- checks and what they find ---------------------------------------------------------------------


@check("digest", module="json", extra="none")
def is_fine(subject: Any) -> str:
    """It is fine.

    And this is not told.
    """
    subject.calls.append("fine")
    return "so it is"


@check("nothing_of_that_kind")
def is_claimed(subject: Any) -> None:
    """It is claimed."""


@check()
def is_wrong(subject: Any) -> None:
    """It is wrong."""
    require([], "it is empty")


@check()
def is_left_out(subject: Any) -> None:
    """It is left out."""
    raise Skip("there is none")


@check()
def crashes(subject: Any) -> None:
    """It crashes."""
    raise ValueError("x" * 400 + "\nmore")


@check(module="no_such_library", extra="train")
def needs_more(subject: Any) -> None:
    """It needs more."""


CHECKS = (is_fine, is_claimed, is_wrong, is_left_out, crashes, needs_more)


def test_checks_are_run_and_told() -> None:
    claims = SimpleNamespace(digest=True, nothing_of_that_kind=False)
    subject = SimpleNamespace(capabilities=claims, label="It()", calls=[], closed=0)

    def close() -> None:
        subject.closed += 1

    subject.close = close
    told: list[Finding] = []
    report = run_all(subject, CHECKS, told.append)
    assert [found.verdict for found in report.findings] == [
        "passed: so it is",
        "not claimed: nothing_of_that_kind",
        "failed: it is empty",
        "skipped: there is none",
        f"failed: crashes met ValueError: {'x' * 300}",
        "skipped: needs the extra train",
    ]
    assert told == list(report.findings)
    assert (subject.closed, subject.calls) == (6, ["fine"])
    assert [found.check for found in report.failures] == ["is_wrong", "crashes"]
    assert not report.ok
    assert str(report.findings[0]) == "is_fine: It is fine. passed: so it is"
    assert all(found.seconds >= 0 for found in report.findings)
    assert report.finding("is_wrong") is report.findings[2]
    assert str(Report("It()", report.findings[:3], 1.26)).split("\n")[-1] == (
        "It(): 3 checks, 1 failed, 1.3 s"
    )
    assert Finding("a", "b", "passed").verdict == "passed"
    sound = Report("It()", report.findings[:2], 0.0)
    assert sound.raise_failures() is sound


def test_checks_are_found_and_chosen() -> None:
    module = ModuleType("checks")
    vars(module).update(b=is_wrong, x=3, a=is_fine)
    assert checks_of(module, module) == (is_wrong, is_fine) * 2
    assert choose_checks(CHECKS, None) == list(CHECKS)
    assert choose_checks(CHECKS, ["crashes", "is_fine"]) == [is_fine, crashes]
    assert choose_checks(CHECKS, []) == []
    with pytest.raises(UnknownNameError, match="unknown check 'is_fin'"):
        choose_checks(CHECKS, ["is_fin"])


def test_a_refusal_is_the_error_that_is_asked_for() -> None:
    def fails() -> None:
        raise KeyError("k")

    assert isinstance(require_refusal(KeyError, fails, "it", "no"), KeyError)
    with pytest.raises(Fault, match=r"^it raises KeyError\('k'\), no ValueError$"):
        require_refusal(ValueError, fails, "it", "no")
    with pytest.raises(Fault, match=r"^it is taken$"):
        require_refusal(ValueError, lambda: None, "it", "it is taken")


# -- values ----------------------------------------------------------------------------------------


class Colour(Enum):
    """A word."""

    RED = "red"


@dataclasses.dataclass
class Record:
    """A record."""

    place: tuple[int, ...]
    colour: Colour = Colour.RED


def test_values_are_plain_and_located() -> None:
    value = {1: Record((1, 2)), "b": {2, 1}, "c": np.float32(0.5), "d": object()}
    assert values.plain(value) == {
        "1": {"place": [1, 2], "colour": "red"},
        "b": [1, 2],
        "c": 0.5,
        "d": "<object>",
    }
    found = list(values.arrays_in({"a": [np.zeros(1), {"b": np.ones(2)}], "c": (3, np.zeros(0))}))
    assert [where for where, _ in found] == ["a[0]", "a[1], b", "c[1]"]
    assert values.difference({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == "a[0], b: 1 and 2"
    assert values.difference([float("nan")], [1.0]) == "[0]: nan and 1.0"
    assert values.difference({"a": 1}, [1]) == ": {'a': 1} and [1]"
    assert values.through_json({"a": (1,)}, "it") == {"a": [1]}
    with pytest.raises(Fault, match="it cannot be written as JSON: "):
        values.through_json(float("nan"), "it", allow_nan=False)
    with pytest.raises(Fault, match=r"^it is not in its space: 3 is not in Discrete"):
        values.require_inside(spaces.Discrete(3), 3, "it")
    with pytest.raises(Fault, match=r"^they differ: a: 1 and 2$"):
        values.require_same("they differ", {"a": 1}, {"a": 2})
    square = spaces.Box(0, 1, (2, 2), np.float32)
    outside = np.array([[0, 1], [2, 0]], np.float32)
    assert values.outside(square, outside) == "entry (1, 0) is 2.0; allowed: 0.0 to 1.0"
    assert values.outside(square, outside * 0) is None
    nested = spaces.Dict(a=square, b=spaces.Discrete(2))
    assert values.outside(nested, {"a": outside * 0, "b": 1}) is None
    assert values.outside(nested, {"a": outside * 0, "b": 2}) == "b: 2 is not in Discrete(2)"


# -- edits of texts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "by", "after"),
    [
        ("9", 1, "10"),
        ("0", -1, "-1"),
        ("-3", 1, "-2"),
        ("0.250", 1, "0.251"),
        ("-0.001", 1, "0.000"),
        ("1.5", -1, "1.4"),
    ],
)
def test_numbers_are_shifted_in_their_last_digit(number: str, by: int, after: str) -> None:
    assert _shifted(number, by).replace("-0.000", "0.000") == after


def test_an_edit_says_what_it_does() -> None:
    found = dict(edits_of("A cup.\nIt has 3 legs.", {"cup": ["hat"]}, 0))
    assert found == {
        "A hat.\nIt has 3 legs.": "'cup' in line 1 replaced by 'hat'",
        "A cup.\nIt has 4 legs.": "'3' in line 2 replaced by '4'",
        "A cup.\nIt has 2 legs.": "'3' in line 2 replaced by '2'",
    }
    many = " ".join(str(number) for number in range(100))
    assert len(list(edits_of(many, {}, 0))) == MOST == 30


@dataclasses.dataclass
class Told:
    """Facts of a text."""

    things: tuple[Any, ...] = ()
    hint: str = ""
    messages: tuple[Any, ...] = ()
    place: str = ""


def test_words_of_a_list_stand_in_one_place() -> None:
    """In a long list of one kind any may stand for any; in a pair each has its own."""
    facts: Any = [Told(("cup", "hat", "7", "egg"), "a b", ("x",), "red room")]
    facts.append(Told(("cup", "hat"), "c d", ("y",), "blue room"))
    assert vocabulary_of(facts) == {
        "blue": ["red"],
        "cup": ["egg", "hat"],
        "egg": ["cup", "hat"],
        "hat": ["cup", "egg"],
        "red": ["blue"],
    }


# -- episodes --------------------------------------------------------------------------------------


def row(**parts: Any) -> Row:
    """Return a row of which these parts matter."""
    empty: dict[str, Any] = {name: {} for name in Row._fields}
    return Row(**{**empty, "step": 0, "before": [], "after": [], **parts})


def test_masks_are_found_in_infos_or_observations() -> None:
    seen = {"a": {"action_mask": 2}}
    assert mask_of(row(infos={"a": {"action_mask": 1}}, observations=seen), "a") == 1
    assert mask_of(row(infos={"a": {}}, observations=seen), "a") == 2
    assert mask_of(row(infos={"b": {"action_mask": 1}}), "a") is None
    assert mask_of(row(infos={"a": {"action_mask": None}}, observations={"a": [1]}), "a") is None
    assert mask_of(row(infos=3, observations=3), "a") is None


def test_unruly_players_ignore_a_mask_one_time_in_eight() -> None:
    """Of three actions the mask allows the last; the others come in a twelfth of the draws."""
    env: Any = SimpleNamespace(action_space=lambda agent: spaces.Discrete(3, start=5))
    dice, mask = Stream(3), np.array([0, 0, 1], np.int8)
    drawn = [draw(env, "a", mask, dice, True) for _ in range(3000)]
    assert set(drawn) == {5, 6, 7}
    assert 200 < 3000 - drawn.count(7) < 300
    assert {draw(env, "a", mask, dice, False) for _ in range(100)} == {7}
    assert {draw(env, "a", None, dice, False) for _ in range(100)} == {5, 6, 7}
    lines: Any = SimpleNamespace(
        action_space=lambda agent: spaces.Text(9), admissible_commands=lambda agent: ["x", "y"]
    )
    assert {draw(lines, "a", None, dice, False) for _ in range(50)} == {"x", "y"}
    box: Any = SimpleNamespace(action_space=lambda agent: spaces.Box(0, 1, (2,)))
    one, two = (draw(box, "a", None, Stream(4), False) for _ in range(2))
    assert one.tolist() == two.tolist()


def test_states_that_there_are_not() -> None:
    def state(error: type[Exception]) -> Any:
        def call() -> None:
            raise error

        return SimpleNamespace(state=call)

    assert state_of(state(NotImplementedError)) is None
    assert state_of(state(TypeError)) is None
    assert state_of(SimpleNamespace()) is None
    with_space = state(TypeError)
    with_space.state_space = spaces.Box(0, 1, (1,))
    with pytest.raises(TypeError):
        state_of(with_space)


def test_recorded_episodes_are_compared_row_by_row() -> None:
    one = [{"step": 0, "x": 1}, {"step": 1, "x": 2}]
    require_same_rows("they differ", one, one)
    with pytest.raises(Fault, match=r"^they differ: at step 1, x: 2 and 3$"):
        require_same_rows("they differ", one, [one[0], {"step": 1, "x": 3}])
    with pytest.raises(Fault, match=r"^they differ: one episode has 2 rows, the other 1$"):
        require_same_rows("they differ", one, one[:1])


def test_a_replay_ends_where_others_are_in_play() -> None:
    env = Meadow()
    first = list(replay(env, 3, []))
    assert [found.step for found in first] == [0]
    acts = dict.fromkeys(env.agents, 1)
    rows = [row(), row(step=1, before=env.agents, given=acts), row(step=2, before=["cow_9"])]
    assert [found.step for found in replay(env, 3, rows)] == [0, 1]


# -- what is under test ----------------------------------------------------------------------------


class Closes:
    """Counts how often it is closed, and complains."""

    def __init__(self, render_mode: str = "") -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1
        raise OSError("again")


def test_what_is_made_is_closed_whatever_comes_of_it() -> None:
    subject = Subject(Closes, "It", Capabilities())
    one, two = subject.env(), subject.env(render_mode="x")
    with subject.for_a_moment() as three:
        assert three.closed == 0
    assert (one.closed, two.closed, three.closed) == (0, 0, 1)
    subject.close()
    subject.close()
    assert (one.closed, two.closed, three.closed) == (1, 1, 1)
    assert not subject.strict
    assert subject.how == {"unruly": False, "hints": False}
    assert subject.takes("render_mode")
    assert not subject.takes("view")
    odd = Subject(3, "It", Capabilities())  # type: ignore[arg-type]
    assert not odd.takes("view")


def test_what_can_be_imported_has_a_recipe() -> None:
    found = env_subject(Meadow)
    assert found.recipe == {"make": "tests.testing.faulty_envs:Meadow", "modules": ()}
    assert found.label == "Meadow"
    assert found.capabilities.late_join
    assert env_subject(lambda: None).recipe is None


# -- other processes -------------------------------------------------------------------------------


def test_a_process_that_does_not_answer_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("python", 1.0)

    monkeypatch.setattr(subprocess, "run", late)
    with pytest.raises(Fault, match=r"^another process did not answer within 300 seconds$"):
        processes._ask_one(b"{}", "1")


def test_a_process_that_breaks_tells_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def broken(command: Any, **given: Any) -> Any:
        asked.update(given)
        return SimpleNamespace(returncode=1, stderr=b"Traceback\nOSError: no\n", stdout=b"")

    monkeypatch.setattr(subprocess, "run", broken)
    with pytest.raises(Fault, match=r"^another process could not make it: OSError: no$"):
        processes._ask_one(b"{}", "42")
    assert (asked["input"], asked["env"]["PYTHONHASHSEED"]) == (b"{}", "42")
    told = {"record": [1]}
    done = SimpleNamespace(returncode=0, stderr=b"", stdout=json.dumps(told).encode())
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert processes._ask_one(b"{}", "1") == told


# -- more of what any ParallelEnv must not do ------------------------------------------------------


def test_two_agents_have_an_order_too() -> None:
    class Two(ActsInKeyOrder):
        def __init__(self, render_mode: str | None = None) -> None:
            super().__init__(render_mode)
            self.possible_agents = self.possible_agents[:2]

    (finding,) = testing.run_env_checks(Two, checks=["order_of_actions_is_nothing"]).findings
    assert finding.detail.startswith("the order of the keys of the actions matters: at step ")


def test_agents_without_a_mask_hide_no_mask_of_others() -> None:
    def info(self: Any, name: str) -> Any:
        return {} if name == "cow_0" else {"action_mask": np.full(3, 2, np.int8)}

    told = told_by("masks_fit", info=info)
    assert told == "at step 0 the mask of cow_1 holds something but 0 and 1"


def test_arrays_may_lie_between_each_other_and_hold_no_numbers() -> None:
    def look(self: Any, names: list[str]) -> Any:
        block = np.full((3, 3), np.nan, np.float32)
        return {name: block[:, number] for number, name in enumerate(names)}

    assert verdict("arrays_are_fresh", look=look) == "passed"
