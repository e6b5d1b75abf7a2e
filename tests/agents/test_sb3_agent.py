"""Models of Stable-Baselines3 play by name, alike in one environment and in many."""

from __future__ import annotations

import base64
import copy
import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym.agents import BatchPercept, Percept, make_agent
from piase_gym.benchmarks import Row, evaluate
from piase_gym.benchmarks.evaluation.policies import fingerprint, read_policy
from piase_gym.errors import CurriculumError, PolicyError, SnapshotError, UnknownNameError
from tests import probes

torch = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

from stable_baselines3.common.utils import get_linear_fn  # noqa: E402

from piase_gym.adapters import CellFeatures, sb3_vec  # noqa: E402  # needs the extra
from piase_gym.agents.sb3 import Sb3Agent  # noqa: E402
from piase_gym.agents.sb3_archive import CARD  # noqa: E402
from piase_gym.agents.sb3_network import load_network  # noqa: E402
from piase_gym.agents.sb3_network import read_policy as read_model  # noqa: E402


def no_memory(count: int) -> np.ndarray:
    """The memory of networks that have none."""
    return np.zeros((count, 0))


DOORS: dict[str, Any] = {"layout": "door_key", "width": 6, "height": 6, "max_steps": 40}


def model_of(kind: Any, seed: int = 0, spread: float = 3.0, **config: Any) -> Any:
    """An untrained model whose opinions are strong enough to tell mistakes."""
    vec = sb3_vec("GridWorld", num_envs=2, **{**DOORS, **config})
    kwargs: dict[str, Any] = {"features_extractor_class": CellFeatures}
    if kind is contrib.ARS:  # which takes no extractor
        kwargs = {}
    policy = "MlpLstmPolicy" if kind is contrib.RecurrentPPO else "MlpPolicy"
    model = kind(policy, vec, policy_kwargs=kwargs, seed=seed, device="cpu")
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, values in model.policy.named_parameters():
            if "action_net" in name or "q_net" in name:
                values.normal_(0.0, spread)
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A masked and a plain model, and their files."""
    folder = tmp_path_factory.mktemp("models")
    plain = model_of(sb3.PPO, spread=0.3)
    models = {"masked": model_of(contrib.MaskablePPO), "plain": plain}
    for name, model in models.items():
        model.save(folder / f"{name}.zip")
    return {"models": models, "folder": folder}


def positions(count: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Observations and masks of a batch in mid-episode."""
    env = piase_gym.batch_env("GridWorld", num_envs=count, **DOORS)
    _, infos = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(12):
        acts = [[rng.choice(np.flatnonzero(m))] for m in infos["action_mask"][:, 0]]
        shown, _, _, _, infos = env.step(np.array(acts))
    return shown[:, 0], infos["action_mask"][:, 0]


def test_probabilities_are_those_of_stable_baselines(saved: dict[str, Any]) -> None:
    shown, masks = positions()
    for name, model in saved["models"].items():
        sb3_network = load_network(saved["folder"] / f"{name}.zip")
        more = {"action_masks": masks} if name == "masked" else {}
        with torch.no_grad():
            expected = model.policy.get_distribution(torch.as_tensor(shown), **more).distribution
        chances, _ = sb3_network.probabilities(shown, masks, no_memory(64))
        np.testing.assert_allclose(chances, expected.probs.numpy(), atol=1e-5)
        assert sb3_network.masked == (name == "masked")
    assert (masks == 0).any()


def test_greedy_is_predict_deterministic(saved: dict[str, Any]) -> None:
    shown, masks = positions()
    batch = BatchPercept(shown, masks, np.arange(64, dtype=np.uint64), np.zeros(64, np.int64))
    for name, model in saved["models"].items():
        agent = make_agent(f"sb3-greedy:{saved['folder'] / name}.zip")
        more = {"action_masks": masks} if name == "masked" else {}
        expected, _ = model.predict(shown, deterministic=True, **more)
        np.testing.assert_array_equal(agent.act_batch(batch), expected)


