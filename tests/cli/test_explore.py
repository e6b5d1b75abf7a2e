"""`piase explore`: what is shown, what is refused, what is logged."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from piase_gym import runs
from piase_gym.agents.explorer import Decision
from piase_gym.cli import app, explore
from piase_gym.cli.explore import picture, read_deciders
from piase_gym.errors import ConfigError, PiaseError, UnknownNameError
from piase_gym.simulation import Exploration
from tests.helpers.cli_runner import ESCAPE, OnTerminal

pytest.importorskip("faiss")


def run(*words: str) -> str:
    done = CliRunner().invoke(app, ["explore", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0
    return done.output


class Says:
    """Stays where it is and says what it is told."""

    def __init__(self, message: str, reason: str) -> None:
        self.message, self.reason = message, reason

    def begin(self, shared: Any) -> None:
        """Nothing takes time here."""

    def __call__(self, shared: Any) -> Decision:
        return Decision("stay", self.reason, self.message)


def shown(team: Exploration, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the picture as a terminal of 80 columns and 24 rows gets it."""
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    monkeypatch.setattr(explore, "console", console)
    console.print(picture(team), end="")
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("place", [{"backend": "mock"}, {}, {"agents": 4}])
def test_the_picture_fits_into_a_terminal(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Exploration("ObjectSearch", **{"agents": 2, "seed": 0, **place})
    team.initialize()
    goes_on = True
    while True:
        rows = ESCAPE.sub("", shown(team, monkeypatch)).split("\n")
        assert len(rows) <= 24
        assert max(map(len, rows)) <= 80
        if not goes_on:
            break
        goes_on = team.step()
    wide = max(map(len, team.map.lines))
    first = next(row for row in rows if row.startswith(team.map.lines[0]))
    assert re.match(r" {3}agent_0 at \S+: \w", first[wide:])  # beside the map
    text = "\n".join(rows)
    for name in team.findings().objects:
        assert name in text
    assert re.search(r"agent_\d: I found", text)
    assert all(line.rstrip() in text for line in team.map.lines)


@pytest.mark.parametrize(
    "evil",
    [
        "\x1b[2J\x1b]0;title\x07[bold red]found[/] :smile: it",
        "a\nb\r\nc\x00d",
        "x" * 900,
        "\u202egnp",
    ],
)
def test_what_agents_say_is_shown_as_it_is(evil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    team = Exploration(
        "ObjectSearch", {"*": "rules", "agent_1": Says(evil, evil)}, backend="mock", agents=2
    )
    team.initialize()
    team.step()
    text = shown(team, monkeypatch)
    codes = set(re.findall(r"\x1b\[[0-9;]*(.)", text))
    assert codes <= {"m"}
    assert not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\u202e]", text)
    rows = ESCAPE.sub("", text).split("\n")
    assert len(rows) <= 24
    assert max(map(len, rows)) <= 80
    if "[bold" in evil:
        assert "agent_1: [bold red]found[/] :smile: it" in ESCAPE.sub("", text)


def test_no_terminal_gets_the_findings_only(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    words = ("--backend", "mock", "--agents", "3", "--seed", "5", "--steps", "9", "--log", str(log))
    text = run(*words)
    assert text == run(*words[:-2])
    assert text.startswith("9 steps with seed 5; the explorers stopped\nobjects seen: ")
    assert "\x1b" not in text
    report = runs.replay(log)
    assert (report.verdict, report.steps) == ("sound", 9)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
def test_a_terminal_gets_the_map_live() -> None:
    with OnTerminal("explore", "--backend", "mock", "--pause", "0") as game:
        game.expect("ObjectSearch, step 3, seed 0", "agent_0: I found keyboard at position 0")
        game.expect("20 steps with seed 0")
        assert game.finish() == 0


@pytest.mark.parametrize(
    ("words", "error", "told"),
    [
        (("--decide", "llm"), ConfigError, "--model"),
        (("--model", "small"), ConfigError, "--decide llm"),
        (("--base-url", "http://127.0.0.1:1/v1"), ConfigError, "--decide llm"),
        (("--decide", "rules", "--decide", "rules"), ConfigError, "twice"),
        (("--decide", "nobody"), UnknownNameError, "nobody"),
        (("--decide", "agent_7=rules"), PiaseError, "agent_7"),
        (("--backend", "unity"), ConfigError, "backend"),
        (("--backend", "mock", "-c", "backend=house"), ConfigError, "same"),
        (("--agents", "2", "-c", "agents=3"), ConfigError, "same"),
        (("GridWorld", "--backend", "mock"), ConfigError, "backend"),
        (("--tokens", "9"), ConfigError, "language models"),
        (("Nowhere",), UnknownNameError, "Nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: tuple[str, ...], error: type[PiaseError], told: str
) -> None:
    with pytest.raises(error, match=told):
        run(*words)


def test_deciders_are_read() -> None:
    assert read_deciders(None, None, None) == {"*": "rules"}
    words = ["agent_1=llm", "random"]
    found = read_deciders(words, "small", "http://127.0.0.1:1/v1")
    assert found == {"agent_1": "llm:small@http://127.0.0.1:1/v1", "*": "random"}
