"""Each thing that the kit asks of any ParallelEnv is refused, in words, where it alone is wrong."""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from piase_gym import testing
from tests.testing.faulty_envs import LIMIT, Meadow

Change = Callable[..., Any]
PARTS = ("observations", "rewards", "terminated", "truncated", "infos")


def after(name: str, change: Change) -> Change:
    """Return a method of a cow's meadow whose answer is changed by ``change(env, answer)``."""
    original = getattr(Meadow, name)
    return lambda self, *given, **named: change(self, original(self, *given, **named))


def told_by(check: str, **methods: Any) -> str:
    """Return the sentence with which a check refuses a meadow with other methods."""
    (finding,) = testing.run_env_checks(type("Odd", (Meadow,), methods), checks=[check]).findings
    assert finding.status == "failed", finding.verdict
    return finding.detail


def verdict(check: str, **methods: Any) -> str:
    """Return what a check says of a meadow with other methods that is sound."""
    (finding,) = testing.run_env_checks(type("Odd", (Meadow,), methods), checks=[check]).findings
    return finding.verdict


def part_of(part: str, change: Change) -> Change:
    """Return a `step` that changes one of its five dicts."""

    def step(self: Any, found: Any) -> Any:
        change(self, found[PARTS.index(part)])
        return found

    return after("step", step)


# -- spaces, and who is in play --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["observation", "action"])
@pytest.mark.parametrize(
    ("when", "stale"),
    [
        ("at the second call", lambda env: True),
        ("after the reset", lambda env: env.resets == 1),
        ("after some steps", lambda env: env.time == 5),
        ("after a new reset", lambda env: env.resets == 3),
    ],
)
def test_a_space_that_is_made_again_is_found_out(kind: str, when: str, stale: Change) -> None:
    class Rebuilt(Meadow):
        resets = time = 0

        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            self.resets += 1
            return super().reset(seed, options)

        def again(self, agent: str) -> Any:
            space = getattr(self, f"{kind}_spaces")[agent]
            return copy.deepcopy(space) if agent == "cow_1" and stale(self) else space

    setattr(Rebuilt, f"{kind}_space", Rebuilt.again)
    (finding,) = testing.run_env_checks(Rebuilt, checks=["spaces_stay"]).findings
    assert finding.detail == f"{kind}_space('cow_1') is another object {when}"


def test_a_state_needs_a_space() -> None:
    class Spaceless(Meadow):
        def __init__(self, render_mode: str | None = None) -> None:
            super().__init__(render_mode)
            del self.state_space

    (finding,) = testing.run_env_checks(Spaceless, checks=["state_fits"]).findings
    assert finding.verdict == "failed: there is a state(), but no state_space"


def no_state(self: Any) -> Any:
    raise NotImplementedError


def test_an_environment_may_have_no_state() -> None:
    assert verdict("state_fits", state=no_state) == "skipped: it has no global state"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _, found: found.update(bull=1), "has ['bull'], not in play"),
        (lambda _, found: found.pop("cow_1"), "lacks ['cow_1']"),
    ],
)
def test_each_dict_of_a_step_has_exactly_who_acted(part: str, change: Change, words: str) -> None:
    told = told_by("five_dicts", step=part_of(part, change))
    assert told == f"at step 1, {part} {words}"


def test_a_step_answers_in_dicts() -> None:
    told = told_by("five_dicts", step=after("step", lambda _, found: (*found[:-1], [])))
    assert told == "at step 1, infos is no dict"
    told = told_by("five_dicts", step=after("step", lambda _, found: found[:4]))
    assert told == "step does not return observations, rewards, two kinds of ends and infos"


def turned(self: Any, found: Any) -> Any:
    self.agents = self.agents[::-1]
    return found


def one_fewer(self: Any, found: Any) -> Any:
    self.agents = self.agents[:1]
    return found