def test_draws_follow_the_probabilities(saved: dict[str, Any]) -> None:
    shown, masks = (rows[:1].repeat(20_000, axis=0) for rows in positions())
    seeds = np.random.default_rng(0).integers(0, 2**63, 20_000).astype(np.uint64)
    agent = make_agent(f"sb3:{saved['folder']}/masked.zip")
    acts = agent.act_batch(BatchPercept(shown, masks, seeds, np.full(20_000, 7)))
    network = load_network(saved["folder"] / "masked.zip")
    chances = network.probabilities(shown[:1], masks[:1], no_memory(1))[0][0]
    shares = np.bincount(acts, minlength=6) / 20_000
    np.testing.assert_allclose(shares, chances, atol=5 * 0.5 / 20_000**0.5)
    assert not shares[masks[0] == 0].any()


@pytest.mark.parametrize("kind", [contrib.MaskablePPO, contrib.RecurrentPPO])
def test_a_partner_plays_alike_alone_and_in_a_batch(saved: dict[str, Any], kind: Any) -> None:
    model = model_of(kind, agents=2)
    path = saved["folder"] / "pair.zip"
    model.save(path)
    task = {"id": "piase_gym:piase/GridWorld-v1", "agents": 2, **DOORS}
    partners = {"agent_1": f"sb3:{path}"}
    many = gymnasium.make_vec(num_envs=5, partners=partners, **task)
    many.reset(seed=10)
    singles = [gymnasium.make(partners=partners, **task).unwrapped for _ in range(5)]
    for number, env in enumerate(singles):
        env.reset(seed=10 + number)
    over = np.zeros(5, bool)
    for step in range(40):
        for number, env in enumerate(singles):
            if not over[number]:
                assert env.digest() == many.batch.digests()[number], step
        acts = np.random.default_rng(step).integers(0, 5, 5)
        many.step(acts)
        for number, env in enumerate(singles):
            if not over[number]:
                _, _, terminated, truncated, _ = env.step(acts[number])
                over[number] = terminated or truncated


def test_the_episode_seed_fixes_what_it_plays(saved: dict[str, Any]) -> None:
    def played(seed: int) -> list[int]:
        env = piase_gym.parallel_env("GridWorld", view="vector", **DOORS)
        env.reset(seed=4)
        agent = make_agent(f"sb3:{saved['folder']}/plain.zip")
        agent.reset(seed)
        acts = []
        for step in range(20):
            agent.perceive(Percept(env.world, 0, step))
            acts.append(agent.act())
            env.step({"agent_0": acts[-1]})
        return acts

    assert played(1) == played(1)
    assert played(1) != played(2)


def test_the_memory_of_a_recurrent_model_is_a_part_of_its_state(tmp_path: Path) -> None:
    model_of(contrib.RecurrentPPO).save(tmp_path / "lstm.zip")
    env = piase_gym.parallel_env("GridWorld", view="vector", **DOORS)
    env.reset(seed=4)
    agent, other, copied = (make_agent(f"sb3:{tmp_path}/lstm.zip") for _ in range(3))
    agent.reset(3)
    memories = []
    for step in range(6):
        players = [agent] if step < 3 else [agent, other, copied]
        for player in players:
            player.perceive(Percept(env.world, 0, step))
        acts = {player.act() for player in players}
        memories.append(agent.get_state()["memory"])
        assert all(player.get_state()["memory"] == memories[-1] for player in players)
        (act,) = acts
        env.step({"agent_0": act})
        if step == 2:
            other.set_state(json.loads(json.dumps(agent.get_state())))
            copied = copy.deepcopy(agent)
    assert len({str(memory) for memory in memories}) == 6
    agent.reset(3)
    assert "memory" not in agent.get_state()
    with pytest.raises(SnapshotError, match="'memory' is not a list of 512 numbers"):
        agent.set_state({"seed": 3, "memory": [0.0]})


