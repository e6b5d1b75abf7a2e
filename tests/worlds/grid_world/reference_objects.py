"""The rules of GridWorld's further objects, written a second time, slowly and plainly.

Boxes, switches, hazards, fruit, drones, energy, food, tag and symbols, on top of
`reference_grid_world`. It takes up a level that the world has made, and goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from piase_gym.core.rng import Stream
from piase_gym.worlds.grid_world import cells as codes
from piase_gym.worlds.grid_world.config import GridWorldConfig
from tests.worlds.grid_world.reference import (
    ACTIONS,
    GROUND,
    INTERACT,
    MOVES,
    STAY,
    STEPS,
    Agent,
    Cell,
    ReferenceGridWorld,
    StepOut,
)

TURNED = {
    codes.SWITCH_OFF: codes.SWITCH_ON,
    codes.SWITCH_ON: codes.SWITCH_OFF,
    codes.GATE: codes.GATE_OPEN,
    codes.GATE_OPEN: codes.GATE,
}
ROOMY = {codes.FLOOR, codes.GOAL, codes.CLOSED, codes.OPEN, codes.FRUIT, codes.BARE}
"""What everybody can walk over."""
FOODS = range(codes.FOOD, codes.FOOD + codes.MAX_FOOD)
TAGGER, RUNNER = 1, 2
FATES = ("playing", "arrived", "died", "starved", "caught", "cleared", "out of time", "escaped")


@dataclass
class Replayer(Agent):
    """An agent with all that the further rules need."""

    fate: str = "playing"
    role: int = 0
    level: int = 1
    energy: int = 0
    said: int = 0
    could: bool = False
    lifts: Cell | None = None


class ReferenceGridRules(ReferenceGridWorld):
    """The world from some state on: `step`, and `vector` and `mask` in between."""

    agents: list[Replayer]  # type: ignore[assignment]

    def __init__(self, config: GridWorldConfig, state: Mapping[str, Any], seed: int) -> None:
        """Take up the state of a world that was reset to `seed`."""
        super().__init__(config)
        self.dynamics = Stream(seed, 1)
        self.dynamics.counter = state["counters"][1]
        side = round(len(state["cells"]) ** 0.5)
        self.cells = {(x, y): state["cells"][y * side + x] for x, y in self._positions()}
        self.goals = [tuple(goal) for goal in state["goals"][: state["num_goals"]]]
        self.patches = [tuple(patch) for patch in state["patches"][: state["num_patches"]]]
        self.drones = [list(drone) for drone in state["movers"][: state["num_movers"]]]
        self.all_food = sum(self.weight(cell) for cell in self.cells)
        self.t = state["t"]
        self.agents = []
        for a in range(config.agents):
            player = Replayer(a, state["x"][a], state["y"][a], state["heading"][a])
            player.level = config.levels[a] if a < len(config.levels) else 1
            player.energy = config.energy
            if config.layout == "tag":
                player.role = TAGGER if a < config.taggers else RUNNER
            late = a < len(config.join_at) and config.join_at[a] != 0
            player.alive = player.playing = player.played = not late
            self.agents.append(player)
        self.start = [(player.x, player.y) for player in self.agents]
        self.order: Sequence[int] = range(config.agents)
        self.events: set[str] = set()

    def weight(self, cell: Cell) -> int:
        """Return the weight of the food on a cell, 0 for none."""
        code = self.cells.get(cell, codes.OUTSIDE)
        return code - codes.FOOD + 1 if code in FOODS else 0

    def food_left(self) -> int:
        """Return how many pieces of food are left."""
        return sum(self.weight(cell) > 0 for cell in self.cells)

    def top(self, cell: Cell) -> int:
        """Return the code on a cell; `AGENT` stands for any agent."""
        if self._stander(cell) is not None:
            return codes.AGENT
        return self.cells.get(cell, codes.OUTSIDE)

    def step(self, acts: Sequence[int | None]) -> StepOut:
        """Let every agent act in order, then the world."""
        n = len(self.agents)
        self.out = out = StepOut([0.0] * n, [False] * n, [False] * n, ["ok"] * n)
        acted: set[int] = set()
        for player in self.agents:
            player.played = player.playing
            player.could = player.playing and self._may_interact(player)
            player.said, player.lifts = 0, None
        for a in self.order:
            player, act = self.agents[a], acts[a]
            if player.playing:
                acted.add(a)
                index = STAY if act is None else int(act)
                reward, out.outcomes[a] = self._act(player, index % ACTIONS)
                out.rewards[a] += reward
                if out.outcomes[a] != "illegal":
                    player.said = index // ACTIONS
            elif player.played:
                out.outcomes[a] = "failed"  # tagged before it could act
                if act is not None and act % ACTIONS == INTERACT and not player.could:
                    out.outcomes[a] = "illegal"  # as it was before anybody acted
                    out.rewards[a] += self.config.rewards.illegal
        self._gather()
        self._drift()
        self._grow()
        self._tire()
        self._conclude()
        for player in self.agents:
            out.terminated[player.number] = player.played and not player.playing
        if self.config.shared_reward:
            self._share(out.rewards)
        self.t += 1
        for player in self.agents:
            if self.t >= self.config.max_steps and player.playing:
                lasted = player.role == RUNNER or self._only_to_last()
                self._leave(player, "escaped" if lasted else "out of time")
                player.alive = True  # out of play, but still seen in the last observation
                out.truncated[player.number] = True
        if any(player.playing for player in self.agents):
            self._let_in()
        return out

    def _let_in(self) -> None:
        """Let agents in whose step has come."""
        for player, step in zip(self.agents, self.config.join_at, strict=False):
            waits = player.fate == "playing" and not player.playing
            place = self._room(player) if waits and step and step <= self.t else None
            if place is not None:
                player.x, player.y = place
                player.alive = player.playing = player.played = True
                self.events.add("entered" if place == self.start[player.number] else "made room")
            elif waits and step and step <= self.t:
                self.events.add("no room")

    def _room(self, player: Replayer) -> Cell | None:
        """Return the nearest cell on which an agent can appear."""
        queue = [(player.x, player.y)]
        for x, y in queue:  # grows while it is walked through
            shared = self.config.collisions == "pass"
            taken = not shared and self._stander((x, y)) is not None
            if self.cells[x, y] == codes.FLOOR and not taken:
                return x, y
            near = [(x + dx, y + dy) for dx, dy in STEPS]
            queue += [c for c in near if c not in queue and self.cells.get(c) in ROOMY]
        return None

    def _only_to_last(self) -> bool:
        return not (self.goals or self.all_food or self.config.layout == "tag")

    def _leave(self, player: Replayer, fate: str) -> None:
        player.alive = player.playing = False
        player.fate = fate
        self.events.add(fate)

    def _did(self, player: Replayer, mark: str) -> None:
        player.marks.add(mark)
        self.events.add(mark)

    # -- what agents do --------------------------------------------------------------------

    def _act(self, agent: Agent, act: int) -> tuple[float, str]:
        player = self.agents[agent.number]
        if act == STAY:
            return self.config.rewards.stay, "ok"
        if act == INTERACT:
            return self._use(player)
        player.heading = MOVES[act]
        return self._go(player)

    def _go(self, player: Replayer) -> tuple[float, str]:
        rewards, ahead = self.config.rewards, player.at(1, 0)
        if self._tag(player, ahead):
            return rewards.tag, "ok"
        if self._stander(ahead) is not None and self.config.collisions == "block":
            return rewards.blocked, "failed"
        if self.top(ahead) == codes.BOX and self.top(player.at(2, 0)) == codes.FLOOR:
            self.cells[ahead], self.cells[player.at(2, 0)] = codes.FLOOR, codes.BOX
            self._did(player, "box_pushed")
        found = self.cells.get(ahead, codes.OUTSIDE)
        if found not in GROUND:
            return rewards.blocked, "failed"
        player.x, player.y = ahead
        if found == codes.GOAL:
            self._did(player, "goal_reached")
            self._leave(player, "arrived")
            return rewards.goal, "ok"
        if found == codes.FRUIT:
            self._did(player, "fruit_eaten")
            self.cells[ahead] = codes.BARE
            if self.config.energy:
                player.energy = min(255, player.energy + self.config.fruit_energy)
            return rewards.fruit, "ok"
        if found == codes.HAZARD:
            self.events.add("hurt")
            if self.config.hazard_ends:
                self._leave(player, "died")
            return rewards.hazard, "ok"
        return rewards.move, "ok"

    def _tag(self, player: Replayer, ahead: Cell) -> bool:
        """Tag the first runner on a cell, if there is one and this is a tagger."""
        if player.role != TAGGER:
            return False
        for other in self.agents:
            if other.playing and other.role == RUNNER and (other.x, other.y) == ahead:
                self._leave(other, "caught")
                self.out.rewards[other.number] += self.config.rewards.caught
                self._did(player, "tagged")
                return True
        return False

    def _use(self, player: Replayer) -> tuple[float, str]:
        rewards, ahead = self.config.rewards, player.at(1, 0)
        if not player.could:
            self.events.add("illegal")
            return rewards.illegal, "illegal"
        if not self._may_interact(player):
            self.events.add("late")
            return rewards.interact, "failed"
        found = self.cells[ahead]
        if found in (codes.SWITCH_OFF, codes.SWITCH_ON):
            return self._switch(player)
        if found in FOODS:
            player.lifts = ahead
            return rewards.heavy, "failed"  # until all have acted
        if found == codes.LOCKED and player.carrying != codes.KEY:
            self.events.add("locked")
            return rewards.locked, "failed"
        if found == codes.KEY:
            self.cells[ahead], player.carrying = codes.FLOOR, codes.KEY
            self._did(player, "key_found")
        elif found in (codes.LOCKED, codes.CLOSED):
            self.cells[ahead] = codes.OPEN
            self._did(player, "door_opened")
        elif found == codes.OPEN:
            self.cells[ahead] = codes.CLOSED
        else:
            self.events.add("dropped")
            self.cells[ahead], player.carrying = player.carrying, 0
        return rewards.interact, "ok"

    def _switch(self, player: Replayer) -> tuple[float, str]:
        """Turn over all switches and gates, unless somebody stands in a gate."""
        standers = [other for other in self.agents if other.alive]
        if any(self.cells[other.x, other.y] == codes.GATE_OPEN for other in standers):
            self.events.add("jammed")
            return self.config.rewards.locked, "failed"
        self.cells = {cell: TURNED.get(code, code) for cell, code in self.cells.items()}
        self._did(player, "switch_used")
        return self.config.rewards.interact, "ok"

    def _may_interact(self, agent: Agent) -> bool:
        ahead = agent.at(1, 0)
        found = self.top(ahead)
        further = found in FOODS or found in (codes.SWITCH_OFF, codes.SWITCH_ON)
        return further or super()._may_interact(agent)

    def _gather(self) -> None:
        """Take what is lifted by enough strength, and share its worth."""
        for cell in {player.lifts for player in self.agents if player.lifts}:
            team = [player for player in self.agents if player.lifts == cell]
            force, weight = sum(player.level for player in team), self.weight(cell)
            if force < weight:
                self.events.add("heavy")
                continue
            for player in team:
                worth = self.config.rewards.food * weight / self.all_food
                part = worth * player.level / force - self.config.rewards.heavy
                self.out.rewards[player.number] += part
                self.out.outcomes[player.number] = "ok"
                self._did(player, "food_gathered")
            self.events.add("together" if len(team) > 1 else "single")
            self.cells[cell] = codes.FLOOR

    # -- what the world does ----------------------------------------------------------------

    def _chance(self, probability: float) -> bool:
        return self.dynamics.bits() >> 32 < min(round(probability * 2**32), 2**32 - 1)

    def _drift(self) -> None:
        """Let the drones move."""
        if (self.t + 1) % self.config.mover_period:
            return
        for drone in self.drones:
            if self.config.mover_chance and self._chance(self.config.mover_chance):
                drone[2] = self.dynamics.bits() >> 62
            x, y, heading = drone
            ahead = x + STEPS[heading][0], y + STEPS[heading][1]
            if self.top(ahead) == codes.FLOOR:
                self.cells[x, y], self.cells[ahead] = codes.FLOOR, codes.MOVER
                drone[:2] = ahead
            else:
                drone[2] = (heading + 2) % 4

    def _grow(self) -> None:
        """Let fruit grow on bare bushes on which nobody stands."""
        for patch in self.patches:
            bare = self.cells[patch] == codes.BARE
            if bare and self._chance(self.config.regrow) and self._stander(patch) is None:
                self.cells[patch] = codes.FRUIT
                self.events.add("grown")

    def _tire(self) -> None:
        """Let energy run down."""
        for player in self.agents:
            if self.config.energy and player.playing:
                player.energy -= 1
                if player.energy == 0:
                    self._leave(player, "starved")
                    self.out.rewards[player.number] += self.config.rewards.starved

    def _conclude(self) -> None:
        """End the episode for all whose common task is done."""
        left = [player for player in self.agents if player.playing]
        gathered = self.all_food > 0 and not self.goals and self.food_left() == 0
        coming = [
            self.agents[a]
            for a, step in enumerate(self.config.join_at)
            if step and step < self.config.max_steps and self.agents[a].fate == "playing"
        ]
        chased = any(player.role == RUNNER for player in left + coming)
        tagged = self.config.layout == "tag" and not chased
        if gathered or tagged:
            for player in left:
                self._leave(player, "cleared")

    # -- what can be compared ---------------------------------------------------------------

    def mask(self, agent: int) -> npt.NDArray[np.int8]:
        """Return which actions are legal: the six, again for every symbol."""
        mask = super().mask(agent)
        said = mask if self.agents[agent].played else np.zeros_like(mask)
        return np.concatenate([mask, *[said] * self.config.symbols])

    def vector(self, agent: int) -> npt.NDArray[np.uint8]:
        """Return an agent's observation with its status and what was said."""
        player, more = self.agents[agent], []
        if self.config.sizes().status:
            more += [player.energy, player.level, player.role, self.food_left()]
        if self.config.symbols:
            more += [0 if other is player else other.said for other in self.agents]
        tail = np.array(more if player.played else [0] * len(more), np.uint8)
        return np.concatenate([super().vector(agent), tail])

    def state(self, milestones: Sequence[str]) -> dict[str, Any]:
        """Return what the world's own state must hold."""
        bits = {name: 1 << number for number, name in enumerate(milestones)}
        return {
            "t": self.t,
            "num_food": self.food_left(),
            "x": [player.x for player in self.agents],
            "y": [player.y for player in self.agents],
            "heading": [player.heading for player in self.agents],
            "carry": [player.carrying for player in self.agents],
            "alive": [int(player.playing) for player in self.agents],
            "fate": [FATES.index(player.fate) for player in self.agents],
            "marks": [sum(bits[mark] for mark in player.marks) for player in self.agents],
            "role": [player.role for player in self.agents],
            "level": [player.level for player in self.agents],
            "said": [player.said for player in self.agents],
            "energy": [player.energy for player in self.agents],
            "movers": self.drones,
            "counter": self.dynamics.counter,
            "cells": list(self.cells.values()),
        }
