"""What commands print and how they read what is typed, without a process of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, Field
from typer.testing import CliRunner

import piase_gym
from piase_gym import plugins, registry
from piase_gym.cli import (
    bench,
    check,
    console,
    curriculum,
    describing,
    explore,
    info,
    options,
    results,
    runs,
    scenarios,
    train,
    worlds,
)
from piase_gym.cli import plugins as plugin_list
from piase_gym.cli.app import app
from piase_gym.cli.options import read_settings, read_value, split_pair, split_seat, write_file
from piase_gym.cli.play import read_partners
from piase_gym.errors import (
    AgentError,
    ConfigError,
    ScenarioError,
    UnknownNameError,
    UnsupportedError,
)
from piase_gym.testing.kit import Finding, Report
from tests import probes

probes.register()
Said = Callable[[], list[str]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Returns the lines that were printed since the last call."""
    return lambda: capsys.readouterr().out.splitlines()


def run(*words: str) -> tuple[int, str]:
    """Run `piase` in this process; return its exit code and what it printed."""
    done = CliRunner().invoke(app, words, prog_name="piase")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


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


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 32}, "1..32"),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}, "1..8"),
        ({"type": "integer", "minimum": 0}, "integer >= 0"),
        ({"type": "integer", "minimum": 0, "maximum": 2**31 - 1}, "integer >= 0"),
        ({"type": "integer", "minimum": 0, "maximum": 2**31 - 2}, "0..2147483646"),
        ({"type": "number", "minimum": 0.0, "maximum": 0.5}, "number 0..0.5"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "number > 0, <= 1"),
        ({"type": "number", "exclusiveMaximum": 2}, "number < 2"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "none"),
        ({}, "anything"),
        ({"enum": ["a", "b"]}, "a | b"),
        ({"const": 3}, "3"),
        ({"type": ["string", "null"]}, "string or none"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}, "string or none"),
        ({"oneOf": [{"type": "integer"}]}, "integer"),
        ({"type": "array", "items": {"type": "string"}}, "list of strings"),
        ({"type": "array", "items": {"type": "integer", "minimum": 1}}, "list of integer >= 1"),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 4},
            "list of strings, at least 1 and at most 4",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 4},
            "list of strings, at most 4",
        ),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}]},
            "(integer, none)",
        ),
        ({"type": "object", "properties": {"a": 1, "b": 2}}, "table of a, b"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "name -> number"),
        ({"$ref": "#/$defs/Way"}, "up | down"),
    ],
)
def test_what_a_field_allows_is_said_in_words(schema: dict[str, Any], words: str) -> None:
    known = {"Way": {"enum": ["up", "down"]}}
    assert describing.type_words(schema, known) == words


class Pay(BaseModel):
    """A table in a table."""

    goal: float = Field(1.0, description="For a goal.")


class Plan(BaseModel):
    """A config of its own."""

    name: str = Field(description="It has no default.")
    size: int = Field(3, ge=1, le=9, description="Cells.")
    pay: Pay = Field(default_factory=Pay)
    script: int = 0
    envelope: int = 0


def test_a_config_has_a_row_for_each_field() -> None:
    here = Plan(name="x", size=4, pay=Pay(goal=2.0))
    rows = list(describing.config_rows(Plan, here))
    assert [(row["key"], row["type"], row["default"], row["value"]) for row in rows] == [
        ("name", "string", None, "x"),
        ("size", "1..9", 3, 4),
        ("pay.goal", "number", 1.0, 2.0),
    ]
    assert [row["description"] for row in rows] == ["It has no default.", "Cells.", "For a goal."]
    assert [row["value"] for row in describing.config_rows(Plan, None)] == [None] * 3


def test_a_description_is_the_first_paragraph_of_its_part() -> None:
    class Told:
        """A world.

        ## Description

        It has
        rooms.

        And more.
        """

    class Short:
        """A world that
        is small.

        More.
        """

    assert describing.description(Told) == "It has rooms."  # type: ignore[arg-type]
    assert describing.description(Short) == "A world that is small."  # type: ignore[arg-type]


