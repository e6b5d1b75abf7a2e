"""Steps of ScreenSearch where no display is needed: what is drawn and pressed is made up here."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.errors import PiaseError, WindowError
from piase_gym.worlds.describing import Description, Picture, SeenObject, register_describer
from piase_gym.worlds.screen_search import world as screen_world

MISSING = [name for name in ("mss", "pyautogui") if not importlib.util.find_spec(name)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")

VIEWS = (("pen",), ("mug", "cup"), ("pen", "mug"), ("lamp",))
"""What is to be seen in each view of a window; `move_right` leads to the next one."""


class Blurred(PiaseError):
    """Nobody can tell what a picture shows."""


def describe(picture: Picture) -> Description:
    """Return what the view shows whose number the first dot has; nobody can tell of a fifth."""
    view = int(picture[0, 0, 0])
    if view == len(VIEWS):
        raise Blurred("too dark")
    return Description(
        tuple(SeenObject(name, (0, 0, 10 * (k + 1), 10)) for k, name in enumerate(VIEWS[view])),
        f"View {view}.",
    )


class Desk:
    """All that is outside of the world: windows by their titles, their views and their keys."""

    def __init__(self) -> None:
        self.views: dict[str, int] = {}
        self.pressed: list[tuple[str, str, float]] = []
        self.closed: set[str] = set()
        self.stopped = False

    def window(self, title: str, region: Any) -> Any:
        """Return a window."""
        return MadeUp(self, title)


class MadeUp:
    """A window that is nowhere."""

    def __init__(self, desk: Desk, title: str) -> None:
        self.desk, self.title = desk, title

    def find(self) -> None:
        self.desk.views[self.title] = 0

    def check_keys(self, keys: list[str]) -> None:
        assert len(keys) == 12

    def see(self) -> Picture:
        if self.title in self.desk.closed:
            raise WindowError("window_closed", f"{self.title} was closed")
        high = 20 + 10 * sorted(self.desk.views).index(self.title)
        return np.full((high, 40, 3), self.desk.views[self.title], np.uint8)

    def press(self, key: str, hold: float) -> None:
        if self.desk.stopped:
            raise WindowError("stopped", "the mouse is in a corner")
        self.desk.pressed.append((self.title, key, hold))
        self.desk.views[self.title] += {"d": 1, "a": -1}.get(key, 0)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk in place of the screen of this machine."""
    found = Desk()
    monkeypatch.setattr(screen_world, "Window", found.window)
    register_describer("views", lambda palette: describe)
    return found


def search(agents: int = 1, **config: Any) -> Any:
    """Return an environment that was reset."""
    given = {"windows": ("one",), "settle": 0.0, "hold": 0.25, "describer": "views", **config}
    env = piase_gym.parallel_env("ScreenSearch", actions="text", agents=agents, **given)
    env.reset(seed=0)
    return env


def test_finds_are_paid_once_and_all_of_them_win(desk: Desk) -> None:
    env = search(objects=("pen", "mug", "cup"), rewards={"found": 0.5, "step": -0.25})
    assert env.facts("agent_0").found == ("pen",)  # which was there at the start
    assert env.facts("agent_0").wanted == ("mug", "cup")
    _, rewards, ended, cut, infos = env.step({"agent_0": "stay"})
    assert (rewards, ended, cut) == ({"agent_0": -0.25}, {"agent_0": False}, {"agent_0": False})
    assert "found" not in infos["agent_0"]
    _, rewards, ended, cut, infos = env.step({"agent_0": "move_right"})
    assert (rewards, ended, cut) == ({"agent_0": 0.75}, {"agent_0": True}, {"agent_0": False})
    assert infos["agent_0"]["found"] == ["cup", "mug"]  # the largest first
    assert infos["agent_0"]["result"] == "won"
    assert desk.pressed == [("one", "d", 0.25)]


