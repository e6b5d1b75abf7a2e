"""The episodes of TextRoom: how one begins, and what a step does to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import InvalidAction, Outcome, Result
from piase_gym.core.mailbox import ChannelRules, Letter, Mailboxes
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.world import DecodedAction, StepResult, World, shared
from piase_gym.errors import AgentError
from piase_gym.worlds.text_room import (
    endings,
    outlook,
    prompt,
    rules,
    views,
)
from piase_gym.worlds.text_room.config import (
    MAX_FEEDBACK,
    MAX_MESSAGE,
    TextRoomConfig,
    TextRoomEnvelope,
)
from piase_gym.worlds.text_room.generator import generate
from piase_gym.worlds.text_room.lexicon import bases_of, table_of, vocabulary
from piase_gym.worlds.text_room.outlook import Known, Outlooks
from piase_gym.worlds.text_room.parser import Reader
from piase_gym.worlds.text_room.sight import Sight
from piase_gym.worlds.text_room.state import (
    Plot,
    compile_story,
    new_state,
)
from piase_gym.worlds.text_room.views import SYSTEM, Passing, TextRoomFacts

STREAMS = (StreamId.LAYOUT, StreamId.CHANNEL)


class Episodes(World[TextRoomConfig, TextRoomFacts]):
    """The part of TextRoom that plays: a story, its letters, and what agents see of it.

    Attributes:
        plot: The story of the episode.
        state_of: Its state.
        streams: Its random streams.
        mailboxes: Where its letters lie.
    """

    envelope: TextRoomEnvelope
    mailboxes: Mailboxes

    def __init__(self, config: TextRoomConfig) -> None:
        """Fix the spaces; `reset` sets up the story."""
        super().__init__(config)
        self.text_length = views.longest_text(self.envelope)
        self._grammar = prompt.grammar(len(self.agents) > 1)
        self._size = bases_of(self.envelope).size
        self._told: Plot | None = None
        self._take(self.config)
        self.mailboxes: Mailboxes = self._new_mail()
        self.reset(0)

    def _take(self, config: TextRoomConfig) -> None:
        """Prepare what follows from a config."""
        self._words = vocabulary(config)
        self._table = table_of(self._words)
        self._reader = Reader(self.agents, self._grammar)
        self._told = None if config.story is None else compile_story(config.story)

    def configure(self, config: TextRoomConfig) -> None:
        """Take another config for the episodes that follow; agents keep their names.

        The agents of another story are played, in its order, by those that are here.
        """
        if config.names(len(self.agents)) != self.agents:
            config = config.model_copy(update={"agent_ids": self.agents[: config.agents]})
        super().configure(config)
        self._take(self.config)

    def _new_mail(self) -> Mailboxes:
        """Open empty mailboxes."""
        config = self.config
        channel = ChannelRules(
            delay=config.message_delay, max_length=MAX_MESSAGE, drop=config.message_loss
        )
        return Mailboxes(self.agents, channel, self._hears)

    def _hears(self, sender: str, recipient: str) -> bool:
        """Let those in play hear, if need be only in the same room."""
        one, two = self.agents.index(sender), self.agents.index(recipient)
        near = (
            self.config.hearing == "everywhere"
            or self.state_of.rooms[one] == (self.state_of.rooms[two])
        )
        return near and self.state_of.status[two] == "playing"

    # -- an episode -----------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Set up the story, or make one."""
        self.streams = {stream: Stream(seed, stream) for stream in STREAMS}
        self.plot = self._plot_of(seed)
        self.state_of = new_state(self.plot, len(self.agents), self.config.agents, seed)
        self.mailboxes = self._new_mail()
        self._outlooks = self._new_outlooks()

    def _new_outlooks(self) -> Outlooks:
        """Remember nothing of what was seen."""
        return Outlooks(self.plot, self._table, self.agents, self.config.story is None)

    def _plot_of(self, seed: int) -> Plot:
        """Return the story of an episode as tables."""
        if self._told is not None:
            return self._told
        layout = Stream(seed, StreamId.LAYOUT)
        names = self.config.names(self.config.agents)
        return compile_story(generate(self.config, names, layout))

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Let the agents in play act, then time pass, then letters arrive, then others enter."""
        state, slots = self.state_of, len(self.agents)
        playing = [agent for agent in state.order if state.status[agent] == "playing"]
        outcomes = [Outcome.OK] * slots
        turn = rules.Turn(self.plot, state, self.agents, [0.0] * slots)
        state.told = [None] * slots
        notes: dict[int, dict[str, Any]] = {}
        for agent in playing:
            effect = self._act(turn, agent, plans[agent])
            outcomes[agent] = effect.outcome
            turn.rewards[agent] += self._worth(effect.outcome)
            state.feedback[agent] = effect.told[:MAX_FEEDBACK]
            notes[agent] = {"feedback": state.feedback[agent]}
        endings.pass_time(turn)
        self._carry_letters(turn)
        truncated = endings.judge(turn, self.config.max_steps)
        for agent, reached in turn.milestones.items():
            notes.setdefault(agent, {})["milestones"] = reached
            turn.rewards[agent] += self.config.rewards.milestone * len(reached)
        ended = [agent for agent in playing if state.status[agent] != "playing"]
        terminated = [False] * slots
        for agent in ended:
            terminated[agent] = not truncated[agent]
            if terminated[agent]:
                turn.rewards[agent] += self._prize(state.status[agent])
            if state.metrics:
                notes[agent]["metrics"] = dict(state.metrics)
        if "coming" in state.status:
            self._let_in(notes)
        self._outlooks.look_again()
        rewards = shared(turn.rewards, playing) if self.config.shared_reward else turn.rewards
        return StepResult(rewards, terminated, truncated, outcomes, bool(ended), notes)

    def _act(self, turn: rules.Turn, agent: int, plan: DecodedAction) -> rules.Effect:
        """Let a command take effect, unless an event has ended the agent's part meanwhile."""
        if isinstance(plan, InvalidAction):
            return rules.Effect(plan.outcome, plan.message)
        if plan is None or self.state_of.status[agent] != "playing":
            return rules.Effect(Outcome.FAILED, "It is over.")
        deed = rules.deed_of(self.plot, self.agents, agent, plan)
        return endings.with_milestones(turn, deed, rules.perform(turn, deed))

    def _worth(self, outcome: Outcome) -> float:
        """Return the reward of a step with this outcome."""
        table = self.config.rewards
        if outcome is Outcome.OK:
            return table.step
        failed = outcome in (Outcome.FAILED, Outcome.TIMEOUT)
        return table.step + (table.failed if failed else table.illegal)

    def _prize(self, status: str) -> float:
        """Return the reward of who has won or lost by a condition."""
        table = self.config.rewards
        return {"won": table.win, "lost": table.lose}.get(status, 0.0)

    def _carry_letters(self, turn: rules.Turn) -> None:
        """Hand over what agents say, and what the system tells them."""
        for letter in turn.letters:
            self.mailboxes.send(*letter)
        self.mailboxes.deliver(self.streams[StreamId.CHANNEL])
        for agent, told in enumerate(self.state_of.told):
            if told is not None:
                self._tell(self.agents[agent], told[: 2 * MAX_MESSAGE])

    def _tell(self, agent: str, told: str) -> None:
        """Put a letter of the system into an agent's box."""
        letter = Letter(SYSTEM, agent, told)
        mail = self.mailboxes
        mail.history.append(letter)
        mail.heard[agent].append(letter)
        mail.boxes[agent].append(letter)
        del mail.boxes[agent][: max(0, len(mail.boxes[agent]) - mail.rules.box_size)]

    def _let_in(self, notes: dict[int, dict[str, Any]]) -> None:
        """Let agents in whose step has come, unless time is up or nobody is left in play."""
        state = self.state_of
        if state.t >= self.config.max_steps or "playing" not in state.status:
            return
        setups = self.plot.story.agent_setup
        for agent, status in enumerate(state.status):
            if status == "coming" and setups[agent].join_at <= state.t:
                state.status[agent] = "playing"
                notes[agent] = {"joined": True}

    def enter(self, agent: int) -> None:
        """Let an agent that was still to come, or that the config leaves out, enter now."""
        state = self.state_of
        if state.status[agent] not in ("none", "coming"):
            told = "in play" if state.status[agent] == "playing" else "done with this episode"
            raise AgentError(f"agent {self.agents[agent]!r} is {told} already")
        state.status[agent] = "playing"
        self._outlooks.look_again()

    @property
    def alive(self) -> Sequence[bool]:
        """Who is there and still in play."""
        return [status == "playing" for status in self.state_of.status]

    def result(self, agent: int) -> Result:
        """Return how it ended for an agent."""
        status = self.state_of.status[agent]
        return Result(status) if status in list(Result) else Result.ENDED

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents act in this order until it is changed."""
        self.state_of.order = list(order)

    # -- what agents know -----------------------------------------------------------------

    def sight(self, agent: int) -> Sight:
        """Return what an agent sees and holds."""
        return self._outlooks.of(agent, self.state_of).sight

    def facts(self, agent: int) -> TextRoomFacts:
        """Return what the agent may know now."""
        return self._known(agent).facts()

    def _known(self, agent: int) -> Known:
        """Return the same, ready to be made into facts or a vector."""
        state = self.state_of
        heard = self.mailboxes.heard[self.agents[agent]]
        passing = Passing(
            tuple(state.stats[agent].items()),
            tuple(heard),
            state.feedback[agent],
            self.hints[agent],
        )
        return Known(self._outlooks, self._outlooks.of(agent, state), passing)

    def capture(self) -> Sequence[Known]:
        """Return what each agent knows; see `outlook.Known`."""
        return [self._known(agent) for agent in range(len(self.agents))]

    def vectors(self, kept: Sequence[Known] | None = None) -> Sequence[NDArray[np.float32]]:
        """Return the vector of every agent, in fresh memory."""
        return [known.vector() for known in (self.capture() if kept is None else kept)]

    def text_writer(self) -> Callable[[Known, int], str]:
        """Return what writes texts of what `capture` returned."""
        return outlook.tell