def test_info_describes_an_id_under_a_config() -> None:
    found = describing.describe("TextProbe", {"agents": 2})
    assert (found["name"], found["world"], found["agents"]) == (
        *("TextProbe", "TextProbe"),
        ["agent_0", "agent_1"],
    )
    assert found["actions"] == []  # what an index means depends on the state
    assert found["oracle"] is True
    assert {row["key"]: row["value"] for row in found["config"]}["agents"] == 2
    point = describing.describe("PointProbe", {})
    assert len(point["actions"]) == 5
    assert point["actions"][4] == "coast"
    assert point["spaces"]["continuous actions"] == "Box(-1..1, (2,), float32)"
    assert point["spaces"]["discrete actions"] == "Discrete(5), masked"
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
    monkeypatch.setattr(plugins, "package_of", lambda entry: "their_package")
    code, told = run("plugins")
    assert code == 1
    assert "PointProbe" in told
    assert "works" in told
    reason = plugin_list._try("agents", "no_such_agent", "their_package")
    assert str(reason).startswith("it cannot be loaded")
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


# -- what is typed ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "seat", "policy"),
    [
        ("oracle", None, "oracle"),
        ("agent_1=oracle", "agent_1", "oracle"),
        ("=oracle", "", "oracle"),
        ("*=a=b", "*", "a=b"),
        ("sb3:runs/lr=0.1/model.zip", None, "sb3:runs/lr=0.1/model.zip"),
    ],
)
def test_a_seat_is_before_the_first_equals_sign(word: str, seat: Any, policy: str) -> None:
    assert split_seat(word) == (seat, policy)


