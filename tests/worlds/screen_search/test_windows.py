"""A real window on a display of its own, which reacts to keys: what is seen is what it shows."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import testing
from piase_gym.errors import ConfigError, PiaseError, UnknownNameError, WindowError
from piase_gym.worlds.describing import Description, Picture, SeenObject, register_describer
from piase_gym.worlds.screen_search.actions import MOVEMENTS
from tests.paths import ROOT
from tests.worlds.screen_search import program

NEEDED = ("mss", "pyautogui", "pygame", "tkinter")  # the last is what pyautogui needs on Linux
MISSING = [name for name in NEEDED if not importlib.util.find_spec(name)]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}"),
    pytest.mark.skipif(shutil.which("Xvfb") is None, reason="needs Xvfb, a display in memory"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Xvfb is used on Linux"),
]
SETTLE = 0.15


@pytest.fixture(scope="module", autouse=True)
def display(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A display for this file; nothing of it is left behind."""
    folder = tmp_path_factory.mktemp("display")
    (folder / "authority").touch()
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as told:
        name = ":" + told.readline().strip()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISPLAY", name)
        patch.setenv("XAUTHORITY", str(folder / "authority"))
        patch.delenv("SDL_VIDEODRIVER", raising=False)
        yield name
    server.terminate()
    assert server.wait(10) is not None