def test_models_that_estimate_values_play_their_best_action(tmp_path: Path) -> None:
    shown, masks = positions()
    batch = BatchPercept(shown, masks, np.arange(64, dtype=np.uint64), np.zeros(64, np.int64))
    for kind in (sb3.DQN, contrib.QRDQN, sb3.A2C):
        env = gymnasium.make("piase_gym:piase/GridWorld-v1", **DOORS)
        model = kind("MlpPolicy", env, seed=0, device="cpu")
        with torch.no_grad():  # else the network of a DQN is the same as that of its targets
            for values in model.policy.parameters():
                values.normal_(0.0, 0.3)
        model.save(tmp_path / "model.zip")
        expected, _ = model.predict(shown, deterministic=True)
        agent = make_agent(f"sb3-greedy:{tmp_path}/model.zip")
        np.testing.assert_array_equal(agent.act_batch(batch), expected)


def test_continuous_actions(tmp_path: Path) -> None:
    probes.register()
    single = piase_gym.gym_env("PointProbe", view="vector", actions="continuous")
    model = sb3.PPO("MlpPolicy", single, n_steps=8, batch_size=8, seed=0, device="cpu")
    model.save(tmp_path / "point.zip")
    env = piase_gym.parallel_env("PointProbe", view="vector", actions="continuous")
    shown, _ = env.reset(seed=0)
    percept = Percept(env.world, 0, 0)
    greedy, drawn = (make_agent(f"{k}:{tmp_path}/point.zip") for k in ("sb3-greedy", "sb3"))
    greedy.perceive(percept)
    expected, _ = model.predict(shown[env.agents[0]], deterministic=True)
    np.testing.assert_allclose(greedy.act(), expected, atol=1e-5)
    drawn.reset(5)
    drawn.perceive(percept)
    assert env.world.action_box.contains(drawn.act())
    assert (drawn.act() != expected).any()


GSDE = {"use_sde": True, "policy_kwargs": {"log_std_init": -0.5}}
POINTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "PPO": (sb3.PPO, {}),
    "A2C-gSDE": (sb3.A2C, GSDE),
    "A2C-gSDE-shared": (sb3.A2C, {"use_sde": True, "policy_kwargs": {"full_std": False}}),
    "A2C-squashed": (sb3.A2C, {"use_sde": True, "policy_kwargs": {"squash_output": True}}),
    "RecurrentPPO": (contrib.RecurrentPPO, {"policy_kwargs": {"n_lstm_layers": 2}}),
    "RecurrentPPO-gSDE": (contrib.RecurrentPPO, GSDE),
    "TRPO": (contrib.TRPO, {}),
    "SAC": (sb3.SAC, {}),
    "SAC-gSDE": (sb3.SAC, {"use_sde": True}),
    "TQC": (contrib.TQC, {}),
    "CrossQ": (contrib.CrossQ, {}),
    "TD3": (sb3.TD3, {}),
    "DDPG": (sb3.DDPG, {}),
    "ARS": (contrib.ARS, {}),
    "ARS-clipped": (contrib.ARS, {"policy_kwargs": {"squash_output": False}}),
}
FIXED = ("TD3", "DDPG", "ARS", "ARS-clipped")
"""Those that give one action and no distribution."""