def test_a_pair_has_a_key_and_a_value() -> None:
    assert split_pair(" a =b=c", "no {!r}") == ("a", "b=c")
    assert split_pair("a=", "no {!r}") == ("a", "")
    for text in ("a", "=b", " =b"):
        with pytest.raises(ConfigError, match=f"^no '{text}'$"):
            split_pair(text, "no {!r}")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["agents=1", "agents=2"], "the setting 'agents' is given twice"),
        (["rewards={}", "rewards.goal=1"], "'rewards' and 'rewards.goal' set the same in part"),
        (["rewards.goal=1", "rewards={}"], "'rewards.goal' and 'rewards' set the same in part"),
        (["agents"], "'agents' is no setting; write key=value, such as max_steps=50"),
    ],
)
def test_settings_contradict_each_other(settings: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        read_settings("GridWorld", settings)


def test_words_are_read_as_far_as_a_field_takes_them() -> None:
    fields: dict[str, Any] = dict(Plan.model_fields)
    assert read_value("3", fields["size"]) == 3
    assert read_value("12", fields["size"]) == 12  # the config says what is wrong with it
    assert read_value("3", fields["name"]) == "3"
    assert read_value("none") is None
    assert read_value("(1, 2)") == (1, 2)
    assert read_value("a,b") == "a,b"
    assert list(options._readings("a, b,")) == ["a, b,", ["a", "b"]]
    assert list(options._readings("True")) == [True]
    assert list(options._readings("true")) == [True]
    assert list(options._readings("false")) == [False]
    assert list(options._readings("None")) == [None, None, "None"]


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


def test_partners_have_a_seat_each() -> None:
    assert read_partners("GridWorld", None) is None
    assert read_partners("GridWorld", ["oracle"]) == {"*": "oracle"}
    assert read_partners("PointProbe", ["noop"]) == {"*": "noop"}
    found = read_partners("GridWorld", ["random", "agent_2=noop"])
    assert found == {"*": "random", "agent_2": "noop"}
    with pytest.raises(ConfigError, match="--partners names 'agent_2' twice"):
        read_partners("GridWorld", ["agent_2=noop", "agent_2=random"])
    with pytest.raises(ConfigError, match=r"--partners names '\*' twice"):
        read_partners("GridWorld", ["noop", "random"])
    with pytest.raises(AgentError, match="'=noop' names no agent; write agent_1=noop"):
        read_partners("GridWorld", ["=noop"])
    with pytest.raises(ConfigError, match="you are the only person here"):
        read_partners("GridWorld", ["human"])
    with pytest.raises(UnsupportedError, match="PointProbe has no oracle"):
        read_partners("PointProbe", ["oracle"])


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


def test_policies_of_a_benchmark_have_names() -> None:
    given = ["random", "a=oracle", "a=noop", "models/best.zip", "b=models/x.zip"]
    assert bench.read_choices(given, ()) == {
        "random": ["random"],
        "a": ["oracle", "noop"],
        "best": ["models/best.zip"],
        "b": ["models/x.zip"],
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


def test_a_director_is_a_name_or_a_file(tmp_path: Path) -> None:
    assert curriculum.read_director(None) is None
    assert curriculum.read_director("fixed") == "fixed"
    path = tmp_path / "mine.YAML"
    path.write_text("type: fixed\nseed: 3\n")
    assert curriculum.read_director(str(path)) == {"type": "fixed", "seed": 3}
    with pytest.raises(ScenarioError):
        curriculum.read_director(str(tmp_path / "none.yaml"))


# -- runs of scenarios -----------------------------------------------------------------------------


def summary(won: bool, steps: int, value: float) -> Any:
    """Return as much of a summary as a sum needs."""
    results = {"ann": "won" if won else "lost"}
    return SimpleNamespace(won=won, steps=steps, returns={"ann": value}, results=results)


def test_episodes_are_summed_up(said: Said) -> None:
    found = [summary(True, 4, 1.0), summary(False, 9, -0.5)]
    scenarios._print_sum(found, "so far: ")
    assert said() == [
        "so far: 1 of 2 episodes won",
        "  mean length 6.5 steps (4 to 9)",
        "  ann: won 1, mean return 0.25 (-0.5 to 1)",
    ]
    scenarios._print_sum([], "")
    assert said() == ["0 of 0 episodes won"]
    assert scenarios._progress([], 3) == "episode 1 of 3"
    assert scenarios._progress(found, 3) == "episode 3 of 3: 1 of 2 won, mean length 6.5"


def test_strict_takes_warnings_for_errors() -> None:
    name = "lost_key"
    assert run("scenario", "lint", name)[0] == 0
    code, told = run("scenario", "lint", "--strict", name)
    assert code == 1
    assert "(warning)" in told
    sound = next(n for n in piase_gym.scenarios.names() if not piase_gym.scenarios.load(n).warnings)
    code, told = run("scenario", "lint", "--strict", sound)
    assert code == 0
    found = piase_gym.scenarios.load(sound)
    assert told == f"{sound}: {found.title}, a scenario of {found.world}: ok\n"


def test_a_strict_lint_of_a_fault_and_a_warning_fails(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("scenario_name: x\nenvironment_type: TextRoom\nwin: 1\n")
    assert run("scenario", "lint", "--strict", str(path), "lost_key")[0] == 1
    assert run("scenario", "lint", str(path))[0] == 1


def test_a_new_scenario_is_a_yaml_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a new scenario is a \.yaml file, not 'a.txt'"):
        run("scenario", "new", "a.txt")
    path = tmp_path / "my_story.yml"
    code, told = run("scenario", "new", str(path))
    assert (code, told) == (0, f"wrote {path}; try: piase run {path} --agent oracle\n")
    assert "My Story" in path.read_text("utf-8")


def test_references_are_written_where_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from piase_gym.benchmarks.references import measure

    given: dict[str, Any] = {}

    def play(**named: Any) -> Any:
        given.update(named)
        return {"settings": {"a": 1, "b": 2}}, []

    written: list[Any] = []
    monkeypatch.setattr(measure, "measure_references", play)
    monkeypatch.setattr(measure, "write_references", lambda *words: written.append(words))
    out = tmp_path / "mine.json"
    code, told = run("bench", "references", "--out", str(out), "-n", "3", "-p", "a=noop")
    assert code == 0
    assert written == [(out, {"settings": {"a": 1, "b": 2}})]
    assert "2 tasks are in" in told
    assert (given["episodes"], given["policies"], given["stored"]) == (3, {"a": ["noop"]}, None)
    with pytest.raises(ConfigError, match="is a folder; name the file to write"):
        run("bench", "references", "--out", str(tmp_path))


def test_a_run_is_shown_and_summed_up() -> None:
    words = ("run", "lost_key", "--agent", "oracle", "--episodes", "2")
    code, told = run(*words)
    assert code == 0
    assert told.count("The Lost Key: won after 7 steps") == 2
    assert "2 of 2 episodes won\n  mean length 7.0 steps (7 to 7)\n" in told
    plain = run(*words[:4])[1]
    assert "episodes won" not in plain
    shown = run(*words[:4], "--render", "text")[1]
    assert shown.count("You are PiaAgent_001") == 7  # before each step; then nobody reads
    with pytest.raises(ConfigError, match="unknown --render 'film'"):
        run(*words[:4], "--render", "film")
    with pytest.raises(ConfigError, match="are for language models; none plays here"):
        run(*words[:4], "--tokens", "10")


# -- logs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of an episode of seven steps."""
    path = tmp_path_factory.mktemp("logs") / "run.jsonl"
    assert run("run", "lost_key", "--agent", "oracle", "--log", str(path))[0] == 0
    return path


def test_a_log_is_replayed_checked_and_counted(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.console, "_width", 200)
    report = piase_gym.runs.replay(log)
    assert run("replay", str(log)) == (0, f"{report.verdict}: {report}\n")
    assert run("validate", str(log)) == (0, f"{piase_gym.runs.validate(log)}\n")
    code, told = run("stats", str(log))
    assert code == 0
    lines = len(log.read_text("utf-8").splitlines())
    assert f"{lines} lines" in told
    cells = [[cell.strip() for cell in line.split("│")] for line in told.splitlines()]
    (row,) = [row[1:-1] for row in cells if "PiaAgent_001" in row]
    assert row[:5] == ["PiaAgent_001", "1", "1", "0", "0"]
    assert row[-1] == "7.0"


def test_a_log_that_is_damaged_fails(log: Path, tmp_path: Path) -> None:
    lines = log.read_text("utf-8").splitlines(keepends=True)
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(lines[: len(lines) // 2]) + "{\n", "utf-8")
    assert run("validate", str(broken))[0] == 1
    assert "1 lines could not be read" in run("stats", str(broken))[1]


def test_a_run_is_forked(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    class Forked:
        before, after, parted = (1.0, 2.0), (1.5, 1.0), (3, None)

        def __str__(self) -> str:
            return "in short"

    def fork(path: Path, at: int, **given: Any) -> Any:
        asked.update(given, path=path, at=at)
        return Forked()

    monkeypatch.setattr("piase_gym.runs.fork", fork)
    code, told = run(
        *("fork", str(log), "--at", "3", "--action", "ann=4", "--action", "bob=go north"),
        *("--message", "ann=hello", "--hint", "bob=look", "--policy", "ann=noop"),
        *("--player", "bob=random", "--pairs", "2", "--vary", "dynamics", "--slot", "1"),
    )
    assert code == 0
    assert asked == {
        "path": log,
        "at": 3,
        "actions": {"ann": 4, "bob": "go north"},
        "messages": {"ann": "hello"},
        "hints": {"bob": "look"},
        "policies": {"ann": "noop"},
        "players": {"bob": "random"},
        "pairs": 2,
        "vary": ["dynamics"],
        "metric": "return",
        "agent": None,
        "slot": 1,
        "logs": None,
    }
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in told.splitlines()]
    assert ["0", "1.000", "1.500", "+0.500", "step +3"] in cells
    assert ["1", "2.000", "1.000", "-1.000", "never"] in cells
    assert told.endswith("in short\n")
    with pytest.raises(ConfigError, match=r"--hint takes AGENT=VALUE, .* not 'look'"):
        runs._pairs("hint", ["look"])


def test_a_run_is_exported_and_drawn(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run.csv"
    assert run("export", str(log), str(out)) == (0, f"saved {out}\n")
    assert out.stat().st_size > 0
    kept: list[Any] = []

    def preferences(*given: Any, **named: Any) -> str:
        kept.append((given, named))
        return "pairs.jsonl"

    monkeypatch.setattr("piase_gym.runs.preferences", preferences)
    code, told = run("export", str(log), "pairs.jsonl", "--format", "preferences", "--overwrite")
    assert (code, told) == (0, "saved pairs.jsonl\n")
    assert kept == [((log, "pairs.jsonl"), {"overwrite": True})]
    monkeypatch.setattr("piase_gym.runs.export", lambda *_, **__: ["a.csv", "b.csv"])
    assert run("export", str(log), str(out)) == (0, "saved a.csv, b.csv\n")
    given: dict[str, Any] = {}

    def render(path: Path, place: Path, **named: Any) -> Path:
        given.update(named)
        return place

    monkeypatch.setattr("piase_gym.runs.render", render)
    assert run("render", str(log), "--from", "2", "--to", "5") == (0, "saved run.gif\n")
    expected = {"fps": 4, "slot": 0, "start": 2, "stop": 5, "overwrite": False}
    assert given == expected
    monkeypatch.setattr("piase_gym.runs.plot", lambda path, out, **_: out)
    assert run("plot", str(log)) == (0, "saved run.png\n")


# -- training --------------------------------------------------------------------------------------


def test_a_training_says_where_it_is(said: Said) -> None:
    bar = console.StepBar("first look", 100)
    report = train.report_to(bar, 100)
    report(SimpleNamespace(total=128, steps=64, train=None, dev=0.5, best=0.75))  # type: ignore[arg-type]
    report(SimpleNamespace(total=128, steps=128, train=0.25, dev=0.5, best=0.75))  # type: ignore[arg-type]
    assert said() == [
        "100 steps are rounded up to 128: to whole updates",
        "64 of 128 steps: dev seeds 50%, best 75%",
        "128 of 128 steps: training 25%, dev seeds 50%, best 75%",
    ]


def test_what_came_of_a_training_is_a_table(said: Said) -> None:
    import typer

    result: Any = SimpleNamespace(
        reason="budget used",
        steps=2048,
        dev=0.5,
        wilson95=(0.4, 0.6),
        best_steps=1024,
        cpu_seconds=1234.6,
        name="ppo:x.zip",
    )
    train.show(result, Path("runs/x"))
    told = "\n".join(said())
    for words in (
        "budget used after 2,048 steps",
        "50.0% (40.0% to 60.0%)",
        "1,024 steps",
        "1,235",
    ):
        assert words in told
    result.reason = "interrupted"
    with pytest.raises(typer.Exit) as caught:
        train.show(result, Path("runs/x"))
    assert caught.value.exit_code == 130
    assert said()[-1] == "Go on with: piase train ... --out runs/x --resume"


def test_settings_of_a_training_are_given_once() -> None:
    from piase_gym.training.settings import TrainSettings

    read = train.read_options
    assert read(None, TrainSettings, {}) == {}
    name = next(key for key in TrainSettings.model_fields if key not in ("task", "config"))
    with pytest.raises(ConfigError, match=f"the setting '{name}' is given twice"):
        read([f"{name}=1"], TrainSettings, {name: 1})
    with pytest.raises(ConfigError, match="the setting 'task' is given twice, or has an option"):
        read(["task=1"], TrainSettings, {})
    with pytest.raises(ConfigError, match="unknown setting 'epoks'"):
        read(["epoks=1"], TrainSettings, {})
    with pytest.raises(ConfigError, match="'epochs' is no setting; write key=value"):
        read(["epochs"], TrainSettings, {})


def look(**more: Any) -> Any:
    """Return where a training through a curriculum is."""
    base = {"order": 2, "name": "walk", "attempt": 3, "outcome": "running", "ended": 4}
    return SimpleNamespace(**{**base, "wanted": 9, "won": 0.5, "episodes": 1200, **more})


def test_a_training_through_a_curriculum_says_where_it_is() -> None:
    drawn = curriculum.told(look(), True)
    assert drawn == "steps are drawn, 50% of the last 1,200 episodes won"
    here = "step 2 'walk', attempt 3"
    assert curriculum.told(look(decided=None), False) == f"{here}: 4 of 9 episodes"
    assert curriculum.told(look(decided=None, outcome="completed"), False) == here
    decided = SimpleNamespace(step=2, attempt=2, values={"success_rate": 0.25})
    words = curriculum.told(look(decided=decided), False)
    assert words.startswith(f"{here}: 4 of 9 episodes, ")
    assert "25%" in words or "50%" in words