class Program:
    """The program of the tests, as another process."""

    def __init__(self, title: str, left: int = 40, top: int = 30) -> None:
        path = Path(program.__file__)
        command = [sys.executable, str(path), title, str(left), str(top)]
        environment = {**os.environ, "SDL_VIDEODRIVER": "x11"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        while self._line() != "ready":
            assert self.process.poll() is None, "the program has ended"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def keys(self, count: int) -> list[str]:
        """Return the next keys that it got."""
        return [self._line() for _ in range(count)]

    def close(self) -> None:
        """End it."""
        self.process.kill()
        assert self.process.wait(10) is not None
        assert self.process.stdout is not None
        self.process.stdout.close()


Start = Callable[..., Program]


@pytest.fixture
def start() -> Iterator[Start]:
    """What starts programs; they end with the test."""
    started: list[Program] = []

    def run(*args: Any) -> Program:
        started.append(Program(*args))
        return started[-1]

    yield run
    for one in started:
        one.close()


def search(**config: Any) -> Any:
    """Return an environment with settings for a quick window."""
    return piase_gym.parallel_env("ScreenSearch", **{"settle": SETTLE, "hold": 0.02, **config})


def told(env: Any, agent: str = "agent_0") -> dict[str, tuple[int, ...]]:
    """Return what an agent is told of the picture."""
    return {name: tuple(place) for name, *place in env.facts(agent).objects}


def true(view: int) -> dict[str, tuple[int, ...]]:
    """Return the same, by what the program draws."""
    width, height = program.SIZE
    return {
        name: (
            round(50 * (left + right) / width),
            round(50 * (top + bottom) / height),
            round(100 * (right - left) / width),
            round(100 * (bottom - top) / height),
        )
        for name, (left, top, right, bottom) in program.shown(view).items()
    }


# -- seeing and driving -------------------------------------------------------------------


def test_what_is_seen_follows_the_keys(start: Start) -> None:
    start("A wall of squares")
    env = search(window="WALL of", actions="text", objects=tuple(program.WALL))
    env.reset(seed=0)
    assert told(env) == true(0)
    view, found = 0, dict.fromkeys(program.shown(0))
    for line in ("move_right", "move_right", "look_right", "stay", "move_left", "look_right"):
        _, rewards, ended, _, infos = env.step({"agent_0": line})
        view += program.STEPS.get(MOVEMENTS.get(line, ("",))[0], 0)
        assert told(env) == true(view), line
        new = [name for name in program.shown(view) if name not in found]
        found.update(dict.fromkeys(new))
        assert sorted(infos["agent_0"].get("found", [])) == sorted(new)
        assert rewards["agent_0"] == pytest.approx(len(new) - 0.01)
        assert sorted(env.world.facts(0).found) == sorted(found)
        assert ended["agent_0"] == (len(found) == 4)
    assert infos["agent_0"]["result"] == "won"
    env.close()


def test_every_movement_presses_its_key(start: Start) -> None:
    keys = {name: key for name, (key, _) in MOVEMENTS.items()}
    keys |= {"move_down": "f", "look_up": "shift+up"}  # "q" would close the window
    one = start("keys")
    env = search(window="keys", keys={k: keys[k] for k in ("move_down", "look_up")}, settle=0.0)
    env.reset(seed=0)
    for index in range(13):
        env.step({"agent_0": index})
    wanted = [keys[name] for name in MOVEMENTS]
    held = wanted.index("shift+up")
    got = one.keys(13)  # shift is a key of its own
    assert got[held].endswith("shift")
    assert got[:held] + got[held + 1 :] == wanted
    env.close()


def test_a_region_shows_what_the_window_there_shows(start: Start) -> None:
    start("whole", 40, 30)
    by_title, by_region = search(window="whole"), search(region=(40, 30, *program.SIZE))
    by_title.reset(seed=0)
    by_region.reset(seed=0)
    np.testing.assert_array_equal(by_title.world.rgb(), by_region.world.rgb())
    assert by_title.world.rgb().shape == (program.SIZE[1], program.SIZE[0], 3)
    part = search(region=(40 + 60, 30 + 100, 40, 40))
    part.reset(seed=0)
    assert (part.world.rgb() == program.COLOURS["red"]).all()
    part.step({"agent_0": 3})  # keys go where the focus is
    by_title.step({"agent_0": 12})
    assert told(by_title) == true(40)


def test_what_is_outside_of_the_screen_is_left_out(start: Start) -> None:
    start("edge", 800 - 100, 30)
    env = search(window="edge")
    env.reset(seed=0)
    assert env.world.rgb().shape == (program.SIZE[1], 100, 3)
    with pytest.raises(WindowError, match="not on the screen") as caught:
        search(region=(900, 0, 10, 10)).reset()
    assert caught.value.reason == "no_window"


def test_each_agent_has_its_window_even_below_another(start: Start) -> None:
    one, two = start("first one", 10, 10), start("second one", 60, 40)
    env = search(
        windows=("first", "second"), agents=2, actions="text", message_delay=0, shared_memory=True
    )
    env.reset(seed=0)
    env.step({"agent_0": "look_right", "agent_1": "move_right"})
    assert (told(env, "agent_0"), told(env, "agent_1")) == (true(200), true(40))
    assert (one.keys(1), two.keys(1)) == (["right"], ["d"])
    env.step({"agent_0": "say blue is here", "agent_1": "tell agent_1 hello"})
    assert env.facts("agent_1").messages == (("agent_0", "all", "blue is here"),)
    assert env.facts("agent_0").messages == ()
    assert env.facts("agent_1").found == env.facts("agent_0").found
    assert sorted(env.facts("agent_0").found) == ["blue", "green", "red"]
    two.close()
    _, _, _, ended, infos = env.step({"agent_0": "stay", "agent_1": "stay"})
    assert ended == {"agent_0": False, "agent_1": True}
    assert infos["agent_1"]["reason"] == "window_closed"
    assert infos["agent_1"]["result"] == "ended"
    assert env.agents == ["agent_0"]
    env.step({"agent_0": "move_right"})
    assert told(env, "agent_0") == true(240)
    assert env.facts("agent_0").messages == ()


# -- what goes wrong ----------------------------------------------------------------------


def test_a_window_that_closes_ends_the_episode_with_the_reason(start: Start) -> None:
    start("closing")
    env = search(window="closing", actions="text", settle=0.4)
    env.reset(seed=0)
    before = env.facts("agent_0").objects
    _, _, ended, cut, infos = env.step({"agent_0": "move_down"})  # "q"
    info = infos["agent_0"]
    assert (ended["agent_0"], cut["agent_0"], env.agents) == (False, True, [])
    assert info["reason"] == "window_closed"
    assert (info["outcome"], info["result"]) == ("failed", "ended")
    assert "closed" in info["feedback"]
    assert env.facts("agent_0").objects == before
    with pytest.raises(WindowError, match="no window has 'closing'") as caught:
        env.reset()
    assert caught.value.reason == "no_window"
    start("closing again")
    env.reset()
    assert told(env) == true(0)


def test_a_mouse_in_the_corner_stops_the_keys(start: Start) -> None:
    import pyautogui

    one = start("mouse")
    env = search(window="mouse", actions="text")
    env.reset(seed=0)
    place = pyautogui.position()
    pyautogui.platformModule._moveTo(0, 0)
    _, _, _, cut, infos = env.step({"agent_0": "move_right"})
    pyautogui.platformModule._moveTo(*place)
    assert cut["agent_0"]
    assert infos["agent_0"]["reason"] == "stopped"
    env.reset()
    env.step({"agent_0": "look_right"})
    assert one.keys(1) == ["right"]


def test_an_episode_goes_on_when_nobody_can_describe(start: Start) -> None:
    answers: list[Description | None] = [
        Description((SeenObject("Big, red\nDOOR!", (10, 20, 50, 400)),), "A\ndoor."),
        None,
        Description((SeenObject("", (0, 0, 9, 9)), SeenObject("cat", (9, 9, 9, 9))), "Ünlit."),
    ]

    class Tired(PiaseError):
        pass

    def describe(picture: Picture) -> Description:
        answer = answers.pop(0)
        if answer is None:
            raise Tired("no answer in time")
        return answer

    register_describer("answers", lambda palette: describe)
    start("described")
    env = search(window="described", describer="answers", actions="text", view="text")
    observations, _ = env.reset(seed=0)
    told_first = observations["agent_0"].splitlines()
    assert told_first == [
        "You are agent_0. You see: A door.",
        "Object big red door: 9% across and 54% down, 12% wide and 92% high.",
        "Found so far: big red door.",
    ]
    observations, _, _, _, infos = env.step({"agent_0": "stay"})
    assert infos["agent_0"]["outcome"] == "ok"
    assert observations["agent_0"].splitlines() == [
        "Last step: stay; ok; reward -0.01.",
        *told_first,
        "Result: The picture is not described: no answer in time",
    ]
    observations, *_ = env.step({"agent_0": "stay"})
    assert observations["agent_0"].splitlines() == [
        "Last step: stay; ok; reward -0.01.",
        "You are agent_0. You see: \\u{dc}nlit.",
        "Found so far: big red door.",
    ]


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        ({}, WindowError, "no window is named"),
        ({"window": "nowhere at all"}, WindowError, "open: "),
        ({"window": "bad", "keys": {"forward": "wheel"}}, ConfigError, "no key 'wheel'"),
    ],
)
def test_what_a_reset_refuses(
    start: Start, config: dict[str, Any], error: type[Exception], words: str
) -> None:
    start("bad input")
    with pytest.raises(error, match=words):
        search(**config).reset(seed=0)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"window": "a", "region": (0, 0, 9, 9)}, "give one of them"),
        ({"window": "a", "windows": ("b",)}, "set the same"),
        ({"windows": ("a", "b")}, "2 windows for agents=1"),
        ({"region": (0, 0, 0, 9)}, "regions"),
        ({"keys": {"jump": "j"}}, "'jump' is no movement"),
        ({"keys": {"forward": ""}}, "keys.forward"),
        ({"objects": ("red", "red")}, "differ"),
        ({"objects": ("Red, hot",)}, "objects"),
        ({"hold": -1.0}, "hold"),
        ({"settle": float("nan")}, "settle"),
    ],
)
def test_configs_that_are_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        search(**config)


