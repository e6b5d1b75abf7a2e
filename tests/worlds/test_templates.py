"""Every sentence that the worlds of rooms and words can say is said, and read aloud by rule.

What the code can say is read from its syntax tree: the words of string literals, without those of
docstrings, errors, patterns and types. Each piece of two words or more must occur in what agents
read in some episodes in which they do what can be done, and as often what cannot.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym.worlds.text_room.levels import words
from tests.helpers.clumsy_play import told
from tests.helpers.grammar import text_faults
from tests.worlds.test_words import body

COSTS = ("illegal", "subgoal", "step")
ENERGY = {"start": 90, "per_step": -1}
STORY: dict[str, Any] = {
    "rooms": {
        "hall": {
            "description": "a hall.",
            "exits": {"east": {"room": "den", "door": "gate"}, "up": "attic"},
            "objects": ["box", "note", "safe", "plaque"],
        },
        "den": {
            "description": "a den.",
            "exits": {"west": {"room": "hall", "door": "gate"}},
            "objects": ["pot"],
        },
        "attic": {"description": "an attic.", "exits": {"down": "hall"}},
    },
    "object_details": {
        "gate": {"locked": True},
        "box": {"is_container": True, "can_be_taken": True, "contains": ["gem", "bag"]},
        "bag": {"is_container": True, "can_be_taken": True},
        "gem": {"can_be_taken": True},
        "note": {"can_be_taken": True, "read_text": "Ring the bell."},
        "plaque": {"searchable": False},
        "safe": {"is_container": True, "locked": True, "key_required": "gem", "is_open": False},
        "pot": {
            "interactions": [
                {
                    "item_name": "gem",
                    "content": "It rings.",
                    "response": [{"type": "set_flag", "flag_name": "bell_rung"}],
                }
            ],
        },
    },
    "agent_setup": [
        {
            "agent_id": "ann",
            "start_room": "hall",
            "stats": {"energy": {"start": 90, "per_step": -1}},
        },
        {
            "agent_id": "bob",
            "start_room": "hall",
            "stats": {"energy": {"start": 90, "per_step": -1}},
        },
    ],
    "win_logic": "all",
    "win_conditions": [
        {"type": "item_in_inventory", "agent_id": "ann", "item_name": "gem"},
        {"type": "item_in_inventory", "agent_id": "bob", "item_name": "note"},
        {"type": "item_in_room", "item_name": "box", "room": "attic"},
        {"type": "agent_in_room", "agent_id": "ann", "room": "attic"},
        {"type": "object_state", "object": "safe", "is_open": True, "locked": False},
        {"type": "flag_set", "agent_id": "ann", "flag_name": "has_read_note"},
        {"type": "flag_set", "agent_id": "ann", "flag_name": "bell_rung"},
    ],
    "lose_conditions": [{"type": "agent_state_condition", "condition": "energy <= 0"}],
}
CELL: dict[str, Any] = {
    "rooms": {"cell": {"description": "a cell.", "objects": ["chest", "coin"]}},
    "object_details": {
        "chest": {"is_container": True, "can_be_taken": True, "contains": ["jar"]},
        "jar": {"is_container": True, "can_be_taken": True},
        "coin": {"can_be_taken": True},
        "rope": {"can_be_taken": True},
    },
    "agent_setup": [{"agent_id": "eve", "start_room": "cell", "initial_inventory": ["rope"]}],
    "win_conditions": [{"type": "item_in_room", "item_name": "jar", "room": "cell"}],
}
SAID: dict[str, tuple[dict[str, Any], ...]] = {
    "text_room": (
        {"world": "TextRoom", "rooms": 8, "depth": 6, "distractors": 8, "recall": "map"},
        {"world": "TextRoom", "rooms": 2, "depth": 1, "agents": 3, "hearing": "room"},
        {"world": "TextRoom", "story": STORY, "message_delay": 2, "message_loss": 0.1},
        {"world": "TextRoom", "story": STORY, "rewards": {"failed": -1}, "shared_reward": True},
        {"world": "TextRoom", "story": CELL},
        *({"world": "TextRoom", "scenario": name} for name in ("sluice", "lost_key")),
        *({"world": "TextRoom", "scenario": name} for name in ("three_levers", "stone_gate")),
    ),
    "household": (
        {
            "world": "Household",
            "feedback": "explain",
            "rewards": {"illegal": -1, "subgoal": 1, "step": -1},
        },
        {"world": "Household", "agents": 2, "feedback": "explain", "shared_reward": True},
        {"world": "Household", "agents": 3, "feedback": "explain", "receptacles": 3, "objects": 3},
    ),
    "sql_query": (
        {"world": "SqlQuery", "answer": "best", "rewards": {"illegal": -1, "error": -1}},
        {"world": "SqlQuery", "writes": 1.0, "discover": True, "agents": 2},
        {"world": "SqlQuery", "reward_mode": "original", "max_steps": 40},
    ),
    "word_craft": (
        {"world": "WordCraft", "depth": 2, "mixes": 9, "distractors": 4},
        {"world": "WordCraft", "depth": 2, "agents": 3, "trade": True, "shared_reward": True},
        {"world": "WordCraft", "depth": 2, "agents": 2},
    ),
}
"""Episodes in which each world says everything."""
PARTS: dict[str, tuple[str, ...]] = {
    "text_room": ("manual", "observe/text", "rules/commands", "rules/legality", "rules/step"),
    "household": ("manual", "observe/text", "rules/reasons", "rules/step"),
    "sql_query": ("manual", "observe/text"),
    "word_craft": ("manual", "observe/text"),
}
"""The modules of a world that word what its agents read."""
UNSAID: dict[str, frozenset[str]] = {
    "text_room": frozenset(
        {
            # the second dialect
            *("Exits are", "Find the", "There are no exits.", "You are carrying:", "You are in"),
            "You see:",
            # what two must do at once, or what a story must say that has no words of its own
            *("It is over.", "There is no way there now.", "is no longer here.", "You use the"),
            *("last as long as you can", "there is nothing special about the"),
        }
    ),
    "household": frozenset(
        {
            *("Another was faster: this is no longer possible.", "cannot be put there."),
            # what an agent does not look into while it is there; the verb of recorded games
            *("Not looked into", "Not seen and empty", "Open and not looked into"),
            "put <object> in/on <receptacle>",
        }
    ),
    "sql_query": frozenset({"Error executing query:", "id TEXT"}),  # second dialect, odd keys
    "word_craft": frozenset(),
}
"""What these agents do not read, of which each is read by eye."""
_NO_PROSE = ("compile", "need", "require", "error", "LineReader", "super", "split", "__init__")
_WORD = re.compile(r"[A-Za-z]{2,}")
_CODE = re.compile(r"\\|\(\?| \| |^\S+$")
"""Patterns, types and keys."""


def pieces(path: Path) -> Iterator[str]:
    """Yield the prose in the literals of a module."""
    tree = ast.parse(path.read_text("utf-8"))
    silent: set[int] = set()
    for node in ast.walk(tree):
        calls = isinstance(node, ast.Call) and _name(node.func)
        errs = isinstance(calls, str) and (calls.endswith("Error") or calls in _NO_PROSE)
        if errs or isinstance(node, ast.Raise | ast.Expr):
            alone = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
            silent |= set() if alone else {id(part) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in silent
        ):
            pieces = map(str.strip, node.value.split("\n"))
            yield from (p for p in pieces if len(_WORD.findall(p)) > 1 and not _CODE.search(p))


def _name(function: ast.expr) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


@functools.cache
def shown(world: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the texts of a world's episodes, each with the names of the agents."""
    return tuple(dict.fromkeys(text for fields in SAID[world] for text in told(fields, 10, 150)))