@pytest.mark.parametrize("name", POINTS)
def test_points_are_those_of_stable_baselines(name: str, tmp_path: Path) -> None:
    probes.register()
    env = piase_gym.gym_env("PointProbe", view="vector", actions="continuous")
    kind, given = POINTS[name]
    policy = "MlpLstmPolicy" if kind is contrib.RecurrentPPO else "MlpPolicy"
    model = kind(policy, env, seed=0, device="cpu", **given)
    torch.manual_seed(1)
    with torch.no_grad():
        for part, values in model.policy.named_parameters():
            if part.rpartition(".")[0].endswith(("mu", "action_net", ".4")):  # the last layer
                values.normal_(0.0, 0.3)
    model.save(tmp_path / "point.zip")
    greedy, drawn = (
        Sb3Agent(tmp_path / "point.zip", greedy=k, trusted=False) for k in (True, False)
    )
    seen, _ = env.reset(seed=0)
    empty = np.zeros((1, drawn.network.memory_length))
    (mean,), (spread,), _ = drawn.network.gaussian(seen[None], empty)
    assert (spread == 0.0).all() == (name in FIXED)
    theirs, mine = np.zeros((2, 600, *env.action_space.shape))
    for draw in range(600):
        if given.get("use_sde"):
            (model.policy.actor if kind is sb3.SAC else model.policy).reset_noise()
        theirs[draw], mine[draw] = model.predict(seen)[0], drawn._point(mean, spread, draw)
    np.testing.assert_allclose(mine.mean(0), theirs.mean(0), atol=0.15)
    np.testing.assert_allclose(mine.std(0), theirs.std(0), atol=0.12)
    state, begins = None, np.ones(1, bool)
    for step in range(4):
        expected, state = model.predict(seen, state, begins, deterministic=True)
        begins = np.zeros(1, bool)
        for agent in (greedy, drawn):
            agent.perceive(Percept(env.world, 0, step))
        np.testing.assert_allclose(greedy.act(), expected, atol=1e-5)
        assert env.action_space.contains(drawn.act())
        seen, *_ = env.step(expected)
    with torch.no_grad():
        for values in drawn.network._policy.parameters():
            values.fill_(1e308)
    with pytest.raises(PolicyError, match="numbers that are not finite; it has diverged"):
        drawn.act()


@pytest.mark.parametrize("kind", [sb3.PPO, contrib.MaskablePPO])
def test_actor_and_critic_may_have_features_of_their_own(kind: Any, tmp_path: Path) -> None:
    shown, masks = positions()
    env = sb3_vec("GridWorld", num_envs=2, **DOORS)
    kwargs = {"share_features_extractor": False, "features_extractor_class": CellFeatures}
    model = kind("MlpPolicy", env, policy_kwargs=kwargs, seed=0, device="cpu")
    model.save(tmp_path / "model.zip")
    with torch.no_grad():
        expected = model.policy.get_distribution(torch.as_tensor(shown)).distribution.probs
    network = load_network(tmp_path / "model.zip")
    chances, _ = network.probabilities(shown, np.ones_like(masks), no_memory(64))
    np.testing.assert_allclose(chances, expected.numpy(), atol=1e-5)


def test_models_for_other_spaces_are_refused(saved: dict[str, Any]) -> None:
    for change in ({"window": 5}, {"observe": "grid"}):
        env = piase_gym.parallel_env("GridWorld", **{**DOORS, **change})
        env.reset(seed=0)
        agent = make_agent(f"sb3:{saved['folder']}/plain.zip")
        agent.perceive(Percept(env.world, 0, 0))
        with pytest.raises(PolicyError, match=r"plain\.zip was trained for observations Box"):
            agent.act()
    shown, masks = positions(1)
    shown[0, 0] = 255
    with pytest.raises(PolicyError, match="not for larger observations"):
        agent.act_batch(BatchPercept(shown, masks, np.zeros(1, np.uint64), np.zeros(1, np.int64)))
    batch = piase_gym.batch_env(
        "GridWorld",
        num_envs=2,
        window=5,
        agents=2,
        partners={"agent_1": f"sb3:{saved['folder']}/plain.zip"},
    )
    batch.reset(seed=0)
    with pytest.raises(PolicyError, match="not for vectors of shape"):
        batch.step(np.zeros((2, 1), int))


def test_a_model_that_has_diverged_is_refused(tmp_path: Path) -> None:
    model = model_of(sb3.PPO)
    with torch.no_grad():
        model.policy.action_net.bias[2] = float("nan")
    model.save(tmp_path / "nan.zip")
    with pytest.raises(PolicyError, match=r"nan\.zip has diverged: action_net\.bias"):
        make_agent(f"sb3:{tmp_path}/nan.zip")


