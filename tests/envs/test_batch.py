"""The batched environments: the states of N single environments, and of the slow reference."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import piase_gym
from piase_gym.agents import Agent, OracleAgent, register_policy
from piase_gym.core.commands import OUTCOMES, RESULTS
from piase_gym.envs.batch import BatchEnv, batch_env
from piase_gym.envs.parallel import WorldParallelEnv, parallel_env
from piase_gym.errors import (
    ActionError,
    AgentError,
    ClosedError,
    ConfigError,
    EnvelopeError,
    GenerationError,
    ResetNeededError,
    SnapshotError,
    UnknownNameError,
    UnsupportedError,
)
from piase_gym.worlds.grid_world.config import GridWorldConfig
from tests.worlds.grid_world.reference import ReferenceGridWorld

CONFIGS: list[dict[str, Any]] = [
    {"agents": 3, "layout": "four_rooms", "width": 9, "height": 9, "max_steps": 25},
    {"agents": 2, "layout": "door_key", "width": 8, "height": 7, "max_steps": 30},
    {"agents": 4, "layout": "obstacles", "collisions": "pass", "max_steps": 12, "border": True},
    {"agents": 2, "layout": "empty", "observe": "grid", "width": 5, "height": 4, "max_steps": 40},
    {"agents": 2, "see_through_walls": False, "layout": "four_rooms", "max_steps": 20},
]
ENVS = 5


def draw(rng: np.random.Generator, env: BatchEnv) -> np.ndarray:
    """Draw actions for everyone."""
    return rng.integers(0, 6, (env.num_envs, len(env.agents)))


def assert_row(env: WorldParallelEnv, shown: Any, got: list[np.ndarray], slot: int) -> None:
    """Compare what a single environment returned with one slot's rows."""
    for k, name in enumerate(env.possible_agents):
        if name in shown[0]:
            np.testing.assert_array_equal(got[0][slot, k], shown[0][name])
            for part in (1, 2, 3):
                assert got[part][slot, k] == shown[part][name]
        else:
            assert not got[0][slot, k].any()
            assert got[1][slot, k] == 0.0
            assert not got[2][slot, k]
            assert not got[3][slot, k]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_batch_has_the_states_of_single_environments(config: dict[str, Any]) -> None:
    batch = batch_env("GridWorld", num_envs=ENVS, **config)
    singles = [parallel_env("GridWorld", view="vector", **config) for _ in range(ENVS)]
    obs, infos = batch.reset(seed=40)
    for slot, env in enumerate(singles):
        shown, info = env.reset(seed=40 + slot)
        assert info["agent_0"]["seed"] == infos["seed"][slot]
        np.testing.assert_array_equal(obs[slot], np.stack(list(shown.values())))
    rng = np.random.default_rng(1)
    for _ in range(120):
        acts = draw(rng, batch)
        got = list(batch.step(acts))
        for slot, env in enumerate(singles):
            if not env.agents:  # the batch has just reset this slot
                shown = env.reset()
                np.testing.assert_array_equal(got[0][slot], np.stack(list(shown[0].values())))
                assert not got[1][slot].any()
            else:
                chosen = {n: int(acts[slot, env.possible_agents.index(n)]) for n in env.agents}
                result = env.step(chosen)
                assert_row(env, result, got, slot)
                for name, info in result[4].items():
                    k = env.possible_agents.index(name)
                    assert OUTCOMES[got[4]["outcome"][slot, k]] == info["outcome"]
                    np.testing.assert_array_equal(
                        got[4]["action_mask"][slot, k], info["action_mask"]
                    )
        assert batch.digests() == [env.digest() for env in singles]


def test_a_batch_equals_the_reference_for_ten_thousand_steps() -> None:
    config = {"agents": 4, "layout": "door_key", "width": 8, "height": 8, "max_steps": 64}
    batch = batch_env("GridWorld", num_envs=4, autoreset="disabled", **config)
    references = [ReferenceGridWorld(GridWorldConfig(**config)) for _ in range(4)]
    rng, steps, seed = random.Random(3), 0, 0
    while steps < 10_000:
        batch.reset(seed=seed)
        for slot, reference in enumerate(references):
            reference.reset(seed + slot)
        for _ in range(64):
            acts = np.array([[rng.choice([0, 1, 2, 3, 5]) for _ in range(4)] for _ in range(4)])
            obs, rewards, terminated, truncated, infos = batch.step(acts)
            for slot, reference in enumerate(references):
                expected = reference.step(acts[slot].tolist())
                assert rewards[slot].tolist() == expected.rewards
                assert terminated[slot].tolist() == expected.terminated
                assert truncated[slot].tolist() == expected.truncated
                for agent in range(4):
                    np.testing.assert_array_equal(obs[slot, agent], reference.vector(agent))
                    np.testing.assert_array_equal(
                        infos["action_mask"][slot, agent], reference.mask(agent)
                    )
            steps += 4
        seed += 4


