"""``python -m piase_gym.cli`` is ``piase``."""

from __future__ import annotations

from piase_gym.cli.app import main

main()