@pytest.mark.parametrize("kind", [sb3.PPO, contrib.RecurrentPPO])
def test_numbers_that_overflow_at_play_are_reported(kind: Any) -> None:
    shown, masks = positions()
    agent = Sb3Agent(model_of(kind))
    with torch.no_grad():
        for values in agent.network._policy.parameters():
            values.fill_(1e308)
    seeds, steps = np.zeros(64, np.uint64), np.zeros(64, np.int64)
    with pytest.raises(PolicyError, match="not finite"):
        agent.act_batch(BatchPercept(shown, masks, seeds, steps))


def test_files_that_hold_no_model_are_refused(saved: dict[str, Any], tmp_path: Path) -> None:
    for missing in (Sb3Agent, lambda path: make_agent(f"sb3:{path}")):
        with pytest.raises(PolicyError, match="there is no model"):
            missing("nowhere.zip")
    whole = (saved["folder"] / "plain.zip").read_bytes()
    for name, content in {"text": b"hello", "half": whole[: len(whole) // 2], "empty": b""}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PolicyError, match=f"{name} holds no model that can be loaded"):
            make_agent(f"sb3:{tmp_path / name}")
    with pytest.raises(UnknownNameError, match=r"'sb3:\.\.\.'"):
        make_agent("sb4:model.zip")


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def edited(source: Path, target: Path, change: Any) -> Path:
    """Write a model's archive again, with other data or other members."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    data = json.loads(members["data"])
    change(data, members)
    members.setdefault("data", b"")
    if members["data"]:
        members["data"] = json.dumps(data).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target


def pickled(value: Any) -> dict[str, str]:
    """Return an entry of a model's data that holds a pickle."""
    return {":type:": "?", ":serialized:": base64.b64encode(pickle.dumps(value)).decode()}


@pytest.mark.parametrize("entry", ["policy_class", "policy_kwargs", "observation_space"])
@pytest.mark.parametrize("prefix", ["sb3:", "sb3-greedy:", "population:random,sb3:"])
def test_what_nobody_vouches_for_is_not_unpickled(
    saved: dict[str, Any], tmp_path: Path, entry: str, prefix: str
) -> None:
    sprung = tmp_path / "sprung"
    path = edited(
        saved["folder"] / "plain.zip",
        tmp_path / "trap.zip",
        lambda data, _: data.update({entry: pickled(Trap(sprung))}),
    )
    with pytest.raises(
        PolicyError, match=r"needs pathlib\.(_local\.)?Path\.touch, which only unpickling"
    ):
        make_agent(f"{prefix}{path}", trusted=False)
    assert not sprung.exists()
    with pytest.raises(PolicyError):  # who types the path has it unpickled, trap and all
        make_agent(f"{prefix}{path}")
    assert sprung.exists()


def test_what_playing_does_not_need_is_never_unpickled(
    saved: dict[str, Any], tmp_path: Path
) -> None:
    sprung = tmp_path / "sprung"
    path = edited(
        saved["folder"] / "plain.zip",
        tmp_path / "trap.zip",
        lambda data, _: data.update(lr_schedule=pickled(Trap(sprung))),
    )
    make_agent(f"sb3:{path}")
    assert not sprung.exists()


class OwnFeatures(CellFeatures):
    """First layers that only this file knows."""


def test_classes_of_ones_own_need_trust(tmp_path: Path) -> None:
    vec = sb3_vec("GridWorld", num_envs=2, **DOORS)
    kwargs = {"features_extractor_class": OwnFeatures}
    model = sb3.PPO("MlpPolicy", vec, policy_kwargs=kwargs, seed=0, device="cpu")
    path = tmp_path / "own.zip"
    model.save(path)
    with pytest.raises(PolicyError, match="OwnFeatures, which only unpickling makes"):
        make_agent(f"sb3:{path}", trusted=False)
    shown, masks = positions()
    expected, _ = model.predict(shown, deterministic=True)
    batch = BatchPercept(shown, masks, np.arange(64, dtype=np.uint64), np.zeros(64, np.int64))
    for source in (path, model):
        agent = Sb3Agent(source, greedy=True)
        np.testing.assert_array_equal(agent.act_batch(batch), expected)
    assert {values.dtype for values in model.policy.parameters()} == {torch.float32}


def test_functions_need_trust(saved: dict[str, Any], tmp_path: Path) -> None:
    path = edited(
        saved["folder"] / "plain.zip",
        tmp_path / "function.zip",
        lambda data, _: data.update(policy_class=pickled(get_linear_fn)),
    )
    with pytest.raises(PolicyError, match="get_linear_fn, which only unpickling makes"):
        make_agent(f"sb3:{path}", trusted=False)


def test_curricula_vouch_for_nothing(saved: dict[str, Any], tmp_path: Path) -> None:
    from piase_gym import curricula

    sprung = tmp_path / "sprung"
    path = edited(
        saved["folder"] / "plain.zip",
        tmp_path / "trap.zip",
        lambda data, _: data.update(policy_class=pickled(Trap(sprung))),
    )
    given = curricula.load("give_and_take").model_dump(mode="json", exclude_none=True)
    for agent in given["partners"]:
        given["partners"][agent] = f"sb3:{path}"
    with pytest.raises(CurriculumError, match="a curriculum cannot make us load"):
        curricula.load(given)
    assert not sprung.exists()


def test_shipped_models_are_not_unpickled(monkeypatch: pytest.MonkeyPatch) -> None:
    from piase_gym.agents import sb3_network
    from piase_gym.benchmarks.references.models import shipped_models

    monkeypatch.delattr(sb3_network, "load_from_zip_file")
    paths = sorted(shipped_models()["ppo"].folder.glob("*.zip"))
    assert len(paths) > 20
    for path in paths:
        load_network(path)


def bomb(data: Any, members: dict[str, bytes]) -> None:
    """Let a description unfold into 64 MB."""
    data["padding"] = " " * 2**26


def wide(**kwargs: Any) -> Any:
    """Ask for layers far larger than the weights."""
    return lambda data, members: data.update(policy_kwargs=kwargs)


def lacking(data: Any, members: dict[str, bytes]) -> None:
    """Leave out a weight."""
    weights, content = torch.load(io.BytesIO(members["policy.pth"])), io.BytesIO()
    torch.save({k: v for k, v in weights.items() if k != "action_net.bias"}, content)
    members["policy.pth"] = content.getvalue()


def memory(data: Any, members: dict[str, bytes]) -> None:
    """Let a pickle ask for a place far out in its memory."""
    content = b"\x80\x04N" + b"r\xff\xff\xff\x7f" + b"."
    data["policy_class"] = {":serialized:": base64.b64encode(content).decode()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (bomb, "its data would have .* bytes; allowed are"),
        (wide(net_arch=[60_000, 60_000]), "layers are larger than its .* weights"),
        (wide(net_arch=[10**9]), "layers are larger than its .* weights"),
        (wide(net_arch={"pi": [60_000, 60_000]}), "layers are larger than its .* weights"),
        (wide(features_extractor_kwargs={"features_dim": 10**9}), "layers are larger than its"),
        (
            lambda data, _: data.update(action_space=pickled(gymnasium.spaces.Discrete(10**9))),
            "layers are larger than its .* weights",
        ),
        (lacking, "Error.* loading state_dict"),
        (lambda data, members: members.update({CARD: b'{"format": 2}'}), "it has format 2"),
        (lambda data, members: members.update({CARD: b"[]"}), "its piase.json is not an object"),
        (memory, "a part of its data is damaged"),
        (lambda data, members: members.update(data=b""), "Expecting value"),
        (lambda data, members: members.pop("policy.pth"), r"policy\.pth"),
    ],
)
def test_archives_that_would_unfold_are_refused(
    change: Any, message: str, saved: dict[str, Any], tmp_path: Path
) -> None:
    path = edited(saved["folder"] / "plain.zip", tmp_path / "odd.zip", change)
    with pytest.raises(PolicyError, match=rf"odd\.zip holds no model.*: .*{message}"):
        make_agent(f"sb3:{path}")


def test_weights_that_would_unfold_are_refused(
    saved: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def pack(data: Any, members: dict[str, bytes]) -> None:
        content = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(members["policy.pth"])) as inner,
            zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed,
        ):
            for part in inner.infolist():
                packed.writestr(part.filename, inner.read(part))
            sizes[:] = [len(members["policy.pth"]), sum(part.file_size for part in inner.filelist)]
        members["policy.pth"] = content.getvalue()

    path = saved["folder"] / "plain.zip"
    small = edited(path, tmp_path / "small.zip", pack)
    for file, size in zip((path, small), sizes, strict=True):
        monkeypatch.setattr("piase_gym.agents.sb3_archive.LARGEST", size - 1)
        with pytest.raises(PolicyError, match=rf"its policy\.pth would have {size:,} bytes"):
            read_model(file, trusted=False)
    monkeypatch.setattr("piase_gym.agents.sb3_archive.LARGEST", sizes[0])
    read_model(path, trusted=False)


