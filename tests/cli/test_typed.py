"""How commands read what is typed, without a process of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym import registry
from piase_gym.cli import (
    bench,
    curriculum,
    explore,
    options,
    scenarios,
    train,
)
from piase_gym.cli.options import write_file
from piase_gym.errors import (
    AgentError,
    ConfigError,
    ScenarioError,
    UnknownNameError,
)
from tests import probes
from tests.cli.conftest import run

probes.register()


# -- what is typed ---------------------------------------------------------------------------------


def test_a_module_is_named_and_not_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", ".")])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words_of_mine.py").write_text("X = 1\n")
    assert options.import_modules(["words_of_mine"]) == ["words_of_mine"]
    assert sys.path[0] == ""
    assert sys.modules.pop("words_of_mine").X == 1
    assert options.import_modules(None) is None
    for name in ("words_of_mine.py", "a/b"):
        with pytest.raises(ConfigError, match=f"takes a module's name, .* not '{name}'"):
            options.import_modules([name])
    (tmp_path / "needs_more.py").write_text("import no_such_thing\n")
    with pytest.raises(ConfigError, match=r"cannot import needs_more: .* module 'no_such_thing'"):
        options.import_modules(["needs_more"])
    (tmp_path / "complains.py").write_text(
        "from piase_gym.errors import AgentError\nraise AgentError('so there')\n"
    )
    with pytest.raises(AgentError, match=r"^so there$"):
        options.import_modules(["complains"])


def test_a_key_is_no_name_of_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIASE_KEY_ENV", "ANOTHER")
    assert options.set_key_env(None) is None
    assert options.set_key_env("MY_KEY_2") == "MY_KEY_2"
    assert os.environ["PIASE_KEY_ENV"] == "MY_KEY_2"
    for word in ("sk-123", "my_key", "2KEY"):
        with pytest.raises(ConfigError) as caught:
            options.set_key_env(word)
        assert word not in str(caught.value)
    assert os.environ["PIASE_KEY_ENV"] == "MY_KEY_2"


def test_names_are_completed() -> None:
    found = options.complete_worlds("pointp")
    assert found == [("PointProbe", registry.world_spec("PointProbe").summary)]
    assert ("probe/Point-v0", "") in options.complete_worlds("PROBE/")
    assert options.complete_policies("agent_1=ora") == [("agent_1=oracle", "")]
    assert ("sb3:", "") in options.complete_policies("s")
    assert options.complete_from("piase_gym.scenarios:names")("lost_k") == [("lost_key", "")]
    assert options.complete_from("piase_gym.cli.bench:SMOKE")("o") == [("oracle", "")]


def test_settings_are_completed() -> None:
    context: Any = SimpleNamespace(params={"name": "GridWorld"}, args=[])
    keys = [key for key, _ in options.complete_settings(context, "b")]
    assert "border=" in keys
    assert all(key.startswith("b") for key in keys)
    values = [key for key, _ in options.complete_settings(context, "border=")]
    assert values == ["border=true", "border=false"]
    late: Any = SimpleNamespace(params={"names": None}, args=["GridWorld", "-c"])
    assert ("border=true" in dict(options.complete_settings(late, "border=t"))) is True
    unknown: Any = SimpleNamespace(params={"names": ("Nowhere",)}, args=[])
    assert options.complete_settings(unknown, "b") == []


def test_a_file_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_file(path, "é")
    assert path.read_text("utf-8") == "é"
    for force, more in ((None, ""), (False, ", or --force")):
        with pytest.raises(ConfigError) as caught:
            write_file(path, "b", force)
        assert str(caught.value) == f"{str(path)!r} is there already; give another name{more}"
    assert path.read_text("utf-8") == "é"
    write_file(path, "b", True)
    assert path.read_text("utf-8") == "b"
    with pytest.raises(ConfigError, match="is no file; give another name"):
        write_file(tmp_path, "b", True)
    with pytest.raises(ConfigError, match=r"cannot write .*: No such file or directory"):
        write_file(tmp_path / "none" / "a.txt", "b")


def test_agents_are_named_once() -> None:
    assert scenarios.read_agents(None) is None
    assert scenarios.read_agents(["oracle"]) == "oracle"
    assert scenarios.read_agents(["a=oracle", "b=noop"]) == {"a": "oracle", "b": "noop"}
    for words in (["a=oracle", "a=noop"], ["oracle", "noop"]):
        with pytest.raises(ConfigError, match="given twice for the same seat"):
            scenarios.read_agents(words)
    with pytest.raises(ConfigError, match="a policy for all, or one for each agent"):
        scenarios.read_agents(["oracle", "a=noop"])
    with pytest.raises(UnknownNameError):
        scenarios.read_agents(["a=orakle"])


def test_deciders_have_a_seat_and_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    url = "http://127.0.0.1:1/v1"
    assert explore.read_deciders(None, None, None) == {"*": "rules"}
    assert explore.read_deciders(["llm"], "m", url) == {"*": f"llm:m@{url}"}
    found = explore.read_deciders(["a=llm", "random"], "m", None)
    assert found == {"a": "llm:m", "*": "random"}
    for words, model, told in (
        (["rules", "*=random"], None, "given twice for the same"),
        (["llm"], None, "asks the language model that --model names"),
        (["rules"], "m", "--model and --base-url are for --decide llm"),
    ):
        with pytest.raises(ConfigError, match=told):
            explore.read_deciders(words, model, None)


def test_policies_are_in_modules_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plays_for_me.py").write_text("def first(percept):\n    return 0\n")
    (tmp_path / "plays_too.py").write_text("def first(percept):\n    return 0\n")
    monkeypatch.chdir(tmp_path)
    task = "piase/GridWorld-Empty-5x5-v1"
    for name, words in (
        ("plays_for_me", ["bench", "suite", task, "-n", "1", "--workers", "1", "-p"]),
        ("plays_too", ["collect", task, "--out", "out", "--steps", "4", "--num-envs", "2", "-p"]),
    ):
        monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", ".")])
        run(*words, f"{name}:first")
        del sys.modules[name]


def test_policies_of_a_benchmark_have_names() -> None:
    given = ["random", "a=oracle", "a=noop", "models/best.zip", "b=models/x.zip"]
    given += ["sb3:runs/lr=0.1/model.zip", "c=sb3:lr=0.1/x.zip"]
    assert bench.read_choices(given, ()) == {
        "random": ["random"],
        "a": ["oracle", "noop"],
        "best": ["models/best.zip"],
        "b": ["models/x.zip"],
        "model": ["sb3:runs/lr=0.1/model.zip"],
        "c": ["sb3:lr=0.1/x.zip"],
    }
    assert bench.read_choices(None, ("noop",)) == {"noop": ["noop"]}
    for wrong in ("=noop", "a="):
        with pytest.raises(ConfigError, match=f"not '{wrong}'"):
            bench.read_choices([wrong], ())


@pytest.mark.parametrize(
    ("text", "seeds"), [("0-4", [0, 1, 2, 3, 4]), ("7", [7]), ("1, 7,20-22", [1, 7, 20, 21, 22])]
)
def test_seeds_are_read(text: str, seeds: list[int]) -> None:
    assert train.read_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1,1", "names a seed twice"),
        ("0-2,2", "names a seed twice"),
        ("4-1", "names no seed"),
        ("a", "takes seeds such as"),
        ("1-", "takes seeds such as"),
        ("", "takes seeds such as"),
        ("1" * 5000, "takes seeds such as"),
        ("0-999999999999", "takes at most 10,000 seeds, not '0-999999999999'"),
        ("1,2-10001", "takes at most 10,000 seeds"),
    ],
)
def test_what_is_no_seed_is_refused(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        train.read_seeds(text)


def test_runs_have_a_folder() -> None:
    assert train.default_folder("x:piase/A-v0", {}) == Path("runs/train/piase-A-v0-ppo-0")
    given = {"algo": "dqn", "seed": 3}
    assert train.default_folder("A", given) == Path("runs/train/A-dqn-3")
    path = curriculum.default_folder("some/where.yaml", "fixed", None)
    assert path == Path("runs/curriculum/where-fixed-0")
    assert curriculum.default_folder("a", "b", 5) == Path("runs/curriculum/a-b-5")


def test_the_command_that_goes_on_with_a_run_imports_what_it_needs() -> None:
    told = curriculum.command_to_resume("door_key", Path("runs/a b"), ["mine", "yours"])
    assert told == ("piase curriculum run door_key --out 'runs/a b' --resume -m mine -m yours")
    told = curriculum.command_to_resume("door_key", Path("runs/a"), None)
    assert told == "piase curriculum run door_key --out runs/a --resume"


def test_a_director_is_a_name_or_a_file(tmp_path: Path) -> None:
    assert curriculum.read_director(None) is None
    assert curriculum.read_director("fixed") == "fixed"
    path = tmp_path / "mine.YAML"
    path.write_text("type: fixed\nseed: 3\n")
    assert curriculum.read_director(str(path)) == {"type": "fixed", "seed": 3}
    with pytest.raises(ScenarioError):
        curriculum.read_director(str(tmp_path / "none.yaml"))
    path.write_text("# nothing yet\n")
    with pytest.raises(ConfigError, match="there is no director in this file"):
        curriculum.read_director(str(path))


def test_seeds_are_trained_side_by_side_by_whom_was_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[Any] = []
    monkeypatch.setattr(train, "choose", lambda *words: ("backend", *words))
    monkeypatch.setattr(train, "train_side_by_side", lambda *words: done.append(words))
    words = "--seeds 3-4 --workers 2 --steps 100 --resume --out".split()
    code, _ = run("train", "piase/GridWorld-Empty-8x8-v1", *words, str(tmp_path))
    assert code == 0
    backend = ("backend", 2, None, None)
    given = {"steps": 100}
    ((task, fields, *rest),) = done
    assert task == "piase/GridWorld-Empty-8x8-v1"
    assert fields.items() >= given.items()
    assert "seed" not in fields
    assert rest == [[3, 4], tmp_path, True, backend]