def test_agents_keep_their_order_and_go_only_when_they_end() -> None:
    told = told_by("agents_follow_ends", reset=after("reset", turned))
    names = ["cow_2", "cow_1", "cow_0"]
    assert told == f"agents are {names}, not in the order of possible_agents"
    told = told_by("agents_follow_ends", step=after("step", one_fewer))
    assert told == "at step 1 ['cow_1', 'cow_2'] left agents without an end"


def one_by_one(self: Any, actions: Any) -> Any:
    acting, self.time = list(self.agents), self.time + 1
    self.agents = acting[1:]
    ends = {name: name == acting[0] for name in acting}
    nobody = dict.fromkeys(acting, False)
    infos = {name: self.info(name) for name in acting}
    return self.look(acting), dict.fromkeys(acting, 0.0), ends, nobody, infos


def test_ends_are_counted() -> None:
    """Three cows leave together, or one after the other: the last leaves nobody behind."""
    told = verdict("agents_follow_ends", wind=lambda self: -1)
    assert told == "passed: 3 simultaneous and 0 staggered ends in 3 episodes"
    told = verdict("agents_follow_ends", step=one_by_one)
    assert told == "passed: 0 simultaneous and 6 staggered ends in 3 episodes"


class Forgets:
    """What is something else when it was pickled."""

    def __reduce__(self) -> Any:
        return int, ()


def put(value: Any, name: str = "cow_2") -> Change:
    """Return a change of a dict: another value for one cow."""
    return lambda _, found: found.update({name: value}) if name in found else None


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("rewards", float("inf"), "the reward of cow_2 is inf, no finite number"),
        ("rewards", "much", "the reward of cow_2 is 'much', no finite number"),
        ("terminated", None, "an end of cow_2 is None, no boolean"),
        ("truncated", 0, "an end of cow_2 is 0, no boolean"),
        ("infos", [], "the info of cow_2 is no dict"),
        ("infos", {"x": Forgets()}, "the info of cow_2 is another one when it was pickled: x: "),
    ],
)
def test_each_part_of_an_answer_is_plain(part: str, value: Any, words: str) -> None:
    told = told_by("rewards_and_ends_are_plain", step=part_of(part, put(value)))
    assert told.startswith(f"at step 1 {words}")


@pytest.mark.parametrize("value", [np.float32(1), 3])
def test_rewards_may_be_any_finite_numbers(value: Any) -> None:
    told = verdict("rewards_and_ends_are_plain", step=part_of("rewards", put(value)))
    assert told == "passed"


# -- masks -----------------------------------------------------------------------------------------


def test_a_mask_has_bits_and_allows_something() -> None:
    told = told_by("masks_fit", mask=lambda self, name: np.array([2, 1, 1], np.int8))
    assert told == "at step 0 the mask of cow_0 holds something but 0 and 1"
    told = told_by("masks_fit", mask=lambda self, name: np.zeros(3, np.int8))
    assert told == "at step 0 the mask of cow_0 allows nothing"
    told = told_by("five_dicts", mask=lambda self, name: np.zeros(3, np.int8))
    assert told == "the mask of cow_0, which is in play, allows no action at all"


def stay(self: Any, actions: Any) -> Any:
    self.places = dict.fromkeys(self.places, 0)
    return Meadow.step(self, dict.fromkeys(actions, 1))


def test_masks_and_what_they_allow_are_counted() -> None:
    """Twenty rows of three cows; three seeds, three cows, and two allowed actions each."""

    def mask(self: Any, name: str) -> Any:
        return np.array([1, 0, 1], np.int8)

    told = verdict("masks_fit", step=stay, wind=lambda self: 0, mask=mask)
    assert told == "passed: 60 masks, 18 allowed actions tried"


def test_a_mask_may_be_a_part_of_the_observation() -> None:
    def observe(self: Any, name: str) -> Any:
        return {"observation": Meadow.observe(self, name), "action_mask": np.zeros(3, np.int8)}

    told = told_by("masks_fit", observe=observe, info=lambda self, name: {})
    assert told == "at step 0 the mask of cow_0 allows nothing"