def test_replies_of_a_model_are_lines_for_logs() -> None:
    class Model:
        """Has said something."""

        def __call__(self, picture: Picture) -> Description:
            raise NotImplementedError

        def log_entries(self) -> list[tuple[str, dict[str, Any]]]:
            return [("LLM_REPLY_RECEIVED", {"text": "a window"})]

    register_describer("model", lambda palette: Model())
    env = search(window="a", describer="model")
    assert env.world.log_entries() == [(None, "LLM_REPLY_RECEIVED", {"text": "a window"})]
    assert search(window="a").world.log_entries() == []


def test_an_unknown_describer_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="'colors'; did you mean 'colours'"):
        search(window="a", describer="colors")


LOOK = """
import piase_gym
from piase_gym.errors import PiaseError
try:
    piase_gym.parallel_env("ScreenSearch", window="a").reset(seed=0)
except PiaseError as error:
    print(type(error).__name__, getattr(error, "reason", None), error)
"""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"DISPLAY": None}, "WindowError no_display .*: DISPLAY is not set"),
        ({"DISPLAY": ":9876"}, "WindowError no_display .*: DISPLAY is ':9876'; "),
        ({"XAUTHORITY": "/nowhere/Xauthority"}, "WindowError no_display .* create that file"),
    ],
)
def test_without_a_display_the_reset_says_so(change: dict[str, str | None], words: str) -> None:
    environment = {**os.environ, **{k: v for k, v in change.items() if v is not None}}
    for name, value in change.items():
        if value is None:
            del environment[name]
    command = [sys.executable, "-c", LOOK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert re.match(words, done.stdout), done.stdout


ALONE = """
import os, subprocess, sys
import piase_gym

read, write = os.pipe()
command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "400x300x24", "-nolisten", "tcp"]
server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
os.close(write)
os.environ["DISPLAY"] = ":" + os.fdopen(read).readline().strip()
how = {"region": (0, 0, 90, 60)}
if "title" in sys.argv:
    from tests.worlds.screen_search.test_windows import Program
    how, program = {"window": "lonely"}, Program("lonely", 0, 0)
env = piase_gym.parallel_env("ScreenSearch", settle=0.0, **how)
env.reset(seed=0)
server.kill()
server.wait()
for act in (12, 3):
    *_, infos = env.step({"agent_0": act})
    print(infos["agent_0"]["reason"], infos["agent_0"]["result"], infos["agent_0"]["outcome"])
    try:
        env.reset()
    except piase_gym.errors.WindowError as error:
        print(error.reason)
        break
if "title" in sys.argv:
    program.close()
"""


@pytest.mark.parametrize("how", ["title", "region"])
def test_a_display_that_goes_ends_the_episode_with_the_reason(how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, how],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["no_display ended failed", "no_display"], done.stderr


def test_it_does_not_go_back(start: Start) -> None:
    start("back")
    env = search(window="back")
    env.reset(seed=0)
    with pytest.raises(PiaseError, match="its windows are real"):
        env.restore(env.snapshot())


def test_the_contract_is_kept(start: Start) -> None:
    start("contract")
    names = [
        "observations_fit",
        "text_reads_back",
        "an_edit_changes_one_fact",
        "vector_is_that_of_the_facts",
        "vector_tells_facts_apart",
        "masks_are_legality",
        "lines_are_answered",
        "admissible_are_legal",
        "claims_are_true",
        "noop_is_always_legal",
        "results_come_with_ends",
        "time_runs_out_for_all",
        "perceptions_fit_their_schema",
    ]
    keys = {"move_down": "f"}
    report = testing.check_world(
        "ScreenSearch",
        checks=names,
        window="contract",
        keys=keys,
        settle=0.0,
        hold=0.0,
        max_steps=6,
    )
    statuses = {finding.check: finding.status for finding in report.findings}
    assert statuses == dict.fromkeys(names, "passed")