def test_what_is_no_file_is_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2**40)
    for path, message in {
        "/dev/zero": "a device",
        str(tmp_path): "a folder",
        str(tmp_path / "pipe"): "a pipe",
        str(tmp_path / "huge"): "1,099,511,627,776 bytes; allowed are",
        "a\0b": "there is no model",
        "x" * 5000: "there is no model",
    }.items():
        for prefix in ("sb3:", "population:random,sb3-greedy:"):
            with pytest.raises(PolicyError, match=message):
                make_agent(f"{prefix}{path}")


def test_a_file_written_anew_is_read_anew(tmp_path: Path) -> None:
    shown, masks = positions()
    path = tmp_path / "model.zip"
    found = []
    for seed in (0, 1):
        model_of(sb3.PPO, seed=seed).save(path)
        found.append(load_network(path).probabilities(shown, masks, no_memory(64))[0])
    assert np.abs(found[0] - found[1]).max() > 0.1
    assert load_network(path) is load_network(path)


def test_the_protocol_takes_models_by_name(saved: dict[str, Any]) -> None:
    task, path = "piase/GridWorld-Empty-5x5-v1", saved["folder"] / "masked.zip"
    drawn, greedy = (evaluate(f"{kind}:{path}", task, episodes=3) for kind in ("sb3", "sb3-greedy"))
    assert not drawn.problems
    assert not greedy.problems
    with pytest.raises(PolicyError, match="there is no model"):
        evaluate("sb3:nowhere.zip", task, episodes=3)


