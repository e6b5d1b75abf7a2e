"""PettingZoo's own checkers, imported without the warnings of its example environments."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # With pygame installed, pettingzoo.test imports environments through an API that it has
    # deprecated itself.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import (
        api_test,
        parallel_api_test,
        parallel_seed_test,
        render_test,
        seed_test,
        state_test,
    )

__all__ = [
    "api_test",
    "parallel_api_test",
    "parallel_seed_test",
    "render_test",
    "seed_test",
    "state_test",
]
