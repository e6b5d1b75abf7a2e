"""Two small worlds that hold the World contract to account on foreign ground.

`TextProbe` is a text adventure of three rooms; `PointProbe` pushes point masses about a square.
Neither is compiled, and neither resembles a grid.
"""

from __future__ import annotations

import piase_gym
from piase_gym import TaskSpec, WorldSpec


def register() -> None:
    """Make both worlds and their ids known (calling it twice does no harm)."""
    piase_gym.register_world(
        WorldSpec(
            name="TextProbe",
            summary="Three rooms, a locked door, a jewel behind it and a vial better left alone.",
            world="tests.probes.text_probe:TextProbe",
            config="tests.probes.text_config:TextProbeConfig",
            parser="tests.probes.text_views:parse",
            oracle="tests.probes.text_oracle:TextProbeOracle",
        )
    )
    piase_gym.register_world(
        WorldSpec(
            name="PointProbe",
            summary="Push point masses to their goals in a square.",
            world="tests.probes.point_probe:PointProbe",
            config="tests.probes.point_config:PointProbeConfig",
            parser="tests.probes.point_views:parse",
        )
    )
    piase_gym.register_task(TaskSpec(id="probe/Text-v0", world="TextProbe"))
    piase_gym.register_task(TaskSpec(id="probe/Point-v0", world="PointProbe"))
