"""The window of ``render_mode="human"`` (pygame, the extra ``video``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.errors import need


class Window:
    """One window of an environment, opened at the first picture."""

    def __init__(self) -> None:
        """Load pygame; the window opens when the first picture comes.

        Raises:
            MissingExtraError: If it is not installed.
        """
        self._pygame = need("pygame", "render_mode='human'", "video")
        self._screen: Any = None

    def show(self, picture: NDArray[np.uint8], title: str, fps: int) -> None:
        """Show a picture of shape (height, width, 3) for one frame."""
        pygame = self._pygame
        size = (picture.shape[1], picture.shape[0])
        if self._screen is None or self._screen.get_size() != size:
            pygame.display.init()
            self._screen = pygame.display.set_mode(size)
            pygame.display.set_caption(title)
            self._clock = pygame.time.Clock()
        surface = pygame.surfarray.make_surface(picture.swapaxes(0, 1))
        self._screen.blit(surface, (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
