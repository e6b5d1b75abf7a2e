"""A Ray cluster of two nodes on this machine, one of which can be killed."""

from __future__ import annotations

from typing import Any


class Nodes:
    """Two raylets, each with a CPU, and the address of their cluster."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        size = {"num_cpus": 1, "object_store_memory": 100_000_000}
        self.cluster = Cluster(initialize_head=True, head_node_args=size)
        self.size = size
        self.second: Any = self.cluster.add_node(**size)
        self.address: str = self.cluster.address

    def kill_second(self) -> None:
        """Kill the node that is not the head, as a power cut would."""
        self.cluster.remove_node(self.second, allow_graceful=False)
        self.second = None

    def whole(self) -> str:
        """Return the address of two nodes."""
        if self.second is None:
            self.second = self.cluster.add_node(**self.size)
        self.cluster.wait_for_nodes()
        return self.address
