"""Every sentence that the worlds can say is said, and read aloud by rule.

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
from tests.helpers.needs import need
from tests.worlds.test_words import body

COSTS = ("illegal", "subgoal", "step")
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
GRID: dict[str, Any] = {
    "world": "GridWorld",
    "width": 10,
    "height": 10,
    "border": True,
    "layout": "multi_room",
    "doors": "mixed",
    "rooms": 3,
    "boxes": 2,
    "hazards": 1,
    "fruits": 2,
    "movers": 1,
}
COMMONS: dict[str, Any] = {"world": "SocialDilemma", "agents": 3, "width": 8, "height": 8}
COMMONS |= {"river": 2, "orchard": 2, "patches": 2, "max_steps": 100}
MATRIX: dict[str, Any] = {"world": "SocialDilemma", "rounds": 6}
MATRICES = ("prisoners_dilemma", "matching_pennies", "battle_of_the_sexes", "volunteers_dilemma")
PHYSICS: dict[str, Any] = {"world": "PhysicsPlayground", "max_steps": 30}
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
        {"world": "Household", "agents": 2, "feedback": "explain", "shared_reward": True}
        | {"message_loss": 0.1},
        {"world": "Household", "agents": 3, "feedback": "explain", "receptacles": 3, "objects": 3},
    ),
    "sql_query": (
        {"world": "SqlQuery", "answer": "best", "rewards": {"illegal": -1, "error": -1}},
        {"world": "SqlQuery", "writes": 1.0, "discover": True, "agents": 2, "message_loss": 0.1},
        {"world": "SqlQuery", "reward_mode": "original", "max_steps": 40},
    ),
    "grid_world": (
        {**GRID, "agents": 3, "symbols": 4, "frame": "agent", "energy": 30, "recall": "map"},
        {**GRID, "agents": 4, "border": False, "see_through_walls": False, "hazard_ends": False},
        {"world": "GridWorld", "layout": "door_key", "width": 6, "height": 6, "border": True},
        {"world": "GridWorld", "agents": 2, "food": 3, "food_level": 2, "levels": [2, 1]},
        {"world": "GridWorld", "layout": "tag", "agents": 3, "taggers": 1, "frame": "agent"},
        {"world": "GridWorld", "map": ["@....G", "sssss.", "SSSSS.", ",,,,,."], "observe": "grid"},
        {"world": "GridWorld", "agents": 2, "collisions": "pass", "join_at": [0, 3], "window": 3},
        {"world": "GridWorld", "goal_pos": None, "fruits": 3, "random_goals": 0, "observe": "grid"},
    ),
    "social_dilemma": (
        {**COMMONS, "game": "cleanup", "symbols": 2, "reputation": True},
        {**COMMONS, "game": "harvest", "frame": "agent", "timeout": 2, "zap_fine": 1}
        | {"recall": "map", "reputation": True},
        {**COMMONS, "game": "harvest", "timeout": 0, "shared_reward": True},
        *({"world": "SocialDilemma", "game": game, "rounds": 6} for game in MATRICES),
        {**MATRIX, "game": "public_goods", "agents": 3, "reputation": True, "noise": 0.5},
        {**MATRIX, "choice_names": "neutral", "horizon": "geometric", "continuation": 0.9},
        {**MATRIX, "game": "stag_hunt", "symbols": 2, "talk": 2, "choice_names": "roles"},
        {**MATRIX, "game": "chicken", "coin": True, "symbols": 1, "shared_reward": True},
        {**MATRIX, "game": "chicken", "talk": 1, "speech": True},
    ),
    "object_search": (
        {"world": "ObjectSearch", "agents": 4, "width": 8, "height": 8, "show_found": True},
        {"world": "ObjectSearch", "backend": "mock", "agents": 2, "objects": 1, "width": 5},
        {"world": "ObjectSearch", "agents": 2, "message_range": 4, "message_delay": 2, "sight": 3}
        | {"message_topology": [[0, 1], [0, 0]]},
        {"world": "ObjectSearch", "agents": 2, "message_loss": 0.2, "wandering": 2, "speech": True},
        {"world": "ObjectSearch", "join_at": [0, 2], "agents": 2, "end_when_found": False},
        {"world": "ObjectSearch", "recall": 2},
    ),
    "physics_playground": (
        {**PHYSICS, "task": "stack", "tower": 3, "body": "sphere", "rays": 1, "stride": 2},
        {**PHYSICS, "task": "push", "agents": 2, "speech": True, "rays": 0},
        {**PHYSICS, "task": "gather", "nearest": 1, "gripper": False},
        {**PHYSICS, "task": "keep_away", "agents": 3, "indices": "strides", "hold_steps": 20},
        {**PHYSICS, "task": "carry", "agents": 2, "player": "oracle", "max_steps": 200},
        {**PHYSICS, "task": "reach", "tolerance": 1},
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
    "grid_world": (
        *("manual", "facts", "cells", "rules/events", "observe/recall"),
        *("../grids/words", "../grids/moves"),
    ),
    "social_dilemma": ("manual", "commons/text", "commons/codes", "matrix/text", "matrix/speech"),
    "object_search": (
        *("manual", "codes", "speech", "observe/text"),
        *("observe/reports", "observe/rows", "observe/obstacles"),
    ),
    "physics_playground": (
        *("manual", "naming", "levels/tasks", "observe/text", "rules/strides", "world"),
    ),
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
            "last as long as you can",
        }
    ),
    "household": frozenset(
        {
            *("Another was faster: this is no longer possible.", "cannot be put there."),
            # what an agent does not look into while it is there; the verb of recorded games
            *("Not looked into", "Unseen and empty", "Open and not looked into"),
            "put <object> in/on <receptacle>",
        }
    ),
    # second dialect, odd keys, the SQL of a server
    "sql_query": frozenset({"Error executing query:", "id TEXT", "SQL Server"}),
    "word_craft": frozenset(),
    "grid_world": frozenset(
        {
            # what two must do at once, and what is longer ago than these episodes last
            *("Another was faster.", "or more"),
            "the outside",  # the edge of a grid is told otherwise
        }
    ),
    "social_dilemma": frozenset({"the outside"}),  # the edge of a grid is told otherwise
    "object_search": frozenset(
        {
            "What you see is told from a picture: objects, with how far they are across it and "
            "down it, and a caption. The description may be wrong.",
            "The house ends here.",  # houses have walls all around
            "columns in view are '2 ahead, 1 to 2 left'",  # an error
        }
    ),
    "physics_playground": frozenset({"it is not written as this world writes"}),  # an error
}
"""What these agents do not read, of which each is read by eye."""
_NO_PROSE = ("compile", "need", "require", "error", "LineReader", "super", "split", "__init__")
_NO_PROSE += ("_require", "matched")
_NOT_SAID = ("does", "page", "fault_sentence", "tasks_table", "_problem")
"""Arguments and functions whose words are those of the world's page, or of errors."""
_WORD = re.compile(r"[A-Za-z]{2,}")
_CUTS = re.compile(r"\n|\{[^{}]*\}")
"""Where sentences are put together: at breaks, and at fields."""
_CODE = re.compile(r"\\|\(\?| \| |^\S+$")
"""Patterns, types and keys."""


