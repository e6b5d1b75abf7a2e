"""What commands print of worlds, checks and plug-ins, without a process of their own."""

from __future__ import annotations

import io
import logging
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from rich.console import Console

import piase_gym
from piase_gym import plugins, registry
from piase_gym.benchmarks.evaluation.suites import Problem
from piase_gym.cli import (
    check,
    console,
    info,
    results,
    worlds,
)
from piase_gym.cli import plugins as plugin_list
from piase_gym.testing.kit import Finding, Report
from tests import probes
from tests.cli.conftest import Said, run

probes.register()


# -- the log ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_logged_is_shown_in_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    screen, log = io.StringIO(), logging.getLogger("piase_gym")
    monkeypatch.setattr(console, "errors", Console(file=screen, force_terminal=terminal, width=20))
    monkeypatch.setattr(log, "handlers", [])
    monkeypatch.setattr(log, "level", log.level)
    monkeypatch.setattr(log, "_cache", {})
    console.show_log()
    log.info("compiling [some] rules, %s", "which takes minutes")
    assert ("compiling [some] rules, which takes minutes" in screen.getvalue()) == terminal
    assert terminal or not screen.getvalue()


def test_problems_are_printed_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "errors", Console(file=screen, width=20))
    with pytest.raises(typer.Exit):
        results.tell([Problem("storage", "/old [runs]/[/tmp] is full")])
    assert screen.getvalue() == "problem: storage: /old [runs]/[/tmp] is full\n"


# -- worlds and info -------------------------------------------------------------------------------


def test_ids_that_differ_in_one_part_are_on_one_line() -> None:
    ids = ["a/B-16x16-v0", "a/B-8x8-v0", "a/B-v0", "a/C-8x8-v1", "a/D-v2", "plain"]
    assert worlds.grouped(ids) == [
        "a/B-{8x8,16x16}-v0",
        "a/B-v0",
        "a/C-8x8-v1",
        "a/D-v2",
        "plain",
    ]


def test_a_line_of_ids_is_not_too_long() -> None:
    parts = [f"{number:010}" for number in range(9)]
    lines = worlds.grouped(f"a/World-{part}-v0" for part in parts)
    five, four = ",".join(parts[:5]), ",".join(parts[5:])
    assert lines == [f"a/World-{{{five}}}-v0", f"a/World-{{{four}}}-v0"]
    assert worlds._rows(["aaaa", "bbb", "c"], 8) == [["aaaa", "bbb"], ["c"]]
    assert worlds._rows(["aaaa", "bbbb"], 8) == [["aaaa"], ["bbbb"]]
    assert worlds._rows(["a" * 20], 8) == [["a" * 20]]


def test_worlds_are_listed_with_their_ids(said: Said) -> None:
    code, told = run("worlds", "TextProbe")
    lines = told.splitlines()
    assert code == 0
    assert " ".join(told.split()).startswith(
        f"TextProbe {registry.world_spec('TextProbe').summary} probe/Text"
    )
    assert lines[-1].startswith("  probe/Text")
    _, told = run("worlds")
    heads = [line.split("  ")[0] for line in told.splitlines() if line[:1].isalpha()]
    heads = [name for name in heads if name in piase_gym.list_worlds()]
    assert heads == list(piase_gym.list_worlds())
    assert told.count("\n\n") == len(heads) - 1


def test_values_are_written_as_they_are_typed() -> None:
    shown = [info.short(value) for value in (None, True, "word", [1, 2], {"a": "é"}, "x" * 41)]
    assert shown == ["none", "true", "word", "[1, 2]", '{"a": "é"}', "x" * 37 + "..."]
    assert info.short("x" * 40) == "x" * 40


