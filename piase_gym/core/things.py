"""What learners need to know about vectors in which things are named by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ThingPlaces(NamedTuple):
    """Where vectors have numbers of things, and which thing each discrete action takes.

    The number of a thing says which thing it is, and nothing else: a network should look it up in a
    table of embeddings. Numbers begin at 1; 0 stands for nothing.

    Attributes:
        largest: The largest number.
        groups: Places of the vector. The order within a group has no meaning: the slots of a table
            are one group.
        agent: The place of the agent's own number.
        slots: For each agent, the places of the things that its actions can take.
        actions: For each discrete action, which of these slots it takes from; -1 for none.
    """

    largest: int
    groups: Sequence[Sequence[int]]
    agent: int
    slots: Sequence[Sequence[int]]
    actions: Sequence[int]
