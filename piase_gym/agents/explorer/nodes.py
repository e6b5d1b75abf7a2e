"""The six nodes of an explorer: it perceives, remembers, listens, decides, acts and learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from piase_gym.agents.explorer.deciding import Decider, Decision, RuleDecider
from piase_gym.agents.explorer.flow import Flow, Node
from piase_gym.core.commands import MAX_LINE
from piase_gym.core.mailbox import EVERYONE
from piase_gym.errors import ActionError, PiaseError
from piase_gym.memory import memory_text, query_text
from piase_gym.memory.faiss_memory import TOP_K

if TYPE_CHECKING:
    from piase_gym.agents.llm.vision import VisionModel

DEFAULT_STEPS = 20
"""Steps until `UpdateMemoryNode` ends by default: those of the document."""
SCREENSHOT = "screenshot:"
"""The prefix of a picture's name that stands in place of the objects in the picture."""


def state_of(perception: Any, agent_id: str) -> Mapping[str, Any]:
    """Return an agent's state; anything but a mapping is taken as its position."""
    state = perception.get_agent_state(agent_id)
    return state if isinstance(state, Mapping) else {"position": state}


class PerceptionNode(Node):
    """Looks: finds out where the agent is, what it sees, and a caption for it.

    Args:
        vision: The model that describes pictures, for perceptions that return
            ``["screenshot:PATH"]`` in place of the names of objects; without a model this is a name
            like any other.
    """

    def __init__(self, vision: VisionModel | None = None) -> None:
        self.vision = vision

    def log_entries(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return the vision model's lines for logs: its replies."""
        return () if self.vision is None else self.vision.log_entries()

    def prep(self, shared: Any) -> tuple[str, Any]:
        """Return the agent's name and its perception."""
        return shared["agent_id"], shared["perception"]

    def exec(self, prep_res: tuple[str, Any]) -> tuple[Mapping[str, Any], list[str], str]:
        """Return the agent's state, the names of what it sees, and a caption."""
        agent_id, perception = prep_res
        state = state_of(perception, agent_id)
        seen = perception.get_visible_objects(agent_id, state.get("position"))
        objects = [str(name) for name in seen]
        if self.vision is not None and objects and objects[0].startswith(SCREENSHOT):
            return state, *_described(self.vision, objects[0].removeprefix(SCREENSHOT))
        facts = getattr(perception, "facts", None)  # pictures of a world have a caption
        caption = getattr(facts(agent_id), "caption", None) if callable(facts) else None
        return state, objects, str(caption or ", ".join(objects))

    def post(self, shared: Any, prep_res: Any, exec_res: Any) -> str:
        """Write down what was seen."""
        state, objects, caption = exec_res
        shared["position"], shared["rotation"] = state.get("position"), state.get("rotation")
        shared["visible_objects"], shared["visible_caption"] = objects, caption
        shared["shared_memory"]["agent_positions"][shared["agent_id"]] = shared["position"]
        return "default"


def _described(vision: VisionModel, path: str) -> tuple[list[str], str]:
    """Return the objects in a picture and its caption; nothing is seen if it is not described."""
    try:
        return vision.extract_objects_from_image(path), vision.caption_image(path)
    except PiaseError as error:
        return [], f"The picture is not described: {error}"


class RetrieveMemoryNode(Node):
    """Remembers: retrieves what the agent knows about where it is and what it sees.

    Args:
        top_k: How many memories to retrieve.
    """

    def __init__(self, top_k: int = TOP_K) -> None:
        self.top_k = top_k

    def prep(self, shared: Any) -> tuple[str, Any]:
        """Return the question and the memory."""
        seen = shared["visible_caption"], shared["visible_objects"]
        return query_text(shared["position"], *seen), shared["memory"]

    def exec(self, prep_res: tuple[str, Any]) -> list[tuple[str, float]]:
        """Return the nearest memories with their distances."""
        query, memory = prep_res
        found: list[tuple[str, float]] = memory.search(query, self.top_k)
        return found

    def post(self, shared: Any, prep_res: Any, exec_res: Any) -> str:
        """Keep them for the decision."""
        shared["retrieved_memories"] = exec_res
        return "default"


class CommunicationNode(Node):
    """Listens: reads the messages of the others, which empties the agent's mailbox."""

    def prep(self, shared: Any) -> tuple[str, Any]:
        """Return the agent's name and its perception."""
        return shared["agent_id"], shared["perception"]

    def exec(self, prep_res: tuple[str, Any]) -> list[Any]:
        """Return the messages; none where there are no mailboxes."""
        agent_id, perception = prep_res
        try:
            return list(perception.poll_messages(agent_id))
        except PiaseError:
            return []

    def post(self, shared: Any, prep_res: Any, exec_res: Any) -> str:
        """Keep them for the decision and for the memory."""
        shared["other_agent_messages"] = exec_res
        return "default"


class DecisionNode(Node):
    """Decides what to do, why, and what to tell the others.

    Args:
        decide: The decider; by default rules.
    """

    def __init__(self, decide: Decider | None = None) -> None:
        self.decide: Decider = RuleDecider() if decide is None else decide

    def begin(self, shared: Any) -> None:
        """Let a model begin to think."""
        self.decide.begin(shared)

    def exec(self, prep_res: Any) -> Decision:
        """Return the decision."""
        return self.decide(prep_res)

    def post(self, shared: Any, prep_res: Any, exec_res: Decision) -> str:
        """Write down the decision."""
        shared["action"], shared["action_reason"] = exec_res.action, exec_res.reason
        shared["message_to_others"], shared["failure"] = exec_res.message, exec_res.failure
        return "default"


class ExecutionNode(Node):
    """Sends the message to the others, if there is one, and acts."""

    acts = True

    def prep(self, shared: Any) -> tuple[Any, str, Any, str]:
        """Return the perception, the agent's name, its action or failure, and its message."""
        act = shared["action"] if shared["failure"] is None else shared["failure"]
        return shared["perception"], shared["agent_id"], act, shared["message_to_others"]

    def exec(self, prep_res: tuple[Any, str, Any, str]) -> str:
        """Send the message, act, and return the status of the action so far.

        A message that cannot be sent is dropped without an error.
        """
        perception, agent_id, act, message = prep_res
        if message.strip():
            try:
                perception.send_message(agent_id, EVERYONE, message[:MAX_LINE])
            except PiaseError:
                message = ""
        if act is None:
            raise ActionError(f"the decision of {agent_id} has no action")
        result = perception.execute_action(agent_id, act)
        return str(result.get("status", "success")) if isinstance(result, Mapping) else "success"

    def post(self, shared: Any, prep_res: Any, exec_res: str) -> str:
        """Write down what was done."""
        shared["step_count"] += 1
        shared["action_history"].append(
            {
                "step": shared["step_count"],
                "position": shared["position"],
                "action": shared["action"],
                "reason": shared["action_reason"],
                "message_to_others": shared["message_to_others"],
                "status": exec_res,
            }
        )
        return "default"


class UpdateMemoryNode(Node):
    """Remembers the step, shares what was found, and ends after `max_steps` of the shared memory.

    It also ends when the episode is over for the agent.
    """

    def prep(self, shared: Any) -> tuple[str, Any]:
        """Return the text to remember, and the memory."""
        text = memory_text(
            shared["position"],
            shared["visible_objects"],
            shared["action"] or "do nothing",
            shared["action_reason"],
            shared["other_agent_messages"],
        )
        return text, shared["memory"]

    def exec(self, prep_res: tuple[str, Any]) -> str:
        """Add the text to the memory."""
        text, memory = prep_res
        memory.add(text)
        return text

    def post(self, shared: Any, prep_res: Any, exec_res: str) -> str:
        """Share what was found, note what became of the action, and return whether to go on."""
        agent_id, memory = shared["agent_id"], shared["shared_memory"]
        state = state_of(shared["perception"], agent_id)
        result = state.get("last_action_result")
        if isinstance(result, Mapping) and shared["action_history"]:
            shared["action_history"][-1]["status"] = result.get("status")
        most = shared.get("global_env", {}).get("max_steps", memory.get("max_steps", DEFAULT_STEPS))
        over = bool(state.get("done")) or shared["step_count"] >= most
        last = map(str, state.get("visible_objects", ()) if over else ())
        seen = [*shared["visible_objects"], *(x for x in last if not x.startswith(SCREENSHOT))]
        shared["explored_objects"].update(seen)
        memory["objects"].update(seen)
        memory["agent_positions"][agent_id] = state.get("position")
        return "end" if over else "continue"


def explorer_flow(decide: Decider | None = None, vision: VisionModel | None = None) -> Flow:
    """Return the explorer document's graph for one agent.

    Args:
        decide: The decider; by default rules.
        vision: The model that describes screenshots.

    Example:
        >>> list(explorer_flow().nodes)
        ['perception', 'retrieve', 'communication', 'decision', 'execution', 'update']
    """
    return Flow(
        {
            "perception": PerceptionNode(vision),
            "retrieve": RetrieveMemoryNode(),
            "communication": CommunicationNode(),
            "decision": DecisionNode(decide),
            "execution": ExecutionNode(),
            "update": UpdateMemoryNode(),
        }
    )
