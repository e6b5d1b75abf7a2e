"""BaseEnv (the LLM-environment document): over worlds, as a base for other code, and by name."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

import pytest

from piase_gym.agents.policy_registry import make_agent
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.errors import (
    ActionError,
    ConfigError,
    ResetNeededError,
    SnapshotError,
    UnknownNameError,
)
from piase_gym.interfaces import (
    Action,
    BaseEnv,
    Observation,
    WorldBaseEnv,
    base_envs,
    make_base_env,
    register_base_env,
)
from piase_gym.interfaces import base_env as module
from tests import probes
from tests.paths import SHARED

probes.register()

SEED = SHARED / "seeds"


class Stairs(BaseEnv):
    """An environment of one's own, written as the LLM-environment document has it."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.floor = 0
        self.top = config.get("floors", 2)
        self.steps = 0
        self.max_steps = config.get("max_steps", 10)

    def _look(self) -> Observation:
        text = f"You stand on floor {self.floor} of {self.top}."
        self._observation = Observation(structured={"text": text, "floor": self.floor})
        return self._observation

    def reset(self) -> Observation:
        self.floor = self.steps = 0
        return self._look()

    def step(self, action: Action) -> tuple[Observation, float, bool, dict[str, Any]]:
        self.steps += 1
        self.floor = max(0, self.floor + {"climb": 1, "descend": -1}.get(action.text, 0))
        done = self.floor == self.top or self.steps >= self.max_steps
        return self._look(), float(self.floor == self.top), done, {"floor": self.floor}

    def get_action_space(self) -> dict[str, Any]:
        action = {"type": "string", "enum": ["climb", "descend"]}
        return {"type": "object", "properties": {"action": action}}


# -- an environment of one's own -------------------------------------------------------------------


def test_an_own_environment_runs() -> None:
    env = Stairs({"floors": 2})
    with pytest.raises(ResetNeededError):
        _ = env.current_observation
    assert env.reset().text == "You stand on floor 0 of 2."
    observation, reward, done, info = env.step(Action(text="climb"))
    assert (reward, done, info) == (0.0, False, {"floor": 1})
    assert env.current_observation is observation
    assert env.step(Action(text="climb"))[1:3] == (1.0, True)
    assert env.get_available_actions() == []
    assert env.config == {"floors": 2}


def test_what_the_seed_calls_abstract_is_abstract() -> None:
    class Lazy(BaseEnv):
        def reset(self) -> Observation:
            return Observation()

    with pytest.raises(TypeError, match="get_action_space"):
        Lazy({})  # type: ignore[abstract]


def seed_example() -> str:
    """Return the seed's minimal environment, word for word."""
    pages = sorted(SEED.glob("004_*.txt"))
    if not pages:
        pytest.skip("the PiaSE documents are not here")
    text = pages[0].read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    (block,) = [block for block in blocks if "class SimpleTextEnv" in block]
    return textwrap.dedent(block)


def test_the_minimal_environment_of_the_seed_runs_as_printed() -> None:
    # As a module of a package beside `base_env`, which is what its imports ask for.
    names: dict[str, Any] = {"__name__": "piase_gym.interfaces.env.simple", "__package__": ""}
    names["__package__"] = "piase_gym.interfaces.env"
    exec(compile(seed_example(), "simple.py", "exec"), names)
    make = names["SimpleTextEnv"]
    env = make({"goal": "finish"})
    obs = env.reset()
    assert isinstance(obs, Observation)
    assert obs.text == "You are in the initial state. Your goal is to finish."
    rewards = []
    done = False
    while not done:
        obs, reward, done, info = env.step(env.get_available_actions()[0])
        rewards.append(reward)
    assert (rewards, info) == ([0.0, 1.0], {"state": "final"})
    assert env.current_observation is obs
    register_base_env("SimpleText", make)
    assert isinstance(make_base_env("SimpleText", {"max_steps": 3}), make)


# -- by name ---------------------------------------------------------------------------------------


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_registered", {})


