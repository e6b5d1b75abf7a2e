"""What a course does with episodes: which config comes next, who takes part, who was told what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from piase_gym.curricula.agent_setup import AgentSetup
from piase_gym.curricula.director import Draw
from piase_gym.curricula.metering import Passage
from piase_gym.curricula.schema import CurriculumStep
from piase_gym.curricula.seats import Ended, Seat, Try
from piase_gym.curricula.tutors import (
    check_words,
)
from piase_gym.runs.history import SPARE

if TYPE_CHECKING:
    from piase_gym.agents.base import Agent

from piase_gym.curricula.course_state import CourseState


class CourseEpisodes(CourseState):
    """A `Course` without its decisions."""

    # -- what comes next -------------------------------------------------------------------

    def prepare(self, slots: Iterable[int]) -> list[Any]:
        """Return the configs of the next episodes of some slots, in their order.

        Attempts that begin now are posted. An episode that was prepared and did not begin is not
        drawn again.
        """
        if not self._begun:
            self._start()
        if self.director.per_slot:
            return [self._prepare_drawn(slot) for slot in slots]
        orders = {}
        for agent in self.curricula:
            draw = self.director.assign(agent)
            if draw is not None and self._tries[agent] is None:
                self._tries[agent] = self._try(agent, draw, None)
            orders[agent] = self.progress[agent].current_step_order
        config = self._take(orders)
        return [config for _ in slots]

    def _prepare_drawn(self, slot: int) -> Any:
        """Return the config of a slot's next episode, with a step for each agent drawn for it."""
        drawn = self._drawn[slot]
        for agent in self.curricula:
            if agent not in drawn:
                draw = self.director.assign(agent, slot)
                if draw is not None:
                    self.manager.set_current_step(agent, draw.order)
                    drawn[agent] = self._try(agent, draw, slot)
        return self._take({agent: tried.step.order for agent, tried in drawn.items()})

    def _try(self, agent: str, draw: Draw, slot: int | None) -> Try:
        """Let an attempt begin."""
        curriculum, progress = self.curricula[agent], self.progress[agent]
        step = curriculum.step(draw.order)
        self._enter(agent, step)
        drawn = self.director.per_slot
        wanted = 1 if drawn else self.director.episodes(step)
        attempt = progress.step_attempts[step.order]
        data: dict[str, Any] = {
            "curriculum": curriculum.name,
            "order": step.order,
            "name": step.name,
            "attempt": attempt,
            "episodes": wanted,
            "target_coords": step.target_coords,
        }
        if drawn and self.slots > 1:
            data["slot"] = slot
        if draw.values:
            data["drawn_by"] = dict(draw.values)
        self.post("DSE_STEP_ATTEMPT_START", data, agent)
        number = self.meter.attempt(agent, data).number
        for hear in self.hearers:
            hear(agent, data)
        return Try(step, attempt, number, wanted)

    def _enter(self, agent: str, step: CurriculumStep) -> None:
        """Prepare an agent that comes to a step, or goes on with it in another process."""
        if self._entered.get(agent) == step.order:
            return
        if agent in self._entered:
            self.setup.untweak()
        self._entered[agent] = step.order
        settings = self.agent_setup.settings(agent, step)
        received = self.agent_setup.enter(agent, step, settings)
        if settings or step.agent_state != "keep":
            data = {
                "order": step.order,
                "config": settings,
                "agent_state": step.agent_state,
                "received": received,
            }
            self.post("DSE_AGENT_RECONFIG_APPLIED", data, agent)

    def meet(self, agents: Mapping[str, Agent]) -> None:
        """Configure these agents from now on, when they come to a step."""
        self.agent_setup = AgentSetup(agents, self.curricula)

    @property
    def over(self) -> bool:
        """Whether every curriculum is over."""
        return not any(progress.active for progress in self.progress.values())

    @property
    def prompts(self) -> dict[str, str | None]:
        """The prompt of the step that each agent is in, if it has one."""
        found: dict[str, str | None] = {}
        for agent, progress in self.progress.items():
            step = self.curricula[agent].find_step(progress.current_step_order)
            found[agent] = None if step is None else self.agent_setup.prompt(agent, step)
        return found

    def _take(self, orders: Mapping[str, int]) -> Any:
        """Return the config of an episode, and post it if it is another one than before."""
        config = self.setup.config(orders)
        self.modifier.orders = dict(orders)
        if config is not self._config:
            self._config = config
            fields = self.setup.fields(orders) | self.setup.tweaks
            self.post("DSE_ENV_RECONFIG_APPLIED", {"orders": dict(orders), "config": fields})
        return config

    # -- episodes --------------------------------------------------------------------------

    def began(self, slot: int, playing: Sequence[str]) -> dict[str, Seat]:
        """An episode begins; returns who takes part in it, with the hint that it is to get."""
        seats = {}
        for agent in (agent for agent in self.curricula if agent in playing):
            tried = self._drawn[slot].get(agent) if self.director.per_slot else self._tries[agent]
            seats[agent] = self._seat(agent, tried)
        self.seats[slot] = seats
        return seats

    def _seat(self, agent: str, tried: Try | None) -> Seat:
        """Return an agent's part in an episode that begins."""
        self._sequence += 1
        progress = self.progress[agent]
        if tried is None:
            step = self.curricula[agent].step(progress.current_step_order)
            number = SPARE if self.meter.history.of(agent).attempts else 0
            return Seat(agent, number, self._sequence, step, progress.attempt)
        if tried.begun >= tried.wanted:
            return Seat(agent, SPARE, self._sequence, tried.step, tried.attempt)
        tried.begun += 1
        hint = progress.hint
        return Seat(agent, tried.number, self._sequence, tried.step, tried.attempt, hint)

    def absent(self, agent: str) -> Seat:
        """Return the part of an agent that does not take part in the episode.

        Raises:
            AgentError: If it has no curriculum.
        """
        progress = self.manager.progress(agent)
        step = self.curricula[agent].step(max(progress.current_step_order, 0))
        return Seat(agent, SPARE, self._sequence, step, progress.attempt)

    def words(self, seat: Seat) -> str | None:
        """Return the words of the hint that an agent is to get at the beginning of an episode."""
        if seat.hint is None:
            return None
        message = seat.step.hints[seat.hint].message
        tutor = self.plan.tutor
        if tutor is not None:
            message = check_words(tutor.word(seat.agent, seat.hint, message))
        return message

    def hinted(self, seat: Seat, message: str, by: str, slot: int | None = None) -> None:
        """Take note of a hint that was given."""
        self.meter.hint(seat.agent, message, slot)
        hint = None if seat.hint is None or by == "nudge" else seat.step.hints[seat.hint]
        data: dict[str, Any] = {
            "hint": None if hint is None else seat.hint,
            "message": message,
            "by": "tutor" if by == "nudge" or self.plan.tutor is not None else "curriculum",
            "order": seat.step.order,
            "attempt": seat.attempt,
        }
        if hint is not None:
            data |= {"event_type": hint.event_type, "data": hint.data.model_dump(mode="json")}
        if slot is not None:
            data["slot"] = slot
        self.post("DSE_APPLY_HINT", data, seat.agent)

    def ended(self, slot: int, passages: Mapping[str, Passage]) -> None:
        """An episode has ended."""
        seats, self.seats[slot] = self.seats[slot], {}
        self._drawn[slot] = {}
        self._queue.append(Ended(self.step, slot, seats, passages))

    def attempts(self, slot: int) -> dict[str, int]:
        """Return for each agent in a slot's episode the attempt for which it counts."""
        return {agent: seat.number for agent, seat in self.seats[slot].items()}

    def broken(self, slot: int, passages: Mapping[str, Passage]) -> None:
        """An episode was broken off, or never had a step; its attempt gets another one."""
        seats, self.seats[slot] = self.seats[slot], {}
        for agent, seat in seats.items():
            if seat.number > 0:
                tried = (
                    self._drawn[slot].get(agent) if self.director.per_slot else self._tries[agent]
                )
                if tried is not None and tried.number == seat.number:
                    tried.begun -= 1
            if agent in passages:
                self._record(seat, passages[agent], slot)

    def _record(self, seat: Seat, passage: Passage, slot: int) -> None:
        """Hand an episode to the meter."""
        passage.row.sequence = seat.sequence
        self.meter.take(passage, slot if self.slots > 1 else None)