def test_reset_in_the_same_step() -> None:
    config: dict[str, Any] = {"agents": 2, "max_steps": 7, "width": 6, "height": 6}
    later = batch_env("GridWorld", num_envs=3, autoreset="next_step", **config)
    at_once = batch_env("GridWorld", num_envs=3, autoreset="same_step", **config)
    later.reset(seed=0)
    at_once.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(7):
        acts = draw(rng, later)
        expected, got = later.step(acts), at_once.step(acts)
        for part in (1, 2, 3):
            np.testing.assert_array_equal(expected[part], got[part])
    assert got[4]["_final_obs"].all()
    np.testing.assert_array_equal(got[4]["final_obs"], expected[0])
    first = later.step(acts)  # which resets
    np.testing.assert_array_equal(got[0], first[0])
    np.testing.assert_array_equal(got[4]["action_mask"], first[4]["action_mask"])
    assert at_once.digests() == later.digests()
    assert (at_once.seeds() == later.seeds()).all()


def test_slots_can_be_seeded_and_reset_one_by_one() -> None:
    env = batch_env("GridWorld", num_envs=3, agents=1)
    env.reset(seed=[5, 5, 9])
    digests = env.digests()
    assert digests[0] == digests[1] != digests[2]
    env.step(np.array([[1], [3], [0]]))
    stepped = env.digests()
    env.reset(seed=[5, None, None], which=np.array([True, False, False]))
    assert env.digests() == [digests[0], *stepped[1:]]
    env.reset()
    assert len(set(env.seeds().tolist())) == 2  # slots 0 and 1 share seed and episode number


def test_random_partners_act_as_in_single_environments() -> None:
    config: dict[str, Any] = {"agents": 3, "layout": "four_rooms", "max_steps": 15}
    partners = {"agent_1": "random", "agent_2": "random"}
    batch = batch_env("GridWorld", num_envs=4, partners=partners, **config)
    singles = [parallel_env("GridWorld", partners=partners, **config) for _ in range(4)]
    batch.reset(seed=7)
    for slot, env in enumerate(singles):
        env.reset(seed=7 + slot)
    compared = 0
    for step in range(15):
        batch.step(np.full((4, 1), step % 5))
        for digest, env in zip(batch.digests(), singles, strict=True):
            # A single environment ends with its caller's last agent, the batch with the last one.
            if env.agents:
                env.step({"agent_0": step % 5})
                assert env.digest() == digest
                compared += 1
    assert compared > 30


class SlowOracle(OracleAgent):
    """A partner that can only act in one environment at a time."""


def test_partners_without_act_batch_are_asked_in_turn() -> None:
    register_policy("slow oracle", SlowOracle)
    with pytest.warns(UserWarning, match="SlowOracle has no act_batch"):
        env = batch_env(
            "GridWorld", num_envs=3, agents=2, partners={"agent_1": "slow oracle"}, max_steps=40
        )
    env.reset(seed=0)
    for _ in range(20):
        env.step(np.full((3, 1), 4))
    assert not env.batch.states["alive"][:, 1].any()  # every partner has reached a goal
    assert env.batch.states["alive"][:, 0].all()


def test_partners_in_a_batch_are_checked_as_elsewhere() -> None:
    for partners, error in (
        ({"agent_7": "random"}, AgentError),
        ({"agent_0": "random", "agent_1": "random"}, AgentError),
        ({"agent_1": "nobody"}, UnknownNameError),
        (["agent_1"], ConfigError),
    ):
        with pytest.raises(error):
            batch_env("GridWorld", num_envs=2, agents=2, partners=partners)  # type: ignore[arg-type]
    env = batch_env("GridWorld", num_envs=2)
    env.reset(seed=0)
    with pytest.raises(AgentError, match="agent_3"):
        env.text(0, "agent_3")


