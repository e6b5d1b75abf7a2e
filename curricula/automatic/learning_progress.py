"""Learning progress: steps are drawn by how much success at them is changing.

After Kanitscheider and others (2021, "Multi-task curriculum learning in a complex, visual,
hard-exploration domain: Minecraft"): two running means of success, a fast and a slow one; how far
apart they are is how fast the agent learns the step, or forgets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from piase_gym.curricula.director import DrawingDirector, remembered
from piase_gym.errors import ConfigError, ProgressError
from piase_gym.runs.history import Episode


class LearningProgress(DrawingDirector):
    """Draws steps at which success is changing; a share of the draws is uniform.

    Args:
        rate: By which share each episode moves the slow mean, above 0 and at most 1; the fast mean
            moves `speed` times as much.
        speed: How much faster the fast mean is, from 1 on.
        explore: The share of draws that are uniform, above 0 and at most 1.
    """

    def __init__(self, rate: float = 0.02, speed: float = 10.0, explore: float = 0.2) -> None:
        """Check the settings.

        Raises:
            ConfigError: If one is not allowed.
        """
        for name, value in (("rate", rate), ("explore", explore)):
            if isinstance(value, bool) or not 0.0 < value <= 1.0:
                raise ConfigError(f"{name} is a number above 0 and at most 1, not {value!r}")
        if isinstance(speed, bool) or speed < 1.0:
            raise ConfigError(f"speed is a number from 1 on, not {speed!r}")
        self.rate, self.fast_rate, self.explore = rate, min(1.0, rate * speed), explore

    def check(self, memory: Mapping[str, Any]) -> None:
        """Check the draws and means that are remembered."""
        super().check(memory)
        means = remembered(memory, "means", dict[str, tuple[float, float]], {})
        if not all(0.0 <= mean <= 1.0 for pair in means.values() for mean in pair):
            raise ProgressError("this progress is damaged: means: they are from 0 to 1")

    def _means(self, agent: str, order: int) -> list[float]:
        """Return fast mean and slow mean of a step; until its first episode both are 0."""
        known: dict[str, Any] = self.memory(agent).setdefault("means", {})
        means: list[float] = known.setdefault(str(order), [0.0, 0.0])
        return means

    def observe(self, agent: str, order: int, episode: Episode) -> None:
        """Move the means of a step by whether an episode was won."""
        means, won = self._means(agent, order), float(episode.result == "won")
        means[0] += self.fast_rate * (won - means[0])
        means[1] += self.rate * (won - means[1])

    def weights(self, agent: str) -> Sequence[float]:
        """Return each step's share of the learning progress, mixed with the uniform one."""
        orders = [step.order for step in self.curriculum(agent).steps]
        progress = [abs(fast - slow) for fast, slow in (self._means(agent, o) for o in orders)]
        total, even = sum(progress), 1.0 / len(orders)
        if total <= 0.0:
            return [even] * len(orders)
        return [self.explore * even + (1.0 - self.explore) * p / total for p in progress]
