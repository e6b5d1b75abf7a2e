"""TextProbe: a text adventure in three rooms, in plain Python.

`World.num_actions` is fixed by the envelope (`TextProbeEnvelope.commands`). Index i stands for the
i-th of the agent's legal commands, sorted; indices beyond them are masked and illegal. ``say`` has
three phrases there; free text comes through text actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from pydantic import TypeAdapter

from piase_gym.core.commands import Command, InvalidAction, Outcome, Param, Result, Verb
from piase_gym.core.digest import canonical_json
from piase_gym.core.mailbox import EVERYONE, ChannelRules, Mailbox
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.world import Capabilities, DecodedAction, Manual, StepResult, World, shared
from piase_gym.errors import SnapshotError
from tests.probes import text_pictures, text_rules, text_views
from tests.probes.text_config import (
    DIRECTIONS,
    ITEMS,
    MOODS,
    ROOMS,
    TextProbeConfig,
    TextProbeEnvelope,
)
from tests.probes.text_rules import STATUSES, TextState
from tests.probes.text_views import TextFacts

STREAMS = (StreamId.LAYOUT, StreamId.DYNAMICS, StreamId.CHANNEL)
_STATE = TypeAdapter(TextState)


def make_grammar(items: tuple[str, ...]) -> tuple[Verb, ...]:
    """Return the verbs of a house with these items."""
    item = Param("item_name", choices=items)
    return (
        Verb("look", "look around", synonyms=("l",)),
        Verb("go", "leave the room", (Param("direction", choices=DIRECTIONS),), ("walk",)),
        Verb("take", "pick up an item", (item,), ("get",)),
        Verb("drop", "put down an item", (item,)),
        Verb(
            "use",
            "use an item, alone or on something",
            (item, Param("target_object", choices=("door",), optional=True, before="on")),
        ),
        Verb("inventory", "check your pockets", synonyms=("i",)),
        Verb("say", "speak to everyone", (Param("message", "text"),)),
        Verb("wait", "do nothing", synonyms=("z", "noop")),
    )


class TextProbe(World[TextProbeConfig, TextFacts]):
    """Find the key, open the door, take the jewel; do not drink from the vial."""

    name: ClassVar[str] = "TextProbe"
    tells_last_step = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        late_join=True, native_text=True, messages=True
    )
    milestones: ClassVar[tuple[str, ...]] = text_rules.MILESTONES

    envelope: TextProbeEnvelope

    def __init__(self, config: TextProbeConfig) -> None:
        """Build the house; `reset` furnishes it."""
        super().__init__(config)
        self.text_length = text_views.longest_text(self.envelope)
        self._grammar = make_grammar(ITEMS[: self.envelope.items])
        self.mailboxes: Mailbox = self._new_mail()
        self.reset(0)

    def _new_mail(self) -> Mailbox:
        """Open empty mailboxes."""
        rules = ChannelRules(delay=1, max_length=text_views.MAX_MESSAGE)
        return Mailbox(self.agents, rules, self._hears)

    def _hears(self, _sender: str, recipient: str) -> bool:
        """Let those in play hear everything."""
        return self.house.status[self.agents.index(recipient)] == "playing"

    # -- vocabulary -----------------------------------------------------------------------

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """Eight verbs; see `make_grammar`."""
        return self._grammar

    @property
    def num_actions(self) -> int:
        """The most commands that can be legal at once."""
        return self.envelope.commands

    @property
    def noop(self) -> Command:
        """``wait``."""
        return Command("wait")

    @property
    def vector_space(self) -> Box:
        """A uint8 Box; see `text_views`."""
        return text_views.vector_box(self.envelope)

    @property
    def state_space(self) -> Box:
        """An int32 Box; see `state`."""
        size = 3 + len(ROOMS) + self.envelope.items + 5 * self.envelope.agents
        return Box(-1, 2**31 - 1, (size,), np.int32)

    # -- an episode -----------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Furnish the house and let the first agents in."""
        self.streams = {stream: Stream(seed, stream) for stream in STREAMS}
        layout = self.streams[StreamId.LAYOUT]
        self.house = text_rules.new_state(self.config, len(self.agents), layout)
        self.mailboxes.clear()

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Let the agents in play act, then carry letters, then let others in."""
        house, slots = self.house, len(self.agents)
        playing = [agent for agent in house.order if house.status[agent] == "playing"]
        rewards, outcomes = [0.0] * slots, [Outcome.OK] * slots
        notes: dict[int, dict[str, Any]] = {}
        for agent in playing:
            plan, reached = plans[agent], list[str]()
            if not isinstance(plan, Command):
                assert isinstance(plan, InvalidAction)
                effect = text_rules.Effect(plan.outcome, plan.message, -0.5)
            else:
                effect = self._carry_out(agent, plan)
                if effect.outcome is Outcome.OK:
                    reached = text_rules.new_milestones(house, agent, plan)
            outcomes[agent], rewards[agent] = effect.outcome, effect.reward - 0.1
            house.feedback[agent] = text_views.clip(effect.told)
            notes[agent] = {"feedback": house.feedback[agent]}
            if reached:
                notes[agent]["milestones"] = reached
        house.t += 1
        self.mailboxes.deliver(self.streams[StreamId.CHANNEL])
        terminated = [i in playing and house.status[i] != "playing" for i in range(slots)]
        truncated = self._run_out()
        self._let_in(notes)
        if self.config.shared_reward:
            rewards = shared(rewards, playing)
        ended = any(terminated) or any(truncated)
        return StepResult(rewards, terminated, truncated, outcomes, ended, notes)

    def _carry_out(self, agent: int, command: Command) -> text_rules.Effect:
        """Let a command take effect."""
        if command.verb == "say":
            message = str(command.parameters["message"])
            self.mailboxes.send(self.agents[agent], EVERYONE, message)
        dice = self.streams[StreamId.DYNAMICS]
        return text_rules.apply(self.house, agent, command, self.config.slip, dice)

    def _run_out(self) -> list[bool]:
        """End the episode of everyone in play if time is up."""
        house = self.house
        up = house.t >= self.config.max_steps
        truncated = [up and house.status[i] == "playing" for i in range(len(self.agents))]
        for agent, late in enumerate(truncated):
            if late:
                house.status[agent] = "lost"
        return truncated

    def _let_in(self, notes: dict[int, dict[str, Any]]) -> None:
        """Let agents in whose step has come, unless time is up or nobody is left in play."""
        house = self.house
        if house.t >= self.config.max_steps or "playing" not in house.status:
            return
        for agent, step in enumerate(self.config.entries):
            if step == house.t and house.status[agent] == "coming":
                house.status[agent] = "playing"
                notes[agent] = {"joined": True}

    @property
    def alive(self) -> Sequence[bool]:
        """Who is in the house and still in play."""
        return [status == "playing" for status in self.house.status]

    def result(self, agent: int) -> Result:
        """Won with the jewel, otherwise lost."""
        return Result.WON if self.house.status[agent] == "won" else Result.LOST

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents act in this order until it is changed."""
        self.house.order = list(order)

    # -- what agents know and can do ------------------------------------------------------

    def facts(self, agent: int) -> TextFacts:
        """Return what the agent may know now."""
        house = self.house
        room = house.rooms[agent]
        others = [
            name
            for number, name in enumerate(self.agents)
            if number != agent and house.status[number] == "playing" and house.rooms[number] == room
        ]
        return TextFacts(
            agent=self.agents[agent],
            room=room,
            mood=house.moods[room],
            exits=tuple((way, passage) for way, passage, _ in text_rules.exits(house, room)),
            items=tuple(text_rules.lying(house, room)),
            inventory=tuple(text_rules.lying(house, str(agent))),
            others=tuple(others),
            messages=tuple(self.mailboxes.delivered[self.agents[agent]]),
            feedback=house.feedback[agent],
            hint=self.hints[agent],
        )

    def vector(self, facts: TextFacts) -> NDArray[np.uint8]:
        """Return the vector of the facts."""
        return text_views.vector_of(facts, self.agents, self.envelope)

    @staticmethod
    def to_text(facts: TextFacts, config: TextProbeConfig) -> str:
        """Return the prose of the facts."""
        return text_views.text_of(facts)

    def native_text(self, agent: int) -> str:
        """Return the facts in the manner of an old text adventure."""
        return text_views.native_of(self.facts(agent))

    def legal(self, agent: int, command: Command) -> bool:
        """Tell whether a command is legal now; whatever is said is."""
        return text_rules.is_legal(self.house, agent, command)

    def admissible(self, agent: int) -> list[Command]:
        """Return the legal commands; of ``say`` only the phrases."""
        return text_rules.legal_commands(self.house, agent)

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the i-th legal command of now."""
        commands = self.admissible(agent)
        if index < len(commands):
            return commands[index]
        message = f"Only the first {len(commands)} actions are legal now."
        return InvalidAction(Outcome.ILLEGAL, message)

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return ones for as many indices as there are legal commands."""
        masks = np.zeros((len(self.agents), self.num_actions), np.int8)
        for agent, mask in enumerate(masks):
            mask[: len(self.admissible(agent))] = 1
        return list(masks)

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return Manual(
            "You are in a house of three rooms. The garden lies behind a locked door. What you say "
            "is heard by everyone in play one step later.",
            "-0.1 a step; +10 for the jewel; +1 for opening the door; -5 for drinking poison; "
            "-0.5 for what is illegal or cannot be read.",
            lambda _agent: "take the jewel.",
        )

    # -- the state is a value -------------------------------------------------------------

    def state(self) -> NDArray[np.int32]:
        """Return every non-string fact of the world.

        These are t, the door's side and lock, moods; a place for each item (room, 3 + agent, -1
        gone or none); then for each agent room, status, milestones, letters heard and turn.
        """
        house, slots = self.house, len(self.agents)
        places = [str(house.places.get(item)) for item in ITEMS[: self.envelope.items]]
        codes = [
            ROOMS.index(p) if p in ROOMS else 3 + int(p) if p.isdigit() else -1 for p in places
        ]
        parts = [
            [house.t, ("east", "north", "west").index(house.side), int(house.unlocked)],
            [MOODS.index(mood) for _, mood in sorted(house.moods.items())],
            codes,
            [ROOMS.index(room) for room in house.rooms],
            [STATUSES.index(status) for status in house.status],
            [len(reached) for reached in house.reached],
            [len(self.mailboxes.delivered[name]) for name in self.agents],
            [house.order.index(agent) for agent in range(slots)],
        ]
        return np.concatenate([np.asarray(part, np.int32) for part in parts])

    def get_state(self) -> dict[str, Any]:
        """Return house, letters and streams."""
        return {
            "house": asdict(self.house),
            "mail": self.mailboxes.get_state(),
            "streams": [self.streams[stream].get_state() for stream in STREAMS],
        }

    def digest_state(self) -> Any:
        """Leave out the history of letters, which changes nothing."""
        return {**self.get_state(), "mail": self.mailboxes.digest_state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `get_state` returned."""
        try:
            house = _STATE.validate_json(canonical_json(state["house"]))
            mail = self._new_mail()
            mail.set_state(state["mail"])
            streams = {stream: Stream(0, stream) for stream in STREAMS}
            for stream, value in zip(STREAMS, state["streams"], strict=True):
                streams[stream].set_state(value)
            self._check_sizes(house, mail)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise SnapshotError(f"{self.name}: the state does not fit: {error}") from None
        self.house, self.mailboxes, self.streams = house, mail, streams

    def _check_sizes(self, house: TextState, mail: Mailbox) -> None:
        """Raise `ValueError` if a state is of another number of agents or items."""
        slots = len(self.agents)
        lists = (house.rooms, house.status, house.feedback, house.reached, house.order)
        if any(len(part) != slots for part in lists) or sorted(house.order) != [*range(slots)]:
            raise ValueError(f"it is not of {slots} agents")
        if set(house.places) != set(ITEMS[: self.config.items]):
            raise ValueError(f"it is not of {self.config.items} items")
        if set(mail.boxes) != set(self.agents) or set(mail.delivered) != set(self.agents):
            raise ValueError(f"its mailboxes are not those of {', '.join(self.agents)}")
        places = {*ROOMS, text_rules.GONE, *map(str, range(slots))}
        if not set(house.places.values()) <= places or set(house.moods) != set(ROOMS):
            raise ValueError("it has unknown places")

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Draw the house as a list of rooms."""
        return text_pictures.ansi(self.house, self.agents)

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the house as a picture."""
        return text_pictures.rgb(self.house, self.agents)
