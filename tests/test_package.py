"""The package as it is built and installed: its folders, its files, the way its imports point."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from piase_gym.cli.bench import smoke, throughput
from piase_gym.cli.demo import demo
from tests.paths import ROOT

NAME = "piase_gym"
TOP_FOLDERS = ("wrappers", "curricula", "benchmarks", "examples")
INSTALLED = tuple(".py .c .html .json .jsonl .pt .txt .yaml .zip .typed".split())
STUDIES = ROOT / "benchmarks" / "studies"
"""Run from a checkout, never installed."""
IN_SDIST = (ROOT / "PKG-INFO").exists()

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def folders(top: Path) -> Iterator[Path]:
    """Yield `top` and the folders below it to be installed, without following links."""
    for folder, subfolders, _ in os.walk(top):
        subfolders[:] = sorted(name for name in subfolders if name != "__pycache__")
        if not Path(folder).is_relative_to(STUDIES):
            yield Path(folder)


def installed_path(path: Path) -> Path:
    """Return where a file of the checkout is installed, relative to site-packages."""
    relative = path.relative_to(ROOT)
    return relative if relative.parts[0] == NAME else Path(NAME) / relative


def package_folders() -> list[Path]:
    """Return every folder of the checkout that is a package."""
    tops = (NAME, *TOP_FOLDERS)
    return [f for top in tops for f in folders(ROOT / top) if (f / "__init__.py").exists()]


def source_files() -> list[Path]:
    """Return the files of the checkout that are to be installed."""
    tops = (NAME, *TOP_FOLDERS)
    found = (path for top in tops for folder in folders(ROOT / top) for path in folder.iterdir())
    return sorted(path for path in found if path.is_file() and path.suffix in INSTALLED)


def test_packages_names_every_folder() -> None:
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(".".join(installed_path(f).parts) for f in package_folders())


def test_every_file_lies_in_a_package() -> None:
    # A file beside no __init__.py is left out of the wheel without an error.
    packages = set(package_folders())
    strays = [p for p in source_files() if p.parent not in packages]
    assert strays == []


@pytest.mark.skipif(IN_SDIST, reason="the links serve a checkout and are not packed")
@pytest.mark.parametrize("name", TOP_FOLDERS)
def test_links_point_to_the_top_folders(name: str) -> None:
    link = ROOT / NAME / name
    assert link.is_symlink()
    assert link.readlink() == Path("..", name)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_a_checkout_has_the_same_bytes_where_git_would_change_line_ends(tmp_path: Path) -> None:
    name = "tests/test_package.py"
    command = ["git", "-c", "core.autocrlf=true", "checkout-index", f"--prefix={tmp_path}/", name]
    subprocess.run(command, cwd=ROOT, check=True)
    assert b"\r" not in (tmp_path / name).read_bytes()


class Built(NamedTuple):
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An sdist of a copy of the checkout, and the wheel that is built from that sdist."""
    tree = tmp_path_factory.mktemp("build") / "tree"
    out = tree.with_name("dist")
    unused = {
        ".git",
        ".venv",
        ".venv-clients",
        ".venv-rllib",
        ".venv-peers",
        "build",
        "dist",
        "runs",
    }
    shutil.copytree(
        ROOT,
        tree,
        symlinks=True,
        ignore=lambda folder, names: unused & set(names) if Path(folder) == ROOT else set(),
    )
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    run = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    return Built(wheel, sdist)


def wheel_files(wheel: Path) -> list[Path]:
    """Return the files of the wheel, without its metadata folder."""
    with zipfile.ZipFile(wheel) as archive:
        return [Path(name) for name in archive.namelist() if ".dist-info/" not in name]


def test_wheel_owns_one_top_level_name(built: Built) -> None:
    assert {path.parts[0] for path in wheel_files(built.wheel)} == {NAME}


def test_wheel_holds_every_source_file(built: Built) -> None:
    expected = [installed_path(path) for path in source_files()]
    assert sorted(wheel_files(built.wheel)) == sorted(expected)
    assert {Path(NAME, name, "__init__.py") for name in TOP_FOLDERS} <= set(expected)