def test_actions_of_a_space_that_starts_elsewhere_are_counted_from_there() -> None:
    given: set[int] = set()

    class FromTen(Meadow):
        def __init__(self, render_mode: str | None = None) -> None:
            super().__init__(render_mode)
            self.action_spaces = {n: spaces.Discrete(3, start=10) for n in self.possible_agents}

        def step(self, actions: Any) -> Any:
            given.update(actions.values())
            return super().step({name: action - 10 for name, action in actions.items()})

    assert testing.run_env_checks(FromTen, checks=["masks_fit"]).ok
    assert given == {10, 11, 12}


# -- arrays, dicts and copies ----------------------------------------------------------------------


def test_an_array_that_is_written_to_much_later_is_found_out() -> None:
    class WritesLate(Meadow):
        def look(self, names: list[str]) -> Any:
            shown = super().look(names)
            if self.time == 0:
                self.first = shown["cow_1"]
            self.first[0] = 9 if self.time == 4 else self.first[0]
            return shown

    (finding,) = testing.run_env_checks(WritesLate, checks=["arrays_are_fresh"]).findings
    words = "the array of (observation, cow_1) of step 0 was changed by later steps"
    assert finding.detail == words


def test_a_state_that_is_handed_out_twice_is_found_out() -> None:
    kept = np.arange(4, dtype=np.int32)
    told = told_by("arrays_are_fresh", state=lambda self: kept)
    assert told == "at step 1 the array of (state) shares its memory with that of (state)"


def test_two_arrays_of_one_step_share_no_memory() -> None:
    def look(self: Any, names: list[str]) -> Any:
        return dict.fromkeys(names, self.observe(names[0]))

    told = told_by("arrays_are_fresh", look=look)
    where = "(observation, cow_1) shares its memory with that of (observation, cow_0)"
    assert told == f"at step 0 the array of {where}"


@pytest.mark.parametrize("part", PARTS)
def test_a_dict_that_was_returned_is_not_looked_at_again(part: str) -> None:
    class Relies(Meadow):
        last: Any = (1,)

        def wind(self) -> int:
            return super().wind() + 2 * (not self.last)

        def step(self, actions: Any) -> Any:
            found = super().step(actions)
            self.last = found[PARTS.index(part)]
            return found

    name = "what_is_returned_is_the_callers"
    (finding,) = testing.run_env_checks(Relies, checks=[name]).findings
    words = "writing into what was returned changes later steps: at step 2"
    assert finding.detail.startswith(words)


def test_an_array_of_ones_is_soiled_too() -> None:
    class Counts(Meadow):
        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            self.sun = np.ones(4, np.int32)
            return super().reset(seed, options)

        def wind(self) -> int:
            return super().wind() * int(self.sun[3])

        def state(self) -> Any:
            return self.sun

    name = "what_is_returned_is_the_callers"
    (finding,) = testing.run_env_checks(Counts, checks=[name]).findings
    assert finding.detail.startswith("writing into what was returned changes later steps")


def refuses(self: Any, *_: Any) -> Any:
    raise TypeError("it is one of a kind")


def test_copies_are_not_asked_of_every_environment() -> None:
    told = verdict("copies_go_on_alike", __deepcopy__=refuses, __reduce_ex__=refuses)
    assert told == "skipped: cannot be deep-copied, cannot be pickled"
    (finding,) = testing.run_env_checks(OneOfAKind, checks=["copies_go_on_alike"]).findings
    assert finding.verdict == "passed: cannot be deep-copied"


