"""The two views of the commons: facts as a vector and as text, and the way back from both.

Everything here is pure: a function of facts and config. `sight` writes the same vectors
faster; this module says what they mean. The vector (uint8) has these parts:

* the window, row by row from the top, turned so that the heading is up: codes of `codes`,
  from 32 on ``32 + 4 * agent + turn``; one's own cell, in the middle of the lowest row, too;
* own number, game (0 harvest, 1 cleanup), width, height, x, y, heading (0 up, 1 right, 2 down,
  3 left; in time-out x and y are 255 and the heading is 4), steps of time-out that are left;
* in two bytes each, the low one first: steps done, steps of the game, apples eaten, cells cleaned,
  zaps fired, times zapped;
* 8 bytes of hashed hint;
* with reputation, for each agent in two bytes each what it ate, cleaned and fired (0 for oneself);
* with symbols, what each agent said.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.recall import UnnamedThings
from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.core.world import Facts
from piase_gym.worlds.channel.heard import EarlierMessage, Heard
from piase_gym.worlds.channel.symbols import ChannelForm
from piase_gym.worlds.grids.codes import AGENT, HEADINGS, MAX_CODE, TURNS, on_map
from piase_gym.worlds.grids.nouns import YOU
from piase_gym.worlds.social_dilemma.commons.codes import NO_HEADING, NOWHERE, TABLE
from piase_gym.worlds.social_dilemma.commons.state import SCALARS, TOLD, vector_length
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig, SocialDilemmaEnvelope
from piase_gym.worlds.social_dilemma.games import COMMONS


class PublicActions(NamedTuple):
    """What one of the others has done, as all can see.

    Attributes:
        agent: Its name.
        eaten: Apples.
        cleaned: Cells of waste.
        zaps: Zaps that it fired.
    """

    agent: str
    eaten: int
    cleaned: int
    zaps: int


@dataclass(frozen=True, kw_only=True)
class CommonsFacts(Facts):
    """What one agent of a commons may know.

    Attributes:
        game: ``harvest`` or ``cleanup``.
        size: Columns and rows of the grid.
        position: (x, y), (0, 0) at the top left; ``None`` in time-out.
        heading: up, right, down or left; ``None`` in time-out.
        time_out: Steps of time-out that are left.
        steps: Steps done.
        rounds: Steps of the game.
        cells: The window, row by row from the top: names of `codes.TABLE`, or an agent as
            ``agent_1 facing left`` (also away, right, you). The viewer's own cell is ``you``.
        eaten: Apples eaten.
        cleaned: Cells of waste cleaned.
        zaps: Zaps fired.
        zapped: Times zapped.
        reputation: With reputation, what each of the others has done.
        earlier: With `message_history`, what was heard before.
    """

    game: str
    size: tuple[int, int]
    position: tuple[int, int] | None
    heading: str | None
    time_out: int
    steps: int
    rounds: int
    cells: tuple[tuple[str, ...], ...]
    eaten: int
    cleaned: int
    zaps: int
    zapped: int
    reputation: tuple[PublicActions, ...] = ()
    earlier: tuple[EarlierMessage, ...] = ()


class CommonsForm:
    """The layout of the vectors and texts of one config (with its envelope)."""

    world = "SocialDilemma"
    whole_grid = False
    opaque: frozenset[str] = frozenset()
    nouns = TABLE.nouns

    def __init__(self, config: SocialDilemmaConfig) -> None:
        """Work out the frame from the config and its envelope."""
        self.config, self.frame = config, config.frame
        envelope: SocialDilemmaEnvelope = config.fixed_envelope()
        self.envelope = envelope
        self.rows = self.columns = envelope.window
        self.names = config.names(envelope.agents)
        self.length = vector_length(envelope)
        self.area = envelope.window**2
        self.ahead = self.area - 2 * self.columns + self.columns // 2
        self.reputation_start = self.area + SCALARS
        self.channel = ChannelForm(config, envelope)
        self.heard = self.reputation_start + TOLD * envelope.agents * envelope.reputation
        middle, half = self.columns // 2, config.window // 2
        columns = range(middle - half, middle + half + 1)
        self.shown = range(self.rows - config.window, self.rows), columns
        turned = [f"{name} facing {turn}" for name in self.names for turn in TURNS]
        self.cell_names = (*(TABLE.names.get(code, "") for code in range(AGENT)), *turned)
        self.cell_codes = {name: code for code, name in enumerate(self.cell_names) if name}


@functools.lru_cache(maxsize=64)
def form_of(config: SocialDilemmaConfig) -> CommonsForm:
    """Return the form of a config; for the last few configs it is the same object each time."""
    return CommonsForm(config)


def vector_box(envelope: SocialDilemmaEnvelope) -> Box:
    """Return the space of the vectors."""
    high = np.full(vector_length(envelope), 255, np.uint8)
    high[: envelope.window**2] = MAX_CODE
    return Box(np.zeros_like(high), high, dtype=np.uint8)


def facts_of(
    vector: NDArray[np.uint8], agent: int, form: CommonsForm, hint: str | None
) -> CommonsFacts:
    """Read a vector back; `hint` is given because its code in the vector is lossy."""
    values, area = vector.tolist(), form.area
    frame, values = values[:area], values[area:]
    game, width, height, x, y, heading, out = values[1:8]
    counts = _from_bytes(values[8 : SCALARS - HINT_CODE])
    rows = [
        [form.cell_names[code] for code in frame[start : start + form.columns]]
        for start in range(0, len(frame), form.columns)
    ]
    away = x == NOWHERE
    if not away:
        rows[-1][form.columns // 2] = YOU
    start = form.heard - area
    heard = form.channel.read(values[start:], form.names[agent])
    return CommonsFacts(
        agent=form.names[agent],
        messages=heard.messages,
        earlier=heard.earlier,
        hint=hint,
        game=COMMONS[game],
        size=(width, height),
        position=None if away else (x, y),
        heading=None if away else HEADINGS[heading],
        time_out=out,
        steps=counts[0],
        rounds=counts[1],
        cells=tuple(map(tuple, rows)),
        eaten=counts[2],
        cleaned=counts[3],
        zaps=counts[4],
        zapped=counts[5],
        reputation=reputation_of(values[SCALARS:start], agent, form),
    )


def things_in_sight(facts: CommonsFacts) -> dict[str, Any]:
    """Return what is in sight: agents, apples and waste, with their columns and rows."""
    if facts.position is None or facts.heading is None:
        return {}
    size = len(facts.cells), len(facts.cells[0])
    shown = {
        on_map(size, (row, column), facts.position, facts.heading): name
        for row, names in enumerate(facts.cells)
        for column, name in enumerate(names)
        if name not in ("unseen", "outside")
    }
    covered = {place for place, name in shown.items() if name == YOU or " facing " in name}
    found: dict[str, Any] = {
        shown[place].split(" facing ")[0]: place for place in covered if shown[place] != YOU
    }
    # An agent that stands on waste hides it; one that stands where an apple hung has eaten it.
    for kind, in_view in (("apple", shown), ("waste", shown.keys() - covered)):
        places = [place for place, name in shown.items() if name == kind]
        found[kind] = UnnamedThings(places, in_view)
    return found


def _from_bytes(values: Sequence[int]) -> list[int]:
    """Read numbers of two bytes, the low one first."""
    return [low + 256 * high for low, high in zip(values[::2], values[1::2], strict=True)]


def _to_bytes(values: Sequence[int]) -> list[int]:
    """Write numbers in two bytes, the low one first."""
    return [byte for value in values for byte in (value & 255, value >> 8)]


def reputation_of(
    values: Sequence[int], agent: int, form: CommonsForm
) -> tuple[PublicActions, ...]:
    """Read what the others have done."""
    if not form.config.reputation or not values:
        return ()
    return tuple(
        PublicActions(form.names[other], *_from_bytes(values[TOLD * other : TOLD * (other + 1)]))
        for other in range(form.config.agents)
        if other != agent
    )


def vector_of(facts: CommonsFacts, form: CommonsForm) -> NDArray[np.uint8]:
    """Return the vector of the facts."""
    vector = np.zeros(form.length, np.uint8)
    number = form.names.index(facts.agent)
    flat = [form.cell_codes[name] if name != YOU else 0 for row in facts.cells for name in row]
    if facts.position is not None:
        flat[form.area - 1 - form.columns // 2] = AGENT + 4 * number
    vector[: form.area] = flat
    heading = NO_HEADING if facts.heading is None else HEADINGS.index(facts.heading)
    place = facts.position or (NOWHERE, NOWHERE)
    head = (number, COMMONS.index(facts.game), *facts.size, *place, heading, facts.time_out)
    counts = facts.steps, facts.rounds, facts.eaten, facts.cleaned, facts.zaps, facts.zapped
    end = form.area + SCALARS - HINT_CODE
    vector[form.area : end] = (*head, *_to_bytes(counts))
    vector[end : form.reputation_start] = hash_text(facts.hint)
    for deeds in facts.reputation:
        start = form.reputation_start + TOLD * form.names.index(deeds.agent)
        vector[start : start + TOLD] = _to_bytes(deeds[1:])
    form.channel.write(Heard(facts.messages, facts.earlier), vector, form.heard)
    return vector
