"""ObjectSearch in pictures: what agents see is what a describer finds in Bullet's pictures."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled.stepping import NONE, REBUILD, Kernels
from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.text_encoding import hash_text
from piase_gym.core.world import Capabilities, LogEntry
from piase_gym.errors import PiaseError
from piase_gym.worlds.describing import (
    Describer,
    Description,
    Picture,
    Recaller,
    Score,
    describer,
    description_value,
    objects_in,
    recalled,
    score_caption,
    score_objects,
    tidy,
)
from piase_gym.worlds.object_search import facts as views
from piase_gym.worlds.object_search.codes import HEIGHT
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.facts import ObjectSearchFacts
from piase_gym.worlds.object_search.observe.camera import (
    HUES,
    LEAST,
    LINES,
    SHAPES,
    WIDTH,
    Camera,
    CameraPose,
    camera_of,
    release,
)
from piase_gym.worlds.object_search.observe.sight import KERNELS, judge_one
from piase_gym.worlds.object_search.world import ObjectSearch
from piase_gym.worlds.texts.wording import plain


class CameraView(NamedTuple):
    """What an agent sees at one moment.

    Attributes:
        picture: The picture.
        truth: What is in it, according to Bullet's mask.
        told: What the describer says about it.
        glimpsed: The names of all objects with at least one pixel in it.
    """

    picture: Picture
    truth: Description
    told: Description
    glimpsed: frozenset[str] = frozenset()


MOST_ENTRIES = 1000
"""The most descriptions that are kept while nobody writes a log."""
_BLANK = CameraView(np.zeros((LINES, WIDTH, 3), np.uint8), Description(), Description())


class CameraSearch(ObjectSearch):
    """A house of `ObjectSearch` in which agents see pictures of it.

    Rules, poses and range finder are those of the house. An agent sees the objects that the
    describer finds in its picture; one counts as found if the mask says that it is there.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(late_join=True)

    def __init__(self, config: ObjectSearchConfig) -> None:
        """Build the world.

        Raises:
            UnknownNameError: If there is no such describer.
        """
        self._recalled = recalled()
        self._entries: deque[LogEntry] = deque(maxlen=MOST_ENTRIES)
        self.shots = [_BLANK] * config.fixed_envelope().agents
        self._take_names(config)
        super().__init__(config)

    def _take_names(self, config: ObjectSearchConfig) -> None:
        """Prepare what depends on the names of objects, and a describer that knows them."""
        self._numbers = {plain(name): k for k, name in enumerate(config.object_names)}
        palette = dict(zip(self._numbers, HUES, strict=False))
        known, name = self._recalled, config.describer
        asked = describer(name, palette) if known is None else Recaller(known)
        self._describe: Describer = asked

    def check_config(self, config: ObjectSearchConfig) -> None:
        """Also check that the describer exists."""
        if self._recalled is None:
            describer(config.describer, {})
        super().check_config(config)

    def take_config(self, config: ObjectSearchConfig) -> None:
        """Take another config; what was seen stays until the next picture."""
        super().take_config(config)
        self._take_names(self.config)

    def close(self) -> None:
        """Release the camera."""
        release(self)

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle without the describer, which may not be copyable."""
        return {**super().__getstate__(), "_describe": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, with a new describer of the same name."""
        super().__setstate__(state)
        self._take_names(self.config)

    # -- kernels, with pictures between them ----------------------------------------------

    @property
    def kernels(self) -> Kernels:  # type: ignore[override]
        """The kernels of the house, except for the step, which takes pictures halfway."""
        return KERNELS._replace(step_one=self._step_one)

    def _step_one(self, one: Any) -> int:
        """Let agents move, take their pictures, and judge what they show."""
        notable = int(KERNELS.step_one(one))
        if notable < 0:
            return notable
        named, right = self._look()
        self.states["seen"][0] = right
        notable |= int(judge_one(one))
        self._show(named)
        return notable

    def _reset_one(self, one: NDArray[Any], what: int, seed: int = 0) -> int:
        """Also take the first pictures of an episode, or those of a restored state."""
        fault = 0 if what == REBUILD else super()._reset_one(one, what, seed)
        if one is self.one and not fault:
            named, right = self._look()
            if what != REBUILD:
                one["state"]["found"] = np.bitwise_or.reduce(right) & one["state"]["goal"]
            self._show(named)
        return fault

    def _look(self) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Take and describe the picture of every agent that takes part.

        Returns:
            For each agent, the objects that it is told of, and those of them that are there, with
            one bit per name.
        """
        record, count = self.states[0], len(self.agents)
        named, right = np.zeros_like(record["seen"]), np.zeros_like(record["seen"])
        taking_part = (self._events != NONE).tolist()
        eyes = [self._eye(agent) if taking_part[agent] else None for agent in range(count)]
        camera = self._set_up(eyes) if any(taking_part) else None
        for agent, eye in enumerate(eyes):
            if camera is not None and eye is not None:
                self.shots[agent] = shot = self._take(camera, agent, eye)
                there = {seen.name for seen in shot.truth.objects}
                names = {seen.name for seen in shot.told.objects if seen.name in self._numbers}
                named[agent] = sum(1 << self._numbers[name] for name in names)
                right[agent] = sum(1 << self._numbers[name] for name in names & there)
        return named, right

    def _eye(self, agent: int) -> CameraPose:
        """Return where an agent is and where it looks."""
        record = self.states[0]
        return CameraPose(*(int(record[name][agent]) for name in CameraPose._fields))

    def _set_up(self, eyes: Sequence[CameraPose | None]) -> Camera:
        """Return a camera in the house, with everything where it is now."""
        record, side = self.states[0], self.side
        cells = record["cells"].reshape(side, side)
        camera = camera_of(self, cells, len(self._numbers), len(eyes))
        goal, places = int(record["goal"]), enumerate(record["place"].tolist())
        things = {
            number: (cell % side, cell // side, int(HEIGHT[cells[cell // side, cell % side]]))
            for number, cell in places
            if goal >> number & 1
        }
        camera.put(things, eyes)
        return camera

    def _take(self, camera: Camera, agent: int, eye: CameraPose) -> CameraView:
        """Take a picture and have it described; if that fails, only the caption says so."""
        picture, mask = camera.look(agent, eye, self.config.sight)
        names = list(self._numbers)
        things = {body: names[number] for body, number in camera.things.items()}
        truth = objects_in(mask, things, LEAST)
        try:
            described = tidy(self._describe(picture), *picture.shape[:2])
        except PiaseError as error:
            described = tidy(
                Description((), f"The picture is not described: {error}"), LINES, WIDTH
            )
        self._note(agent, picture, described)
        glimpsed = frozenset(things[body] for body in np.unique(mask).tolist() if body in things)
        return CameraView(picture, truth, described, glimpsed)

    def _note(self, agent: int, picture: Picture, described: Description) -> None:
        """Keep the log lines of a describer that cannot repeat its descriptions."""
        drain = getattr(self._describe, "log_entries", None)
        for event_type, data in drain() if drain is not None else ():
            entry = {**data, **description_value(picture, described)}
            self._entries.append((self.agents[agent], event_type, entry))

    def log_entries(self) -> Sequence[LogEntry]:
        """Return, and then forget, what a model has said about pictures."""
        found = [*self._entries]
        self._entries.clear()
        return found

    def _show(self, named: NDArray[np.uint16]) -> None:
        """Write the vectors again, with what agents are told about their pictures."""
        super()._reset_one(self.one, REBUILD)
        self.states["seen"][0] = named  # instead of what the house shows
        form = self.form
        for agent in np.flatnonzero(self._events != NONE).tolist():
            row, described = self._obs[agent], self.shots[agent].told
            row[form.objects : form.found] = 0
            for name, (left, top, right, bottom) in reversed(described.objects):
                number = self._numbers.get(name)
                if number is not None:
                    place = form.objects + 2 * number
                    row[place] = 1 + round(50 * (left + right) / WIDTH)
                    row[place + 1] = round(50 * (top + bottom) / LINES)
            row[form.caption :] = hash_text(described.caption)

    # -- knowledge ------------------------------------------------------------------------

    def capture(self) -> Sequence[Any]:
        """Keep the vectors with the hints and captions, which they only hold hashed."""
        rows = zip(self._obs_rows, self.hints, self.shots, strict=True)
        return [(row.copy(), hint, shot.told.caption) for row, hint, shot in rows]

    def facts(self, agent: int) -> ObjectSearchFacts:
        """Return what the agent may know now."""
        caption = self.shots[agent].told.caption
        return views.facts_of(self._obs[agent], agent, self.form, self.hints[agent], caption)

    def surroundings(self, facts: ObjectSearchFacts) -> Surroundings:
        """Return facts in the terms of the PiaSE documents; objects are in the picture."""
        things = [Thing(t.name, "object", {"in_picture": [*t.position]}) for t in facts.objects]
        return dataclasses.replace(super().surroundings(facts), objects=tuple(things))

    def score(self, agent: int) -> tuple[Score, Score]:
        """Score what an agent is told of its picture against the mask: objects, and caption."""
        truth, described = self.shots[agent].truth, self.shots[agent].told
        return (
            score_objects(described.objects, truth.objects),
            score_caption(described.caption, truth.objects, self._numbers),
        )

    def unknown_to(self, agent: int) -> dict[str, Any]:
        """Do what the house does, but swap objects of one shape with no pixel in any picture."""
        changed, record = super().unknown_to(agent), self.states[0]
        changed.pop("shelf", None)
        if changed.pop("place", None) is None:
            return changed
        glimpsed = frozenset().union(*(shot.glimpsed for shot in self.shots))
        left = int(record["goal"]) & ~int(record["found"])
        hidden = [k for n, k in self._numbers.items() if left >> k & 1 and n not in glimpsed]
        for one, two in zip(hidden, hidden[len(SHAPES) :], strict=False):
            if one % len(SHAPES) == two % len(SHAPES):
                place = record["place"].tolist()
                place[one], place[two] = place[two], place[one]
                return {**changed, "place": place}
        return changed

    # -- pictures -------------------------------------------------------------------------

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the place as a picture, and next to it what each agent sees."""
        house, shots = super().rgb(), [shot.picture for shot in self.shots]
        scale = max(1, house.shape[0] // (len(shots) * (LINES + 4)))
        strip = np.concatenate([np.pad(s, ((2, 2), (2, 2), (0, 0))) for s in shots])
        strip = strip.repeat(scale, 0).repeat(scale, 1)
        height = max(len(house), len(strip))
        sides = [np.pad(p, ((0, height - len(p)), (0, 0), (0, 0))) for p in (house, strip)]
        return np.concatenate(sides, axis=1)
