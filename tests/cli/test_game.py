"""The parts of `piase play` in a terminal: keys, lines and the screen, with a simple game."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

import piase_gym
from piase_gym.cli.game import loops, screen
from piase_gym.cli.game.loops import KeyLoop, LineLoop, Terminal, complete, game_word
from piase_gym.core.commands import Command, InvalidAction, Outcome, Result
from piase_gym.play.session import Choice, CommandResult, Game
from tests import probes
from tests.helpers.games import BEST, do, make


@pytest.fixture
def game() -> Iterator[Game]:
    """The first level of a lane."""
    game = Game(make, ("GridWorld",), 5)
    game.start(1)
    yield game
    game.close()


# -- a full screen ---------------------------------------------------------------------------------


class Keys(KeyLoop):
    """A game by keys, on a screen that nobody sees."""

    def __init__(self, game: Game, told: bool = False) -> None:
        console = Console(file=io.StringIO(), width=100, height=30, force_terminal=True)
        super().__init__(game, console, False)
        self.told = told

    def press(self, *keys: str) -> bool:
        for key in keys:
            self._now = self._choices()
            going = self._press(key)
        return going


@pytest.fixture
def keys(game: Game) -> Keys:
    """A game by keys."""
    return Keys(game)


def test_keys_play_a_level(keys: Keys) -> None:
    assert keys.press("right", "d", "right")
    assert keys.game.steps == 3
    assert keys.press("down")
    assert keys.game.result is Result.WON
    assert keys._choices() == []
    assert keys.press("x", "right")
    assert (keys.game.level, keys.game.steps) == (1, 4)
    assert keys.press("enter")
    assert keys.game.level == 2
    assert str(keys.game.result) == "None"
    keys.press("right", "r")
    assert (keys.game.level, keys.game.steps) == (2, 0)
    keys.press("n")
    assert keys.game.level == 3
    assert keys.press("q") is False
    assert keys.press("end") is False


def test_a_space_goes_on_too(keys: Keys) -> None:
    keys.press("right", "right", "right", "down", " ")
    assert keys.game.level == 2


def test_help_is_scrolled_and_left(keys: Keys) -> None:
    pages = []
    for key in ("h", "down", "page down", " ", "up", "page up", "page up", "down", "x"):
        assert keys.press(key)
        pages.append(keys.screen.page)
    assert pages == [0, 1, 11, 21, 20, 10, 0, 1, None]
    assert keys.game.steps == 0


def test_the_text_is_shown_wide_and_back(keys: Keys) -> None:
    keys.press("t")
    assert keys.screen.wide_text
    keys.press("t")
    assert not keys.screen.wide_text


def test_a_key_that_does_nothing_says_so(keys: Keys) -> None:
    keys.press("z")
    assert keys.screen.note == "z does nothing here; h explains the keys"
    keys.press("escape")
    assert keys.screen.note == ""
    keys.press("z", " ")
    assert keys.screen.note == ""
    keys.press("left")
    assert keys.game.steps == 1 or keys.screen.note


def test_a_line_is_typed_completed_and_changed(keys: Keys) -> None:
    keys.press(":")
    typed = []
    for key in ("m", "O", "tab", "r", "backspace", "x", "clear", "y", "\x01", "left", "backspace"):
        keys.press(key)
        typed.append(keys.screen.typed)
    assert typed == ["m", "mO", "move ", "move r", "move ", "move x", "", "y", "y", "y", ""]
    keys.press("right")  # of an empty line, arrows keep their meaning
    assert (keys.game.steps, keys.screen.typed) == (1, "")
    keys.press("backspace")
    assert keys.screen.typed is None
    keys.press("enter")
    assert keys.screen.typed == ""
    keys.press("x", "escape")
    assert keys.screen.typed is None
    keys.press("enter", *" stay ", "enter")
    assert (keys.screen.typed, keys.game.steps) == (None, 2)
    keys.press("enter", "enter")
    assert (keys.screen.typed, keys.game.steps, keys.screen.note) == (None, 2, "")
    for line in ("fly", "map"):  # the map is always shown here
        keys.screen.note = ""
        keys.press(":", *line, "enter")
        assert keys.game.steps == 2
        assert keys.screen.note


def test_a_level_that_is_won_by_typing_goes_on_by_keys(keys: Keys) -> None:
    keys.press("right", "right", "right", ":", "down")
    assert keys.game.result is Result.WON
    assert keys.screen.typed is None


def test_a_told_world_is_played_by_lines() -> None:
    told = Game(
        lambda task: piase_gym.gym_env(task, view="text", actions="text"),
        ("piase/TextRoom-LostKey-v3",),
        1,
    )
    told.start(1)
    parts = (screen.GAME_KEYS_HELP, screen.TOLD_HELP, screen.LINE_WORDS_HELP)
    for by_lines in (False, True):
        words = screen.help_text(told, by_lines)
        assert [part in words for part in parts] == [not by_lines, not by_lines, by_lines]
    keys = Keys(told)
    assert keys.screen.typed == ""
    assert keys.screen.wide_text
    keys.press(*"MAP", "enter")
    assert not keys.screen.wide_text
    keys.press(*"m", "enter")
    assert keys.screen.wide_text
    keys.press(*"next", "enter")
    assert (told.level, keys.screen.typed) == (2, "")
    keys.press("enter")
    assert told.steps == 0
    assert keys.press(*"quit", "enter") is False
    keys.press("escape")
    assert keys.screen.typed is None
    keys.press("n")
    assert keys.screen.typed == ""
    assert screen.line_hints(200)[0].plain == (
        "type a command, or:   help    map    again    next    quit    Tab completes   "
        "Esc single keys"
    )
    told.close()


def test_what_a_line_means_to_the_game() -> None:
    """A word of the world's own comes first, unless keys are keys or the level is over."""
    own = SimpleNamespace(read=lambda me, line: Command("go", {"to": "north"}))
    game: Any = SimpleNamespace(choices=SimpleNamespace(fixed=False), result=None, world=own, me=0)
    assert game_word(game, "n") == ""
    assert game_word(game, ":n") == "next"
    assert game_word(game, " Quit ") == ""
    assert game_word(game, "open") == ""
    game.choices.fixed = True
    assert game_word(game, "N") == "next"
    assert game_word(game, "next") == ""
    game.choices.fixed, game.result = False, Result.WON
    assert game_word(game, "restart") == "again"
    own.read = lambda me, line: InvalidAction(Outcome.UNPARSABLE, "What?")
    game.result = None
    words = {word: game_word(game, word) for word in ("?", "h", "exit", "r", "again", "next")}
    expected = ["help", "help", "quit", "again", "again", "next"]
    assert list(words.values()) == expected


