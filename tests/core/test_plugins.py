"""Plug-ins of installed packages are found by name; broken ones are reported and skipped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.helpers.cli_runner import ROOT, environment, piase
from tests.helpers.warm_python import run_python

PAGE = (ROOT / "docs" / "plugins.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial_world.md").read_text("utf-8")
FILES = dict(re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", PAGE, re.S))
LAMPLIGHT = dict(re.findall(r"```python\n# (lamplight/\S+)\n(.*?)```", TUTORIAL, re.S))


def install(folder: Path, site: Path, files: Mapping[str, str]) -> None:
    """Install a package, made of these files, as pip does."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    command = f"-m pip install -q --no-index --no-deps --no-build-isolation --target {site} ."
    done = subprocess.run(
        [sys.executable, *command.split()], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def project(name: str, packages: str, **entry_points: str) -> str:
    """Return a pyproject.toml; entry points are ``kind="name = value"``."""
    groups = [f'[project.entry-points."piase_gym.{k}"]\n{v}' for k, v in entry_points.items()]
    head = f'[project]\nname = "{name}"\nversion = "0.1.0"\n[tool.setuptools]\n{packages}\n'
    return "\n".join([head, *groups])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages: those of the page."""
    top = tmp_path_factory.mktemp("site")
    wayfinder = {name: text for name, text in FILES.items() if not name.startswith("lamplight")}
    del wayfinder["use_it.py"]
    install(tmp_path_factory.mktemp("wayfinder"), top, wayfinder)
    groups = re.findall(r"```toml\n(\[project\.entry-points.*?)```", PAGE, re.S)
    assert len(groups) == 1
    row = {"lamplight/rows.py": FILES["lamplight/rows.py"], "lamplight/__init__.py": ""}
    pyproject = project("lamplight", 'packages = ["lamplight"]') + groups[0]
    package = {**LAMPLIGHT, **row, "pyproject.toml": pyproject}
    install(tmp_path_factory.mktemp("lamplight"), top, package)
    return top


@pytest.fixture(scope="module")
def ruin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages in which everything is broken, each in its own way."""
    top = tmp_path_factory.mktemp("ruin")
    rows = (
        "import piase_gym\n"
        "GRID = piase_gym.WorldSpec(name='GridWorld', summary='Mine.', world='x:y', config='x:y', "
        "parser='x:y')\n"
        "TASKS = [piase_gym.TaskSpec(id='ruin/Fine-v0', world='GridWorld'), 7]\n"
        "def boom():\n    raise ZeroDivisionError('boom')\n"
        "def leave():\n    raise SystemExit('bye')\n"
        "def endless():\n    import itertools\n"
        "    spec = lambda n: piase_gym.TaskSpec(id=f'ruin/Many-{n}-v0', world='GridWorld')\n"
        "    return map(spec, itertools.count())\n"
        "class NotAnAgent: pass\n"
    )
    worlds = 'a = "not_there:WORLD"\nb = "ruin:GRID"\nc = "ruin:missing"\nd = "ruin:boom"\n'
    worlds += 'j = "ruin:leave"'
    pyproject = project(
        "ruin",
        'py-modules = ["ruin", "rotten"]',
        worlds=worlds,
        tasks='e = "ruin:TASKS"\nk = "ruin:endless"',
        agents='f = "ruin:NotAnAgent"\ng = "rotten:Agent"',
        sensors='h = "ruin:GRID"',
        actuators='i = "rotten:thing"',
    )
    files = {"ruin.py": rows, "rotten.py": "1 / 0\n", "pyproject.toml": pyproject}
    install(tmp_path_factory.mktemp("source"), top, files)
    return top


def python(site: Path, code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run code where these packages are installed."""
    path = os.pathsep.join([str(site), environment()["PYTHONPATH"]])
    return run_python(*flags, "-c", code, env=environment(PYTHONPATH=path), warm="with_others")


def printed(site: Path, code: str) -> str:
    """Run code in which nothing may be warned of, and return what it prints."""
    done = python(site, code, "-W", "error")
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- the page -----------------------------------------------------------------------------


def test_the_page_has_all_files() -> None:
    wayfinder = ["pyproject.toml", "wayfinder/rows.py", "wayfinder/parts.py"]
    assert list(FILES) == [*wayfinder, "use_it.py", "lamplight/rows.py"]


def test_it_is_used_as_the_page_says(site: Path) -> None:
    lines = printed(site, FILES["use_it.py"]).splitlines()
    assert lines[0].startswith("GridWorld: won after ")
    told = [line for line in lines if line.startswith("steps_to_goal: ")]
    assert told[-1] == "steps_to_goal: 1 steps to the goal"
    assert lines[-1] == "won"


def test_a_world_needs_no_import(site: Path) -> None:
    code = (
        "import gymnasium, sys\n"
        "env = gymnasium.make('piase_gym:lamplight/Lamplight-v0')\n"
        "print(env.reset(seed=0)[1]['seed'], env.unwrapped.world.name)\n"
        "import piase_gym, pettingzoo\n"
        "print(pettingzoo.make('parallel', 'lamplight/Lamplight-v0').possible_agents)\n"
        "print('Lamplight' in piase_gym.list_worlds(), piase_gym.list_tasks('Lamplight'))\n"
    )
    out = printed(site, code)
    assert out == "0 Lamplight\n['agent_0']\nTrue ('lamplight/Lamplight-v0',)\n"


def test_agents_sensors_and_actuators_are_not_imported_before_they_are_asked_for(
    site: Path,
) -> None:
    code = (
        "import sys, piase_gym\nfrom piase_gym import agents\n"
        "from piase_gym.simulation import actuators, sensors\n"
        "print(agents.policies(), sensors.sensors(), actuators.actuators())\n"
        "print('wayfinder.parts' in sys.modules)\n"
        "print(type(agents.make_agent('homing')).__name__, 'wayfinder.parts' in sys.modules)\n"
    )
    out = printed(site, code)
    assert "'homing'" in out
    assert "('steps_to_goal',) ('approach',)" in out
    assert out.endswith("\nFalse\nHoming True\n")


def test_the_command_line_knows_them(site: Path) -> None:
    path = os.pathsep.join([str(site), environment()["PYTHONPATH"]])
    done = piase("plugins", PYTHONPATH=path, columns=120)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("works") == 6
    done = piase("run", "wayfinder/Hall-5-v0", "--agent", "homing", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert "agent_0: won" in done.stdout
    assert "lamplight/Lamplight-v0" in piase("worlds", PYTHONPATH=path).stdout


# -- what is broken -----------------------------------------------------------------------


def test_broken_rows_are_reported_and_skipped(ruin: Path) -> None:
    code = (
        "import piase_gym\n"
        "env = piase_gym.parallel_env('GridWorld')\n"
        "env.reset(seed=0)\n"
        "print(env.world.name, 'ruin/Fine-v0' in piase_gym.list_tasks())\n"
        "for problem in piase_gym.plugins.problems(): print(problem)\n"
    )
    done = python(ruin, code)
    assert done.returncode == 0, done.stderr
    first, *problems = done.stdout.splitlines()
    assert first == "GridWorld True"
    reasons = {
        "a": "No module named 'not_there'",
        "b": "there is a world 'GridWorld' already",
        "c": "has no attribute 'missing'",
        "d": "ZeroDivisionError: boom",
        "e": "it offers a int, not a TaskSpec",
        "j": "SystemExit: bye",
        "k": "it offers more than 1000 rows",
    }
    assert len(problems) == len(reasons)
    for name, reason in reasons.items():
        kind = "tasks" if name in "ek" else "worlds"
        line = next(p for p in problems if p.startswith(f"the plug-in {name!r} ({kind}) of ruin"))
        assert reason in line
        assert done.stderr.count(f"the plug-in {name!r} ") == 1
    assert done.stderr.count("PluginWarning: ") == len(reasons)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("agents.make_agent('f')", "makes a NotAnAgent, no Agent"),
        ("agents.make_agent('g')", "it cannot be loaded (ZeroDivisionError"),
        ("sensors.find_sensor('h')", "it offers a WorldSpec, not a Sensor"),
        ("actuators.find_actuator('i')", "it cannot be loaded (ZeroDivisionError"),
    ],
)
def test_what_is_broken_is_a_sentence_when_it_is_asked_for(
    ruin: Path, call: str, reason: str
) -> None:
    code = (
        "import warnings\nwarnings.simplefilter('ignore')\n"
        "from piase_gym import agents\nfrom piase_gym.simulation import actuators, sensors\n"
        f"try: {call}\nexcept Exception as error: print(type(error).__name__, error)\n"
        f"print(agents.make_agent('random').get_id())"
    )
    out = python(ruin, code).stdout
    assert out.startswith("PluginError the plug-in")
    assert reason in out
    assert out.endswith("agent_0\n")


def test_the_command_line_tells_what_is_broken(ruin: Path) -> None:
    path = os.pathsep.join([str(ruin), environment()["PYTHONPATH"]])
    done = piase("plugins", PYTHONPATH=path, columns=200)
    assert done.returncode == 1
    assert "works" not in done.stdout
    assert "Traceback" not in done.stderr
    done = piase("run", "lost_key", "--agent", "g", PYTHONPATH=path)
    assert done.returncode == 2
    assert "error: the plug-in 'g' (agents) of ruin 0.1.0: it cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_package_that_is_just_being_imported_is_waited_for(tmp_path: Path) -> None:
    files = {
        "early/__init__.py": "import piase_gym\nfrom early.rows import WORLD\n",
        "early/rows.py": "import early.names\n"
        "from piase_gym import TaskSpec, WorldSpec, registry\n"
        "WORLD = early.names.ROW\n",
        "early/names.py": "import piase_gym\n"
        "from dataclasses import replace\n"
        "ROW = replace(piase_gym.registry.world_spec('TextRoom'), name='Early', aliases=())\n",
    }
    pyproject = project("early", 'packages = ["early"]', worlds='Early = "early.rows:WORLD"')
    site = tmp_path / "site"
    install(tmp_path / "source", site, {**files, "pyproject.toml": pyproject})
    for first in ("import early.names", "import early", "import piase_gym", "import early.rows"):
        code = f"{first}\nimport piase_gym\nprint('Early' in piase_gym.list_worlds())"
        assert printed(site, code) == "True\n", first


def test_a_module_of_rows_may_be_the_first_that_is_imported(site: Path) -> None:
    code = (
        "import wayfinder.rows, piase_gym\nprint('wayfinder/Hall-5-v0' in piase_gym.list_tasks())"
    )
    assert printed(site, code) == "True\n"


def test_of_two_plug_ins_with_one_name_the_second_is_reported(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in ("one", "two"):
        module = f"from piase_gym.agents import NoopAgent\nclass {name.title()}(NoopAgent): pass\n"
        pyproject = project(
            f"pack-{name}", f'py-modules = ["{name}"]', agents=f'same = "{name}:{name.title()}"'
        )
        install(tmp_path / name, site, {f"{name}.py": module, "pyproject.toml": pyproject})
    code = (
        "import piase_gym\nfrom piase_gym.agents import make_agent, policies\n"
        "assert 'same' in policies()\nassert 'same' in policies()\n"
        "print(type(make_agent('same')).__name__)\nprint(*piase_gym.plugins.problems())"
    )
    done = python(site, code)
    assert done.returncode == 0, done.stderr
    chosen, problem = done.stdout.splitlines()
    assert chosen == "One"
    assert problem == (
        "the plug-in 'same' (agents) of pack-two 0.1.0: pack-one 0.1.0 has one of the same name"
    )