@pytest.mark.parametrize("world", SAID)
def test_every_sentence_is_said(world: str) -> None:
    said = "\n".join(text for text, _ in shown(world))
    folder = Path(piase_gym.__file__).parent / "worlds" / world
    known = {piece for part in PARTS[world] for piece in pieces(folder / f"{part}.py")}
    silent = {piece for piece in known if piece.rstrip(".") not in said}
    assert len(known) > 10
    assert sorted(silent - UNSAID[world]) == []
    assert sorted(UNSAID[world] - silent) == []


QUOTED = re.compile(r"'[^'\n]*'|<[^>\n]*>|^\S+ (?:says|tells \S+): .*$", re.MULTILINE)
"""What the worlds do not word: what they quote, usages and letters."""
COLUMN = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
"""A name of a database."""


@pytest.mark.parametrize("world", SAID)
def test_every_sentence_is_grammatical(world: str) -> None:
    wrong: dict[str, None] = {}
    for text, names in shown(world):
        said = QUOTED.sub("Ada", body(text))
        said = COLUMN.sub("column", said) if world == "sql_query" else said
        wrong |= dict.fromkeys(text_faults(said, *names))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("theme", words.THEMES)
def test_rooms_and_things_of_every_theme_are_grammatical(theme: str) -> None:
    named = words.THEMES[theme]
    names = [*named.rooms, *named.chests, *named.doors, *named.treasures]
    names += [f"{material}_key" for material in words.KEYS]
    looks = [words.look_of(theme, name) for name in names]
    assert len(set(looks)) == len(names) > 40
    assert [fault for look in looks for fault in text_faults(f"You see {look}")] == []