def test_lines_agree_as_far_as_they_do() -> None:
    assert complete("t", ["take cup", "take cap", "tell ann"]) == "t"
    assert complete("ta", ["take cup", "take cap"]) == "take c"
    assert complete("TA", ["take cup", "Take cap"]) == "TA"


# -- lines -----------------------------------------------------------------------------------------


class Lines(LineLoop):
    """A game by lines, which keeps what it prints."""

    def __init__(self, game: Game, terminal: bool = False) -> None:
        self.out = io.StringIO()
        console = Console(file=self.out, width=200, force_terminal=terminal, highlight=False)
        super().__init__(game, console, False)
        self._show()
        self.said()

    def said(self) -> str:
        text = self.out.getvalue()
        self.out.seek(0)
        self.out.truncate()
        return text


def test_lines_play_a_level(game: Game) -> None:
    lines = Lines(game)
    assert lines._take("d")
    assert lines.said().startswith("move east: ok  -0.1\n")
    assert lines._take("move right")
    assert lines._take(":move right")
    assert lines._take("")
    assert game.steps == 3
    lines.said()
    assert lines._take("s")
    told = lines.said()
    assert "★★★  You won in 4 steps; nobody can do it in fewer. Perfect!" in told
    assert told.endswith("next, restart or quit?\n")
    assert lines._take("move left")
    assert lines.said() == "The level is over: next, restart or quit?\n"
    assert lines._take("")
    assert (game.level, game.steps) == (2, 0)
    assert "level 2 (seed 6)  step 0/" in lines.said()
    assert lines._take("h")
    assert "Every level has its own seed." in lines.said()
    assert lines._take("q") is False


def test_a_picture_is_shown_unless_one_plays_blind(game: Game) -> None:
    lines = Lines(game)
    lines._show()
    told = lines.said()
    assert game.world.ansi() in told
    assert game.world.text(game.env.facts()) in told
    lines.screen.blind = True
    lines._show()
    told = lines.said()
    assert game.world.ansi() not in told
    assert game.world.text(game.env.facts()) in told


