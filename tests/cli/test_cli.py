"""The command line, run as processes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym import registry, runs
from piase_gym.cli.app import _as_option
from piase_gym.cli.info import show
from piase_gym.cli.worlds import grouped
from piase_gym.core.config import WHOLE
from piase_gym.errors import ConfigError
from piase_gym.play.describing import describe
from piase_gym.play.settings import read_settings
from piase_gym.registry import load, make_config, task_spec, world_spec
from tests import probes
from tests.helpers.cli_runner import COMMAND, ROOT, environment, piase
from tests.helpers.scripts import module_at

DOOR_KEY = "piase/GridWorld-DoorKey-8x8-v1"
probes.register()


@pytest.fixture
def probe_folder(tmp_path: Path) -> Path:
    """A folder with a module that registers the probes, as a third party's would."""
    code = "from tests.probes import register\n\nregister()\n"
    (tmp_path / "my_worlds.py").write_text(code, encoding="utf-8")
    return tmp_path


def test_version() -> None:
    done = piase("--version")
    assert (done.returncode, done.stdout) == (0, f"piase_gym {piase_gym.__version__}\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_worlds_fit_the_screen(columns: int) -> None:
    done = piase("worlds", columns=columns)
    assert done.returncode == 0
    assert "GridWorld  " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= columns


def test_grouped_ids_are_what_a_shell_reads() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    ids = piase_gym.list_tasks()
    line = " ".join(grouped(ids))
    done = subprocess.run([bash, "-c", f"echo {line}"], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == sorted(ids)
    assert len(grouped(ids)) < len(ids)


def test_bare_ids_are_for_scripts() -> None:
    done = piase("worlds", "GridWorld", "--ids")
    assert sorted(done.stdout.split()) == sorted(piase_gym.list_tasks("GridWorld"))


def test_worlds_of_a_module_are_listed(probe_folder: Path) -> None:
    done = piase("worlds", "-m", "my_worlds", cwd=probe_folder)
    assert "TextProbe" in done.stdout
    assert "probe/Text-v0" in done.stdout


def test_files_about_worlds_of_a_module_are_read(probe_folder: Path) -> None:
    (probe_folder / "probe.yaml").write_text("scenario_name: Probe\nworld: TextProbe\n")
    course = {"name": "Probe", "world": "TextProbe", "steps": [{"order": 1, "name": "One"}]}
    (probe_folder / "probe.json").write_text(json.dumps(course))
    env = piase_gym.parallel_env("TextProbe", max_steps=1)
    runs.record(env, probe_folder / "run.jsonl")
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 0))
    env.close()
    pytest.importorskip("matplotlib")
    for words in (
        ["scenario", "lint", "probe.yaml"],
        ["curriculum", "export", "probe.json"],
        ["stats", "run.jsonl"],
        ["plot", "run.jsonl"],
    ):
        done = piase(*words, "-m", "my_worlds", cwd=probe_folder)
        assert done.returncode == 0, done.stderr


# -- info ---------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 120])
def test_info_is_a_page(columns: int) -> None:
    done = piase("info", DOOR_KEY, "-c", "rewards.goal=5", columns=columns)
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    parts = ("move north|south|west|east", "rewards.locked", "door_opened", "5.0 (default 10.0)")
    for part in parts:
        assert part in words
    assert max(map(len, done.stdout.splitlines())) <= columns


def test_info_says_nothing_twice(capsys: pytest.CaptureFixture[str]) -> None:
    found = describe(DOOR_KEY, {})
    show({**found, "summary": "Walk to a door.", "description": "Walk to a door.", "ids": []})
    words = capsys.readouterr().out
    assert words.count("Walk to a door.") == 1
    assert "Ids" not in words.splitlines()


def test_info_for_machines() -> None:
    done = piase("info", DOOR_KEY, "--json", "-c", "agents=2")
    found = json.loads(done.stdout)
    env = piase_gym.parallel_env(DOOR_KEY, agents=2, view="vector")
    space = env.observation_space("agent_0")
    assert str(space.shape) in found["spaces"]["vector"]
    assert str(space.dtype) in found["spaces"]["vector"]
    assert found["agents"] == env.possible_agents
    assert found["milestones"] == list(env.world.milestones)
    assert [row["id"] for row in found["ids"]] == list(piase_gym.list_tasks("GridWorld"))
    env.reset(seed=0)
    # An index and its line are the same command.
    for index, line in enumerate(found["actions"]):
        assert env.world.command(0, index) == env.world.read(0, line)
    verbs = {verb["name"]: verb for verb in found["grammar"]}
    assert [verbs[tool["name"]]["parameters"] for tool in env.tools("agent_0")] == [
        tool["parameters"] for tool in env.tools("agent_0")
    ]