def test_a_copy_that_shares_something_is_found_out() -> None:
    def __deepcopy__(self: Any, memo: Any) -> Any:
        twin = type(self)(self.render_mode)
        twin.__dict__.update(self.__dict__)
        twin.dice, twin.agents = copy.deepcopy(self.dice), list(self.agents)
        return twin

    told = told_by("copies_go_on_alike", __deepcopy__=__deepcopy__)
    assert told.startswith("playing a deep-copied environment changes the original: values[")


# -- pictures and resources ------------------------------------------------------------------------


def modes(*names: str, fps: Any = 4) -> dict[str, Any]:
    """Return metadata with these render modes."""
    return {"name": "meadow_v0", "render_modes": list(names), "render_fps": fps}


@pytest.mark.parametrize("fps", [True, 0, -1, "4"])
def test_pictures_have_a_speed(fps: Any) -> None:
    told = told_by("pictures_are_what_they_say", metadata=modes("ansi", fps=fps))
    assert told == f"metadata['render_fps'] is {fps!r}, no positive number"


def test_a_window_alone_is_no_picture() -> None:
    told = verdict("pictures_are_what_they_say", metadata=modes("human"))
    assert told == "skipped: it has no render mode but perhaps human"


@pytest.mark.parametrize(
    ("mode", "picture", "words"),
    [
        ("ansi", "", "str, no text"),
        ("ansi", 7, "int, no text"),
        ("rgb_array", [[0]], "list, no array"),
        ("rgb_array", np.zeros((4, 4), np.uint8), "the shape (4, 4), not (height, width, 3)"),
        ("rgb_array", np.zeros((4, 4, 4), np.uint8), "the shape (4, 4, 4), not (height, width, 3)"),
        ("rgb_array", np.zeros((0, 4, 3), np.uint8), "the shape (0, 4, 3), not (height, width, 3)"),
    ],
)
def test_a_picture_is_of_its_kind(mode: str, picture: Any, words: str) -> None:
    told = told_by("pictures_are_what_they_say", metadata=modes(mode), render=lambda _: picture)
    assert told == f"at step 0 render in mode {mode} returns {words}"


def test_drawing_changes_nothing() -> None:
    def change(self: Any, picture: Any) -> Any:
        self.dice.random()
        return picture

    told = told_by("pictures_are_what_they_say", render=after("render", change))
    assert told.startswith("render in mode ansi changes the episode: at step ")


def test_an_environment_may_have_one_mode_for_its_life() -> None:
    class Letters(Meadow):
        def __init__(self) -> None:
            super().__init__("ansi")

    (finding,) = testing.run_env_checks(Letters, checks=["pictures_are_what_they_say"]).findings
    assert finding.verdict == "passed: ansi"
    both = verdict("pictures_are_what_they_say")
    assert both == "passed: ansi, rgb_array"


def test_closing_is_silent_too() -> None:
    told = told_by("nothing_is_printed", close=lambda self: print("the cows go home"))  # noqa: T201
    assert told == "it prints 'the cows go home\\n'"


@pytest.fixture
def bell() -> Iterator[threading.Event]:
    """What threads wait for; it rings when the test is over."""
    event = threading.Event()
    yield event
    event.set()


def test_a_thread_that_is_left_is_found_out(bell: threading.Event) -> None:
    def change(self: Any, found: Any) -> Any:
        if not hasattr(self, "thread"):
            self.thread = threading.Thread(target=bell.wait, daemon=True)
            self.thread.start()
        return found

    told = told_by("close_gives_back", reset=after("reset", change))
    assert told == "after close there is still 1 thread more than before"


def test_close_can_be_called_at_any_time() -> None:
    def twice(self: Any) -> None:
        self.closed = getattr(self, "closed", 0) + 1
        if self.closed == 2:
            raise OSError("closed")

    told = told_by("close_gives_back", close=twice)
    assert told == "close() number 2 raises OSError('closed')"
    told = told_by("close_gives_back", close=lambda self: self.places.clear())
    assert told.startswith("close_gives_back met AttributeError: ")


