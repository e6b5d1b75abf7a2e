"""The explorers' interface of the explorer document: `PerceptionInterface`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.commands import Command, InvalidAction
from piase_gym.core.config import WorldConfig
from piase_gym.core.documents import PerceptionInterface
from piase_gym.core.jsonable import jsonable
from piase_gym.core.mailbox import Mailbox
from piase_gym.core.models import AgentState, MailMessage, SharedMemory
from piase_gym.core.shared_memory import SharedKnowledge
from piase_gym.errors import ActionError, AgentError, SnapshotError
from piase_gym.interfaces.base import WorldInterface
from piase_gym.interfaces.perceptions import environment_info
from piase_gym.interfaces.results import simple_result
from piase_gym.interfaces.turns import Act


class WorldPerceptionInterface(WorldInterface, PerceptionInterface, over_world=True):
    """A world behind the `PerceptionInterface` of the explorer document.

    Where a world has no positions or objects, it reports what it has: the position is ``None`` or
    the name of a place, the list of objects may be empty, and the caption is the text view.

    Messages go through the mailboxes of the world, under its rules (delay, length, who hears
    whom, cost). A world without words gets mailboxes of this environment, which deliver at once.

    The arguments are those of `WorldInterface`.

    Example:
        >>> env = PerceptionInterface("GridWorld", agents=2, start_pos=[(0, 0), (3, 3)])
        >>> env.reset(seed=0)
        >>> env.execute_action("agent_0", "move", {"direction": "right"})["status"]
        'in_progress'
        >>> env.execute_action("agent_1", "stay")["status"]
        'success'
        >>> env.get_agent_state("agent_0")["position"]
        [1, 0]
    """

    def __init__(self, world: str | WorldConfig | WorldInterface, **kwargs: Any) -> None:
        """Make the world, and open mailboxes in case it has none for words."""
        super().__init__(world, **kwargs)
        self._own_mail = Mailbox(self.world.agents)
        self._knowledge = SharedKnowledge()
        self._episode = self.engine.episodes

    @property
    def mailboxes(self) -> Mailbox:
        """The world's mailboxes, or those of this environment."""
        self._keep_up()
        mail = self.world.mailboxes
        return self._own_mail if mail is None or not self.world.carries_words else mail

    def _keep_up(self) -> None:
        """Forget what belongs to another episode (another environment may have reset the world)."""
        if self._episode != self.engine.episodes:
            self._episode = self.engine.episodes
            self._own_mail.clear()
            self._knowledge.clear()

    def _discover(self) -> SharedKnowledge:
        """Note what the agents see now and where they are."""
        self._keep_up()
        for name, record in self.engine.records.items():
            self._knowledge.note(name, record.surroundings)
        return self._knowledge

    # -- seeing and doing -----------------------------------------------------------------

    def get_visible_objects(self, agent_id: str, position: Any = None) -> list[str]:
        """Return the names of the objects and agents that an agent sees, each once.

        Args:
            agent_id: The agent.
            position: Where the agent believes it is. What it sees depends on where it really is.
        """
        things = self.engine.record(agent_id).surroundings.objects
        self._discover()
        return list(dict.fromkeys(thing.name for thing in things))

    def get_agent_state(self, agent_id: str) -> AgentState:
        """Return where an agent is, what it sees and carries, and what became of its action."""
        record = self.engine.record(agent_id)
        perceived = self.engine.perceived(record)
        surroundings = record.surroundings
        carried = surroundings.inventory
        return AgentState(
            agent_id=agent_id,
            position=jsonable(surroundings.position),
            rotation=jsonable(surroundings.rotation),
            step_count=self.time_step,
            visible_objects=self.get_visible_objects(agent_id),
            visible_caption="" if perceived is None else perceived.text,
            inventory=None if carried is None else list(carried),
            in_play=self.engine.in_play(record),
            done=self.engine.done(record),
            last_action_result=simple_result(record.result),
        )

    def execute_action(
        self, agent_id: str, action: str | Act, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Submit an action; the world ticks when the last agent in play has submitted.

        Args:
            agent_id: The agent.
            action: A verb of the world's grammar, or without `params` also a whole line, such as
                ``move up``; or a `Command`, or an `InvalidAction`.
            params: The verb's parameters.

        Returns:
            The new state (see `get_agent_state`) with ``status``, ``message`` and ``reward``. While
            others have not acted, the status is ``in_progress`` and the state is the old one.

        Raises:
            ActionError: If action or params are of a wrong type; nothing has happened then.
            AgentError: If the agent does not exist or is not in play.
            ResetNeededError: Before the first reset and after the end of an episode.
        """
        record = self.engine.record(agent_id)
        result = self.engine.submit(agent_id, self._read(record.number, action, params))
        rewards = result.rewards_obtained or {}
        return {
            **self.get_agent_state(agent_id),
            "status": result.status,
            "message": result.message,
            "reward": sum_in_order(rewards.values()),
        }

    def _read(self, number: int, action: Any, params: Any) -> Act:
        """Decode an action: a verb with parameters, or a line of text."""
        if isinstance(action, Command):
            return self.world.check(number, action)
        if isinstance(action, InvalidAction):
            return action
        if not isinstance(action, str):
            raise ActionError(f"an action is a string, not {type(action).__name__}")
        if not isinstance(params, Mapping | None):
            raise ActionError(f"params are a mapping or None, not {type(params).__name__}")
        if params:
            return self.world.check(number, Command(action, {str(k): v for k, v in params.items()}))
        return self.world.read_reply(number, action)

    def get_environment_info(self) -> dict[str, Any]:
        """Return what the environment is: the fields of `EnvironmentInfo`, and who plays it."""
        self.runner.require_open()
        return {
            **environment_info(self.runner, "flat").model_dump(mode="json"),
            "agents": self.agents,
            "step_count": self.time_step,
            "max_steps": int(self.config.max_steps),
            "actions": [verb.name for verb in self.world.grammar],
        }

    # -- messages and memory --------------------------------------------------------------

    def send_message(self, sender: str, recipient: str, message: str) -> None:
        """Send a message to one agent or to ``all`` (everyone else).

        Raises:
            AgentError: If there is no such agent, or the sender is not in play.
            ActionError: If it is to oneself, no string, blank, or too long for any command; or if
                nothing can be said now in this world.
        """
        record = self.engine.record(sender)
        if not self.engine.in_play(record):
            raise AgentError(f"agent {sender!r} is not in play and cannot send messages")
        if self.mailboxes is not self._own_mail and not self.world.may_say(record.number):
            raise ActionError(f"{sender} cannot say anything now; in this step `say` is illegal")
        letter = self.mailboxes.send(sender, recipient, message)
        self.events.post("send", sender, own=self.mailboxes is self._own_mail, **letter._asdict())
        if self.mailboxes is self._own_mail:
            self._own_mail.deliver()
            self.events.post("message", sender, **letter._asdict())

    def poll_messages(self, agent_id: str) -> list[MailMessage]:
        """Return the messages in an agent's mailbox and empty it."""
        self.engine.record(agent_id)
        letters, own = self.mailboxes.poll(agent_id), self.mailboxes is self._own_mail
        self.events.post("poll", agent_id, own=own, messages=letters)
        return letters

    @property
    def shared_memory(self) -> SharedMemory:
        """What all agents together know: discoveries, positions, mailboxes and their history.

        It is for the caller; no agent observes it.
        """
        self.runner.require_episode()
        return self._discover().as_document(self.mailboxes)

    # -- the state is a value -------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return the state, with discoveries and messages, as a JSON-serializable value."""
        memory = {"found": list(self._discover().found), "mail": self._own_mail.get_state()}
        return {**super().snapshot(), "memory": memory}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot of this or another environment."""
        mail, knowledge = Mailbox(self.world.agents), SharedKnowledge()
        if isinstance(snapshot, Mapping) and "memory" in snapshot:
            try:
                mail.set_state(snapshot["memory"]["mail"])
                knowledge.found = dict.fromkeys(map(str, snapshot["memory"]["found"]))
            except (KeyError, TypeError, ValueError) as error:
                raise SnapshotError(f"the memory of this snapshot is damaged: {error}") from None
        super().restore(snapshot)
        self._own_mail, self._knowledge = mail, knowledge
        self._episode = self.engine.episodes