@pytest.mark.usefixtures("clean")
def test_environments_are_made_by_name() -> None:
    register_base_env("Stairs", Stairs)
    register_base_env("Later", f"{__name__}:Stairs")
    assert base_envs() == ("Later", "Stairs")
    made = make_base_env("Stairs", {"floors": 7})
    assert isinstance(made, Stairs)
    assert made.top == 7
    grid = make_base_env("GridWorld", {"agents": 2, "num_attempts": 2})
    assert isinstance(grid, WorldBaseEnv)
    assert grid.num_attempts == 2
    assert isinstance(make_base_env("piase/GridWorld-Empty-5x5-v1"), WorldBaseEnv)


@pytest.mark.usefixtures("clean")
def test_bad_registrations_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="GridWorld"):
        make_base_env("GridWord")
    for env in (3, None, "Stairs"):
        with pytest.raises(ConfigError, match="module:Class"):
            register_base_env("Stairs", env)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="by a name"):
        register_base_env("", Stairs)
    for place in ("no_such_module:Stairs", f"{__name__}:Ladder", ":Stairs"):
        register_base_env("Later", place)
        with pytest.raises(ConfigError, match=f"Later: '{place}' cannot be loaded: "):
            make_base_env("Later")
    register_base_env("Wrong", dict)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no BaseEnv"):
        make_base_env("Wrong")
    with pytest.raises(ConfigError, match="mapping"):
        make_base_env("Wrong", 3)  # type: ignore[arg-type]


# -- over a world ----------------------------------------------------------------------------------


def test_a_world_behind_base_env() -> None:
    env: Any = BaseEnv("GridWorld", grid_size=(10, 8), start_pos=(7, 7), goal_pos=(9, 7))
    assert isinstance(env, WorldBaseEnv)
    first = env.reset(seed=0)
    assert first.structured["position"] == [7, 7]
    assert first.text == first.structured["text"] == env.world.text(env.facts())
    assert env.current_observation is first
    schema = env.get_action_space()
    assert (schema["type"], schema["required"]) == ("object", ["action"])
    assert "move north|south|west|east" in schema["properties"]["action"]["description"]
    assert Action(text="move east") in env.get_available_actions()
    rows = [env.step(Action(text=line)) for line in ("move down", "jump", "move right")]
    assert [(row[1], row[2], row[3]["status"]) for row in rows] == [
        (-1.0, False, "failure"),
        (-1.0, False, "invalid_action"),
        (-0.1, False, "success"),
    ]
    assert "I do not know how to 'jump'" in rows[1][3]["error"]
    assert "error" not in rows[2][3]
    _, reward, done, info = env.step("move right")
    assert (reward, done, info["result"], info["won"]) == (10.0, True, "won", True)
    assert info["milestones"] == ["goal_reached"]
    assert env.get_available_actions() == []
    assert json.loads(json.dumps([info, first.structured])) == [info, first.structured]


def test_native_text_is_shown_where_there_is_one() -> None:
    assert BaseEnv("TextProbe").reset().text.startswith("-= ")
    canonical: Any = BaseEnv("TextProbe", wording="canonical")
    assert canonical.reset().text.startswith("You are agent_0")


def test_the_learner_may_be_any_agent_and_may_come_late() -> None:
    env: Any = BaseEnv("TextProbe", agent="agent_1", agents=2, join_at=(0, 3), max_steps=6)
    assert env.reset(seed=1).structured["step"] == 3
    ends = [env.step(Action(text="wait"))[2] for _ in range(3)]
    assert ends == [False, False, True]


def test_a_snapshot_in_which_the_learner_has_yet_to_enter_is_shown() -> None:
    game = {"agents": 2, "join_at": (0, 3)}
    early = parallel_env("GridWorld", **game)
    early.reset(seed=0)
    env, single = (make("GridWorld", agent="agent_1", **game) for make in (BaseEnv, gym_env))
    for restored in (env, single):
        restored.restore(early.snapshot())
        assert restored.snapshot()["state"] == early.snapshot()["state"]
    assert env.current_observation.text == early.world.observation_text(1)
    why = "the episode is over for agent_1, or has yet to begin; "
    for restored, act in ((env, "stay"), (single, 0)):
        with pytest.raises(ResetNeededError, match=why):
            restored.step(act)