def test_episodes_end_and_start_over() -> None:
    name = "episodes_follow_each_other"

    class Endless(Meadow):
        def step(self, actions: Any) -> Any:
            self.time %= LIMIT - 1
            self.places = dict.fromkeys(self.places, 0)
            return super().step(actions)

    (finding,) = testing.run_env_checks(Endless, checks=[name]).findings
    assert finding.verdict == "skipped: no episode ended within 300 steps"

    class Once(Meadow):
        used = False

        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            found = super().reset(seed, options)
            self.agents = [] if self.used else self.agents
            self.used = True
            return found

    (finding,) = testing.run_env_checks(Once, checks=[name]).findings
    assert finding.detail == "after an episode's end, reset does not start another one"


# -- seeds -----------------------------------------------------------------------------------------


def test_a_large_seed_is_a_seed_too() -> None:
    def reset(self: Any, seed: int | None = None, options: Any = None) -> Any:
        if seed and seed > 2**30:
            self.dice, seed = np.random.default_rng(), None
        return Meadow.reset(self, seed, options)

    told = told_by("same_seed_same_episode", reset=reset)
    assert told.startswith("with seed 2147483647, two environments differ: at step ")


def test_resets_without_a_seed_follow_from_the_last_seed() -> None:
    def reset(self: Any, seed: int | None = None, options: Any = None) -> Any:
        return Meadow.reset(self, random.getrandbits(31) if seed is None else seed, options)

    told = told_by("unseeded_resets_go_on", reset=reset)
    assert told.startswith("episode 1 after reset(seed=3) differs: at step ")


def test_an_environment_without_chance_has_one_episode() -> None:
    def reset(self: Any, seed: int | None = None, options: Any = None) -> Any:
        return Meadow.reset(self, 0, options)

    told = verdict("unseeded_resets_go_on", reset=reset)
    assert told == "passed: all seeds start alike, so episodes cannot be told apart"


def test_the_global_generator_of_numpy_is_left_alone() -> None:
    def change(self: Any, found: Any) -> Any:
        return found + 0 * int(np.random.randint(2))  # noqa: NPY002

    told = told_by("no_global_randomness", wind=after("wind", change))
    assert told == "an episode moves the global generator of numpy.random"


def test_the_check_of_global_generators_leaves_them_as_they_were() -> None:
    def change(self: Any, found: Any) -> Any:
        random.random()
        np.random.rand()  # noqa: NPY002
        return found

    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    told_by("no_global_randomness", wind=after("wind", change))
    assert (random.getstate(), repr(np.random.get_state())) == before  # noqa: NPY002


def test_one_agent_has_no_order() -> None:
    class Alone(Meadow):
        def __init__(self, render_mode: str | None = None) -> None:
            super().__init__(render_mode)
            self.possible_agents = ["cow_0"]

    (finding,) = testing.run_env_checks(Alone, checks=["order_of_actions_is_nothing"]).findings
    assert finding.verdict == "skipped: there is only one agent"


def test_two_processes_are_asked() -> None:
    (finding,) = testing.run_env_checks(Meadow, checks=["other_processes_agree"]).findings
    count, rest = finding.detail.split(" ", 1)
    assert 2 < int(count) <= LIMIT + 1
    assert rest == "rows in 3 processes"


def test_an_error_in_another_process_is_told() -> None:
    (finding,) = testing.run_env_checks(HasNoOtherHome, checks=["other_processes_agree"]).findings
    assert finding.verdict == "failed: in another process, OSError: no meadow here"


class OneOfAKind(Meadow):
    """It can be pickled, and not copied otherwise."""

    __deepcopy__ = refuses


class HasNoOtherHome(Meadow):
    """It can be made in the process that asks, and nowhere else."""

    home = False

    def __init__(self, render_mode: str | None = None) -> None:
        if not self.home:
            raise OSError("no meadow here")
        super().__init__(render_mode)


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HasNoOtherHome, "home", True)
