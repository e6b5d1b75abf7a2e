"""Folders with a trained model for each task, which play together as one policy.

The model of a task is the file ``NAME.zip`` (of Stable-Baselines3) or ``NAME.pt`` (of the fast
learner, ``--algo batch_ppo``), where NAME is `Setting.name`: the id without its namespace, followed
by what a row changes in its config, such as ``GridWorld-FourRooms-8x8-v1-agents-4.zip``.
"""

from __future__ import annotations

import importlib.util
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piase_gym.agents.sb3_archive import CARD
from piase_gym.benchmarks.evaluation.suites import Setting

_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class ModelFolder:
    """A folder of models by task.

    Attributes:
        folder: Where the models are.
    """

    folder: Path

    def path(self, setting: Setting) -> Path:
        """Return the path at which the model of a setting is, or would be."""
        fast = self.folder / f"{setting.name}.pt"
        return fast if fast.is_file() else self.folder / f"{setting.name}.zip"

    def card(self, setting: Setting) -> dict[str, Any]:
        """Return what the model of a setting says about itself: its settings and its network."""
        return read_card(self.path(setting))

    def missing_reason(self, setting: Setting) -> str | None:
        """Return why the models cannot play a setting, or ``None``."""
        if importlib.util.find_spec("stable_baselines3") is None:
            return "trained models need the extra: pip install 'piase-gym[train]'"
        path = self.path(setting)
        return None if path.is_file() else f"there is no model {path.name} in {self.folder}"


def packed(entries: Mapping[str, bytes | str]) -> bytes:
    """Return an archive; the same entries give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def read_card(path: Path) -> dict[str, Any]:
    """Return what a model file says about itself."""
    if path.suffix == ".pt":
        from piase_gym.agents.ppo import load_checkpoint

        made: dict[str, Any] = load_checkpoint(path).card
        return made
    with zipfile.ZipFile(path) as archive:
        found: dict[str, Any] = json.loads(archive.read(CARD))
        return found


def shipped_models() -> dict[str, ModelFolder]:
    """Return the folders of models that ship with the package, by the name of their policy."""
    return {"ppo": ModelFolder(Path(__file__).with_name("ppo"))}