@pytest.mark.parametrize("name", ["GridWorld", DOOR_KEY, "TextProbe", "PointProbe"])
def test_info_has_every_field_and_its_value(name: str) -> None:
    rows = {row["key"]: row for row in describe(name, {})["config"]}
    world, task = (name, None) if "/" not in name else ("GridWorld", task_spec(name))
    spec = world_spec(world)
    model = load(spec.config, spec)
    made = make_config(spec, dict(task.config) if task else {})
    config = made.model_dump(mode="json", context=WHOLE)
    default = model().model_dump(mode="json", context=WHOLE)
    assert {key.split(".")[0] for key in rows} == set(model.model_fields) - {"envelope", "script"}
    for key, row in rows.items():
        value, usual = config, default
        for part in key.split("."):
            value, usual = value[part], usual[part]
        assert (row["value"], row["default"]) == (value, usual), key
        assert row["description"]


@pytest.mark.parametrize("name", ["GridWorld", DOOR_KEY, "TextProbe", "PointProbe"])
def test_what_info_shows_can_be_set(name: str) -> None:
    rows = describe(name, {})["config"]
    settings = [f"{row['key']}={json.dumps(row['value'])}" for row in rows]
    spec = world_spec(task_spec(name).world if "/" in name else name)
    fields = read_settings(name, settings)
    base = dict(task_spec(name).config) if "/" in name else {}
    assert make_config(spec, {**base, **fields}) == make_config(spec, base)


@pytest.mark.parametrize("name", ["GridWorld", "PointProbe"])
def test_ranges_of_whole_numbers_are_true(name: str) -> None:
    spec = world_spec(name)
    ranges = [
        (row["key"], *map(int, found.groups()))
        for row in describe(name, {})["config"]
        if (found := re.fullmatch(r"(-?\d+)\.\.(\d+)", row["type"]))
    ]
    assert ranges
    for key, low, high in ranges:
        for outside in (low - 1, high + 1):
            with pytest.raises(ConfigError, match=key):
                make_config(spec, {key: outside})


# -- settings -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        (["agents=3"], {"agents": 3}),
        (["layout=door_key"], {"layout": "door_key"}),
        (["border=true", "see_through_walls=False"], {"border": True, "see_through_walls": False}),
        (["goal_pos=3,4"], {"goal_pos": (3, 4)}),
        (["goal_pos=[[1,2],[3,4]]"], {"goal_pos": [[1, 2], [3, 4]]}),
        (["goal_pos=none"], {"goal_pos": None}),
        (["agent_ids=ann,7"], {"agent_ids": ["ann", "7"]}),
        (["rewards.goal=5", "rewards.move=0"], {"rewards": {"goal": 5, "move": 0}}),
        (["grid_size=6,7"], {"grid_size": (6, 7)}),
        (["agents=many"], {"agents": "many"}),
    ],
)
def test_settings_are_read(settings: list[str], fields: dict[str, Any]) -> None:
    assert read_settings("GridWorld", settings) == fields


def test_a_dot_keeps_what_the_id_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    row = piase_gym.TaskSpec(
        id="probe/Poor-v0", world="GridWorld", config={"rewards": {"goal": 1.0, "stay": 0.0}}
    )
    monkeypatch.setitem(registry._tasks, row.id, row)
    fields = read_settings("probe/Poor-v0", ["rewards.goal=2"])
    assert fields == {"rewards": {"goal": 2, "stay": 0.0}}
    assert task_spec("probe/Poor-v0").config["rewards"]["goal"] == 1.0


@pytest.mark.parametrize(
    "settings",
    [["agents"], ["=3"], ["agents=1", "agents=2"], ["rewards={}", "rewards.goal=1"]],
)
def test_bad_settings_are_refused(settings: list[str]) -> None:
    with pytest.raises(ConfigError):
        make_config(world_spec("GridWorld"), read_settings("GridWorld", settings))


