"""A graph of named nodes that work on one record, as the explorer document draws it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from piase_gym.errors import ConfigError, UnknownNameError

DEFAULT: Final = "default"
END: Final = "end"
"""Where a walk ends: no node has this name."""


class Node:
    """One step of an agent's thinking: it reads the record, works, and writes into the record.

    A node of your own overrides one or more of `prep`, `exec` and `post`.

    Attributes:
        acts: Whether it submits the agent's action, so that the walk then waits for the world.
    """

    acts = False

    def begin(self, shared: Any) -> None:
        """Begin what takes time outside, such as asking a model; `exec` waits for it.

        It is called for all agents that are at this node before the first of them goes on.
        """

    def prep(self, shared: Any) -> Any:
        """Return what `exec` needs from the record."""
        return shared

    def exec(self, prep_res: Any) -> Any:
        """Do the work."""
        return prep_res

    def post(self, shared: Any, prep_res: Any, exec_res: Any) -> str:
        """Write into the record, and return the name of the way to follow."""
        return DEFAULT

    def run(self, shared: Any) -> str:
        """Run `prep`, `exec` and `post`."""
        prep_res = self.prep(shared)
        return self.post(shared, prep_res, self.exec(prep_res)) or DEFAULT


class Flow:
    """Nodes by name, and the ways between them: the edges of the graph.

    Args:
        nodes: The nodes, in the order in which ``default`` leads from one to the next.
        ways: Other ways: node -> name of the way -> node or ``end``. From the last node ``default``
            and ``continue`` lead to the first, and every node has a way ``end``.

    Attributes:
        nodes: The nodes by name; they can be replaced.

    Raises:
        ConfigError: If there is none, one is no `Node`, or one is called ``end``.
        UnknownNameError: If a way begins or ends where there is no node.

    Example:
        >>> class Count(Node):
        ...     def post(self, shared, prep_res, exec_res):
        ...         shared["count"] += 1
        ...         return "continue" if shared["count"] < 3 else "end"
        >>> record = {"count": 0}
        >>> list(Flow({"count": Count()}).walk(record)), record
        (['count', 'count', 'count'], {'count': 3})
    """

    def __init__(
        self, nodes: Mapping[str, Node], ways: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self.nodes: dict[str, Node] = dict(nodes)
        self.ways = {name: dict(leads) for name, leads in (ways or {}).items()}
        self._check()

    def _check(self) -> None:
        """Raise unless nodes and ways fit together."""
        if not self.nodes or END in self.nodes:
            raise ConfigError("a flow has one node or more, and none of them is called 'end'")
        for name, node in self.nodes.items():
            if not isinstance(node, Node):
                raise ConfigError(f"{name!r:.60} is a {type(node).__name__}, not a Node")
        for name in [*self.ways, *(to for leads in self.ways.values() for to in leads.values())]:
            if name not in self.nodes and name != END:
                raise UnknownNameError("node", name, [*self.nodes, END])

    @property
    def start(self) -> str:
        """The first node."""
        return next(iter(self.nodes))

    def replace(self, **nodes: Node) -> Flow:
        """Return a flow in which the named nodes are replaced.

        Raises:
            UnknownNameError: If there is no node of a name.
        """
        for name in nodes:
            if name not in self.nodes:
                raise UnknownNameError("node", name, self.nodes)
        return Flow({**self.nodes, **nodes}, self.ways)

    def insert(self, name: str, node: Node, *, before: str) -> Flow:
        """Return a flow with one more node, which ``default`` reaches just before another.

        Raises:
            ConfigError: If there is a node of this name.
            UnknownNameError: If there is no node of the other name.
        """
        if name in self.nodes:
            raise ConfigError(f"there is a node {name!r} already; replace it")
        if before not in self.nodes:
            raise UnknownNameError("node", before, self.nodes)
        order, nodes = list(self.nodes), {**self.nodes, name: node}
        order.insert(order.index(before), name)
        return Flow({known: nodes[known] for known in order}, self.ways)

    def after(self, name: str, way: str) -> str:
        """Return where a way leads.

        Raises:
            UnknownNameError: If there is no such way.
        """
        order = list(self.nodes)
        place = order.index(name) + 1
        known = {DEFAULT: order[place % len(order)], END: END}
        if place == len(order):
            known["continue"] = self.start
        known |= self.ways.get(name, {})
        if way not in known:
            raise UnknownNameError(f"way from the node {name!r}", way, known)
        return known[way]

    def step(self, name: str, shared: Any) -> str:
        """Run one node, and return the name of the next, or ``end``."""
        return self.after(name, self.nodes[name].run(shared))

    def walk(self, shared: Any) -> Iterator[str]:
        """Run node after node until the end, and yield the name of each that has run."""
        at = self.start
        while at != END:
            name, at = at, self.step(at, shared)
            yield name
