"""The main job, on real input: a PettingZoo episode in both views, then PPO through Gymnasium.

Run it with ``make demo`` or ``python examples/demo.py [--steps N] [--out FOLDER]``. Pictures are
saved in the folder `--out`. The job itself is `piase_gym.cli.demo`, a page to read.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from piase_gym.cli.demo import demo
from piase_gym.errors import PiaseError


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150_000, help="environment steps of PPO")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for pictures")
    options = parser.parse_args()
    try:
        demo(options.steps, options.out)
    except PiaseError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
