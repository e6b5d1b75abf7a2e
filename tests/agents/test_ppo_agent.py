"""Policies of the fast learner play by name, alike in one environment and in many."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym.agents import BatchPercept, Percept, make_agent
from piase_gym.agents.policy_registry import names_file, why_untrusted
from piase_gym.benchmarks import evaluate
from piase_gym.errors import PolicyError, SnapshotError

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.agents.ppo import PpoAgent, load_checkpoint  # noqa: E402  # needs the extra
from piase_gym.training import ppo  # noqa: E402
from piase_gym.training.batch_run import load_policies  # noqa: E402
from piase_gym.training.train import TrainSettings, train  # noqa: E402

PAIR: dict[str, Any] = {"agents": 2, "layout": "door_key", "width": 6, "height": 6, "max_steps": 30}


def trained(folder: Path, task: str = "GridWorld", **changes: Any) -> Path:
    """A file with policies that have hardly learned, but have opinions that tell mistakes.

    They are the last ones: those that are kept may be the first, which have met no symbol.
    """
    small: dict[str, Any] = {"num_envs": 8, "num_steps": 16, "minibatch": 64, "width": 16}
    small |= {"steps": 8 * 16 * 6, "eval_episodes": 4}
    path = train(TrainSettings(task=task, algo="batch_ppo", **{**small, **changes}), folder).policy
    found = torch.load(path, weights_only=True)
    last = torch.load(folder / "checkpoint.pt", weights_only=True)["trainer"]["learners"]
    found["policies"] = [learner["policy"] for learner in last]
    for state in found["policies"]:
        noise = torch.Generator().manual_seed(0)
        state["actor.weight"].normal_(0.0, 1.5, generator=noise)
        if "query.weight" in state:
            state["query.weight"].normal_(0.0, 3.0, generator=noise)
    torch.save(found, path)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Policies with and without memory, for symbols, for quantities, and for things."""
    folder = tmp_path_factory.mktemp("runs")
    pair = {"config": PAIR, "roles": (1, 0)}
    return {
        "plain": trained(folder / "plain", config={**PAIR, "agents": 1}),
        "pair": trained(folder / "pair", **pair),
        "memory": trained(folder / "memory", memory=8, central=True, **pair),
        "payoffs": trained(folder / "payoffs", "piase/SocialDilemma-Chicken-v1", memory=8),
        "things": trained(folder / "things", "piase/WordCraft-Depth2-v2"),
        "gifts": trained(folder / "gifts", "piase/WordCraft-Trade-3p-v2", memory=8),
    }


@pytest.mark.parametrize("name", ["plain", "pair", "memory", "payoffs", "things", "gifts"])
def test_chances_are_those_of_the_learner_step_for_step(files: dict[str, Path], name: str) -> None:
    learned, checkpoint = load_policies(files[name]), load_checkpoint(files[name])
    settings = checkpoint.card["settings"]
    env = piase_gym.batch_env(settings["task"], num_envs=32, **settings["config"])
    shown, infos = env.reset(seed=5)
    rng, told = np.random.default_rng(0), 0.0
    memory = [one.blank(32) for one in learned]
    kept = [np.zeros((32, checkpoint.actor(seat).length)) for seat in env.agents]
    for step in range(6):
        for n, seat in enumerate(env.agents):
            hidden, memory[n] = learned[n].read(torch.as_tensor(shown[:, n].copy()), memory[n])
            chances = learned[n].judge(hidden, torch.ones(32, env.action_space.n))[0].probs
            scores, kept[n] = checkpoint.actor(seat).step(shown[:, n], kept[n])
            weights = np.exp(scores - scores.max(1, keepdims=True))
            own = weights / weights.sum(1, keepdims=True)
            np.testing.assert_allclose(own, chances.detach().numpy(), atol=1e-4)
            told = max(told, float(np.ptp(own[:, 0])))
        acts = [[rng.choice(np.flatnonzero(m)) for m in row] for row in infos["action_mask"]]
        shown, _, _, _, infos = env.step(np.array(acts))
        if step == 4:  # what no level of these has: codes and things without a row
            odd = rng.random(shown[..., 4:].shape) < 0.2
            least = 160 if shown.dtype == np.uint8 else 497
            shown[..., 4:][odd] = least + rng.integers(0, 4, odd.sum())
    assert told > 0.01 or name == "payoffs"