# -- mistakes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "GridWrld"], "did you mean 'GridWorld'?"),
        (["check", "GridWorld", "--only", "mask_fit"], "did you mean 'masks_fit'?"),
        (["info", "GridWorld", "-c", "widht=3"], "did you mean 'width'?"),
        (["info", "GridWorld", "-c", "layout=dor_key"], "did you mean 'door_key'?"),
        (["info", "GridWorld", "-c", "agents=[1, 2]"], "(got [1, 2])"),
        (["info", "GridWorld", "-c", "width"], "key=value"),
        (["worlds", "GridWrld"], "did you mean 'GridWorld'?"),
        (["worlds", "-m", "no_such_module"], "no module 'no_such_module'"),
        (["worlds", "-m", "my_worlds.py"], "my_worlds.py"),
        (["play", "GridWorld", "--agent", "bob"], "agents are agent_0"),
        (["play", "GridWorld", "--partners", "orakle"], "did you mean 'oracle'?"),
        (["play", "GridWorld", "-c", "agents=2", "--partners", "bob=noop"], "no agent 'bob'"),
        (["play", "GridWorld", "--seed", "-3"], "seed -3 is not allowed"),
        (["play", "GridWorld", "--seed", "three"], "--seed"),
        (["demo", "--out", "/dev/null/pictures"], "/dev/null/pictures"),
        (["chek"], "Did you mean 'check'?"),
    ],
)
def test_a_mistake_is_explained(words: list[str], said: str) -> None:
    if words[0] == "demo":
        pytest.importorskip("stable_baselines3")
    done = piase(*words, columns=200)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not done.stdout


def test_a_module_that_fails_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    done = piase("worlds", "-m", "broken", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot import broken: ZeroDivisionError" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("module", "words"), [("torch", ["demo"]), ("sb3_contrib", ["train", "GridWorld"])]
)
def test_a_missing_extra_is_named(module: str, words: list[str]) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from piase_gym.cli import main; main()"
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(COLUMNS="200")
    )
    assert done.returncode == 2
    assert "pip install 'piase-gym[train]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["info", "GridWorld"], ["info", "GridWorld", "--json"]])
def test_a_closed_pipe_is_no_error(words: list[str]) -> None:
    out, into = os.pipe()
    os.close(out)
    process = subprocess.Popen(
        [*COMMAND, *words], stdout=into, stderr=subprocess.PIPE, text=True, env=environment()
    )
    os.close(into)
    _, said = process.communicate(timeout=240)
    assert said == ""
    assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["info", "GridWorld"], ["info", "GridWorld", "--json"]])
def test_a_full_disk_is_told_in_a_line(words: list[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*COMMAND, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**environment(), "PYTHONUNBUFFERED": ""},
        )
    assert done.returncode == 2
    assert done.stderr == "error: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a limit of the size of files")
def test_output_that_a_limit_does_not_take_is_told_in_a_line(tmp_path: Path) -> None:
    with (tmp_path / "info.txt").open("w", encoding="utf-8") as limited:
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 0; exec "$0" "$@"', *COMMAND, "info", "GridWorld"],
            stdout=limited,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment(),
        )
    assert done.returncode == 2
    assert done.stderr == "error: File too large\n"


