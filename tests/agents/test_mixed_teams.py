"""A person, a script, a trained policy and a language model in one team, in three worlds."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from piase_gym import Simulation, runs
from piase_gym.agents import HumanAgent, LLMAgent
from piase_gym.agents.llm.replies import REPLY_EVENT
from piase_gym.cli import app
from piase_gym.testing.model_server import ModelServer, first_command
from piase_gym.wrappers import AvtLogger
from tests.helpers.models import evidence
from tests.paths import ROOT

pytest.importorskip("openai")
torch = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")

from piase_gym.adapters import sb3_vec  # noqa: E402  # needs the extra

STEPS = 8
WORLDS: dict[str, tuple[dict[str, Any], str]] = {
    "GridWorld": ({"width": 9, "height": 9}, "w d s a w d s a"),
    "ObjectSearch": ({"objects": 8}, "w d d w a 1 w w"),
    "SocialDilemma": ({"game": "harvest"}, "w a s d w a s d"),
}
"""World -> its config, and the keys that the person presses."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A PPO for each world, after one update."""
    folder, found = tmp_path_factory.mktemp("ppo"), {}
    for world, (config, _) in WORLDS.items():
        vec = sb3_vec(world, num_envs=2, agents=4, max_steps=STEPS, **config)
        model = sb3.PPO(
            "MlpPolicy", vec, n_steps=8, batch_size=16, n_epochs=1, device="cpu", seed=0
        )
        found[world] = folder / f"{world}.zip"
        model.learn(16).save(found[world])
        vec.close()
    return found


@pytest.mark.parametrize("world", list(WORLDS))
def test_a_mixed_team_is_logged_and_replayed_offline(
    world: str, trained: dict[str, Path], tmp_path: Path
) -> None:
    """`piase play` takes the person's keys; the others are partners."""
    config, keys = WORLDS[world]
    log = tmp_path / "run.jsonl"
    with ModelServer(first_command) as server:
        partners = [
            "agent_1=scripted",
            f"agent_2=sb3:{trained[world]}",
            f"agent_3=llm:small@{server.base_url}",
        ]
        settings = {"agents": 4, "max_steps": STEPS, **config}
        words = ["play", world, "--log", str(log)]
        words += [w for name, value in settings.items() for w in ("-c", f"{name}={value}")]
        words += [w for partner in partners for w in ("--partners", partner)]
        done = CliRunner().invoke(app, words, input="\n".join([*keys.split(), "q"]))
        asked = len(server.requests)
    assert done.exit_code == 0, done.output
    report = runs.replay(log)  # the server is gone
    assert (report.verdict, report.steps) == ("sound", STEPS)
    found = runs.read(log)
    replies = [event for event in found if event["event_type"] == REPLY_EVENT]
    assert len(replies) == asked >= STEPS
    assert {event["agent_id"] for event in replies} == {"agent_3"}
    digests = {data["digest"] for _, _, data in evidence(log) if data.get("kind") == "step"}
    assert len(digests) > 1
    assert runs.validate(log).ok


def test_the_same_team_in_a_simulation_decides_anew_out_of_its_log(
    trained: dict[str, Path], tmp_path: Path
) -> None:
    config, _ = WORLDS["ObjectSearch"]
    lines = ["forward", "look_left", "", "fly", "forward and report", "backward"]

    def team(model: Any) -> dict[str, Any]:
        typed, told = iter(lines * 3), Counter[str]()

        def read(prompt: str) -> str:
            told[prompt] += 1
            return next(typed)

        class Nowhere:
            def write(self, text: str) -> None: ...

            def flush(self) -> None: ...

        return {
            "agent_0": HumanAgent(read=read, out=Nowhere()),  # type: ignore[arg-type]
            "agent_1": "scripted",
            "agent_2": f"sb3:{trained['ObjectSearch']}",
            "agent_3": model,
        }

    def play(model: Any, log: Path) -> list[Any]:
        wrap = (lambda env: AvtLogger(env, log, run_id="one"),)
        settings = {"agents": 4, "max_steps": STEPS, **config}
        Simulation("ObjectSearch", team(model), seed=3, wrap=wrap, **settings).run()
        assert runs.replay(log).verdict == "sound"
        return list(evidence(log))

    with ModelServer(first_command) as server:
        first = play(LLMAgent("small", server.base_url), tmp_path / "first.jsonl")
    model = LLMAgent.recorded(runs.read(tmp_path / "first.jsonl"), "agent_3")
    assert play(model, tmp_path / "second.jsonl") == first
    assert sum(data.get("kind") == "step" for _, _, data in first) == STEPS


def test_the_page_can_be_followed(
    trained: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "language_models.md").read_text("utf-8")
    (block,) = re.findall(r"## Mixed teams.*?```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    shutil.copy(trained["ObjectSearch"], "ppo.zip")
    with ModelServer(first_command) as server:
        exec(block.replace("http://127.0.0.1:8000/v1", server.base_url), {})
    assert len(server.requests) == STEPS