@pytest.mark.parametrize(
    "kind",
    [sb3.PPO, contrib.MaskablePPO, contrib.RecurrentPPO, sb3.DQN, contrib.QRDQN, contrib.ARS],
    ids=lambda kind: kind.__name__,
)
def test_a_model_plays_what_its_file_plays(kind: Any, tmp_path: Path) -> None:
    model, path = model_of(kind, spread=0.5), tmp_path / "model.zip"
    model.save(path)

    def played(policy: Any) -> list[str]:
        row = Row(task="piase/GridWorld-v1", config=DOORS)
        results = evaluate({"mine": policy}, row, episodes=4, references={})
        assert not results.rows[0].faults
        return [record.digest for record in results.episodes]

    assert played(model) == played(model) == played(path)
    assert read_policy(model).batched
    assert played(Sb3Agent(model, greedy=True)) == played(f"sb3-greedy:{path}")
    best = kind in (sb3.DQN, contrib.QRDQN, contrib.ARS)
    assert (played(model) == played(f"sb3-greedy:{path}")) == best


def test_models_with_a_predict_of_their_own_are_drawn_from_too() -> None:
    vec = sb3_vec("GridWorld", num_envs=2, **DOORS)

    class Sometimes(sb3.PPO):  # type: ignore[misc, name-defined]
        asked: list[bool] = []

        def predict(self, *args: Any, deterministic: bool = False, **more: Any) -> Any:
            self.asked.append(deterministic)
            return super().predict(*args, deterministic=deterministic, **more)

    class Remembers(contrib.RecurrentPPO):  # type: ignore[misc, name-defined]
        def predict(self, observation: Any, state: Any = None, **more: Any) -> Any:
            return super().predict(observation, state, **more)

    row = Row(task="piase/GridWorld-v1", config=DOORS)
    for kind, policy in ((Remembers, "MlpLstmPolicy"), (Sometimes, "MlpPolicy")):
        model = kind(policy, vec, seed=0, device="cpu")
        found = []
        for count in (4, 4, 1):
            torch.manual_seed(count)
            results = evaluate({"mine": model}, row, episodes=count, references={})
            assert not results.rows[0].faults
            found.append([record.digest for record in results.episodes])
        assert found[0] == found[1] == found[0][:1] + found[1][1:]
        assert found[2] == found[0][:1]
        assert len({*found[0]}) > 1
        assert not read_policy(model).batched
    assert Sometimes.asked
    assert not any(Sometimes.asked)


