"""Draws the game: a full screen for keys, a few lines for pipes, pictures in colour."""

from __future__ import annotations

import re

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from piase_gym.core.commands import Outcome, Result
from piase_gym.play.session import LETTERS, STARS, Choice, CommandResult, Game, sentence

GOOD, BAD = "bold green", "bold red"
OUTCOMES = {Outcome.OK: "green", Outcome.FAILED: "yellow"}
WORDS = {Outcome.FAILED: "no effect"}
"""Other words for outcomes, where people would think of the whole level."""
ENDS = {Result.WON: GOOD, Result.LOST: BAD}
SHOWN_KEYS = 24
"""Most commands that are listed under the picture."""


class Screen:
    """The full screen.

    Attributes:
        game: The game.
        console: What it is drawn on.
        blind: Whether the picture is left out, so that the person knows what the agent knows.
        wide_text: Whether the text takes up the whole middle.
        note: A word to the person that is shown until the next key.
        typed: The line that is being typed, or None.
        page: First line of the help that is shown, or None if the game is.
    """

    def __init__(self, game: Game, console: Console, blind: bool) -> None:
        """Draw a game on a console."""
        self.game = game
        self.console = console
        self.blind = blind
        self.wide_text = game.world.picture_reveals
        self.note = ""
        self.typed: str | None = "" if game.world.picture_reveals else None
        self.page: int | None = None

    def draw(self, choices: list[Choice]) -> RenderableType:
        """Return the whole screen."""
        width, height = self.console.size
        if self.page is not None:
            return self._help(width, height)
        typing = self.game.world.picture_reveals and self.typed is not None
        keys = line_hints(width) if typing else key_lines(choices, self.game, width)
        last = [line for words in self._last() for line in words.wrap(self.console, width)]
        foot = Group(*last, *keys)
        used = 2 + len(last) + len(keys)
        layout = Layout()
        layout.split_column(
            Layout(head_line(self.game), size=1),
            Layout(self._middle(width, max(3, height - used)), name="middle"),
            Layout(foot, size=used - 1),
        )
        return layout

    def _middle(self, width: int, height: int) -> RenderableType:
        """Return picture and text side by side, or one above the other."""
        words = Text(self.game.world.text(self.game.env.facts()))
        if self.blind or self.wide_text:
            return Panel(words, title=f"what {self.game.name} reads", border_style="grey50")
        half = max(20, width // 2)
        world = self.game.world
        picture = paint(world.ansi(), self.game.name, world.agents, half, height)
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(width=half, no_wrap=True)
        table.add_column(ratio=1)
        wrapped = words.wrap(self.console, max(10, width - half - 2))
        cut = [*wrapped[: height - 1], Text("… (t shows all)", "dim")]
        shown = Text("\n").join(wrapped if len(wrapped) <= height else cut)
        shown.stylize("grey70")
        table.add_row(picture, shown)
        return table

    def _last(self) -> list[Text]:
        """Return what was last said: the outcome, the end, a note, the line being typed."""
        game, lines = self.game, [Text(" ")]
        lines += goal_lines(game) if game.turn is None else turn_lines(game.turn)
        if game.result is not None:
            lines += end_lines(game)
        if self.note:
            lines.append(Text(self.note, "yellow"))
        if self.typed is not None:
            lines.append(Text.assemble((": ", "bold"), self.typed, ("▏", "bold")))
        return lines

    def _help(self, width: int, height: int) -> RenderableType:
        """Return the rules, from the line `page` on."""
        words = Text(help_text(self.game))
        lines = list(words.wrap(self.console, width - 4))
        room = height - 3
        first = max(0, min(self.page or 0, len(lines) - room))
        self.page = first
        more = "↓ more, " if first + room < len(lines) else ""
        shown = Text("\n").join(lines[first : first + room])
        return Panel(shown, title="help", subtitle=f"{more}any other key: back", height=height)


def goal_lines(game: Game) -> list[Text]:
    """Say what there is to do, at the start of a level."""
    goal = game.world.manual.goals(game.me)
    if not goal:
        return []
    return [Text.assemble(("Goal: ", "bold bright_green"), goal[:1].upper() + goal[1:])]


def head_line(game: Game) -> Text:
    """Say where in the game we are."""
    limit = game.world.config.longest
    parts: list[str | tuple[str, str]] = [
        (f" {game.task.removeprefix('piase/')} ", "bold reverse"),
        f"  level {game.level}",
        (f" (seed {game.seed})", "dim"),
        f"  step {game.steps}/{limit}",
        ("  par ", "dim") if game.par is not None else "",
        str(game.par) if game.par is not None else "",
        f"  score {game.score:.2f}",
        (f"  ★ {game.total_stars}", "bright_yellow") if game.records else "",
    ]
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def turn_lines(turn: CommandResult) -> list[Text]:
    """Say what a command led to."""
    style = OUTCOMES.get(turn.outcome, BAD)
    outcome = WORDS.get(turn.outcome, turn.outcome.value)
    said = Text.assemble((f"{turn.line}: ", "bold"), (outcome, style))
    reward = round(turn.reward, 3) or turn.reward  # as the agent's text has it
    said.append(f"  {reward:+g}", GOOD if turn.reward > 0 else "")
    for name in turn.milestones:
        said.append(f"  ✓ {name.replace('_', ' ')}", "bold bright_yellow")
    lines = [said]
    if turn.feedback:
        lines.append(Text(turn.feedback, "italic"))
    return lines


def end_lines(game: Game) -> list[Text]:
    """Say how the level went."""
    assert game.result is not None
    stars = game.stars()
    shown = f"{'★' * stars}{'☆' * (STARS - stars)}  " if game.result is Result.WON else ""
    said = Text.assemble((shown, "bright_yellow"), (sentence(game), ENDS.get(game.result, "bold")))
    return [said]


def key_lines(choices: list[Choice], game: Game, width: int) -> list[Text]:
    """List the keys, in as many lines as they need."""
    if game.result is not None:
        words = [("Enter", "next level"), ("r", "again"), ("h", "help"), ("q", "quit")]
        return _flow([(key, what, True) for key, what in words], width)
    rows = [(choice.label, choice.line, choice.legal) for choice in choices[:SHOWN_KEYS]]
    if len(choices) > SHOWN_KEYS:
        rows.append(("", f"and {len(choices) - SHOWN_KEYS} more", True))
    text = "map" if game.world.picture_reveals else "text"
    words = [(":", "type"), ("h", "help"), ("t", text), ("r", "again"), ("n", "skip")]
    return _flow([*rows, *((key, what, True) for key, what in (*words, ("q", "quit")))], width)


def line_hints(width: int) -> list[Text]:
    """Say what can be typed where people play by lines."""
    words = "help map again next quit".split()
    rows = [("", "type a command, or:", True), *((word, "", True) for word in words)]
    rows += [("Tab", "completes", True), ("Esc", "single keys", True)]
    return _flow(rows, width)


KEYS_HELP = (
    "Arrow keys (or w, a, s, d) move; the digits and letters below the picture do the rest. Press "
    ": or Enter and type any command as a line, such as the ones below; Tab completes it."
)
LINES_HELP = (
    "A line is one of the keys that are listed, any command, such as the ones below, or one of the "
    "words help, again, next and quit. After a colon, such as in :quit, these are always the "
    "game's."
)
RULES_HELP = (
    "What is illegal now is refused and costs you nothing; what is allowed but fails, such as a "
    "bump, costs what the rewards say.\n\n"
    "Every level has its own seed. Par is the fewest steps in which it can be won; for par you get "
    "three stars, for half as much again two, for any other win one."
)
GAME_KEYS_HELP = "r: this level again   n: next level   t: the agent's text   q: quit"
LINE_WORDS_HELP = "again: this level again   next: next level   quit: quit"
TOLD_HELP = (
    "This world is told, so you type: what you see is what your agent reads. The words help, map, "
    "again, next and quit are the game's. The map gives secrets away. Esc goes over to single "
    "keys, and : back to typing."
)


def _flow(rows: list[tuple[str, str, bool]], width: int) -> list[Text]:
    """Lay out keys one after the other, as many on a line as fit."""
    lines = [Text()]
    for key, what, legal in rows:
        style = ("bold cyan", "") if legal else ("dim", "dim strike")
        piece = Text.assemble((key, style[0]), " " if key else "", (what, style[1]))
        if lines[-1].cell_len and lines[-1].cell_len + piece.cell_len + 3 > width:
            lines.append(Text())
        if lines[-1].cell_len:
            lines[-1].append("   ")
        lines[-1].append_text(piece)
    return lines


def help_text(game: Game, by_lines: bool = False) -> str:
    """Return the rules of the game and of the world, for single keys or for lines."""
    parts = [
        f"{LINES_HELP if by_lines else KEYS_HELP} {RULES_HELP}",
        LINE_WORDS_HELP if by_lines else GAME_KEYS_HELP,
        TOLD_HELP if game.world.picture_reveals and not by_lines else "",
        game.world.instructions(game.me),
    ]
    return "\n\n".join(filter(None, parts))


def plain_lines(
    game: Game, choices: list[Choice], blind: bool, colour: bool
) -> list[RenderableType]:
    """Return what is shown of a step without a full screen."""
    parts: list[RenderableType] = [Text(), head_line(game)]
    if game.turn is None:
        parts += goal_lines(game)
    if not (blind or game.world.picture_reveals):
        picture = game.world.ansi()
        size = (len(picture), picture.count("\n") + 1)
        names = game.world.agents
        parts.append(paint(picture, game.name, names, *size) if colour else Text(picture))
    parts.append(Text(game.world.text(game.env.facts())))
    letters = {way: letter for letter, way in LETTERS.items()}
    legal = [choice for choice in choices if choice.legal][:SHOWN_KEYS]
    words = [f"{letters.get(choice.key, choice.key)} {choice.line}".strip() for choice in legal]
    parts.append(Text("keys: " + ", ".join(words), "dim"))
    return parts


SOLID = "#"
"""The sign of what blocks: drawn as a block."""
FLOOR = ".·"
COLOURS = (
    "bright_yellow",
    "bright_magenta",
    "bright_cyan",
    "bright_red",
    "bright_blue",
    "bright_green",
    "orange1",
    "orchid",
)
KNOWN = {"G": "bright_green", "k": "bright_yellow", "L": "bright_red", "+": "orange1"}
"""Signs with a conventional colour: goals are green, keys yellow, locks red."""
OWN = "bold black on bright_white"
OTHERS = "bold bright_cyan"
ESCAPE = "\x1b["
WORD = re.compile(r"[A-Za-z]{3,}")
LEGEND = re.compile(r"(?<!\S)(\S)(\1?) (?=[a-z])")
"""A sign, or the same sign twice, before the word that explains it."""
LEAST_ROWS = 3


def paint(picture: str, me: str, names: tuple[str, ...], width: int, height: int) -> Text:
    """Return a world's picture in colour, cut to a size.

    A map (the first lines without words) is spread to square cells where there is room for that,
    else it has one column per cell; if it is still too large, the part around the person's own
    agent is shown. An agent's sign is the first word of the line that names it, such as
    ``^0 agent_0 at (3, 4)``.

    Args:
        picture: What `World.ansi` returned.
        me: The person's agent.
        names: All agents.
        width: Columns.
        height: Rows.
    """
    if ESCAPE in picture:  # the world has colours of its own
        text = Text.from_ansi(picture)
        return _cut(list(text.split("\n")), width, height)
    lines = picture.split("\n")
    first, after = _find_map(lines)
    signs = _signs(lines[after:], names)
    own, others = signs.get(me, ""), set(signs.values())
    rows = _spread(lines[first:after], signs)
    x, y = _place(rows, own)
    room = max(LEAST_ROWS, height - min(len(lines) - after, 4) - first)
    low, high = _around(y, len(rows), room)
    if max(map(len, rows), default=0) <= width:
        drawn = [_draw_row(row, own, others, narrow=False) for row in rows[low:high]]
    else:
        left, right = _around(x // 2, max(map(len, rows)) // 2 + 1, width)
        cut = [row[2 * left : 2 * right] for row in rows[low:high]]
        drawn = [_draw_row(row, own, others, narrow=True) for row in cut]
    shown = [*lines[:first], *_own_first(lines[after:], own, me)]
    rest = [_draw_line(line, me, signs) for line in shown]
    return _cut([*rest[:first], *drawn, *rest[first:]], width, height)


def _cut(lines: list[Text], width: int, height: int) -> Text:
    """Join lines, as many and as much of each as there is room for."""
    for line in lines[:height]:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines[:height])


def _find_map(lines: list[str]) -> tuple[int, int]:
    """Return where the first lines without words begin and end, if they are enough for a map."""
    first = 0
    for place, line in enumerate([*lines, ""]):
        if not line.strip() or WORD.search(line):
            if place - first >= LEAST_ROWS:
                return first, place
            first = place + 1
    return 0, 0


def _own_first(lines: list[str], own: str, me: str) -> list[str]:
    """Return the lines below a map, that of the person's agent before those of others."""
    mine = [line for line in lines if own and line.startswith(f"{own} {me}")]
    others = [line for line in lines if line not in mine]
    legend = next((n for n, line in enumerate(others) if LEGEND.match(line)), -1) + 1
    return [*others[:legend], *mine, *others[legend:]]


def _place(rows: list[str], own: str) -> tuple[int, int]:
    """Return the column and the row of the person's agent on a map."""
    for y, row in enumerate(rows):
        for x in range(0, len(row), 2):
            if own and row.startswith(own, x):
                return x, y
    return 0, 0


def _signs(lines: list[str], names: tuple[str, ...]) -> dict[str, str]:
    """Return the sign of each agent, from the line that begins with the sign and the name."""
    signs = {}
    for line in lines:
        words = line.split(maxsplit=2)
        if len(words) > 1 and words[1].rstrip(",:") in names and len(words[0]) <= 2:
            signs[words[1].rstrip(",:")] = words[0]
    return signs


def _spread(rows: list[str], signs: dict[str, str]) -> list[str]:
    """Return a map with two columns per cell, so that cells look square."""
    if any(len(sign) > 1 for sign in signs.values()):
        return rows  # its cells have two columns already
    return ["".join(sign + (sign if sign == SOLID else " ") for sign in row) for row in rows]


def _draw_row(row: str, own: str, others: set[str], narrow: bool) -> Text:
    """Colour a row of a map; in a narrow one, each cell has one column instead of two."""
    text = Text(no_wrap=True)
    place = 0
    while place < len(row):
        pair, sign = row[place : place + 2], row[place]
        agent = next((mark for mark in (pair, sign) if mark in others), "")
        if own and row.startswith(own, place):
            agent = own
        if agent:
            text.append(sign if narrow else agent, OWN if agent == own else OTHERS)
        else:
            text.append(*_cell(sign))
        place += 2 if narrow else max(1, len(agent))
    return text


def _cell(sign: str) -> tuple[str, str]:
    """Return what is drawn for a sign, and its colour."""
    if sign == SOLID:
        return "█", "grey50"
    if sign in FLOOR:
        return "·", "grey35"
    return sign, colour_of(sign)


def colour_of(sign: str) -> str:
    """Return the colour of a sign, always the same."""
    return KNOWN.get(sign, COLOURS[ord(sign) % len(COLOURS)]) if sign.strip() else ""


def _draw_line(line: str, me: str, signs: dict[str, str]) -> Text:
    """Colour a line of a legend, or one about an agent."""
    marks = [m for m in LEGEND.finditer(line) if not m[1].isalnum() or m[1] in KNOWN]
    drawn = list(line)
    for mark in marks:
        drawn[mark.start() : mark.end() - 1] = _cell(mark[1])[0] * (1 + len(mark[2]))
    text = Text("".join(drawn), "", no_wrap=True)
    for mark in marks:
        text.stylize(_cell(mark[1])[1], mark.start(), mark.end() - 1)
    for name, sign in signs.items():
        if line.startswith(f"{sign} {name}"):
            text.stylize(OWN if name == me else OTHERS, 0, len(sign))
    text.highlight_regex(rf"(?<![\w.-]){re.escape(me)}(?![\w-])", "bold")
    return text


def _around(place: int, count: int, room: int) -> tuple[int, int]:
    """Return which rows or columns of a map are shown, so that a place is in their middle."""
    first = max(0, min(place - room // 2, count - room))
    return first, first + room
