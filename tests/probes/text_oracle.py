"""TextProbe's oracle: the shortest way to the jewel for one agent, by breadth-first search."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from piase_gym.core.commands import Command
from tests.probes.text_config import KEY, TREASURE
from tests.probes.text_rules import TextState, exits


class Node(NamedTuple):
    """What matters on the way: where the agent is, whether it has the key, and the door."""

    room: str
    key: bool
    unlocked: bool


class TextProbeOracle:
    """Sees the whole state. Plans anew at every step, so slips and others do not confuse it."""

    def __init__(self, world: Any) -> None:
        """Watch over a world."""
        self.world = world

    def act(self, index: int) -> Command:
        """Return the next command of agent number `index`; it waits if there is no way."""
        state: TextState = self.world.house
        start = Node(state.rooms[index], state.places[KEY] == str(index), state.unlocked)
        first: dict[Node, Command | None] = {start: None}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            if state.places[TREASURE] == node.room:
                return first[node] or Command("take", {"item_name": TREASURE})
            for command, after in self._moves(state, node):
                if after not in first:
                    first[after] = first[node] or command
                    queue.append(after)
        return Command("wait")

    @staticmethod
    def _moves(state: TextState, node: Node) -> Iterator[tuple[Command, Node]]:
        """Yield what can be done from a node and where it leads."""
        for way, passage, target in exits(state, node.room):
            if passage == "stairway" or node.unlocked:
                yield Command("go", {"direction": way}), node._replace(room=target)
            elif node.key:
                use = Command("use", {"item_name": KEY, "target_object": "door"})
                yield use, node._replace(unlocked=True)
        if not node.key and state.places[KEY] == node.room:
            yield Command("take", {"item_name": KEY}), node._replace(key=True)