def pieces(path: Path) -> Iterator[str]:
    """Yield the prose in the literals of a module."""
    tree = ast.parse(path.read_text("utf-8"))
    silent: set[int] = set()
    for node in ast.walk(tree):
        calls = isinstance(node, ast.Call) and _name(node.func)
        errs = isinstance(calls, str) and (calls.endswith("Error") or calls in _NO_PROSE)
        errs = errs or getattr(node, "arg", getattr(node, "name", "")) in _NOT_SAID
        if errs or isinstance(node, ast.Raise | ast.Expr):
            alone = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
            silent |= set() if alone else {id(part) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in silent
        ):
            pieces = map(str.strip, _CUTS.split(node.value))
            yield from (p for p in pieces if len(_WORD.findall(p)) > 1 and not _CODE.search(p))


def _is_said(piece: str, said: str) -> bool:
    """Tell whether a piece is said, perhaps at the start of a sentence."""
    return piece in said or f"{piece[:1].upper()}{piece[1:]}" in said


def _name(function: ast.expr) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


@functools.cache
def shown(world: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the texts of a world's episodes, each with the names of the agents."""
    need(SAID[world][0]["world"])
    return tuple(dict.fromkeys(text for fields in SAID[world] for text in told(fields, 10, 150)))


@pytest.mark.parametrize("world", SAID)
def test_every_sentence_is_said(world: str) -> None:
    said = "\n".join(text for text, _ in shown(world))
    folder = Path(piase_gym.__file__).parent / "worlds" / world
    known = {piece for part in PARTS[world] for piece in pieces(folder / f"{part}.py")}
    silent = {piece for piece in known if not _is_said(piece.rstrip("."), said)}
    assert len(known) > 10
    assert sorted(silent - UNSAID[world]) == []
    assert sorted(UNSAID[world] - silent) == []


QUOTED = re.compile(r"'[^'\n]*'|<[^>\n]*>|^\S+ (?:says|tells \S+): .*$", re.MULTILINE)
"""What the worlds do not word: what they quote, usages and letters."""
JOINED = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
"""Names of a database, and commands of explorers."""


@pytest.mark.parametrize("world", SAID)
def test_every_sentence_is_grammatical(world: str) -> None:
    wrong: dict[str, None] = {}
    for text, names in shown(world):
        said = QUOTED.sub("Ada", body(text))
        said = JOINED.sub("word", said) if world in ("sql_query", "object_search") else said
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