@pytest.mark.parametrize("name", ["pair", "memory"])
def test_a_partner_plays_alike_alone_and_in_a_batch(files: dict[str, Path], name: str) -> None:
    task = {"id": "piase_gym:piase/GridWorld-v1", "join_at": (0, 3), **PAIR}
    many = gymnasium.make_vec(num_envs=5, partners={"agent_1": f"ppo:{files[name]}"}, **task)
    many.reset(seed=10)
    single = gymnasium.make(partners={"agent_1": f"ppo:{files[name]}"}, **task).unwrapped
    digests: list[list[str]] = []
    for step in range(70):  # over the ends of episodes, so that memories begin anew
        digests.append(many.batch.digests())
        many.step(np.random.default_rng(step).integers(0, 5, 5))
    for number in range(5):
        single.reset(seed=10 + number)
        over = False
        for step in range(70):
            assert single.digest() == digests[step][number], (number, step)
            if over:
                single.reset()
                over = False
                continue
            _, _, terminated, truncated, _ = single.step(
                np.random.default_rng(step).integers(0, 5, 5)[number]
            )
            over = terminated or truncated


def test_memory_matters_is_forgotten_at_the_reset_and_is_a_value(files: dict[str, Path]) -> None:
    env = piase_gym.parallel_env("GridWorld", view="vector", **PAIR)

    def played(agent: Any, steps: range, seed: int | None = 3) -> list[int]:
        env.reset(seed=4)
        if seed is not None:
            agent.reset(seed)
        found = []
        for step in steps:
            agent.perceive(Percept(env.world, 1, step))
            found.append(agent.act())
        return found

    agent, greedy = (PpoAgent(files["memory"], **more) for more in ({}, {"greedy": True}))
    assert [pickle.loads(pickle.dumps(one)).greedy for one in (agent, greedy)] == [False, True]
    agent.set_id("agent_1")
    first = played(agent, range(30))
    kept, after = agent.get_state(), played(agent, range(30, 60), None)
    assert played(agent, range(30)) == first  # forgotten
    other = pickle.loads(pickle.dumps(agent))
    assert (other.get_id(), other.get_state()) == ("agent_1", agent.get_state())
    other.set_state(kept)
    assert played(other, range(30, 60), None) == after
    scores = {
        tuple(
            agent.checkpoint.actor("agent_1").step(
                env.world.vectors()[1][None], np.full((1, 8), value)
            )[0][0]
        )
        for value in (-0.9, 0.0, 0.9)
    }
    assert len(scores) == 3
    for wrong in ([0.0], [0] * 8, 8, "abcdefgh"):
        with pytest.raises(SnapshotError, match="'memory' is not a list of 8 numbers"):
            other.set_state({**kept, "memory": wrong})
    plain = make_agent(f"ppo:{files['pair']}")
    played(plain, range(2))
    assert plain.get_state() == {"seed": 3}


@pytest.mark.parametrize("prefix", ["ppo:", "population:random,ppo:"])
def test_a_batch_goes_on_from_its_snapshot_with_the_memories(
    files: dict[str, Path], prefix: str
) -> None:
    partners = {"agent_1": f"{prefix}{files['memory']}"}
    task: dict[str, Any] = {"num_envs": 128, "partners": partners, **PAIR}
    one, two = (piase_gym.batch_env("GridWorld", **task) for _ in range(2))

    def played(env: Any, steps: int) -> list[str]:
        rng = np.random.default_rng(steps)
        for _ in range(steps):
            env.step(rng.integers(0, 5, (128, 1)))
        found: list[str] = env.digests()
        return found

    one.reset(seed=0)
    two.reset(seed=1)
    played(one, 10)
    saved, twin = json.loads(json.dumps(one.snapshot())), pickle.loads(pickle.dumps(one))
    then = played(one, 16)
    two.restore(saved)
    assert played(twin, 16) == played(two, 16) == then
    one.restore(saved)
    assert played(one, 16) == then
    state = saved["partners"]["agent_1"][0]
    (state["states"][1] if "states" in state else state)["memories"][3][1] = [0.0]
    with pytest.raises(SnapshotError, match="'memory' is not a list of 8 numbers"):
        one.restore(saved)
    assert one.digests() == then
    del saved["partners"]  # as in older snapshots
    one.restore(saved)


