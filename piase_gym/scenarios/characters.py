"""Simulated people of a scenario, as data: where they go, what they need, what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

from pydantic import Field

from piase_gym.core.config import AgentId
from piase_gym.core.script.checks import Problem
from piase_gym.core.shorthand import ShorthandModel
from piase_gym.errors import suggest

Place = str | tuple[int, int]
Words = Annotated[str, Field(min_length=1, max_length=200)]
START = "start"


class Stop(ShorthandModel):
    """A part of a routine: go somewhere and stay for a while."""

    place: Place = Field(description="a room, or (x, y)")
    stay: int = Field(1, ge=0, le=100_000, description="how many steps to stay there")


class Need(ShorthandModel):
    """Something that grows until the character sees to it, whatever its routine says."""

    start: float = Field(0.0, ge=0, description="its value at the start")
    per_step: float = Field(1.0, gt=0, description="how much it grows per step")
    limit: float = Field(10.0, gt=0, description="the value at which the character sees to it")
    place: Place = Field(description="where it can be satisfied: a room, or (x, y)")
    relief: float = Field(5.0, gt=0, description="how much it falls per step there")


class Answer(ShorthandModel):
    """A way from one node of a dialogue to another."""

    hears: str | int | None = Field(
        None, description="a word that the other says, or in GridWorld a symbol; default: anything"
    )
    to: str = Field(description="the node that follows")


class Node(ShorthandModel):
    """What a character says, and how the dialogue goes on."""

    says: Words = Field(description="what the character says")
    answers: tuple[Answer, ...] = Field(
        (), description="ways on to other nodes; the first that fits is taken"
    )


class Character(ShorthandModel):
    """A person who is played by the scenario itself.

    Its routine repeats forever. It greets everybody who comes near, once, with the node `start`,
    and answers whoever speaks to it there.
    """

    agent_id: AgentId = Field(description="its name")
    start: Place = Field(description="where it starts: a room, or (x, y)")
    routine: tuple[Stop, ...] = Field((), description="the places that it goes to, in order")
    needs: dict[str, Need] = Field(default_factory=dict, description="name of a need -> need")
    dialogue: dict[str, Node] = Field(default_factory=dict, description="name of a node -> node")

    @property
    def places(self) -> Iterator[tuple[tuple[str | int, ...], Place]]:
        """Every place that it names, with its path."""
        yield ("start",), self.start
        for k, stop in enumerate(self.routine):
            yield ("routine", k, "place"), stop.place
        for name, need in self.needs.items():
            yield ("needs", name, "place"), need.place

    def problems(self, place_problem: Callable[[Any], str | None]) -> Iterator[Problem]:
        """Yield what is wrong with places and nodes.

        Args:
            place_problem: A function that says what is wrong with a place, or ``None``.
        """
        for path, place in self.places:
            message = place_problem(place)
            if message is not None:
                yield Problem(path, message)
        if self.dialogue and START not in self.dialogue:
            yield Problem(("dialogue",), f"there is no node {START!r}, with which it begins")
        for name, node in self.dialogue.items():
            for k, answer in enumerate(node.answers):
                if answer.to not in self.dialogue:
                    message = f"there is no node {answer.to!r}; {suggest(answer.to, self.dialogue)}"
                    yield Problem(("dialogue", name, "answers", k, "to"), message)