def test_wheel_is_imported_without_the_checkout(built: Built, tmp_path: Path) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        archive.extractall(tmp_path)
    modules = [NAME, *(f"{NAME}.{name}" for name in TOP_FOLDERS)]
    code = f"import {', '.join(modules)}\n" + "".join(f"print({m}.__file__)\n" for m in modules)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    files = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    expected = [tmp_path.joinpath(*module.split("."), "__init__.py") for module in modules]
    assert [Path(file) for file in files] == expected


def test_sdist_holds_the_tests_and_packs_nothing_twice(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        members = [Path(*Path(name).parts[1:]).as_posix() for name in archive.getnames()]
    assert len(members) == len(set(members))
    assert not [m for m in members for name in TOP_FOLDERS if m.startswith(f"{NAME}/{name}")]
    for name in ("tests/test_package.py", "constraints.txt", "CHANGELOG.md", "docs/conf.py"):
        assert name in members
    studies = STUDIES.relative_to(ROOT).as_posix()
    assert any(m.startswith(studies) and m.endswith(".jsonl") for m in members)
    assert all(f"{name}/__init__.py" in members for name in (NAME, *TOP_FOLDERS))


# The parts of the package from the bottom up: each imports only itself and what is before it, at
# the top of a file and in its functions alike. "" is the package itself, whose public names come
# from the parts before it, and which registers what ships when it is imported.
LAYERS = (
    "lazy",
    "errors",
    "core",
    "mailbox",
    "memory",
    "compiled",
    "registry",
    "plugins",
    "worlds",
    "shipped",
    "scenarios",
    "names",
    "agents",
    "envs",
    "interfaces",
    "runs",
    "simulation",
    "",
    "jobs",
    "curricula",
    "wrappers",
    "adapters",
    "testing",
    "benchmarks",
    "collection",
    "training",
    "examples",
    "play",
    "studio",
    "cli",
)
EXCEPTIONS = {
    ("piase_gym.agents.sb3_network", "adapters"): "a network over cells reads them as its learner",
    ("piase_gym.benchmarks.references.dilemmas", "training"): "best responses are trained",
    ("piase_gym.benchmarks.references.learners", "training"): "the references are trained",
    ("piase_gym.benchmarks.references.train", "training"): "the references are trained",
    ("piase_gym.benchmarks.speed.learning", "training"): "it measures trainings",
    ("piase_gym.benchmarks.speed.scale", "collection"): "it measures collecting",
    ("piase_gym.benchmarks.speed.sql_query_learning", "training"): "it measures a training",
    ("piase_gym.benchmarks.speed.word_craft", "training"): "it measures a training",
    ("piase_gym.curricula.simulated_learner", "wrappers"): "it follows as learners do",
    ("piase_gym.examples.demo", "cli"): "the example is the command `demo`",
    ("piase_gym.runs.demonstrations", "jobs"): "its episodes are jobs",
    ("piase_gym.runs.manifest", ""): "it notes the version of the package",
}
BACK = {
    ("benchmarks.evaluation.results", "benchmarks.evaluation.tables"): "they print as a table",
    ("curricula.validation", "curricula.directors"): "a curriculum's director is made on trial",
    ("curricula.validation", "curricula.schema"): "curricula are checked while they are made",
    ("worlds.object_search.world", "worlds.object_search.camera_world"): "its kind in pictures",
    ("worlds.social_dilemma.world", "worlds.social_dilemma.commons.world"): "one of its kinds",
    ("worlds.social_dilemma.world", "worlds.social_dilemma.matrix.world"): "one of its kinds",
}
"""Imports that close a circle, in functions or for types."""


def part(module: str) -> str:
    """Return the part that a dotted name is in: `worlds` for `piase_gym.worlds.x.y`."""
    name = [*module.split("."), ""][1]
    return name if name in LAYERS else ""


def imported_names(source: str, module: str, is_package: bool = False) -> set[str]:
    """Return the names of the package that a module's source imports, wherever in the file."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found += [f"{origin}.{alias.name}" for alias in node.names]
    return {name for name in found if name.split(".")[0] == NAME}


@functools.cache
def imports() -> dict[str, set[str]]:
    """Return the names of the package that each of its modules imports."""
    found = {}
    for path in (path for path in source_files() if path.suffix == ".py"):
        is_package = path.name == "__init__.py"
        target = installed_path(path)
        module = ".".join((target.parent if is_package else target.with_suffix("")).parts)
        found[module] = imported_names(path.read_text(encoding="utf-8"), module, is_package)
    return found


def imports_upwards() -> set[tuple[str, str]]:
    """Return (module, part) for every import of a part that is not before the module's own."""
    return {
        (module, to)
        for module, names in imports().items()
        for to in map(part, names)
        if LAYERS.index(to) > LAYERS.index(part(module))
    }


def graph() -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    known = imports()
    return {
        module: {name if name in known else name.rpartition(".")[0] for name in names} - {module}
        for module, names in known.items()
    }


def circle(found: Mapping[str, set[str]]) -> list[str]:
    """Return modules that import each other in a circle."""
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_part_of_the_package_has_a_layer() -> None:
    found = {path.stem for path in (ROOT / NAME).glob("*.py")} - {"__init__"}
    found |= {path.parts[1] for path in map(installed_path, package_folders()) if path.parts[1:]}
    assert found == set(LAYERS) - {""}


def test_imports_point_one_way() -> None:
    assert imports_upwards() - set(EXCEPTIONS) == set()


def test_no_modules_import_each_other() -> None:
    found = graph()
    for module, back in BACK:
        found[f"{NAME}.{module}"].remove(f"{NAME}.{back}")
    assert circle(found) == []
    for module, back in BACK:
        more = {f"{NAME}.{module}": found[f"{NAME}.{module}"] | {f"{NAME}.{back}"}}
        assert circle({**found, **more}), f"{module} may import {back}: no circle"


def test_every_exception_is_still_needed() -> None:
    assert set(EXCEPTIONS) - imports_upwards() == set()


def test_nothing_installed_imports_a_study() -> None:
    name = ".".join((NAME, *STUDIES.relative_to(ROOT).parts))
    files = [path for path in source_files() if path.suffix == ".py"]
    assert STUDIES.is_dir()
    assert len(files) > 100
    assert [path for path in files if name in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import piase_gym", {""}),
        ("import piase_gym.envs.single as single", {"envs"}),
        ("from piase_gym import wrappers, parallel_env", {"", "wrappers"}),
        ("from piase_gym.runs import writer", {"runs"}),
        ("from ...envs import parallel", {"envs"}),
        ("from ... import cli", {"cli"}),
        ("from . import state", {"worlds"}),
        ("def f():\n    from piase_gym.cli import app", {"cli"}),
        ("import numpy as np\nfrom gymnasium import wrappers", set()),
    ],
)
def test_imports_are_found_in_every_form(source: str, found: set[str]) -> None:
    assert set(map(part, imported_names(source, f"{NAME}.worlds.grid_world.rules"))) == found


@pytest.mark.parametrize("name", ["adapters.sb3_vec", "runs.replay", "curricula.load"])
def test_the_parts_are_there_when_the_package_is_imported(name: str) -> None:
    if name == "adapters.sb3_vec":
        pytest.importorskip("stable_baselines3")
    code = f"import piase_gym; print(callable(piase_gym.{name}), hasattr(piase_gym, 'adaptors'))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "False"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
@pytest.mark.parametrize("command", [demo, smoke, throughput])
def test_what_commands_write_by_default_is_ignored_by_git(command: Any) -> None:
    out = inspect.signature(command).parameters["out"].default
    words = ["git", "check-ignore", "-q", f"{out}/anything"]
    assert subprocess.run(words, cwd=ROOT, check=False).returncode == 0