def test_members_of_a_population_keep_their_own_memories(files: dict[str, Path]) -> None:
    agent = make_agent(f"ppo:{files['memory']}")
    agent.set_id("agent_1")
    env = piase_gym.batch_env("GridWorld", num_envs=6, **PAIR)
    shown, infos = env.reset(seed=0)
    seeds = np.array([53, 50, 55, 51, 54, 52], np.uint64)

    def ask(rows: list[int], step: int) -> Any:
        steps = np.full(len(rows), step)
        batch = BatchPercept(shown[rows, 1], infos["action_mask"][rows, 1], seeds[rows], steps)
        agent.act_batch(batch)
        return agent._memories

    ask([0, 1, 2, 3], 0)
    whole = ask([0, 1, 2, 3], 1)
    ask([0, 1, 2, 3], 0)
    np.testing.assert_allclose(ask([2, 0, 3, 1], 1), whole[[2, 0, 3, 1]], atol=1e-12)
    ask([0, 1, 2, 3], 0)
    np.testing.assert_allclose(ask([3, 1], 1), whole[[3, 1]], atol=1e-12)
    late = ask([4, 5], 1)  # whose beginning was not seen
    np.testing.assert_allclose(late, ask([4, 5], 0), atol=1e-12)
    np.testing.assert_allclose(ask([0, 1, 2, 3], 0), ask([0, 1, 2, 3], 0), atol=1e-12)