def test_numbers_are_a_point_of_the_box() -> None:
    probes.register()
    game = Game(
        lambda task: piase_gym.gym_env(task, view="text", actions="text"), ("PointProbe",), 0
    )
    game.start(1)
    assert game.read("0.5, -1") == Command("thrust", {"x": 0.5, "y": -1.0})
    assert game.read("9 0") == Command("thrust", {"x": 1.0, "y": 0.0})
    assert isinstance(game.read("1"), InvalidAction)
    assert game.read("coast") == Command("coast")
    game.close()


def test_a_line_that_is_refused_costs_nothing(game: Game) -> None:
    lines = Lines(game)
    lines._take("fly away")
    assert game.steps == 0
    assert lines.said().strip()
    lines._take("x")
    assert game.steps == 0


def test_lines_end_with_the_input(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    class Typist(io.StringIO):
        def isatty(self) -> bool:
            return True

    lines = Lines(game)
    monkeypatch.setattr("sys.stdin", Typist("d\nq\nd\n"))
    lines.run()
    assert game.steps == 1
    assert lines.said().count("1 stay\n> ") == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("d\n"))
    lines.run()
    assert game.steps == 2
    assert "1 stay\n> " not in lines.said()
    monkeypatch.setattr("sys.stdin", None)
    lines.run()
    assert game.steps == 2


# -- the terminal ----------------------------------------------------------------------------------


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Terminal, int]]:
    """A terminal that reads a pipe, and where to write its keys."""
    out, into = os.pipe()
    with os.fdopen(out) as stdin, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        patch.setattr(loops, "PATIENCE", 0.01)
        yield Terminal(), into
    os.close(into)