def test_a_model_that_has_diverged_is_a_fault_as_its_file_is() -> None:
    model = model_of(sb3.PPO)
    with torch.no_grad():
        next(model.policy.parameters())[0] = float("nan")
    results = evaluate({"a": model, "b": "noop"}, "piase/GridWorld-v1", episodes=2, references={})
    first, second = results.rows
    (fault,) = first.faults
    assert "has diverged" in fault
    assert not second.faults


def test_fingerprints_of_models_are_of_what_they_play_by() -> None:
    model = model_of(sb3.PPO)
    marks = [fingerprint(model)]
    model.predict(model.observation_space.sample())
    model.num_timesteps += 1
    marks.append(fingerprint(model))
    assert marks[0].startswith("hash:")
    assert marks[0] == marks[1] == fingerprint(model_of(sb3.PPO))
    kwargs, model.policy_kwargs = model.policy_kwargs, {"activation_fn": torch.nn.ReLU}
    assert fingerprint(model) != marks[0]
    model.policy_kwargs = kwargs
    with torch.no_grad():
        model.policy.action_net.bias[0] += 1.0
    assert fingerprint(model) != marks[0]

    class Warm(sb3.PPO):  # type: ignore[misc, name-defined]
        def predict(self, *args: Any, **more: Any) -> Any:
            return super().predict(*args, **more)

    warm = model_of(Warm)
    marks = [fingerprint(warm)]
    warm.temperature = 2.0
    marks.append(fingerprint(warm))
    assert marks[0].startswith("hash:")
    assert marks[0] != marks[1]


def test_points_of_a_box_are_drawn_from_the_models_normal() -> None:
    normal = np.full(4, 0.5), np.full(4, 2.0)  # the networks' outputs are flat
    box = gymnasium.spaces.Box(-50.0, 50.0, (2, 2), np.float32)
    network = SimpleNamespace(squashed=False)
    agent: Any = SimpleNamespace(network=network, action_space=box, greedy=False)
    points = np.stack([Sb3Agent._point(agent, *normal, draw) for draw in range(4000)])
    found = points.reshape(-1)
    assert found.mean() == pytest.approx(0.5, abs=0.1)
    assert found.std() == pytest.approx(2.0, abs=0.1)
    assert np.mean(np.abs(found - 0.5) < 2.0) == pytest.approx(0.6827, abs=0.03)
    assert abs(np.corrcoef(points[:, 0, 0], points[:, 0, 1])[0, 1]) < 0.06
    network.squashed, agent.greedy = True, True
    agent.action_space = gymnasium.spaces.Box(-10.0, 50.0, (2, 2), np.float32)
    place = np.full((2, 2), -10.0 + 30.0 * (np.tanh(0.5) + 1.0))
    np.testing.assert_allclose(Sb3Agent._point(agent, *normal, 0), place, rtol=1e-6)