class Sleeper(Agent):
    """Does one and the same thing, told when it is made; has no `act_batch`."""

    def __init__(self, action: int) -> None:
        super().__init__()
        self.action = action

    def act(self) -> int:
        return self.action


def test_partners_that_are_asked_in_turn_keep_their_settings() -> None:
    partner = Sleeper(3)
    with pytest.warns(UserWarning, match="Sleeper has no act_batch"):
        env = batch_env("GridWorld", num_envs=2, agents=2, start_pos=[(0, 0), (0, 5)],
                        goal_pos=(7, 7), partners={"agent_1": partner})  # fmt: skip
    env.reset(seed=0)
    env.step([[4], [4]])
    assert [env.text(slot, "agent_1").split(",")[0] for slot in range(2)] == [
        "You are agent_1 at column 1"
    ] * 2
    assert partner.get_id() == "agent_1"


def test_slots_have_configs_of_their_own() -> None:
    env = batch_env(
        "GridWorld",
        num_envs=4,
        agents=2,
        envelope={"width": 9, "height": 9},
        configs=[{"layout": "door_key", "width": 9, "height": 9}],
    )
    env.reset(seed=0)
    assert env.batch.states["width"].tolist() == [8, 8, 8, 8]
    env.reconfigure(1, which=[1, 3])
    assert env.batch.states["width"].tolist() == [8, 8, 8, 8]
    env.reset(seed=0)
    assert env.batch.states["width"].tolist() == [8, 9, 8, 9]
    single = parallel_env(
        "GridWorld", agents=2, layout="door_key", width=9, height=9, envelope={"width": 9}
    )
    single.reset(seed=3)
    assert single.digest() == env.digests()[3]
    env.reconfigure({"width": 5}, which=0)
    env.reset(seed=0)
    assert env.batch.states["width"].tolist() == [5, 9, 8, 9]
    assert env.text(0, "agent_1").startswith("You are agent_1 at column")
    with pytest.raises(EnvelopeError, match="width 12"):
        env.reconfigure({"width": 12})


def test_a_snapshot_goes_through_json() -> None:
    env = batch_env("GridWorld", num_envs=3, agents=2, layout="door_key")
    env.reset(seed=1)
    env.step(np.full((3, 2), 1))
    saved = json.loads(json.dumps(env.snapshot()))
    rng = np.random.default_rng(0)
    acts = [draw(rng, env) for _ in range(20)]
    expected = [env.step(a)[0] for a in acts]
    other = batch_env("GridWorld", num_envs=3, agents=2, layout="door_key")
    for twin in (other, env):
        twin.restore(saved)
        for a, obs in zip(acts, expected, strict=True):
            np.testing.assert_array_equal(twin.step(a)[0], obs)
    with pytest.raises(SnapshotError, match="num_envs"):
        batch_env("GridWorld", num_envs=2, agents=2, layout="door_key").restore(saved)
    with pytest.raises(SnapshotError, match="another number of environments"):
        env.restore({**saved, "states": "!"})


@pytest.mark.parametrize("copied", [True, False])
def test_arrays_are_fresh_unless_asked_otherwise(copied: bool) -> None:
    env = batch_env("GridWorld", num_envs=2, agents=1, copy=copied)
    first, _ = env.reset(seed=0)
    second = env.step(np.full((2, 1), 3))[0]
    assert np.shares_memory(first, second) is not copied


@pytest.mark.parametrize(
    "actions",
    [
        np.full((2, 2), 6),
        np.full((2, 2), -1),
        np.zeros((2, 1), int),
        np.zeros(4, int),
        np.zeros((2, 2)),
        np.array([["a", "b"], ["c", "d"]]),
        [[0], [0, 0, 0]],
        None,
        *(np.full((2, 2), 2**bits, kind) for bits in (32, 62) for kind in (np.int64, np.uint64)),
        np.full((2, 2), 2**64 - 1, np.uint64),
        np.full((2, 2), 2**32 - 1, np.uint32),
        np.full((2, 2), 2**32 + 1, ">i8"),
        np.full((2, 2), -1, np.int8),
        np.full((2, 2), 6, np.int32),
        np.ones((2, 2), bool),
        np.ma.masked_equal(np.array([[0, 1], [1, 1]]), 0),
    ],
    ids=lambda actions: (
        f"{getattr(actions, 'dtype', '')}{np.shape(actions)}"
        if isinstance(actions, np.ndarray)
        else repr(actions)
    ),
)
def test_wrong_actions_change_nothing(actions: Any) -> None:
    asked: list[int] = []

    class Counting(Agent):
        def act_batch(self, batch: Any) -> np.ndarray:
            asked.append(1)
            return np.zeros(2, np.int64)

        def act(self) -> int:
            return 0

    alone = batch_env("GridWorld", num_envs=2, agents=2)
    joined = batch_env("GridWorld", num_envs=2, agents=3, partners={"agent_1": Counting()})
    vector: Any = gymnasium.make_vec("piase/GridWorld-v1", num_envs=2)
    wide = isinstance(actions, np.ndarray) and actions.shape == (2, 2)
    column = actions[:, 0] if wide else actions
    for env, given in ((alone, actions), (joined, actions), (vector, column)):
        batch = vector.batch if env is vector else env
        env.reset(seed=0)
        before = batch.digests()
        with pytest.raises(ActionError, match="integers"):
            env.step(given)
        assert batch.digests() == before
        assert not asked
    alone.step(np.zeros((2, 2), int))


