"""How an environment is changed while agents follow curricula: the DSE document's modifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from piase_gym.core.difficulty import Fields

if TYPE_CHECKING:
    from piase_gym.curricula.controller import CurriculumController


class EnvironmentModifierInterface:
    """How the environment of a controller is changed by an engine or a tutor (the DSE document).

    Difficulty and elements hold from the next reset on, for the rest of the step: an episode keeps
    the rules under which it began. A hint holds at once.
    """

    def __init__(self, controller: CurriculumController) -> None:
        """Change the environment of `controller`."""
        self._controller = controller

    def adjust_difficulty(self, params: Mapping[str, Any]) -> Fields:
        """Turn dials of the world, such as ``{"hazards": 3}`` or ``{"by": -0.1}``.

        Raises:
            ConfigError: If there is no such dial, or the value is not allowed.
            EnvelopeError: If the world does not fit its envelope then.
        """
        setup = self._controller.setup
        config = setup.config(self._controller.orders)
        return self._controller.override(setup.world.adjusted(config, params))

    def introduce_element(self, element_config: Mapping[str, Any]) -> Fields:
        """Put something into the world, such as ``{"type": "wall", "position": [2, 3]}``.

        Raises:
            ConfigError: If there is no such element, or it cannot be put there.
            EnvelopeError: If the world does not fit its envelope then.
        """
        setup = self._controller.setup
        config = setup.config(self._controller.orders)
        return self._controller.override(setup.world.introduced(config, element_config))

    def provide_indirect_hint(self, agent_id: str, hint: str) -> None:
        """Show words to an agent, in its text and its vector, until the episode ends."""
        self._controller.give_hint(agent_id, hint)
