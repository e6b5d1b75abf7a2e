"""The prose of WordCraft, written from facts and read back into them. Pure functions."""

from __future__ import annotations

import functools
import re

from piase_gym.core.text_encoding import escape, one_line
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.texts.lines import LineReader
from piase_gym.worlds.word_craft.config import WordCraftConfig
from piase_gym.worlds.word_craft.facts import (
    NOTHING,
    Form,
    Kept,
    Table,
    VisibleAgent,
    WordCraftFacts,
    form_of,
    pair_line,
)
from piase_gym.worlds.word_craft.levels.book import MOST_LETTERS
from piase_gym.worlds.word_craft.state import OF_AGENTS


def text_of(facts: WordCraftFacts) -> str:
    """Write the facts as prose, each of them once."""
    lines = []
    if facts.combined:
        one, two = map(escape, facts.combined)
        lines.append(pair_line(one, two, ", ".join(map(escape, facts.made))))
    lines.append(f"You are {facts.agent}. Make this: {escape(facts.goal)}.")
    lines.append(f"On the table: {table_line(facts.table)}.")
    for other in facts.others:
        held = escape(other.holding) if other.holding else NOTHING
        table = f"; on its table: {table_line(other.table)}" if other.table else ""
        lines.append(f"{other.name} holds: {held}{table}.")
    if facts.holding:
        lines.append(f"You hold: {escape(facts.holding)}.")
    lines.append(left_line(facts.mixes_left, facts.steps_left))
    if facts.hint is not None:
        lines.append(f"Hint: {one_line(facts.hint)}")
    return "\n".join(lines)


def table_line(table: Table) -> str:
    """Write what lies on a table: ``1 fire, 3 water``."""
    if not table:
        return NOTHING
    return ", ".join([f"{k} {escape(thing)}" for k, thing in enumerate(table, 1) if thing])


def write_kept(form: Form, kept: Kept, agent: int) -> str:
    """Write what `text_of` would write, from what `WordCraft.capture` kept.

    The most frequent case, one agent without a hint, is written without making facts.
    """
    numbers, hint = kept
    if hint is not None or not form.alone:
        return text_of(form.facts(kept, agent))
    goal, (hand, one, other, used, *table) = numbers[4], numbers[OF_AGENTS:]
    last_goal, last_table, text = form.last
    shown = form.shown
    if table != last_table or goal != last_goal:
        line = ""
        for k, thing in enumerate(table, 1):  # cheaper than joining a list
            if thing:
                line = f"{line}, {k} {shown[thing]}" if line else f"{k} {shown[thing]}"
        text = f"You are {form.agents[0]}. Make this: {shown[goal]}.\nOn the table: {line}.\n"
        form.last = goal, table, text
    if hand:
        text = f"{text}You hold: {shown[hand]}.\n"
    if one:
        made = form.makes.get((one, other), "")
        text = f"{pair_line(shown[one], shown[other], made)}\n{text}"
    return text + left_line(form.mixes - used, form.steps - numbers[0])


@functools.lru_cache(maxsize=4096)
def left_line(mixes: int, steps: int) -> str:
    """Write how many mixes and steps are left."""
    return f"Mixes left: {mixes}. Steps left: {steps}."


def longest_text(form: Form) -> int:
    """Return an upper bound on the length of a text."""
    envelope, name = form.envelope, MOST_LETTERS * 10 + 4
    things = 4 + envelope.slots + (envelope.agents - 1) * (1 + envelope.slots)
    return 200 + (things + 16) * (name + 8) + 120 * envelope.agents + HINT_TEXT


# -- parsing ------------------------------------------------------------------------------

_HEAD = re.compile(r"You are (\S+)\. Make this: (.+)\.")
_TABLE = re.compile(r"On the table: (.+)\.")
_OTHER = re.compile(r"(\S+) holds: ([^;:,]+?)(?:; on its table: (.+))?\.")
_HOLDING = re.compile(r"You hold: (.+)\.")
_COMBINED = re.compile(r"You combined: (.+); this makes: (.+)\.")
_LEFT = re.compile(r"Mixes left: (\d+)\. Steps left: (\d+)\.")
_SLOT = re.compile(r"([1-9]\d*) (.+)")


def parse(text: str, config: WordCraftConfig) -> WordCraftFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that the world writes; the message shows the line.
    """
    return _Reader(text, config).facts()


class _Reader(LineReader):
    """Reads one text."""

    def __init__(self, text: str, config: WordCraftConfig) -> None:
        super().__init__(config.world, text, "another line is expected here", "this is too much")
        self.form = form_of(config)
        self.known = {escape(name): name for name in self.form.book.entities}

    def facts(self) -> WordCraftFacts:
        """Read the whole text."""
        agents, config = self.form.agents, self.form.config
        match = self.next(_COMBINED)
        combined = self.pair(match.group(1)) if match else None
        made = self.list(match.group(2)) if match else ()
        agent, goal = self.need(_HEAD).groups()
        self.require(agent in agents, "there is no such agent")
        found = self.name(goal, self.known)
        table = self.table(self.need(_TABLE).group(1))
        others = tuple(self.other(*match.groups()) for match in self.every(_OTHER))
        names = [other.name for other in others]
        self.require(names == [n for n in agents if n in names and n != agent], "who is this?")
        match = self.next(_HOLDING)
        holding = self.name(match.group(1), self.known) if match else None
        mixes, steps = map(int, self.need(_LEFT).groups())
        self.require(mixes <= self.form.mixes and steps <= config.max_steps, "that is too many")
        hint = self.hint()
        self.require_end()
        return WordCraftFacts(
            agent=agent,
            hint=hint,
            goal=found,
            table=table,
            holding=holding,
            combined=combined,
            made=made,
            mixes_left=mixes,
            steps_left=steps,
            others=others,
        )

    def other(self, name: str, held: str, table: str | None) -> VisibleAgent:
        """Read what is seen of another agent."""
        self.require(name in self.form.agents, "there is no such agent")
        holding = None if held == NOTHING else self.name(held, self.known)
        return VisibleAgent(name, holding, () if table is None else self.table(table))

    def table(self, shown: str) -> Table:
        """Read what lies on a table."""
        if shown == NOTHING:
            return ()
        row: list[str | None] = []
        for item in shown.split(", "):
            match = _SLOT.fullmatch(item)
            if match is None or not len(row) < int(match.group(1)) <= self.form.envelope.slots:
                raise self.error(item, "slots are numbered in order")
            row += [None] * (int(match.group(1)) - len(row) - 1)
            row.append(self.name(match.group(2), self.known))
        return tuple(row)

    def pair(self, shown: str) -> tuple[str, str]:
        """Read two things."""
        parts = shown.split(" + ")
        for k in range(1, len(parts)):
            one, two = " + ".join(parts[:k]), " + ".join(parts[k:])
            if one in self.known and two in self.known:
                return self.known[one], self.known[two]
        raise self.error(shown, "these are no two things")

    def list(self, shown: str) -> tuple[str, ...]:
        """Read what a pair makes."""
        if shown == NOTHING:
            return ()
        return tuple(self.name(item, self.known) for item in shown.split(", "))
