"""How an episode of a simulation ends (design document, phase C): sums up, saves what is left."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from piase_gym.core.commands import Result
from piase_gym.core.digest import canonical_json
from piase_gym.errors import ConfigError
from piase_gym.simulation.attendance import Attendance
from piase_gym.simulation.summary import Summary


class Ending(Attendance):
    """The part of a `Simulation` that is about phase C."""

    scenario: Any
    curricula: Any
    summaries: list[Summary]
    _stopped: str
    _start: float
    _folder: Path | None

    def finish(self) -> Summary:
        """Phase C 1 and 2: save the final state, and sum up the episode.

        Who is in play when a budget is used up is truncated.
        """
        if self._stopped in ("steps", "wall_clock"):
            for name in self.agents:
                self._tally.truncated[name] = True
                self._tally.results[name] = str(Result.ENDED)
        summary = self.summary()
        self.summaries.append(summary)
        self._note("end", summary=asdict(summary))
        if self._folder is not None:
            self.save(self._folder, f"episode_{len(self.summaries)}")
        if self.curricula is not None:
            self.curricula.after_episode(self)
        return summary

    def summary(self) -> Summary:
        """Return the summary report of the episode so far."""
        seed = self.world_env.runner.seed
        assert seed is not None
        return self._tally.report(
            scenario=self.scenario.title if self.scenario is not None else self.world.name,
            world=self.world.name,
            seed=seed,
            finished=not self.agents,
            stopped=self._stopped,
            seconds=round(time.monotonic() - self._start, 6),
            metrics=getattr(getattr(self.world, "state_of", None), "metrics", {}),
        )

    def save(self, folder: str | Path, name: str = "final") -> Path:
        """Write the state of world and agents, and the summary, as one JSON file.

        Returns:
            The file's path.
        """
        path = Path(folder) / f"{name}.json"
        value = {
            "summary": asdict(self.summary()),
            "world": self.world_env.snapshot(),
            "agents": self.manager.states(),
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(canonical_json(value))
        except OSError as error:
            raise ConfigError(f"cannot write {str(path)!r}: {error.strerror}") from None
        return path
