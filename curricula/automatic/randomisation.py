"""Domain randomisation: every episode is a step drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from piase_gym.curricula.director import DrawingDirector
from piase_gym.errors import ConfigError


class Randomisation(DrawingDirector):
    """Draws every episode's step, all alike or by fixed weights.

    Args:
        weights: Order of a step -> its weight; steps that are not named are not drawn. By default
            all are alike.
    """

    def __init__(self, weights: Mapping[int, float] | None = None) -> None:
        """Keep the weights."""
        self._weights = None if weights is None else dict(weights)

    def weights(self, agent: str) -> Sequence[float]:
        """Return the weight of each step.

        Raises:
            ConfigError: If a weight is of a step that does not exist.
        """
        steps = self.curriculum(agent).steps
        if self._weights is None:
            return [1.0] * len(steps)
        strange = set(self._weights) - {step.order for step in steps}
        if strange:
            known = ", ".join(str(step.order) for step in steps)
            raise ConfigError(f"there is no step {min(strange)} to weigh; steps are {known}")
        return [float(self._weights.get(step.order, 0.0)) for step in steps]
