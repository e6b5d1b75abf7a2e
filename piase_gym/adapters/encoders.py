"""First layers for observations made of symbols, such as the vectors of the array worlds.

A wall is not three times a closed door. An MLP that takes a world's bytes for quantities learns
slowly or not at all, so these layers give every value at every place of the vector an embedding of
its own. Their sum is what a linear layer makes of one-hot codes, at the cost of a few look-ups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from piase_gym.agents.space_data import symbol_starts
from piase_gym.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    import torch
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import Tensor, nn
else:
    try:
        import torch
        from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
        from torch import Tensor, nn
    except ModuleNotFoundError as error:
        raise MissingExtraError("CellFeatures", "train") from error


class CellEncoder(nn.Module):
    """Encodes vectors of whole numbers, each of which is a symbol.

    Args:
        high: The largest value at each place, such as `Box.high` of a vector of bytes; the
            smallest is 0.
        width: The length of the encoding.

    Raises:
        ConfigError: If there are so many symbols that the numbers must be quantities.
    """

    def __init__(self, high: ArrayLike, width: int) -> None:
        """Make the table."""
        super().__init__()
        starts = symbol_starts(high)
        self.table = nn.EmbeddingBag(int(starts[-1]), width, mode="sum")
        self.bias = nn.Parameter(torch.zeros(width))
        nn.init.normal_(self.table.weight, std=(len(starts) - 1) ** -0.5)
        self.starts: Tensor
        self.register_buffer("starts", torch.as_tensor(starts[:-1]), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """Return encodings (batch, width) of values (batch, places)."""
        places = values.long().flatten(1) + self.starts
        encoded: Tensor = torch.relu(self.table(places) + self.bias)
        return encoded


class CellFeatures(BaseFeaturesExtractor):
    """`CellEncoder` as a features extractor of Stable-Baselines3.

    Args:
        observation_space: A Box of whole numbers from 0 on.
        features_dim: The length of the encoding.

    Raises:
        ConfigError: If the observations are no symbols.

    Example:
        >>> from stable_baselines3 import PPO
        >>> from piase_gym.adapters import sb3_vec
        >>> cells = {"features_extractor_class": CellFeatures}
        >>> model = PPO("MlpPolicy", sb3_vec("GridWorld"), policy_kwargs=cells)
    """

    def __init__(self, observation_space: spaces.Space[Any], features_dim: int = 128) -> None:
        """Make the encoder for a space."""
        if not holds_symbols(observation_space):
            raise ConfigError(
                f"CellFeatures takes a Box of integers from 0 on, not {observation_space}; "
                "use Stable-Baselines3's own extractor"
            )
        super().__init__(observation_space, features_dim)
        self.encoder = CellEncoder(observation_space.high, features_dim)  # type: ignore[attr-defined]

    def forward(self, observations: Tensor) -> Tensor:
        """Return features (batch, features_dim)."""
        encoded: Tensor = self.encoder(observations)
        return encoded


def holds_symbols(space: spaces.Space[Any]) -> bool:
    """Return whether observations of a space can be taken for symbols: bytes, from 0 on."""
    return isinstance(space, spaces.Box) and space.dtype == np.uint8 and not space.low.any()
