"""A small home as a game file, and the recorded games where they are at hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.paths import SHARED

DATA = SHARED / "data" / "alfworld"
GAMES = DATA / "json_2.1.1"
TRANSCRIPTS = DATA / "transcripts"

PROBLEM = """
(define (problem small)
  (:domain alfred)
  (:objects
    agent1 - agent
    Mug_bar_1 Mug_bar_2 Knife_bar_1 Apple_bar_1 Lamp_bar_1 - object
    Desk_bar_1 Shelf_bar_1 Fridge_bar_1 Sink_bar_1_bar_SinkBasin - receptacle
    loc_bar_0 loc_bar_1 loc_bar_2 loc_bar_3 - location
    MugType KnifeType AppleType DeskLampType - otype
    DeskType ShelfType FridgeType SinkBasinType - rtype)
  (:init
    (atLocation agent1 loc_bar_0) ; in the middle of the room
    (receptacleType Desk_bar_1 DeskType) (receptacleType Shelf_bar_1 ShelfType)
    (receptacleType Fridge_bar_1 FridgeType)
    (receptacleType Sink_bar_1_bar_SinkBasin SinkBasinType)
    (objectType Mug_bar_1 MugType) (objectType Mug_bar_2 MugType)
    (objectType Knife_bar_1 KnifeType) (objectType Apple_bar_1 AppleType)
    (objectType Lamp_bar_1 DeskLampType)
    (canContain DeskType MugType) (canContain ShelfType MugType)
    (canContain SinkBasinType MugType) (canContain DeskType KnifeType)
    (canContain FridgeType AppleType)
    (pickupable Mug_bar_1) (pickupable Mug_bar_2) (pickupable Knife_bar_1)
    (pickupable Apple_bar_1) (cleanable Mug_bar_1) (cleanable Mug_bar_2) (sliceable Apple_bar_1)
    (coolable Mug_bar_1) (coolable Mug_bar_2)
    (toggleable Lamp_bar_1) (isReceptacleObject Mug_bar_2)
    (openable Fridge_bar_1)
    (receptacleAtLocation Desk_bar_1 loc_bar_1) (receptacleAtLocation Shelf_bar_1 loc_bar_1)
    (receptacleAtLocation Fridge_bar_1 loc_bar_2)
    (receptacleAtLocation Sink_bar_1_bar_SinkBasin loc_bar_3)
    (inReceptacle Mug_bar_1 Desk_bar_1) (inReceptacle Mug_bar_2 Desk_bar_1)
    (inReceptacle Knife_bar_1 Desk_bar_1) (inReceptacle Apple_bar_1 Fridge_bar_1)
    (inReceptacle Lamp_bar_1 Desk_bar_1)
    (objectAtLocation Mug_bar_1 loc_bar_1) (objectAtLocation Mug_bar_2 loc_bar_1)
    (objectAtLocation Knife_bar_1 loc_bar_1) (objectAtLocation Apple_bar_1 loc_bar_2)
    (objectAtLocation Lamp_bar_1 loc_bar_1))
  (:goal %s))
"""
CLEAN_MUG = """(exists (?r - receptacle) (exists (?o - object) (and
    (cleanable ?o) (objectType ?o MugType) (receptacleType ?r ShelfType)
    (isClean ?o) (inReceptacle ?o ?r))))"""


def data(goal: str = CLEAN_MUG, wording: str = "2.1.3", problem: str = PROBLEM) -> dict[str, Any]:
    """Return a game as the files have it."""
    placing = "move {o} to {r}" if wording == "2.1.3" else "put {o} in/on {r}"
    grammar = f'"task": [{{"rhs": "Your task is to: tidy up."}}] template :: "{placing}";'
    return {"pddl_problem": problem.replace("%s", goal), "grammar": grammar, "solvable": True}


def game_file(folder: Path, **changes: Any) -> str:
    """Write a game, and return its path."""
    path = folder / "game.tw-pddl"
    path.write_text(json.dumps(data(**changes)), "utf-8")
    return str(path)


def transcripts(name: str) -> Sequence[dict[str, Any]]:
    """Return recorded games, or none where they are not at hand."""
    path = TRANSCRIPTS / f"{name}.jsonl.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]
