"""The rules of the commons, written a second time: plain, slow, from the words of the page."""

from __future__ import annotations

from typing import Any

from piase_gym.core.rng import Stream, StreamId

STEPS = {"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)}
MOVES = ("up", "down", "left", "right")


class SlowCommons:
    """One episode; `step` takes (action, symbol) pairs, actions as words.

    Attributes:
        cells: (x, y) -> "floor", "apple", "water" or "waste".
        spots: Where apples can grow.
        places: Where each agent stands, or None in time-out.
    """

    def __init__(self, config: Any, seed: int) -> None:
        self.config = config
        self.layout = Stream(seed, StreamId.LAYOUT)
        self.dice = Stream(seed, StreamId.DYNAMICS)
        count = config.agents
        self.places: list[tuple[int, int] | None] = [None] * count
        self.headings = ["up"] * count
        self.out = [0] * count
        self.said = [0] * count
        self.deeds = {name: [0] * count for name in ("eaten", "cleaned", "zaps", "zapped", "away")}
        self.when: list[list[int]] = [[] for _ in range(count)]
        self.t = 0
        self.rewards = [0.0] * count
        self.order = list(range(count))
        self._lay_out()

    def inside(self, x: int, y: int) -> bool:
        """Tell whether (x, y) is on the grid."""
        return 0 <= x < self.config.width and 0 <= y < self.config.height

    def every_cell(self) -> list[tuple[int, int]]:
        """Return all cells, row by row."""
        return [(x, y) for y in range(self.config.height) for x in range(self.config.width)]

    def _lay_out(self) -> None:
        config = self.config
        self.cells = dict.fromkeys(self.every_cell(), "floor")
        self.spots: set[tuple[int, int]] = set()
        if config.game == "cleanup":
            for x, y in self.every_cell():
                if x < config.river:
                    self.cells[x, y] = "water"
                if x >= config.width - config.orchard:
                    self.spots.add((x, y))
            for _ in range(round(config.start_waste * config.river * config.height)):
                self._foul(self.layout)
        else:
            for _ in range(config.patches):
                self._plant()
        for agent in range(config.agents):
            self._appear(agent, self.layout)

    def _plant(self) -> None:
        config = self.config
        for _ in range(100):
            x = 2 + self.layout.integer(config.width - 4)
            y = 2 + self.layout.integer(config.height - 4)
            if all((x - a) ** 2 + (y - b) ** 2 > 36 for a, b in self.spots):
                break
        for a, b in self.every_cell():
            if (x - a) ** 2 + (y - b) ** 2 <= 4:
                self.spots.add((a, b))
                self.cells[a, b] = "apple"

    def _appear(self, agent: int, dice: Stream) -> bool:
        free = [c for c in self.every_cell() if self.cells[c] == "floor" and c not in self.places]
        if not free:
            return False
        self.places[agent] = free[dice.integer(len(free))]
        self.headings[agent] = "up"
        return True

    def _foul(self, dice: Stream) -> None:
        clean = [c for c in self.every_cell() if self.cells[c] == "water" and c not in self.places]
        if clean:
            self.cells[clean[dice.integer(len(clean))]] = "waste"

    def chance(self, probability: float) -> bool:
        """Draw with 32 bits, as kernels do."""
        return self.dice.bits() >> 32 < min(round(probability * 2**32), 2**32 - 1)

    def legal(self, agent: int, action: str, symbol: int) -> bool:
        """Tell whether an agent may do this now."""
        if symbol > self.config.symbols:
            return False
        if self.out[agent]:
            return action == "stay"
        if action == "clean":
            return bool(self.config.game == "cleanup")
        return action != "zap" or self.config.timeout > 0

    def step(self, acts: list[tuple[str, int]]) -> list[float]:
        """Play a step and return the rewards."""
        config, firing = self.config, []
        self.rewards = [0.0] * config.agents
        for agent in self.order:
            action, symbol = acts[agent]
            fine = self.legal(agent, action, symbol)
            self.said[agent] = symbol if fine else 0
            if fine and action in MOVES:
                self._walk(agent, action)
            elif fine and action in ("zap", "clean"):
                firing.append((agent, action))
        self._fire(firing)
        if config.game == "cleanup":
            self._pollute_and_bear()
        else:
            self._regrow()
        if config.shared_reward:
            self.rewards = [sum(self.rewards) / config.agents] * config.agents
        self.t += 1
        return self.rewards

    def _walk(self, agent: int, heading: str) -> None:
        self.headings[agent] = heading
        here = self.places[agent]
        assert here is not None
        there = here[0] + STEPS[heading][0], here[1] + STEPS[heading][1]
        if not self.inside(*there) or there in self.places:
            return
        self.places[agent] = there
        if self.cells[there] == "apple":
            self.cells[there] = "floor"
            self.deeds["eaten"][agent] += 1
            self.when[agent].append(self.t + 1)
            self.rewards[agent] += self.config.apple

    def _beam(self, agent: int, reach: int) -> list[tuple[int, int]]:
        here, (dx, dy) = self.places[agent], STEPS[self.headings[agent]]
        assert here is not None
        ahead = [(here[0] + i * dx, here[1] + i * dy) for i in range(1, reach + 1)]
        return [cell for cell in ahead if self.inside(*cell)]

    def _fire(self, firing: list[tuple[int, str]]) -> None:
        struck = set()
        for agent, action in firing:
            if action == "zap":
                self.deeds["zaps"][agent] += 1
                self.rewards[agent] -= self.config.zap_cost
                met = [c for c in self._beam(agent, self.config.zap_range) if c in self.places]
                if met:
                    struck.add(self.places.index(met[0]))
                continue
            for cell in self._beam(agent, self.config.clean_range):
                if cell in self.places:
                    break
                if self.cells[cell] == "waste":
                    self.cells[cell] = "water"
                    self.deeds["cleaned"][agent] += 1
                    break
        waiting = [agent for agent in range(self.config.agents) if self.out[agent]]
        for agent in struck:
            self.rewards[agent] -= self.config.zap_fine
            self.deeds["zapped"][agent] += 1
            self.places[agent] = None
            self.out[agent] = self.config.timeout
        for agent in waiting:
            self.deeds["away"][agent] += 1
            self.out[agent] -= 1
            if not self.out[agent] and not self._appear(agent, self.dice):
                self.out[agent] = 1

    def _regrow(self) -> None:
        grown = []
        for x, y in self.every_cell():
            if (x, y) not in self.spots or self.cells[x, y] == "apple":
                continue
            near = sum(
                self.cells.get((a, b)) == "apple"
                for a in range(x - 2, x + 3)
                for b in range(y - 2, y + 3)
                if (x - a) ** 2 + (y - b) ** 2 <= 4
            )
            rate = self.config.regrowth[min(3, near)]
            if rate > 0 and self.chance(rate) and (x, y) not in self.places:
                grown.append((x, y))
        for cell in grown:
            self.cells[cell] = "apple"

    def _pollute_and_bear(self) -> None:
        config = self.config
        most = config.most_waste * config.river * config.height
        if self.waste() < most and self.chance(config.waste_chance):
            self._foul(self.dice)
        clean = 1.0 - self.waste() / most
        if clean <= 0 or config.apple_chance <= 0:
            return
        for cell in self.every_cell():
            if cell in self.spots and self.cells[cell] != "apple":
                ripens = self.dice.bits() >> 32 < int(config.apple_chance * clean * 2**32)
                if ripens and cell not in self.places:
                    self.cells[cell] = "apple"

    def waste(self) -> int:
        """Return how many cells are waste."""
        return list(self.cells.values()).count("waste")

    def window(self, agent: int) -> list[list[str]]:
        """Return what an agent sees, row by row from the top."""
        size, here = self.config.window, self.places[agent]
        if here is None:
            return [["unseen"] * size for _ in range(size)]
        dx, dy = STEPS[self.headings[agent]]
        rows = []
        for ahead in range(size - 1, -1, -1):
            row = []
            for right in range(-(size // 2), size // 2 + 1):
                x, y = here[0] + ahead * dx - right * dy, here[1] + ahead * dy + right * dx
                row.append(self._seen(agent, x, y))
            rows.append(row)
        return rows

    def _seen(self, agent: int, x: int, y: int) -> str:
        if not self.inside(x, y):
            return "outside"
        if (x, y) not in self.places:
            return self.cells[x, y]
        other = self.places.index((x, y))
        if other == agent:
            return "you"
        order = list(STEPS)
        turn = (order.index(self.headings[other]) - order.index(self.headings[agent])) % 4
        return f"agent_{other} facing {('away', 'right', 'you', 'left')[turn]}"