def test_partners_are_those_that_were_named() -> None:
    run: list[str] = []
    for partner in ("noop", make_agent("noop")):
        env: Any = BaseEnv("GridWorld", agents=3, partners={"*": "random", "agent_2": partner})
        env.reset(seed=9)
        for _ in range(5):
            env.step(Action(text="stay"))
        run.append(env.digest())
    assert run[0] == run[1]


def test_attempts_that_fail_can_be_corrected() -> None:
    env: Any = BaseEnv("GridWorld", start_pos=(0, 0), num_attempts=3)
    first = env.reset(seed=0)
    digest = env.digest()
    for left, line in ((2, "fly"), (1, "interact")):  # unreadable, then masked
        observation, reward, done, info = env.step(Action(text=line))
        assert (observation, reward, done) == (first, 0.0, False)
        assert info["attempts_left"] == left
        assert info["error"]
    assert env.digest() == digest
    assert env.step(Action(text="fly"))[3]["outcome"] == "unparsable"
    assert env.digest() != digest
    assert env.step(Action(text="fly"))[3]["attempts_left"] == 2
    snapshot = json.loads(json.dumps(env.snapshot()))
    other: Any = BaseEnv("GridWorld", num_attempts=3)
    other.restore(snapshot)
    assert other.step(Action(text="fly"))[3]["attempts_left"] == 1
    assert other.step(Action(text="stay"))[1] == -0.05


@pytest.mark.parametrize("action", [None, 3, {"action": "stay"}, ["stay"], Action(text=3)])  # type: ignore[arg-type]
def test_what_is_no_action_changes_nothing(action: Any) -> None:
    env: Any = BaseEnv("PointProbe")
    env.reset(seed=0)
    digest = env.digest()
    with pytest.raises(ActionError, match=r"Action\(text=\.\.\.\)"):
        env.step(action)
    assert env.digest() == digest


@pytest.mark.parametrize("attempts", [0, -1, 1.5, True, "2", None])
def test_num_attempts_is_checked(attempts: Any) -> None:
    with pytest.raises(ConfigError, match="num_attempts"):
        BaseEnv("GridWorld", num_attempts=attempts)


def test_observations_take_their_text_from_the_data() -> None:
    assert Observation({"text": "here"}).text == "here"
    assert Observation({"text": "here"}, "there").text == "there"
    assert Observation().text == ""
    assert len({Action("a"), Action("a")}) == 1
    with pytest.raises(ConfigError, match="mapping"):
        Observation("here")  # type: ignore[arg-type]


def test_a_reset_gives_all_attempts_back() -> None:
    env: Any = BaseEnv("PointProbe", num_attempts=3)
    for seed in (4, 5):
        env.reset(seed=seed)
        assert env.seed == seed
        assert env.step("fly")[3]["attempts_left"] == 2
        assert env.step("fly")[3]["attempts_left"] == 1


def test_what_all_worlds_show_is_in_the_data() -> None:
    env: Any = BaseEnv("TextProbe", agents=2, partners={"agent_1": "noop"}, wording="canonical")
    env.reset(seed=0)
    env.give_hint("look up")
    env.world.mailboxes.send("agent_1", "agent_0", "hi")
    for _ in range(2):
        shown = env.step("wait")[0]
    data = shown.structured
    assert (data["agent"], data["step"], data["hint"]) == ("agent_0", 2, "look up")
    assert data["messages"] == [{"sender": "agent_1", "recipient": "agent_0", "message": "hi"}]
    assert (data["text"], env.current_observation) == (shown.text, shown)
    snapshot = json.loads(json.dumps(env.snapshot()))
    env.step("wait")
    env.restore(snapshot)
    assert env.current_observation == shown
    for failed in (-1, 0.5, "1"):
        with pytest.raises(SnapshotError, match="failed_attempts of this snapshot is"):
            env.restore({**snapshot, "failed_attempts": failed})