def test_a_field_tells_its_value_and_its_default(said: Said) -> None:
    row = {"key": "width", "type": "integer", "description": "Columns."}
    console.console.print(info._two_lines({**row, "value": 5, "default": 8}))
    console.console.print(info._two_lines({**row, "value": 8, "default": 8}))
    assert [line.rstrip() for line in said()] == [
        "  width = 5 (default 8)  [integer]",
        "      Columns.",
        "  width = 8  [integer]",
        "      Columns.",
    ]


def test_a_wide_terminal_has_a_table_of_the_config(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"key": "width", "type": "integer", "description": "Columns.", "value": 5, "default": 8}
    monkeypatch.setattr(console.console, "_width", 110)
    console.console.print(info._config([row]))
    head, line = said()
    assert head.split() == ["key", "value", "allowed", "meaning"]
    assert line.split() == ["width", "5", "(default", "8)", "integer", "Columns."]
    monkeypatch.setattr(console.console, "_width", 109)
    console.console.print(info._config([row]))
    assert said()[0].strip() == "width = 5 (default 8)  [integer]"


FOUND: dict[str, Any] = {
    "capabilities": {"late_join": True, "messages": False},
    "oracle": True,
    "partners": {"*": "random", "bob": "noop"},
    "agents": ["ann", "bob"],
    "aliases": [],
    "grammar": [
        {"usage": "go <way>", "description": "leave", "synonyms": ["walk", "run"]},
        {"usage": "wait", "description": "do nothing", "synonyms": []},
    ],
}


def test_powers_and_commands_are_said_in_words() -> None:
    assert info._powers(FOUND) == {
        "agents": "ann, bob",
        "partners": "random, bob noop",
        "has": "late join, oracle",
        "has not": "messages",
    }
    assert info._commands(FOUND) == {"go <way>": "leave (also walk, run)", "wait": "do nothing"}


def test_info_shows_a_world_by_parts() -> None:
    code, told = run("info", "PointProbe")
    assert code == 0
    for words in ("Agents and powers", "Spaces of one agent", "Commands", "Milestones", "Ids"):
        assert f"\n{words}\n" in told
    assert "  arrived\n" in told


# -- check and plugins -----------------------------------------------------------------------------


def report(*statuses: str) -> Report:
    """Return a report of checks with these statuses."""
    found = [
        Finding(f"check_{n}", f"It proves {n}.", status, "why" if status != "passed" else "")  # type: ignore[arg-type]
        for n, status in enumerate(statuses)
    ]
    return Report("A()", tuple(found), 2.6)


def test_a_line_and_a_sum_of_reports(said: Said) -> None:
    one = report("passed", "failed", "skipped", "not claimed")
    two = report("passed", "passed", "skipped", "passed")
    check.print_line("a/B-v0", one)
    assert said() == [
        "a/B-v0  1 passed, 1 failed, 1 skipped, 1 not claimed  3 s",
        "  check_1: why",
    ]
    check.print_sum([one, two], 3)
    assert [line.rstrip() for line in said()] == [
        "check_0  2 of 2 ids",
        "    It proves 0.",
        "check_1  1 of 2 ids; 1 failed",
        "    It proves 1.",
        "check_2  0 of 2 ids; 2 skipped: why",
        "    It proves 2.",
        "check_3  1 of 2 ids; 1 not claimed: why",
        "    It proves 3.",
        "1 of 2 ids keep the contract; 3 skipped",
    ]
    check.print_sum([two], 0)
    assert said()[-1] == "1 of 1 ids keep the contract"


def test_ids_of_worlds_and_of_themselves() -> None:
    point = piase_gym.list_tasks("PointProbe")
    found = check.ids_of(["PointProbe", point[0], "piase/GridWorld-v1"])
    assert found == [*point, "piase/GridWorld-v1"]
    assert set(piase_gym.list_tasks("GridWorld")) < set(check.ids_of(None))


