"""What level ``full`` adds: whole perceptions and results, and the changes of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from piase_gym.core.models import PerceptionData
from piase_gym.core.objects import object_changes, seen_changes
from piase_gym.core.world import StepResult, World
from piase_gym.interfaces.results import (
    action_result,
    changes_summary,
    message_of,
    messages_before,
    perception,
    simple_result,
)


class StepObservation(NamedTuple):
    """What is logged about one step.

    Attributes:
        objects: The changes of objects; see `piase_gym.core.objects`.
        results: Agent -> the fields of its `ActionResult` that are set.
        perceptions: Agent -> the fields of its `PerceptionData` that are set.
    """

    objects: list[dict[str, Any]]
    results: dict[str, dict[str, Any]]
    perceptions: dict[str, dict[str, Any]]


class Observer:
    """Looks at a world after each step, and returns what has changed.

    Args:
        seers: The agents for which perceptions and results are wanted.
        agents: All agents.
    """

    def __init__(self, seers: Sequence[str], agents: Sequence[str]) -> None:
        self.numbers = {name: number for number, name in enumerate(agents) if name in seers}

    def look(self, world: World[Any, Any], steps: int) -> dict[str, dict[str, Any]]:
        """Look for the first time in an episode; return what agents in play perceive."""
        self._remember(world)
        alive = world.alive
        playing = [name for name, number in self.numbers.items() if alive[number]]
        return self._perceptions(world, playing, steps, {})

    def step(
        self, world: World[Any, Any], names: Sequence[str], result: StepResult, steps: int
    ) -> StepObservation:
        """Look again after a step of these agents; return what has changed."""
        objects, sights, surroundings = self.objects, self.sights, self.surroundings
        self._remember(world)
        changes = object_changes(objects, self.objects)
        playing = [name for name in self.numbers if name in names]
        results: dict[str, dict[str, Any]] = {}
        for name in playing:
            seen = seen_changes(changes, name, sights[name], self.sights[name])
            changed = changes_summary(name, surroundings[name], self.surroundings[name], seen)
            found = action_result(world, self.numbers[name], result, steps, changed)
            results[name] = simple_result(found) or {}
        carried = {name: surroundings[name].inventory or () for name in playing}
        perceived = self._perceptions(world, playing, steps, results, carried)
        return StepObservation([change.told for change in changes], results, perceived)

    def _remember(self, world: World[Any, Any]) -> None:
        """Keep what there is now, and what agents know of it."""
        self.objects = world.objects()
        self.facts = {name: world.facts(number) for name, number in self.numbers.items()}
        self.surroundings = {name: world.surroundings(facts) for name, facts in self.facts.items()}
        self.sights = {
            name: world.in_sight(number, self.objects) for name, number in self.numbers.items()
        }

    def _perceptions(
        self,
        world: World[Any, Any],
        names: Sequence[str],
        steps: int,
        results: Mapping[str, Mapping[str, Any]],
        carried: Mapping[str, Sequence[str]] | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Return what these agents perceive now."""
        vectors, alive = world.vectors(), world.alive
        found: dict[str, dict[str, Any]] = {}
        for name in names:
            facts, around = self.facts[name], self.surroundings[name]
            playing = bool(alive[self.numbers[name]])
            perceived = perception(
                facts,
                around,
                world.observation_text(self.numbers[name]),
                vectors[self.numbers[name]],
                steps,
                own={"in_play": playing, "done": not playing},
                messages=[message_of(letter, steps) for letter in facts.messages],
                earlier=messages_before(world, facts, steps),
                inventory=(around.inventory or ()) if carried is None else carried[name],
                result=results.get(name),
            )
            found[name] = _fields(perceived)
        return found


def _fields(perceived: PerceptionData) -> dict[str, Any]:
    """Return the fields of a perception that are set; the log encodes arrays itself."""
    values = {name: getattr(perceived, name) for name in PerceptionData.model_fields}
    values["messages"] = [message.model_dump(exclude_none=True) for message in perceived.messages]
    return {name: value for name, value in values.items() if value is not None}