@pytest.mark.parametrize("kind", "int8 uint8 int32 uint32 int64 uint64 >i8 <u4".split())
def test_every_type_of_integer_is_an_action(kind: str) -> None:
    env, twin = (batch_env("GridWorld", num_envs=2, agents=2) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    acts = [[0, 3], [4, 1]]
    env.step(np.array(acts, kind))
    twin.step(np.array(acts, np.int32))
    assert env.digests() == twin.digests()


@pytest.mark.parametrize(
    "answers",
    [
        np.array([0, 2**32]),
        np.array([0, 6]),
        np.array([0, -1]),
        np.array([0.0, 1.0]),
        np.array([0, 1, 2]),
        [True, False],
        None,
    ],
    ids=repr,
)
def test_wrong_answers_of_a_partner_change_nothing(answers: Any) -> None:
    class Wrong(Agent):
        def act_batch(self, batch: Any) -> Any:
            return answers

        def act(self) -> int:
            return 0

    env = batch_env("GridWorld", num_envs=2, agents=2, partners={"agent_1": Wrong()})
    env.reset(seed=0)
    before = env.digests()
    with pytest.raises(ActionError, match=r"Wrong, which plays agent_1.*integers"):
        env.step(np.zeros((2, 1), int))
    assert env.digests() == before


@pytest.mark.parametrize("answer", ["fly", "say hello", 9, True, 1.0, 2**40, ("move",)], ids=repr)
@pytest.mark.filterwarnings("ignore:Lines has no act_batch")
def test_wrong_answers_of_a_partner_that_is_asked_in_turn(answer: Any) -> None:
    class Lines(Agent):
        def act(self) -> Any:
            return answer

    env = batch_env("GridWorld", num_envs=2, agents=2, partners={"agent_1": Lines()})
    env.reset(seed=0)
    before = env.digests()
    with pytest.raises(ActionError, match="agent_1"):
        env.step(np.zeros((2, 1), int))
    assert env.digests() == before


WRONG_SLOTS: list[Any] = [
    *([True], [True] * 4, [0, 3], [-1], [1, 1], [0.0, 1.0], "ab", [[True, False, True]], {0}),
    np.array([1, 0, 1]),
]


@pytest.mark.parametrize("which", WRONG_SLOTS, ids=repr)
def test_wrong_slots_change_nothing(which: Any) -> None:
    env = batch_env("GridWorld", num_envs=3)
    env.reset(seed=0)
    before = json.dumps(env.snapshot())
    for call in (
        lambda: env.reset(which=which),
        lambda: env.reset(seed=5, which=which),
        lambda: env.reconfigure({"layout": "four_rooms"}, which=which),
    ):
        with pytest.raises(ConfigError, match="slots are given by 3 flags"):
            call()
        assert json.dumps(env.snapshot()) == before
    for seed in ([1, 2, -1], 2**63 - 2, [1, 2, 2**63]):
        with pytest.raises(ConfigError, match="seed"):
            env.reset(seed=seed)
        assert json.dumps(env.snapshot()) == before


@pytest.mark.parametrize("which", [[True, False, True], [2, 0], np.array([0, 2]), (0, 2)], ids=repr)
def test_slots_are_flags_or_numbers(which: Any) -> None:
    env, twin = (batch_env("GridWorld", num_envs=3) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    env.reset(which=which)
    twin.reset(which=np.array([True, False, True]))
    assert env.snapshot() == twin.snapshot()
    assert env.seeds().tolist()[1] == 1
    env.reset(which=[])
    env.reset(which=1)
    assert env.seeds()[1] != 1


@pytest.mark.parametrize("num_envs", [10**9, 10**12, 2**63 - 1, 10**30])
def test_more_environments_than_there_is_memory(num_envs: int) -> None:
    def joined(count: int) -> Any:
        return batch_env("GridWorld", num_envs=count, agents=2, partners={"agent_1": OracleAgent()})

    def vector(count: int, task: str = "piase/GridWorld-v1", **fields: Any) -> Any:
        return gymnasium.make_vec(task, num_envs=count, **fields)

    for make in (
        lambda count: batch_env("GridWorld", num_envs=count),
        joined,
        vector,
        lambda count: vector(count, view="text"),
        lambda count: vector(count, "piase/TextRoom-v3"),
    ):
        with pytest.raises(ConfigError, match=f"num_envs={num_envs} is too many"):
            make(num_envs)
    assert batch_env("GridWorld", num_envs=np.int64(2)).num_envs == 2


def test_where_the_memory_is_not_told_a_tebibyte_is_supposed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def not_told(_name: str) -> int:
        raise ValueError

    monkeypatch.setattr("os.sysconf", not_told)
    size = batch_env("GridWorld", num_envs=1).batch
    one = sum(a.nbytes for a in vars(size).values() if isinstance(a, np.ndarray))
    one -= size.tables.nbytes
    told = (
        rf"num_envs={10**12} is too many: each takes {one:,} bytes, and this machine has "
        rf"1,099,511,627,776, enough for {2**40 // one}$"
    )
    with pytest.raises(ConfigError, match=told):
        batch_env("GridWorld", num_envs=10**12)


def test_wrong_uses() -> None:
    for fields in ({"num_envs": 0}, {"num_envs": 2, "autoreset": "never"}):
        with pytest.raises(ConfigError):
            batch_env("GridWorld", **fields)  # type: ignore[arg-type]
    env = batch_env("GridWorld", num_envs=2)
    with pytest.raises(ResetNeededError):
        env.step(np.zeros((2, 1), int))
    for seed in ([1], [1, -2], "ab", 1.5):
        with pytest.raises(ConfigError):
            env.reset(seed=seed)  # type: ignore[arg-type]
    env.reset()
    env.close()
    with pytest.raises(ClosedError):
        env.step(np.zeros((2, 1), int))


# -- Gymnasium's vector environment
# -----------------------------------------------------------------


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_make_vec_equals_gymnasiums_own_vectors(mode: AutoresetMode) -> None:
    config: dict[str, Any] = {"agents": 2, "width": 5, "height": 5, "max_steps": 9, "hazards": 3}
    ours: Any = gymnasium.make_vec(
        "piase_gym:piase/GridWorld-v1", num_envs=3, autoreset_mode=mode, **config
    )
    theirs = SyncVectorEnv(
        [lambda: gymnasium.make("piase/GridWorld-v1", **config)] * 3, autoreset_mode=mode
    )
    results = set()
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is mode
    first, infos = ours.reset(seed=3)
    np.testing.assert_array_equal(first, theirs.reset(seed=3)[0])
    assert infos["seed"].tolist() == [3, 4, 5]
    rng = np.random.default_rng(0)
    for _ in range(60):
        acts = rng.integers(0, 6, 3)
        got, expected = ours.step(acts), theirs.step(acts)
        for k in range(4):
            np.testing.assert_array_equal(got[k], expected[k])
        assert got[0] in ours.observation_space
        assert ("seed" in got[4]) == ("seed" in expected[4])
        if "seed" in expected[4]:  # of episodes that began by themselves
            begun = expected[4]["_seed"]
            np.testing.assert_array_equal(got[4]["_seed"], begun)
            np.testing.assert_array_equal(got[4]["seed"][begun], expected[4]["seed"][begun])
        if mode is AutoresetMode.NEXT_STEP:  # where an episode began, nobody acted
            nobody = np.zeros(3, np.bool_)
            np.testing.assert_array_equal(got[4]["_outcome"], expected[4].get("_outcome", nobody))
        told = expected[4].get("final_info", expected[4])
        assert ("result" in got[4]) == ("result" in told)
        if "result" in told:
            assert got[4]["result"].tolist() == told["result"].tolist()
            assert got[4]["_result"].tolist() == told["_result"].tolist()
            assert got[4]["won"].tolist() == [result == "won" for result in told["result"]]
            ends = zip(got[4]["result"], got[2], strict=True)
            results |= {end for end in ends if end[0] is not None}
        if mode is AutoresetMode.SAME_STEP and "final_obs" in expected[4]:
            for mine, other in zip(got[4]["final_obs"], expected[4]["final_obs"], strict=True):
                assert (mine is None) == (other is None)
                if mine is not None:
                    np.testing.assert_array_equal(mine, other)
    assert results == {("won", True), ("lost", True), ("lost", False)}
    ours.close()


def test_make_vec_resets_by_mask() -> None:
    env: Any = gymnasium.make_vec(
        "piase/GridWorld-v1", num_envs=3, autoreset_mode="disabled", max_steps=4
    )
    env.reset(seed=0)
    for _ in range(4):
        *_, truncated, _infos = env.step(np.full(3, 4))
    assert truncated.all()
    before = env.batch.seeds()
    env.reset(options={"reset_mask": np.array([True, False, False])})
    assert (env.batch.seeds() != before).tolist() == [True, False, False]
    assert env.action_masks().dtype == np.bool_


def test_text_goes_through_gymnasiums_synchronous_vectors() -> None:
    env = gymnasium.make_vec("piase/GridWorld-v1", num_envs=2, view="text")
    shown, _ = env.reset(seed=0)
    assert isinstance(env, SyncVectorEnv)
    assert shown[0].startswith("You are agent_0")


def test_make_vec_takes_what_make_takes_for_texts() -> None:
    fields: dict[str, Any] = {"view": "both", "actions": "text", "wording": "native"}
    fields |= {"texts": "lazy", "strict": True}
    many: Any = gymnasium.make_vec("piase/TextRoom-v3", num_envs=2, **fields)
    one: Any = gymnasium.make("piase/TextRoom-v3", disable_env_checker=True, **fields)
    shown, alone = many.reset(seed=[3, 4])[0], one.reset(seed=3)[0]
    assert type(many.envs[0].unwrapped.reset(seed=3)[0]) is type(alone)
    assert shown["text"][0] == alone["text"]
    many.step(["I would look.", "look"])
    info = one.step("I would look.")[-1]
    assert info["outcome"] == "unparsable"
    assert many.envs[0].unwrapped.runner.last_step.outcomes == ["unparsable"]
    with pytest.raises(ConfigError, match="GridWorld has no native wording"):
        gymnasium.make_vec("piase/GridWorld-v1", num_envs=2, wording="native")
    with pytest.raises(ConfigError, match="texts='lazy' is for view='both'"):
        gymnasium.make_vec("piase/GridWorld-v1", num_envs=2, texts="lazy")


def test_batch_is_public() -> None:
    assert piase_gym.batch_env is batch_env


def test_partners_that_do_nothing_are_asked_all_at_once() -> None:
    batch = piase_gym.batch_env("GridWorld", num_envs=3, agents=2, partners={"agent_1": "noop"})
    batch.reset(seed=5)
    singles = [
        piase_gym.parallel_env("GridWorld", agents=2, partners={"agent_1": "noop"})
        for _ in range(3)
    ]
    for slot, single in enumerate(singles):
        single.reset(seed=5 + slot)
    for action in (3, 1, 3, 0, 4, 2):
        batch.step(np.full((3, 1), action))
        for slot, single in enumerate(singles):
            single.step({"agent_0": action})
            assert batch.digest(slot) == single.digest()


@pytest.mark.parametrize(
    ("name", "fields"),
    [("GridWorld", {}), ("SocialDilemma", {}), ("SocialDilemma", {"game": "harvest", "agents": 4})],
)
def test_worlds_have_few_attributes(name: str, fields: dict[str, Any]) -> None:
    """CPython reads attributes of objects with 30 or more of them half again as slowly."""
    env = parallel_env(name, **fields)
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 0))
    assert len(vars(env.world)) < 30, sorted(vars(env.world))