@pytest.mark.parametrize(
    ("code", "keys"),
    [
        ("a\r\n\t\x7f\b", ["a", "enter", "enter", "tab", "backspace", "backspace"]),
        ("\x04\x15\x1a", ["end", "clear", "suspend"]),
        ("\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]),
        ("\x1bOA\x1bOB\x1bOC\x1bOD", ["up", "down", "right", "left"]),
        ("\x1b[5~\x1b[6~é", ["page up", "page down", "é"]),
        ("\x1b", ["escape"]),
        ("\x1bx", ["escape", "x"]),
        ("\x1b[1;5Cq", ["", "q"]),
    ],
)
def test_keys_are_read_one_by_one(typed: tuple[Terminal, int], code: str, keys: list[str]) -> None:
    terminal, into = typed
    os.write(into, code.encode())
    assert [terminal.key(0.2) for _ in keys] == keys
    assert terminal.key(0.0) is None


def test_a_letter_and_the_code_of_a_key_may_come_in_two_parts(
    typed: tuple[Terminal, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal, into = typed
    with monkeypatch.context() as patch:
        patch.setattr(loops, "PATIENCE", 10.0)
        os.write(into, b"\x1b[")
        rest = threading.Timer(0.05, os.write, (into, b"A"))
        rest.start()
        assert terminal.key(0.2) == "up"
        rest.join()
    os.write(into, b"\xc3")
    assert terminal.key(0.05) is None
    os.write(into, b"\xa9")
    assert terminal.key(0.2) == "é"


def test_a_signal_is_an_orderly_exit() -> None:
    with pytest.raises(SystemExit) as caught:
        loops._leave(signal.SIGTERM, None)
    assert caught.value.code == 143


@pytest.mark.parametrize(
    ("term", "stdin", "stdout", "can"),
    [
        ("xterm", True, True, True),
        ("xterm", False, True, False),
        ("xterm", True, False, False),
        ("dumb", True, True, False),
        ("", True, True, False),
        ("xterm", None, True, False),
        ("xterm", True, None, False),
    ],
)
def test_keys_need_a_terminal(
    term: str, stdin: Any, stdout: Any, can: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stream(terminal: Any) -> Any:
        return None if terminal is None else SimpleNamespace(isatty=lambda: terminal)

    monkeypatch.setenv("TERM", term)
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdin", stream(stdin))
        patch.setattr("sys.stdout", stream(stdout))
        found = loops.can_read_keys()
    assert found is (can and loops.HAS_KEYS)


# -- what is drawn ---------------------------------------------------------------------------------


def test_the_head_tells_where_one_is(game: Game) -> None:
    limit = game.world.config.longest
    assert screen.head_line(game).plain == (
        f" GridWorld   level 1 (seed 5)  step 0/{limit}  par 4  score 0.00"
    )
    do(game, *BEST)
    game.par = None
    told = f" GridWorld   level 1 (seed 5)  step 4/{limit}  score {game.score:.2f}  ★ 3"
    assert screen.head_line(game).plain == told


def test_what_came_of_a_command_is_a_line() -> None:
    turn = CommandResult("go north", Outcome.FAILED, -0.5, "The door is shut.", ("open_door",))
    first, second = screen.turn_lines(turn)
    assert first.plain == "go north: no effect  -0.5  ✓ open door"
    assert second.plain == "The door is shut."
    assert [str(span.style) for span in first.spans] == [
        *("bold", "yellow", "bold bright_yellow"),
    ]
    (line,) = screen.turn_lines(CommandResult("stay", Outcome.OK, 2.0))
    assert line.plain == "stay: ok  +2"
    assert str(line.spans[-1].style) == "bold green"
    (line,) = screen.turn_lines(CommandResult("wait", Outcome.OK, -0.0100002))
    assert line.plain.endswith("  -0.01")
    (line,) = screen.turn_lines(CommandResult("wait", Outcome.OK, -0.0004))
    assert line.plain.endswith("  -0.0004")
    (line,) = screen.turn_lines(CommandResult("fly", Outcome.ILLEGAL, 0.0))
    assert line.plain == "fly: illegal  +0"
    assert [str(span.style) for span in line.spans] == ["bold", "bold red"]


def test_stars_are_shown_of_a_win() -> None:
    ended: Any = SimpleNamespace(result=Result.WON, stars=lambda: 2, steps=9, par=6, score=1.0)
    ended.reference, ended.best_steps = (lambda: None), (lambda: 6)
    (line,) = screen.end_lines(ended)
    assert line.plain == "★★☆  You won in 9 steps; 6 would do. Your score: 1.00."
    ended.result = Result.LOST
    (line,) = screen.end_lines(ended)
    assert line.plain.startswith("You lost")
    assert str(line.spans[-1].style) == "bold red"


def lines_of(keys: list[Text]) -> list[str]:
    """Return lines as plain words."""
    return [line.plain for line in keys]


def test_keys_are_listed_as_many_as_fit() -> None:
    rows = [Choice(str(n), Command("do"), f"do {n}", n % 2 == 0) for n in range(26)]
    game: Any = SimpleNamespace(result=None, world=SimpleNamespace(picture_reveals=False))
    lines = lines_of(screen.key_lines(rows, game, 40))
    assert lines[0] == "0 do 0   1 do 1   2 do 2   3 do 3"
    assert all(len(line) <= 40 for line in lines)
    words = "   ".join(lines)
    assert words.endswith(
        "23 do 23   and 2 more   : type   h help   t text   r again   n skip   q quit"
    )
    assert "24 do" not in words
    assert "more" not in "   ".join(lines_of(screen.key_lines(rows[:24], game, 40)))
    game.world.picture_reveals = True
    assert "t map" in lines_of(screen.key_lines([], game, 90))[0]
    game.result = Result.WON
    ends = ["Enter next level   r again   h help   q quit"]
    assert lines_of(screen.key_lines(rows, game, 80)) == ends


def test_what_is_illegal_is_struck_out() -> None:
    (line,) = screen._flow([("1", "stay", True), ("2", "fly", False)], 80)
    assert line.plain == "1 stay   2 fly"
    styles = [(line.plain[span.start : span.end], str(span.style)) for span in line.spans]
    assert styles == [("1", "bold cyan"), ("2", "dim"), ("fly", "dim strike")]
    exact = screen._flow([("", "a" * 10, True), ("", "b" * 7, True)], 20)
    assert lines_of(exact) == ["a" * 10 + "   " + "b" * 7]
    assert len(screen._flow([("", "a" * 10, True), ("", "b" * 8, True)], 20)) == 2


PICTURE = (
    "#####\n#>.G#\n#.k<#\n#####\n\n# wall   . floor   G goal\n> ann at (1, 1)\n< bob at (3, 2)"
)


def styles(text: Text, number: int) -> dict[str, str]:
    """Return the style of each sign in a line of a picture, by its place and the sign."""
    line = text.split("\n")[number]
    return {f"{span.start}{line.plain[span.start]}": str(span.style) for span in line.spans}


def test_a_map_is_drawn_in_colours() -> None:
    drawn = screen.paint(PICTURE, "ann", ("ann", "bob"), 60, 20)
    assert drawn.plain.split("\n") == [
        "██████████",
        "██> · G ██",
        "██· k < ██",
        "██████████",
        "",
        "█ wall   · floor   G goal",
        "> ann at (1, 1)",
        "< bob at (3, 2)",
    ]
    first = styles(drawn, 1)
    assert first["2>"] == screen.OWN
    assert (first["4·"], first["6G"]) == ("grey35", "bright_green")
    second = styles(drawn, 2)
    assert (second["4k"], second["6<"]) == ("bright_yellow", screen.OTHERS)
    legend = styles(drawn, 5)
    assert (legend["0█"], legend["9·"], legend["19G"]) == ("grey50", "grey35", "bright_green")
    assert styles(drawn, 6) == {"0>": screen.OWN, "2a": "bold"}
    assert styles(drawn, 7) == {"0<": screen.OTHERS}


def test_the_own_line_is_the_first_below_a_map() -> None:
    drawn = screen.paint(PICTURE, "bob", ("ann", "bob"), 60, 20).plain.split("\n")
    assert drawn[5:] == ["█ wall   · floor   G goal", "< bob at (3, 2)", "> ann at (1, 1)"]


def test_a_map_that_is_too_wide_has_one_column_a_cell() -> None:
    row = "." * 20 + "^" + "." * 19
    picture = "\n".join(["." * 40, row, "." * 40, "", "^ ann at (20, 1)"])
    wide = screen.paint(picture, "ann", ("ann",), 80, 10).plain.split("\n")
    assert wide[1] == "· " * 20 + "^ " + "· " * 19
    narrow = screen.paint(picture, "ann", ("ann",), 79, 10).plain.split("\n")
    assert narrow[1] == "·" * 20 + "^" + "·" * 19
    cut = screen.paint(picture, "ann", ("ann",), 11, 10).plain.split("\n")
    assert cut[1] == "·····^·····"


def test_lines_above_a_map_stay_above() -> None:
    picture = "Step seven\n...\n.^.\n...\n\n^ ann at (1, 1)"
    drawn = screen.paint(picture, "ann", ("ann",), 40, 12).plain.split("\n")
    assert drawn == ["Step seven", "· · · ", "· ^ · ", "· · · ", "^ ann at (1, 1)", ""]
    two = "Step seven\n...\n...\n\nnobody"
    assert screen.paint(two, "ann", ("ann",), 40, 12).plain == two


def test_signs_of_two_letters_fill_a_cell() -> None:
    picture = "....\n..^0\n....\n\n^0 ann: at (1, 1)\nv1 bob, at home\nwall bob is no sign"
    assert screen._signs(picture.split("\n")[4:], ("ann", "bob")) == {"ann": "^0", "bob": "v1"}
    drawn = screen.paint(picture, "ann", ("ann", "bob"), 40, 12)
    assert drawn.plain.split("\n")[1] == "··^0"
    assert styles(drawn, 1)["2^"] == screen.OWN


def test_a_place_is_shown_in_the_middle_as_far_as_can_be() -> None:
    found = [screen._around(place, 10, 4) for place in (0, 1, 2, 3, 5, 8, 9)]
    assert found == [(0, 4), (0, 4), (0, 4), (1, 5), (3, 7), (6, 10), (6, 10)]
    assert screen._around(1, 3, 5) == (0, 5)


def test_colours_of_the_world_are_kept_and_cut() -> None:
    drawn = screen.paint("\x1b[31mred\x1b[0m field\nnext\nlast", "ann", ("ann",), 5, 2)
    assert drawn.plain == "red …\nnext"


def test_a_name_within_a_word_is_not_the_name() -> None:
    text = screen._draw_line("ann-2 and ann meet anna at x.ann", "ann", {})
    assert [(span.start, span.end) for span in text.spans] == [(10, 13)]


def test_a_sign_always_has_the_same_colour() -> None:
    assert screen.colour_of(" ") == ""
    assert screen.colour_of("L") == "bright_red"
    assert screen.colour_of("A") == screen.COLOURS[65 % 8]