def test_episodes_with_equal_seeds_keep_their_own_memories(files: dict[str, Path]) -> None:
    agent = make_agent(f"ppo:{files['memory']}")
    agent.set_id("agent_1")
    length, rng = agent.observation_space.shape[0], np.random.default_rng(0)
    masks = np.ones((3, agent.action_space.n), np.int8)
    seen = rng.integers(0, 2, (4, 3, length), np.uint8) * agent.observation_space.high
    alone = np.zeros((1, 8))
    for step, now in enumerate(seen):
        steps = np.array([step, step, step % 3])  # the last slot goes on to another episode
        seeds = np.array([5, 5, 5 + step // 3], np.uint64)
        agent.act_batch(BatchPercept(now, masks, seeds, steps))
        alone = agent.checkpoint.actor("agent_1").step(now[1:2], alone)[1]
    np.testing.assert_allclose(agent._memories[1:2], alone, atol=1e-12)


def test_a_file_is_evaluated_as_the_learner_plays_it(files: dict[str, Path]) -> None:
    config = {**PAIR, "agents": 1}
    seeds = range(2_000_000, 2_000_300)
    won = ppo.play(load_policies(files["plain"]), "GridWorld", seeds, greedy=True, **config)
    from piase_gym.benchmarks.evaluation.suites import Row, Suite

    suite = Suite(name="one", rows=(Row(task="piase/GridWorld-v1", config=config),))
    found = evaluate({"mine": f"ppo-greedy:{files['plain']}"}, suite, episodes=300, references={})
    assert not found.problems
    success = [record.won for record in found.episodes]
    assert np.mean(success) == pytest.approx(float(won.mean()), abs=1e-9)
    named = evaluate(str(files["plain"]), suite, episodes=3, references={})
    assert named.policies == ("policy",)


@pytest.mark.parametrize("kind", ["ppo", "ppo-greedy"])
def test_what_is_forbidden_is_not_chosen(files: dict[str, Path], kind: str) -> None:
    agent, rng = make_agent(f"{kind}:{files['plain']}"), np.random.default_rng(0)
    masks = rng.integers(0, 2, (500, 6), np.int8)
    masks[~masks.any(axis=1), 4] = 1
    shown = rng.integers(0, agent.observation_space.high, (500, 65), np.uint8)
    seeds, steps = np.arange(500, dtype=np.uint64), np.zeros(500, np.int64)
    chosen = agent.act_batch(BatchPercept(shown, masks, seeds, steps))
    assert masks[seeds, chosen].all()


def test_only_who_names_a_file_agrees_to_load_it(files: dict[str, Path], tmp_path: Path) -> None:
    assert names_file("ppo:x.pt")
    assert names_file("population:random,ppo-greedy:x.pt")
    assert "load 'ppo:x.pt'" in str(why_untrusted("ppo:x.pt"))
    ran = tmp_path / "ran"

    class Bad:
        def __reduce__(self) -> Any:
            return Path.touch, (ran,)

    torch.save({"card": Bad(), "policies": []}, tmp_path / "bad.pt")
    with pytest.raises(PolicyError, match="holds no policies of batch_ppo"):
        make_agent(f"ppo:{tmp_path / 'bad.pt'}")
    assert not ran.exists()


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("format", "it has format 99; allowed here: 1"),
        ("nan", "it holds numbers that are not finite"),
        ("symbols", "its table of symbols is not that of its observations"),
        ("more symbols", "its table of symbols is not that of its observations"),
        ("actions", "its policies are not for 99 actions"),
        ("one of them", "its policies are not for 6 actions"),
        ("seats", "its seats name policies that are not in it"),
        ("nobody", "its seats name policies that are not in it"),
        ("numbers seen", "its spaces are not those of the fast learner"),
        ("box of actions", "its spaces are not those of the fast learner"),
        ("short", "'body.0.weight'"),
        ("large", "it holds more than "),
        ("text", "File is not a zip file"),
    ],
)
def test_strange_files_are_refused(
    files: dict[str, Path], tmp_path: Path, case: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, path = torch.load(files["pair"], weights_only=True), tmp_path / "policy.pt"
    card, state = found["card"], found["policies"][0]
    if case == "format":
        card["format"] = 99
    elif case == "nan":
        state["actor.bias"][0] = float("nan")
    elif case == "symbols":
        state["encoder.rows"] = state["encoder.rows"][:-1]
    elif case == "more symbols":
        state["encoder.rows"] = state["encoder.rows"].repeat(2)
    elif case == "actions":
        card["action_space"] = {"n": 99}
    elif case == "one of them":
        state |= {name: state[name][:-1] for name in ("actor.weight", "actor.bias")}
    elif case == "seats":
        card["seats"]["agent_1"] = 2
    elif case == "nobody":
        card["seats"], found["policies"] = {}, []
    elif case == "numbers seen":
        card["observation_space"] = {"n": 9}
    elif case == "box of actions":
        card["action_space"] = card["observation_space"]
    elif case == "short":
        del state["body.0.weight"]
    torch.save(found, path)
    if case == "text":
        path.write_text("nothing")
    if case == "large":
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        monkeypatch.setattr("piase_gym.agents.ppo.LARGEST", size - 1)
    with pytest.raises(PolicyError, match=rf"policy\.pt holds no policies of batch_ppo: {reason}"):
        make_agent(f"ppo:{path}")


def test_a_bit_that_flipped_in_a_weight_is_noticed(files: dict[str, Path], tmp_path: Path) -> None:
    content, path = bytearray(files["plain"].read_bytes()), tmp_path / "policy.pt"
    weight = torch.load(files["plain"], weights_only=True)["policies"][0]["actor.weight"]
    path.write_bytes(content)
    make_agent(f"ppo:{path}")
    content[content.index(weight.numpy().tobytes()) + 5] ^= 1
    path.write_bytes(content)  # as long as before, but read anew
    with pytest.raises(
        PolicyError, match=r"policy\.pt holds no .*: its part '.*/data/\d+' is dama"
    ):
        make_agent(f"ppo:{path}")


def test_what_it_was_not_trained_for_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    for missing in (PpoAgent, lambda path: make_agent(f"ppo:{path}")):
        with pytest.raises(PolicyError, match="there is no model"):
            missing(tmp_path / "none.pt")
    env = piase_gym.parallel_env(
        "GridWorld", partners={"agent_1": f"ppo:{files['payoffs']}"}, agents=2
    )
    env.reset(seed=0)
    with pytest.raises(PolicyError, match="was trained for observations"):
        env.step({"agent_0": 0})
    agent, only = make_agent(f"ppo:{files['pair']}"), make_agent(f"ppo:{files['plain']}")
    shown = np.zeros((1, *agent.observation_space.shape), np.uint8)
    masks = np.ones((1, agent.action_space.n), np.int8)
    rest = np.zeros(1, np.uint64), np.zeros(1, np.int64)
    for one in (agent, only):
        one.set_id("somebody")
    with pytest.raises(PolicyError, match="has policies for agent_1, agent_0, not somebody"):
        agent.act_batch(BatchPercept(shown, masks, *rest))
    only.act_batch(BatchPercept(shown, masks, *rest))
    for part in ((shown[:, 1:], masks), (shown, masks[:, 1:])):
        with pytest.raises(PolicyError, match="not for vectors of shape"):
            agent.act_batch(BatchPercept(*part, *rest))
    found = torch.load(files["pair"], weights_only=True)
    found["card"]["seats"]["agent_2"] = 0
    torch.save(found, tmp_path / "three.pt")
    three = load_checkpoint(tmp_path / "three.pt")
    assert three.actor("agent_2") is three.actor("agent_1") is not three.actor("agent_0")