def test_no_encoding_is_a_reason_to_crash() -> None:
    done = piase("play", "GridWorld", stdin="stay\nh\n", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr


# -- check, demo, completion, docs --------------------------------------------------------


def test_check_says_what_it_proved(probe_folder: Path) -> None:
    words = ["check", "TextProbe", "-c", "agents=2", "--only", "masks_are_legality"]
    done = piase(*words, "-m", "my_worlds", cwd=probe_folder)
    assert done.returncode == 0, done.stderr
    assert "passed" in done.stdout


def test_check_sums_up_what_it_proved_of_ids(probe_folder: Path) -> None:
    only = ("--only", "masks_fit", "--only", "late_joiners_enter", "-m", "my_worlds")
    done = piase("check", "TextProbe", "probe/Point-v0", "--ids", *only, cwd=probe_folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("probe/Text-v0  1 passed, 1 skipped")
    assert "probe/Point-v0  1 passed, 1 not claimed" in done.stdout
    ids = sum(line.startswith("probe/") for line in lines)
    assert lines[-1] == f"{ids} of {ids} ids keep the contract"


def test_check_wants_to_know_what() -> None:
    done = piase("check")
    assert done.returncode == 2
    assert "name a world or an id, or give --ids" in done.stderr


def test_a_failed_check_is_the_exit_status(tmp_path: Path) -> None:
    code = "from tests.testing import faulty_worlds\n\nfaulty_worlds.register()\n"
    (tmp_path / "my_zoo.py").write_text(code, encoding="utf-8")
    words = ["check", "SilentlyIllegal", "--only", "illegal_is_reported", "-m", "my_zoo"]
    done = piase(*words, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "1 failed"


@pytest.mark.slow
def test_demo_draws_what_it_learned(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    done = piase("demo", "--steps", "2048", "--out", str(tmp_path / "pictures"))
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert {"four_agents.gif", "learned.gif", "learned.png"} <= names
    assert "PPO" in done.stdout


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("piase pla", "play"),
        ("piase info Gri", "GridWorld"),
        ("piase collect GridWorld", ""),  # which takes ids alone
        ("piase collect piase/GridWorld-DoorKey-6", "piase/GridWorld-DoorKey-6x6-v1"),
        ("piase play piase/GridWorld-DoorKey-6", "piase/GridWorld-DoorKey-6x6-v1"),
        ("piase play GridWorld -c lay", "layout="),
        ("piase play GridWorld --config rewards.g", "rewards.goal="),
        ("piase play GridWorld --partners o", "oracle"),
    ],
)
def test_completion(words: str, wanted: str) -> None:
    place = len(words.split()) - 1
    asked = {"_PIASE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    done = piase(**asked)
    assert done.stdout.split() == wanted.split()


def test_values_are_completed() -> None:
    words = "piase info GridWorld -c layout="
    done = piase(_PIASE_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=words)
    assert '"layout=door_key"' in done.stdout


def test_the_page_is_fresh() -> None:
    pages = module_at(ROOT / "docs" / "make_cli.py")
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert text == pages.page(), "run python docs/make_cli.py"


@pytest.mark.parametrize("command", ["worlds", "info", "play", "check", "demo"])
def test_the_page_has_every_option_of_the_help(command: str) -> None:
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    section = text.split(f"### `piase {command}`")[1].split("\n### ")[0]
    shown = set(re.findall(r"(?<![\w-])--[a-z]+", piase(command, "--help", columns=160).stdout))
    assert shown - {"--help"} == set(re.findall(r"--[a-z]+", section))


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.split("\n")
    ]
    slow = ("check", "demo", "RUN")  # RUN stands for a log that the reader has
    quick = [line for line in lines if line and not any(word in line for word in slow)]
    assert len(quick) >= 8
    for line in quick:
        before, _, command = line.rpartition("|")
        name, *words = shlex.split(command, comments=True)
        assert name == "piase"
        typed = subprocess.run(before, shell=True, capture_output=True, check=True).stdout
        done = piase(*words, stdin=typed, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_a_file_that_exists_is_told_with_the_option_if_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert piase("run", "lost_key", "--agent", "oracle", "--log", str(path)).returncode == 0
    done = piase("run", "lost_key", "--log", str(path))
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith(f"there is a log at {path} already; give another path")
    for option, code in (((), 0), ((), 2), (("--overwrite",), 0)):
        done = piase("export", str(path), str(tmp_path / "run.csv"), *option)
        assert done.returncode == code
        assert ("; give another name, or --overwrite" in done.stderr) == (code == 2)


def test_what_the_user_wrote_is_told_as_it_is() -> None:
    assert _as_option("'a, or overwrite=True' is no name") == "'a, or overwrite=True' is no name"


def test_who_forgets_a_module_is_told_the_option(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("environment_type: Mine\ninitial_state: {}\n", "utf-8")
    (tmp_path / "empty_module.py").write_text("", "utf-8")
    told = "; one of your own needs --module\n"
    for words in (("play", "Mine"), ("run", "mine/Mine-v0"), ("run", "mine.yaml")):
        assert piase(*words, cwd=tmp_path).stderr.endswith(told)
        assert told not in piase(*words, "-m", "empty_module", cwd=tmp_path).stderr
    assert told not in piase("play", "GridWrld").stderr