def test_check_prints_each_finding() -> None:
    code, told = run("check", "PointProbe", "--only", "masks_fit", "--only", "late_joiners_enter")
    lines = [line.rstrip() for line in told.splitlines()]
    assert code == 0
    assert lines[0] == "PointProbe: 2 checks"
    assert lines[1].startswith("masks_fit  passed: ")
    assert "late_joiners_enter  not claimed: late_join" in lines
    assert lines[-1] == "1 passed, 1 not claimed"


def test_plugins_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {"agents": [SimpleNamespace(name="no_such_agent")], "worlds": []}
    entries["worlds"] = [SimpleNamespace(name="PointProbe")]
    monkeypatch.setattr(plugins, "installed", lambda kind: entries.get(kind, []))
    monkeypatch.setattr(plugins, "offers", plugins.offers.__wrapped__)  # leaves nothing cached
    monkeypatch.setattr(plugins, "package_of", lambda entry: "their_package")
    code, told = run("plugins")
    assert code == 1
    assert "PointProbe" in told
    assert "works" in told
    reason = plugin_list._try("agents", "no_such_agent", "their_package")
    assert "no_such_agent" in str(reason) or str(reason).startswith("it cannot be loaded")
    del entries["agents"]
    assert run("plugins")[0] == 0
    problem = plugins.problems
    monkeypatch.setattr(
        plugins,
        "problems",
        lambda: [
            SimpleNamespace(kind="worlds", name="PointProbe", package="other", reason="not this"),
            SimpleNamespace(
                kind="worlds", name="PointProbe", package="their_package", reason="bad"
            ),
        ],
    )
    assert plugin_list._try("worlds", "PointProbe", "their_package") == "bad"
    monkeypatch.setattr(plugins, "problems", problem)
    assert plugin_list._try("worlds", "PointProbe", "their_package") is None
    entries.clear()
    assert run("plugins") == (0, "no plug-ins are installed\n")


def test_tables_and_bars_are_plain_without_a_terminal(said: Said) -> None:
    console.console.print(console.make_table(("a", "b"), [("[x]", "1"), ("y", "22")], "T", ("b",)))
    shown = said()
    assert shown[0].strip() == "T"
    assert [line.split() for line in shown if "│" in line] == [
        ["│", "[x]", "│", "1", "│"],
        ["│", "y", "│", "22", "│"],
    ]
    assert "│ 22 │" in shown[-2]
    assert "│  1 │" in shown[-3]
    bar = console.StepBar("words", 40)
    for steps in (1, 3, 4, 7, 8, 40, 44):
        bar.show(steps, 40, "going")
    assert said() == [
        "1 of 40 steps: going",
        "4 of 40 steps: going",
        "8 of 40 steps: going",
        "40 of 40 steps: going",
    ]


def test_episodes_are_told_in_tenths(capsys: pytest.CaptureFixture[str]) -> None:
    bar = results.EpisodeBar()
    record: Any = SimpleNamespace(setting="a/B-v0", policy="random")
    for done in (1, 4, 5, 9, 10, 50):
        bar.show(record, done, 50)
    assert capsys.readouterr().err.splitlines() == [
        "5 of 50 episodes",
        "10 of 50 episodes",
        "50 of 50 episodes",
    ]
    assert (bar.tasks[0].completed, bar.tasks[0].total) == (50, 50)
    name, _ = bar.get_renderables()
    assert str(name) == "a/B-v0, random"


def test_problems_are_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    results.tell([])
    with pytest.raises(typer.Exit) as caught:
        results.tell([SimpleNamespace(where="here", what="is wrong")])  # type: ignore[list-item]
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err == "problem: here: is wrong\n"
    sound: Any = SimpleNamespace(problems=[], rows=[SimpleNamespace(faults=0)])
    results.conclude(sound)
    sound.rows.append(SimpleNamespace(faults=2))
    with pytest.raises(typer.Exit) as caught:
        results.conclude(sound)
    assert caught.value.exit_code == 1
    told = "some episodes have no result; run again to play them\n"
    assert capsys.readouterr().out == told