class Counter(Agent):
    """Does another thing at each step of its episode; has no `act_batch`."""

    def reset(self, seed: int) -> None:
        self.count = seed % 3

    def act(self) -> int:
        self.count += 1
        return self.count % 5


def test_partners_that_are_asked_in_turn_begin_every_episode_anew() -> None:
    fields: dict[str, Any] = {"agents": 2, "max_steps": 7, "width": 5, "height": 5}
    with pytest.warns(UserWarning, match="Counter has no act_batch"):
        batch = batch_env("GridWorld", num_envs=3, partners={"agent_1": Counter()}, **fields)
    singles = [
        parallel_env("GridWorld", view="vector", partners={"agent_1": Counter()}, **fields)
        for _ in range(3)
    ]
    batch.reset(seed=0)
    for slot, env in enumerate(singles):
        env.reset(seed=slot)
    for _ in range(30):
        batch.step(np.full((3, 1), 4))
        for env in singles:
            if env.agents:
                env.step({"agent_0": 4})
            else:
                env.reset()
        assert batch.digests() == [env.digest() for env in singles]


WAITING: dict[str, tuple[str, dict[str, Any]]] = {
    "goal": ("GridWorld", {"map": "@G......\n........\n@......@", "max_steps": 12, "agents": 3,
                           "partners": {"agent_2": "noop"}}),
    "late": ("GridWorld", {"join_at": (0, 5, 0), "width": 4, "height": 4, "max_steps": 15,
                           "agents": 3, "partners": {"agent_2": "random"}}),
    "commons": ("SocialDilemma", {"game": "harvest", "rounds": 12, "agents": 3,
                                  "partners": {"agent_1": "random"}}),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
@pytest.mark.parametrize("name", WAITING)
def test_partners_play_on_when_the_callers_agents_have_ended(name: str, mode: str) -> None:
    world, fields = WAITING[name]
    batch = batch_env(world, num_envs=3, autoreset=mode, **fields)
    singles = [parallel_env(world, view="vector", **fields) for _ in range(3)]
    batch.reset(seed=5)
    for slot, env in enumerate(singles):
        env.reset(seed=5 + slot)
    rng, waited = np.random.default_rng(0), 0
    for _ in range(50):
        acts = rng.integers(0, 5, (3, len(batch.agents)))
        _, rewards, terminated, truncated, infos = batch.step(acts)
        for slot, env in enumerate(singles):
            if not any(env.world.alive):
                env.reset()
                assert batch.digest(slot) == env.digest()
                continue
            if env.agents:
                chosen = {n: int(acts[slot, batch.agents.index(n)]) for n in env.agents}
                told = env.step(chosen)
                for agent, reward in told[1].items():
                    k = batch.agents.index(agent)
                    assert rewards[slot, k] == reward
                    assert (terminated[slot, k], truncated[slot, k]) == (
                        told[2][agent],
                        told[3][agent],
                    )
                    result = RESULTS[infos["result"][slot, k]]
                    assert result == told[4][agent].get("result")
            else:  # only partners, and whoever is still to come
                waited += 1
                env.runner.end_step(env.runner.step([None] * len(env.world.agents)))
                env._update_agents()
                assert not rewards[slot].any()
                assert not infos["result"][slot].any()
            if mode == "same_step" and not any(env.world.alive):
                env.reset()
            assert batch.digest(slot) == env.digest()
    assert (waited > 0) == (name != "commons")


def test_slots_of_many_configs_are_shown_each_as_it_is() -> None:
    """More of them than worlds are kept for, looked at in two orders."""
    env = piase_gym.batch_env("GridWorld", num_envs=40, width=6, height=6)
    base = env.configs[0]
    for slot in range(40):
        size = {"width": 3 + slot % 4, "max_steps": 10 + slot}
        env.batch.states["next_config"][slot] = env.add_config(base.changed(size))
    env.reset(seed=3)
    for slot in [*range(40), *reversed(range(40))]:
        world, alone = env.single(slot), piase_gym.parallel_env(env.config_of(slot))
        alone.reset(seed=3 + slot)
        assert (world.config.width, world.config.max_steps) == (3 + slot % 4, 10 + slot)
        assert world.facts(0) == alone.unwrapped.world.facts(0)
        assert world.level() == alone.unwrapped.world.level()


@pytest.mark.parametrize("each", [1, 2])
def test_equal_configs_have_one_number(each: int) -> None:
    """Also when a batch has given out many, and each brings along what its script changes."""
    change = {"type": "change_setting", "setting": "hazard_ends", "value": False}
    events = [{"when": {"fact": "step", "at_least": 2}, "response": change}]
    scenario = {"events": events, "win_conditions": [{"fact": "step", "at_least": 9}]}
    env = piase_gym.batch_env("GridWorld", num_envs=2, scenario=scenario if each == 2 else None)
    assert len(env.configs) == each
    for limit in (10, 11, 12, 11, 10):
        env.reconfigure({"max_steps": limit}, which=[1])
        assert env.configs[env.batch.states["next_config"][1]].max_steps == limit
    assert len(env.configs) == 4 * each
    again = copy.deepcopy(env)
    for batch in (env, again, again):
        batch.modify({"max_steps": 13})
        batch.reconfigure({"max_steps": 12}, which=[1])
        batch.reset(seed=4)
        assert len(batch.configs) == len(batch.batch.tables) == 5 * each
        for slot, limit in enumerate((13, 12)):
            config = batch.config_of(slot)
            alone = piase_gym.parallel_env(config)
            alone.reset(seed=4 + slot)
            assert config.max_steps == limit
            assert batch.digest(slot) == alone.digest()
        number = batch.batch.states["config"][0]
        assert batch.batch.tables[number] == batch.world.new_table(batch.configs[number])[0]


def test_a_slot_for_which_no_level_can_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    env = piase_gym.batch_env("GridWorld", num_envs=3)
    env.reset(seed=0)
    inner = type(env.world).reset_batch

    def reset(world: Any, batch: Any, slots: Any, *what: Any) -> int:
        inner(world, batch, slots, *what)
        batch.states["fault"][1] = 1
        return 1

    monkeypatch.setattr(type(env.world), "reset_batch", reset)
    with pytest.raises(GenerationError, match=r"^slot 1: GridWorld: "):
        env.reset(seed=0)


BUMPS: dict[str, Any] = {
    "initial_state": {"agents": 2, "width": 3, "height": 3, "random_goals": 0, "max_steps": 9},
    "events": [
        {
            "name": "bump",
            "when": {"fact": "outcome", "equals": "failed"},
            "on": "holds",
            "times": "every",
            "response": [{"type": "add_metric", "metric": "bumps"}],
        }
    ],
}


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_metrics_of_scenarios_are_in_the_infos_at_the_end(mode: str) -> None:
    batch = batch_env("GridWorld", num_envs=3, scenario=BUMPS, autoreset=mode)
    singles = [parallel_env("GridWorld", scenario=BUMPS) for _ in range(3)]
    vector = gymnasium.make_vec(
        "piase_gym:piase/GridWorld-v1",
        num_envs=3,
        scenario=BUMPS,
        partners="noop",
        autoreset_mode=AutoresetMode[mode.upper()],
    )
    batch.reset(seed=0)
    vector.reset(seed=0)
    for slot, env in enumerate(singles):
        env.reset(seed=slot)
    rng = np.random.default_rng(1)
    for step in range(9):
        acts = rng.integers(0, 5, (3, 2))
        infos = batch.step(acts)[-1]
        told = vector.step(acts[:, 0])[-1]
        assert ("measures" in infos) == ("measures" in told) == (step == 8)
        alone = [
            env.step(dict(zip(env.agents, acts[slot].tolist(), strict=True)))[-1]
            for slot, env in enumerate(singles)
        ]
    bumps = infos["measures"]["bumps"]
    assert bumps.tolist() == [[row[a]["measures"]["bumps"] for a in batch.agents] for row in alone]
    assert len(set(bumps.ravel())) > 2
    assert told["measures"].keys() == {"bumps", "_bumps"}
    assert told["measures"]["bumps"].sum() > 0
    assert told["_measures"].all()
    assert told["measures"]["_bumps"].all()
    assert "measures" not in batch.step(np.zeros((3, 2), np.int64))[-1]


@pytest.mark.parametrize(
    ("world", "fields", "named"),
    [
        ("GridWorld", {"agents": 2, "speech": True}, " for speech=True"),
        ("GridWorld", {"agents": 3, "shared_memory": True}, " for shared_memory=True"),
        ("WordCraft", {"agents": 3, "recall": "map"}, " for recall='map'"),
        (
            "ObjectSearch",
            {"agents": 2, "speech": True, "recall": "map"},
            " for (recall='map' and speech=True|speech=True and recall='map')",
        ),
        ("TextRoom", {"shared_memory": True}, ""),
    ],
)
def test_what_has_no_batched_kernel_is_named(
    world: str, fields: dict[str, Any], named: str
) -> None:
    with pytest.raises(UnsupportedError, match=f"^{world} has no batched kernel{named}; use para"):
        batch_env(world, num_envs=2, **fields)