def test_what_is_to_be_found_counts_however_much_else_was_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tuple(f"thing {k}" for k in range(70))
    rows = [names[k : k + 10] for k in range(0, 70, 10)]
    monkeypatch.setattr(f"{__name__}.VIEWS", (*rows, ("pen", "lamp", "mug")))
    env = search(objects=("pen", "mug"))
    for _ in rows[1:]:
        env.step({"agent_0": "move_right"})
    assert len(env.facts("agent_0").found) == 62
    *_, infos = env.step({"agent_0": "move_right"})
    assert infos["agent_0"]["found"] == ["mug", "pen"]
    assert infos["agent_0"]["result"] == "won"


def test_time_runs_out_for_who_is_to_find_something_and_who_only_looks_lasts(desk: Desk) -> None:
    for objects, result in ((("sofa",), "lost"), ((), "won")):
        env = search(objects=objects, max_steps=2)
        assert env.step({"agent_0": "stay"})[3] == {"agent_0": False}
        _, _, ended, cut, infos = env.step({"agent_0": "stay"})
        assert (ended["agent_0"], cut["agent_0"]) == (False, True)
        assert infos["agent_0"]["result"] == result
        assert env.agents == []


def test_what_cannot_be_read_presses_nothing_and_is_told(desk: Desk) -> None:
    env = search(rewards={"step": -0.5, "illegal": -2.0})
    _, rewards, _, _, infos = env.step({"agent_0": "jump"})
    assert rewards == {"agent_0": -2.5}
    assert infos["agent_0"]["outcome"] == "unparsable"
    assert infos["agent_0"]["feedback"] == env.facts("agent_0").feedback != ""
    assert desk.pressed == []
    env.step({"agent_0": "stay"})
    assert env.facts("agent_0").feedback is None


def test_several_share_a_window_and_speak(desk: Desk) -> None:
    env = search(agents=3, message_delay=0, rewards={"step": 0.0, "message": -0.5})
    acts = {"agent_0": "tell agent_1 left", "agent_1": "move_right", "agent_2": "say mug!"}
    rewards = env.step(acts)[1]
    assert rewards == {"agent_0": 1.5, "agent_1": 0.0, "agent_2": -0.5}  # the first sees all
    heard = {name: [tuple(row) for row in env.facts(name).messages] for name in env.agents}
    assert heard == {
        "agent_0": [("agent_2", "all", "mug!")],
        "agent_1": [("agent_0", "agent_1", "left"), ("agent_2", "all", "mug!")],
        "agent_2": [],
    }
    assert [env.facts(name).found for name in env.agents] == [("pen", "cup", "mug")] * 3


def test_rewards_are_shared_among_who_plays(desk: Desk) -> None:
    env = search(agents=2, shared_reward=True, rewards={"step": 0.0})
    rewards = env.step({"agent_0": "move_right", "agent_1": "stay"})[1]
    assert rewards == {"agent_0": 1.0, "agent_1": 1.0}


@pytest.mark.parametrize("shared", [False, True])
def test_what_one_has_found_the_others_know_with_a_shared_memory(desk: Desk, shared: bool) -> None:
    env = search(agents=2, windows=("one", "two"), shared_memory=shared,
                 objects=("mug", "lamp"))  # fmt: skip
    env.step({"agent_0": "move_right", "agent_1": "stay"})
    assert env.facts("agent_0").wanted == ("lamp",)
    assert env.facts("agent_1").wanted == (("lamp",) if shared else ("mug", "lamp"))
    assert env.facts("agent_1").caption == "View 0."
    assert env.facts("agent_0").caption == "View 1."
    assert env.world.ansi() == "one: View 1.\ntwo: View 0."
    assert env.world.state().tolist() == [1, 3, 1, 3, 2, 1, 1, 1]


def test_pictures_stand_beside_each_other(desk: Desk) -> None:
    env = search(agents=2, windows=("one", "two"))
    env.step({"agent_0": "move_right", "agent_1": "stay"})
    drawn = env.world.rgb()
    assert drawn.shape == (30, 80, 3)
    assert (drawn[:20, :40] == 1).all()
    assert not drawn[20:, :40].any()  # the first window is lower


