"""The prose of the commons, written from facts and read back into them. Pure functions."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Iterable
from typing import Any, Final

from piase_gym.core.text_encoding import one_line
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.channel.heard import heard_lines
from piase_gym.worlds.grids import words
from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.social_dilemma.commons.codes import NOWHERE
from piase_gym.worlds.social_dilemma.commons.facts import (
    CommonsFacts,
    CommonsForm,
    PublicActions,
    form_of,
    reputation_of,
)
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.constants import MAX_ROUNDS, MAX_SIDE, MAX_TIMEOUT
from piase_gym.worlds.social_dilemma.games import COMMONS
from piase_gym.worlds.social_dilemma.line_reader import LineReader
from piase_gym.worlds.texts.wording import counted, listing


def text_of(facts: CommonsFacts, form: CommonsForm) -> str:
    """Write the facts as prose, each of them once. Cells that are not mentioned are floor."""
    text = _head(facts.agent, facts.game, *facts.size, facts.steps, facts.rounds)
    if facts.position is None:
        text += _away(facts.time_out)
    else:
        place = words.ViewerPlace(*facts.position, HEADINGS.index(str(facts.heading)), *facts.size)
        text += _place_in_words(place) + words.words_of_cells(facts.cells, form, place)
    text += _deeds_text(form, facts.eaten, facts.cleaned, facts.zaps, facts.zapped)
    text += _reputation_text(facts.reputation)
    return "\n".join([text, *heard_lines(facts.messages, facts.earlier, facts.hint)])


def write_kept(form: CommonsForm, kept: Any, agent: int) -> str:
    """Write the text of the moment in which a vector was kept, or a vector and a hint.

    It is the text of `text_of`, put together from cached pieces.
    """
    vector, hint = kept if isinstance(kept, tuple) else (kept, None)
    data, area = vector.tobytes(), form.area
    _, game, width, height, x, y, heading, out, steps, rounds, *deeds = _TOLD_OF_ONE(data, area)
    text = _head(form.names[agent], COMMONS[game], width, height, steps, rounds)
    if x == NOWHERE:
        text += _away(out)
    else:
        text += _seen_of_bytes(form, data[:area], words.ViewerPlace(x, y, heading, width, height))
    text += _deeds_text(form, *deeds) + _others_of_bytes(form, agent, data[form.reputation_start :])
    return text if hint is None else f"{text}\nHint: {one_line(hint)}"


_TOLD_OF_ONE: Final = struct.Struct("<8B6H").unpack_from
"""Reads what stands between the cells and the hint."""


@functools.lru_cache(maxsize=8192)
def _seen_of_bytes(form: CommonsForm, cells: bytes, place: words.ViewerPlace) -> str:
    """Write where an agent is, and what it sees."""
    return _place_in_words(place) + words.scene_text(form, cells, place)


@functools.lru_cache(maxsize=8192)
def _others_of_bytes(form: CommonsForm, agent: int, data: bytes) -> str:
    """Write what others have done, and said."""
    done = form.heard - form.reputation_start
    text = _reputation_text(reputation_of(data[:done], agent, form))
    heard = form.channel.read(data[done:], form.names[agent])
    return "\n".join([text, *heard_lines(*heard)])


def _head(agent: str, game: str, width: int, height: int, steps: int, rounds: int) -> str:
    """Write who an agent is, and how far the game has got."""
    return (
        f"You are {agent} in a {game} of {width} columns and {height} "
        f"rows, after {steps} of {counted(rounds, 'step')}."
    )


def _away(out: int) -> str:
    """Write how long an agent is away."""
    return f"\nYou are in time-out for {counted(out, 'more step')}."


def _place_in_words(place: words.ViewerPlace) -> str:
    """Write where an agent is."""
    return f"\nYou are at column {place.x}, row {place.y}, facing {words.COMPASS[place.heading]}."


@functools.lru_cache(maxsize=8192)
def _deeds_text(form: CommonsForm, eaten: int, cleaned: int, zaps: int, zapped: int) -> str:
    """Write what an agent has done so far, and how often it was zapped, as far as is in play."""
    done = [f"eaten {counted(eaten, 'apple')}"]
    if form.config.game == "cleanup" or cleaned:
        done.append(f"cleaned {counted(cleaned, 'cell')}")
    if form.config.timeout or zaps or zapped:
        done.append(f"fired {counted(zaps, 'zap')}")
        done.append(f"been zapped {counted(zapped, 'time')}")
    return f"\nSo far you have {listing(done)}."


def _reputation_text(others: Iterable[PublicActions]) -> str:
    """Write what each of the others has done."""
    lines = [
        f"\n{deeds.agent} has eaten {counted(deeds.eaten, 'apple')}, cleaned "
        f"{counted(deeds.cleaned, 'cell')} and fired {counted(deeds.zaps, 'zap')}."
        for deeds in others
    ]
    return "".join(lines)


_HEAD = re.compile(
    r"You are (\S+) in a (\w+) of (\d+) columns and (\d+) rows, after (\d+) of (\d+) steps?\."
)
_OUT = re.compile(r"You are in time-out for (\d+) more steps?\.")
_HERE = re.compile(r"You are at column (\d+), row (\d+), facing (\w+)\.")
_SO_FAR = re.compile(
    r"So far you have eaten (\d+) apples?(?:(?:,| and) cleaned (\d+) cells?)?"
    r"(?:(?:,| and) fired (\d+) zaps? and been zapped (\d+) times?)?\."
)
_TOLD = re.compile(r"(\S+) has eaten (\d+) apples?, cleaned (\d+) cells? and fired (\d+) zaps?\.")
_MOST = 65_535
"""The largest number of two bytes."""


def parse(text: str, config: SocialDilemmaConfig) -> CommonsFacts:
    """Read a text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes; the message shows the line.
    """
    form, reader = form_of(config), LineReader(text, config)
    agent, game, *numbers = reader.need(_HEAD).groups()
    width, height, steps, rounds = map(int, numbers)
    reader.require(agent in reader.names, f"agents are {', '.join(reader.names)}")
    reader.require(game in COMMONS, f"games are {', '.join(COMMONS)}")
    reader.require(max(width, height) <= MAX_SIDE, f"sides are at most {MAX_SIDE}")
    reader.require(max(steps, rounds) <= MAX_ROUNDS, f"there are at most {MAX_ROUNDS} steps")
    out = reader.next(_OUT)
    time_out = 0 if out is None else int(out.group(1))
    reader.require(out is None or 1 <= time_out <= MAX_TIMEOUT, f"at most {MAX_TIMEOUT} steps")
    position, heading = (None, None) if out else _read_place(reader)
    cells = _read_cells(reader, form, position, heading, (width, height))
    counts = [int(count or 0) for count in reader.need(_SO_FAR).groups()]
    reader.require(max(counts) <= _MOST, f"nobody counts beyond {_MOST}")
    reputation, heard = _read_reputation(reader, agent), reader.heard(agent, form.channel)
    found = CommonsFacts(
        agent=agent,
        game=game,
        size=(width, height),
        position=position,
        heading=heading,
        time_out=time_out,
        steps=steps,
        rounds=rounds,
        cells=cells,
        eaten=counts[0],
        cleaned=counts[1],
        zaps=counts[2],
        zapped=counts[3],
        reputation=reputation,
        messages=heard.messages,
        earlier=heard.earlier,
        hint=reader.hint(),
    )
    reader.require_end()
    return found


def _read_place(reader: LineReader) -> tuple[tuple[int, int], str]:
    """Read where the agent is."""
    x, y, heading = reader.need(_HERE).groups()
    reader.require(heading in words.COMPASS, f"headings are {', '.join(words.COMPASS)}")
    reader.require(max(int(x), int(y)) < MAX_SIDE, f"columns and rows end at {MAX_SIDE - 1}")
    return (int(x), int(y)), HEADINGS[words.COMPASS.index(heading)]


def _read_cells(
    reader: LineReader,
    form: CommonsForm,
    position: tuple[int, int] | None,
    heading: str | None,
    size: tuple[int, int],
) -> tuple[tuple[str, ...], ...]:
    """Read the window; in time-out nothing is seen."""
    if position is None or heading is None:
        return (("unseen",) * form.columns,) * form.rows
    inside = position[0] < size[0] and position[1] < size[1]
    reader.require(inside, "that place is not on the grid")
    scene = words.SceneReader(form, words.ViewerPlace(*position, HEADINGS.index(heading), *size))
    while scene.take(reader.line):
        reader.place += 1
    return scene.cells()


def _read_reputation(reader: LineReader, agent: str) -> tuple[PublicActions, ...]:
    """Read what the others have done."""
    found: list[PublicActions] = []
    others = [name for name in reader.names[: reader.config.agents] if name != agent]
    while match := reader.next(_TOLD):
        reader.require(reader.config.reputation, "nobody has a reputation under this config")
        due = others[len(found)] if len(found) < len(others) else "nobody"
        reader.require(match.group(1) == due, f"this line is about {due}")
        counts = [int(count) for count in match.groups()[1:]]
        reader.require(max(counts) <= _MOST, f"nobody counts beyond {_MOST}")
        found.append(PublicActions(due, *counts))
    return tuple(found)


def longest_text(form: CommonsForm) -> int:
    """Return an upper bound for the length of a text."""
    name = max(len(agent) for agent in form.names)
    others = len(form.names) * (2 * name + 100)
    cells = form.rows * (20 + form.columns * (name + 40))
    return 500 + cells + others + HINT_TEXT + form.channel.text_length