def test_a_window_that_closes_ends_the_part_of_who_looks_at_it(desk: Desk) -> None:
    env = search(agents=2, windows=("one", "two"))
    desk.closed.add("two")
    _, _, ended, cut, infos = env.step({"agent_0": "move_right", "agent_1": "move_right"})
    assert ended == {"agent_0": False, "agent_1": False}
    assert cut == {"agent_0": False, "agent_1": True}
    assert env.agents == ["agent_0"]
    assert infos["agent_1"]["reason"] == "window_closed"
    assert infos["agent_1"]["feedback"] == "two was closed"
    assert (infos["agent_1"]["outcome"], infos["agent_1"]["result"]) == ("failed", "ended")
    assert infos["agent_0"]["outcome"] == "ok"
    assert "reason" not in infos["agent_0"]
    desk.pressed.clear()
    env.step({"agent_0": "move_left"})
    assert desk.pressed == [("one", "a", 0.25)]


def test_who_stops_the_keys_stops_those_of_all_at_that_window(desk: Desk) -> None:
    env = search(agents=2)
    desk.stopped = True
    cut, infos = env.step({"agent_0": "forward", "agent_1": "forward"})[3:]
    assert cut == {"agent_0": True, "agent_1": True}
    assert [infos[name]["reason"] for name in infos] == ["stopped"] * 2


def test_who_has_found_all_has_won_though_the_window_closes(desk: Desk) -> None:
    env = search(agents=2, windows=("one", "two"), objects=("mug",))
    desk.closed.add("two")
    _, _, ended, cut, infos = env.step({"agent_0": "move_right", "agent_1": "stay"})
    assert (ended, cut) == (
        {"agent_0": True, "agent_1": True},
        {"agent_0": False, "agent_1": False},
    )
    assert [info["result"] for info in infos.values()] == ["won", "won"]


def test_what_nobody_can_describe_stays_as_it_was(desk: Desk) -> None:
    env = search(agents=2, windows=("one", "two"))
    for _ in VIEWS:
        env.step({"agent_0": "move_right", "agent_1": "stay"})
    assert env.facts("agent_0").caption == "View 3."
    assert env.facts("agent_0").feedback == "The picture is not described: too dark"
    assert env.facts("agent_1").feedback is None
    assert (env.world.pictures[0] == len(VIEWS)).all()


def test_one_speaks_to_others_in_play_and_moves_while_in_play(desk: Desk) -> None:
    env = search(agents=3, windows=("one", "two", "three"))
    desk.closed.add("three")
    env.step(dict.fromkeys(env.agents, "stay"))
    world = env.world
    told = [world.legal(0, world.read(0, f"tell agent_{other} yes")) for other in range(3)]
    assert told == [False, True, False]
    assert not world.legal(2, world.read(2, "tell agent_0 yes"))
    assert not world.legal(2, world.read(2, "say yes"))
    assert world.legal(0, world.read(0, "say yes"))
    assert [mask.tolist() for mask in world.masks()] == [[1] * 13, [1] * 13, [0] * 13]
    assert [len(world.admissible(agent)) for agent in range(3)] == [13, 13, 0]


def test_keys_are_pressed_in_the_order_that_is_set(desk: Desk) -> None:
    env = search(agents=2)
    env.world.set_order([1, 0])
    env.step({"agent_0": "forward", "agent_1": "backward"})
    assert [key for _, key, _ in desk.pressed] == ["s", "w"]


def test_an_index_presses_the_key_of_its_movement(desk: Desk) -> None:
    env = search()
    for index in (0, 3, 12, 11):
        env.step({"agent_0": env.world.command(0, index)})
    assert [key for _, key, _ in desk.pressed] == ["w", "d", "c"]
